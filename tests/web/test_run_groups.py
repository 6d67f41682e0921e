"""The picture of groups after a run: sizes that the run counted, and no second look at the release."""

import polars as pl
import pytest

from tablecloak.progress import silent
from tablecloak.server.steps.run import task
from tablecloak.server.tables import Means, PolicyTable

POLICY = """
input: people.csv
columns:
  age: {role: quasi}
  zip: {role: quasi}
  illness: {role: sensitive}
goals:
  - {model: k-anonymity, k: 3}
output: {path: out.csv, suppressed: star}
"""


@pytest.mark.parametrize("engine", ["local", "duckdb"])
def test_groups_are_those_that_the_run_recounted(engine, tmp_path):
    ages = [20 + i * i % 37 for i in range(200)]
    people = pl.DataFrame({"age": ages, "zip": [f"1{i % 23:03d}" for i in range(200)], "illness": ["a", "b"] * 100})
    people.write_csv(tmp_path / "people.csv")
    (tmp_path / "run").mkdir()
    request = task.RunRequest(PolicyTable(POLICY, tmp_path, Means(engine)), tmp_path / "run")
    answer = task.carry_out(request, silent)
    published = pl.read_csv(tmp_path / "run" / "out.csv", infer_schema=False).filter(pl.col("age") != "*")
    sizes = published.group_by("age", "zip").len()["len"].sort(descending=True).to_list()
    assert list(answer.groups) == sizes
    assert sum(answer.groups) == answer.report["rows"]


def test_only_the_largest_groups_are_kept(monkeypatch):
    monkeypatch.setattr(task, "MOST_GROUPS", 4)
    assert task.largest_of([(2, 9), (5, 1), (7, 2)]) == (7, 7, 5, 2)
    assert task.largest_of([(2, 1), (5, 1)]) == (5, 2)
    assert task.largest_of([]) == ()
