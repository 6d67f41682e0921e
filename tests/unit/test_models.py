"""Models: parameters, relaxations, errors and edges."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from counted import stats_of, stats_of_classes
from tablecloak import registry
from tablecloak.errors import DataError, IncompatibleChoice, PolicyError
from tablecloak.models import Goal, Monotone, PrivacyModel, Sense, model
from tablecloak.models.base import parameters
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.l_diversity import LDiversity
from tablecloak.models.t_closeness import TCloseness
from tablecloak.registry import find, known
from tablecloak.stats import Evidence

RECURSIVE = {"variant": "recursive", "l": 3, "c": 2}
NPD = {"variant": "npd-recursive", "l": 2, "c": 2, "c2": 0.1, "forbidden": ["a"]}


def error_of(cls, **params):
    with pytest.raises(ValidationError) as caught:
        cls(**params)
    (error,) = caught.value.errors()
    return error["loc"], error["msg"]


def test_models_are_registered_by_name():
    assert {"k-anonymity", "l-diversity", "t-closeness"} <= set(known("models"))
    assert find("models", "l-diversity") is LDiversity


def test_unknown_model_names_the_nearest():
    with pytest.raises(PolicyError, match="did you mean 'l-diversity'"):
        find("models", "l-diversty")


@pytest.mark.parametrize("model", [KAnonymity(k=2), LDiversity(l=2), LDiversity(**NPD), TCloseness(t=0.2)])
def test_model_is_a_hashable_value_that_policies_can_write(model):
    assert isinstance(model, PrivacyModel)
    assert hash(model) == hash(type(model)(**parameters(model)))
    assert model == TypeAdapter(type(model)).validate_python(json.loads(json.dumps(parameters(model))))


@pytest.mark.parametrize(
    ("params", "where", "message"),
    [
        ({"l": 1}, "l", "greater than or equal to 2"),
        ({"l": 1, "variant": "entropy"}, "l", "greater than 1"),
        ({"l": 1.5}, "l", "greater than or equal to 2"),
        ({"l": 2.5}, "l", "fractional"),
        ({"l": math.inf}, "l", "finite"),
        ({"l": 2, "variant": "distnct"}, "variant", "'distinct'"),
        ({"l": 3, "variant": "recursive"}, "c", "needed by the variant 'recursive'"),
        ({"l": 3, "c": 2}, "c", "no meaning for the variant 'distinct'"),
        ({**RECURSIVE, "c": 0}, "c", "greater than 0"),
        ({**RECURSIVE, "allowed": ["a"]}, "allowed", "no meaning for the variant 'recursive'"),
        ({**NPD, "c2": None}, "c2", "needed by the variant 'npd-recursive'"),
        ({**NPD, "forbidden": None}, "forbidden", "needed by the variant 'npd-recursive'"),
        ({**NPD, "c2": 1.5}, "c2", "less than or equal to 1"),
        ({"l": 2, "k": 3}, "k", "Unexpected"),
    ],
)
def test_bad_diversity_parameters_point_at_the_parameter(params, where, message):
    location, text = error_of(LDiversity, **params)
    assert location == (where,)
    assert message in text


@pytest.mark.parametrize(
    ("cls", "params"), [(TCloseness, {"t": -0.1}), (TCloseness, {"t": 1.1}), (KAnonymity, {"k": 1})]
)
def test_bad_thresholds_are_refused(cls, params):
    assert error_of(cls, **params)[0] == tuple(params)


def test_entropy_takes_real_l():
    assert LDiversity(l=1.7, variant="entropy").required == 1.7


@pytest.mark.parametrize(
    ("params", "sense", "required", "min_size"),
    [
        ({"l": 3}, Sense.AT_LEAST, 3, 3),
        ({"l": 2.5, "variant": "entropy"}, Sense.AT_LEAST, 2.5, 3),
        (RECURSIVE, Sense.BELOW, 2, 3),
        ({**RECURSIVE, "variant": "pd-recursive"}, Sense.BELOW, 2, 3),
        ({**RECURSIVE, "variant": "pd-recursive", "allowed": ["a"]}, Sense.BELOW, 2, 1),
        (NPD, Sense.BELOW, 2, 2),
    ],
)
def test_variant_decides_sense_requirement_and_size(params, sense, required, min_size):
    model = LDiversity(**params)
    assert (model.sense, model.required, model.min_size) == (sense, required, min_size)


def test_only_distinct_values_survive_joining_a_failing_class():
    assert LDiversity(l=2).monotone is Monotone.BOTH
    assert LDiversity(l=2, variant="entropy").monotone is Monotone.GENERALIZATION
    assert LDiversity(**RECURSIVE).monotone is Monotone.GENERALIZATION
    assert TCloseness(t=0.1).monotone is Monotone.GENERALIZATION


@pytest.mark.parametrize(
    ("model", "achieved", "expected"),
    [
        (KAnonymity(k=10), 7, [{"k": 7}, {"k": 3}]),
        (KAnonymity(k=10), math.nan, []),
        (LDiversity(l=5), 3, [{"l": 3}, {"l": 2}]),
        (LDiversity(l=5), 1, []),
        (LDiversity(l=5), math.nan, []),
        (LDiversity(l=3, variant="entropy"), 1.7088, [{"l": 1.7}, {"l": 1.35}]),
        (LDiversity(**RECURSIVE), 2.0, [{"c": 2.01}, {"c": 4.01}, {"l": 2}]),
        (LDiversity(**RECURSIVE), math.inf, [{"l": 2}]),
        (TCloseness(t=0.1), 0.235, [{"t": 0.24}]),
        (TCloseness(t=0.1), 0.3, [{"t": 0.3}]),
        (TCloseness(t=0.1), 1.0, []),
    ],
)
def test_relaxed_goals_fit_what_was_achieved(model, achieved, expected):
    assert [parameters(m) for m in model.relaxed(achieved)] == [parameters(model) | change for change in expected]


@pytest.mark.parametrize("l", [2, 4])
def test_relaxed_recursive_goal_holds_on_the_table_it_was_made_for(l):  # noqa: E741
    stats = stats_of_classes([{"a": 7, "b": 3, "c": 3, "d": 1, "e": 1}])
    model = LDiversity(variant="recursive", l=l, c=0.5)
    (verdict,) = Goal((model,)).verdicts(stats)
    assert not verdict.holds
    assert Goal((next(iter(model.relaxed(verdict.achieved))),)).verdicts(stats)[0].holds


def test_the_worst_sensitive_column_decides():
    rows = [{"q": 1, "a": x, "b": y} for x, y in (("1", "1"), ("2", "1"), ("3", "2"))]
    stats = stats_of(rows, ["q"], ["a", "b"])
    assert LDiversity(l=2).levels(stats).tolist() == [2]
    assert LDiversity(l=2, sensitive="a").levels(stats).tolist() == [3]
    assert LDiversity(l=2, sensitive=["a", "b"], variant="recursive", c=1).levels(stats).tolist() == [2]


def test_goal_combines_models():
    stats = stats_of_classes([{"a": 3, "b": 1}, {"a": 1, "b": 1}, {"a": 4}])
    goal = Goal((KAnonymity(k=3), LDiversity(l=2)))
    assert goal.admits(stats).tolist() == [True, False, False]
    assert [v.holds for v in goal.verdicts(stats)] == [False, False]
    assert goal.min_size == 3


def test_verdict_reports_the_worst_class():
    (verdict,) = Goal((LDiversity(l=2, sensitive="s"),)).verdicts(stats_of_classes([{"a": 3, "b": 1}, {"a": 5}]))
    assert verdict.to_dict() == {
        "model": "l-diversity",
        "params": {"variant": "distinct", "l": 2, "sensitive": "s"},
        "holds": False,
        "achieved": 1,
        "required": 2,
        "margin": -1,
        "worst_class_size": 5,
    }


def test_impossible_level_is_null_in_plain_data():
    (verdict,) = Goal((LDiversity(**RECURSIVE),)).verdicts(stats_of_classes([{"a": 3}]))
    assert not verdict.holds
    assert verdict.to_dict()["achieved"] is None


def test_class_of_allowed_values_passes():
    model = LDiversity(variant="pd-recursive", l=3, c=1, allowed=["a", "z"])
    assert Goal((model,)).verdicts(stats_of_classes([{"a": 1}]))[0].holds


def test_forbidden_value_that_never_occurs_is_ruled_out_by_every_class():
    assert (
        not Goal((LDiversity(**{**NPD, "forbidden": ["zz"]}),)).verdicts(stats_of_classes([{"a": 1, "b": 1}]))[0].holds
    )


def test_values_of_two_columns_cannot_be_named_at_once():
    stats = stats_of([{"q": 1, "a": "x", "b": "y"}], ["q"], ["a", "b"])
    with pytest.raises(IncompatibleChoice, match="one sensitive column, not 2") as caught:
        LDiversity(**NPD).levels(stats)
    assert caught.value.hint == "write one goal per column, each with sensitive: <column>"


@pytest.mark.parametrize(
    ("distance", "message"),
    [
        ("ordered", "distance 'ordered' needs numbers or dates; the sensitive column 's' has none"),
        ("hierarchical", "distance 'hierarchical' needs a hierarchy; the sensitive column 's' has none"),
    ],
)
def test_distance_that_does_not_fit_the_column(distance, message):
    with pytest.raises(IncompatibleChoice, match=message) as caught:
        TCloseness(t=0.1, distance=distance).levels(stats_of_classes([{"a": 1}]))
    assert "distance: equal" in (caught.value.hint or "")


def test_unknown_sensitive_column():
    with pytest.raises(DataError, match="no sensitive column 'disese'") as caught:
        LDiversity(l=2, sensitive="disese").levels(stats_of([{"q": 1, "disease": "x"}], ["q"], ["disease"]))
    assert caught.value.hint == "did you mean 'disease'?"


def test_no_sensitive_column_at_all():
    with pytest.raises(IncompatibleChoice, match="there is none"):
        TCloseness(t=0.1).levels(stats_of([{"q": 1}], ["q"]))


def test_constant_sensitive_column_is_perfectly_close():
    for params in ({"order": ["a"]}, {"tree": {"a": "*"}}, {}):
        stats = stats_of_classes([{"a": 1}, {"a": 2}], **params)
        distance = {"order": "ordered", "tree": "hierarchical"}.get(next(iter(params), ""), "equal")
        assert TCloseness(t=0, distance=distance).margin(stats).tolist() == [0, 0]


def test_hierarchical_distance_on_leaves_of_unequal_depth():
    tree = {"a": "A", "b": "A", "A": "*", "c": "*"}
    stats = stats_of_classes([{"a": 1}, {"b": 1}, {"c": 2}], tree=tree)
    # a: b's quarter moves height 1 of 2, c's half moves height 2 of 2
    assert TCloseness(t=0, distance="hierarchical").levels(stats) == pytest.approx([0.625, 0.625, 0.5])


def test_large_counts_do_not_overflow():
    stats = stats_of_classes([{"a": 3_000_000_000, "b": 1_500_000_000}])
    assert LDiversity(variant="recursive", l=2, c=3).levels(stats).tolist() == [2]
    assert np.exp(-1 / 3 * np.log(1 / 3) - 2 / 3 * np.log(2 / 3)) == pytest.approx(
        LDiversity(variant="entropy", l=2).levels(stats)[0]
    )


def test_a_model_can_be_written_without_inheriting_anything(monkeypatch):
    monkeypatch.setitem(registry._known, "models", dict(registry.known("models")))  # all of them are loaded

    @model("crowd", evidence=Evidence.SIZE)
    class Crowd:
        """Every class has at least n records."""

        n: int

        @property
        def required(self):
            return self.n

        def levels(self, stats):
            return stats.size.astype(float)

    assert find("models", "crowd") is Crowd
    assert isinstance(Crowd(n=2), PrivacyModel)
    assert Goal((Crowd(n=2),)).admits(stats_of_classes([{"a": 1}, {"a": 2}])).tolist() == [False, True]
    assert (Crowd(n=2).monotone, Crowd(n=2).sense, Crowd(n=2).min_size) == (Monotone.NEITHER, Sense.AT_LEAST, 1)
    assert list(Crowd(n=2).relaxed(1)) == []
