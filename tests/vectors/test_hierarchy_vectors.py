"""Worked examples of hierarchies and published cells, with their expected values."""

from __future__ import annotations

import csv
import io
import os
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest

from tablecloak.hierarchy import Hierarchy
from tablecloak.hierarchy.hierarchy_files import lint, read_hierarchy
from tablecloak.hierarchy.kinds.auto import AutoSpec
from tablecloak.hierarchy.kinds.base import build
from tablecloak.hierarchy.kinds.intervals import IntervalsSpec
from tablecloak.hierarchy.kinds.mask import MaskSpec
from tablecloak.values.cell_grammar import covers, parse

DATA = Path(os.environ.get("TABLECLOAK_DATA", Path(__file__).parents[2].parent / "shared" / "data"))


def table(text):
    return list(csv.DictReader(io.StringIO(text.strip()), skipinitialspace=True))


def uncovered(original, published, types, **trees):
    """Row keys of published rows with a cell that does not cover its original."""
    rows = {row["id"]: row for row in original}
    bad = []
    for row in published:
        cells = ((parse(row[c], t, trees.get(c)), rows[row["id"]][c], t) for c, t in types.items())
        if not all(covers(cell, int(value) if t == "integer" else value) for cell, value, t in cells):
            bad.append(int(row["id"]))
    return bad


def test_v_income_1():
    categories = ["<500000", ">=500000"]
    cells = [parse(text, "integer") for text in categories]
    chosen = [
        [text for text, cell in zip(categories, cells, strict=True) if covers(cell, value)]
        for value in (520000, 230000, 109000, 875000, 124000)
    ]
    assert chosen == [[">=500000"], ["<500000"], ["<500000"], [">=500000"], ["<500000"]]
    assert covers(parse("< 500000", "integer"), 230000)


@pytest.mark.parametrize(
    ("values", "inner", "root", "parents"),
    [
        (range(100, 10001, 100), (10001, 10010), "10011", {8700: 10009, 6800: 10007, 5700: 10006, 4000: 10004}),
        (range(18, 101), (101, 109), "110", {58: 105, 32: 102, 82: 107}),
    ],
)
def test_v_autogen_1(values, inner, root, parents):
    tree = build(AutoSpec(method="distinct", fanout=10, labels="numbers"), [str(v) for v in values], "text")
    assert tree.labels[tree.n_leaves : -1] == tuple(str(i) for i in range(inner[0], inner[1] + 1))
    assert tree.labels[tree.root] == root
    found = {value: int(tree.labels[tree.parent[tree.code(str(value))]]) for value in parents}
    assert found == parents


ZIPS = ["13053", "13068", "13222", "14850", "14853"]


def test_v_metric_d1_zip_cells():
    tree = build(MaskSpec(), ZIPS, "text")
    cells = {
        label: (tree.losses[tree.find(label)], tree.level(tree.find(label))) for label in ("130**", "148**", "13***")
    }
    assert cells == {"130**": (0.4, 2), "148**": (0.4, 2), "13***": (0.6, 3)}
    assert tree.height == 5


def test_v_metric_d1_age_cells():
    built = build(IntervalsSpec(width=10, factors=[2]), list(range(100)), "integer")
    tree = Hierarchy.from_paths(built.to_paths())  # the vector counts leaves; built intervals measure width
    nodes = {label: tree.find(label) for label in ("[20, 30)", "[30, 40)", "[40, 60)")}
    assert [tree.losses[node] for node in nodes.values()] == [0.1, 0.1, 0.2]
    assert [Fraction(tree.level(node), tree.height) for node in nodes.values()] == [
        Fraction(1, 3),
        Fraction(1, 3),
        Fraction(2, 3),
    ]


def test_a2_education():
    tree = Hierarchy.from_tree(
        {"any-edu": {"basic-edu": ["primary", "h-school"], "higher-edu": ["undergrad", "postgrad"]}}
    )

    def distance(a, b):
        return tree.distance(tree.find(a), tree.find(b))

    def common(a, b):
        return tree.labels[tree.lca(tree.find(a), tree.find(b))]

    assert distance("undergrad", "postgrad") == 0.5
    assert distance("primary", "undergrad") == 1.0
    assert distance("primary", "h-school") == 0.5
    assert distance("primary", "primary") == 0.0
    assert common("undergrad", "postgrad") == "higher-edu"
    assert common("primary", "postgrad") == "any-edu"
    assert tree.labels[tree.parent[tree.find("h-school")]] == "basic-edu"


ICD = ["ICD9:7048", "ICD10:O91213", "ICD9:94158", "ICD10:V983", "ICD9:3530", "ICD10:S32313K", "ICD9:59970", "ICD9:0579"]


