"""Files of the server: private folders, names that cannot lead anywhere else, deletion."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from tablecloak.errors import DataError
from tablecloak.io.sources import format_and_compression

__all__ = ["Files", "TooLarge", "inside", "safe_name"]

CHUNK = 1 << 20
LONGEST_NAME = 80


class TooLarge(Exception):  # noqa: N818
    """More bytes than the limit allows."""


def safe_name(name: str) -> str:
    """A file name of plain characters; the extension is kept."""
    base = re.split(r"[\\/]", name)[-1]
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", base).strip("._") or "data"
    stem, dot, extension = plain.partition(".")
    return f"{stem[:LONGEST_NAME]}{dot}{extension[:LONGEST_NAME]}"


def inside(path: Path, roots: Iterable[Path]) -> bool:
    """Whether a path, links followed, lies in one of the folders."""
    real = path.resolve()
    return any(real.is_relative_to(root.resolve()) for root in roots)


class Files:
    """The folders of a server: datasets and projects, readable by their owner only."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        for folder in (directory, self._datasets, self._projects):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)

    @property
    def _datasets(self) -> Path:
        return self.directory / "datasets"

    @property
    def _projects(self) -> Path:
        return self.directory / "projects"

    def dataset(self, id_: str) -> Path:
        return self._datasets / id_

    def project(self, id_: str) -> Path:
        return self._projects / id_

    def run(self, project: str, run: str) -> Path:
        return self.project(project) / "runs" / run

    def receive(self, source: BinaryIO, id_: str, name: str, *, limit: int) -> Path:
        """Keep an upload; DataError for a kind of file that cannot be read, TooLarge beyond the limit."""
        return self._written(source, self._new_dataset(id_, name), limit)

    def receive_zip(self, source: BinaryIO, id_: str, *, limit: int) -> Path:
        """Keep an uploaded archive of images until it is unpacked."""
        folder = self.dataset(id_)
        folder.mkdir(mode=0o700)
        return self._written(source, folder / "upload.zip", limit)

    @staticmethod
    def _written(source: BinaryIO, target: Path, limit: int) -> Path:
        n_bytes = 0
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            while chunk := source.read(CHUNK):
                n_bytes += len(chunk)
                if n_bytes > limit:
                    raise TooLarge
                file.write(chunk)
        return target

    def _new_dataset(self, id_: str, name: str) -> Path:
        file = safe_name(name)
        try:
            format_and_compression(Path(file), None, None)
        except DataError as exc:
            raise DataError(exc.message, hint=exc.hint) from None
        folder = self.dataset(id_)
        folder.mkdir(mode=0o700)
        return folder / file

    def new_project(self, id_: str, dataset: str, file: str) -> Path:
        """A folder for a project, with its dataset in it under the same name."""
        folder = self.project(id_)
        folder.mkdir(mode=0o700)
        source = self.dataset(dataset) / file
        try:
            os.link(source, folder / file)
        except OSError:  # another file system, or one without links
            shutil.copyfile(source, folder / file)
        return folder

    def new_run(self, project: str, run: str) -> Path:
        """An empty folder for a run; a second attempt starts afresh. FileNotFoundError where the project is gone."""
        folder = self.run(project, run)
        shutil.rmtree(folder, ignore_errors=True)
        # not with `parents`: these would be open to others, and a deleted project would come back
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700)
        return folder

    def left_of(self, project: str, run: str) -> list[str]:
        """Phases that an attempt finished which was ended in the middle; a run folder remembers them."""
        for journal in self.run(project, run).glob(".*.tablecloak-run/journal.json"):
            return list(json.loads(journal.read_text(encoding="utf-8"))["phases"])
        return []

    def forget(self, folder: Path) -> None:
        """Delete a folder with everything in it."""
        shutil.rmtree(folder, ignore_errors=True)

    def n_bytes(self, folder: Path | None = None) -> int:
        """What the files take on disk; a file with two names counts once."""
        seen: dict[tuple[int, int], int] = {}
        for path in (folder or self.directory).rglob("*"):
            if path.is_file() and not path.is_symlink():
                facts = path.stat()
                seen[facts.st_dev, facts.st_ino] = facts.st_size
        return sum(seen.values())
