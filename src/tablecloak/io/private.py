"""Private folders: for their owner only, and removed by whoever comes next if their process was killed.

What is temporary lies in such a folder from its first byte, whichever library writes it and whatever the umask is.
Whoever ends the process without unwinding its stack discards what is unfinished.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

LOCK = ".lock"
PREFIX = "tablecloak-"
_usual_umask: int | None = None  # what outputs get, where `keep_private` took it from all other files


class Unfinished(Protocol):
    """Work on disk that nobody should find: temporary files, spill directories."""

    def discard(self) -> None:
        """Remove it; a second call does nothing."""


unfinished: weakref.WeakSet[Unfinished] = weakref.WeakSet()


def discard_unfinished() -> None:
    """Remove all unfinished work of this process."""
    for work in list(unfinished):
        work.discard()


class FolderInUse(Exception):  # noqa: N818 - a fact, not a fault
    """Another process works in the folder."""


class PrivateFolder:
    """A folder that one process works in, held by a lock that the system takes back however the process ends."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor
        _held.add(self)
        unfinished.add(self)

    @classmethod
    def take(cls, path: Path, *, keep: bool = False) -> PrivateFolder:
        """The folder of this name, which exists then; what a killed process left in it is removed.

        Args:
            keep: leave what is in it, for a run that goes on where another stopped.

        Raises: FolderInUse, OSError.
        """
        while True:
            try:
                path.mkdir(mode=0o700)
            except FileExistsError:
                _require_own(path)
            try:
                descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            except FileNotFoundError:  # its holder has just ended and removed it
                continue
            if not _lock(descriptor):
                os.close(descriptor)
                raise FolderInUse
            if _is_at(descriptor, path / LOCK):
                break
            os.close(descriptor)  # the file that we locked was removed meanwhile
        if not keep:
            _empty(path)
        return cls(path, descriptor)

    @classmethod
    def temporary(cls, prefix: str = PREFIX, beside: Path | None = None) -> PrivateFolder:
        """A new folder where temporary files belong, or in another place; abandoned ones there are removed."""
        place = Path(tempfile.gettempdir()) if beside is None else beside
        remove_abandoned(place)
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        # locked before it has its name, so that nobody finds it without a holder
        descriptor, unnamed = tempfile.mkstemp(dir=path)
        _lock(descriptor)
        Path(unnamed).rename(path / LOCK)
        return cls(path, descriptor)

    def discard(self) -> None:
        """Remove the folder with all in it; a second call does nothing."""
        if self._descriptor is None:
            return
        _empty(self.path)
        # the lock goes last: until then, nobody else begins to work here
        with contextlib.suppress(OSError):
            (self.path / LOCK).unlink()
            self.path.rmdir()
        self.release()

    def release(self) -> None:
        """Let others have the folder, with what is in it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        _held.discard(self)
        unfinished.discard(self)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.discard()


_held: set[PrivateFolder] = set()  # a lock ends with its last reference, so these stay


def remove_abandoned(place: Path | None = None) -> None:
    """Remove temporary folders of ours that no process holds any more."""
    place = Path(tempfile.gettempdir()) if place is None else place
    with contextlib.suppress(OSError):
        for entry in place.iterdir():
            if entry.name.startswith(PREFIX):
                _remove_if_abandoned(entry)


def _remove_if_abandoned(folder: Path) -> None:
    with contextlib.suppress(OSError):
        _require_own(folder)
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
        try:
            if _lock(descriptor) and _is_at(descriptor, folder / LOCK):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(descriptor)


def _require_own(path: Path) -> None:
    """Refuse a folder that somebody else put there, and make ours private if it was not."""
    status = path.lstat()
    if not path.is_dir() or path.is_symlink() or status.st_uid != os.geteuid():
        raise PermissionError(1, "a file or folder of somebody else has the name of a temporary one", str(path))
    if status.st_mode & 0o077:
        path.chmod(0o700)


def _lock(descriptor: int) -> bool:
    """Whether the lock is ours now; where a file system knows no locks, it always is."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def _empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for entry in folder.iterdir():
            if entry.name == LOCK:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    entry.unlink()


@contextmanager
def spooled(stream: IO[bytes], *, name: str) -> Iterator[Path]:
    """What a stream holds as a private file, for as long as the work takes: tables are read more than once."""
    with PrivateFolder.temporary() as folder:
        copy = folder / name
        with copy.open("wb") as file:
            shutil.copyfileobj(stream, file)
        yield copy


# Permissions -------------------------------------------------------------------------------------------------------


def keep_private() -> None:
    """From now on, files that this process and its children make are for their owner; only outputs are as usual."""
    global _usual_umask  # noqa: PLW0603 - a umask belongs to the process, too
    before = os.umask(0o077)
    if _usual_umask is None:
        _usual_umask = before


def usual_umask() -> int:
    """The umask that outputs follow: that of the user."""
    if _usual_umask is not None:
        return _usual_umask
    current = os.umask(0o077)  # it can only be read by setting it
    os.umask(current)
    return current


@contextmanager
def usual_permissions() -> Iterator[None]:
    """Make folders and files for whom the user allows, as outputs are."""
    before = os.umask(usual_umask())
    try:
        yield
    finally:
        os.umask(before)