def test_v_dist_d1_categorical_parts():
    tree = Hierarchy.from_paths([[code, code.split(":")[0], "*"] for code in ICD])
    gender = Hierarchy.from_tree({"*": ["male", "female"]})
    pairs = {(3, 5): 0.5, (1, 2): 1, (2, 6): 0.5, (4, 7): 1, (6, 8): 1}
    found = {(r, s): tree.distance(tree.find(ICD[r - 1]), tree.find(ICD[s - 1])) for r, s in pairs}
    assert found == pairs
    assert gender.distance(0, 1) == 1
    centroid = tree.lca(tree.find(ICD[2]), tree.find(ICD[4]))
    assert tree.labels[centroid] == "ICD9"
    assert tree.distance(tree.find(ICD[2]), centroid) == 0.5


B8_TAXONOMY = """\
Root: Public safety, Health service, Education
Public safety: Police officer, Firefighter
Health service: Nurse, Doctor
Education: Teacher
"""


def test_b8_taxonomy_file(tmp_path):
    (tmp_path / "profession.txt").write_text(B8_TAXONOMY)
    tree = read_hierarchy(tmp_path / "profession.txt")
    assert tree.leaf_labels == ("Police officer", "Firefighter", "Nurse", "Doctor", "Teacher")
    assert tree.leaves_of_label("Public safety") == {"Police officer", "Firefighter"}
    assert tree.losses[tree.find("Public safety")] == 0.4
    assert tree.labels[tree.lca_range(1, 2)] == "Root"


def test_b2_published_ranges_contain_their_originals():
    rows = table("""
id,age,a,b
1,24,20-30,24-30
2,35,25-35,35-50
3,30,25-35,24-30
4,57,55-65,57-62
5,50,40-50,35-50
6,62,55-65,57-62
""")
    assert all(covers(parse(row[c], "integer"), int(row["age"])) for row in rows for c in "ab")


def test_b3_is_no_generalisation_of_b1():
    ages, salaries = [24, 35, 30, 57, 50, 62], [1800, 2450, 1900, 3100, 2750, 3350]
    published = [("25-30", "1800-2300")] * 3 + [("31-35", "2450-2800")] * 3
    age_ok = [covers(parse(p[0], "integer"), a) for p, a in zip(published, ages, strict=True)]
    salary_ok = [covers(parse(p[1], "integer"), s) for p, s in zip(published, salaries, strict=True)]
    assert age_ok == [False, False, True, False, False, False]
    assert salary_ok == [True, False, True, False, True, False]


GLOBAL_IN = """
id,age,zipcode
1,28,13053
2,29,13068
3,21,13068
4,23,13053
5,50,14853
6,55,14853
7,47,14850
8,49,14850
9,31,13053
10,37,13053
11,36,13222
12,35,13068
"""
KANON_OUT = """
id,age,zipcode
1,[20-30),130**
2,[20-30),130**
3,[20-30),130**
4,[20-30),130**
5,[40-60),148**
6,[40-60),148**
7,[40-60),148**
8,[40-60),148**
9,[30-40),13***
10,[30-40),13***
11,[30-40),13***
12,[30-40),13***
"""
LOCAL_IN = """
id,age,zipcode
1,28,13053
2,28,13068
3,21,13053
4,26,13068
5,27,13054
6,42,14853
7,27,13067
8,42,14850
9,48,14853
10,43,14875
11,24,13022
12,29,13068
"""
LOCAL_OUT = """
id,age,zipcode
1,[20-30),130**
2,[25-30),1306*
3,[20-30),1305*
4,[25-30),130**
5,[20-30),1305*
6,[40-45),148**
7,[25-30),1306*
8,[40-50),1485*
9,[40-50),1485*
10,[40-45),148**
11,[20-30),130**
12,[25-30),1306*
"""
SUPP_IN = """
id,age,zipcode
1,28,13053
2,29,13068
3,21,13068
4,50,14853
5,55,14853
6,47,14850
7,15,15053
8,84,15053
"""
SUPP_PRINTED = """
id,age,zipcode
1,[20-30),130**
2,[20-30),130**
3,[20-30),130**
4,[40-60),148**
5,[40-60),148**
6,[40-60),148**
7,[0-10),13***
8,[80-100),13***
"""
AGE_ZIP = {"age": "integer", "zipcode": "text"}


@pytest.mark.parametrize(
    ("original", "published", "bad"),
    [(GLOBAL_IN, KANON_OUT, []), (LOCAL_IN, LOCAL_OUT, []), (SUPP_IN, SUPP_PRINTED, [7, 8])],
    ids=["V-KANON-1", "V-LOCAL-1", "V-SUPP-1"],
)
def test_published_cells_of_age_and_zip(original, published, bad):
    assert uncovered(table(original), table(published), AGE_ZIP) == bad


