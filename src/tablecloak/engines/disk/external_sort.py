"""Putting a release in order that may not fit memory: rows are dealt to parts that lie behind each other, then sorted.

What is sorted of a row is the place of its labels among all of them, the cells that are published as they are, and the
packed key of its original, so that the recount can hold every row against its own when the order is given up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.arrays import IntArray
from tablecloak.data.class_labels import ClassLabels
from tablecloak.data.table import Order
from tablecloak.engines.disk.rows import KeyFile
from tablecloak.engines.row_order import content_order, sortable
from tablecloak.engines.run_folder import RunFolder
from tablecloak.io.atomic import writing
from tablecloak.rng import Secret, drawn_words

PHASE = "order"
RANK, WORD, KEY = "\0rank", "\0word", "\0key"  # no column of a table has such a name
SAMPLE = 4096
QUICK_ROWS = 1 << 18  # are sorted within the caches of a processor
MOST_PARTS = 64  # for that reason alone


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """Places of classes in the order of their labels; classes that show the same ones share a place."""

    of_class: NDArray[np.uint32]  # (n_classes + 1,) class -1 finds the last
    classes: IntArray  # (n_ranks,) a class of every place

    @classmethod
    def of(cls, labels: Sequence[ClassLabels], n: int) -> Ranks:
        """The places of `n` classes, suppressed rows one of them, compared by the given columns in turn."""
        if not labels:
            return cls(np.zeros(n, np.uint32), np.array([-1]))
        frame = pl.DataFrame({str(i): _comparable(column) for i, column in enumerate(labels)})
        order = content_order(frame)
        sorted_ = frame[order]
        begins = np.ones(len(order), bool)
        begins[1:] = np.logical_or.reduce([(c[1:] != c[:-1]) for c in (s.to_numpy() for s in sorted_)])
        of_class = np.empty(len(order), np.uint32)
        of_class[order] = np.cumsum(begins) - 1
        return cls(of_class, order[begins])

    def sizes(self, n_rows: IntArray) -> IntArray:
        """(n_ranks,) rows of each place, given those of every class."""
        return np.bincount(self.of_class, weights=n_rows, minlength=len(self.classes)).astype(np.int64)


def _comparable(labels: ClassLabels) -> NDArray[np.uint64]:
    """(n_classes + 1,) numbers in the order of the published cells, missing ones first."""
    texts = labels.texts
    if not labels.are_numbers:
        of_text = np.arange(1, len(texts) + 2, dtype=np.uint64)
        of_text[-1] = 0
        return of_text[labels.places]
    values = pl.Series(texts, dtype=pl.String).cast(pl.Float64, strict=False)
    numbers = sortable(values.fill_null(0.0).to_numpy())
    # suppressed rows have a place of their own: no class that shows a missing cell may stand for them
    of_text = np.append(np.where(values.is_null().to_numpy(), np.uint64(2**64 - 1), numbers), np.uint64(0))
    return of_text[labels.places]


class Parts:
    """Rows in parts, each in the order in which it was given; files where all together are too many to be held."""

    def __init__(self, folder: Path, name: str, n_parts: int, most_bytes: int) -> None:
        self.name, self._folder, self._most_bytes = name, folder, most_bytes
        self._held: list[list[pl.DataFrame]] = [[] for _ in range(n_parts)]
        self._files: list[list[Path]] = [[] for _ in range(n_parts)]
        self._n_bytes = 0
        self.n_rows = np.zeros(n_parts, np.int64)

    def __len__(self) -> int:
        return len(self._held)

    def add(self, rows: pl.DataFrame, part: NDArray[np.integer]) -> None:
        """Add rows, given the part of each."""
        counts = np.bincount(part, minlength=len(self))
        number = part.astype(np.min_scalar_type(len(self)))  # small numbers are sorted by counting
        moved = rows if len(self) == 1 else rows[np.argsort(number, kind="stable")]
        begin = 0
        for i, n in enumerate(counts.tolist()):
            if n:
                self._held[i].append(moved.slice(begin, n))
                begin += n
        self.n_rows += counts
        self._n_bytes += int(rows.estimated_size())
        if self._n_bytes > self._most_bytes:
            self._store()

    def _store(self) -> None:
        for i, frames in enumerate(self._held):
            if frames:
                path = self._folder / f"{self.name}-{i}-{len(self._files[i])}.arrow"
                with writing(path):
                    pl.concat(frames).write_ipc(path)
                self._files[i].append(path)
                frames.clear()
        self._n_bytes = 0

    @property
    def are_held(self) -> bool:
        """Whether no part went to a file."""
        return not any(self._files)

    def pieces(self, part: int) -> Iterator[pl.DataFrame]:
        """The rows of one part."""
        for path in self._files[part]:
            yield pl.read_ipc(path)
        yield from self._held[part]

    def forget(self, part: int) -> None:
        """Remove the rows of one part."""
        self._held[part].clear()
        for path in self._files[part]:
            path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, eq=False)
class Ordered:
    """A release in its order: parts of rows, the places of their labels first, and the keys of their originals."""

    keys: KeyFile
    parts: list[pl.DataFrame | Path]

    def frames(self, columns: Sequence[str]) -> Iterator[tuple[pl.DataFrame, NDArray[np.uint32]]]:
        """Some of the cells that are published as they are, and the place of the labels of every row."""
        names = [RANK, *columns]
        for part in self.parts:
            frame = part.select(names) if isinstance(part, pl.DataFrame) else pl.read_ipc(part, columns=names)
            yield frame.select(columns), frame[RANK].to_numpy()


@dataclass(frozen=True, slots=True, eq=False)
class Sorter:
    """Puts rows in the order of their content or, after that, in one that the secret draws.

    Args:
        sizes: rows of every place of labels, from which parts are made that fit memory.
        most_bytes: of a part, while it is sorted; several times as much is taken.
    """

    folder: RunFolder
    sizes: IntArray
    most_bytes: int
    order: Order
    secret: Secret
    count_rows: Callable[[int], None]

    def sort(self, rows: Iterable[pl.DataFrame], columns: Sequence[str], n_words: int) -> Ordered:
        """Rows in their order; those that went to files stay there, so that a killed run need not sort again."""
        path = self.folder.path / "ordered.keys"
        if (about := self.folder.done(PHASE)) is not None:
            keys = KeyFile(path, n_words, int(about["rows"]))
            return Ordered(keys, [self.folder.path / name for name in about["parts"]])
        parts, most_rows = self._dealt(rows)
        frames = self._sorted(parts, most_rows, [RANK, *columns])
        if self.order is Order.RANDOM:
            parts = self._drawn(frames, len(parts))
            frames = self._sorted(parts, most_rows, [WORD, RANK, *columns])
        return self._stored(frames, KeyFile(path, n_words), is_held=parts.are_held)

    def _dealt(self, rows: Iterable[pl.DataFrame]) -> tuple[Parts, int]:
        """Rows in parts of neighbouring labels, and how many rows a part should have at most."""
        parts, most_rows = Parts(self.folder.path, "order", 1, self.most_bytes), 1
        of_rank = np.zeros(len(self.sizes), np.int64)
        for number, frame in enumerate(rows):
            if number == 0:
                most_rows = max(1, int(self.most_bytes * frame.height / max(1, frame.estimated_size())))
                of_rank = _neighbours(self.sizes, min(most_rows, max(QUICK_ROWS, int(self.sizes.sum()) // MOST_PARTS)))
                parts = Parts(self.folder.path, "order", int(of_rank.max(initial=0)) + 1, self.most_bytes)
            parts.add(frame, of_rank[frame[RANK].to_numpy()])
            self.count_rows(frame.height)
        return parts, most_rows

    def _drawn(self, frames: Iterable[pl.DataFrame], n_parts: int) -> Parts:
        """Sorted rows with the words that the secret draws for them, in parts of neighbouring words."""
        parts, key = Parts(self.folder.path, "drawn", n_parts, self.most_bytes), self.secret.derived("order")
        words, at, block = np.zeros(0, np.uint64), 0, 0
        for frame in frames:
            while len(words) - at < frame.height:
                words, at, block = np.concatenate([words[at:], drawn_words(key, block)]), 0, block + 1
            drawn = words[at : at + frame.height]
            at += frame.height
            place = (drawn >> np.uint64(32)) * np.uint64(n_parts) >> np.uint64(32)
            parts.add(frame.with_columns(pl.Series(WORD, drawn)), place.astype(np.int64))
        return parts

    def _sorted(self, parts: Parts, most_rows: int, by: list[str]) -> Iterator[pl.DataFrame]:
        """All rows in their order, a part at a time."""
        for i in range(len(parts)):
            yield from self._part_sorted(parts, i, most_rows, by)
            parts.forget(i)

    def _part_sorted(self, parts: Parts, part: int, most_rows: int, by: list[str]) -> Iterator[pl.DataFrame]:
        n_rows = int(parts.n_rows[part])
        if not by:  # equal rows, however many
            yield from parts.pieces(part)
        elif n_rows <= 2 * most_rows:
            frames = list(parts.pieces(part))
            if frames:
                frame = pl.concat(frames)
                del frames
                yield frame[content_order(frame.select(by))]
        else:
            yield from self._split(parts, part, most_rows, by)

    def _split(self, parts: Parts, part: int, most_rows: int, by: list[str]) -> Iterator[pl.DataFrame]:
        """A part that is too large, cut at values of a column; rows that agree on one are compared by the next."""
        cuts = _cuts(parts.pieces(part), by[0], int(parts.n_rows[part]), most_rows)
        smaller = Parts(self.folder.path, f"{parts.name}-{part}", 2 * len(cuts) + 2, self.most_bytes)
        for piece in parts.pieces(part):
            smaller.add(piece, _between(_key(piece[by[0]]), cuts))
        for i in range(len(smaller)):
            agree = i % 2 == 0  # all missing, or equal to a cut
            yield from self._part_sorted(smaller, i, most_rows, by[1:] if agree else by)
            smaller.forget(i)

    def _stored(self, frames: Iterable[pl.DataFrame], keys: KeyFile, *, is_held: bool) -> Ordered:
        ordered = Ordered(keys, [])
        words = [f"{KEY}{i}" for i in range(keys.n_words)]
        for number, frame in enumerate(frames):
            keys.append(np.stack([frame[w].to_numpy() for w in words]))
            cells = frame.drop(*words, WORD, strict=False)
            self.count_rows(frame.height)
            if is_held:
                ordered.parts.append(cells)
                continue
            file = self.folder.path / f"ordered-{number}.arrow"
            with writing(file):
                cells.write_ipc(file)
            ordered.parts.append(file)
        if not is_held:
            names = [part.name for part in ordered.parts if isinstance(part, Path)]
            self.folder.finish(PHASE, rows=keys.n_rows, parts=names)
        return ordered


def _neighbours(sizes: IntArray, most_rows: int) -> IntArray:
    """The part of every place of labels: as many neighbouring ones as fit, a large one alone."""
    before = np.cumsum(sizes) - sizes
    part = before // most_rows
    dense: IntArray = np.unique(part, return_inverse=True)[1].astype(np.int64)
    return dense


def _cuts(pieces: Iterator[pl.DataFrame], column: str, n_rows: int, most_rows: int) -> pl.Series:
    """Values of a column, ascending, between which there are about as many rows as fit, judged on a sample."""
    step = max(1, n_rows // SAMPLE)
    sample = pl.concat([_key(piece[column].gather_every(step)) for piece in pieces]).drop_nulls().sort()
    n_cuts = min(len(sample), 1 + n_rows // most_rows)
    places = np.linspace(0, len(sample) - 1, n_cuts + 2)[1:-1].astype(np.int64) if n_cuts else np.zeros(0, np.int64)
    return sample.gather(places).unique(maintain_order=True)


def _key(series: pl.Series) -> pl.Series:
    """Cells that compare as they are sorted."""
    if series.dtype == pl.Boolean:
        return series.cast(pl.UInt8)
    if not series.dtype.is_float():
        return series
    numbers = pl.Series(series.name, sortable(series.fill_null(0.0).to_numpy()))
    return numbers.to_frame().select(pl.when(pl.Series(series.is_not_null())).then(series.name)).to_series()


def _between(keys: pl.Series, cuts: pl.Series) -> IntArray:
    """0 where a cell is missing; 1, 3, .. between two cuts, and 2, 4, .. at one."""
    place = np.ones(len(keys), np.int64)
    if len(cuts):
        present = keys.fill_null(cuts[0])
        for side in ("left", "right"):
            place += cuts.search_sorted(present, side=side).to_numpy()
    return np.where(keys.is_null().to_numpy(), 0, place)
