"""Releases: written under a temporary name, read back, recounted, and only then called verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.data.labels import ClassLabels
from tablecloak.data.table import ColumnType, Order
from tablecloak.documents import Documents, write_documents
from tablecloak.engines.base import Engine, Table
from tablecloak.engines.local import LocalEngine, table_of
from tablecloak.engines.spelling import Spelling, spelling_of
from tablecloak.errors import DataError
from tablecloak.handover import appraise
from tablecloak.io.atomic import Outputs
from tablecloak.io.parts import size_of
from tablecloak.io.places import Place
from tablecloak.io.sources import Source
from tablecloak.metrics.base import Measurement, ReleaseCounts, every, measure
from tablecloak.outcome import RunReport, with_utility
from tablecloak.plan import Plan, source_of
from tablecloak.policy.schema import Policy
from tablecloak.progress import Timed
from tablecloak.recoding import Recoding
from tablecloak.report.facts import Facts
from tablecloak.report.terminal import show_bytes
from tablecloak.separation import (
    Separated,
    facts_of_groups,
    read_separated,
    refuse_recoding,
    side_output_path,
    side_path,
    verify_separated,
)
from tablecloak.stats.classes import ClassStats
from tablecloak.verification import Originals, Verification, require, require_ready, verify, verify_with_facts

__all__ = ["VerifiedRelease", "arranged", "read_release", "reserve", "verified", "write_release", "write_separated"]

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class VerifiedRelease:
    """A release that was recounted and found to satisfy its goal; only such a value can be written."""

    frame: pl.DataFrame
    report: RunReport
    recoding: Recoding | None  # None: exact values in groups, which new rows cannot join
    _plan: Plan = field(repr=False)
    _originals: Originals = field(repr=False)
    _counts: ReleaseCounts = field(repr=False)
    side: pl.DataFrame | None = None  # the sensitive columns, where they have a table of their own
    _blocks: tuple[tuple[str, ...], ...] = field(default=(), repr=False)  # columns that stay together in groups

    def measure(self, *names: str) -> list[Measurement]:
        """The named information metrics of the release, or all there are; what does not apply says why."""
        return measure(self._counts, names or every())

    def write(
        self,
        path: str | Path,
        *,
        report: str | Path | None = None,
        certificate: str | Path | None = None,
        recoding: str | Path | None = None,
        force: bool = False,
    ) -> None:
        """Write the release and what else is asked for, all or nothing.

        The file of the release is read back and recounted before it gets its name.
        """
        engine = LocalEngine()
        with Outputs(reads=self._plan.policy.reads, force=force) as outputs:
            files = Documents.beside(outputs, path, report=report, certificate=certificate, recoding=recoding)
            side = outputs.add(side_path(Path(path))) if self.side is not None else None
            files = replace(files, side=side)
            if self._plan.algorithm.publishes.is_bucketing:
                self._write_groups(engine, files)
                return
            engine.write(table_of(self.frame), files.release, kind=None, delimiter=None)
            written = read_release(engine, files.release, self._plan)
            verification, facts, _ = verified(engine, written, self._plan, self._originals, files)
            verification = self._appraised(engine, written, verification)
            if files.recoding and self.recoding:
                self.recoding.write(files.recoding)
            if files.are_wanted:
                said = replace(self._said(files), verification=verification, output=str(path))
                write_documents(files, said.to_dict(), self._plan, facts)

    def _appraised(self, engine: LocalEngine, written: Table, verification: Verification) -> Verification:
        """What was recounted, with what the whole written table says."""
        apart = [name for block in self._blocks[1:] for name in block]
        seen = self.report.verification.handover
        whose = engine.with_persons(written, self._originals.coding, self._originals.row_of)
        if whose is None and seen is not None and seen.after.published.counted == "persons":
            handover = seen  # only the engine that made the release knows whose its rows are
        else:
            handover = appraise(engine, written, self._plan, apart=apart, evidence=verification.evidence, whose=whose)
        before = seen.before if seen else None
        return require_ready(verification.with_handover(replace(handover, before=before)), self._plan.policy)

    def _said(self, files: Documents) -> RunReport:
        return with_utility(self.report, self._counts, self._plan) if files.report is not None else self.report

    def _write_groups(self, engine: LocalEngine, files: Documents) -> None:
        refuse_recoding(self._plan, files.recoding)
        side = None if self.side is None else table_of(self.side)
        meant = Separated(table_of(self.frame), side, self._blocks)
        written = write_separated(engine, meant, files, self._plan, Timed())
        verification = require(verify_separated(engine, written, self._plan, intended=meant))
        verification = self._appraised(engine, written.main, verification)
        if files.are_wanted:
            said = replace(self._said(files), verification=verification, output=files.name).to_dict()
            facts = facts_of_groups(engine, written, self._plan, self._originals)
            write_documents(files, said, self._plan, facts, self._blocks)


def reserve(outputs: Outputs, policy: Policy) -> Documents:
    """Temporary names for every file that a policy asks for."""
    place, output = policy.output_place, policy.output
    assert place is not None
    assert output is not None
    side_output = side_output_path(policy)
    release = outputs.add_place(place, is_folder=output.is_folder)
    recoding = None if policy.recoding_path is None else outputs.add(policy.recoding_path, is_private=True)
    paths = (policy.report_path, policy.certificate_path, side_output)
    report, certificate, side = [None if path is None else outputs.add(path) for path in paths]
    return Documents(release, place.name, report, certificate, recoding, policy.input_path, side)


def arranged(
    engine: Engine, release: Table, rows: IntArray | None, plan: Plan, timed: Timed
) -> tuple[Table, IntArray | None]:
    """A release in the order in which it is published, and the original of each of its rows where that is here.

    Args:
        rows: the original of each row as it was made; None: the same row, or the engine finds it by itself.
    """
    if plan.publication.order is Order.KEEP:
        return release, rows
    with timed.phase("order", release.n_rows):
        release, order = engine.arrange(release, plan.publication, plan.secret, progress=timed.inner)
    return release, order if rows is None or order is None else rows[order]


def write_release(
    engine: Engine, release: Table, target: Place, plan: Plan, timed: Timed, labels: Mapping[str, ClassLabels]
) -> Table:
    """Write the release under a temporary name and read back what was written."""
    output = plan.policy.output
    with timed.phase("write", release.n_rows) as notes:
        spelling = _spelling(engine, plan)
        engine.write(
            release.spelled(spelling) if spelling.columns else release, target,
            kind=output.format if output else None, delimiter=output.delimiter if output else None,
            rows_per_file=output.rows_per_file if output else None, progress=timed.inner,
        )  # fmt: skip
        size = f", {show_bytes(size_of(target))}" if isinstance(target, Path) else ""
        notes.append(f"{release.n_rows:,} rows{size}")
    del release
    with timed.phase("read back"):
        # what was meant to be written; any other text in the file is found and counted all the same
        shown = {n: spelling.texts(n, c.texts) for n, c in labels.items() if not c.are_numbers}
        return read_release(engine, target, plan, shown)


def _spelling(engine: Engine, plan: Plan) -> Spelling:
    """How the input writes what the release publishes, if both are text files."""
    if not plan.policy.writes_text:
        return Spelling()
    source = source_of(plan.policy)
    columns = [name for name in plan.publication.columns if name in plan.quasi or name in plan.sensitive]
    is_local = engine.name == LocalEngine.name
    return spelling_of(source, engine.layout(source), columns, plan.quasi, in_memory=is_local)


def write_separated(engine: LocalEngine, separated: Separated, files: Documents, plan: Plan, timed: Timed) -> Separated:
    """Write the tables of a separated release under temporary names and read back what was written."""
    output = plan.policy.output
    kind, delimiter = (output.format, output.delimiter) if output else (None, None)
    with timed.phase("write", separated.main.n_rows):
        engine.write(separated.main, files.release, kind=kind, delimiter=delimiter)
        if files.side and separated.side:
            engine.write(separated.side, files.side, kind=kind, delimiter=delimiter)
    with timed.phase("read back"):
        return read_separated(engine, files.release, files.side, plan, separated)


def read_release(engine: Engine, place: Place, plan: Plan, labels: Mapping[str, Sequence[str]] | None = None) -> Table:
    """Everything that says something, quasi-identifiers as text whatever they look like."""
    columns = [name for name in plan.publication.columns if name not in plan.publication.starred]
    kind = plan.policy.output.format if plan.policy.output else None
    types = {name: c.type for name, c in plan.policy.columns.items() if c.type is not None and name in plan.sensitive}
    formats = {name: c.format for name, c in plan.policy.columns.items() if c.format and name in types}
    types |= dict.fromkeys(plan.quasi, ColumnType.TEXT)
    source = Source.of(place, format=kind, types=types, date_formats=formats)
    try:
        return engine.read(source, columns=columns, categorical=columns, labels=labels)
    except DataError:
        if not formats:
            raise
    # dates of text files are written as their original was; typed files and other tools write ISO dates
    return engine.read(replace(source, date_formats={}), columns=columns, categorical=columns, labels=labels)


def verified(
    engine: Engine, release: Table, plan: Plan, originals: Originals, files: Documents | None
) -> tuple[Verification, Facts | None, Sequence[ClassStats]]:
    """The recount of a release that must hold; if a report is wanted, the facts for it and the classes recounted."""
    if files is None or files.report is None:
        return require(verify(engine, release, plan, originals)), None, ()
    verification, facts, classes = verify_with_facts(engine, release, plan, originals)
    return require(verification), facts, classes