def test_v_global_1_root_covers_everything():
    cells = parse("[0-100]", "integer"), parse("****", "text")
    assert all(covers(cells[0], int(r["age"])) and covers(cells[1], r["zipcode"]) for r in table(GLOBAL_IN))


def test_v_supp_1_corrected_rows():
    assert covers(parse("[10-20)", "integer"), 15)
    assert covers(parse("15***", "text"), "15053")


T6A = """
id,Zip,Age,Nationality
1,13053,28,Russian
2,13068,29,American
3,13068,21,Japanese
4,13053,23,American
5,14853,50,Indian
6,14853,55,Russian
7,14850,47,American
8,14840,49,American
9,13053,31,American
10,13053,37,Indian
11,13068,36,Japanese
12,13068,35,American
"""
T6B = """
id,Zip,Age,Nationality
1,130**,<30,*
2,130**,<30,*
3,130**,<30,*
4,130**,<30,*
5,148**,>40,*
6,148**,>40,*
7,148**,>40,*
8,148**,>40,*
9,130**,30-40,*
10,130**,30-40,*
11,130**,30-40,*
12,130**,30-40,*
"""
T12 = """
id,Zip,Age,Nationality
1,1305*,<=40,*
4,1305*,<=40,*
9,1305*,<=40,*
10,1305*,<=40,*
5,1485*,>40,*
6,1485*,>40,*
7,1485*,>40,*
8,1485*,>40,*
2,1306*,<=40,*
3,1306*,<=40,*
11,1306*,<=40,*
12,1306*,<=40,*
"""
T7A = """
id,Age,Gender,Zip
1,30,M,10152
2,28,F,10157
3,15,M,10118
4,48,M,10500
5,20,M,10511
"""
T7B = """
id,Age,Gender,Zip
1,15-30,*,10***
2,15-30,*,10***
3,15-30,*,10***
4,20-48,M,105**
5,20-48,M,105**
"""
T7C = """
id,Age,Gender,Zip
1,28-30,*,1015*
2,15-28,*,10***
3,15-30,M,10***
4,20-48,M,105**
5,20-48,M,105**
"""
T6_TYPES = {"Zip": "text", "Age": "integer", "Nationality": "text"}
T7_TYPES = {"Age": "integer", "Gender": "text", "Zip": "text"}


@pytest.mark.parametrize(
    ("original", "published", "types", "bad"),
    [(T6A, T6B, T6_TYPES, []), (T6A, T12, T6_TYPES, [8]), (T7A, T7B, T7_TYPES, []), (T7A, T7C, T7_TYPES, [])],
    ids=["V06", "V12", "V07b", "V07c"],
)
def test_valid_generalisation_bad_ids(original, published, types, bad):
    assert uncovered(table(original), table(published), types) == bad


def test_v07b_adjacency():
    """Which published rows each person is consistent with."""
    people, rows = table(T7A), table(T7B)

    def fits(person, row):
        return covers(parse(row["Age"], "integer"), int(person["Age"])) and all(
            covers(parse(row[c], "text"), person[c]) for c in ("Gender", "Zip")
        )

    adjacency = [[int(row["id"]) for row in rows if fits(person, row)] for person in people]
    assert adjacency == [[1, 2, 3], [1, 2, 3], [1, 2, 3], [4, 5], [1, 2, 3, 4, 5]]


REAL = {
    "age": (100, 4),
    "education": (16, 3),
    "marital-status": (7, 2),
    "native-country": (41, 2),
    "occupation": (14, 2),
    "race": (5, 1),
    "salary-class": (2, 1),
    "sex": (2, 1),
    "workclass": (8, 2),
}


@pytest.mark.parametrize(("name", "shape"), REAL.items())
def test_adult_hierarchies_read(name, shape):
    path = DATA / "adult" / f"adult_hierarchy_{name}.csv"
    if not path.exists():
        pytest.skip("the Adult hierarchies are not here; set TABLECLOAK_DATA")
    tree = read_hierarchy(path)
    assert (tree.n_leaves, tree.height) == shape
    assert lint(path, [leaf for leaf in tree.leaf_labels if leaf]) == []


def test_groceries_hierarchy_reads():
    path = DATA / "groceries" / "groceries_hierarchy.csv"
    if not path.exists():
        pytest.skip("the groceries hierarchy is not here; set TABLECLOAK_DATA")
    tree = read_hierarchy(path)
    assert (tree.n_leaves, tree.height) == (169, 3)
    members = tree.leaves_of_label("sausage")  # a product and the group it belongs to
    assert members is not None
    assert {"frankfurter", "sausage", "liver loaf"} < members


def test_dates_of_v_bigdata_1_lie_in_their_periods():
    assert covers(parse("1980", "date"), date(1980, 1, 18))
    assert not covers(parse("1980-Q2", "date"), date(1980, 1, 18))
