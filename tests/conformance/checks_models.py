"""What a privacy model promises, as checks that raise AssertionError: for ours, for those of others and for toys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields, replace
from functools import cache
from typing import Any

import numpy as np

from counted import hierarchy_of
from tablecloak.arrays import IntArray
from tablecloak.errors import CloakError
from tablecloak.models.base import Goal, Monotone, PrivacyModel, Sense, evidence_of
from tablecloak.registry import known
from tablecloak.report.explain import describe
from tablecloak.stats.classes import ClassStats, Counted, Evidence, SensitiveDomain, count_classes

VALUES = ("a", "b", "c", "d", "e", "f")
TREE = {"AB": "*", "A": "AB", "B": "AB", "a": "A", "b": "A", "c": "B", "d": "B", "E": "*", "e": "E", "f": "*"}
NUMBERS = dict(zip(VALUES, (-1, 0, 2, 5, 8.5, 20), strict=True))
DOMAIN = SensitiveDomain(
    "s", VALUES, is_ordered=True, hierarchy=hierarchy_of(TREE), numbers=np.array(list(NUMBERS.values()))
)
# People of the population behind a record, its weight and the node that a person guards, all by sensitive value.
PEOPLE = dict(zip(VALUES, (1, 2, 3, 4, 7, 0), strict=True))
WEIGHTS = dict(zip(VALUES, (1.0, 2.5, 10.0, 0.5, 40.0, 3.0), strict=True))
GUARDS = dict(zip(VALUES, ("A", None, "AB", None, "e", None), strict=True))
N_FILE = 4000
NODES = ("A", "AB", "e", None)
CROWD = SensitiveDomain(
    "people", VALUES, numbers=np.array(list(PEOPLE.values()), float), kind=Counted.POPULATION, n_people=N_FILE
)
WEIGHT = SensitiveDomain("weight", VALUES, numbers=np.array(list(WEIGHTS.values())), kind=Counted.WEIGHT)
GUARD = SensitiveDomain("guard", NODES, kind=Counted.GUARD)
GUARD_OF = np.array([NODES.index(GUARDS[v]) for v in VALUES])
N_TABLES = 25
# Where a parameter must be given and nobody wrote examples, these are tried.
GUESSES: dict[str, Any] = {"sensitive": None, "guard": "guard", "s": "a", "variant": None}


# A new model needs an entry here: parameter sets that hit its boundaries on small tables.
EXAMPLES = {
    "k-anonymity": [{"k": 2}, {"k": 5}],
    "l-diversity": [
        {"l": 2},
        {"l": 4},
        {"variant": "entropy", "l": 2},
        {"variant": "entropy", "l": 2.5},
        {"variant": "recursive", "l": 2, "c": 1},
        {"variant": "recursive", "l": 3, "c": 2},
        {"variant": "recursive", "l": 4, "c": 1.5},
        {"variant": "pd-recursive", "l": 2, "c": 1, "allowed": ["a"]},
        {"variant": "pd-recursive", "l": 3, "c": 2, "allowed": ["a", "c"]},
        {"variant": "npd-recursive", "l": 2, "c": 2, "c2": 0.25, "forbidden": ["b"]},
        {"variant": "npd-recursive", "l": 3, "c": 3, "c2": 0.1, "forbidden": ["a", "b"], "allowed": ["a"]},
    ],
    "t-closeness": [
        {"t": t, "distance": distance} for t in (0.1, 0.25, 0.5) for distance in ("equal", "ordered", "hierarchical")
    ],
    "p-sensitive-k-anonymity": [{"p": 2, "k": 3}, {"p": 3, "k": 1}],
    "p-plus-sensitive-k-anonymity": [
        {"p": 2, "k": 3, "categories": (("a", "b"), ("c", "d", "e"))},
        {"p": 3, "k": 2, "level": 1},
        {"p": 2, "k": 2, "level": 2},
    ],
    "p-alpha-sensitive-k-anonymity": [
        {"p": 2, "alpha": 2, "k": 3, "categories": (("a",), ("b", "c"), ("d", "e"))},
        {"p": 1, "alpha": 1.5, "k": 2, "level": 1},
    ],
    "alpha-k-anonymity": [{"alpha": 0.5, "k": 3}, {"alpha": 0.25, "k": 2, "values": ("a", "b")}],
    "confidence-bounding": [
        {"s": "a", "h": 0.5},
        {"s": "b", "h": 0.25, "strict": False},
        {"templates": [{"s": "a", "h": 0.4}, {"s": "c", "h": 0.2}]},
    ],
    "xy-anonymity": [{"k": 3}, {"k": 3, "y": "s"}],
    "xy-privacy": [{"k": 3, "h": 0.5}, {"k": 2, "h": 0.5, "strict": False}],
    "ke-anonymity": [{"k": 2, "e": 3}, {"k": 3, "e": 8.5}],
    "em-anonymity": [
        {"epsilon": 1, "m": 2},
        {"epsilon": 3, "m": 2.5},
        {"epsilon": 0.5, "m": 2, "relative": True},
    ],
    "wgp": [
        {"protection": 0.4, "width": 3},
        {"protection": 0.5, "level": 1},
        {"protection": 0.4, "known": 2},
        {"protection": 0.4, "known": 1, "width": 1},
    ],
    "beta-likeness": [{"beta": 0.5}, {"beta": 1}, {"beta": 1.5, "enhanced": True}],
    "delta-disclosure": [{"delta": 1}, {"delta": 1.5}],
    "l-plus-diversity": [{"thresholds": (("a", 0.25), ("b", 0.5))}, {"thresholds": (("c", 0.2),)}],
    "multi-l-diversity": [
        {"l": 2},
        {"l": 2, "variant": "entropy"},
        {"l": 3, "variant": "recursive", "c": 2},
        {"l": 3, "mode": "per_sa"},
    ],
    "ck-safety": [{"c": 0.6, "k": 0}, {"c": 0.75, "k": 1}, {"c": 0.9, "k": 2}],
    "lkc-privacy": [{"l": 2, "k": 3, "c": 0.5}, {"l": 1, "k": 2, "c": 0.4, "values": ("a",)}],
    "average-risk": [{"limit": 0.1}, {"limit": 0.3}],
    "sample-uniqueness": [{"limit": 0}, {"limit": 0.2}],
    "one-k-anonymity": [{"k": 2}, {"k": 5}],
    "k-one-anonymity": [{"k": 2}, {"k": 5}],
    "kk-anonymity": [{"k": 2}, {"k": 5}],
    "k-concealment": [{"k": 2}, {"k": 5}],
    "k-map": [{"k": 8}, {"k": 20}],
    "population-risk": [{"threshold": 0.03}, {"threshold": 0.2}],
    "global-risk": [{"limit": 0.05}, {"limit": 0.2}],
    "delta-presence": [{"delta_max": 0.5}, {"delta_max": 0.3}],
    "c-confident-delta-presence": [
        {"c": 0.9, "people": 3000, "delta_max": 0.5},
        {"c": 0.3, "people": 1500, "delta_max": 0.6},
        {"c": 0.5, "people": 2000, "delta_max": 0.6, "delta_min": 0.2},
    ],
    "personalized-privacy": [{"guard": "guard", "limit": 0.5}, {"guard": "guard", "limit": 0.3}],
    "m-confidentiality": [{"m": 2, "k": 5}, {"m": 3, "k": 6, "values": ("a", "b")}],
}

MODELS = [known("models")[name](**params) for name, examples in EXAMPLES.items() for params in examples]


def instances():
    """Ours with their examples, and one guessed from its schema of every other registered model."""
    kinds = {name: kind for name, kind in known("models").items() if evidence_of(kind) is not Evidence.ITEMS}
    return [*MODELS, *(guessed(kind) for name, kind in kinds.items() if name not in EXAMPLES)]


def guessed(kind: type[PrivacyModel]) -> PrivacyModel:
    """A model of a kind about which nothing is known but its schema: every required number a small one in its range."""
    chosen: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        if field.default is not MISSING and "PydanticUndefined" not in repr(field.default):
            continue
        info = kind.__pydantic_fields__[field.name]  # type: ignore[attr-defined]
        if not info.is_required():
            continue
        if field.name in GUESSES:
            chosen[field.name] = GUESSES[field.name]
            continue
        least = next(
            (getattr(m, "ge", getattr(m, "gt", None)) for m in info.metadata if hasattr(m, "ge") or hasattr(m, "gt")), 0
        )
        most = next(
            (getattr(m, "le", getattr(m, "lt", None)) for m in info.metadata if hasattr(m, "le") or hasattr(m, "lt")),
            None,
        )
        chosen[field.name] = max(2, least) if info.annotation is int else (least + most) / 2 if most else least + 1.0
    return kind(**chosen)


def counted(
    numbers: IntArray, n_classes: int, codes: IntArray, weights: IntArray, totals: IntArray | None = None
) -> ClassStats:
    """Statistics with everything that a model may ask for."""
    columns = {"s": (codes, DOMAIN), "people": (codes, CROWD), "guard": (GUARD_OF[codes], GUARD)}
    columns["weight"] = (codes, WEIGHT)
    given_totals = None if totals is None else {"s": totals, "people": totals}
    return count_classes(numbers, n_classes, columns, weights=weights, totals=given_totals)


def stats_of(counts: IntArray, totals: IntArray | None = None) -> ClassStats:
    """The statistics of classes given as counts of values, (n_classes, n_values)."""
    numbers, codes = np.nonzero(counts)
    return counted(numbers, len(counts), codes, counts[numbers, codes], totals)


@cache
def random_classes(seed: int, n: int) -> IntArray:
    """Counts of classes around the usual boundaries, (n, n_values): small, often near the table's shares."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(len(VALUES)) * rng.choice([0.5, 2, 10]))
    return np.array([rng.multinomial(size, weights) for size in rng.integers(1, 25, n)])


