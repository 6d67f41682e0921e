"""The disk-based clustering algorithm on disk: an original table and one clusters table in DuckDB, centroids in memory.

The original table holds the quasi-identifiers of every row, numbered in an order that the secret draws, the clusters
table one row (id_data, cluster_id, distance) for each of them. Sets of equal records that are large enough have the
cluster ids -1, -2, ..; they stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.algorithms.base import Solution
from tablecloak.algorithms.clustering._unite_clusters import merged, united
from tablecloak.algorithms.one_pass.cluster_table import ClusterTable, Members
from tablecloak.algorithms.one_pass.pile_dealing import DealtRecords, MakePrices, prices_of
from tablecloak.algorithms.secret_order import ROWS
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.code_sets import CodeSets
from tablecloak.data.domain import DomainKind
from tablecloak.engines.base import Answer, Coding, OnDisk
from tablecloak.engines.disk.rows import ClassFile, KeyFile, Rows
from tablecloak.engines.disk.sql import LEAST_MEMORY, failing, open_database, remove_database
from tablecloak.errors import IncompatibleChoice
from tablecloak.kernels.clustering import COMPILED_FROM
from tablecloak.kernels.dispatch import pays
from tablecloak.kernels.packed_codes import Keys, unpack
from tablecloak.models.base import Goal
from tablecloak.rng import BLOCK, Secret, drawn_words
from tablecloak.stats.classes import ClassStats, count_classes

Codes = NDArray[np.int32]
# Of the memory for work, DuckDB gets a half, the buffer of the clusters table and a batch of records an eighth each.
DUCK_SHARE, BUFFER_SHARE = 2, 8
# Few records are read one by one, many in a pass over all.
ONE_BY_ONE = 1 << 12
LEAST_BUFFER = 1 << 14


class DiskRecords:
    """Records of a key file, with the tables of the algorithm in a database beside it.

    Args:
        secret: draws the order in which records are dealt.
        buffer: rows of the clusters table, and of a batch of records, that are held in memory.
    """

    def __init__(
        self,
        coding: Coding,
        folder: Path,
        *,
        secret: Secret,
        prices: MakePrices = prices_of,
        memory: int = LEAST_MEMORY,
        threads: int = 1,
        buffer: int = 1 << 16,
    ) -> None:
        self.rows: Rows = coding.rows
        self.n, self.buffer = coding.n_rows, buffer
        self.present = _present(self.rows, coding)
        self.costs, self.distances = prices(coding.domains, self.present, is_compiled=pays(self.n, COMPILED_FROM))
        self.table = ClusterTable(len(coding.domains), buffer, self)
        self._n_dims = len(coding.domains)
        self._names = [f"q{d}" for d in range(self._n_dims)]
        self._open(folder, memory, threads)
        self._keys = KeyFile(folder / "dealt.keys", self.rows.keys.n_words)
        self._keys.path.unlink(missing_ok=True)  # what a killed run left
        self._put_in_order(secret)

    def _open(self, folder: Path, memory: int, threads: int) -> None:
        self._path = folder / "clusters.duckdb"
        with failing("opening the clusters table", folder):
            self._connection = open_database(self._path, memory=memory, threads=threads)
            columns = ", ".join(f"{name} INTEGER" for name in self._names)
            self._run(f"CREATE TABLE original (id_data BIGINT, {columns})")
            self._run(f"CREATE TABLE same ({columns}, cluster_id INTEGER)")
            self._run("CREATE TABLE clusters (id_data BIGINT, cluster_id INTEGER, distance DOUBLE)")

    def _put_in_order(self, secret: Secret) -> None:
        """Number records in the order of their keys, which forgets that of the input, shuffled by the secret.

        The same order as in memory (`hiding.solve`), by sorts of the database, which need not fit memory.
        """
        words = [f"k{i}" for i in range(self._keys.n_words)]
        listed = ", ".join(words)
        self._run(f"CREATE TABLE given (row_number BIGINT, {', '.join(f'{w} UBIGINT' for w in words)})")
        self._run("CREATE TABLE drawn (place BIGINT, word UBIGINT)")
        begin = 0
        for keys in self.rows.keys.chunks(self.buffer):
            rows = np.arange(begin, begin + keys.shape[1])
            self._insert("given", {"row_number": rows, **dict(zip(words, keys, strict=True))})
            begin += len(rows)
        for block in range(-(-self.n // BLOCK)):
            places = np.arange(block * BLOCK, min(self.n, (block + 1) * BLOCK))
            drawn = drawn_words(secret.derived(ROWS), block)[: len(places)]
            self._insert("drawn", {"place": places, "word": drawn})
        self._run(
            "CREATE TABLE sorted AS SELECT row_number() OVER (ORDER BY word, place) - 1 AS id_data, row_number, "
            f"{listed} FROM drawn JOIN (SELECT row_number() OVER (ORDER BY {listed}, row_number) - 1 AS place, * "
            "FROM given) USING (place)"
        )
        for where in self._slices():
            columns = self._fetch(f"SELECT id_data, {listed} FROM sorted WHERE {where} ORDER BY id_data")
            keys = np.stack([np.asarray(columns[w], np.uint64) for w in words])
            self._keys.append(keys)
            codes = dict(zip(self._names, self._codes(keys), strict=True))
            self._insert("original", {"id_data": np.asarray(columns["id_data"], np.int64), **codes})
        self._run("CREATE TABLE origins AS SELECT id_data, row_number FROM sorted")
        for table in ("given", "drawn", "sorted"):
            self._run(f"DROP TABLE {table}")

    def _run(self, statement: str, values: Any = None) -> Any:
        with failing("working with the clusters table", self._path.parent):
            return self._connection.execute(statement, values)

    def _insert(self, table: str, columns: dict[str, NDArray[Any]]) -> None:
        frame = pl.DataFrame({name: np.ascontiguousarray(column) for name, column in columns.items()})
        with failing("storing clusters", self._path.parent):
            self._connection.register("batch", frame)
            self._connection.execute(f"INSERT INTO {table} SELECT * FROM batch")
            self._connection.unregister("batch")

    def _fetch(self, query: str) -> dict[str, NDArray[Any]]:
        with failing("reading clusters", self._path.parent):
            columns: dict[str, NDArray[Any]] = self._connection.execute(query).fetchnumpy()
            return columns

    def _codes(self, keys: Keys) -> Codes:
        """Codes that occur, numbered without gaps, of packed keys, (n_dims, n)."""
        layout = self.rows.space.layout
        columns = [np.searchsorted(p, unpack(keys, layout, d)) for d, p in enumerate(self.present)]
        return np.stack(columns).astype(np.int32)

    def close(self) -> None:
        """Remove the tables."""
        self._connection.close()
        self._keys.path.unlink(missing_ok=True)
        remove_database(self._path)

    # Records ----------------------------------------------------------------------------------------------------------

    def sets(self, size: int) -> tuple[Codes, IntArray]:
        names = ", ".join(self._names)
        columns = self._fetch(
            f"SELECT {names}, count(*)::BIGINT AS n FROM original GROUP BY {names} HAVING count(*) >= {size} "
            f"ORDER BY {names}"
        )
        sets = self._stacked(columns)
        self._note(sets, -1 - np.arange(sets.shape[1]))
        self._run(f"INSERT INTO clusters SELECT id_data, cluster_id, 0.0 FROM original JOIN same USING ({names})")
        return sets, np.asarray(columns["n"], np.int64)

    def _stacked(self, columns: dict[str, NDArray[Any]]) -> Codes:
        return np.stack([np.asarray(columns[name], np.int32) for name in self._names])

    def _note(self, tuples: Codes, clusters: IntArray) -> None:
        self._insert("same", {**dict(zip(self._names, tuples, strict=True)), "cluster_id": clusters.astype(np.int32)})

    def rest(self) -> Iterator[Members]:
        return self.waiting()

    def waiting(self) -> Iterator[Members]:
        names = ", ".join(self._names)
        for where in self._slices():
            columns = self._fetch(
                f"SELECT * FROM original ANTI JOIN same USING ({names}) WHERE {where} ORDER BY id_data"
            )
            if len(columns["id_data"]):
                yield np.asarray(columns["id_data"], np.int64), self._stacked(columns)

    def _slices(self, by: str = "id_data") -> Iterator[str]:
        for begin in range(0, self.n, self.buffer):
            yield f"{by} >= {begin} AND {by} < {begin + self.buffer}"

    def equal_to(self, seeds: Codes) -> Iterator[tuple[IntArray, Members]]:
        self._note(seeds, np.arange(seeds.shape[1]))
        names = ", ".join(self._names)
        for where in self._slices():
            columns = self._fetch(
                f"SELECT id_data, {names}, cluster_id FROM original JOIN same USING ({names}) "
                f"WHERE {where} AND cluster_id >= 0 ORDER BY id_data"
            )
            ids = np.asarray(columns["id_data"], np.int64)
            yield np.asarray(columns["cluster_id"], np.int64), (ids, self._stacked(columns))

    def lend(self, set_: int, n: int) -> Members:
        columns = self._fetch(f"SELECT id_data FROM clusters WHERE cluster_id = {-1 - set_} ORDER BY id_data LIMIT {n}")
        ids = np.asarray(columns["id_data"], np.int64)
        if len(ids):
            self._run(f"DELETE FROM clusters WHERE cluster_id = {-1 - set_} AND id_data <= {ids[-1]}")
        return ids, self.codes(ids)

    # The clusters table -----------------------------------------------------------------------------------------------

    def store(self, ids: IntArray, clusters: IntArray, distances: FloatArray) -> None:
        self._insert("clusters", {"id_data": ids, "cluster_id": clusters.astype(np.int32), "distance": distances})

    def drop(self, clusters: IntArray) -> None:
        with self._chosen(clusters):
            self._run("DELETE FROM clusters WHERE cluster_id IN (SELECT cluster_id FROM chosen)")

    def fetch(self, clusters: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        query = "SELECT id_data, cluster_id, distance FROM clusters WHERE {} ORDER BY cluster_id, id_data"
        if len(clusters) == 1:
            columns = self._fetch(query.format(f"cluster_id = {clusters[0]}"))
        else:
            with self._chosen(clusters):
                columns = self._fetch(query.format("cluster_id IN (SELECT cluster_id FROM chosen)"))
        ids, of_ids = (np.asarray(columns[name], np.int64) for name in ("id_data", "cluster_id"))
        return ids, of_ids, np.asarray(columns["distance"], np.float64)

    @contextmanager
    def _chosen(self, clusters: IntArray) -> Iterator[None]:
        self._connection.register("chosen", pl.DataFrame({"cluster_id": clusters.astype(np.int32)}))
        try:
            yield
        finally:
            self._connection.unregister("chosen")

    def codes(self, ids: IntArray) -> Codes:
        file = self._keys
        if len(ids) <= ONE_BY_ONE:
            return self._codes(file.rows_at(ids))
        order = np.argsort(ids)
        codes = np.empty((self._n_dims, len(ids)), np.int32)
        begin, done = 0, 0
        for keys in file.chunks(self.buffer):
            end = int(np.searchsorted(ids, begin + keys.shape[1], sorter=order))
            here = order[done:end]
            codes[:, here] = self._codes(keys[:, ids[here] - begin])
            begin, done = begin + keys.shape[1], end
        return codes

    def clusters(self) -> Iterator[IntArray]:
        """The cluster of every row of the input in its order, a batch at a time; sets are -1, -2, .."""
        self.table.flush()
        for where in self._slices("row_number"):
            columns = self._fetch(
                f"SELECT cluster_id FROM clusters JOIN origins USING (id_data) WHERE {where} ORDER BY row_number"
            )
            yield np.asarray(columns["cluster_id"], np.int64)


def _present(rows: Rows, coding: Coding) -> list[IntArray]:
    """The codes of every dimension that occur."""
    occurs = [np.zeros(d.n_codes, bool) for d in coding.domains]
    for keys in rows.keys.chunks():
        for d, is_present in enumerate(occurs):
            is_present[unpack(keys, rows.space.layout, d)] = True
    return [np.flatnonzero(is_present) for is_present in occurs]


def solve_on_disk(
    coding: Coding, search: OnDisk, folder: Path, *, work: int, threads: int, buffer: int | None = None
) -> Answer:
    """Deal the rows of a coding, and keep the class of each in its class file.

    Args:
        work: bytes of memory that may be taken.
        buffer: rows held in memory; None: as many as the memory allows.
    """
    size = max(1, search.goal.min_size)
    _refuse_many(coding, size, work)
    per_row = 2 * (32 + 12 * len(coding.domains))
    records = DiskRecords(
        coding, folder, secret=search.secret, prices=search.dealing.prices, memory=work // DUCK_SHARE, threads=threads,
        buffer=buffer or max(4 * size, LEAST_BUFFER, work // BUFFER_SHARE // per_row),
    )  # fmt: skip
    try:
        dealt = search.dealing.deal(records, size, search.secret, search.progress)
        return _classified(coding, search.goal, records, dealt)
    finally:
        records.close()


def _refuse_many(coding: Coding, size: int, work: int) -> None:
    """Centroids must fit: at most two for every `size` rows, of which one stays."""
    needed = 2 * (coding.n_rows // size) * (24 + 24 * len(coding.domains))
    if needed > work // 2:
        raise IncompatibleChoice(
            f"the centroids of {coding.n_rows // size:,} clusters do not fit the memory",
            hint=f"raise --memory by {(2 * needed - work) / 1e9:.1f}GB, ask for a larger k, or use algorithm: auto",
        )


def _classified(coding: Coding, goal: Goal, records: DiskRecords, dealt: DealtRecords) -> Answer:
    """Write the class of every row, after clusters that do not satisfy the goal were united."""
    of_set, of_pile = dealt.numbers()
    number = np.concatenate([of_pile, of_set[::-1]])  # cluster -1 is the last entry
    file: ClassFile = coding.rows.classes[0]
    file.write(number[clusters] for clusters in records.clusters())
    lo, hi, sizes = dealt.boxes()
    stats = _stats(coding, sizes)
    group = united(goal, records.costs, lo, hi, stats)
    stats = stats.rollup(group, int(group.max()) + 1)
    if stats.n_classes < len(sizes):
        file.rewrite(lambda classes: group[classes])
        lo, hi = merged(np.minimum, lo, group, stats.n_classes), merged(np.maximum, hi, group, stats.n_classes)
    low, high = (np.stack([p[side[d]] for d, p in enumerate(records.present)], axis=1) for side in (lo, hi))
    return Answer(Solution(np.zeros(0, np.int64), low, high, sets=_sets(coding, stats.n_classes)), stats.size)


def _sets(coding: Coding, n_classes: int) -> dict[int, CodeSets]:
    """The values of every class in columns of categories without a hierarchy, counted in one pass."""
    nominal = [d for d, domain in enumerate(coding.domains) if domain.kind is DomainKind.SET]
    sets = dict.fromkeys(nominal, CodeSets.united([], n_classes))
    if nominal:
        for keys, classes in coding.rows.in_order().chunks():
            for d, seen in sets.items():
                here = CodeSets.of(classes, unpack(keys, coding.rows.space.layout, d), n_classes)
                sets[d] = CodeSets.united([seen, here], n_classes)
    return sets


def _stats(coding: Coding, sizes: IntArray) -> ClassStats:
    """Statistics of the classes of all rows, counted in one pass where the goal may look at more than sizes."""
    if not coding.sensitive:
        return ClassStats(sizes)
    layout, n_dims = coding.rows.space.layout, len(coding.domains)
    parts: ClassStats | None = None
    for keys, classes in coding.rows.in_order().chunks():
        codes = {s.name: (unpack(keys, layout, n_dims + i), s) for i, s in enumerate(coding.sensitive)}
        part = count_classes(classes, len(sizes), codes)
        parts = part if parts is None else parts + part
    assert parts is not None
    return parts
