"""Tables that a worker reads: the last ones are remembered, and errors name files without their folders."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import polars as pl

from tablecloak.data.table import ColumnType
from tablecloak.errors import CloakError
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, require_rows
from tablecloak.server.large import is_large, sample_of

__all__ = ["frame_of", "looked_at", "nameless"]

REMEMBERED = 2
_frames: OrderedDict[tuple[str, float], pl.DataFrame] = OrderedDict()


def frame_of(source: Source) -> pl.DataFrame:
    """The table of a source, text as categories; the last two are remembered by this process."""
    key = (repr(source), source.path.stat().st_mtime if source.path.exists() else 0.0)
    if key in _frames:
        _frames.move_to_end(key)
        return _frames[key]
    text = [c.name for c in sniff(source).columns if c.type is ColumnType.TEXT]
    _frames[key] = require_rows(read_frame(source, categorical=text), source.path)
    while len(_frames) > REMEMBERED:
        _frames.popitem(last=False)
    return _frames[key]


def looked_at(source: Source, arguments: Mapping[str, Any]) -> tuple[pl.DataFrame, int]:
    """A table, or a sample of one that is large for the memory, and how many records it has."""
    if not is_large(source, arguments):
        frame = frame_of(source)
        return frame, frame.height
    frame, n_rows = sample_of(source)
    require_rows(frame, source.path)
    return frame.with_columns(pl.col(pl.String).cast(pl.Categorical)), n_rows


def nameless(error: CloakError, source: Source) -> CloakError:
    """The error with the name of the file only: where it lies is nobody's business."""
    if error.location:
        error.location = error.location.replace(str(source.path), source.path.name)
    return error
