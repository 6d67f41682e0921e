"""Worked examples of attacks from the literature; tests name their vectors."""

from __future__ import annotations

import io
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from tablecloak import verify
from tablecloak.attacks._sensitive_values import near_shares
from tablecloak.attacks.case import Attacker, Fact
from tablecloak.attacks.collusion import joined
from tablecloak.attacks.covering_classes import candidates_of
from tablecloak.attacks.critical_absence import find_absence
from tablecloak.attacks.minimality import credibility
from tablecloak.measure.attack import attack, build_case
from tablecloak.models.ck_safety import disclosure
from tablecloak.models.delta_presence import DeltaPresence
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.k_map import KMap
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import ColumnSpec
from tablecloak.registry import find
from tablecloak.stats.classes import Counted, SensitiveDomain, count_classes


def table(written, text=()):
    return pl.read_csv(io.StringIO(written.strip()), schema_overrides=dict.fromkeys(text, pl.String))


def reached(name, original, release, quasi, sensitive=(), **beside):
    report = attack(original, release, quasi=quasi, sensitive=sensitive, kinds=[name], with_before=False, **beside)
    found = report.after[0]
    assert found.finding is not None, found.reason
    return found.finding


T6A = table(
    """
id,Zip,Age,Nationality,Condition
1,13053,28,Russian,Heart Disease
2,13068,29,American,Heart Disease
3,13068,21,Japanese,Viral Infection
4,13053,23,American,Viral Infection
5,14853,50,Indian,Cancer
6,14853,55,Russian,Heart Disease
7,14850,47,American,Viral Infection
8,14840,49,American,Viral Infection
9,13053,31,American,Cancer
10,13053,37,Indian,Cancer
11,13068,36,Japanese,Cancer
12,13068,35,American,Cancer
""",
    text=["Zip"],
)
T6B = T6A.with_columns(
    Zip=pl.Series(["130**"] * 4 + ["148**"] * 4 + ["130**"] * 4),
    Age=pl.Series(["<30"] * 4 + [">40"] * 4 + ["30-40"] * 4),
    Nationality=pl.lit("*"),
)
QI6 = ["Zip", "Age", "Nationality"]


def test_v06_record_linkage_finds_nobody_with_more_than_a_quarter():
    found = reached("prosecutor", T6A, T6B, QI6)
    assert found.highest == 0.25
    assert found.n_victims == 0


def test_v06_bob_has_cancer_by_homogeneity():
    found = reached("homogeneity", T6A, T6B, QI6, ["Condition"])
    assert sorted(found.worst) == [9, 10, 11, 12]
    assert found.n_victims == 4
    assert found.highest == 1.0


def test_v06_distances_of_the_skewness_attack():
    found = reached("skewness", T6A, T6B, QI6, ["Condition"])
    assert found.details["largest_distance"] == pytest.approx(0.583333, abs=1e-6)
    assert found.details["largest_factor"] == pytest.approx(1 + 1.4)


def test_v12_worst_case_knowledge():
    """max_disclosure_k_implications of Table 12, whose classes all hold 2, 1 and 1 of three values."""
    classes = [
        ["Heart Disease", "Viral Infection", "Cancer", "Cancer"],
        ["Cancer", "Heart Disease", "Viral Infection", "Viral Infection"],
        ["Heart Disease", "Viral Infection", "Cancer", "Cancer"],
    ]
    names = sorted({v for c in classes for v in c})
    numbers = np.repeat(np.arange(3), 4)
    codes = np.array([names.index(v) for c in classes for v in c])
    hist = count_classes(numbers, 3, {"s": (codes, SensitiveDomain("s", tuple(names)))}).hist["s"]
    assert [disclosure(hist, k) for k in range(3)] == pytest.approx([1 / 2, 3 / 4, 1])


T7A = pl.DataFrame({
    "Age": [30, 28, 15, 48, 20],
    "Gender": ["M", "F", "M", "M", "M"],
    "Zip": ["10152", "10157", "10118", "10500", "10511"],
})  # fmt: skip
T7B = pl.DataFrame({
    "Age": ["15-30"] * 3 + ["20-48"] * 2,
    "Gender": ["*"] * 3 + ["M"] * 2,
    "Zip": ["10***"] * 3 + ["105**"] * 2,
})  # fmt: skip
T7C = pl.DataFrame({
    "Age": ["28-30", "15-28", "15-30", "20-48", "20-48"],
    "Gender": ["*", "*", "M", "M", "M"],
    "Zip": ["1015*", "10***", "10***", "105**", "105**"],
})  # fmt: skip
QI7 = ["Age", "Gender", "Zip"]


