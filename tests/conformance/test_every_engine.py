"""What every engine promises: its methods say what the local engine says."""

from __future__ import annotations

import polars as pl
import pytest
from checks_algorithms import frame_of
from checks_kinds import check_engine

from tablecloak.engines.choose import NAMES, Demand, working_engine
from tablecloak.engines.local.engine import LocalEngine

ENGINES = [pytest.param(name, marks=[pytest.mark.slow] * (name == "spark")) for name in NAMES if name != "auto"]


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("seed", [1, 2])
def test_it_says_what_the_local_engine_says(name, seed, tmp_path, request):
    if name == "spark":
        request.getfixturevalue("spark")  # the engine joins the session that is there
    path = tmp_path / "people.csv"
    gaps = pl.when(pl.int_range(pl.len()) % 7 == 3).then(None).otherwise(pl.col("age"))
    frame_of(seed, 80).with_columns(gaps.alias("age")).write_csv(path)
    more = {} if name == "local" else {"memory": "1GB"}
    with working_engine(Demand.of(name, **more), 1_000) as (engine, _):
        check_engine(engine, LocalEngine(), path)
