"""The shape seam: what is published (rows in classes, columns in groups, sets of items) and how each step does it.

The road of `release/` asks a shape at every step and knows none by name. A package of others registers one through the
entry-point group `tablecloak.shapes`: loading the entry point gives an object with the methods of `Shape`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tablecloak.algorithms.topdown._sampled_cuts import SampledLoss
from tablecloak.data.class_labels import ClassLabels
from tablecloak.engines.base import Engine, Table
from tablecloak.engines.choose import Demand
from tablecloak.engines.spelling import Spelling
from tablecloak.errors import IncompatibleChoice
from tablecloak.io.sources import Source
from tablecloak.metrics.base import Measurement, ReleaseCounts
from tablecloak.policy.schema import Policy
from tablecloak.progress import Progress, Timed
from tablecloak.registry import offered
from tablecloak.release.facts.collect import Exposure, Facts
from tablecloak.release.facts.subject import Subject
from tablecloak.release.plan import Plan
from tablecloak.rng import Secret
from tablecloak.stats.classes import ClassStats

if TYPE_CHECKING:
    from tablecloak.release.documents import Documents
    from tablecloak.release.prepare import Prepared
    from tablecloak.release.recount import Verification
    from tablecloak.release.search import Solved

REST = "classes"  # what every policy speaks of that no other shape claims


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """What is published, as an engine holds it before it is written or after it was read back."""

    main: Table
    originals: Any  # what a recount holds it against, as the shape wants it
    side: Table | None = None  # the sensitive columns, where they have a table of their own
    blocks: tuple[tuple[str, ...], ...] = ()  # of a release in groups: columns whose cells still belong together
    labels: Mapping[str, ClassLabels] | None = None  # what classes are meant to show, until it was written

    @property
    def apart(self) -> tuple[str, ...]:
        """Columns that lost their link to the first ones that stayed together."""
        return tuple(name for block in self.blocks[1:] for name in block)


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """What an earlier recoding makes of new rows."""

    release: Release
    plan: Plan
    table: Table  # the rows that could be recoded
    notes: tuple[str, ...]
    measurements: list[Measurement] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class RecountResult:
    """What the recount of a release says; facts and classes only where a report is wanted."""

    verification: Verification
    facts: Facts | None = None
    classes: Sequence[ClassStats] = ()


@dataclass(frozen=True, slots=True)
class Explored:
    """What an answer risks and keeps, as an exploration compares it with others."""

    risks: Mapping[str, float | None]
    metrics: Mapping[str, float | None]
    n_classes: int  # or different records, where there are no classes
    smallest: int
    suppressed_share: float  # of the records, or of what they hold


class Stored(Protocol):
    """A recoding that can be kept in a file."""

    def write(self, path: Path) -> None: ...


class Shape(Protocol):
    """How what is published is planned, coded, searched, written, recounted and described."""

    name: str  # what messages call it
    engines: Sequence[str] | None  # those that can do it; None: all
    risks: Sequence[str] | None  # those that an exploration can compare; None: all
    metrics: Sequence[str] | None  # the same of utility
    refused: Mapping[str, tuple[str, str]]  # verbs that mean nothing here: why, and what to do instead
    measured_by: str | None  # module that compares and attacks finished releases; None: as columns of records are

    def speaks_of(self, policy: Policy) -> bool:
        """Whether a policy asks for this shape."""

    def frame_of(self, data: Any, policy: Policy) -> Any:
        """What was given in place of a frame, as one."""

    def algorithm_name(self, policy: Policy) -> str:
        """The algorithm that a policy asks for, before any table is known."""

    def plan(
        self, policy: Policy, columns: Sequence[str], *, delimiter: str | None, location: str | None,
        is_reported: bool | None, secret: Secret,
    ) -> Plan:  # fmt: skip
        """What happens to each column; fails if the policy cannot fit the table.

        Args:
            delimiter: of a file of sets.
        """

    def reading(self, source: Source, policy: Policy) -> Source:
        """The source with the types that columns must be read with."""

    def refuse(self, plan: Plan) -> None:
        """Raise IncompatibleChoice for what only shows when persons are settled."""

    def code(self, engine: Engine, table: Table, plan: Plan, progress: Progress) -> Any:
        """The rows as codes, with `n_rows` and `n_tuples`."""

    def require_feasible(self, prepared: Prepared[Any], *, tries_relaxations: bool) -> None:
        """Raise Infeasible where no release can satisfy the goal, as far as that shows before a search."""

    def is_quick(self, coding: Any) -> bool:
        """Whether a search takes so little time that relaxations may be tried and explored answers recounted."""

    def is_instant(self, prepared: Prepared[Any]) -> bool:
        """Whether the search of a run takes seconds and waits for no compiler, so that a check carries it out, too."""

    def not_shown(self, prepared: Prepared[Any]) -> str | None:
        """Why it is not known before a search whether the goal can be reached; None: it can."""

    def sampled_loss(self, prepared: Prepared[Any]) -> SampledLoss | None:
        """The loss to expect, estimated from some of the records; None: only a search tells."""

    def search(self, prepared: Prepared[Any], timed: Timed, threads: int | None) -> Solved:
        """An answer that satisfies the goal; raises Infeasible or GoalNotMet."""

    def publish(self, solved: Solved, timed: Timed) -> Release:
        """The release of an answer, in the order in which it is published."""

    def written_as(self, files: Documents, plan: Plan) -> tuple[str | None, str | None]:
        """Format and delimiter of the file of a release; None: by its name, the usual one."""

    def spelling(self, engine: Engine, plan: Plan) -> Spelling:
        """How the input writes what the release publishes."""

    def read_back(self, engine: Engine, files: Documents, plan: Plan, written: Release, spelling: Spelling) -> Release:
        """A release as it stands in its files."""

    def recount(self, engine: Engine, release: Release, plan: Plan, *, with_facts: bool) -> RecountResult:
        """What the published cells say, held against the originals."""

    def whose(self, engine: Engine, release: Release) -> Table | None:
        """The main table with whose every record is, where somebody has several and that is known."""

    def counts(self, solved: Solved) -> ReleaseCounts | None:
        """What metrics measure of an answer; None: `measurements` are all there are."""

    def measurements(self, solved: Solved) -> list[Measurement]:
        """What every run says of the utility of its release."""

    def exposure(self, prepared: Prepared[Any], plans: Sequence[Plan]) -> Exposure | None:
        """How exposed the originals are, by the measure that `explored` has for all these plans; None: not counted."""

    def explored(self, solved: Solved, plans: Sequence[Plan], utility: str) -> Explored:
        """What an answer risks and keeps, beside those of other plans for the same rows."""

    def about_risk(self, plans: Sequence[Plan]) -> tuple[str, ...]:
        """Whose risk that is, where it is not told by the quasi-identifiers."""

    def notes(self, solved: Solved) -> tuple[str, ...]:
        """What a report says of a run beyond the usual."""

    def remarks(self, prepared: Prepared[Any]) -> tuple[str, ...]:
        """What a check adds to that."""

    def recoding(self, solved: Solved) -> Stored | None:
        """The answer as new rows can use it; None: they cannot."""

    def refuse_recoding(self, plan: Plan) -> None:
        """Raise IncompatibleChoice where an answer cannot be kept for new rows."""

    def subject(
        self, name: str, run: Mapping[str, Any], plan: Plan, certificate: Mapping[str, Any], facts: Facts | None,
        blocks: Sequence[Sequence[str]],
    ) -> Subject:  # fmt: skip
        """What report and certificate are about."""

    def verify(
        self, release: Any, policy: Policy, *, original: Any, side: Any, progress: Progress, demand: Demand
    ) -> Verification:
        """Recount a finished release, a place or a frame, whoever made it."""


@cache
def shapes() -> tuple[Shape, ...]:
    """Every shape, those of others first: modules of this room that have a `SHAPE`, and entry points."""
    others = [point.load() for point in offered("shapes")]
    room = __name__.rpartition(".")[0]
    files = [m for m in pkgutil.iter_modules(importlib.import_module(room).__path__) if m.name != "base"]
    modules = {m.name: f"{room}.{m.name}.shape" if m.ispkg else f"{room}.{m.name}" for m in files}
    ours = sorted(modules, key=lambda name: (name == REST, name))
    return (*others, *(importlib.import_module(modules[name]).SHAPE for name in ours))


def shape_of(policy: Policy) -> Shape:
    """The shape of the release that a policy asks for."""
    return next(shape for shape in shapes() if shape.speaks_of(policy))


def refuse_verb(verb: str, policy: Policy) -> None:
    """Raise IncompatibleChoice for a verb that means nothing for the shape that a policy publishes."""
    refusal = shape_of(policy).refused.get(verb)
    if refusal is not None:
        raise IncompatibleChoice(refusal[0], hint=refusal[1])
