"""Releases that were recounted and hold: only such a value can be written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from tablecloak.arrays import IntArray
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.io.atomic import Outputs, writing
from tablecloak.io.frames import FrameKind
from tablecloak.io.places import Place
from tablecloak.looks import ShowsItself
from tablecloak.metrics.base import Measurement, ReleaseCounts, every, measure
from tablecloak.policy.schema import Policy
from tablecloak.progress import Timed
from tablecloak.release.documents import Documents, write_documents
from tablecloak.release.handover import appraise
from tablecloak.release.outcome import RunReport, with_utility
from tablecloak.release.plan import Plan, add_target, side_output_path, side_path
from tablecloak.release.publish import recount, write_release
from tablecloak.release.recount import Originals, Verification, require_ready
from tablecloak.release.shapes.base import Release, Shape, Stored


@dataclass(frozen=True, eq=False, repr=False)
class VerifiedRelease(ShowsItself):
    """A release that was recounted and found to satisfy its goal; only such a value can be written."""

    _main: pl.DataFrame
    report: RunReport
    recoding: Any  # None: exact values in groups, which new rows cannot join
    _shape: Shape = field(repr=False)
    _plan: Plan = field(repr=False)
    _originals: Any = field(repr=False)
    _counts: ReleaseCounts | None = field(repr=False)
    _side: pl.DataFrame | None = None
    _blocks: tuple[tuple[str, ...], ...] = field(default=(), repr=False)  # columns that stay together in groups
    _kind: FrameKind = field(default=FrameKind(), repr=False)

    @cached_property
    def frame(self) -> Any:
        """The release as a frame of the library that the data came from: pandas for pandas, Arrow for Arrow."""
        return self._kind.native(self._main)

    @cached_property
    def side(self) -> Any:
        """The sensitive columns, where they have a table of their own, likewise; else None."""
        return None if self._side is None else self._kind.native(self._side)

    @property
    def origins(self) -> Originals | None:
        """The coded originals, and which of them every published row comes from; None where rows are elsewhere."""
        is_here = isinstance(self._originals, Originals) and self._originals.row_of is not None
        return self._originals if is_here else None

    @property
    def n_rows(self) -> int:
        """Published records."""
        return self._main.height

    @property
    def n_columns(self) -> int:
        return self._main.width

    @property
    def class_sizes(self) -> IntArray | None:
        """Records of every class; None where the release has no classes that are counted."""
        return None if self._counts is None else self._counts.sizes

    def first_rows(self, n: int) -> list[dict[str, Any]]:
        """Some rows as they are published."""
        return self._main.head(n).rows(named=True)

    def measure(self, *names: str) -> list[Measurement]:
        """The named information metrics of the release, or all there are; what does not apply says why."""
        if self._counts is None:
            return [m for m in self.report.measurements if not names or m.name in names]
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
        engine, shape, plan, timed = LocalEngine(), self._shape, self._plan, Timed()
        with Outputs(reads=plan.policy.reads, force=force) as outputs:
            files = Documents(outputs.add(Path(path)), Path(path).name)
            side = side_path(Path(path)) if self._side is not None else None
            files = _with_documents(files, outputs, (report, certificate, side), recoding)
            if files.recoding:
                shape.refuse_recoding(plan)
            beside = None if self._side is None else table_of(self._side)
            made = Release(table_of(self._main), self._originals, beside, self._blocks)
            written = write_release(engine, made, files, shape=shape, plan=plan, timed=timed)
            counted = recount(engine, written, shape=shape, plan=plan, timed=timed, files=files)
            verification = self._appraised(engine, written, counted.verification)
            write_recoding(files, self.recoding)
            if files.are_wanted:
                run_dict = replace(self._said(files), verification=verification, output=str(path)).to_dict()
                write_documents(
                    files, run_dict, plan,
                    lambda certificate: shape.subject(
                        files.name, run_dict, plan, certificate, counted.facts, self._blocks
                    ),
                )  # fmt: skip

    def _appraised(self, engine: LocalEngine, written: Release, verification: Verification) -> Verification:
        """What was recounted, with what the whole written table says."""
        run_handover = self.report.verification.handover
        whose = self._shape.whose(engine, written)
        if whose is None and run_handover is not None and run_handover.after.published.counted == "persons":
            handover = run_handover  # only the engine that made the release knows whose its rows are
        else:
            handover = appraise(
                engine, written.main, self._plan, apart=written.apart, evidence=verification.evidence, whose=whose
            )
        before = run_handover.before if run_handover else None
        return require_ready(verification.with_handover(replace(handover, before=before)), self._plan.policy)

    def _said(self, files: Documents) -> RunReport:
        if files.report is None or self._counts is None:
            return self.report
        return with_utility(self.report, self._counts, self._plan)


def write_recoding(files: Documents, recoding: Stored | None) -> None:
    """Keep how the release was made, where that is wanted."""
    if files.recoding and recoding:
        with writing(files.recoding):
            recoding.write(files.recoding)


def reserve(outputs: Outputs, policy: Policy) -> Documents:
    """Temporary names for every file that a policy asks for."""
    side = side_output_path(policy)
    place, target = add_target(outputs, policy)
    files = replace(documents_of(policy, target), name=place.name, source=policy.input_path)
    asked = (policy.report_path, policy.certificate_path, side)
    return _with_documents(files, outputs, asked, policy.recoding_path)


def _with_documents(
    files: Documents, outputs: Outputs, public: Sequence[str | Path | None], recoding: str | Path | None
) -> Documents:
    """The files of a run with temporary names for all others that are asked for.

    Args:
        public: report, certificate, and the table beside the release.
    """
    report, certificate, side = [None if path is None else outputs.add(Path(path)) for path in public]
    stored = None if recoding is None else outputs.add(Path(recoding), is_private=True)
    return replace(files, report=report, certificate=certificate, side=side, recoding=stored)


def documents_of(policy: Policy, release: Place) -> Documents:
    """The file of a release, as a policy wants it written."""
    output = policy.output
    if output is None:
        return Documents(release, release.name, is_of_run=True)
    return Documents(
        release, release.name, kind=output.format, delimiter=output.delimiter, rows_per_file=output.rows_per_file,
        is_of_run=True,
    )  # fmt: skip
