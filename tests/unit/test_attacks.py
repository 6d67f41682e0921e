"""Attacks that learn, sample or look up: on tables where what they must reach is known beforehand."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from math import comb

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from tablecloak.attacks import linkage_knowing_everybody, minimality
from tablecloak.attacks.attribute_inference import excess_risk
from tablecloak.attacks.base import every, mean_interval, run_attacks, wilson
from tablecloak.attacks.case import Attacker, Fact
from tablecloak.attacks.covering_classes import candidates_of
from tablecloak.attacks.linkage_knowing_everybody import link_chances
from tablecloak.attacks.noise_filtering import filtered
from tablecloak.attacks.outliers import robust_scores
from tablecloak.attacks.probabilistic_linkage import fit_weights
from tablecloak.errors import DataError, PolicyError
from tablecloak.measure.attack import attack, build_case, read_facts
from tablecloak.models.base import Goal
from tablecloak.models.k_map import KMap
from tablecloak.models.m_confidentiality import MConfidentiality
from tablecloak.models.personalized_privacy import PersonalizedPrivacy
from tablecloak.pipeline import verify_certificate
from tablecloak.registry import find
from tablecloak.stats.classes import SensitiveDomain, count_classes
from tablecloak.stats.consistency import Consistency


def reached(name, original, release, quasi, sensitive=(), **beside):
    found = attack(
        original, release, quasi=quasi, sensitive=sensitive, kinds=[name], with_before=False, **beside
    ).after[0]
    assert found.finding is not None, found.reason
    return found.finding


def refused(name, original, release, quasi, sensitive=(), **beside):
    report = attack(original, release, quasi=quasi, sensitive=sensitive, kinds=[name], **beside)
    assert report.after[0].finding is None
    return report.after[0].reason


PEOPLE = pl.DataFrame({
    "id": ["p1", "p2", "p3", "p4", "p5", "p6"],
    "age": [20, 30, 40, 50, 60, 70],
    "sex": ["f", "m", "f", "m", "f", "m"],
    "dx": ["a", "b", "a", "b", "a", "b"],
})  # fmt: skip


def test_nearest_rows_of_slightly_perturbed_numbers_are_the_own_ones():
    noisy = PEOPLE.with_columns(age=pl.Series([20.4, 29.1, 41.2, 50.3, 58.8, 71.5]))
    found = reached("distance-linkage", PEOPLE, noisy, ["age", "sex"])
    assert (found.highest, found.average, found.n_victims) == (1.0, 1.0, 6)


def test_nearest_rows_after_averaging_are_one_of_the_class():
    averaged = PEOPLE.with_columns(age=pl.Series([30.0, 50.0, 30.0, 50.0, 60.0, 50.0]))
    found = reached("distance-linkage", PEOPLE, averaged, ["age"])
    # rows 1 and 3 show 30, rows 2, 4 and 6 show 50, row 5 shows 60; the person of 40 is as near to 30 as to 50
    assert found.average == pytest.approx((1 / 2 + 0 + 1 / 5 + 1 / 3 + 1 + 0) / 6)


def test_probabilistic_linkage_weighs_the_column_that_tells():
    rng = np.random.default_rng(0)
    original = pl.DataFrame({"key": np.arange(200), "coin": rng.integers(0, 2, 200)})
    release = original.with_columns(coin=pl.Series(rng.integers(0, 2, 200)))
    found = reached("probabilistic-linkage", original, release, ["key", "coin"], attacker=Attacker(radius=0.001))
    assert found.average > 0.9  # the coin is noise, the key is not


def test_weights_of_agreement_are_learned():
    rng = np.random.default_rng(0)
    own, other = rng.random((500, 2)) < (0.95, 0.9), rng.random((50_000, 2)) < (0.01, 0.5)
    patterns = np.concatenate([own, other]) @ np.array([1, 2])
    found = fit_weights(np.bincount(patterns, minlength=4).astype(float), 2, 500)
    assert found.m == pytest.approx([0.95, 0.9], abs=0.1)
    assert found.u == pytest.approx([0.01, 0.5], abs=0.05)


def test_unsalted_digests_are_looked_up():
    hashed = PEOPLE.with_columns(id=pl.Series([hashlib.sha256(i.encode()).hexdigest() for i in PEOPLE["id"]]))
    found = reached("pseudonym-reversal", PEOPLE, hashed, ["age"])
    assert found.n_victims == 6
    assert found.details["method"] == "sha256"


@pytest.mark.slow
def test_short_digests_of_small_numbers_are_found_without_an_original():
    tokens = pl.DataFrame(
        {"id": [hashlib.md5(str(i).encode()).hexdigest()[:12] for i in range(50, 60)], "q": ["*"] * 10}
    )
    assert reached("pseudonym-reversal", None, tokens, ["q"]).n_victims == 10


@pytest.mark.slow
def test_keyed_digests_are_not_found():
    keyed = PEOPLE.with_columns(
        id=pl.Series([hashlib.sha256(b"secret" + i.encode()).hexdigest() for i in PEOPLE["id"]])
    )
    assert reached("pseudonym-reversal", PEOPLE, keyed, ["age"]).n_victims == 0


def test_noise_on_correlated_columns_is_filtered():
    """Ten columns that all are one number: averaging them removes nine tenths of the noise, as the filter must."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(0, 10, 2_000)
    before = pl.DataFrame({f"c{i}": hidden for i in range(10)}).with_columns(q=pl.Series(range(2_000)))
    after = before.with_columns(pl.Series(f"c{i}", hidden + rng.normal(0, 3, 2_000)) for i in range(10))
    found = reached("noise-filtering", before, after, ["q"])
    assert found.average == pytest.approx(0.9, abs=0.02)


