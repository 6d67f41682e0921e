"""One server per directory: a lock that the system takes back however its holder ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from tablecloak.errors import EngineError

__all__ = ["DirectoryLock"]

NAME = "server.lock"


class DirectoryLock:
    """Held from the beginning of a server to its end; a process that is killed loses it with everything else."""

    def __init__(self, directory: Path) -> None:
        """Take the lock; EngineError if another server has it."""
        self._file = (directory / NAME).open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = _holder(directory / NAME)
            self._file.close()
            raise EngineError(
                f"another tablecloak{holder} is using this folder",
                hint="use that one, end it, or choose another folder with --directory",
                location=str(directory),
            ) from None
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()

    def release(self) -> None:
        """Let others have it; the file stays, so that nobody locks one that is being removed."""
        self._file.close()


def _holder(path: Path) -> str:
    number = path.read_text(encoding="ascii", errors="replace").strip()
    return f" (process {number})" if number.isdecimal() else ""
