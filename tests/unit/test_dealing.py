"""Dealing records to piles: compiled kernels give what plain ones give, and every record stays in one cluster."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import oracle_dealing as oracle
from kernel_forms import compiled, plain
from tablecloak import rng
from tablecloak.algorithms.clustering.base import Points
from tablecloak.algorithms.one_pass import pile_dealing
from tablecloak.algorithms.one_pass.cluster_table import ClusterTable
from tablecloak.algorithms.one_pass.disk_clustering import DiskClustering, MemoryRecords
from tablecloak.algorithms.one_pass.pile_dealing import Dealer, DealtRecords, PileSet, make_blocks, make_tree
from tablecloak.data.domain import fit_domain
from tablecloak.data.table import ColumnType
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.hierarchy.kinds.base import build
from tablecloak.hierarchy.kinds.intervals import IntervalsSpec
from tablecloak.progress import silent

pytestmark = pytest.mark.slow
BY_TREE = {"mode": "source", "switch_ratio": 10, "switch_clusters": 0, "fan_out": 0.1}
TREE = Hierarchy.from_tree({"*": {"north": ["a", "b"], "south": ["c", "d"], "east": ["e"]}})


def points(n=400, seed=0):
    """A line with missing values, another line, a tree and a set."""
    random = np.random.default_rng(seed)
    columns = {
        "age": (pl.Series([None if random.random() < 0.05 else int(v) for v in random.integers(0, 90, n)]), None),
        "pay": (pl.Series(random.integers(0, 5000, n)), None),
        "city": (pl.Series(random.choice(list("abcde"), n)), lambda _: TREE),
        "job": (pl.Series([None if random.random() < 0.05 else str(v) for v in random.integers(0, 6, n)]), None),
    }
    kinds = [ColumnType.INTEGER, ColumnType.INTEGER, ColumnType.TEXT, ColumnType.TEXT]
    fitted = [
        fit_domain(series.rename(name), kind, make_hierarchy=tree)
        for (name, (series, tree)), kind in zip(columns.items(), kinds, strict=True)
    ]
    return Points([d for d, _ in fitted], [c.astype(np.int64) for _, c in fitted], compiled=False)


def labels(table, is_compiled, monkeypatch, k=4, **options):
    monkeypatch.setattr(pile_dealing, "pays", lambda *_: is_compiled)
    records = MemoryRecords(table)
    return records.labels(DiskClustering(**options).deal(records, k, rng.Secret.of(b"7"), silent))


@pytest.mark.parametrize(
    "options", [{"mode": "classic"}, {"mode": "optimized"}, {"size_weight": 0.5}, {"mode": "source"}, BY_TREE]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_compiled_kernels_deal_as_plain_ones_do(options, seed, monkeypatch):
    table = points(seed=seed)
    one, other = (labels(table, is_compiled, monkeypatch, **options) for is_compiled in (False, True))
    np.testing.assert_array_equal(one, other)
    assert 4 <= np.bincount(one).min() <= np.bincount(one).max() <= 7


@pytest.mark.parametrize("size_weight", [0.0, 0.7])
def test_every_record_joins_the_pile_that_a_scan_of_all_finds(size_weight):
    """An independent scan in plain Python: piles in blocks that are passed over are never the nearest."""
    table = points(300)
    piles = PileSet(table.lines)
    piles.grow(120)
    piles.refill(np.arange(120), table.codes[:, :120])
    blocks = make_blocks(piles)
    assert len(blocks.n_members) > 2
    members = [[row] for row in range(120)]
    found, _ = compiled.deal(
        table.lines,
        table.codes[:, 120:],
        piles.arrays,
        120,
        blocks,
        size_weight=size_weight,
        limit=1000,
        most_blocks=1 << 60,
    )
    for row, pile in enumerate(found.tolist(), start=120):
        away = [apart(table, row, rows) * (1 + size_weight * len(rows)) for rows in members]
        assert away[pile] == pytest.approx(min(away), rel=1e-9)
        members[pile].append(row)


def apart(table, row, members):
    """Distance of a record from the centroid of others, by the definition of every kind of column."""
    total = 0.0
    for d in range(table.n_dims):
        codes = [int(table.codes[d, m]) for m in members]
        code, lines = int(table.codes[d, row]), table.lines
        if lines.is_tree[d] or lines.step[d] > 0:
            low, high = min(*codes, code), max(*codes, code)
            total += int(table.interval_costs(d, np.array([low]), np.array([high]))[0])
            continue
        is_missing = [lines.has_missing[d] and c == 0 for c in (*codes, code)]
        if any(is_missing):
            total += 0 if all(is_missing) else int(lines.full[d])
            continue
        places = [int(lines.line[lines.start[d] + c]) for c in codes]
        total += abs(int(lines.line[lines.start[d] + code]) - sum(places) / len(places))
    return total


PATHS = {leaf: [leaf, up, "*"] for up, below in {"north": "ab", "south": "cd", "east": "e"}.items() for leaf in below}


def people(seed, n=60):
    """Records, the records as points and as the source tells them apart: ages in ranges, cities in a tree."""
    random = np.random.default_rng(seed)
    rows = [{"age": int(random.integers(0, 90)), "city": str(random.choice(list("abcde")))} for _ in range(n)]
    ranges = IntervalsSpec(width=10, factors=(3,))
    fitted = [
        fit_domain(pl.Series("age", [r["age"] for r in rows]), ColumnType.INTEGER,
                   make_hierarchy=lambda values: build(ranges, values.to_list(), "integer")),
        fit_domain(pl.Series("city", [r["city"] for r in rows]), ColumnType.TEXT, make_hierarchy=lambda _: TREE),
    ]  # fmt: skip
    table = Points([d for d, _ in fitted], [c.astype(np.int64) for _, c in fitted], compiled=False)
    _, distances = DiskClustering(mode="source").prices([d for d, _ in fitted], table.present, is_compiled=False)
    columns = [oracle.Numbers("age", [r["age"] for r in rows]), oracle.Categories("city", PATHS)]
    return rows, table, distances, columns


@pytest.mark.parametrize("seed", range(4))
def test_the_classic_mode_of_the_source_deals_as_it_is_told(seed):
    """Numbers in ranges by their mean, categories by the height of ancestors, halves by the distances on arrival."""
    k = 3
    rows, table, distances, columns = people(seed)
    records = MemoryRecords(table, distances)
    sets, counts = records.sets(k)
    in_no_set = np.flatnonzero(records.state < 0)
    seeds = np.unique(table.codes[:, in_no_set[:9]], axis=1)
    dealer = Dealer(records, k, share=0.001)
    dealer.begin(seeds)
    first = [np.flatnonzero((table.codes == seed[:, None]).all(axis=0)).tolist() for seed in seeds.T]
    waiting = [r for r in in_no_set.tolist() if not any(r in cluster for cluster in first)]
    dealer.fill()
    found = records.labels(DealtRecords(sets, counts, dealer.piles))
    clusters = {frozenset(np.flatnonzero(found == c).tolist()) for c in np.unique(found[in_no_set])}
    assert clusters == oracle.dealt(columns, rows, first, waiting, k)


@pytest.mark.parametrize("share", [0.1, 0.3, 1.0])
def test_the_tree_of_the_source_leads_every_record_to_the_nearest_child(share):
    rows, table, distances, columns = people(7)
    members = [list(range(i, i + 3)) for i in range(0, 45, 3)]
    width = max(2, int(np.ceil(share * len(members))))
    for row in range(45, 60):
        piles = PileSet(distances.lines)
        piles.grow(len(members))
        piles.refill(np.repeat(np.arange(len(members)), 3), table.codes[:, :45])
        tree = make_tree(piles, share)
        assert len(tree.starts) > (share < 1)
        pile, _ = plain.deal_by_tree(distances.lines, table.codes[:, [row]], piles.arrays, tree, size_weight=0.0)
        lists = [[rows[m] for m in rows_] for rows_ in members]
        assert pile[0] in oracle.down_the_tree(columns, rows[row], lists, width)


@pytest.mark.parametrize("seed", range(4))
def test_a_cut_loses_no_more_than_one_along_any_other_column(seed):
    table = points(40, seed)
    part, _, n_parts = plain.cut(table.lines, table.lines, table.codes, np.array([0, 40]), 20)
    assert n_parts == 2

    def cost(tuples):
        lo, hi = (np.array([list(map(side, zip(*tuples, strict=True)))], np.int32).T for side in (min, max))
        return int(table.box_costs(lo, hi)[0])

    halves = [[tuple(c) for c in table.codes.T[part == p].tolist()] for p in (0, 1)]
    least = oracle.least_loss_of_halves(cost, [tuple(c) for c in table.codes.T.tolist()])
    assert sum(len(half) * cost(half) for half in halves) == least


def test_halves_go_by_the_distance_that_was_kept_and_then_by_order():
    distances = np.array([0.5, 0.0, 0.5, 0.1, 0.5, 0.5])
    part, n_parts = pile_dealing.halved(distances, np.array([0, 6]), 3)
    assert (part.tolist(), n_parts) == ([0, 0, 1, 0, 1, 1], 2)


def test_seeds_are_drawn_alike_however_records_are_batched():
    draws = np.random.default_rng(3).random(500)
    whole = pile_dealing._sampled(draws, 500, 60)
    left, parts, n = 500, [], 0
    for begin in range(0, 500, 77):
        part = draws[begin : begin + 77]
        chosen = pile_dealing._sampled(part, left, 60 - n)
        parts += (chosen + begin).tolist()
        left, n = left - len(part), n + len(chosen)
    assert parts == whole.tolist()
    assert len(parts) == 60


def test_every_record_is_equally_likely_to_be_a_seed():
    random = rng.child(1, "seeds")
    counts = np.zeros(10)
    for _ in range(3000):
        counts[pile_dealing._sampled(random.random(10), 10, 3)] += 1
    assert np.abs(counts / 3000 - 0.3).max() < 0.05  # six standard deviations


class Kept:
    """A backing in memory that counts what it is asked."""

    def __init__(self, codes):
        self.all, self.rows, self.n_fetched = codes, {}, 0

    def store(self, ids, clusters, distances):
        for row, cluster, distance in zip(ids.tolist(), clusters.tolist(), distances.tolist(), strict=True):
            assert row not in self.rows
            self.rows[row] = (cluster, distance)

    def drop(self, clusters):
        self.rows = {row: kept for row, kept in self.rows.items() if kept[0] not in set(clusters.tolist())}

    def fetch(self, clusters):
        self.n_fetched += 1
        wanted = set(clusters.tolist())
        found = sorted((cluster, row, away) for row, (cluster, away) in self.rows.items() if cluster in wanted)
        of_ids, ids = (np.array([row[i] for row in found], np.int64) for i in (0, 1))
        return ids, of_ids, np.array([away for *_, away in found], np.float64)

    def codes(self, ids):
        return self.all[:, ids]


def test_a_table_that_outgrows_its_buffer_keeps_every_row_once():
    random = np.random.default_rng(0)
    codes = random.integers(0, 50, (2, 200)).astype(np.int32)
    backing = Kept(codes)
    table = ClusterTable(2, 24, backing)
    owner = {}
    for begin in range(0, 200, 10):
        ids = np.arange(begin, begin + 10)
        clusters = random.integers(0, 6, 10)
        table.put(ids, codes[:, ids], clusters, ids / 7)
        owner |= dict(zip(ids.tolist(), clusters.tolist(), strict=True))
        taken, there, away = table.take(begin // 10 % 6)
        assert taken.tolist() == sorted(row for row, c in owner.items() if c == begin // 10 % 6)
        np.testing.assert_array_equal(there, codes[:, taken])
        np.testing.assert_array_equal(away, taken / 7)
        table.put(taken, there, np.full(len(taken), 5), away)
        owner |= dict.fromkeys(taken.tolist(), 5)
    assert backing.n_fetched > 0
    for found, ids, *_ in table.take_all(np.array([1, 2])):
        assert all(owner.pop(row) == c for row, c in zip(ids.tolist(), found.tolist(), strict=True))
    table.flush()
    assert {row: cluster for row, (cluster, _) in backing.rows.items()} == owner