def test_noise_on_independent_columns_stays_but_for_shrinking():
    """The best linear estimate of one number with noise keeps 1 / (1 + noise / signal) of it."""
    rng = np.random.default_rng(0)
    before = rng.normal(0, 2, (50_000, 2))
    noise = rng.normal(0, 2, (50_000, 2))
    estimate = filtered(before + noise, noise.var(axis=0))
    error = ((estimate - before) ** 2).mean(axis=0)
    assert error == pytest.approx([2.0, 2.0], rel=0.05)  # 4 * 4 / (4 + 4)


def test_robust_scores():
    """Median 3, median distance 1: 100 scores 0.6745 * 97."""
    scores = robust_scores(np.array([1.0, 2, 3, 4, 100]), np.ones(5))
    assert scores.tolist() == pytest.approx([1.349, 0.6745, 0, 0.6745, 65.4265])
    assert robust_scores(np.array([1.0, np.nan]), np.array([1.0, 3.0])).tolist() == [0, 0]


def test_outliers_show_until_they_share_a_cell_with_others():
    ages = pl.DataFrame({"age": [30, 31, 32, 33, 34, 200]})
    shown = ages.with_columns(age=pl.Series(["[30, 34]"] * 5 + ["[150, 250]"]))
    found = reached("outliers", ages, shown, ["age"])
    assert (found.n_victims, found.worst, found.highest) == (1, (6,), 1.0)
    hidden = ages.with_columns(age=pl.Series(["[30, 33]"] * 4 + ["[34, 250]"] * 2))
    assert reached("outliers", ages, hidden, ["age"]).n_victims == 0


def test_a_known_sensitive_value_singles_out_inside_a_class():
    release = PEOPLE.with_columns(age=pl.lit("*"), sex=pl.lit("*"), dx=pl.Series(["a", "b", "b", "b", "b", "b"]))
    found = reached("known-sensitive", None, release, ["age", "sex"], ["dx"])
    assert (found.n_victims, found.worst[0], found.highest) == (1, 1, 1.0)


def test_a_known_sensitive_value_is_shown_by_all_rows_that_cover_a_person():
    """A ring publishes four different rows, none a class of two; yet two rows that cover everybody show their value."""
    people = pl.DataFrame({"age": [1, 2, 3, 4], "dx": ["a"] * 4})
    rows = pl.DataFrame({"age": ["[1, 2]", "[2, 3]", "[3, 4]", "{1, 4}"], "dx": ["a"] * 4})
    found = reached("known-sensitive", people, rows, ["age"], ["dx"])
    assert (found.highest, found.average, found.n_victims) == (0.5, 0.5, 0)


def test_impossible_pairs_undo_a_group():
    """A man cannot be pregnant, so of a man and a woman who share two values both are known."""
    original = pl.DataFrame({"sex": ["m", "f", "f", "m"], "dx": ["flu", "pregnant", "flu", "flu"]})
    main = pl.DataFrame({"sex": ["m", "f", "f", "m"], "group_id": [1, 1, 2, 2]})
    side = pl.DataFrame({"group_id": [1, 1, 2], "dx": ["flu", "pregnant", "flu"], "count": [1, 1, 2]})
    facts = [Fact("dx", "pregnant", 0.0, column="sex", equals="m")]
    found = reached("impossible-pairs", original, main, ["sex"], ["dx"], side=side, facts=facts)
    assert (found.highest, found.n_victims, found.worst) == (1.0, 2, (1, 2))
    swapped = original.with_columns(dx=pl.Series(["pregnant", "flu", "flu", "flu"]))
    shown = reached("impossible-pairs", original, swapped, ["sex"], ["dx"], facts=facts)
    assert (shown.n_victims, shown.worst) == (1, (1,))


