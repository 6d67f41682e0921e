"""Every algorithm under `replay`: who has policy, program, release and everybody's quasi-identifiers learns no more."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import effort
import tablecloak as tc
from tablecloak import registry
from tablecloak.attacks import replay
from tablecloak.attacks.base import run_attacks
from tablecloak.measure.attack import attack, build_case
from tablecloak.measure.attack.program import program_of
from tablecloak.models.k_concealment import KConcealment
from tablecloak.models.km_anonymity import KmAnonymity
from tablecloak.models.m_confidentiality import MConfidentiality
from tablecloak.release.plan import BY_VALUES
from tablecloak.rng import Secret

pytestmark = pytest.mark.slow

IN_GROUPS = ["anatomy", "permutation", "slicing", "swapping", "v-cold"]
# They put rows together by their sensitive values, so goals must speak of these, and classes depend on them.
EXCHANGING = ["mbf", "pm-hca", "t-msn", "v-klt"]
QUASI = ["age", "sex"]
TREE = {"all": {"lung": ["flu", "asthma"], "gut": ["ulcer", "gastritis"]}}
TABLES = range(5)


def people(seed, n=6):
    """Few people, so that every world can be tried."""
    draw = random.Random(seed)
    illness = ["flu", "asthma", "ulcer", "gastritis", "flu", "asthma", "ulcer", "gastritis"][:n]
    draw.shuffle(illness)
    return pl.DataFrame(
        {
            "age": [draw.randrange(20, 60) for _ in range(n)],
            "sex": [draw.choice("fm") for _ in range(n)],
            "illness": illness,
            "pay": [draw.randrange(1, 5) for _ in range(n)],
        }
    )


def policy_for(kind, goals):
    algorithm = {"kind": kind}
    if kind in ("datafly", "levels"):
        algorithm["suppression_limit"] = 0
    if kind == "tds":
        algorithm["class_column"] = "illness"
    sensitive = "pay" if kind == "t-msn" else "illness"
    quasi = ["age"] if kind == "univariate" else QUASI
    columns = {**tc.roles(quasi=quasi, sensitive=[sensitive])}
    if kind in ("mbf", "pm-hca", "v-klt"):
        columns["illness"] = {"role": "sensitive", "hierarchy": {"kind": "tree", "tree": TREE}}
    if kind == "levels":
        algorithm |= {"levels": {"age": 2, "sex": 1}}
    return tc.Policy(columns=columns, goals=goals, algorithm=algorithm)


def goals_of(kind):
    if kind in IN_GROUPS:
        return [tc.LDiversity(l=2)]
    if kind == "ring":
        return [KConcealment(k=2)]
    return [tc.KAnonymity(k=2), tc.LDiversity(l=2)] if kind in EXCHANGING else [tc.KAnonymity(k=2)]


def replayed(data, policy):
    release = tc.anonymize(data, policy)
    report = attack(data, release.frame, policy=policy, side=release.side, kinds=["replay"], with_before=False)
    return report.after[0]


def few_values(seed, n, counts):
    """People among whom every illness is as frequent as asked: the fewer illnesses, the fewer worlds."""
    illness = [v for v, count in zip(["flu", "ulcer", "asthma"], counts, strict=False) for _ in range(count)]
    random.Random(seed).shuffle(illness)
    data = pl.concat([people(seed, min(n, 8)), people(seed + 100, 1)]).head(n)
    return data.with_columns(pl.Series("illness", illness), pl.Series("pay", [len(v) for v in illness]))


# Tables for every algorithm: how many people have each illness, and goals that promise something under replay.
IN_CLASSES = [
    ((2, 2, 2), [tc.KAnonymity(k=2)]),
    ((4, 3), [tc.KAnonymity(k=3)]),
    ((4, 4), [MConfidentiality(m=2, k=4)]),
    ((2, 2, 2), [MConfidentiality(m=2, k=3)]),
    ((5, 4), [tc.KAnonymity(k=4)]),
][: 5 if effort.IS_THOROUGH else 3]
BY_GROUP = [
    ((2, 2, 2), [tc.LDiversity(l=2)]),
    ((3, 3, 1), [tc.LDiversity(l=2)]),
    ((3, 3), [tc.LDiversity(l=2, variant="entropy")]),
    ((2, 2, 1), [tc.LDiversity(l=2)]),
    ((2, 2, 2), [tc.LDiversity(l=3)]),
]
VARIANTS = {"mondrian, relaxed": {"mode": "relaxed"}}  # labels of its classes may overlap
EVERY = sorted({*registry.known("algorithms"), *VARIANTS} - {"apriori", *EXCHANGING})


def cases_of(kind):
    if kind in IN_GROUPS:
        return BY_GROUP
    if kind == "ring":
        return [((2, 2, 2), [KConcealment(k=2)])] * len(IN_CLASSES)
    if kind == "tds":  # looks at values by itself, so that m-confidentiality is refused
        return [(counts, [tc.KAnonymity(k=goals[0].k)]) for counts, goals in IN_CLASSES]
    return IN_CLASSES


def told(kind, number, counts, goals):
    """What replay tells of the first table that the goals can be reached on; seldom are too few runs the release."""
    name = kind.partition(",")[0]
    policy = policy_for(name, goals)
    policy = policy.model_copy(update={"algorithm": replace(policy.algorithm, **VARIANTS.get(kind, {}))})
    for seed in range(number, number + 500, 10):
        try:
            found = replayed(few_values(seed, sum(counts), counts), policy).finding
        except (tc.GoalNotMet, tc.Infeasible):
            continue
        if found is not None:
            return found
    raise AssertionError("no table can be told")


def draw_less(monkeypatch, draws=400):
    monkeypatch.setattr(replay, "ENOUGH", 60)  # errors of 0.26, and a certain value is 0.5 above what is promised
    monkeypatch.setattr(replay, "DRAWS", draws)


@pytest.mark.parametrize("kind", EVERY)
def test_replay_recovers_nothing_beyond_what_is_promised(kind, monkeypatch):
    draw_less(monkeypatch)
    for number, (counts, goals) in enumerate(cases_of(kind)):
        found = told(kind, number, counts, goals)
        details = found.details
        assert details["is_promised"] == (kind != "tds")
        error = 0.0 if details["is_exact"] else 4 * (0.25 / details["runs_that_gave_the_release"]) ** 0.5
        if details["is_promised"]:
            assert found.n_victims == 0
            assert details["most_certain_value"] <= details["allowed_value"] + error + 1e-9
        if details["is_exact"] and details["is_promised"]:  # no way is ruled out: nothing at all is learned
            assert details["runs_that_gave_the_release"] == details["worlds"]
        if details["allowed_linkage"] is not None:
            assert details["most_certain_row"] <= details["allowed_linkage"] + error + 1e-9
        if isinstance(goals[0], MConfidentiality):
            assert details["allowed_value"] == 0.5


@pytest.mark.parametrize("kind", EXCHANGING)
def test_rows_that_are_exchanged_by_their_values_are_not_linked(kind, monkeypatch):
    """What their classes tell of values is measured: it may pass 1/l, as with every class that values decide on."""
    draw_less(monkeypatch)
    for number, counts in enumerate([(2, 2, 2), (3, 3), (2, 2, 1), (3, 2), (2, 2)]):
        details = told(kind, number, counts, [tc.KAnonymity(k=2), tc.LDiversity(l=2)]).details
        assert not details["is_promised"]
        error = 4 * (0.25 / details["runs_that_gave_the_release"]) ** 0.5
        assert details["most_certain_row"] <= 0.5 + error


@pytest.mark.parametrize(("kind", "seed"), [("pm-hca", 2), ("t-msn", 0)])
def test_exchanged_rows_may_tell_a_value_for_certain(kind, seed, monkeypatch):
    """As docs/concepts/ready.md says: buckets begin as classes that values decided on, whatever is exchanged then."""
    draw_less(monkeypatch, draws=1000)
    goals = [tc.KAnonymity(k=2), tc.LDiversity(l=2)]
    assert told(kind, seed, (3, 2, 2), goals).details["most_certain_value"] == 1.0


def test_items_depend_on_neither_order_nor_seed():
    """`apriori` publishes nodes that follow from counts of items alone: there is nothing to run again."""
    items = ["a;b", "a;c", "b;c", "a;b;c", "c;d", "a;d", "b;d", "c"]
    frames = []
    for order, seed in (([0, 1, 2, 3, 4, 5, 6, 7], 0), ([7, 2, 5, 0, 3, 6, 1, 4], 9)):
        policy = tc.Policy(columns={"bought": "items"}, goals=[KmAnonymity(k=2, m=2)], seed=seed)
        frames.append(Counter(map(str, tc.anonymize(pl.DataFrame({"bought": items})[order], policy).frame["bought"])))
    assert frames[0] == frames[1]


def test_classes_that_values_decide_on_tell_more_than_one_in_l():
    """The leak that stays where goals speak of values and classes are cut by them: l-diversity does not promise it."""
    policy = policy_for("mondrian", [tc.KAnonymity(k=2), tc.LDiversity(l=2)])
    told = next(f for s in range(40) if (f := replayed(people(s, 7), policy).finding) and f.n_victims)
    assert told.details["is_exact"]
    assert told.details["most_certain_value"] > 0.5
    assert not told.details["is_promised"]
    assert "no goal bounds it" in told.notes[0]


@pytest.mark.parametrize(
    ("kind", "goals", "is_said"),
    [
        ("auto", [tc.KAnonymity(k=2), tc.LDiversity(l=2)], True),
        ("pm-hca", [tc.KAnonymity(k=2), tc.LDiversity(l=2)], True),
        ("auto", [MConfidentiality(m=2, k=4)], False),
        ("auto", [tc.KAnonymity(k=2)], False),
        ("tds", [tc.KAnonymity(k=2)], False),  # looks at values, and no goal promises anything of them
        ("anatomy", [tc.LDiversity(l=2)], False),
    ],
)
def test_a_run_says_once_where_values_decided_on_classes(kind, goals, is_said):
    notes = tc.anonymize(people(3, 8), policy_for(kind, goals)).report.notes
    assert notes.count(BY_VALUES) == is_said


def test_nothing_is_promised_where_a_value_is_too_frequent_to_draw_groups():
    data = few_values(1, 5, (3, 2))
    found = replayed(data, policy_for("slicing", [tc.LDiversity(l=2)])).finding
    assert not found.details["is_promised"]


@pytest.mark.parametrize("kind", [*EXCHANGING, "tds"])
def test_m_confidentiality_is_refused_where_the_search_looks_at_values(kind):
    with pytest.raises(tc.IncompatibleChoice, match=f"as {kind} does"):
        tc.anonymize(people(3, 8), policy_for(kind, [MConfidentiality(m=2, k=4)]))


def test_m_confidentiality_may_predict_a_quasi_identifier():
    policy = policy_for("tds", [MConfidentiality(m=2, k=4)])
    policy = policy.model_copy(update={"algorithm": replace(policy.algorithm, class_column="sex")})
    assert tc.anonymize(people(3, 8), policy).report.verification.holds


def published(release):
    return Counter(map(str, release.frame.with_columns(pl.all().cast(pl.String)).rows()))


def worlds_by_hand(data, policy):
    """Every order of the illnesses that gives the release, by running the whole pipeline on each."""
    wanted = published(tc.anonymize(data, policy))
    found = []
    for illness in sorted(set(permutations(data["illness"].to_list()))):
        try:
            release = tc.anonymize(data.with_columns(pl.Series("illness", illness)), policy)
        except tc.CloakError:
            continue
        if published(release) == wanted:
            found.append(illness)
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_exact_replay_is_that_of_running_everything_by_hand(seed):
    data, policy = people(seed, 5), policy_for("mondrian", [tc.KAnonymity(k=2), tc.LDiversity(l=2)])
    worlds = worlds_by_hand(data, policy)
    own = [sum(w[i] == v for w in worlds) / len(worlds) for i, v in enumerate(data["illness"])]
    found = replayed(data, policy).finding
    assert found.average == pytest.approx(sum(own) / len(own))
    assert found.highest == pytest.approx(max(own))
    assert found.details["runs_that_gave_the_release"] == len(worlds)


def test_two_people_of_a_drawn_group_are_one_half_each():
    """Four people with four illnesses in two groups of two, counted by hand: each of a pair is as likely."""
    data = people(0, 4)
    found = replayed(data, policy_for("anatomy", [tc.LDiversity(l=2)])).finding
    assert found.details["worlds"] == 4
    assert found.baseline == 0.5
    assert abs(found.average - 0.5) < 4 * (0.25 / found.details["runs_that_gave_the_release"]) ** 0.5
    assert found.n_victims == 0


@dataclass(frozen=True)
class PublicSecret:
    """The same program where the secret is known, which is what a seed in the policy was."""

    inner: object
    secret: Secret
    is_drawn = False

    @property
    def is_promised(self):
        return self.inner.is_promised

    @property
    def linkage(self):
        return self.inner.linkage

    @property
    def value(self):
        return self.inner.value

    def run(self, source, _):
        return self.inner.run(source, self.secret)


def test_a_public_secret_is_replayed():
    """So it was in 0.1.0: who knows what decided the groups is certain of values."""
    policy = policy_for("anatomy", [tc.LDiversity(l=2)])
    n_victims = 0
    for seed in TABLES:
        data = people(seed, 8).vstack(people(seed + 9, 2))
        data = data.with_columns(pl.Series("illness", ["flu", "ulcer"] * 5))
        release = tc.anonymize(data, policy)
        case = build_case(
            release.frame, quasi=QUASI, sensitive=["illness"], original=data, side=release.side, policy=policy
        )
        program = PublicSecret(program_of(policy, data), Secret.fresh())  # tests have one secret, see conftest.py
        found = run_attacks(replace(case, program=program), ["replay"])[0]
        n_victims += found.finding.n_victims
    assert n_victims > len(TABLES)


def test_a_release_of_another_program_is_not_replayed():
    data = people(1)
    other = tc.anonymize(data, policy_for("mondrian", [tc.KAnonymity(k=3)]))
    found = attack(data, other.frame, policy=policy_for("mondrian", [tc.KAnonymity(k=2)]), kinds=["replay"])
    assert "another program, version or policy" in found.after[0].reason


def test_replay_says_how_many_people_it_can_try():
    data = people(1, 8).vstack(people(2, 8))
    found = replayed(data, policy_for("mondrian", [tc.KAnonymity(k=2)]))
    assert found.reason == "too large: replay is tried up to 12 people"


@pytest.mark.parametrize("kind", sorted(set(registry.known("algorithms")) - {"apriori"}))
def test_neither_order_of_rows_nor_their_numbers_decide_what_is_published(kind):
    """With the same secret, the same people in any order give the same rows."""
    rng = np.random.default_rng(5)
    data = pl.concat([people(s, 8) for s in range(5)])
    policy = policy_for(kind, goals_of(kind))
    releases = [tc.anonymize(data[order], policy) for order in (np.arange(40), rng.permutation(40))]
    assert published(releases[0]) == published(releases[1])
    if releases[0].side is not None:
        sides = [r.side.with_columns(pl.all().cast(pl.String)) for r in releases]
        assert Counter(sides[0].rows()) == Counter(sides[1].rows())
