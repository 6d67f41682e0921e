"""Files, folders and tables of databases appear complete or not at all, and take the place of nothing unasked.

What a run reads survives it: no output goes over an input, whatever it is called and whatever the flags are.

Each output is made in a private folder beside its target, which is also what tells two runs to one target apart.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath

import polars as pl

from tablecloak.errors import DataError, EngineError, PolicyError
from tablecloak.io.database import Transaction, open_session
from tablecloak.io.parts import is_many, parts_of, root_of
from tablecloak.io.places import DatabaseTable, Place, password_file
from tablecloak.io.private import FolderInUse, PrivateFolder, unfinished, usual_permissions, usual_umask

PARTIAL = ".partial"
LONGEST_NAME = 255  # bytes, on all file systems in use
SYSTEM = ("/dev/fd", "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/proc", "/sys")  # links among them
FORCE = "use --force to replace it, or another name"
OVER_INPUT_HINT = "name another output; --force does not replace what a run reads"
_SQLITE_FILES = ("", "-wal", "-shm", "-journal")
_part_name = re.compile(r"part-\d{5,}\.\w+").fullmatch


@dataclass(slots=True, eq=False)
class _Output:
    """One file or folder that is being made."""

    target: Path
    partial: Path
    folder: PrivateFolder
    is_ours: Callable[[Path], bool] | None  # of a folder: what in it may be replaced
    is_private: bool = False  # for its owner only, also when it is finished
    is_placed: bool = False
    replaced: Path | None = None  # where that lies which it took the place of


def _is_part(file: Path) -> bool:
    """Whether a file is called as those of a release in several files are."""
    return _part_name(file.name) is not None


class Outputs:
    """Several outputs that appear together or not at all.

    Guarantee: no target is touched before `commit`; `discard` leaves the directory as it was. Nothing that the run
    reads is written over, with or without `force`; nothing that exists, or comes to exist meanwhile, without it.

    Args:
        reads: files, folders, patterns and tables that the run reads; None among them is nothing.
    """

    def __init__(self, *, reads: Iterable[Place | None], force: bool = False) -> None:
        self.force = force
        self._reads = [place for place in reads if place is not None]
        self._outputs: list[_Output] = []
        self._sessions: list[Transaction] = []  # open transactions of databases
        unfinished.add(self)

    def add_place(self, place: Place, *, is_folder: bool = False) -> Place:
        """Reserve a target of any kind and return the temporary place to write to."""
        if isinstance(place, DatabaseTable):
            if place.scheme == "sqlite":
                refuse_over_inputs(place.file, [read for read in self._reads if isinstance(read, Path)])
            tables = [read for read in self._reads if isinstance(read, DatabaseTable)]
            partial, session = open_session(place, force=self.force, reads=tables)
            self._sessions.append(session)
            return partial
        return self.add_folder(place) if is_folder else self.add(place)

    def add_folder(self, path: Path, *, is_ours: Callable[[Path], bool] = _is_part, is_private: bool = False) -> Path:
        """Reserve a folder and return the temporary one, which exists and is empty.

        Args:
            is_ours: whether a file may go when the folder that it lies in is replaced.
            is_private: the folder is for its owner only, also when it is finished.
        """
        partial = self._reserve(path, is_ours, is_private=is_private)
        partial.mkdir()
        return partial

    def add(self, path: Path, *, is_private: bool = False) -> Path:
        """Reserve a target and return the temporary name to write to, which is that of the target in another folder.

        Args:
            is_private: the file is for its owner only, also when it is finished.
        """
        return self._reserve(Path(path), is_private=is_private)

    def _reserve(self, path: Path, is_ours: Callable[[Path], bool] | None = None, *, is_private: bool) -> Path:
        try:
            self._check(path, is_ours)
            _make_parent(path)
            with writing(path):
                folder = PrivateFolder.take(_partial_folder(path))
        except BaseException as exc:
            self.discard()
            if isinstance(exc, FileNotFoundError):
                raise _no_directory(path) from exc
            if isinstance(exc, FolderInUse):
                hint = "wait for it, or name another output"
                raise PolicyError("another run is writing this output", hint=hint, location=str(path)) from None
            raise
        self._outputs.append(_Output(path, folder.path / path.name, folder, is_ours, is_private))
        return self._outputs[-1].partial

    def _check(self, path: Path, is_ours: Callable[[Path], bool] | None) -> None:
        """Refuse a target that must not be written, or not now."""
        exists = _mode(path) is not None
        refuse_over_inputs(path, self._reads)
        _refuse_to_replace(path, is_ours)
        if exists and not self.force:
            raise PolicyError("the output exists already", hint=FORCE, location=str(path))
        for other in self._outputs:
            if _real(path) == _real(other.target):
                raise PolicyError(
                    "two outputs have the same path", hint="give each output its own name", location=str(path)
                )
            if _real(other.target) in _real(path).parents or _real(path) in _real(other.target).parents:
                raise PolicyError(
                    "an output lies in another one", hint="write it beside that folder", location=str(path)
                )

    def commit(self) -> None:
        """Flush every file to disk, then put them in place."""
        try:
            for output in self._outputs:
                with writing(output.target):
                    _sync(output.partial)
                    _give_permissions(output.partial, is_private=output.is_private)
            for output in self._outputs:
                if self.force:  # what lies there may have changed meanwhile
                    refuse_over_inputs(output.target, self._reads)
                    _refuse_to_replace(output.target, output.is_ours)
                with writing(output.target):
                    _put(output, force=self.force)
            for session in self._sessions:
                session.commit()
        except BaseException:
            self.discard()
            raise
        for output in self._outputs:
            output.folder.discard()
        self._outputs.clear()
        self._sessions.clear()

    def discard(self) -> None:
        """Remove whatever was written, and put back what it took the place of."""
        for session in self._sessions:
            session.discard()
        self._sessions.clear()
        for output in self._outputs:
            with contextlib.suppress(OSError):
                _take_back(output)
            output.folder.discard()
        self._outputs.clear()

    def __enter__(self) -> Outputs:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.commit()
        else:
            self.discard()


def home_of(path: Path) -> Path:
    """The folder that a file lies in, or will lie in once it is put in place."""
    folder = path.parent
    is_partial = folder.name.startswith(".") and folder.name.endswith(PARTIAL)
    return folder.parent if is_partial else folder


def _partial_folder(path: Path) -> Path:
    """The folder beside a target that it is made in; the same for all who make it."""
    name = f".{path.name}{PARTIAL}"
    if len(os.fsencode(name)) > LONGEST_NAME:
        name = f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:32]}{PARTIAL}"
    return path.with_name(name)


def _mode(path: Path) -> int | None:
    """What kind of file is there, None: none; a link counts as what it leads to, or as itself if that is missing.

    Raises: PolicyError for what cannot be the name of a file.
    """
    try:
        status = path.lstat()
        with contextlib.suppress(OSError):
            status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it holds a NUL character"
        shown = str(path).replace("\0", "\\0")[:LONGEST_NAME]
        raise PolicyError(
            f"this cannot be the name of an output: {reason}", hint="name a file", location=shown
        ) from None
    return status.st_mode


def _refuse_to_replace(path: Path, is_ours: Callable[[Path], bool] | None) -> None:
    """Refuse what not even `force` replaces: devices, folders by files, and folders with things that are not ours."""
    mode = _mode(path)
    is_folder = path.name in ("", "..") or (mode is not None and stat.S_ISDIR(mode))
    if is_folder and is_ours is None:
        raise PolicyError("the output is a directory", hint="name a file in it", location=str(path))
    is_file = mode is None or stat.S_ISREG(mode) or stat.S_ISLNK(mode)
    if not (is_folder or is_file) or any(_real(path).is_relative_to(place) for place in SYSTEM):
        hint = "name a file; --output - writes to stdout, --dry-run writes nothing"
        raise PolicyError("the output is a device, a pipe or a socket", hint=hint, location=str(path))
    if is_folder and is_ours and not all(file.is_file() and is_ours(file) for file in path.iterdir()):
        raise PolicyError(
            "the output is a folder with other things in it", hint="name a new folder", location=str(path)
        )


def _real(path: Path) -> Path:
    """The path with every link in its folders followed, but not itself: an output takes the place of a link."""
    return Path(os.path.realpath(path.parent)) / path.name


@contextmanager
def replace_when_done(path: Path, *, reads: Iterable[Place | None], force: bool) -> Iterator[Path]:
    """Yield a temporary name beside `path`; put it in place on success, remove it on any exception."""
    with Outputs(reads=reads, force=force) as outputs:
        yield outputs.add(path)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say in plain words why a file cannot be written, for instance because the disk is full."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, pl.exceptions.ComputeError) as exc:
        reason = _reason(exc)
        if reason is None:
            raise
        hint = "free some space or choose another place; nothing was left behind"
        raise EngineError(f"the file could not be written: {reason}", hint=hint, location=str(home_of(path))) from exc


def _reason(exc: BaseException) -> str | None:
    """What the operating system said; polars only quotes its number."""
    if isinstance(exc, OSError) and exc.strerror:
        return exc.strerror
    number = re.search(r"\(os error (\d+)\)", str(exc))
    if number:
        return os.strerror(int(number[1]))
    is_broken_off = isinstance(exc, OSError) or "transport error" in str(exc)  # polars, in the footer of Parquet
    return "the disk took only a part of it" if is_broken_off else None


def _make_parent(path: Path) -> None:
    try:
        with usual_permissions():
            path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise _no_directory(path) from exc


def _no_directory(path: Path) -> DataError:
    return DataError(
        "cannot create the output directory", hint="check the path and its permissions", location=str(path.parent)
    )


# Putting in place --------------------------------------------------------------------------------------------------


def _put(output: _Output, *, force: bool) -> None:
    """Give a file or folder its name; without `force`, only if nobody has taken it."""
    target, partial = output.target, output.partial
    if force and _mode(target) is not None:
        aside = output.folder.path / "replaced"
        if partial.is_dir() or target.is_dir() or not _linked(target, aside):
            target.rename(aside)
        output.replaced = aside
        partial.replace(target)
        output.is_placed = True
        return
    try:
        _put_unless_there(partial, target)
    except FileExistsError:
        hint = "look whose it is; use --force to replace it, or another name"
        raise PolicyError("the output appeared while it was being made", hint=hint, location=str(target)) from None
    output.is_placed = True


def _put_unless_there(partial: Path, target: Path) -> None:
    """Rename, but never over anything: FileExistsError."""
    if partial.is_dir():
        target.mkdir()  # only one can; an empty folder may then be renamed over
        partial.replace(target)
        return
    if _linked(partial, target):
        partial.unlink()
        return
    os.close(os.open(target, os.O_CREAT | os.O_EXCL, 0o600))  # a file system without links
    partial.replace(target)


def _linked(file: Path, name: Path) -> bool:
    """Give a file a second name; False where the file system has only one for each."""
    try:
        os.link(file, name, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        return False
    return True


def _take_back(output: _Output) -> None:
    """Undo what `_put` did, as far as it came."""
    if output.is_placed and output.replaced is None:
        _remove(output.target)
    if output.replaced is not None:
        if output.replaced.is_dir():
            _remove(output.target)
        output.replaced.replace(output.target)


def _remove(path: Path) -> None:
    """Remove a file or a folder with all in it, as far as that can be done."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _give_permissions(path: Path, *, is_private: bool) -> None:
    """What the user allows for new files, or nothing for others."""
    hidden = 0o077 if is_private else usual_umask()
    for entry in [path, *path.rglob("*")] if path.is_dir() else [path]:
        entry.chmod((0o777 if entry.is_dir() else 0o666) & ~hidden)


def _sync(path: Path) -> None:
    """Flush a file, or all in a folder, to disk, so that a crash after the rename cannot leave it short."""
    if path.is_dir():
        for file in path.rglob("*"):
            if file.is_file():
                _sync(file)
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# Inputs survive ------------------------------------------------------------------------------------------------------


def refuse_over_inputs(target: Path, reads: Iterable[Place]) -> None:
    """Refuse an output that is one of the files a run reads, holds one of them, or lies in a folder that is read.

    Raises: PolicyError, which says how the two are related.
    """
    for place in reads:
        relation = _relation(target, place)
        if relation is not None:
            raise PolicyError(f"the output {relation}", hint=OVER_INPUT_HINT, location=str(target))


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
