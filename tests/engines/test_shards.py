"""Tables that do not fit memory are cut apart by counts, and every part is solved for itself."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

from engine_tables import K, L, people, policy_of
from notes import Notes
from random_tables import coded_table
from tablecloak import pipeline
from tablecloak.engines.disk.rows import KeyFile, KeyPartitions, Rows
from tablecloak.engines.disk.sql import KeyCounter
from tablecloak.engines.shards import CutJudge, codes_in, cut_apart, shard_of_rows
from tablecloak.errors import IncompatibleChoice
from tablecloak.kernels.packed_codes import unpack
from tablecloak.policy.load import parse_policy

pytestmark = pytest.mark.slow


def shards_of(table, most_rows, admits=lambda stats: np.ones(stats.n_classes, bool)):
    keys = np.repeat(table.keys, table.weights, axis=1) if len(table.weights) else table.keys
    count = codes_in(lambda: iter(np.array_split(keys, 3, axis=1)), table.space, table.sensitive)
    return keys, cut_apart(count, CutJudge(table.space, table.sensitive, table.totals, most_rows, admits))


def test_shards_are_small_and_hold_every_row_once():
    table = coded_table(np.random.default_rng(3), 2000)
    keys, (tree, sizes) = shards_of(table, 300)
    shard = shard_of_rows(keys, table.space, tree)
    assert np.bincount(shard, minlength=len(sizes)).tolist() == sizes
    assert sum(sizes) == 2000
    assert max(sizes) <= 300


def test_equal_quasi_identifiers_are_in_one_shard():
    table = coded_table(np.random.default_rng(4), 3000)
    keys, (tree, _) = shards_of(table, 200)
    shard = shard_of_rows(keys, table.space, tree)
    quasi = np.stack([unpack(keys, table.space.layout, d) for d in range(table.space.n_dims)])
    seen = {}
    for row, number in zip(quasi.T.tolist(), shard.tolist(), strict=True):
        assert seen.setdefault(tuple(row), number) == number


def test_a_cut_whose_sides_may_not_stand_alone_is_not_made():
    table = coded_table(np.random.default_rng(5), 1000)
    _, (tree, sizes) = shards_of(table, 100, admits=lambda stats: stats.size >= 400)
    assert min(sizes) >= 400
    assert len(tree.dim) == len(sizes) - 1
    _, (tree, sizes) = shards_of(table, 100, admits=lambda stats: np.zeros(stats.n_classes, bool))
    assert sizes == [1000]


def test_rows_come_back_in_their_order(tmp_path):
    table = coded_table(np.random.default_rng(6), 1500)
    keys, (tree, sizes) = shards_of(table, 200)
    file = KeyFile(tmp_path / "rows.keys", keys.shape[0])
    file.append(keys)
    rows = Rows(tmp_path, file, table.space, tree, sizes)
    rows.split(lambda _: None)
    for number, part in enumerate(rows.shard_keys):
        mine = part.load()
        rows.classes[number].write(iter([(mine[0] % np.uint64(1000)).astype(np.int64)]))
    found = [classes for _, classes in rows.in_order().chunks(77)]
    assert np.array_equal(np.concatenate(found), (keys[0] % np.uint64(1000)).astype(np.int32))


def test_a_counter_counts_every_key(tmp_path):
    keys = np.random.default_rng(7).integers(0, 40, (2, 5000)).astype(np.uint64)
    counter = KeyCounter(tmp_path, 2, memory=10**8, threads=1)
    for part in np.array_split(keys, 4, axis=1):
        counter.add(part)
    found, counts = counter.counts()
    counter.close()
    pairs = list(zip(*found.tolist(), strict=True))
    assert pairs == sorted(pairs)
    assert dict(zip(pairs, counts.tolist(), strict=True)) == Counter(zip(*keys.tolist(), strict=True))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("n_parts", [1, 3, 50])
def test_partitions_hold_every_row_once_and_share_no_group(n_parts, tmp_path):
    keys = np.random.default_rng(8).integers(0, 40, (2, 5000)).astype(np.uint64)
    stored = KeyPartitions(tmp_path, np.array([2**64 - 1, 0], np.uint64), n_parts)
    for part in np.array_split(keys, 4, axis=1):
        stored.add(part)
    parts = [part.load() for part in stored.parts()]
    stored.close()
    groups = [set(part[0].tolist()) for part in parts]
    assert sum(len(group) for group in groups) == len(set().union(*groups)) == 40
    rows = Counter(pair for part in parts for pair in zip(*part.tolist(), strict=True))
    assert rows == Counter(zip(*keys.tolist(), strict=True))
    assert (len(parts) > 1) == (n_parts > 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("algorithm", ["mondrian", "{kind: auto, effort: fast}"])
def test_a_run_in_shards_is_sound_and_keeps_every_record(algorithm, tiny, tmp_path):
    frame = people(900)
    frame.write_csv(tmp_path / "people.csv")
    policy = parse_policy(policy_of(algorithm, [K, L]), name="p", base=tmp_path)
    notes = Notes()
    report = pipeline.run(policy, engine=tiny, memory="1GB", progress=notes)
    assert "shards" in notes.notes["code"]
    assert report.verification.holds
    assert report.verification.covers
    released = pl.read_csv(policy.output_path).sort("id")
    assert released["id"].to_list() == list(range(900))
    assert released["note"].to_list() == frame["note"].to_list()
    classes = released.group_by("age", "born", "town", "weight").agg(pl.len(), pl.col("illness").n_unique().alias("l"))
    assert classes["len"].min() >= 4
    assert classes["l"].min() >= 2


def test_the_recoding_of_shards_finds_the_same_classes(tiny, tmp_path):
    people(900).write_csv(tmp_path / "people.csv")
    text = policy_of("mondrian", [K], extra=", recoding: recoding.json")
    policy = parse_policy(text, name="p", base=tmp_path)
    pipeline.run(policy, engine=tiny, memory="1GB")
    pipeline.apply_file(tmp_path / "recoding.json", tmp_path / "people.csv", tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == policy.output_path.read_bytes()


@pytest.mark.parametrize("algorithm", ["flash", "mdav", "anatomy"])
def test_methods_that_take_no_shards_say_so(algorithm, tiny, tmp_path):
    people(900).write_csv(tmp_path / "people.csv")
    policy = parse_policy(policy_of(algorithm, [L if algorithm == "anatomy" else K]), name="p", base=tmp_path)
    with pytest.raises(IncompatibleChoice, match=r"do not fit"):
        pipeline.run(policy, engine=tiny, memory="1GB")
    assert [p.name for p in tmp_path.iterdir()] == ["people.csv"]
