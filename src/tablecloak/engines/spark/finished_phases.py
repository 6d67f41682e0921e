"""What finished phases of a run left in its folder, so that a run whose driver was killed goes on after them.

The driver stores what it holds itself; what grows with the table is stored by the workers, so the folder must lie where
all of them find it. Nothing that is read again can be code: counts, tables and arrays only.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tablecloak.algorithms.base import CutTree
from tablecloak.engines.base import Answer
from tablecloak.engines.run_folder import RunFolder
from tablecloak.engines.shards import CUTS, load_answer, save_answer
from tablecloak.engines.spark.session import explained
from tablecloak.io.atomic import writing


@dataclass(frozen=True, slots=True, eq=False)
class Phases:
    """The phases of one run; without a folder nothing is stored, and workers hold what is needed again."""

    session: Any
    folder: RunFolder | None = None
    held: list[Any] = field(default_factory=list)  # DataFrames that workers hold

    # Facts and tables ----------------------------------------------------------------------------------------------

    def facts(self, phase: str, find: Callable[[], dict[str, Any]], *, is_input: bool = True) -> dict[str, Any]:
        """A few numbers; those of a table that is not the input are found anew."""
        if self.folder is None or not is_input:
            return find()
        facts = self.folder.done(phase)
        if facts is None:
            facts = find()
            self.folder.finish(phase, **facts)
        return facts

    def frame(self, phase: str, find: Callable[[], pl.DataFrame], *, reads_input: bool = False) -> pl.DataFrame:
        """A table that the driver holds.

        Args:
            reads_input: refuse an input that changed meanwhile.
        """
        if self.folder is None:
            return find()
        path = self.folder.path / f"{phase}.arrow"
        if self.folder.done(phase) is None:
            frame = find()
            with writing(path):
                frame.write_ipc(path)
            self._finish(phase, reads_input=reads_input)
            return frame
        return pl.read_ipc(path)

    def spread(self, phase: str, rows: Any, *, reads_input: bool = False) -> Any:
        """Rows that workers keep: a DataFrame, computed once."""
        if self.folder is None:
            self.hold(rows)
        return self.stored(phase, rows, reads_input=reads_input)

    def stored(self, phase: str, rows: Any, *, reads_input: bool = False) -> Any:
        """Rows that workers put into files; without a folder, the rows as they were."""
        if self.folder is None:
            return rows
        if (about := self.folder.done(phase)) is None:
            about = {"place": f"{phase}-{secrets.token_hex(6)}"}  # workers of a killed run may still write to theirs
            with explained("storing what was found", str(self.folder.path)):
                rows.write.parquet(self._address(about["place"]))
            self._finish(phase, reads_input=reads_input, **about)
        return self.session.read.parquet(self._address(about["place"]))

    def hold(self, rows: Any) -> None:
        """Let workers hold what they find in memory or on their own disks."""
        self.held.append(rows.persist())

    def _address(self, place: str) -> str:
        assert self.folder is not None
        return (self.folder.path.absolute() / place).as_uri()

    def _finish(self, phase: str, *, reads_input: bool, **about: Any) -> None:
        assert self.folder is not None
        if reads_input:
            self.folder.check_inputs()
        self.folder.finish(phase, **about)

    # Cuts and classes ----------------------------------------------------------------------------------------------

    def cuts(self, find: Callable[[], CutTree]) -> CutTree:
        """The cuts that lead to shards."""

        def told() -> dict[str, Any]:
            tree = find()
            return {name: getattr(tree, name).tolist() for name in CUTS}

        facts = self.facts("shard", told)
        return CutTree(*(np.array(facts[name], np.int64) for name in CUTS))

    def answer(self, find: Callable[[], Answer]) -> Answer:
        """The classes of tuples that the driver searches."""
        if self.folder is None:
            return find()
        path, classes = self.folder.path / "answer.npz", self.folder.path / "classes.npy"
        if self.folder.done("solve") is None:
            answer = find()
            save_answer(path, answer)
            with writing(classes):
                np.save(classes, answer.solution.class_of_tuple, allow_pickle=False)
            self.folder.finish("solve")
            return answer
        stored = load_answer(path)
        return replace(stored, solution=replace(stored.solution, class_of_tuple=np.load(classes)))

    # The release ---------------------------------------------------------------------------------------------------

    def put_release(self, place: Path) -> bool:
        """Put a release in its place that was written before the run was killed; False: there is none."""
        if self.folder is None or self.folder.done("write") is None:
            return False
        for file in (self.folder.path / "release").iterdir():
            os.link(file, place / file.name if place.is_dir() else place)
        return True

    def keep_release(self, place: Path) -> None:
        """Keep a release that is written but not recounted; refuse an input that changed meanwhile."""
        if self.folder is None:
            return
        self.folder.check_inputs()
        copy = self.folder.path / "release"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        with contextlib.suppress(OSError):  # another disk: a resumed run writes again
            for file in place.iterdir() if place.is_dir() else [place]:
                os.link(file, copy / file.name)
            self.folder.finish("write")

    def forget(self) -> None:
        """Let workers forget what they hold; a second call does nothing."""
        for rows in self.held:
            with contextlib.suppress(Exception):
                rows.unpersist()
        self.held.clear()
