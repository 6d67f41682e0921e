"""Files of text shared out among workers: large ones by blocks of whole records, and how many rows each block has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tablecloak.engines.spark import rows as shared
from tablecloak.engines.spark.finished_phases import Phases
from tablecloak.engines.spark.rows import FileRows, Guarded, Slice, batches_of, file_parts, frame_of
from tablecloak.engines.spark.session import explained
from tablecloak.io.parts import Part, files_of
from tablecloak.io.record_blocks import (
    Block,
    Punctuation,
    Stretch,
    look_at,
    punctuation_of,
    record_blocks,
    stretches,
)
from tablecloak.io.sniff import sniff_file
from tablecloak.io.sources import Layout, Source

LOOKED = "number int, n_quotes bigint, outside bigint, inside bigint, outside_sound boolean, inside_sound boolean"


@dataclass(frozen=True, slots=True)
class LookTask:
    """What is seen of stretches of files, which batches hold the numbers of."""

    stretches: tuple[tuple[Path, Block, Punctuation], ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                seen = look_at(*self.stretches[number])
                told = (number, seen.n_quotes, *seen.first, *seen.is_sound)
                columns = [column.split()[0] for column in LOOKED.split(", ")]
                frame = pl.DataFrame([told], schema=columns, orient="row").cast({"number": pl.Int32})
                yield from batches_of(frame)


@dataclass(frozen=True, slots=True)
class LengthTask:
    """How many rows slices have: (slice, n)."""

    rows: FileRows

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                n = self.rows.read(self.rows.slices[number], self.rows.layout.names[:1]).height
                yield from batches_of(pl.DataFrame({"slice": [number], "n": [n]}))


def text_slices(session: Any, source: Source, layout: Layout, phases: Phases) -> tuple[tuple[Slice, ...], int]:
    """What workers read at once of files of text, and the number of rows."""
    folder, parts = phases.folder, file_parts(source)

    def found() -> dict[str, Any]:
        slices = [Slice(parts[part], 0, block=block) for part, block in _blocks(session, source, parts)]
        rows = FileRows(source, layout, tuple(slices))
        return {
            "slices": [(parts.index(one.part), one.block) for one in slices],
            "rows": _lengths(session, rows),
        }

    is_input = folder is not None and folder.reads(files_of(source))
    facts = phases.facts("slices", found, is_input=is_input)
    begins = np.cumsum([0, *facts["rows"]]).tolist()
    slices = [
        Slice(parts[part], begin, block=block and tuple(block))
        for (part, block), begin in zip(facts["slices"], begins, strict=False)
    ]
    return tuple(slices), begins[-1]


def _blocks(session: Any, source: Source, parts: Sequence[Part]) -> list[tuple[int, Block | None]]:
    """The number of a file and a block of it, file after file; None: the whole file."""
    pieces: list[tuple[int, Block, Punctuation]] = []
    for number, part in enumerate(parts):
        n_bytes = part.path.stat().st_size
        if n_bytes > shared.BLOCK_BYTES:
            file = replace(source, path=part.path)
            if punctuation := punctuation_of(file, sniff_file(file)):
                pieces += [(number, stretch, punctuation) for stretch in stretches(n_bytes, shared.BLOCK_BYTES)]
    looked = _looked(session, source, [(parts[number].path, stretch, marks) for number, stretch, marks in pieces])
    blocks: list[tuple[int, Block | None]] = []
    for number in range(len(parts)):
        own = [i for i, piece in enumerate(pieces) if piece[0] == number]
        if own:
            n_bytes = pieces[own[-1]][1][1]
            blocks += [(number, block) for block in record_blocks([looked[i] for i in own], n_bytes)]
        else:
            blocks.append((number, None))
    return blocks


def _looked(session: Any, source: Source, pieces: Sequence[tuple[Path, Block, Punctuation]]) -> list[Stretch]:
    """What workers see of stretches of files."""
    if not pieces:
        return []
    with explained("looking for records", source.location):
        numbers = session.range(0, len(pieces), 1, len(pieces))
        seen = frame_of(numbers.mapInArrow(Guarded(LookTask(tuple(pieces))), LOOKED).toArrow())
    return [
        Stretch(n_quotes, (outside, inside), (sound, sound_inside))
        for _, n_quotes, outside, inside, sound, sound_inside in seen.sort("number").iter_rows()
    ]


def _lengths(session: Any, rows: FileRows) -> list[int]:
    """How many rows every slice has."""
    with explained("counting rows", rows.source.location):
        numbers = session.range(0, len(rows.slices), 1, len(rows.slices))
        counted = frame_of(numbers.mapInArrow(Guarded(LengthTask(rows)), "slice bigint, n bigint").toArrow())
    return counted.sort("slice")["n"].to_list()
