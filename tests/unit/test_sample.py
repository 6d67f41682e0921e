"""The made-up tables."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tablecloak.sample import census, census_policy, census_to_file, patients, write_patients
from tablecloak.sample.census import BLOCK, TREES, leaves
from tablecloak.sample.patients import DIAGNOSES


def test_same_seed_same_people() -> None:
    assert_frame_equal(patients(200, seed=3), patients(200, seed=3))
    assert_frame_equal(census(2000, seed=3), census(2000, seed=3))
    assert not census(2000, seed=3).equals(census(2000, seed=4))
    assert not patients(200, seed=3).equals(patients(200, seed=4))


def test_patients_look_like_a_hospital() -> None:
    frame = patients()
    assert frame.shape == (5000, 9)
    assert frame["ssn"].n_unique() == 5000
    assert frame["ssn"].str.starts_with("9").all()
    assert frame["zip"].str.len_chars().unique().to_list() == [5]
    assert 0 < frame["birth_date"].null_count() < 50
    assert (frame["birth_date"] <= frame["admission"]).all()
    assert frame["diagnosis"].n_unique() == len(DIAGNOSES)
    assert frame["cost"].min() > 0  # type: ignore[operator]


def test_diagnoses_depend_on_sex_and_age() -> None:
    frame = patients(20_000).with_columns(age=(pl.col("admission") - pl.col("birth_date")).dt.total_days() / 365.25)
    assert frame.filter(diagnosis="Childbirth")["sex"].unique().to_list() == ["female"]
    assert frame.filter(diagnosis="Prostate cancer")["sex"].unique().to_list() == ["male"]
    means = dict(frame.group_by("diagnosis").agg(pl.col("age").mean()).iter_rows())
    assert means["Dementia"] > means["Asthma"] + 25


def test_patients_are_nearly_unique() -> None:
    frame = patients()
    assert frame.n_unique(["birth_date", "sex", "zip"]) > 0.9 * frame.height


@pytest.mark.parametrize("n", [0, 1, BLOCK + 1])
def test_any_number_of_people(n: int) -> None:
    assert census(n).height == n


def test_no_patients() -> None:
    assert patients(0).shape == (0, 9)


def test_census_is_skewed_and_wide() -> None:
    frame = census(100_000)
    assert frame["zip"].n_unique() > 4000
    assert frame["disease"].n_unique() == 30
    assert {name: frame[name].n_unique() for name in TREES} == {name: len(leaves(tree)) for name, tree in TREES.items()}
    top = frame["country"].value_counts(sort=True)["count"][0]
    assert 0.5 < top / frame.height < 0.95


@pytest.mark.parametrize("name", ["census.csv", "census.parquet"])
def test_file_holds_the_same_census(tmp_path: Path, name: str) -> None:
    n = BLOCK + 1000
    path = census_to_file(tmp_path / name, n, seed=5)
    text = [column for column, dtype in census(1).schema.items() if isinstance(dtype, pl.Enum)]
    read = (
        pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, schema_overrides={"zip": pl.String})
    )
    as_text = [pl.col(column).cast(pl.String) for column in text]
    assert_frame_equal(read.with_columns(as_text), census(n, seed=5).with_columns(as_text))


def test_bundled_files_are_written_and_fit(tmp_path: Path) -> None:
    policy = write_patients(tmp_path)
    assert policy == tmp_path / "policy.yaml"
    lines = (tmp_path / "hierarchies" / "diagnosis.csv").read_text().splitlines()
    assert {line.split(";")[0] for line in lines} == {d.label for d in DIAGNOSES}
    assert pl.read_csv(tmp_path / "patients.csv").height == 5000


def test_policies_are_valid(tmp_path: Path) -> None:
    load = pytest.importorskip("tablecloak.policy.load")
    assert len(load.load_policy(write_patients(tmp_path)).goals) == 2
    path = tmp_path / "census.yaml"
    path.write_text(census_policy(7, source="c.csv"))
    policy = load.load_policy(path)
    assert policy.goals[0].k == 7
    assert list(policy.columns) == census(0).columns
