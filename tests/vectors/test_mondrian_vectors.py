"""Published and derived vectors of Mondrian, of `verify` on releases made by others, and of its JSON."""

from __future__ import annotations

import json

import polars as pl
import pytest

from counted import table
from tablecloak import Policy, anonymize, is_minimal, is_valid_generalisation, verify
from tablecloak.cli.main import main
from tablecloak.measure.minimal import _read, specialisations

MONDRIAN_1 = """
id,age,zipcode,diagnosis
1,21,14851,Heart Disease
2,29,14852,Heart Disease
3,21,14852,Viral Inflection
4,29,14851,Viral Inflection
5,55,14853,Cancer
6,34,14852,Heart Disease
7,34,14853,Viral Inflection
8,55,14851,Viral Inflection
"""
# V-MONDRIAN-D1: ids of a class with the published age and zipcode
MONDRIAN_D1 = {
    2: [
        ([1, 4], "[21, 29]", "14851"),
        ([2, 3], "[21, 29]", "14852"),
        ([6, 8], "[34, 55]", "[14851, 14852]"),
        ([5, 7], "[34, 55]", "14853"),
    ],
    3: [([1, 2, 3, 4], "[21, 29]", "[14851, 14852]"), ([5, 6, 7, 8], "[34, 55]", "[14851, 14853]")],
}
MONDRIAN_D1[4] = MONDRIAN_D1[3]


def frame(text, integers=()):
    return pl.DataFrame(table(text)).with_columns(pl.col(list(integers)).cast(pl.Int64))


def policy(quasi, sensitive, *goals, **more):
    columns = {**dict.fromkeys(quasi, "quasi"), sensitive: "sensitive", "id": "keep"}
    return Policy(columns=columns, goals=goals or [{"model": "k-anonymity", "k": 2}], **more)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_v_mondrian_d1(k):
    chosen = policy(
        ["age", "zipcode"],
        "diagnosis",
        {"model": "k-anonymity", "k": k},
        algorithm={"kind": "mondrian", "mode": "strict", "split": "width"},
    )
    release = anonymize(frame(MONDRIAN_1, ["id", "age", "zipcode"]), chosen).frame
    found = {row["id"]: (row["age"], row["zipcode"]) for row in release.to_dicts()}
    assert found == {i: (age, zipcode) for ids, age, zipcode in MONDRIAN_D1[k] for i in ids}


GLOBAL_1 = """
id,age,zipcode,diagnosis
1,28,13053,Heart Disease
2,29,13068,Heart Disease
3,21,13068,Viral Inflection
4,23,13053,Viral Inflection
5,50,14853,Cancer
6,55,14853,Heart Disease
7,47,14850,Viral Inflection
8,49,14850,Viral Inflection
9,31,13053,Cancer
10,37,13053,Cancer
11,36,13222,Cancer
12,35,13068,Cancer
"""
KANON_1 = """
id,age,zipcode,diagnosis
1,[20-30),130**,Heart Disease
2,[20-30),130**,Heart Disease
3,[20-30),130**,Viral Inflection
4,[20-30),130**,Viral Inflection
5,[40-60),148**,Cancer
6,[40-60),148**,Heart Disease
7,[40-60),148**,Viral Inflection
8,[40-60),148**,Viral Inflection
9,[30-40),13***,Cancer
10,[30-40),13***,Cancer
11,[30-40),13***,Cancer
12,[30-40),13***,Cancer
"""
LOCAL_1_IN = """
id,age,zipcode,diagnosis
1,28,13053,Heart Disease
2,28,13068,Heart Disease
3,21,13053,Viral Inflection
4,26,13068,Viral Inflection
5,27,13054,Cancer
6,42,14853,Heart Disease
7,27,13067,Viral Inflection
8,42,14850,Viral Inflection
9,48,14853,Cancer
10,43,14875,Cancer
11,24,13022,Cancer
12,29,13068,Cancer
"""
LOCAL_1 = """
id,age,zipcode,diagnosis
1,[20-30),130**,Heart Disease
2,[25-30),1306*,Heart Disease
3,[20-30),1305*,Viral Inflection
4,[25-30),130**,Viral Inflection
5,[20-30),1305*,Cancer
6,[40-45),148**,Heart Disease
7,[25-30),1306*,Viral Inflection
8,[40-50),1485*,Viral Inflection
9,[40-50),1485*,Cancer
10,[40-45),148**,Cancer
11,[20-30),130**,Cancer
12,[25-30),1306*,Cancer
"""
SUPP_1_IN = """
id,age,zipcode,diagnosis
1,28,13053,Heart Disease
2,29,13068,Heart Disease
3,21,13068,Viral Inflection
4,50,14853,Cancer
5,55,14853,Heart Disease
6,47,14850,Viral Inflection
7,15,15053,Cancer
8,84,15053,Cancer
"""
SUPP_1 = """
id,age,zipcode,diagnosis
1,[20-30),130**,Heart Disease
2,[20-30),130**,Heart Disease
3,[20-30),130**,Viral Inflection
4,[40-60),148**,Cancer
5,[40-60),148**,Heart Disease
6,[40-60),148**,Viral Inflection
"""
AGE_ZIP = policy(["age", "zipcode"], "diagnosis")


