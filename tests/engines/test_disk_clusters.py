"""The disk-based clustering algorithm on disk: what it does in memory, with a clusters table and a small buffer."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from engine_tables import people, policy_of
from tablecloak import pipeline
from tablecloak.algorithms.one_pass.pile_dealing import deal_records
from tablecloak.engines.base import QuasiColumn
from tablecloak.engines.disk import cluster_tables as disk_clusters
from tablecloak.engines.disk import engine as duck
from tablecloak.engines.disk.cluster_tables import DiskRecords
from tablecloak.engines.disk.coding import Needs
from tablecloak.engines.disk.engine import DuckEngine
from tablecloak.errors import IncompatibleChoice
from tablecloak.io.sources import Source
from tablecloak.policy.load import load_policy
from tablecloak.rng import Secret

pytestmark = pytest.mark.slow
GOALS = {
    "k": [{"model": "k-anonymity", "k": 4}],
    "k and l": [{"model": "k-anonymity", "k": 3}, {"model": "l-diversity", "l": 3, "sensitive": "illness"}],
}

# the source's optimised mode, which it has for large tables only
MODES = {"tree": {"mode": "source", "switch_ratio": 10, "switch_clusters": 0, "fan_out": 0.1}}


def policy(quasi, goals, **options):
    roles = tc.roles(quasi=quasi, sensitive=["illness"], keep=["id"])
    return tc.Policy(columns=roles, goals=goals, algorithm={"kind": "disk-clustering", **options}, seed=3)


def small_buffer(monkeypatch, n):
    """Let the clusters table hold so many rows in memory."""
    whole = disk_clusters.solve_on_disk
    monkeypatch.setattr(duck, "solve_on_disk", lambda *given, **options: whole(*given, **options, buffer=n))


@pytest.mark.parametrize("goals", GOALS)
@pytest.mark.parametrize("mode", ["classic", "optimized", "source", "tree"])
@pytest.mark.parametrize("buffer", [None, 40])
def test_releases_equal_those_in_memory(mode, goals, buffer, monkeypatch):
    if buffer:
        small_buffer(monkeypatch, buffer)
    frame = people(250).drop("note")
    for quasi in (["age", "born", "town", "weight"], ["age"]):
        asked = policy(quasi, GOALS[goals], **MODES.get(mode, {"mode": mode}))
        one, other = (tc.anonymize(frame, asked, engine=name) for name in ("local", "duckdb"))
        assert other.frame.cast(pl.String).equals(one.frame.cast(pl.String))
        found, expected = ([(m.name, m.value) for m in r.report.measurements] for r in (other, one))
        assert found == expected
        assert other.report.verification.holds
        assert other.report.verification.covers


@pytest.mark.parametrize("goals", GOALS)
def test_neither_order_of_rows_nor_their_numbers_decide_what_is_published_beyond_memory(goals, monkeypatch):
    small_buffer(monkeypatch, 40)
    frame = people(250).drop("note", "id")
    roles = tc.roles(quasi=["age", "born", "town", "weight"], sensitive=["illness"])
    asked = tc.Policy(columns=roles, goals=GOALS[goals], algorithm="disk-clustering")
    orders = [np.arange(250), np.random.default_rng(5).permutation(250)]
    one, other = (tc.anonymize(frame[order], asked, engine="duckdb").frame for order in orders)
    assert one.equals(other)


def test_metrics_that_look_at_records_find_what_they_find_in_memory():
    frame = people(300).select("born", "illness")
    days = {"kind": "dates", "levels": ["month", "year"]}
    columns = {"born": {"role": "quasi", "hierarchy": days}, "illness": {"role": "sensitive"}}
    asked = tc.Policy(columns=columns, goals=GOALS["k"], algorithm="disk-clustering")
    one, other = (tc.anonymize(frame, asked, engine=name) for name in ("local", "duckdb"))
    assert other.measure("total")[0].value == one.measure("total")[0].value > 0


@pytest.mark.parametrize(("n_equal", "sizes"), [(4, [5]), (7, [4, 4])])
def test_a_residue_borrows_from_a_set(n_equal, sizes):
    frame = pl.DataFrame({"id": range(n_equal + 1), "age": [1] * n_equal + [9], "illness": ["flu"] * (n_equal + 1)})
    release = tc.anonymize(frame, policy(["age"], GOALS["k"]), engine="duckdb")
    assert sorted(release.frame.group_by("age").len()["len"].to_list()) == sizes


def coding_of(tmp_path, frame, quasi):
    engine = DuckEngine(memory=1_000_000_000, folder=None)
    table = engine.read(Source.of(frame), columns=quasi, categorical=())
    return engine, engine.contingency(table, [QuasiColumn(name) for name in quasi], [], by_row=True)


def test_the_clusters_table_has_one_row_for_each_record(tmp_path):
    # V-CLUSTERTABLE-1: rows of a record, its cluster and its distance, 0 for a record equal to the centroid
    engine, coding = coding_of(tmp_path, people(300).fill_null(strategy="forward"), ["age", "born", "weight"])
    records = DiskRecords(coding, tmp_path, secret=Secret.fresh(), buffer=64)
    dealt = deal_records(records, 5, np.random.default_rng(0), is_optimized=lambda _: False)
    records.table.flush()
    found = records._fetch("SELECT * FROM clusters ORDER BY id_data")
    assert list(found) == ["id_data", "cluster_id", "distance"]
    assert found["id_data"].tolist() == list(range(300))
    assert found["distance"].min() >= 0
    assert found["distance"].max() <= 3
    sizes = np.bincount(found["cluster_id"])
    np.testing.assert_array_equal(sizes, dealt.piles.sizes[: len(sizes)])
    assert set(np.unique(sizes)) <= {0, *range(5, 10)}
    for cluster in np.flatnonzero(sizes).tolist():
        codes = records.codes(found["id_data"][found["cluster_id"] == cluster].astype(np.int64))
        np.testing.assert_array_equal(dealt.piles.lo[cluster], codes.min(axis=1))
        np.testing.assert_array_equal(dealt.piles.hi[cluster], codes.max(axis=1))
    records.close()
    engine.close()
    assert list(tmp_path.iterdir()) == []


def test_v_clustertable_1_rows(tmp_path):
    rows = [
        (592349, 20264, 0.006289), (62865, 16734, 0.0000013), (22, 2172, 0.0), (3045, 1378, 0.01103),
        (616, 21, 0.0184), (8, 15579, 0.000025), (285624, 2141, 0.014), (83889, 142, 0.002875), (57442, 19200, 0.0093),
    ]  # fmt: skip
    engine, coding = coding_of(tmp_path, people(20), ["weight"])
    records = DiskRecords(coding, tmp_path, secret=Secret.fresh())
    ids, clusters, distances = (np.array(column) for column in zip(*rows, strict=True))
    records.store(ids, clusters, distances)
    found = records._fetch("SELECT * FROM clusters ORDER BY rowid")
    assert list(zip(*(found[name].tolist() for name in ("id_data", "cluster_id")), strict=True)) == [
        r[:2] for r in rows
    ]
    assert found["distance"].tolist() == pytest.approx([r[2] for r in rows])
    kept, *_ = records.fetch(np.array([21, 2172]))
    assert kept.tolist() == [616, 22]  # by cluster
    records.drop(np.array([21, 142]))
    assert records._fetch("SELECT count(*) AS n FROM clusters")["n"][0] == 7
    records.close()
    engine.close()


def written(tmp_path, goals="{model: k-anonymity, k: 4}"):
    people(300).write_csv(tmp_path / "people.csv")
    path = tmp_path / "policy.yaml"
    path.write_text(policy_of("{kind: disk-clustering}", [goals]))
    return load_policy(path)


def test_nothing_is_left_beside_the_release(tmp_path):
    report = pipeline.run(written(tmp_path), engine="duckdb", memory="1GB")
    assert report.verification.holds
    assert {p.name for p in tmp_path.iterdir()} == {"people.csv", "policy.yaml", "release.csv"}


def test_a_run_killed_in_the_search_is_resumed(tmp_path, monkeypatch):
    asked = written(tmp_path)
    pipeline.run(asked, engine="duckdb", memory="1GB")
    whole = (tmp_path / "release.csv").read_bytes()
    (tmp_path / "release.csv").unlink()

    class Killed(BaseException):
        pass

    def killed(*_, **__):
        raise Killed

    spill = tmp_path / "spill"
    with monkeypatch.context() as patched:
        # as after kill -9: the run folder stays, with an unfinished clusters table
        patched.setattr(disk_clusters, "_classified", killed)
        patched.setattr(DiskRecords, "close", lambda self: self._connection.close())
        patched.setattr(duck.RunFolder, "discard", lambda self: self._folder.release())
        with pytest.raises(Killed):
            pipeline.run(asked, engine="duckdb", memory="1GB", spill=spill)
    (folder,) = spill.iterdir()
    assert (folder / "clusters.duckdb").exists()
    assert "code" in json.loads((folder / "journal.json").read_text())["phases"]
    pipeline.run(asked, engine="duckdb", memory="1GB", spill=spill, resume=True)
    assert (tmp_path / "release.csv").read_bytes() == whole
    assert list(spill.iterdir()) == []


def test_centroids_that_do_not_fit_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(duck, "LEAST_WORK", 1000)
    with pytest.raises(IncompatibleChoice, match="centroids"):
        pipeline.run(written(tmp_path), engine="duckdb", memory=1000)
    assert {p.name for p in tmp_path.iterdir()} == {"people.csv", "policy.yaml"}


def test_rows_beyond_memory_are_only_refused_to_methods_that_need_them_all(tmp_path, monkeypatch):
    monkeypatch.setattr(Needs, "tuples_at_once", 100)
    assert pipeline.run(written(tmp_path), engine="duckdb", memory="1GB").verification.holds
    (tmp_path / "policy.yaml").write_text(policy_of("oka", ["{model: k-anonymity, k: 4}"]))
    with pytest.raises(IncompatibleChoice, match="needs all of them at once"):
        pipeline.run(load_policy(tmp_path / "policy.yaml"), engine="duckdb", memory="1GB", force=True)


FULL = """
import resource, signal, sys
from pathlib import Path
from tablecloak import pipeline
from tablecloak.policy.load import load_policy
from tablecloak.rng import Secret
sys.dont_write_bytecode = True  # it would be cut off, and the next to import it would fail
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (32_768, 32_768))
pipeline.run(load_policy(Path(sys.argv[1])), engine="duckdb", memory="1GB", spill=Path(sys.argv[2]))
"""


def test_a_full_spill_folder_is_named_and_nothing_is_left(tmp_path):
    """A real limit of the operating system: keys find a place, the tables of the clusters do not."""
    people(3000).write_parquet(tmp_path / "people.parquet")
    path, spill = tmp_path / "policy.yaml", tmp_path / "spill"
    path.write_text(policy_of("{kind: disk-clustering}", ["{model: k-anonymity, k: 4}"], source="people.parquet"))
    found = subprocess.run([sys.executable, "-c", FULL, path, spill], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "storing clusters failed: the spill folder is full" in found.stderr
    assert list(spill.iterdir()) == []
    assert {p.name for p in tmp_path.iterdir()} == {"people.parquet", "policy.yaml", "spill"}
