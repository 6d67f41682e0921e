"""What a run reads survives it: no output goes over an input, whatever it is called and whatever the flags are."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path, PurePath

from tablecloak.errors import PolicyError
from tablecloak.io.parts import is_many, parts_of, root_of
from tablecloak.io.places import DatabaseTable, Place

__all__ = ["files_behind", "password_file", "refuse_over_inputs"]

HINT = "name another output; --force does not replace what a run reads"
_SQLITE_FILES = ("", "-wal", "-shm", "-journal")


def refuse_over_inputs(target: Path, reads: Iterable[Place]) -> None:
    """Refuse an output that is one of the files a run reads, holds one of them, or lies in a folder that is read.

    Raises: PolicyError, which says how the two are related.
    """
    for place in reads:
        relation = _relation(target, place)
        if relation is not None:
            raise PolicyError(f"the output {relation}", hint=HINT, location=str(target))


def _relation(target: Path, place: Place) -> str | None:
    """How an output would harm an input; None: not at all."""
    for file in files_behind(place):
        if _is_same(target, file):
            return "is a file that the run reads"
        if any(_is_same(target, folder) for folder in _folders_above(file)):
            return "is a folder that holds a file the run reads"
    if isinstance(place, Path) and _would_be_read(target, place):
        return "lies where the run reads all files: the next run would read the release, too"
    return None


def files_behind(place: Place) -> list[Path]:
    """The files that a place consists of, and those that say how to reach it."""
    if isinstance(place, DatabaseTable):
        own = [Path(f"{place.file}{end}") for end in _SQLITE_FILES] if place.scheme == "sqlite" else []
        password = password_file(place)
        return own if password is None else [*own, password]
    if not is_many(place):
        return [place]
    return [part.path for part in parts_of(place)]


def password_file(place: Place | None) -> Path | None:
    """The file that holds the password of a database, if that is where it is."""
    if not isinstance(place, DatabaseTable) or not (place.password or "").startswith("file:"):
        return None
    return (place.base / str(place.password)[5:]).expanduser()


def _would_be_read(target: Path, place: Path) -> bool:
    if not is_many(place):
        return False
    if place.is_dir() or "**" in place.parts:
        folder = root_of(place)
        return _is_same(target, folder) or any(_is_same(above, folder) for above in _folders_above(target))
    return PurePath(os.path.realpath(target)).match(os.path.realpath(place))


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file: by name, through links of both kinds, in whatever case."""
    with contextlib.suppress(OSError):
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


def _folders_above(path: Path) -> Iterable[Path]:
    return Path(os.path.realpath(path)).parents
