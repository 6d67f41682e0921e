"""Tables that workers search in shards: what is released, and what its report says, held against the files alone."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_spark import ROWS, people
from test_utility import DISTRIBUTIONS, PAIRS, TARGETS

import clusters
from tablecloak import pipeline
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.io.tabular import read_frame
from tablecloak.measure import compare as comparison
from tablecloak.policy.load import parse_policy
from tablecloak.policy.schema import Policy
from tablecloak.progress import Timed
from tablecloak.release.facts.collect import Facts
from tablecloak.release.outcome import RunReport
from tablecloak.release.plan import Plan
from tablecloak.release.prepare import read
from tablecloak.release.recount import Originals, verify_with_facts
from tablecloak.release.shapes.classes import code, read_release

pytest.importorskip("pyspark", reason="the extra spark is not installed")
pytestmark = clusters.ON_SPARK
POLICY = """columns: {{id: keep, age: quasi, height: quasi, sex: quasi, zip: quasi, disease: sensitive}}
goals: [{{model: k-anonymity, k: 5}}{more}]
algorithm: {algorithm}
output: release.parquet
"""
L = ", {model: l-diversity, l: 2}"
T = ", {model: t-closeness, t: 0.4}"
# Cuts lead to every class; no cuts do, with nodes and with sets; cuts lead to some, and records are left out.
# Algorithm, goals beside k-anonymity, and the tuples that a shard may have.
ASKED = {
    "cuts": ("mondrian", L, 400),
    "refined": ("{kind: auto, effort: fast}", L + T, 400),
    "refined sets": ("{kind: auto, effort: fast, labels: set}", "", 400),
    "left out": ("{kind: mondrian, suppression_limit: 0.05}", L + T, 400),
}


@dataclass(frozen=True)
class Run:
    """A run in shards, and what it counted on the way."""

    name: str
    policy: Policy
    report: RunReport
    plan: Plan
    facts: Facts

    @property
    def source(self) -> Path:
        assert self.policy.input_path is not None
        return self.policy.input_path

    @property
    def target(self) -> Path:
        assert self.policy.output_path is not None
        return self.policy.output_path


@pytest.fixture(scope="module", params=ASKED)
def sharded(request: pytest.FixtureRequest, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("shards")
    people().write_parquet(folder / "in.parquet", row_group_size=400)
    algorithm, more, n_tuples = ASKED[request.param]
    policy = parse_policy(POLICY.format(algorithm=algorithm, more=more), name="p", base=folder)
    policy = policy.with_files(source=folder / "in.parquet").with_documents(report=folder / "report.html")
    told: list[tuple[Plan, Facts]] = []
    write = pipeline.write_documents

    def listening(files: Any, run: Any, plan: Plan, subject_for: Any) -> Any:
        subject = write(files, run, plan, subject_for)
        told.append((plan, subject.facts))
        return subject

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark, "most_tuples", n_tuples)
        patch.setattr(spark, "shard_tuples", n_tuples)
        patch.setattr("tablecloak.engines.spark.rows.SLICE_ROWS", 400)
        patch.setattr(pipeline, "write_documents", listening)
        report = pipeline.run(policy, engine=spark)
    ((plan, facts),) = told
    return Run(request.param, policy, report, plan, facts)


def test_tuples_that_do_not_fit_the_driver_are_searched_by_workers(sharded: Run, tmp_path: Path) -> None:
    found = sharded.report.verification
    assert found.holds
    assert found.covers
    assert found.n_rows + found.n_suppressed == ROWS
    assert (found.n_suppressed > 0) == (sharded.name == "left out")
    elsewhere = sharded.policy.with_files(target=tmp_path / "whole.parquet")
    whole = pipeline.run(elsewhere.with_documents(report=tmp_path / "whole.html"), engine="local")
    # every shard is searched for itself
    assert sharded.report.loss < 1.5 * whole.loss
    release = read_frame(sharded.target)
    values = pl.col("disease").n_unique().alias("l")
    classes = release.group_by("age", "height", "sex", "zip").agg(pl.len().alias("n"), values)
    assert classes["n"].min() >= 5  # type: ignore[operator]
    assert classes["l"].min() >= (1 if sharded.name == "refined sets" else 2)  # type: ignore[operator]
    assert len(classes) == found.n_classes
    release = release.sort("id")
    kept = people().filter(pl.col("id").is_in(release["id"].implode()))
    assert release["id"].to_list() == kept["id"].to_list()
    assert release["disease"].to_list() == kept["disease"].to_list()
    assert all(
        age_is_covered(cell, age) for cell, age in zip(release["age"].to_list(), kept["age"].to_list(), strict=True)
    )


def age_is_covered(cell: str | None, age: int | None) -> bool:
    """A published age, read by hand: a number, [low, high], * or an empty cell."""
    if cell is None or age is None:
        return (cell in (None, "*") and age is None) or cell == "*"
    ends = [int(end) for end in re.findall(r"\d+", cell)]
    return cell == "*" or ends[0] <= age <= ends[-1]


def said_locally(run: Run) -> Facts:
    """What the local engine counts in a file and in its originals, row by row."""
    engine = LocalEngine()
    policy = run.plan.policy.with_files(source=run.source)
    _, table = read(engine, pipeline.source_of(policy), policy, Timed())
    originals = Originals(code(engine, table, run.plan), read_frame(run.target)["id"].to_numpy())
    return verify_with_facts(engine, read_release(engine, run.target, run.plan), run.plan, originals)[1]


def attacked(facts: Facts) -> dict[str, Any]:
    """What attackers reach; only rows in memory can be named."""
    reached = {e.attack: e.finding and replace(e.finding, worst=(), notes=()) for e in facts.attacks}
    return {name: finding and rounded(asdict(finding)) for name, finding in reached.items()}


def rounded(value: Any) -> Any:
    """The same, whatever order sums were taken in."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    return round(value, 9) if isinstance(value, float) else value


def test_metrics_of_shards_on_workers_are_those_of_their_files(sharded: Run) -> None:
    measured = {m.name: m for m in sharded.report.measurements}
    compared = comparison.compare(sharded.source, sharded.target, policy=sharded.policy)
    expected = {m.name: m for m in compared.metrics}
    for metric in [*PAIRS, *DISTRIBUTIONS, *TARGETS, "query-error", "gcp", "discernibility"]:
        assert measured[metric].value == pytest.approx(expected[metric].value, abs=1e-5), metric
        assert measured[metric].note is None


def test_shards_on_workers_report_what_their_files_say(sharded: Run) -> None:
    facts, local = sharded.facts, said_locally(sharded)
    assert attacked(facts) == attacked(local)
    assert sum(finding is not None for finding in attacked(facts).values()) >= 5
    assert rounded(asdict(replace(facts, attacks=()))) == rounded(asdict(replace(local, attacks=())))
