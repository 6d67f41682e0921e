"""Every registered kind of transform: the same cells on every engine, and nothing lost."""

from __future__ import annotations

import contextlib
import pickle

import polars as pl
import pytest

import tablecloak as tc
from tablecloak import registry
from tablecloak.engines.disk.engine import DuckEngine
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.errors import CloakError
from tablecloak.io.frames import column_type
from tablecloak.io.sources import Source
from tablecloak.release.plan import make_plan
from tablecloak.release.transform import transformed
from tablecloak.rng import Secret
from transform_examples import EXAMPLES, people, policy_of

KINDS = registry.known("transforms")
CASES = [(kind, column, params) for kind, examples in EXAMPLES.items() for column, params in examples]
IDS = [f"{kind}-{column}" for kind, column, _ in CASES]


def made(engine, frame, policy, secret=b"s" * 32):
    plan = make_plan(policy, frame.columns, secret=Secret(secret))
    table = engine.read(Source.in_memory(frame), columns=plan.read_columns, categorical=plan.categorical)
    return engine.frame(transformed(engine, table, plan)[0])


def test_every_kind_has_an_example():
    assert set(EXAMPLES) == set(KINDS)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "column", "params"), CASES, ids=IDS)
def test_cells_are_the_same_on_every_engine_and_in_batches_of_any_size(kind, column, params):
    frame, policy = people(), policy_of(kind, column, params)
    if policy.columns[column].is_left_out or policy.columns[column].is_starred:
        assert column not in make_plan(policy, frame.columns).read_columns
        return
    whole = made(LocalEngine(), frame, policy)
    for rows in (7, 50):
        disk = DuckEngine(memory=1 << 30)
        disk.batch_rows = rows
        assert made(disk, frame, policy)[column].equals(whole[column])
        disk.close()


@pytest.mark.parametrize(("kind", "column", "params"), CASES, ids=IDS)
def test_what_is_made_is_of_the_type_that_was_said(kind, column, params):
    frame = people()
    chosen = KINDS[kind].model_validate(params)
    policy = policy_of(kind, column, params)
    if policy.columns[column].is_left_out or policy.columns[column].is_starred:
        return
    series = made(LocalEngine(), frame, policy)[column]
    before = column_type(column, frame.schema[column]) if column in frame.columns else None
    if before is not None:
        assert column_type(column, series.dtype) == chosen.result(before)
    assert len(series) == frame.height


@pytest.mark.parametrize(("kind", "column", "params"), CASES, ids=IDS)
def test_a_published_column_has_no_faults(kind, column, params):
    """What a transform says of its own cells holds for them, also after they were text."""
    frame, chosen = people(), KINDS[kind].model_validate(params)
    policy = policy_of(kind, column, params)
    if policy.columns[column].is_left_out or policy.columns[column].is_starred:
        return
    series = made(LocalEngine(), frame, policy)[column]
    faults = chosen.faults(series)
    assert faults is None or not faults.any()


@pytest.mark.parametrize(("kind", "column", "params"), CASES, ids=IDS)
def test_other_columns_stay(kind, column, params):
    frame, policy = people(), policy_of(kind, column, params)
    after = made(LocalEngine(), frame, policy)
    assert after["age"].equals(frame["age"])


@pytest.mark.parametrize(("kind", "column", "params"), CASES, ids=IDS)
def test_a_column_of_missing_cells_and_one_row_are_no_bug(kind, column, params):
    policy = policy_of(kind, column, params)
    frame = people()
    chosen = KINDS[kind].model_validate(params)
    empty = column if column in frame.columns else chosen.needs("who")[0]  # a column that is made is made of this one
    for odd in (frame.head(1), frame.with_columns(pl.lit(None, frame.schema[empty]).alias(empty)).head(5)):
        with contextlib.suppress(CloakError):  # refused in our words
            assert made(LocalEngine(), odd, policy).height == odd.height


@pytest.mark.parametrize(("kind", "column", "params"), CASES, ids=IDS)
def test_another_secret_gives_other_cells_where_they_are_drawn(kind, column, params):
    chosen, frame, policy = KINDS[kind].model_validate(params), people(), policy_of(kind, column, params)
    if policy.columns[column].is_left_out or policy.columns[column].is_starred:
        return
    one, other = (made(LocalEngine(), frame, policy, secret)[column] for secret in (b"s" * 32, b"t" * 32))
    assert one.equals(other) != chosen.is_drawn


@pytest.mark.parametrize(("kind", "column", "params"), CASES, ids=IDS)
def test_a_policy_reads_back_as_it_was_written(kind, column, params):
    policy = policy_of(kind, column, params)
    again = tc.Policy.model_validate(policy.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    assert again.columns[column].transform == policy.columns[column].transform


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_column_of_a_type_it_does_not_know_is_refused(kind):
    frame = people()
    _, params = EXAMPLES[kind][0]
    unknown = next((c for c in frame.columns if column_type(c, frame.schema[c]) not in KINDS[kind].types), None)
    if unknown is None or kind in ("drop", "star"):
        return
    with pytest.raises(CloakError, match="changes columns of type"):
        made(LocalEngine(), frame, policy_of(kind, unknown, params))


def test_steps_can_be_sent_to_other_processes():
    from tablecloak.release import transform as road

    seen = []
    original = road.fitted
    for kind, column, params in CASES:
        policy = policy_of(kind, column, params)
        if policy.columns[column].is_left_out or policy.columns[column].is_starred:
            continue
        road.fitted = lambda chosen, fitting: seen.append(original(chosen, fitting)) or seen[-1]
        try:
            made(LocalEngine(), people(), policy)
        finally:
            road.fitted = original
    assert seen
    for step in seen:
        again = pickle.loads(pickle.dumps(step))
        assert type(again) is type(step)