def some_tables(n: int = 8) -> Iterator[IntArray]:
    """A few tables of classes, none of them empty."""
    for seed in range(n):
        yield random_classes(seed, 1 + seed % 7 * 3)


@cache
def broken_unions(model: Any, *, second_must_satisfy: bool) -> tuple[int, int]:
    """Number of searched unions, and of those that fail although the first (and the second) class satisfies.

    Unions are measured against the table that all classes form.
    """
    searched = broken = 0
    for seed in range(N_TABLES):
        classes = random_classes(seed, 40)
        satisfied = np.flatnonzero(model.margin(stats_of(classes)) >= 0)
        partners = satisfied if second_must_satisfy else np.arange(len(classes))
        first, second = (x.ravel() for x in np.meshgrid(satisfied, partners))
        first, second = first[first != second][:400], second[first != second][:400]
        if len(first):
            unions = stats_of(classes[first] + classes[second], classes.sum(axis=0))
            searched += len(first)
            broken += int((model.margin(unions) < 0).sum())
    return searched, broken


def is_of_table(model: PrivacyModel) -> bool:
    """Whether a model judges the whole table at once: one level, whatever the number of classes."""
    return model.levels(stats_of(random_classes(3, 5))).shape == (1,)


def check_text(model: PrivacyModel) -> None:
    """Reference, forms and messages can speak of it."""
    kind = type(model)
    assert known("models")[model.name] is kind
    about = describe("model", model.name, kind)
    assert about.definition.endswith("."), model.name
    assert len(about.definition) <= 120
    assert about.protects_from, f"{model.name} does not say what it protects from"
    assert about.not_from, f"{model.name} does not say what it does not protect from"
    assert all(parameter.description for parameter in about.parameters), model.name
    assert model.sentence is None or all(
        "{" + p + "}" in model.sentence for p in _braces(model.sentence) if p in _names(model)
    )
    assert not model.sentence or set(_braces(model.sentence)) <= set(_names(model))