def test_foreground_knowledge_uses_what_other_groups_show():
    """Five groups say that x goes with flu; in the mixed group x is then believed to have flu."""
    quasi = ["x"] * 10 + ["y"] * 10 + ["x", "y"]
    values = ["flu"] * 10 + ["cold"] * 10 + ["flu", "cold"]
    groups = [i // 2 for i in range(20)] + [10, 10]
    main = pl.DataFrame({"q": quasi, "s": values, "group_id": groups})
    original = pl.DataFrame({"q": quasi, "s": values})
    found = reached("foreground-knowledge", original, main, ["q"], ["s"])
    assert found.worst[:2] == (21, 22)
    assert found.n_victims == 2


@pytest.mark.slow
def test_a_model_learns_more_about_members_of_an_exact_table_than_about_others():
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    n = 4_000
    frame = pl.DataFrame({"a": rng.integers(0, 60, n), "b": rng.integers(0, 60, n)})
    frame = frame.with_columns(s=pl.Series(rng.choice(["x", "y"], n)))
    members, others = frame.head(n // 2), frame.tail(n // 2)
    exact = reached("attribute-inference", members, members, ["a", "b"], ["s"], control=others)
    assert exact.details["excess"] > 0.15  # values are random: only learning by heart helps, and only with members
    assert exact.baseline == pytest.approx(0.5, abs=0.05)
    hidden = members.with_columns(a=pl.lit("*"), b=pl.lit("*"))
    nothing = reached("attribute-inference", members, hidden, ["a", "b"], ["s"], control=others)
    assert nothing.details["excess"] < 0.05


def test_confidence_limits():
    """Wilson's limits of 15 out of 20, as the formula gives them by hand: centre 0.70973, reach 0.17863."""
    assert wilson(15, 20) == pytest.approx((0.5313, 0.8881), abs=1e-3)
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = mean_interval(np.array([0.0, 1.0] * 50))
    assert (low + high) / 2 == pytest.approx(0.5)
    assert (high - low) / 2 == pytest.approx(1.96 * 0.5025 / 10, abs=1e-3)
    assert excess_risk(0.75, 10_000, 0.5, 10_000)[0] == pytest.approx(0.5)
    assert excess_risk(0.4, 100, 0.5, 100)[0] == 0.0


def test_rows_left_out_of_a_release_are_found_by_order():
    original = pl.DataFrame({"age": list(range(20, 40)), "dx": list("ab") * 10})
    kept = [i for i in range(20) if i not in (3, 4, 11)]
    release = original[kept].with_columns(age=(pl.col("age") // 10 * 10).map_elements(lambda a: f"[{a}, {a + 9}]"))
    case = build_case(release, quasi=["age"], sensitive=["dx"], original=original)
    assert case.is_covering
    assert case.row_of is not None
    assert (case.row_of // 10 == np.array(kept) // 10).all()
    assert (original["dx"].to_numpy()[case.row_of] == release["dx"].to_numpy()).all()


def figures(report):
    keep = ("applies", "highest", "average", "baseline", "victims", "targets")
    return {a["attack"]: {k: a.get(k) for k in keep} for a in report.to_dict()["attacks"]}


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_changes_no_attack(seed):
    """Classes do not overlap, so whose row is whose follows from what is published, in whatever order it stands."""
    rng = np.random.default_rng(seed)
    original = pl.DataFrame({"age": rng.integers(20, 60, 60), "dx": rng.choice(list("abc"), 60)})
    release = original.with_columns(
        pl.format("[{}, {}]", pl.col("age") // 10 * 10, pl.col("age") // 10 * 10 + 9).alias("age")
    )
    kinds = [name for name in every() if name not in ("attribute-inference", "minimality")]  # which draw, row by row
    ways = [release, release.reverse(), release.sort("age", "dx"), release.sample(60, shuffle=True, seed=seed)]
    found = [figures(attack(original, w, quasi=["age"], sensitive=["dx"], kinds=kinds)) for w in ways]
    assert sum(f["applies"] for f in found[0].values()) >= 10
    assert found[1:] == found[:1] * 3


def test_a_shuffled_release_is_matched_with_its_originals():
    release = PEOPLE.reverse().with_columns(age=pl.Series(["[50, 70]"] * 3 + ["[20, 40]"] * 3))
    case = build_case(release, quasi=["age"], sensitive=["dx"], original=PEOPLE)
    assert case.row_of is not None
    assert case.is_certain
    assert sorted(case.row_of.tolist()) == list(range(6))
    assert (PEOPLE["dx"].to_numpy()[case.row_of] == release["dx"].to_numpy()).all()


def test_that_rows_fit_several_people_is_said():
    original = pl.DataFrame({"age": [20, 25, 30], "dx": ["a", "a", "a"]})
    release = pl.DataFrame({"age": ["[25, 30]", "[20, 30]", "[20, 25]"], "dx": ["a", "a", "a"]})
    wanted = tc.Policy(columns=tc.roles(quasi=["age"], sensitive=["dx"]), goals=[tc.KAnonymity(k=2)])
    report = attack(original, release, policy=wanted, kinds=["distance-linkage"])
    assert "which row is whose is not certain" in report.notes[0]


def test_rows_that_nothing_but_their_order_could_tell_apart_are_not_told():
    """The release is one of our own, whose rows never stand in the order of the original unless that is asked for."""
    original = pl.DataFrame({"age": [20, 30, 40, 50], "pay": [1, 2, 3, 4]})
    averages = pl.DataFrame({"age": [25.0, 25.0, 45.0, 45.0], "pay": [1.5, 2.1, 3.2, 4.4]})
    wanted = tc.Policy(columns=tc.roles(quasi=["age"], sensitive=["pay"]), goals=[tc.KAnonymity(k=2)])
    found = figures(attack(original, averages, policy=wanted, kinds=["distance-linkage", "noise-filtering"]))
    assert [f["applies"] for f in found.values()] == [False, False]


def test_without_a_policy_only_cells_that_stay_in_place_tell_the_order():
    original = pl.DataFrame({"age": [20, 30, 40, 50, 60, 70], "zip": ["b", "a", "c", "f", "e", "d"]})
    means = original.with_columns(age=pl.Series([25.0, 25.0, 45.0, 45.0, 65.0, 65.0]))
    assert build_case(means, quasi=["age"], original=original).row_of.tolist() == list(range(6))
    moved = means[[1, 0, 2, 3, 4, 5]]
    for release in (moved, means.drop("zip"), means[:5]):
        assert build_case(release, quasi=["age"], original=original).row_of is None
        assert refused("distance-linkage", original, release, ["age"])


@pytest.mark.parametrize("newcomer", ["b", "c"])
def test_critical_absence_with_newcomers(newcomer):
    """Whoever has b has left. A newcomer with b stands in for them; one with c does not, and 1 is given away."""
    original = pl.DataFrame({"q": [1, 2, 3, 4], "s": ["a", "b", "a", "c"]})
    first = pl.DataFrame({"q": ["[1, 2]", "[1, 2]", "[3, 4]", "[3, 4]"], "s": ["a", "b", "a", "c"]})
    later = pl.DataFrame({"q": ["[1, 2]", "[3, 4]", "[3, 4]", "[8, 9]", "[8, 9]"], "s": ["a", "a", "c", newcomer, "a"]})
    found = reached("critical-absence", original, first, ["q"], ["s"], others=[later])
    assert (found.n_targets, found.n_victims) == (3, int(newcomer == "c"))
    assert found.details["left_the_table"] == 1


def test_classes_with_overlapping_cells_are_compared_bit_by_bit():
    original = pl.DataFrame({"age": [20, 25, 30, 35], "sex": ["f", "f", "m", "m"]})
    release = pl.DataFrame({"age": ["[20, 30]", "[20, 30]", "[25, 35]", "{30, 35}"], "sex": ["*", "f", "*", "m"]})
    case = build_case(release, quasi=["age", "sex"], original=original)
    found = candidates_of(case, [q.codes for q in case.quasi])
    assert found is not None
    assert found.per_target(case.stats.size.astype(float)).tolist() == [2, 3, 3, 2]


def test_no_exposure_names_a_value():
    report = attack(PEOPLE, PEOPLE, quasi=["age", "sex"], sensitive=["dx"]).to_dict()
    assert "p3" not in str(report)


def test_facts_are_read_from_a_table():
    frame = pl.DataFrame({"sensitive": ["dx"], "value": ["a"], "weight": [0.5], "column": ["sex"], "equals": ["f"]})
    assert read_facts(frame) == (Fact("dx", "a", 0.5, "sex", "f"),)
    with pytest.raises(DataError, match="needs a column 'value'"):
        read_facts(pl.DataFrame({"sensitive": ["dx"]}))


def test_unknown_attacks_and_columns_are_refused():
    with pytest.raises(PolicyError, match="unknown attack"):
        attack(PEOPLE, PEOPLE, quasi=["age"], kinds=["homogenity"])
    with pytest.raises(DataError, match="no column 'agee'"):
        attack(PEOPLE, PEOPLE, quasi=["agee"])
    with pytest.raises(DataError, match="no column 'sex'"):
        attack(PEOPLE, PEOPLE, quasi=["age", "sex"], population=PEOPLE.select("age"))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("journalist", "population"), ("membership", "population"), ("composition", "another release"),
        ("collusion", "another release"), ("critical-absence", "later release"), ("given-facts", "sensitive"),
        ("homogeneity", "sensitive"), ("proximity", "sensitive"), ("definetti", "groups"),
        ("pseudonym-reversal", "pseudonyms"), ("noise-filtering", "original"),
        ("linkage-knowing-everybody", "original"),
    ],
)  # fmt: skip
def test_what_an_attack_needs_is_said(name, reason):
    release = pl.DataFrame({"q": ["a", "b"]})
    assert reason in refused(name, None, release, ["q"])


def test_critical_absence_between_two_releases_of_one_table():
    original = pl.DataFrame({"q": [1, 2, 3, 4], "s": ["a", "b", "a", "c"]})
    first = pl.DataFrame({"q": ["[1, 2]", "[1, 2]", "[3, 4]", "[3, 4]"], "s": ["a", "b", "a", "c"]})
    later = first[[0, 2, 3]]  # the one with b has left, and nobody else has b
    found = reached("critical-absence", original, first, ["q"], ["s"], others=[later])
    assert (found.n_targets, found.n_victims, found.worst) == (3, 1, (1,))
    assert found.details["counterfeits_needed"] == 1


def test_highest_is_told_only_where_it_is_a_maximum_over_people():
    """In two classes of three everybody is found with 1/3; the marketer's figure is a mean of the table."""
    halves = PEOPLE.with_columns(age=pl.Series(["[20, 40]"] * 3 + ["[50, 70]"] * 3))
    assert reached("prosecutor", PEOPLE, halves, ["age"]).highest == pytest.approx(1 / 3)
    shown = reached("marketer", PEOPLE, halves, ["age"])
    assert (shown.highest, shown.average) == (None, pytest.approx(1 / 3))
    assert attack(PEOPLE, halves, quasi=["age"], kinds=["marketer"]).to_dict()["attacks"][0]["highest"] is None


def test_success_and_baseline_are_one_quantity():
    """Half of all have a, and a class of three has it twice: (2/3 - 1/2) / (1 - 1/2) of the doubt is gone, a third."""
    halves = PEOPLE.with_columns(age=pl.Series(["[20, 40]"] * 3 + ["[50, 70]"] * 3))
    found = reached("attribute-linkage", PEOPLE, halves, ["age"], ["dx"])
    assert (found.success, found.baseline, found.excess) == pytest.approx((2 / 3, 1 / 2, 1 / 3))


def test_the_average_of_a_composition_is_over_people_in_several_releases():
    """The second release has two of four people, and leaves each of them one value: the average is 1, not 1/2."""
    original = pl.DataFrame({"q": [1, 2, 3, 4], "s": ["a", "b", "c", "d"]})
    first = original.with_columns(q=pl.Series(["[1, 2]", "[1, 2]", "[3, 4]", "[3, 4]"]))
    second = pl.DataFrame({"q": ["1", "2"], "s": ["a", "b"]})
    found = reached("composition", original, first, ["q"], ["s"], others=[second])
    assert (found.average, found.n_targets, found.n_victims) == (1.0, 2, 2)
    assert (found.baseline, found.details["by_the_first_release_alone"]) == (1 / 4, 1 / 2)


def test_only_counting_attacks_are_part_of_every_report():
    case = build_case(PEOPLE, quasi=["age"], sensitive=["dx"], original=PEOPLE)
    tried = {e.attack for e in run_attacks(case)}
    assert {"prosecutor", "homogeneity", "skewness"} <= tried
    assert "attribute-inference" not in tried
    assert tried < set(every())
    assert {find("attacks", n)(case).attack for n in every()} == set(every())


@pytest.mark.parametrize("name", ["proximity", "range-disclosure"])
def test_empty_cells_disclose_no_number(name):
    """Five of six cells of a class are empty: about the one number nothing is sure, and empty cells have no victim."""
    release = pl.DataFrame({"q": ["x"] * 6 + ["y"], "s": [None] * 5 + [10, 90]})
    found = reached(name, None, release, ["q"], ["s"])
    assert (found.highest, found.n_victims) == (1.0, 1)  # the one with y
    assert found.average == pytest.approx((6 * 1 / 6 + 1) / 7)
    assert found.baseline == pytest.approx(1 / 7)


# Matchings ----------------------------------------------------------------------------------------------------------


def test_somebody_who_knows_everybody_finds_a_row_in_two_of_three_matchings():
    """1 and 2 share the first two rows, 2 and 3 the last two: of the three matchings two give the first row to 1."""
    people = pl.DataFrame({"age": [1, 2, 3]})
    # row 1 covers 1 and 2, row 2 covers 1, 2 and 3, row 3 covers 2 and 3
    rows = pl.DataFrame({"age": ["[1, 2]", "[1, 3]", "[2, 3]"]})
    found = reached("linkage-knowing-everybody", people, rows, ["age"])
    assert (found.highest, found.average) == pytest.approx((2 / 3, (2 / 3 + 1 / 3 + 2 / 3) / 3))
    assert (found.n_victims, found.details["people_counted"]) == (2, 3)


def test_a_ring_of_many_is_counted():
    """Everybody fits two neighbouring rows of a ring, which has exactly two matchings: one half each."""
    n = 60
    fits = np.zeros((n, n))
    fits[np.arange(n), np.arange(n)] = fits[np.arange(n), (np.arange(n) + 1) % n] = 1
    published, originals = np.nonzero(fits)
    one_each = np.ones(n, np.int64)
    graph = Consistency(originals, published, one_each, one_each, (published == originals).astype(np.int64))
    chances, is_counted = link_chances(graph)
    assert is_counted.all()
    assert chances.tolist() == pytest.approx([0.5] * n)


def test_matchings_too_many_to_count_are_bounded_from_below(monkeypatch):
    monkeypatch.setattr(linkage_knowing_everybody, "STEPS_UP_TO", 0)
    people = pl.DataFrame({"age": [1, 2, 3]})
    rows = pl.DataFrame({"age": ["[1, 2]", "[1, 3]", "[2, 3]"]})
    found = reached("linkage-knowing-everybody", people, rows, ["age"])
    assert found.average == pytest.approx((1 / 2 + 1 / 3 + 1 / 2) / 3)
    assert "of 3 people only the least possible chance is known" in found.notes[0]


# Minimality -----------------------------------------------------------------------------------------------------------


def merged(n_first, n_second, n_sick, m=2):
    """Two kinds of people were put together because the sick would have been more than 1/m of one kind."""
    values = np.array([1] * n_sick + [0] * (n_first + n_second - n_sick))
    cut = np.array([0] * n_first + [1] * n_second)
    return minimality.credibility(values, [cut], m=m, protected=np.array([False, True]))


def believed(n_first, n_second, n_sick, m=2):
    """(chance for the first kind, for the second, worlds) by the hypergeometric distribution, in fractions."""
    ways = {
        x: comb(n_first, x) * comb(n_second, n_sick - x)
        for x in range(max(0, n_sick - n_second), min(n_first, n_sick) + 1)
        if x * m > n_first or (n_sick - x) * m > n_second
    }
    total = sum(ways.values())
    first = Fraction(sum(x * w for x, w in ways.items()), total)
    return float(first / n_first), float((n_sick - first) / n_second), total


@pytest.mark.parametrize("people", [(2, 38, 2), (10, 20, 10), (30, 60, 31), (40, 90, 25), (7, 5, 4)])
def test_minimality_is_exact_in_large_classes(people):
    """Two sick among forty were put together with probability 1 in 780: both are of the first two, for certain."""
    found = merged(*people)
    assert found.errors is None
    assert (found.chances[0, 1], found.chances[-1, 1], found.n_consistent) == believed(*people)


def test_minimality_from_drawn_worlds_is_within_its_errors(monkeypatch):
    monkeypatch.setattr(minimality, "STEPS_UP_TO", 0)
    for people in [(2, 38, 2), (10, 20, 10), (30, 60, 31), (7, 5, 4)]:
        found = merged(*people)
        first, second, _ = believed(*people)
        assert found.n_consistent is None
        for person, exact in ((0, first), (-1, second)):
            assert abs(found.chances[person, 1] - exact) <= 4 * found.errors[person, 1] + 1e-12


def test_minimality_of_several_cuts_from_drawn_worlds_is_within_its_errors(monkeypatch):
    values = np.array([0, 0, 0, 1, 1, 2, 2, 1])
    cuts = [np.array([0, 0, 1, 1, 1, 1, 1, 1]), np.array([0, 0, 0, 0, 1, 1, 1, 1]), np.array([0, 1, 0, 1, 0, 1, 0, 1])]
    exact = minimality.credibility(values, cuts, m=2)
    monkeypatch.setattr(minimality, "STEPS_UP_TO", 0)
    drawn = minimality.credibility(values, cuts, m=2)
    assert (np.abs(drawn.chances - exact.chances) <= 4 * drawn.errors + 1e-12).all()


CLASS_OF_40 = pl.DataFrame({"q": ["x"] * 2 + ["y"] * 38, "s": ["ill"] * 2 + [f"v{i}" for i in range(38)]})


def test_minimality_of_forty_people_is_counted():
    """All other values occur once, so only the two ill can have kept x and y together: both have x."""
    hidden = CLASS_OF_40.with_columns(q=pl.lit("{x, y}"))
    found = reached("minimality", CLASS_OF_40, hidden, ["q"], ["s"])
    # of the others, each value belongs to any of 38 people with y
    assert found.average == pytest.approx((2 + 38 / 38) / 40)
    assert (found.highest, found.n_victims, found.interval) == (1.0, 2, None)


def test_minimality_says_where_it_cannot_be_told(monkeypatch):
    monkeypatch.setattr(minimality, "STEPS_UP_TO", 0)
    monkeypatch.setattr(minimality, "EFFECTIVE_FROM", 1e9)
    hidden = CLASS_OF_40.with_columns(q=pl.lit("{x, y}"))
    assert "cannot be told" in refused("minimality", CLASS_OF_40, hidden, ["q"], ["s"])


# Models that need more than the table ---------------------------------------------------------------------------------


@pytest.fixture
def city(tmp_path):
    rng = np.random.default_rng(1)
    people = pl.DataFrame({
        "age": rng.integers(20, 50, 2_000), "sex": rng.choice(["f", "m"], 2_000),
        "dx": rng.choice(["flu", "hiv", "cold", "burn"], 2_000),
    })  # fmt: skip
    people.rename({"age": "years"}).write_csv(tmp_path / "city.csv")
    return people, {"path": str(tmp_path / "city.csv"), "columns": {"age": "years"}}


def policy(goals, population=None, **more):
    columns = tc.roles(quasi=["age", "sex"], sensitive=["dx"])
    return tc.Policy(columns=columns, goals=goals, population=population, **more)


def test_k_map_is_enforced_and_recounted_on_the_population(city):
    people, population = city
    table = people.head(300)
    wanted = policy([KMap(k=30)], population)
    release = tc.anonymize(table, wanted)
    (verdict,) = release.report.verification.verdicts
    covered = [
        sum(_covers(row["age"], p["age"]) and row["sex"] in ("*", p["sex"]) for p in people.to_dicts())
        for row in release.frame.unique(["age", "sex"]).to_dicts()
    ]
    assert verdict.holds
    assert verdict.achieved == min(covered) >= 30
    assert (
        release.report.verification.n_classes
        > tc.anonymize(table, policy([tc.KAnonymity(k=30)])).report.verification.n_classes
    )
    assert tc.verify(release.frame, wanted).verdicts[0].achieved == min(covered)


def _covers(cell, age):
    low, _, high = cell.strip("[]").partition(",")
    return cell == "*" or int(low) <= age <= int(high or low)


def test_a_population_must_be_named_for_models_that_need_it():
    with pytest.raises(PolicyError, match="k-map needs a population"):
        policy([KMap(k=3)])


def test_a_population_without_a_quasi_identifier_is_refused(city):
    people, population = city
    with pytest.raises(DataError, match="no column 'age'"):
        tc.anonymize(people.head(50), policy([KMap(k=3)], population["path"]))


def test_personalised_privacy_holds_for_everybody_who_guards(city):
    people, _ = city
    table = people.head(400).with_columns(
        guard=pl.when(pl.col("dx") == "hiv").then(pl.lit("hiv")).otherwise(pl.lit(None))
    )
    goals = [PersonalizedPrivacy(guard="guard", limit=0.4), tc.KAnonymity(k=3)]
    release = tc.anonymize(table, policy(goals))
    assert "guard" not in release.frame.columns
    for _, group in release.frame.group_by("age", "sex"):  # whoever has it guards it
        assert (group["dx"] == "hiv").mean() <= 0.4
    again = tc.verify(release.frame, policy(goals), original=table)
    assert [v.holds for v in again.verdicts] == [True, True]
    alone = tc.verify(release.frame, policy(goals))  # what people guard is not published
    assert not alone.holds
    assert "whose column 'guard' says what people guard" in alone.verdicts[0].unchecked
    assert [v.unchecked for v in again.verdicts] == [None, None]
    with pytest.raises(DataError, match="no column 'guard'"):
        tc.anonymize(people.head(100), policy(goals))


@pytest.mark.parametrize("guards", [["b", "b", None, None], ["b", None, "b", None]])
def test_guards_are_known_where_every_original_that_fits_has_the_same(guards):
    """Both classes cover all four people, so whose row is whose stays open; who has b is told by the cell."""
    table = pl.DataFrame({"age": [20, 21, 20, 21], "dx": ["b", "b", "c", "c"], "guard": guards})
    release = pl.DataFrame({"age": ["[20, 21]", "[20, 21]", "[19, 22]", "[19, 22]"], "dx": ["b", "c", "b", "c"]})
    wanted = tc.Policy(
        columns=tc.roles(quasi=["age"], sensitive=["dx"]), goals=[PersonalizedPrivacy(guard="guard", limit=0.5)]
    )
    found = tc.verify(release, wanted, original=table)
    assert not found.fails
    assert found.holds is (guards[0] == guards[1])
    (verdict,) = found.verdicts
    assert verdict.unchecked == (
        None if found.holds else "what people guard could not be counted: several originals fit the same published rows"
    )
    if found.holds:
        assert verdict.achieved == 0.5


def test_a_certificate_is_not_broken_by_what_only_the_original_can_show(city, tmp_path):
    people, _ = city
    guard = pl.when(pl.col("dx") == "hiv").then(pl.lit("hiv")).otherwise(pl.lit(None))
    people.head(400).with_columns(guard=guard).write_csv(tmp_path / "people.csv")
    columns = {**tc.roles(quasi=["age", "sex"], sensitive=["dx"]), "guard": {"role": "drop"}}
    wanted = tc.Policy(
        columns=columns, goals=[PersonalizedPrivacy(guard="guard", limit=0.4), tc.KAnonymity(k=3)],
        input=str(tmp_path / "people.csv"),
        output={"path": str(tmp_path / "out.csv"), "certificate": str(tmp_path / "certificate.json")},
    )  # fmt: skip
    tc.run(wanted)
    alone = verify_certificate(tmp_path / "out.csv", tmp_path / "certificate.json")
    claims = {check.claim: check for check in alone.checks}
    assert (alone.holds, alone.status) == (False, "unchecked")  # nothing is wrong, and not everything was seen
    assert claims["personalized-privacy: level as certified"].ok is None
    assert claims["k-anonymity: level as certified"].ok
    whole = verify_certificate(tmp_path / "out.csv", tmp_path / "certificate.json", original=tmp_path / "people.csv")
    assert {check.claim: check.ok for check in whole.checks}["personalized-privacy: level as certified"]


def test_m_confidentiality_asks_for_its_k_in_the_recount():
    model = MConfidentiality(m=2, k=5)
    domain = SensitiveDomain("illness", ("flu", "cold"))
    stats = count_classes(np.array([0, 0, 1, 1, 1, 1, 1, 1]), 2, {"illness": (np.array([0, 1] * 4), domain)})
    (verdict,) = Goal((model,)).verdicts(stats)
    assert not verdict.holds
    assert [(c.name, c.achieved, c.required, c.holds) for c in verdict.conditions] == [
        ("m", 0.5, 0.5, True),
        ("k", 2.0, 5.0, False),
    ]


def test_m_confidentiality_forms_classes_without_the_sensitive_column(city):
    people, _ = city
    table = people.head(500)
    release = tc.anonymize(table, policy([MConfidentiality(m=2, k=60)]))
    shuffled = table.with_columns(dx=table["dx"].shuffle(seed=3))
    other = tc.anonymize(shuffled, policy([MConfidentiality(m=2, k=60)]))
    assert release.frame.select("age", "sex").equals(other.frame.select("age", "sex"))
    with pytest.raises(tc.IncompatibleChoice, match="as l-diversity does"):
        tc.anonymize(table, policy([MConfidentiality(m=2, k=60), tc.LDiversity(l=2)]))
    with pytest.raises(tc.GoalNotMet, match="m-confidentiality reaches"):
        tc.anonymize(table, policy([MConfidentiality(m=2, k=5)]))


@pytest.mark.parametrize("given", ["path", "text", "polars", "pandas", "arrow"])
def test_tables_may_be_places_or_frames_of_any_library(given, tmp_path):
    coarse = PEOPLE.with_columns(age=pl.lit("[0, 99]"))
    tables = {"people": PEOPLE, "coarse": coarse, "facts": pl.DataFrame({"sensitive": ["dx"], "value": ["flu"]})}

    def table(name):
        path = tmp_path / f"{name}.csv"
        tables[name].write_csv(path)
        frame = tables[name]
        ways = {"path": lambda: path, "text": lambda: str(path), "polars": lambda: frame,
                "pandas": frame.to_pandas, "arrow": frame.to_arrow}  # fmt: skip
        return ways[given]()

    def found(people, coarse, facts, **beside):
        report = tc.attack(people, coarse, quasi=["age", "sex"], sensitive=["dx"], facts=facts, control=people,
                           population=people, others=[coarse], **beside)  # fmt: skip
        return [attempt for attempt in report.to_dict()["attacks"] if attempt["applies"]]

    expected = found(PEOPLE, coarse, read_facts(tables["facts"]))
    assert len(expected) > 10
    assert found(table("people"), table("coarse"), table("facts")) == expected


def test_the_register_of_a_policy_is_one_that_attackers_have_for_frames_too(tmp_path):
    pl.concat([PEOPLE] * 3).write_csv(tmp_path / "register.csv")
    policy = tc.Policy(
        columns=tc.roles(quasi=["age", "sex"], sensitive=["dx"]), goals=[tc.KAnonymity(k=2)],
        population=str(tmp_path / "register.csv"),
    )  # fmt: skip
    given = tc.attack(PEOPLE, PEOPLE, policy=policy, population=pl.concat([PEOPLE] * 3), with_before=False)
    assert tc.attack(PEOPLE, PEOPLE, policy=policy, with_before=False) == given
    assert tc.attack(PEOPLE, PEOPLE, policy=policy, population=PEOPLE, with_before=False) != given


@pytest.mark.parametrize("name", tc.__all__)
def test_every_public_name_is_there(name):
    assert getattr(tc, name) is not None
