"""Hierarchies that never show the values themselves: nothing finer than a year, or than three digits, is published."""

import re
from datetime import date

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from tablecloak.hierarchy.kinds.base import build
from tablecloak.hierarchy.kinds.dates import DatesSpec
from tablecloak.hierarchy.kinds.mask import MaskSpec
from tablecloak.pipeline import verify
from tablecloak.release.apply import apply_file


def people(n=400):
    rng = np.random.default_rng(2)
    days = [date(1930, 1, 1).toordinal() + int(d) for d in rng.integers(0, 30_000, n)]
    return pl.DataFrame({
        "born": [date.fromordinal(d) for d in days],
        "zip": [f"{z:05d}" for z in rng.choice([10115, 10117, 10243, 3601, 3602, 90210], n)],
        "illness": rng.choice(list("abcd"), n),
    })  # fmt: skip


COLUMNS = {
    "born": {"role": "quasi", "hierarchy": {"kind": "dates", "levels": ["year", "decade"], "exact": False}},
    "zip": {"role": "quasi", "type": "text", "hierarchy": {"kind": "mask", "hide": 2, "never": ["036"]}},
    "illness": {"role": "sensitive"},
}
YEARS = re.compile(r"\d{4}|\[\d{4}, \d{4}\]|\*").fullmatch
DIGITS = re.compile(r"\d{0,3}\*+").fullmatch


def test_dates_become_years_at_least():
    days = [date(2001, 5, 6), date(2001, 7, 8), date(2002, 1, 1), date(2013, 3, 3)]
    tree = build(DatesSpec(levels=["year", "decade"], exact=False), days, "date")
    assert tree.leaf_labels == ("2001", "2002", "2013")
    assert tree.codes(["2001-05-06", "2001-07-08", "2002-01-01", "2013-03-03", "2003-01-01"]).tolist() == [
        0,
        0,
        1,
        2,
        -1,
    ]
    assert tree.labels[tree.lca_range(0, 1)] == "[2000, 2009]"
    shifted = tree.with_missing()
    assert shifted.codes([None, "2013-03-03"]).tolist() == [0, 3]


def test_masks_hide_at_least_so_many_characters():
    tree = build(MaskSpec(hide=2, never=["036"]), ["10115", "10117", "10243", "03601", "12", "9"], "text")
    shown = {text: tree.labels[tree.code(text)] for text in ("10115", "10117", "10243", "03601", "12", "9")}
    assert shown == {
        "10115": "101**", "10117": "101**", "10243": "102**", "03601": "*****", "12": "*****", "9": "*****",
    }  # fmt: skip
    assert tree.labels[tree.root] == "*****"


@pytest.mark.parametrize("algorithm", ["mondrian", "auto", "flash", "k-member"])
def test_no_release_shows_more(algorithm, tmp_path):
    people().write_csv(tmp_path / "people.csv")
    wanted = tc.Policy(
        columns=COLUMNS, goals=[tc.KAnonymity(k=2)], algorithm={"kind": algorithm}, input=str(tmp_path / "people.csv"),
        output={"path": str(tmp_path / "out.csv"), "report": str(tmp_path / "report.html")},
    )  # fmt: skip
    tc.run(wanted)
    found = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    assert all(YEARS(cell) for cell in found["born"].to_list())
    assert all(DIGITS(cell) and not cell.startswith("036") for cell in found["zip"].to_list())
    assert verify(tmp_path / "out.csv", wanted, original=tmp_path / "people.csv").holds
    assert "Never published exactly: born, zip" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("engine", ["local", "duckdb"])
def test_a_recoding_treats_the_same_rows_alike(engine, tmp_path):
    people().write_csv(tmp_path / "people.csv")
    wanted = tc.Policy(
        columns=COLUMNS, goals=[tc.KAnonymity(k=3)], input=str(tmp_path / "people.csv"),
        output={"path": str(tmp_path / "out.csv"), "recoding": str(tmp_path / "recoding.json")},
    )  # fmt: skip
    tc.run(wanted, engine=engine)
    apply_file(tmp_path / "recoding.json", tmp_path / "people.csv", tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "out.csv").read_text()


def test_safe_harbor_publishes_years_and_three_digits():
    patients = tc.sample.patients(600)
    wanted = tc.suggest_policy(patients, preset="hipaa-safe-harbor")
    found = tc.anonymize(patients, wanted).frame
    assert all(YEARS(cell) for name in ("birth_date", "admission") for cell in found[name].cast(pl.String).to_list())
    assert all(re.fullmatch(r"\d{3}|\d{0,2}\*+", cell) for cell in found["zip"].cast(pl.String).to_list())
    assert not {"name", "ssn"} & set(found.columns)
