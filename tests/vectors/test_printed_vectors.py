"""Figures that the literature prints about its own runs and tables; each test names the vector it was computed from."""

from __future__ import annotations

import csv
import io

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from tablecloak.algorithms.clustering._seeding import far_seeds
from tablecloak.algorithms.clustering.base import Points
from tablecloak.algorithms.clustering.k_member_parallel import k_member_parallel
from tablecloak.data.domain import fit_domain
from tablecloak.data.table import ColumnType
from tablecloak.hierarchy.kinds.auto import AutoSpec
from tablecloak.hierarchy.kinds.base import build
from tablecloak.measure.attack import attack
from tablecloak.metrics.base import ReleaseCounts, measure

A14 = """
table,dataset,cm,k,n,in_parallel,old_s,new_s,speedup
4.2,adult,1,5,2000,400,571.181705,329.113756,1.735515
4.2,adult,1,10,2000,200,636.358030,291.385797,2.183902
4.2,adult,1,15,2000,133,672.798351,281.731618,2.388083
4.2,adult,1,20,2000,100,693.001153,276.130467,2.509687
4.2,adult,1,25,2000,80,708.888634,275.010510,2.577678
4.2,adult,1,30,2000,66,749.562634,260.007537,2.882850
4.2,adult,1,35,2000,57,759.993992,228.311315,3.328762
4.2,adult,1,40,2000,50,766.133721,222.213255,3.447741
4.2,adult,1,45,2000,44,800.671835,223.388243,3.584217
4.2,adult,1,50,2000,40,812.734867,209.599446,3.877562
4.3,adult,0,5,2000,400,576.273045,330.678345,1.742700
4.3,adult,0,10,2000,200,637.002202,292.500321,2.177783
4.3,adult,0,15,2000,133,673.332521,283.543891,2.374703
4.3,adult,0,20,2000,100,688.696373,277.199234,2.484482
4.3,adult,0,25,2000,80,707.219636,277.003489,2.553107
4.3,adult,0,30,2000,66,732.685907,261.996731,2.796546
4.3,adult,0,35,2000,57,752.772049,230.557809,3.265003
4.3,adult,0,40,2000,50,772.561507,222.563217,3.471200
4.3,adult,0,45,2000,44,784.700247,225.000896,3.487543
4.3,adult,0,50,2000,40,817.692189,210.400257,3.886365
4.4,restaurant,1,5,2000,400,8136.705367,4610.843100,1.764689
4.4,restaurant,1,10,2000,200,8979.413684,4492.804740,1.998621
4.4,restaurant,1,15,2000,133,9385.222571,4472.443350,2.098455
4.4,restaurant,1,20,2000,100,9509.750844,3814.560770,2.493013
4.4,restaurant,1,25,2000,80,9669.319397,3836.138090,2.520587
4.4,restaurant,1,30,2000,66,9668.179233,3435.548820,2.814159
4.4,restaurant,1,35,2000,57,9780.571090,3130.927080,3.123858
4.4,restaurant,1,40,2000,50,9786.024261,2958.794650,3.307436
4.4,restaurant,1,45,2000,44,9801.639511,2887.651210,3.394329
4.4,restaurant,1,50,2000,40,9855.907436,2672.054780,3.688512
4.5,restaurant,0,5,2000,400,7969.051421,4277.715080,1.862922
4.5,restaurant,0,10,2000,200,9010.103295,4724.961240,1.906916
4.5,restaurant,0,15,2000,133,9275.896900,4616.808680,2.009158
4.5,restaurant,0,20,2000,100,9581.877943,4631.601920,2.068804
4.5,restaurant,0,25,2000,80,9598.860974,4389.635910,2.186710
4.5,restaurant,0,30,2000,66,9760.922584,4242.380020,2.300813
4.5,restaurant,0,35,2000,57,9752.753864,4013.043650,2.430264
4.5,restaurant,0,40,2000,50,9781.843643,3805.587140,2.570390
4.5,restaurant,0,45,2000,44,9891.562376,3639.966360,2.717487
4.5,restaurant,0,50,2000,40,9925.304324,3510.391560,2.827407
4.6,adult,1,15,400,26,26.381023,5.410331,4.876046
4.6,adult,1,15,800,53,103.127995,15.286600,6.746300
4.6,adult,1,15,1200,80,232.296105,29.093985,7.984334
4.6,adult,1,15,1600,106,413.582887,52.469085,7.882411
4.6,adult,1,15,2000,133,642.453671,88.919717,7.225098
4.7,adult,0,15,400,26,25.921747,5.660250,4.579612
4.7,adult,0,15,800,53,103.395834,12.261554,8.432523
4.7,adult,0,15,1200,80,231.997544,29.164813,7.954707
4.7,adult,0,15,1600,106,408.435670,52.240755,7.818334
4.7,adult,0,15,2000,133,656.272815,90.049173,7.287938
4.8,restaurant,1,15,400,26,393.142198,117.091113,3.357575
4.8,restaurant,1,15,800,53,1563.985791,262.597906,5.955820
4.8,restaurant,1,15,1200,80,3612.160354,541.899908,6.665733
4.8,restaurant,1,15,1600,106,6282.018567,871.950459,7.204559
4.8,restaurant,1,15,2000,133,9776.940818,1352.463780,7.228985
4.9,restaurant,0,15,400,26,406.946638,113.498638,3.585476
4.9,restaurant,0,15,800,53,1583.327386,253.101216,6.255708
4.9,restaurant,0,15,1200,80,3535.046209,545.111196,6.485000
4.9,restaurant,0,15,1600,106,6245.738673,869.069553,7.186696
4.9,restaurant,0,15,2000,133,9929.466668,1392.329680,7.131549
"""
A14_TWICE = [  # two tables of the same setting: the new times differ by this factor
    ("4.2", "4.6", 3.168), ("4.3", "4.7", 3.149), ("4.4", "4.8", 3.307), ("4.5", "4.9", 3.316),
]  # fmt: skip
B4 = """
age,salary,profession,disease
25-30,1800,Police officer,A
25-30,2450,Teacher,B
31-35,1900,Firefighter,B
31-35,3100,Nurse,A
36-40,2750,Teacher,A
36-40,3350,Doctor,B
"""
AMNESIA = """
zipcode,age,creditcard,gender,salary,age_anon,salary_anon
56335,58,5557783527541459,Male,8700,105,10009
57255,36,5418686973265201,Female,9700,36,10011
98559,32,5527060358825468,Female,6800,102,10007
28700,58,5312916958971375,Male,4700,58,10011
68925,52,5541858987662877,Male,5700,110,10006
96338,38,5155271703366251,Female,7100,110,7100
19840,38,5485337334153888,Male,6000,110,6000
48772,32,5293804792403628,Female,7000,32,10011
79641,19,5275938856549264,Male,100,19,10011
72861,82,5303041772852809,Male,4000,107,10004
"""