def test_v07b_linkage():
    """adjacency [3, 3, 3, 2, 5]; (1,k) level 2."""
    found = reached("prosecutor", T7A, T7B, QI7)
    assert found.highest == 0.5
    assert found.average == pytest.approx((3 / 3 + 1 / 2 + 1 / 5) / 5)
    assert reached("linkage-knowing-everybody", T7A, T7B, QI7).highest == 0.5


def test_v07c_linkage_is_one_half_although_k_is_1():
    found = reached("prosecutor", T7A, T7C, QI7)
    assert found.highest == 0.5
    assert found.details["unique_rows"] == 3
    everybody = reached("linkage-knowing-everybody", T7A, T7C, QI7)
    assert everybody.highest == 0.5
    assert everybody.average == 0.5


def test_v02_colluders_join_parallel_releases():
    patients = table(
        """
SSN,Gender,Age,Zip,Disease
988-11-2228,M,31,12000,Flu
988-11-2221,M,35,12500,HIV
988-11-2261,F,37,12500,Cancer
988-11-2222,F,39,15400,HIV
"""
    )
    first, second = patients.select("Gender", "Age", "Disease"), patients.select("Age", "Zip", "Disease")
    assert joined(first, second).height == 4
    coarse = [f.with_columns(Age=pl.lit("30-39")) for f in (first, second)]
    both = joined(*coarse)
    assert both.height == 6
    unique = both["Disease"].value_counts().filter(pl.col("count") == 1)["Disease"]
    assert sorted(unique) == ["Cancer", "Flu"]
    found = attack(
        None, coarse[0], quasi=["Gender"], others=[coarse[1].with_columns(Gender=pl.lit("*")).drop("Gender")],
        kinds=["collusion"],
    ).after[0].finding  # fmt: skip
    assert found is not None
    assert found.details["joined_rows"] == 6
    assert found.n_victims == 2


def one_class(values, column="s"):
    return pl.DataFrame({"q": ["*"] * len(values), column: values})


def test_vb03_background_knowledge_hard_and_soft():
    release = one_class(["Viral Infection", "Stroke"])
    hard = reached("given-facts", None, release, ["q"], ["s"], facts=[Fact("s", "Stroke", 0.0)])
    assert hard.highest == 1.0
    soft = reached("given-facts", None, release, ["q"], ["s"], facts=[Fact("s", "Stroke", 0.05)])
    assert soft.highest == pytest.approx(20 / 21)


def test_v_bk_1_family_history_excludes_a_broken_leg():
    """V-HOMO-1: two of three classes are homogeneous; the third holds Anaemia twice and a broken leg."""
    release = pl.DataFrame({
        "age": ["(20 - 40]"] * 3 + ["(40 - 60]"] * 3 + ["(60 - 80]"] * 3,
        "disease": ["Cancer"] * 3 + ["Covid-19"] * 3 + ["Anaemia", "Anaemia", "Broken Leg"],
    })  # fmt: skip
    found = reached("homogeneity", None, release, ["age"], ["disease"])
    assert (found.n_victims, found.details["homogeneous_classes"]) == (6, 2)
    facts = [Fact("disease", "Broken Leg", 0.0, column="age", equals="(60 - 80]")]
    told = reached("given-facts", None, release, ["age"], ["disease"], facts=facts)
    assert (told.highest, told.n_targets) == (1.0, 3)
    assert told.n_victims == 2  # those who do have anaemia


def test_v_ldiv_3_a_dominated_class_gives_80_percent():
    release = one_class(["Cancer"] * 100 + ["Anaemia"] * 100 + ["Covid-19"] * 800)
    assert reached("attribute-linkage", None, release, ["q"], ["s"]).highest == 0.8


@pytest.mark.parametrize(("pos", "neg", "posterior", "distance"), [(25, 25, 0.5, 0.49), (49, 1, 0.98, 0.97)])
def test_vb07_skewness(pos, neg, posterior, distance):
    """V-SKEW-1 too: 1 % of all are positive, and a class with half of them makes it 50 times as likely."""
    rest = {"pos": 100 - pos, "neg": 9_900 - neg}
    values = ["pos"] * pos + ["neg"] * neg + ["pos"] * rest["pos"] + ["neg"] * rest["neg"]
    release = pl.DataFrame({"q": ["a"] * (pos + neg) + ["b"] * sum(rest.values()), "s": values})
    found = reached("skewness", None, release, ["q"], ["s"])
    assert found.highest == pytest.approx(posterior)
    assert found.details["largest_factor"] == pytest.approx(posterior / 0.01)
    assert found.details["largest_distance"] == pytest.approx(distance)


