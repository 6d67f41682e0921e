"""Reports of set labels and of releases in groups: every type of column, empty ones, and tables of one row."""

from __future__ import annotations

from datetime import date, timedelta

import polars as pl
import pytest

import tablecloak as tc

pytestmark = pytest.mark.slow
N = 40
COLUMNS = {
    "numbers": [i * 7 % 23 for i in range(N)],
    "decimals": [(-1) ** i * 1.7e308 if i < 2 else i * 0.25 for i in range(N)],
    "dates": [date(1950, 1, 1) + timedelta(days=i * 577 % 9000) for i in range(N)],
    "texts": [f"town {i * 5 % 9}" for i in range(N)],
    "booleans": [i % 3 == 0 for i in range(N)],
    "gaps": [None if i % 4 == 0 else i % 6 for i in range(N)],
    "missing": [None] * N,
    "constant": ["same"] * N,
}


def report_of(frame, folder, quasi, goal, algorithm):
    policy = tc.Policy(columns=tc.roles(quasi=quasi, sensitive=["illness"]), goals=[goal], algorithm=algorithm)
    release = tc.anonymize(frame, policy)
    release.write(folder / "out.csv", report=folder / "report.html", certificate=folder / "certificate.json")
    return (folder / "report.html").read_text()


ALGORITHMS = {"sets": {"kind": "auto", "labels": "set"}, "anatomy": {"kind": "anatomy"}}
GOALS = {"sets": tc.KAnonymity(k=4), "anatomy": tc.LDiversity(l=2)}


@pytest.mark.parametrize("kind", ALGORITHMS)
@pytest.mark.parametrize("name", [*COLUMNS, "all"])
def test_every_kind_of_quasi_identifier_has_its_report(tmp_path, name, kind):
    columns = list(COLUMNS) if name == "all" else [name]
    frame = pl.DataFrame({name: COLUMNS[name] for name in columns} | {"illness": COLUMNS["texts"]})
    page = report_of(frame, tmp_path, columns, GOALS[kind], ALGORITHMS[kind])
    assert all(f'<td data-head="column">{column}</td>' in page for column in columns)


@pytest.mark.parametrize("kind", ALGORITHMS)
@pytest.mark.parametrize("name", ["numbers", "decimals", "dates", "gaps"])
def test_every_kind_of_sensitive_column_has_its_report(tmp_path, name, kind):
    frame = pl.DataFrame({"age": COLUMNS["numbers"], "illness": COLUMNS[name]})
    page = report_of(frame, tmp_path, ["age"], GOALS[kind], ALGORITHMS[kind])
    assert '<td data-head="column">illness</td>' in page


def test_a_table_of_one_row_has_its_report(tmp_path):
    frame = pl.DataFrame({name: values[1:2] for name, values in COLUMNS.items()} | {"illness": ["flu"]})
    page = report_of(frame, tmp_path, list(COLUMNS), tc.TCloseness(t=1.0), ALGORITHMS["sets"])
    assert "Of 1 records, 1 are published." in page


def test_one_row_in_groups_is_said_to_be_too_few(tmp_path):
    frame = pl.DataFrame({"age": [30], "illness": ["flu"]})
    with pytest.raises(tc.Infeasible):
        report_of(frame, tmp_path, ["age"], GOALS["anatomy"], ALGORITHMS["anatomy"])
