"""Releases read back for analysis, and their codebook."""

import datetime as dt

import polars as pl
import pytest

import tablecloak as tc

CELLS = pl.DataFrame(
    {
        "age": ["[20, 29]", "35", "*", None, "[30, 40)", "<18"],
        "born": ["[2020-01-01, 2020-03-31]", "2020-05", "2020-04-02", "*", "*", "2021"],
        "city": ["{Bern, Thun}", "Basel", "all but {Bern}", "*", '{"a, b", Thun}', '"A*02"'],
        "zip": ["130**", "13012", "131**", "*", "13***", "13012"],
        "n": [1, 2, 3, 4, 5, 6],
        "weight": [0.5, 1.5, 1.5, 2.0, 2.0, 2.5],
    }
)


def test_intervals_of_numbers_have_bounds_and_a_middle():
    read = tc.read_release(CELLS)
    assert read["age_low"].to_list() == [20, 35, None, None, 30, None]
    assert read["age_high"].to_list() == [29, 35, None, None, 39, 17]  # whole numbers below 40 and below 18
    assert read["age_mid"].to_list() == [24.5, 35.0, None, None, 34.5, None]
    assert read["age"].cast(pl.String).to_list() == CELLS["age"].to_list()
    assert read["age"].dtype.categories.to_list() == ["<18", "[20, 29]", "[30, 40)", "35", "*"]


def test_intervals_of_dates_have_dates():
    read = tc.read_release(CELLS)
    assert read["born_low"][0] == dt.date(2020, 1, 1)
    assert read["born_mid"][0] == dt.date(2020, 2, 15)
    assert read["born_high"].to_list()[1:] == [
        dt.date(2020, 5, 31), dt.date(2020, 4, 2), None, None, dt.date(2021, 12, 31),
    ]  # fmt: skip


def test_sets_are_lists_of_their_members():
    sets = tc.read_release(CELLS)["city_set"].to_list()
    assert sets[0] == ["Bern", "Thun"]
    assert sets[1] == ["Basel"]
    assert sets[2] is None  # what else there is may be shown nowhere
    assert sets[3] is None
    assert sets[4] == ["Thun", "a, b"]
    assert sets[5] == ["A*02"]


def test_other_columns_stay_as_they_are():
    read = tc.read_release(CELLS)
    assert read["n"].equals(CELLS["n"])
    assert read["weight"].equals(CELLS["weight"])
    assert "zip_set" not in read.columns
    assert "n_low" not in read.columns


def test_labels_of_a_hierarchy_are_its_leaves(tmp_path):
    (tmp_path / "towns.csv").write_text("Bern;BE;*\nThun;BE;*\nBasel;BS;*\n")
    policy = tc.Policy(
        columns={"city": {"role": "quasi", "hierarchy": str(tmp_path / "towns.csv")}}, goals=[tc.KAnonymity(k=2)]
    )
    release = pl.DataFrame({"city": ["BE", "Basel", "*"]})
    assert tc.read_release(release, policy)["city_set"].to_list() == [["Bern", "Thun"], ["Basel"], None]


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(tc.DataError, match="age_low"):
        tc.read_release(CELLS.with_columns(age_low=1))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_release_is_read_from_its_file_with_its_weights(tmp_path, suffix):
    frame = tc.sample.patients().select("birth_date", "sex", "zip", "diagnosis")
    frame = frame.with_columns(weight=pl.int_range(pl.len()) % 7 + 0.5)
    columns = tc.roles(quasi=["birth_date", "sex", "zip"], sensitive=["diagnosis"])
    policy = tc.Policy(columns={**columns, "weight": {"role": "weight"}}, goals=[tc.KAnonymity(k=10)])
    made = tc.anonymize(frame, policy)
    made.write(tmp_path / f"release.{suffix}")
    read = tc.read_release(tmp_path / f"release.{suffix}")
    assert read["weight"].sum() == frame["weight"].sum()
    assert (read["birth_date_low"] <= read["birth_date_high"]).all()
    assert read["birth_date_low"].dtype == pl.Date


def test_a_codebook_counts_every_value_of_every_column():
    book = tc.codebook(CELLS)
    for name in CELLS.columns:
        rows = book.filter(pl.col("column") == name)
        assert rows["records"].sum() == CELLS.height
        assert rows["share"].sum() == pytest.approx(1)
        shown = {None if text == "" else text for text in rows["value"]}
        assert shown == set(CELLS[name].cast(pl.String))
    city = {row["value"]: row for row in book.filter(pl.col("column") == "city").iter_rows(named=True)}
    assert city["{Bern, Thun}"]["members"] == "Bern; Thun"
    assert city["*"]["meaning"] == "any value"
    assert city["all but {Bern}"]["members"] is None


def test_a_codebook_does_not_list_thousands_of_values():
    book = tc.codebook(pl.DataFrame({"amount": range(5000)}))
    assert book.height == 1
    assert book.row(0, named=True)["low"] == "0"
    assert book.row(0, named=True)["records"] == 5000