def with_tree(tree):
    columns = {
        "q": ColumnSpec(role="quasi"),
        "s": ColumnSpec(role="sensitive", hierarchy={"kind": "tree", "tree": tree}),
    }
    return Policy(columns=columns, goals=(KAnonymity(k=2),))


def test_vb08_similarity_all_stomach_diseases():
    release = pl.DataFrame({
        "q": ["a"] * 3 + ["b"] * 2, "s": ["gastric ulcer", "gastritis", "stomach cancer", "flu", "gastritis"],
    })  # fmt: skip
    tree = {"stomach": ["gastric ulcer", "gastritis", "stomach cancer"], "lung": ["flu"]}
    found = reached("similarity", None, release, ["q"], ["s"], policy=with_tree(tree))
    assert (found.highest, found.n_victims) == (1.0, 3)


def test_v_sim_1_low_income():
    """Incomes of the first class, 500 to 700, lie within 200 of a range of 950; those of the others do not."""
    release = pl.DataFrame({
        "age": ["[15 - 30)"] * 3 + ["[40 - 60)"] * 3 + ["[30 - 40)"] * 3,
        "monthly_income": [500, 700, 650, 1200, 1250, 980, 1450, 1000, 1100],
    })  # fmt: skip
    found = reached("similarity", None, release, ["age"], ["monthly_income"])
    assert found.n_victims == 3
    assert found.worst[:3] == (1, 2, 3)


def test_t4_27_linkage_by_quasi_identifiers_finds_the_close_salaries_again():
    """TMSN-audit: buckets were changed and cells were not, so the class of 3, 4 and 5 is still there."""
    release = table(
        """
ID,Gender,Age,Zip,Salary,Bucket
4,F,"[27,30]",68***,7,1
9,M,"[31,35]",75***,8,1
2,M,"[20,26]",67***,4,1
3,M,"[20,26]",67***,5,2
5,F,"[27,30]",68***,9,2
6,F,"[27,30]",68***,10,2
7,M,"[31,35]",75***,9,3
8,M,"[31,35]",75***,11,3
1,M,"[20,26]",67***,3,3
10,F,"[36,50]",48***,8,4
11,F,"[36,50]",48***,13,4
12,F,"[36,50]",48***,11,4
"""
    )
    found = reached("similarity", None, release, ["Gender", "Age", "Zip"], ["Salary"])
    assert found.n_victims == 3
    assert {release["Salary"][i - 1] for i in found.worst[:3]} == {3, 4, 5}


@pytest.mark.parametrize(
    ("radius", "share"), [(10, 0.25), (19.999, 0.25), (20, 0.5), (30, 0.75), (50, 0.75), (3000, 1)]
)
def test_vb05_proximity_by_radius(radius, share):
    values = np.array([1000.0, 1030.0, 1050.0, 4000.0])
    domain = SensitiveDomain("s", tuple(map(str, values)), is_ordered=True, numbers=values)
    hist = count_classes(np.zeros(4, int), 1, {"s": (np.arange(4), domain)}).hist["s"]
    assert near_shares(hist, radius).max() == pytest.approx(share)


def test_vb05_ranges():
    """A width of 50 out of a range of 3,000 holds three of four."""
    release = one_class([1000, 1030, 1050, 4000])
    attacker = Attacker(radius=25 / 3000)
    assert reached("range-disclosure", None, release, ["q"], ["s"], attacker=attacker).highest == 0.75
    assert reached("proximity", None, release, ["q"], ["s"], attacker=attacker).details["exact_value"] == 0.25


def people(counts):
    return pl.DataFrame({"region": [r for r, n in counts.items() for _ in range(n)]})


def test_vd12_delta_presence():
    release = people({"A": 2, "B": 3})
    found = reached("membership", release, release, ["region"], population=people({"A": 4, "B": 5}))
    assert found.details["delta_min"] == 0.5
    assert found.highest == 0.6
    wider = reached("membership", release, release, ["region"], population=people({"A": 4, "B": 5, "C": 2}))
    assert wider.details["delta_min"] == 0
    assert wider.details["certainly_not_in"] == 2


