"""`-` as a file name: stdin and stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tablecloak.cli.output import emit_bytes
from tablecloak.io.places import Place, place_of
from tablecloak.io.private import PrivateFolder, spooled

STREAM = "-"


@contextmanager
def readable(named: str | None, *, suffix: str = ".csv") -> Iterator[Place | None]:
    """The place that was named, or for `-` a private temporary file with what stdin holds."""
    if named != STREAM:
        yield None if named is None else place_of(named)
        return
    with spooled(sys.stdin.buffer, name=f"stdin{suffix}") as copy:
        yield copy


@contextmanager
def writable(named: str | None, *, suffix: str = ".csv") -> Iterator[str | None]:
    """What was named, or for `-` a private temporary file that goes to stdout when the work is done."""
    if named != STREAM:
        yield named
        return
    with PrivateFolder.temporary() as folder:
        copy = folder / f"stdout{suffix}"
        yield str(copy)
        with copy.open("rb") as source:
            emit_bytes(iter(lambda: source.read(1 << 20), b""))
