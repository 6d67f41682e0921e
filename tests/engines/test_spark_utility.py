"""What a report says of a table that workers searched in shards, held against the local engine on the same files."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from test_spark import people
from test_utility import DISTRIBUTIONS, PAIRS, TARGETS

import clusters
from tablecloak import pipeline
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.io.tabular import read_frame
from tablecloak.measure import compare as comparison
from tablecloak.policy.load import parse_policy
from tablecloak.progress import Timed
from tablecloak.release.facts.collect import Facts
from tablecloak.release.plan import Plan
from tablecloak.release.prepare import read
from tablecloak.release.recount import Originals, verify_with_facts
from tablecloak.release.shapes.classes import code, read_release

pytest.importorskip("pyspark", reason="the extra spark is not installed")
pytestmark = clusters.ON_SPARK
ROWS = 1200
POLICY = """columns: {{id: keep, age: quasi, height: quasi, sex: quasi, zip: quasi, disease: sensitive}}
goals: [{{model: k-anonymity, k: 5}}{more}]
algorithm: {algorithm}
output: release.parquet
"""
# Cuts lead to every class; no cuts do; cuts lead to some, and records are left out.
ASKED = {
    "cuts": ("mondrian", ", {model: l-diversity, l: 2}"),
    "refined": ("{kind: auto, effort: fast, labels: set}", ""),
    "left out": (
        "{kind: mondrian, suppression_limit: 0.05}", ", {model: l-diversity, l: 2}, {model: t-closeness, t: 0.4}"
    ),
}  # fmt: skip


def said_locally(plan: Plan, source: Path, target: Path) -> Facts:
    """What the local engine counts in a file and in its originals, row by row."""
    engine = LocalEngine()
    policy = plan.policy.with_files(source=source)
    _, table = read(engine, pipeline.source_of(policy), policy, Timed())
    originals = Originals(code(engine, table, plan), read_frame(target)["id"].to_numpy())
    return verify_with_facts(engine, read_release(engine, target, plan), plan, originals)[1]


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


@pytest.mark.parametrize("name", ASKED)
def test_shards_on_workers_report_what_their_files_say(
    name: str, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people(ROWS).write_parquet(tmp_path / "in.parquet", row_group_size=400)
    monkeypatch.setattr(spark, "most_tuples", 400)
    monkeypatch.setattr(spark, "shard_tuples", 400)
    monkeypatch.setattr("tablecloak.engines.spark.rows.SLICE_ROWS", 400)
    told: list[tuple[Plan, Facts]] = []
    write = pipeline.write_documents

    def listening(files: Any, run: Any, plan: Plan, subject_for: Any) -> Any:
        subject = write(files, run, plan, subject_for)
        told.append((plan, subject.facts))
        return subject

    monkeypatch.setattr(pipeline, "write_documents", listening)
    algorithm, more = ASKED[name]
    text = POLICY.format(algorithm=algorithm, more=more)
    policy = parse_policy(text, name="p", base=tmp_path).with_files(source=tmp_path / "in.parquet")
    policy = policy.with_documents(report=tmp_path / "report.html")
    report = pipeline.run(policy, engine=spark)
    measured = {m.name: m for m in report.measurements}
    assert (report.verification.n_suppressed > 0) == (name == "left out")
    ((plan, facts),) = told

    expected = {m.name: m for m in comparison.compare(policy.input_path, policy.output_path, policy=policy).metrics}
    for metric in [*PAIRS, *DISTRIBUTIONS, *TARGETS, "query-error", "gcp", "discernibility"]:
        assert measured[metric].value == pytest.approx(expected[metric].value, abs=1e-5), metric
        assert measured[metric].note is None

    local = said_locally(plan, tmp_path / "in.parquet", tmp_path / "release.parquet")
    assert attacked(facts) == attacked(local)
    assert sum(finding is not None for finding in attacked(facts).values()) >= 5
    assert rounded(asdict(replace(facts, attacks=()))) == rounded(asdict(replace(local, attacks=())))