def presence_stats(public, private, everybody):
    numbers = np.repeat(np.arange(len(private)), private)
    first = np.concatenate([[True], numbers[1:] != numbers[:-1]])
    nothing = len(public)
    domain = SensitiveDomain(
        "people",
        (None,) * (nothing + 1),
        numbers=np.array([*public, 0.0]),
        kind=Counted.POPULATION,
        n_people=everybody,
        n_outside=everybody - sum(public),
    )
    codes = np.where(first, numbers, nothing)
    return count_classes(numbers, len(private), {"people": (codes, domain)})


@pytest.mark.parametrize(("low", "high", "holds"), [("1/2", "3/5", True), ("1/2", "11/20", False)])
def test_vd12_verdicts(low, high, holds):
    stats = presence_stats([4, 5], [2, 3], 9)
    model = DeltaPresence(delta_min=float(Fraction(low)), delta_max=float(Fraction(high)))
    assert bool((model.margin(stats) >= 0).all()) == holds


@pytest.mark.parametrize(("low", "high", "holds"), [(0.0, 0.5, True), (0.3, 0.6, False), (0.0, 0.45, False)])
def test_v_dpres_d1(low, high, holds):
    """Region C has three people and no record, so delta_min above 0 fails."""
    stats = presence_stats([4, 5], [2, 2], 12)
    assert bool((DeltaPresence(delta_min=low, delta_max=high).margin(stats) >= 0).all()) == holds
    assert KMap(k=4).margin(stats).min() == 0


def test_vd14_credibility_of_the_minimality_attack():
    values = np.array([1] * 2 + [0] * 5)
    protected = np.array([False, True])
    found = credibility(values, [np.array([0] * 2 + [1] * 5)], m=2, protected=protected)
    assert found is not None
    assert (found.n_worlds, found.n_consistent, found.errors) == (21, 1, None)
    assert found.chances[:, 1].tolist() == [1, 1, 0, 0, 0, 0, 0]


def test_vd14_second_case():
    values = np.array([1] * 3 + [0] * 5)
    protected = np.array([False, True])
    found = credibility(values, [np.array([0] * 3 + [1] * 5)], m=2, protected=protected)
    assert found is not None
    assert (found.n_worlds, found.n_consistent) == (56, 26)
    assert found.chances[:, 1] == pytest.approx([11 / 26] * 3 + [9 / 26] * 5)


def test_v_link_1_candidates_narrow_as_more_is_known():
    """Six people share the birth date, three of them are men, one of these lives in the ZIP."""
    known = pl.DataFrame({
        "born": ["1945-07-31"] * 6 + ["1950-01-01"] * 4,
        "gender": ["M", "M", "M", "F", "F", "F", "M", "F", "M", "F"],
        "zip": ["02138", "02139", "02140", "02138", "02138", "02141", "02138", "02138", "02139", "02140"],
    })  # fmt: skip
    for columns, candidates in ((["born"], 6), (["born", "gender"], 3), (["born", "gender", "zip"], 1)):
        case = build_case(known, quasi=columns, original=known)
        found = candidates_of(case, [q.codes[:1] for q in case.quasi])
        assert found is not None
        assert found.per_target(case.stats.size.astype(float)).tolist() == [candidates]


def test_b3_and_b4_are_not_homogeneous():
    b3 = pl.DataFrame({"age": ["25-30"] * 3 + ["31-35"] * 3, "disease": list("ABBAAB")})
    assert reached("homogeneity", None, b3, ["age"], ["disease"]).n_victims == 0
    b4 = pl.DataFrame({
        "age": ["25-30", "25-30", "31-35", "31-35", "36-40", "36-40"],
        "salary": [1800, 2450, 1900, 3100, 2750, 3350], "disease": list("ABBAAB"),
    })  # fmt: skip
    assert reached("homogeneity", None, b4, ["age"], ["disease"]).n_victims == 0
    assert reached("prosecutor", None, b4, ["age", "salary"]).details["unique_rows"] == 6


def test_v_anatomy_1_flu_with_one_half():
    main = pl.DataFrame({
        "age": [23, 27, 35, 59, 61, 65, 65, 70], "sex": list("MMMMFFFF"),
        "zipcode": [11000, 13000, 59000, 12000, 54000, 25000, 25000, 30000], "group_id": [1] * 4 + [2] * 4,
    })  # fmt: skip
    side = pl.DataFrame({
        "group_id": [1, 1, 2, 2, 2], "disease": ["dyspepsia", "pneumonia", "bronchitis", "flu", "gastritis"],
        "count": [2, 2, 1, 2, 1],
    })  # fmt: skip
    found = reached("attribute-linkage", None, main, ["age", "sex", "zipcode"], ["disease"], side=side)
    assert found.highest == 0.5
    assert found.n_targets == 8


