"""Where compiled kernels are kept: a folder for every version of them, and none for long that nobody uses.

numba notices a change in the file of a kernel, but not in the files of kernels that it calls. A folder is therefore
named by the text of all of them: another version of any kernel never finds it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

OLD_DAYS = 30  # without use, after which the kernels of another version are removed
DAY = 86_400  # seconds


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
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tablecloak"


def current() -> Path:
    """The folder of this version."""
    sources = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return home() / f"kernels-{hashlib.sha256(sources).hexdigest()[:16]}"


def versions() -> list[KernelFolder]:
    """What is kept, this version first."""
    folders = [KernelFolder.at(path) for path in home().glob("kernels-*") if path.is_dir() and not path.is_symlink()]
    return sorted(folders, key=lambda folder: (not folder.is_current, folder.unused_days))


def use() -> Path:
    """The folder of this version, marked as used now; other versions that nobody used for long are removed."""
    folder = current()
    with suppress(OSError):  # a home that cannot be written keeps nothing, and the compiler finds another place
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        remove(each for each in versions() if each.unused_days > OLD_DAYS and not each.is_current)
    return folder


def remove(folders: Iterable[KernelFolder]) -> None:
    """Delete compiled kernels; they are compiled again when they are needed."""
    for folder in folders:
        shutil.rmtree(folder.path, ignore_errors=True)