def recount(release, chosen, original=None):
    return verify(frame(release), chosen, original=None if original is None else frame(original, ["age"]))


def sizes(found):
    return found.n_classes, found.n_rows, found.n_suppressed, found.covers


def test_v_kanon_1():
    goals = [{"model": "k-anonymity", "k": 4}, {"model": "l-diversity", "l": 2}]
    found = recount(KANON_1, policy(["age", "zipcode"], "diagnosis", *goals), GLOBAL_1)
    assert sizes(found) == (3, 12, 0, True)
    assert [(v.holds, v.achieved) for v in found.verdicts] == [(True, 4), (False, 1)]


def test_v_local_1():
    found = recount(LOCAL_1, AGE_ZIP, LOCAL_1_IN)
    assert sizes(found) == (6, 12, 0, True)
    assert (found.holds, found.verdicts[0].achieved, found.verdicts[0].worst_class_size) == (False, 1, 1)
    mended = recount(LOCAL_1.replace("4,[25-30),130**", "4,[25-30),1306*"), AGE_ZIP, LOCAL_1_IN)
    assert (mended.holds, mended.covers, mended.verdicts[0].achieved) == (True, True, 2)


def test_v_supp_1():
    chosen = policy(["age", "zipcode"], "diagnosis", {"model": "k-anonymity", "k": 3})
    found = recount(SUPP_1, chosen, SUPP_1_IN)
    assert sizes(found) == (2, 6, 2, True)
    assert (found.holds, found.verdicts[0].achieved) == (True, 3)


@pytest.mark.parametrize(
    ("last_rows", "covers"),
    [
        ("7,[0-10),13***,Cancer\n8,[80-100),13***,Cancer\n", False),  # as printed
        ("7,[10-20),15***,Cancer\n8,[80-100),15***,Cancer\n", True),  # corrected
    ],
)
def test_v_supp_1_before_suppression(last_rows, covers):
    found = recount(SUPP_1 + last_rows, AGE_ZIP, SUPP_1_IN)
    assert (found.covers, found.verdicts[0].achieved) == (covers, 1)


T6A = """
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
"""