def rows(text):
    return list(csv.DictReader(io.StringIO(text.strip())))


def frame(text):
    return pl.DataFrame(rows(text))


def test_a14_printed_speedups_and_clusters_in_parallel():
    found = rows(A14)
    assert len(found) == 60
    for row in found:
        assert int(row["in_parallel"]) == int(row["n"]) // int(row["k"])
        assert float(row["old_s"]) / float(row["new_s"]) == pytest.approx(float(row["speedup"]), abs=1e-6)


@pytest.mark.parametrize(
    ("n", "k", "in_parallel"), [(400, 15, 26), (800, 15, 53), pytest.param(2000, 50, 40, marks=pytest.mark.slow)]
)
def test_a14_so_many_clusters_grow_at_once(n, k, in_parallel):
    assert {r["in_parallel"] for r in rows(A14) if (r["n"], r["k"]) == (str(n), str(k))} == {str(in_parallel)}
    domain, codes = fit_domain(pl.Series("x", range(n)), ColumnType.INTEGER)
    line = Points([domain], [codes.astype(np.int64)])
    clusters, _ = k_member_parallel(line, k, far_seeds(line, n // k, 0))
    assert len(clusters) == in_parallel
    assert clusters.sizes.min() == k


@pytest.mark.parametrize(("one", "other", "ratio"), A14_TWICE)
def test_a14_same_setting_different_times(one, other, ratio):
    times = {r["table"]: float(r["new_s"]) for r in rows(A14) if r["k"] == "15" and r["n"] == "2000"}
    assert times[one] / times[other] == pytest.approx(ratio, abs=5e-4)


def verification(quasi, goal):
    policy = tc.Policy(columns=tc.roles(quasi=quasi, sensitive=["disease"]), goals=[goal])
    return tc.verify(frame(B4).select(*quasi, "disease"), policy)


def test_b4_classes_by_age_and_by_everything():
    every = ["age", "salary", "profession"]
    assert verification(["age"], {"model": "k-anonymity", "k": 2}).holds
    assert not verification(["age"], {"model": "k-anonymity", "k": 3}).holds
    assert not verification(every, {"model": "k-anonymity", "k": 2}).holds
    assert verification(["age"], {"model": "l-diversity", "l": 2, "variant": "distinct"}).holds


def attacked(name, release, quasi, sensitive=()):
    report = attack(None, release, quasi=quasi, sensitive=sensitive, kinds=[name], with_before=False)
    finding = report.after[0].finding
    assert finding is not None
    return finding


def test_b4_is_no_example_of_homogeneity_but_of_unique_rows():
    assert attacked("homogeneity", frame(B4), ["age"], ["disease"]).n_victims == 0
    assert attacked("prosecutor", frame(B4), ["age"]).highest == 0.5
    assert attacked("prosecutor", frame(B4), ["age", "salary"]).details["unique_rows"] == 6


def test_b11_average_class_size_of_a_single_class():
    whole = ReleaseCounts(np.array([45222]), np.ones((1, 2)), ("a", "b"), k=7)
    found = {m.name: m.value for m in measure(whole)}
    assert int(found["average-class-size"]) == 6460
    assert found["gcp"] == 1.0  # 0.989 was printed


def test_b11_classes_that_an_average_of_200_implies():
    sizes = np.full(32, 45222 // 32)
    found = measure(ReleaseCounts(sizes, np.zeros((32, 1)), ("a",), k=7), ["average-class-size"])[0].value
    assert found == pytest.approx(200, rel=0.01)
    assert pytest.approx(32.3, abs=0.01) == 45222 / 7 / 200


def test_v_link_1_candidates_fall_as_knowledge_grows():
    voters = pl.DataFrame(
        {
            "born": ["1945-07-31"] * 6 + ["1950-01-01"] * 6,
            "gender": ["m", "m", "m", "f", "f", "f"] * 2,
            "zip": ["02138", "02139", "02139", "02138", "02138", "02138"] + ["02138"] * 6,
        }
    )
    known = [["born"], ["born", "gender"], ["born", "gender", "zip"]]
    chances = [attacked("prosecutor", voters, quasi).highest for quasi in known]
    assert [round(1 / chance) for chance in chances] == [6, 3, 1]


NUMBERED = AutoSpec(method="distinct", fanout=10, labels="numbers")
TREES = {
    "age": build(NUMBERED, [str(age) for age in range(18, 101)], "text"),
    "salary": build(NUMBERED, [str(salary) for salary in range(100, 10_001, 100)], "text"),
}


def covers(tree, label, value):
    node = tree.code(value)
    while tree.labels[node] != label and node != tree.root:
        node = int(tree.parent[node])
    return tree.labels[node] == label


@pytest.mark.parametrize("column", ["age", "salary"])
def test_v_amnesia_1_every_published_node_covers_its_value(column):
    tree = TREES[column]
    for row in rows(AMNESIA):
        assert covers(tree, row[f"{column}_anon"], row[column])


def test_v_amnesia_1_is_local_recoding_and_verified_as_such():
    found = rows(AMNESIA)
    assert {r["age_anon"] for r in found if r["age"] == "58"} == {"105", "58"}
    paths = {name: tree.to_paths() for name, tree in TREES.items()}
    original = pl.DataFrame({name: [int(r[name]) for r in found] for name in TREES})
    release = pl.DataFrame({name: [r[f"{name}_anon"] for r in found] for name in TREES})
    columns = {name: {"role": "quasi", "hierarchy": {"kind": "tree", "tree": nested(paths[name])}} for name in TREES}
    policy = tc.Policy(columns=columns, goals=[{"model": "k-anonymity", "k": 2}])
    assert tc.verify(release, policy, original=original).covers
    other = release.with_columns(age=pl.Series(["101", *release["age"].to_list()[1:]]))  # 58 is not below 101
    assert tc.verify(other, policy, original=original).covers is False


def nested(paths):
    """Paths of leaf, parent and root as a tree."""
    tree = {}
    for leaf, parent, root in paths:
        tree.setdefault(root, {}).setdefault(parent, []).append(leaf)
    return tree
