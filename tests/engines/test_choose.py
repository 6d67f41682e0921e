"""Which engine `auto` takes, and what it says."""

import importlib.util

import polars as pl
import pytest

from engine_tables import K, people, policy_of
from tablecloak import pipeline
from tablecloak.engines.choose import Demand, bytes_in_memory, choose, working_engine
from tablecloak.errors import IncompatibleChoice, MissingExtra, PolicyError
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.policy.load import parse_policy


@pytest.mark.parametrize(("n_bytes", "name"), [(250, "local"), (251, "duckdb")])
def test_a_quarter_of_the_memory_is_the_limit(n_bytes, name):
    choice = choose(Demand(memory=1000), n_bytes)
    assert choice.name == name
    assert "25%" in choice.why


def test_what_is_asked_for_is_taken():
    assert choose(Demand("local", memory=1), 10**9).name == "local"
    assert choose(Demand("duckdb", memory=10**12), 1).name == "duckdb"
    assert choose(Demand(spark="local[2]"), 1).name == "spark"
    with pytest.raises(PolicyError, match="unknown engine 'duckbd'"):
        choose(Demand("duckbd"), 1)


def test_spark_that_is_not_installed_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="pyspark"):
        working_engine(Demand("spark"), 1).__enter__()


def test_spark_resumes_only_runs_from_files_to_files(tmp_path):
    """Nothing tells whether a table of the catalog changed."""
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    demand = Demand("spark", resume=True)
    with pytest.raises(IncompatibleChoice, match="begins anew"):
        working_engine(demand, 1, output=tmp_path / "release.parquet").__enter__()
    with pytest.raises(IncompatibleChoice, match="begins anew"):
        working_engine(demand, 1, inputs=[tmp_path / "people.parquet"]).__enter__()


def test_parquet_is_judged_by_its_cells_and_text_by_its_bytes(tmp_path):
    frame = people(1000)
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    assert bytes_in_memory(sniff(Source(tmp_path / "t.parquet"))) == 1000 * 7 * 16
    assert bytes_in_memory(sniff(Source(tmp_path / "t.csv"))) == (tmp_path / "t.csv").stat().st_size


def test_a_run_says_which_engine_and_why(tmp_path):
    people().write_csv(tmp_path / "people.csv")
    text = policy_of("mondrian", [K], extra=", certificate: certificate.json")
    policy = parse_policy(text, name="p", base=tmp_path)
    small = pipeline.run(policy, memory="1GB").to_dict()
    large = pipeline.run(policy, memory=40_000, force=True)
    assert small["engine"] == "local"
    assert large.engine == "duckdb"
    assert "more than 25% of 40 kB" in str(large)
    assert '"engine": "duckdb"' in (tmp_path / "certificate.json").read_text()


def test_a_spill_folder_is_used_and_left_empty(tmp_path, monkeypatch):
    people().write_csv(tmp_path / "people.csv")
    spill, seen = tmp_path / "spill", []
    sink = pl.LazyFrame.sink_parquet
    monkeypatch.setattr(
        pl.LazyFrame, "sink_parquet", lambda self, path, **k: (seen.append(path), sink(self, path, **k))
    )
    policy = parse_policy(policy_of("mondrian", [K]), name="p", base=tmp_path)
    pipeline.run(policy, engine="duckdb", memory="1GB", spill=spill)
    assert spill in seen[0].parents
    assert list(spill.iterdir()) == []