MINV_T1 = {
    "Bob": (21, 12000, "dyspepsia", 1), "Alice": (22, 14000, "bronchitis", 1), "Andy": (24, 18000, "flu", 2),
    "David": (23, 25000, "gastritis", 2), "Gary": (41, 20000, "flu", 3), "Helen": (36, 27000, "gastritis", 3),
    "Jane": (37, 33000, "dyspepsia", 4), "Ken": (40, 35000, "flu", 4), "Linda": (43, 26000, "gastritis", 4),
    "Paul": (52, 33000, "dyspepsia", 5), "Steve": (56, 34000, "gastritis", 5),
}  # fmt: skip
MINV_1 = {
    1: ("[21,22]", "[12000,14000]"), 2: ("[23,24]", "[18000,25000]"), 3: ("[36,41]", "[20000,27000]"),
    4: ("[37,43]", "[26000,35000]"), 5: ("[52,56]", "[33000,34000]"),
}  # fmt: skip
MINV_2 = [
    (("[21,23]", "[12000,25000]"), ["dyspepsia", "gastritis"]),
    (("[25,43]", "[21000,33000]"), ["flu", "dyspepsia", "gastritis"]),
    (("[41,46]", "[20000,30000]"), ["flu", "gastritis"]),
    (("[54,56]", "[31000,34000]"), ["dyspepsia", "gastritis"]),
    (("[60,65]", "[36000,44000]"), ["gastritis", "flu"]),
]  # fmt: skip


def test_v_minv_1_intersecting_two_releases_discloses_bob_and_david():
    rows = list(MINV_T1.values())
    original = pl.DataFrame({"age": [r[0] for r in rows], "zip": [r[1] for r in rows], "disease": [r[2] for r in rows]})
    first = pl.DataFrame({
        "age": [MINV_1[r[3]][0] for r in rows], "zip": [MINV_1[r[3]][1] for r in rows], "disease": [r[2] for r in rows],
    })  # fmt: skip
    later = [(*cells, value) for cells, values in MINV_2 for value in values]
    second = pl.DataFrame(
        {"age": [r[0] for r in later], "zip": [r[1] for r in later], "disease": [r[2] for r in later]}
    )
    found = reached("composition", original, first, ["age", "zip"], ["disease"], others=[second])
    names = list(MINV_T1)
    assert [names[i - 1] for i in found.worst] == ["Bob", "David"]
    assert found.highest == 1.0


def test_v_minv_1_bronchitis_is_critically_absent():
    """Alice, Andy, Helen, Ken and Paul left; of the newcomers two have flu, two gastritis, one dyspepsia."""
    values = ["bronchitis", "dyspepsia", "flu", "gastritis"]
    rows = list(MINV_T1.values())
    groups = np.array([r[3] - 1 for r in rows])
    own = np.array([values.index(r[2]) for r in rows])
    stays = np.array([name in ("Bob", "David", "Gary", "Jane", "Linda", "Steve") for name in MINV_T1])
    signatures = [tuple(sorted(set(own[groups == g].tolist()))) for g in range(5)]
    found = find_absence(groups, signatures, own, stays, np.array([0, 1, 2, 2]))
    assert [name for name, v in zip(MINV_T1, found.is_victim, strict=True) if v] == ["Bob"]
    assert found.n_counterfeits == 1


def test_every_attack_says_what_is_guessed_without_it_what_stops_it_and_where_it_comes_from():
    from tablecloak.attacks.base import every

    case = build_case(one_class(["a", "b"]), quasi=["q"], sensitive=["s"])
    for name in every():
        found = find("attacks", name)(case)
        assert found.description.endswith(".")
        assert found.guess.endswith("."), name
        assert found.stopped_by, name
        assert found.reference, name


