"""The attack seam: an attack is a function from a case (a release and what is known beside it) to what it achieves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from math import sqrt
from typing import Any

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.attacks.case import Case
from tablecloak.errors import DoesNotApplyError
from tablecloak.registry import find, known, register

MOST_ROWS = 10
# An attacker who is right more often than not has found a victim.
LIKELY = 0.5
NO_SETS = "the release has no sets of items"
ONLY_SETS = "it looks at columns of records, and this is a release of sets of items"
_on_request: set[str] = set()
_of_items: set[str] = set()


@dataclass(frozen=True, slots=True)
class AttackSuccess:
    """What an attack found: probabilities, victims, and numbers of rows.

    `average` and `baseline` are one quantity: the chance of success over all targets, with the release and without it.
    """

    highest: float | None  # chance of success against the most exposed person; None where chances are not by person
    average: float  # the same over all targets
    baseline: float  # what `average` would be for a guess without the release, or for a control group
    n_targets: int
    n_victims: int
    worst: tuple[int, ...] = ()  # numbers, from 1, of the most exposed rows
    rows_of: str = "release"  # the table that these numbers count: release, original or population
    interval: tuple[float, float] | None = None  # 95 % confidence limits of `average`, where targets were sampled
    n_sampled: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def success(self) -> float:
        """The chance of success over all targets, to be held against `baseline`."""
        return self.average

    @property
    def severity(self) -> tuple[int, float, float]:
        """What the worst of several columns is found by."""
        return self.n_victims, self.average if self.highest is None else self.highest, self.average

    @property
    def excess(self) -> float:
        """The share of what guessing leaves open that the release gives away: 0 nothing, 1 everything."""
        return max(0.0, (self.average - self.baseline) / (1 - self.baseline)) if self.baseline < 1 else 0.0


@dataclass(frozen=True, slots=True)
class AttackResult:
    """A named attack and what it achieves on a release; a reason stands for the finding where it does not apply."""

    attack: str
    description: str
    stopped_by: str
    reference: str | None
    guess: str = ""  # what somebody does who has no release, which is what `baseline` measures
    finding: AttackSuccess | None = None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data; numbers that are not finite become null."""
        about: dict[str, Any] = {"attack": self.attack, "description": self.description}
        about |= {"stopped_by": self.stopped_by, "by_guessing": self.guess, "reference": self.reference}
        if self.finding is None:
            return {**about, "applies": False, "reason": self.reason}
        success = self.finding
        return {
            **about,
            "applies": True,
            "highest": _plain(success.highest),
            "average": _plain(success.average),
            "targets": success.n_targets,
            "victims": success.n_victims,
            "worst_rows": list(success.worst),
            "rows_of": success.rows_of,
            "baseline": _plain(success.baseline),
            "excess": _plain(success.excess),
            "interval": None if success.interval is None else [_plain(x) for x in success.interval],
            "sampled": success.n_sampled,
            "details": {name: _plain(value) for name, value in success.details.items()},
            "notes": list(success.notes),
        }


def _plain(value: Any) -> Any:
    if isinstance(value, float | np.floating):
        return round(float(value), 9) if np.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


Attack = Callable[[Case], AttackResult]


def attack(
    name: str, *, on_request: bool = False, of_items: bool = False
) -> Callable[[Callable[[Case], AttackSuccess]], Attack]:
    """Register a function as an attack.

    Line 1 of its docstring is the description that reports show; the paragraphs `By guessing:` (what is done
    without the release), `Stopped by:` and `Reference:` are shown beside what it achieves.

    Args:
        on_request: left out of reports of a run, because it learns, samples or matches instead of counting classes.
        of_items: on sets of items; all others are on columns of records.
    """
    if on_request:
        _on_request.add(name)
    if of_items:
        _of_items.add(name)

    def decorate(attempt: Callable[[Case], AttackSuccess]) -> Attack:
        text = inspect.cleandoc(attempt.__doc__ or "")
        about = AttackResult(
            name, text.partition("\n")[0], _part(text, "Stopped by") or "", _part(text, "Reference"),
            _part(text, "By guessing") or "",
        )  # fmt: skip

        @wraps(attempt)
        def exposed(case: Case) -> AttackResult:
            if of_items != (case.items is not None):
                return replace(about, reason=NO_SETS if of_items else ONLY_SETS)
            try:
                return replace(about, finding=attempt(case))
            except DoesNotApplyError as exc:
                return replace(about, reason=str(exc))

        return register("attacks", name)(exposed)

    return decorate


