"""Where compiled kernels are kept: a folder for every version of them, and none for long that nobody uses.

numba notices a change in the file of a kernel, but not in the files of kernels that it calls. A folder is therefore
named by the text of all of them: another version of any kernel never finds it, and every copy of this one does.

Wheels bring compiled kernels along (`make wheel`). They are copied to the folder of the version, where others join
them: a package that cannot be written is no hindrance. Neither is a home that cannot be written, as in containers: then
kernels are kept under the folder for temporary files, for all processes of a user, with those that came along.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType

OLD_DAYS = 30  # without use, after which the kernels of another version are removed
DAY = 86_400  # seconds
BROUGHT = Path(__file__).parent / "compiled"  # what a wheel brings along
ABOUT = ("kept", "loading", "compiling")  # modules here that have no kernels
# Instructions that x86-64-v3 has beyond the first of its kind, as LLVM calls them.
V3 = frozenset({"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2"})


@dataclass(frozen=True, slots=True)
class KernelFolder:
    """The compiled kernels of one version."""

    path: Path
    is_current: bool
    n_files: int
    n_bytes: int
    unused_days: float

    @classmethod
    def at(cls, path: Path) -> KernelFolder:
        files = [file.stat() for file in path.rglob("*.nb*") if file.is_file()]
        unused_days = (time.time() - path.stat().st_mtime) / DAY
        return cls(path, path == current(), len(files), sum(file.st_size for file in files), unused_days)


def home() -> Path:
    """Where all versions are kept."""
    named = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(named or Path.home() / ".cache") / "tablecloak"  # in a folder of our own: old versions are deleted
    except RuntimeError:  # a user without a home, as containers have: nothing can be written there
        return Path(os.devnull) / "tablecloak"


@cache
def version() -> str:
    """A name for the text of all kernels."""
    paths = [path for path in sorted(Path(__file__).parent.glob("*.py")) if path.stem not in ABOUT]
    sources = b"".join(path.read_bytes() for path in paths)
    return hashlib.sha256(sources).hexdigest()[:16]


def current() -> Path:
    """The folder of this version."""
    return home() / f"kernels-{version()}"


def processor() -> str:
    """What kernels are compiled for: a kind of processor that many machines share, so that they can share kernels."""
    from llvmlite import binding

    if not binding.get_process_triple().startswith("x86_64"):
        return "generic"
    has = binding.get_host_cpu_features()
    return "x86-64-v3" if all(has.get(name) for name in V3) else "x86-64"


def versions() -> list[KernelFolder]:
    """What is kept, this version first."""
    folders = [KernelFolder.at(path) for path in home().glob("kernels-*") if path.is_dir() and not path.is_symlink()]
    return sorted(folders, key=lambda folder: (not folder.is_current, folder.unused_days))


def use() -> Path:
    """The folder of this version, marked as used now; other versions that nobody used for long are removed.

    Where it cannot be written it is one among temporary files.
    """
    folder = current()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)
    except OSError:
        folder = _temporary()
    with suppress(OSError):  # a full disk: what is missing is compiled
        _unpack(folder)
        remove(each for each in versions() if each.unused_days > OLD_DAYS and not each.is_current)
    return folder


def _temporary() -> Path:
    """A folder that nobody but this user can write, shared by their processes; or one of this process."""
    try:
        own = Path(tempfile.gettempdir()) / f"tablecloak-{os.getuid()}"
        own.mkdir(mode=0o700, exist_ok=True)
        about = own.lstat()
        # whoever writes to it decides what is run
        if stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and not about.st_mode & 0o077:
            folder = own / current().name
            folder.mkdir(exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            return folder
    except (AttributeError, OSError):  # another system, or a folder of somebody else
        pass
    folder = Path(tempfile.mkdtemp(prefix="tablecloak-kernels-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _unpack(folder: Path) -> None:
    """Copy kernels from where they cannot be written, but for those that are there: what a wheel brought, and the home.

    The index of a kernel comes after its code.
    """
    for brought in (BROUGHT / f"kernels-{version()}", current()):
        if brought == folder or not brought.is_dir():
            continue
        there = {path.name for path in folder.iterdir()}
        indexes = [path for path in sorted(brought.glob("*.nbi")) if path.name not in there]
        for index in indexes:
            for path in [*brought.glob(f"{index.stem}.*.nbc"), index]:
                partial = folder / f"{path.name}.{os.getpid()}"
                shutil.copyfile(path, partial)
                partial.replace(folder / path.name)


class KernelLocator:
    """Tells numba where a kernel is kept, wherever its source lies (see the locators of `numba.core.caching`)."""

    folder: Path | None = None  # of this process

    def __init__(self, line: int) -> None:
        self._line = line

    @classmethod
    def from_function(cls, function: FunctionType, _source: str) -> KernelLocator:
        cls.folder = cls.folder or use()
        return cls(function.__code__.co_firstlineno)

    def ensure_cache_path(self) -> None:
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(self.folder)

    def get_source_stamp(self) -> str:
        return version()

    def get_disambiguator(self) -> str:
        return str(self._line)


def remove(folders: Iterable[KernelFolder]) -> None:
    """Delete compiled kernels; they are compiled again when they are needed."""
    for folder in folders:
        shutil.rmtree(folder.path, ignore_errors=True)
