"""Run folders: what a run keeps on disk, and which of its phases are finished, so that a killed run can go on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tablecloak.errors import DataError, EngineError, IncompatibleChoice
from tablecloak.io.atomic import writing
from tablecloak.io.private import FolderInUse, PrivateFolder, usual_permissions
from tablecloak.rng import Secret

JOURNAL = "journal.json"
SECRET = "secret"
SAMPLE = 1 << 16  # bytes hashed at each of a few places
PLACES = 16
ANEW = "run without --resume to begin anew"


def fingerprint(paths: Iterable[Path]) -> dict[str, str]:
    """What tells whether files changed: size, time of change and a hash of parts, by path."""
    return {str(path): _print_of(path) for path in paths}


def _print_of(path: Path) -> str:
    stat = path.stat()
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for place in range(PLACES):
            file.seek(max(0, stat.st_size - SAMPLE) * place // (PLACES - 1))
            digest.update(file.read(SAMPLE))
    return f"{stat.st_size}-{stat.st_mtime_ns}-{digest.hexdigest()[:32]}"


@dataclass(frozen=True, slots=True)
class ResumableRun:
    """A run that makes a release: a killed one that makes the same can go on."""

    output: Path
    inputs: tuple[Path, ...]  # files that must not change meanwhile
    identity: Mapping[str, str]  # what else must be the same


@dataclass(frozen=True, slots=True)
class Opening:
    """What an engine is opened with."""

    memory: int  # bytes that it may use
    memory_given: int | None  # the same if somebody said so
    threads: int | None
    spill: Path | None
    spark: str | None  # address of a cluster
    run: ResumableRun | None  # None: nothing is made that could be resumed
    resumes: bool

    def folder(self) -> RunFolder:
        """The folder of the run, or one that goes away with the engine."""
        if self.run is None:
            return RunFolder.temporary(self.spill)
        run = self.run
        return RunFolder.of_run(run.output, self.spill, run.identity, run.inputs, resume=self.resumes)


class RowsPrint:
    """What tells whether the rows of a table changed, whatever their order: two sums of hashes."""

    def __init__(self) -> None:
        self._n, self._sums = 0, [0, 0]

    def of(self, batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """The batches themselves, taken note of as they go by."""
        for batch in batches:
            self._n += batch.height
            for seed in range(2):
                self._sums[seed] += int(batch.hash_rows(seed).cast(pl.Int128).sum())
            yield batch

    @property
    def text(self) -> str:
        return f"{self._n}-{self._sums[0]:x}-{self._sums[1]:x}"


def changed_since(location: str) -> DataError:
    """What a resumed run says whose input is not what it was."""
    return DataError("the input changed since the run that is to be resumed", hint=ANEW, location=location)


class RunFolder:
    """A folder for one run, readable by its owner only, with a journal of finished phases.

    It is removed when the run ends, and stays only if the process is killed.
    """

    def __init__(self, folder: PrivateFolder) -> None:
        self.path = folder.path
        self._folder = folder
        self._journal: dict[str, Any] = {"inputs": {}, "identity": {}, "phases": {}}

    @classmethod
    def temporary(cls, beside: Path | None = None) -> RunFolder:
        """A folder for work that nobody will resume."""
        if beside is not None:
            beside.mkdir(parents=True, exist_ok=True)
        with writing(beside or Path()):
            return cls(PrivateFolder.temporary(beside=beside))

    @classmethod
    def of_run(
        cls, output: Path, spill: Path | None, identity: Mapping[str, str], inputs: Iterable[Path], *, resume: bool
    ) -> RunFolder:
        """The folder of the run that makes an output: what a killed run left is gone on with, or else removed.

        Raises: DataError if the input changed since; IncompatibleChoice if something else did, or it still runs.
        """
        path = _place(output, spill)
        prints = fingerprint(inputs)
        try:
            with writing(path):
                with usual_permissions():
                    path.parent.mkdir(parents=True, exist_ok=True)
                run = cls(PrivateFolder.take(path, keep=resume))
        except FolderInUse:
            raise IncompatibleChoice(
                "another process is making this output already", hint="wait for it, or name another output",
                location=str(output),
            ) from None  # fmt: skip
        try:
            run._go_on(prints, dict(identity), output)
        except BaseException:
            run._folder.release()  # what the killed run left stays for another attempt
            raise
        return run

    def _go_on(self, prints: dict[str, str], identity: dict[str, str], output: Path) -> None:
        """Take over which phases of an earlier run are finished, if there was one and it was the same."""
        before = _read(self.path / JOURNAL)
        if before is not None:
            self._check(before, prints, identity, output)
            self._journal["phases"] = before["phases"]
        self._journal |= {"inputs": prints, "identity": identity}
        self._store()

    def _check(self, before: Mapping[str, Any], prints: dict[str, str], identity: dict[str, str], output: Path) -> None:
        if before["inputs"] != prints:
            raise changed_since(str(output))
        for name, value in identity.items():
            if before["identity"].get(name) != value:
                raise IncompatibleChoice(f"{name} changed since the run that is to be resumed", hint=ANEW)

    def remembered(self, secret: Secret, *, is_new: bool) -> Secret:
        """The secret that an earlier process of this run kept here, or else this one, which is kept from now on."""
        path = self.path / SECRET
        if path.exists():
            stored = Secret(path.read_bytes())
            if not is_new and stored != secret:
                raise IncompatibleChoice("the secret changed since the run that is to be resumed", hint=ANEW)
            return stored
        with writing(path):
            partial = path.with_name(f"{SECRET}.partial")
            partial.unlink(missing_ok=True)
            partial.touch(mode=0o600)
            partial.write_bytes(secret.key)
            partial.replace(path)  # whole or not at all, whenever the run is killed
        return secret

    def check_inputs(self) -> None:
        """Raise DataError if a file that the run reads is not what it was."""
        prints = self._journal["inputs"]
        try:
            changed = fingerprint(map(Path, prints)) != prints
        except OSError:
            changed = True
        if changed:
            raise DataError(
                "the input changed while it was being anonymized", hint="run again when it no longer changes",
                location=next(iter(prints), None),
            )  # fmt: skip

    def reads(self, paths: Iterable[Path]) -> bool:
        """Whether these files are all of the input."""
        inputs = {Path(path).absolute() for path in self._journal["inputs"]}
        return bool(inputs) and inputs == {path.absolute() for path in paths}

    def done(self, phase: str) -> dict[str, Any] | None:
        """What was noted when a phase was finished, or None if it is not."""
        entry: dict[str, Any] | None = self._journal["phases"].get(phase)
        return entry

    def finish(self, phase: str, **facts: Any) -> None:
        """Note that a phase is finished; its files must be complete."""
        self._journal["phases"][phase] = facts
        self._store()

    @property
    def finished(self) -> list[str]:
        """Phases that need not be done again."""
        return list(self._journal["phases"])

    def _store(self) -> None:
        partial = self.path / f"{JOURNAL}.partial"
        with writing(self.path):
            partial.write_text(json.dumps(self._journal), encoding="utf-8")
            partial.replace(self.path / JOURNAL)

    def discard(self) -> None:
        """Remove the folder; a second call does nothing."""
        self._folder.discard()


def _place(output: Path, spill: Path | None) -> Path:
    if spill is None:
        return output.with_name(f".{output.name}.tablecloak-run")
    key = hashlib.sha256(str(output.absolute()).encode()).hexdigest()[:16]
    return spill / f"tablecloak-run-{key}"


def _read(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        journal: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as exc:
        raise EngineError(
            "the journal of an earlier run cannot be read", hint="remove its folder", location=str(path.parent)
        ) from exc
    return journal