def _braces(text: str) -> list[str]:
    return [part.partition("}")[0] for part in text.split("{")[1:]]


def _names(model: PrivacyModel) -> list[str]:
    return [f.name for f in fields(model)]  # type: ignore[arg-type]


def check_merging(model: PrivacyModel) -> None:
    """Counting parts of a table and merging the counts gives the levels of the whole, and so does uniting classes."""
    for counts in some_tables():
        half = counts // 2
        merged = stats_of(half) + stats_of(counts - half)
        np.testing.assert_array_equal(merged.size, stats_of(counts).size)
        np.testing.assert_allclose(model.levels(merged), model.levels(stats_of(counts)))
        group = np.arange(len(counts)) % 3
        n_groups = int(group.max()) + 1
        united = np.array([counts[group == g].sum(axis=0) for g in range(n_groups)])
        np.testing.assert_allclose(
            model.levels(stats_of(counts).rollup(group, n_groups)), model.levels(stats_of(united))
        )


def check_order(model: PrivacyModel) -> None:
    """The order of classes changes nothing but the order of levels."""
    for seed, counts in enumerate(some_tables()):
        order = np.random.default_rng(seed).permutation(len(counts))
        levels, shuffled = model.levels(stats_of(counts)), model.levels(stats_of(counts[order]))
        np.testing.assert_allclose(shuffled, levels if len(levels) != len(order) else levels[order])
        (one,), (other,) = (Goal((model,)).verdicts(stats_of(c)) for c in (counts, counts[order]))
        assert (one.holds, one.worst_class_size) == (other.holds, other.worst_class_size)


