"""Files of SPSS, Stata and Excel: what was published is read back, and their programs find labels."""

import datetime as dt

import polars as pl
import pytest

import tablecloak as tc
from tablecloak.io.tabular import read_frame, write_frame

pyreadstat = pytest.importorskip("pyreadstat")  # of the extra stats-files

FRAME = pl.DataFrame(
    {
        "age": ["[20, 29]", "35", "*", None],
        "city": ["{Bern, Thun}", "Basel", "all but {Bern}", "Zürich"],
        "wide": ["{" + ", ".join(f"value {i}" for i in range(40)) + "}", "a", "b", None],
        "day": [dt.date(1950, 3, 4), None, dt.date(2020, 1, 1), dt.date(2020, 2, 29)],
        "n": [1, 2, None, 4],
        "weight": [1.0, 2.0, 3.0, 4.0],
        "is_ill": [True, False, None, True],
    }
)


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_what_was_written_is_read_back(tmp_path, kind):
    write_frame(FRAME, tmp_path / f"release.{kind}")
    assert read_frame(tmp_path / f"release.{kind}").equals(FRAME)


@pytest.mark.parametrize(("kind", "read"), [("sav", pyreadstat.read_sav), ("dta", pyreadstat.read_dta)])
def test_texts_are_numbers_with_value_labels(tmp_path, kind, read):
    write_frame(FRAME, tmp_path / f"release.{kind}")
    rows, meta = read(str(tmp_path / f"release.{kind}"), output_format="polars")
    labels = {int(number): text for number, text in meta.variable_value_labels["age"].items()}
    assert labels == {1: "[20, 29]", 2: "35", 3: "*"}  # in the order of their bounds
    assert rows["age"].to_list() == [1, 2, 3, None]
    assert rows["weight"].to_list() == [1.0, 2.0, 3.0, 4.0]
    assert ("wide" in meta.variable_value_labels) is (kind == "dta")  # too long for a label of SPSS


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_files_of_others_keep_their_numbers(tmp_path, kind):
    path = tmp_path / f"theirs.{kind}"
    frame = pl.DataFrame({"sex": [1, 2, 1]})
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[kind]
    write(frame, str(path), variable_value_labels={"sex": {1: "male", 2: "female"}})
    assert read_frame(path)["sex"].to_list() == [1, 2, 1]


@pytest.mark.parametrize(
    ("kind", "name"), [("sav", "birth date"), ("dta", "größe"), ("dta", "x" * 33), ("dta", "long"), ("sav", "By")]
)
def test_a_name_that_a_program_cannot_have_is_refused(tmp_path, kind, name):
    with pytest.raises(tc.DataError, match="has a name that") as error:
        write_frame(pl.DataFrame({name: [1]}), tmp_path / f"release.{kind}")
    assert "rename" in str(error.value.hint)


@pytest.mark.parametrize("kind", ["sav", "dta", "xlsx"])
def test_a_run_writes_them_and_verifies_what_it_wrote(tmp_path, kind):
    if kind == "xlsx":
        pytest.importorskip("xlsxwriter")
        pytest.importorskip("fastexcel")
    frame = tc.sample.patients().select("birth_date", "sex", "zip", "diagnosis")
    frame.write_csv(tmp_path / "patients.csv")
    policy = tc.Policy(
        input=str(tmp_path / "patients.csv"), output=str(tmp_path / f"release.{kind}"), goals=[tc.KAnonymity(k=10)],
        columns=tc.roles(quasi=["birth_date", "sex", "zip"], sensitive=["diagnosis"]),
    )  # fmt: skip
    assert tc.run(policy).verification.holds
    assert not tc.verify(tmp_path / f"release.{kind}", policy, original=tmp_path / "patients.csv").failures
    read = tc.read_release(tmp_path / f"release.{kind}")
    assert read.height == frame.height
    assert (read["birth_date_low"] <= read["birth_date_high"]).all()


def test_a_workbook_has_a_codebook(tmp_path):
    pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    write_frame(FRAME, tmp_path / "release.xlsx")
    book = pl.read_excel(tmp_path / "release.xlsx", sheet_name="codebook")
    assert set(book["column"]) == set(FRAME.columns)
    assert book.filter(pl.col("value") == "[20, 29]")["high"].to_list() in ([29], ["29"])
    assert read_frame(tmp_path / "release.xlsx").columns == FRAME.columns