def _part(text: str, name: str) -> str | None:
    match = re.search(
        rf"^{name}: (.*?)(?=\n(?:By guessing|Stopped by|Reference): |\n\n|\Z)", text, re.DOTALL | re.MULTILINE
    )
    return " ".join(match[1].split()) if match else None


def every(*, of_items: bool = False) -> list[str]:
    """Names of all attacks on columns, or on sets of items, those included that are tried only on request."""
    return [name for name in known("attacks") if (name in _of_items) == of_items]


def counting() -> list[str]:
    """Names of the attacks that only count classes, which a report of a run can afford."""
    return [name for name in every() if name not in _on_request]


def rows_of_persons(n_rows: int, n_persons: int) -> tuple[str, ...]:
    """A remark where somebody has several rows: attacks count these."""
    if n_persons >= n_rows:
        return ()
    return (f"chances and victims count rows, not persons: {n_rows:,} rows are of {n_persons:,} persons",)


def run_attacks(case: Case, names: Iterable[str] | None = None) -> list[AttackResult]:
    """The named attacks on a release, or all that only count classes."""
    return [find("attacks", name)(case) for name in (counting() if names is None else names)]


def mean_chance(chances: FloatArray) -> float:
    """The chance of success over all targets; 0 where there is none."""
    return float(chances.mean()) if len(chances) else 0.0


def worst_rows(case: Case, chances: FloatArray, rows: IntArray | None = None) -> tuple[tuple[int, ...], str]:
    """Numbers of the published rows with the greatest chances (above 0), and the table that they count.

    Args:
        chances: of every published row, or of those that `rows` lists.
    """
    order = _most_exposed(chances)
    return case.numbers_of(order if rows is None else rows[order])


def worst_people(case: Case, chances: FloatArray, people: IntArray | None) -> tuple[tuple[int, ...], str]:
    """The same of originals; of published rows where it is not known who the people are."""
    if people is None:
        return worst_rows(case, chances)
    return tuple((people[_most_exposed(chances)] + 1).tolist()), "original"


def success_of(
    case: Case, chances: FloatArray, *, baseline: float | None = None, rows: IntArray | None = None,
    people: IntArray | None = None, details: Mapping[str, Any] | None = None, notes: tuple[str, ...] = (),
) -> AttackSuccess:  # fmt: skip
    """What the chance of success against every target says; a victim is found with one of more than one half.

    Args:
        chances: of every published row, of those that `rows` lists, or of the originals in `people`.
        baseline: without the release; left out: that of one of all published rows.
    """
    worst, rows_of = worst_people(case, chances, people) if rows is None else worst_rows(case, chances, rows)
    return AttackSuccess(
        highest=float(chances.max(initial=0.0)), average=mean_chance(chances),
        baseline=1 / max(1, case.n_rows) if baseline is None else baseline, n_targets=len(chances),
        n_victims=int(np.count_nonzero(chances > LIKELY)), worst=worst, rows_of=rows_of, details=details or {},
        notes=notes,
    )  # fmt: skip


def _most_exposed(chances: FloatArray) -> IntArray:
    order = np.argsort(-chances, kind="stable")[:MOST_ROWS] if len(chances) <= 1 << 16 else _largest(chances)
    return order[chances[order] > 0]


def _largest(chances: FloatArray) -> IntArray:
    """Places of the largest numbers, of equal ones the first; without sorting all of them."""
    limit = np.partition(chances, -MOST_ROWS)[-MOST_ROWS]
    above, at = np.flatnonzero(chances > limit), np.flatnonzero(chances == limit)
    chosen = np.concatenate([above, at[: max(0, MOST_ROWS - len(above))]])
    return chosen[np.lexsort((chosen, -chances[chosen]))].astype(np.int64)


# Two-sided 95 %.
Z = 1.959963984540054


def mean_interval(chances: FloatArray) -> tuple[float, float]:
    """95 % limits of a mean of chances, by the normal approximation, cut to [0, 1]."""
    n = len(chances)
    if n < 2:
        return 0.0, 1.0
    mean, error = float(chances.mean()), Z * float(chances.std(ddof=1)) / sqrt(n)
    return max(0.0, mean - error), min(1.0, mean + error)


def wilson(n_right: float, n: int) -> tuple[float, float]:
    """95 % limits of a rate of success by Wilson's score."""
    if n == 0:
        return 0.0, 1.0
    rate = n_right / n
    center = (rate + Z * Z / (2 * n)) / (1 + Z * Z / n)
    reach = Z * sqrt(rate * (1 - rate) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)
    return max(0.0, center - reach), min(1.0, center + reach)