def check_claims_of_unions(model: PrivacyModel) -> None:
    """`monotone` is kept by every union that is searched."""
    if is_of_table(model):
        _check_unions_of_a_table(model)
        return
    for second_must_satisfy, claim in ((True, Monotone.GENERALIZATION), (False, Monotone.SUPPRESSION)):
        _, broken = broken_unions(model, second_must_satisfy=second_must_satisfy)
        assert broken == 0 or claim not in model.monotone, f"{model}: {broken} unions break it, and it claims {claim}"


def _check_unions_of_a_table(model: PrivacyModel) -> None:
    for seed in range(20):
        counts = random_classes(seed, 6)
        if model.margin(stats_of(counts))[0] >= 0 and model.monotone:
            for i in range(5):
                united = np.vstack([counts[i] + counts[i + 1], np.delete(counts, [i, i + 1], axis=0)])
                assert model.margin(stats_of(united))[0] >= 0, f"{model}: a union breaks it"


def check_verdict(model: PrivacyModel) -> None:
    """Enforcing and checking agree: where the search admits every class the table holds, and the reverse if it can."""
    goal = Goal((model,))
    for counts in [*some_tables(12), np.array([[30] * len(VALUES)] * 2)]:
        stats = stats_of(counts)
        admits = goal.admits(stats)
        assert admits.shape == (len(counts),)
        (verdict,) = goal.verdicts(stats)
        margin = model.margin(stats)
        assert verdict.holds == bool((margin >= 0).all())
        assert np.isclose(verdict.margin, margin.min()) or len(model.conditions(stats)) > 1
        sense = {Sense.AT_LEAST: np.greater_equal, Sense.AT_MOST: np.less_equal, Sense.BELOW: np.less}[model.sense]
        if len(model.conditions(stats)) == 1 and np.isfinite(verdict.achieved) and abs(verdict.margin) > 1e-6:
            assert verdict.holds == bool(sense(verdict.achieved, verdict.required))
        if model.in_search is model:
            assert verdict.holds == bool(admits.all())
        satisfying = counts[admits]
        # classes that are left out change the table that others are compared with; what is asked of the search itself
        # says nothing about values, so that the recount decides
        is_alone = not model.evidence & (Evidence.TABLE | Evidence.POPULATION)
        if len(satisfying) and (admits.all() or is_alone) and not model.asks_of_search:
            assert goal.verdicts(stats_of(satisfying))[0].holds, f"{model}: its search admits a table that fails"
        if not is_of_table(model):
            assert not (margin >= 0)[stats.size < model.min_size].any(), f"{model}: a class below min_size satisfies it"
        if model.size_decides:
            assert (margin >= 0)[stats.size >= model.min_size].all(), f"{model}: the size does not decide"
        for weaker in model.relaxed(verdict.achieved):
            assert weaker != model
            assert not (admits & ~Goal((weaker,)).admits(stats)).any(), f"{model}: {weaker} is not weaker"