# The second table: name, age, zip, disease, and the group in both candidate releases; counterfeits c1 and c2
MINV_T2 = table(
    """
name,age,zip,disease,second,third
Bob,21,12000,dyspepsia,1,1
David,23,25000,gastritis,1,2
Emily,25,21000,flu,2,2
Jane,37,33000,dyspepsia,2,3
Linda,43,26000,gastritis,2,3
Gary,41,20000,flu,3,4
Mary,46,30000,gastritis,3,4
Ray,54,31000,dyspepsia,4,5
Steve,56,34000,gastritis,4,5
Tom,60,44000,gastritis,5,6
Vince,65,36000,flu,5,6
"""
)
MINV_3 = {
    1: ("[21,22]", "[12000,14000]"), 2: ("[23,25]", "[21000,25000]"), 3: ("[37,43]", "[26000,33000]"),
    4: ("[41,46]", "[20000,30000]"), 5: ("[54,56]", "[31000,34000]"), 6: ("[60,65]", "[36000,44000]"),
}  # fmt: skip
COUNTERFEITS = [("bronchitis", 1), ("flu", 3)]  # c1 and c2


def minv_groups():
    """Name -> (group, disease) of the three releases; counterfeits have names of their own."""
    first = {name: (group, disease) for name, (_, _, disease, group) in MINV_T1.items()}
    second = {r["name"]: (r["second"], r["disease"]) for r in MINV_T2.to_dicts()}
    third = {r["name"]: (r["third"], r["disease"]) for r in MINV_T2.to_dicts()}
    return first, second, third | {f"c{i + 1}": (g, d) for i, (d, g) in enumerate(COUNTERFEITS)}


def diseases_of(release):
    """The diseases of every group, as often as they occur."""
    found = {}
    for group, disease in release.values():
        found.setdefault(group, []).append(disease)
    return found


def changed_signatures(one, other):
    before, after = diseases_of(one), diseases_of(other)
    stay = [name for name in one if name in other]
    return [n for n in stay if set(before[one[n][0]]) != set(after[other[n][0]])]


def test_v_minv_1_releases_are_2_unique_and_the_third_keeps_every_signature():
    first, second, third = minv_groups()
    for release in (first, second, third):
        groups = diseases_of(release).values()
        assert all(len(set(values)) == len(values) for values in groups)
        assert min(map(len, groups)) == 2
    assert changed_signatures(first, second) == ["Bob", "David"]
    assert changed_signatures(first, third) == []
    assert set(first) - set(third) == {"Alice", "Andy", "Helen", "Ken", "Paul"}
    assert set(MINV_T2["name"]) - set(first) == {"Emily", "Mary", "Ray", "Tom", "Vince"}
    assert (first["Jane"][0], third["Jane"][0]) == (4, 3)
    assert sorted(diseases_of(third)[3]) == ["dyspepsia", "flu", "gastritis"]


def minv_releases():
    """The first table, its release, and both candidates for the second."""
    original = pl.DataFrame(
        [(age, code, disease) for age, code, disease, _ in MINV_T1.values()], ["age", "zip", "disease"], orient="row"
    )
    first, _, third = minv_groups()
    cells = [[(*where[group], disease) for group, disease in release.values()]
             for where, release in ((MINV_1, first), (MINV_3, third))]  # fmt: skip
    cells.append([(*where, value) for where, values in MINV_2 for value in values])
    names = ["age", "zip", "disease"]
    one, three, two = (pl.DataFrame(rows, names, orient="row") for rows in cells)
    return original, one, two, three


def test_v_minv_1_the_third_release_discloses_nobody_beside_the_first():
    original, first, second, third = minv_releases()
    found = reached("composition", original, first, ["age", "zip"], ["disease"], others=[third])
    assert (found.n_victims, found.highest, found.details["contradictions"]) == (0, 0.5, 0)
    assert reached("composition", original, first, ["age", "zip"], ["disease"], others=[second]).n_victims == 2


def test_v_minv_1_all_cells_of_the_third_release_cover_their_people():
    people = MINV_T2.select("age", "zip", "disease")
    published = pl.DataFrame(
        [(*MINV_3[r["third"]], r["disease"]) for r in MINV_T2.to_dicts()], ["age", "zip", "disease"], orient="row"
    )
    columns = {"age": {"role": "quasi"}, "zip": {"role": "quasi"}, "disease": {"role": "sensitive"}}
    found = verify(published, Policy(columns=columns, goals=[{"model": "l-diversity", "l": 2}]), original=people)
    assert found.covers
    assert not found.holds  # without c1, Bob is alone


def test_v_minv_1_counterfeits_end_the_critical_absence():
    original, first, _, third = minv_releases()
    found = reached("critical-absence", original, first, ["age", "zip"], ["disease"], others=[third])
    assert found.n_victims == 0
