"""Transforms on Spark: workers make the cells that one machine makes, or it is said that they cannot."""

from __future__ import annotations

import pytest

import clusters
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.engines.spark.rows import ROW, batches_of, frame_of
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.io.sources import Source
from tablecloak.release.plan import make_plan
from tablecloak.release.transform import transformed
from tablecloak.rng import Secret
from transform_examples import EXAMPLES, people, policy_of

pytestmark = clusters.ON_SPARK
SHOWN = {kind: examples for kind, examples in EXAMPLES.items() if kind not in ("drop", "star")}  # nothing is made of it
# They look at whole columns, not only at how often values occur.
IN_ONE_MEMORY = {"swap", "shuffle", "rank-swap"}


def table_of(engine, policy, path):
    plan = make_plan(policy, people().columns, secret=Secret(b"s" * 32))
    table = engine.read(Source.of(path), columns=plan.read_columns, categorical=plan.categorical)
    return transformed(engine, table, plan)[0]


def cells_of(spark, table, column):
    from tablecloak.engines.spark.rows import SPARK_TYPES
    from tablecloak.engines.spark.worker_jobs import mapped

    def rows_of(batches):  # inside a function: workers cannot import this file
        for frame in table.rows.frames(batches, [column], numbered=True):
            yield from batches_of(frame)

    schema = f"`{column}` {SPARK_TYPES[table.types[column]]}, {ROW} bigint"
    rows = frame_of(mapped(spark.session, table, rows_of, schema, [column]).toArrow())
    return rows.sort(ROW)[column]


@pytest.mark.parametrize("kind", SHOWN)
def test_workers_make_the_cells_that_one_machine_makes(kind, spark, tmp_path, monkeypatch):
    monkeypatch.setattr("tablecloak.engines.spark.rows.SLICE_ROWS", 50)
    path = tmp_path / "people.parquet"
    people().write_parquet(path, row_group_size=40)
    column, params = SHOWN[kind][0]
    policy = policy_of(kind, column, params)
    if kind in IN_ONE_MEMORY:
        with pytest.raises(IncompatibleChoice, match="needs all rows in one memory"):
            table_of(spark, policy, path)
        return
    here = LocalEngine()
    expected = here.frame(table_of(here, policy, path))[column]
    made = cells_of(spark, table_of(spark, policy, path), column)
    assert made.cast(expected.dtype).to_list() == expected.to_list()


def test_numbers_that_cannot_be_changed_are_counted_by_workers(spark, tmp_path):
    path = tmp_path / "people.parquet"
    people().write_parquet(path, row_group_size=40)
    policy = policy_of("ff1", "note", {})
    n = sum(note is not None and not note.startswith("call") for note in people()["note"])  # that has ten digits
    with pytest.raises(DataError, match=rf"column 'note': {n} cells \(2 different ones\) have fewer than 6"):
        table_of(spark, policy, path)
