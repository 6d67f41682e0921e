"""`-` as a file name: stdin and stdout."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tablecloak.cli.output import emit_bytes

__all__ = ["STREAM", "readable", "writable"]

STREAM = Path("-")


@contextmanager
def readable(path: Path | None, *, suffix: str = ".csv") -> Iterator[Path | None]:
    """The path, or for `-` a private temporary file with what stdin holds."""
    if path != STREAM:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="tablecloak-") as folder:
        copy = Path(folder) / f"stdin{suffix}"
        with copy.open("wb") as target:
            shutil.copyfileobj(sys.stdin.buffer, target)
        yield copy


@contextmanager
def writable(path: Path | None, *, suffix: str = ".csv") -> Iterator[Path | None]:
    """The path, or for `-` a private temporary file that goes to stdout when the work is done."""
    if path != STREAM:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="tablecloak-") as folder:
        copy = Path(folder) / f"stdout{suffix}"
        yield copy
        with copy.open("rb") as source:
            emit_bytes(iter(lambda: source.read(1 << 20), b""))