def check_edges(model: PrivacyModel) -> None:
    """No classes, one record, a huge class among tiny ones; statistics are not changed."""
    empty = stats_of(np.zeros((0, len(VALUES)), np.int64))
    assert model.levels(empty).shape == (0,)
    assert Goal((model,)).verdicts(empty)[0].holds
    assert replace(model) == model  # type: ignore[type-var]
    counts = np.array([[10**9, 10**9 - 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0]])
    if not is_of_table(model):
        assert not np.isnan(model.levels(stats_of(counts))).any()
    stats = stats_of(counts[1:])
    before = [stats.size.copy(), stats.hist["s"].counts.copy(), stats.hist["s"].codes.copy()]
    model.levels(stats)
    for array, old in zip([stats.size, stats.hist["s"].counts, stats.hist["s"].codes], before, strict=True):
        np.testing.assert_array_equal(array, old)


# What of the statistics each kind of evidence is.
SEEN_IN = {Evidence.SENSITIVE: "s", Evidence.POPULATION: "people", Evidence.GUARDS: "guard", Evidence.WEIGHTS: "weight"}


def check_evidence(model: PrivacyModel) -> None:
    """It reads what it declares: more changes nothing, and with less it fails loudly or becomes stricter."""
    assert evidence_of(type(model)) in model.evidence
    wanted = [column for kind, column in SEEN_IN.items() if kind in model.evidence]
    if Evidence.PERSONS in model.evidence:  # the person key or a sensitive column: the table tells which
        return
    without: dict[str, list[bool]] = {name: [] for name in wanted}
    for counts in some_tables(12):
        stats = stats_of(counts)
        levels, holds = model.levels(stats), model.margin(stats) >= 0
        enough = replace(stats, hist={name: hist for name, hist in stats.hist.items() if name in wanted})
        try:
            np.testing.assert_allclose(model.levels(enough), levels)
        except CloakError as error:
            raise AssertionError(f"{model} reads more than it declares: {error}") from error
        for name in wanted:
            less = replace(stats, hist={n: hist for n, hist in stats.hist.items() if n != name})
            try:
                spoilt = model.margin(less) >= 0
            except CloakError:
                without[name].append(True)
                continue
            is_stricter = not (spoilt & ~holds).any()
            assert is_stricter or model.lacks(less), f"{model}: holds without '{name}', with which it fails"
            without[name].append(not np.allclose(model.levels(less), levels) or bool(model.lacks(less)))
        if Evidence.TABLE not in model.evidence and Evidence.POPULATION not in model.evidence:
            other = stats_of(counts, totals=np.maximum(counts.sum(axis=0), 1) * 1000 // np.arange(1, 7))
            np.testing.assert_allclose(model.levels(other), levels, err_msg=f"{model} looks at the whole table")
    for name, tells in without.items():
        assert any(tells), f"{model} declares '{name}' and never looks at it"


CHECKS = (check_text, check_merging, check_order, check_claims_of_unions, check_verdict, check_edges, check_evidence)


def check_model(model: PrivacyModel) -> None:
    """Everything that can be checked without a second definition of the model."""
    for check in CHECKS:
        check(model)