def t6b():
    groups = [("130**", "<30"), ("148**", ">40"), ("130**", "30-40")]
    return [{**row, "Zip": groups[i // 4][0], "Age": groups[i // 4][1], "Nationality": "*"} for i, row in originals()]


def t12():
    groups = dict.fromkeys((5, 6, 7, 8), ("1485*", ">40"))
    groups |= dict.fromkeys((1, 4, 9, 10), ("1305*", "<=40")) | dict.fromkeys((2, 3, 11, 12), ("1306*", "<=40"))
    return [{**row, "Zip": groups[i + 1][0], "Age": groups[i + 1][1], "Nationality": "*"} for i, row in originals()]


def originals():
    return list(enumerate(table(T6A)))


def covered(published, original, integers):
    quasi = [name for name in published[0] if name not in ("id", "Condition", "Disease")]
    chosen = policy(quasi, list(published[0])[-1])
    return is_valid_generalisation(
        pl.DataFrame(original).with_columns(pl.col(integers).cast(pl.Int64)), pl.DataFrame(published), chosen
    )


def zips_that_could_say_more(published, original, k, sensitive):
    """The people of the classes whose zip codes could show more digits."""
    quasi = [name for name in published[0] if name not in ("id", sensitive)]
    columns = {**dict.fromkeys(quasi, "quasi"), "Zip": {"role": "quasi", "type": "text", "hierarchy": {"kind": "mask"}}}
    output = {"path": "out.csv", "order": "keep"}
    chosen = Policy(columns={**columns, "id": "keep"}, goals=[{"model": "k-anonymity", "k": k}], output=output)
    before = pl.DataFrame(original).with_columns(pl.col("Age").cast(pl.Int64)).drop(sensitive)
    release = pl.DataFrame(published).drop(sensitive)
    found = list(specialisations(_read(before, release, chosen).matched()))
    assert is_minimal(before, release, chosen) is (not found)
    return {tuple(release["id"][s.rows.tolist()].to_list()) for s in found if s.column == "Zip"}


def test_v06_v12_v07b_classes_that_are_not_minimal():
    """As listed under `nonminimal_zip_ec`: classes 1 and 3 of table 12, class 1 of table 7b, none of table 6b."""
    mended = [{**row, "Zip": "14850"} if row["id"] == "8" else row for row in table(T6A)]
    ones, threes = ("1", "4", "9", "10"), ("2", "3", "11", "12")
    assert zips_that_could_say_more(t12(), mended, 4, "Condition") == {ones, threes}
    assert zips_that_could_say_more(t6b(), table(T6A), 4, "Condition") == set()
    cells = dict.fromkeys("123", ("15-30", "*", "10***")) | dict.fromkeys("45", ("20-48", "M", "105**"))
    t7b = [{**row, **dict(zip(("Age", "Gender", "Zip"), cells[row["id"]], strict=True))} for row in table(T7A)]
    assert zips_that_could_say_more(t7b, table(T7A), 2, "Disease") == {("1", "2", "3")}


def test_v06_every_cell_covers_its_original():
    assert covered(t6b(), table(T6A), ["Age"]) is True


def test_v12_row_8_does_not():
    assert covered(t12(), table(T6A), ["Age"]) is False
    rest = [row for row in t12() if row["id"] != "8"]
    assert covered(rest, [row for row in table(T6A) if row["id"] != "8"], ["Age"]) is True
    mended = [{**row, "Zip": "14850"} if row["id"] == "8" else row for row in table(T6A)]
    assert covered(t12(), mended, ["Age"]) is True


T7A = """
id,Age,Gender,Zip,Disease
1,30,M,10152,Viral Infection
2,28,F,10157,Diabetes
3,15,M,10118,Cancer
4,48,M,10500,Heart Disease
5,20,M,10511,Flu
"""
T7B = """
id,Age,Gender,Zip,Disease
1,15-30,*,10***,Viral Infection
2,15-30,*,10***,Diabetes
3,15-30,*,10***,Cancer
4,20-48,M,105**,Heart Disease
5,20-48,M,105**,Flu
"""
T7C = """
id,Age,Gender,Zip,Disease
1,28-30,*,1015*,Viral Infection
2,15-28,*,10***,Diabetes
3,15-30,M,10***,Cancer
4,20-48,M,105**,Heart Disease
5,20-48,M,105**,Flu
"""


@pytest.mark.parametrize("published", [T7B, T7C])
def test_v07b_and_v07c_cover(published):
    assert covered(table(published), table(T7A), ["Age"]) is True


# rows may come in any order, so each change leaves some row without any original it covers
@pytest.mark.parametrize(
    "wrong", [("4,20-48", "4,31-47"), ("5,20-48,M", "5,20-48,F"), ("5,20-48,M,105**", "5,20-48,M,106**")]
)
def test_v07b_with_one_cell_changed_does_not(wrong):
    assert covered(table(T7B.replace(*wrong)), table(T7A), ["Age"]) is False


A1_IN = """
row,gender,age,zip,lspw,ds
1,Male,40,23051,100,Cancer
2,Male,32,70825,200,Flu
3,Female,40,23051,150,Cancer
4,Female,38,23038,170,Typhus
5,Female,29,81307,195,Flu
6,Female,34,23038,200,Typhus
7,Male,39,23051,150,Cancer
"""
A1 = """
row,gender,age,zip,lspw,ds
1,****,"[39,40]",23051,100,Cancer
2,****,"[29,32]",*****,200,Flu
3,****,"[39,40]",23051,150,Cancer
4,Female,"[34,38]",23038,170,Typhus
5,****,"[29,32]",*****,195,Flu
6,Female,"[34,38]",23038,200,Typhus
7,****,"[39,40]",23051,150,Cancer
"""


def test_a1():
    columns = {**dict.fromkeys(["gender", "age", "zip"], "quasi"), "ds": "sensitive"}
    goals = [{"model": "k-anonymity", "k": 2}, {"model": "l-diversity", "l": 2}]
    found = verify(frame(A1), Policy(columns=columns, goals=goals), original=frame(A1_IN, ["age"]))
    assert sizes(found) == (3, 7, 0, True)
    assert [(v.holds, v.achieved) for v in found.verdicts] == [(True, 2), (False, 1)]


def test_the_json_of_verify(tmp_path, capsys):
    (tmp_path / "release.csv").write_text(KANON_1.strip() + "\n")
    (tmp_path / "original.csv").write_text(GLOBAL_1.strip() + "\n")
    (tmp_path / "p.yaml").write_text(
        "columns: {age: quasi, zipcode: {role: quasi, type: text}, diagnosis: sensitive}\nothers: keep\n"
        "goals: [{model: k-anonymity, k: 3}, {model: l-diversity, l: 2, sensitive: diagnosis}]\n"
    )
    words = ["verify", str(tmp_path / "release.csv"), "--policy", str(tmp_path / "p.yaml"), "--json"]
    expected = {
        "holds": False,
        "classes": 3,
        "rows": 12,
        "suppressed": 0,
        "verdicts": [
            {"model": "k-anonymity", "params": {"k": 3}, "holds": True, "achieved": 4, "required": 3, "margin": 1,
             "worst_class_size": 4},
            {"model": "l-diversity", "params": {"variant": "distinct", "l": 2, "sensitive": "diagnosis"},
             "holds": False, "achieved": 1, "required": 2, "margin": -1, "worst_class_size": 4},
        ],
        "covers": None,
    }  # fmt: skip
    assert main(words) == 3
    found = json.loads(capsys.readouterr().out)
    assert {key: found[key] for key in expected} == expected
    assert [(f["count"], f["rows"], f["class"]) for f in found["failures"]] == [(4, [9, 10, 11, 12], 3)]
    assert main([*words, "--original", str(tmp_path / "original.csv")]) == 3
    found = json.loads(capsys.readouterr().out)
    assert {key: found[key] for key in expected} == {**expected, "covers": True}
    assert main([*words, "--set", "goals=[{model: k-anonymity, k: 4}]"]) == 0
    assert json.loads(capsys.readouterr().out)["holds"] is True
