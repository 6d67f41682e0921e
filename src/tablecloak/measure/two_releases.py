"""Contrast: releases judged on the same axes of risk and utility, alone or two side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tablecloak.engines.choose import Demand, choose_memory
from tablecloak.io.places import Place
from tablecloak.io.sources import Source
from tablecloak.measure.attack import AttackReport, attack
from tablecloak.measure.attack.tables import side_of
from tablecloak.measure.compare import AxisValue, Compared, compare_columns, read_tables
from tablecloak.measure.other_shapes import finished_of
from tablecloak.policy.schema import Policy
from tablecloak.release.facts.attacked import TRIED, WITH_REGISTER
from tablecloak.release.finished import bytes_of, source_of_original

# Metrics of which more is better are marked so; these say how much, which is neither good nor bad.
NEUTRAL = frozenset({"average-class-size"})


@dataclass(frozen=True, slots=True)
class Judged:
    """A release beside its original: comparison and attacks."""

    name: str
    comparison: Compared
    attacks: AttackReport

    def axes(self) -> Iterator[AxisValue]:
        """Everything by which it is held against another release, risk first."""
        axes = list(self.comparison.axes())
        yield from (axis for axis in axes if axis.axis == "risk")
        earlier = {e.attack: e.finding for e in self.attacks.before or ()}
        for result in self.attacks.after:
            before, after = earlier.get(result.attack), result.finding
            original = before.average if before else None
            yield AxisValue("attack", result.attack, original, after.average if after else None)
        yield from (axis for axis in axes if axis.axis != "risk")

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak compare --json`."""
        engine = self.attacks.choice.to_dict() if self.attacks.choice else {}
        return {
            "release": self.name,
            **self.comparison.to_dict(),
            "attacks": self.attacks.to_dict()["attacks"],
            **engine,
        }


@dataclass(frozen=True, slots=True)
class Row:
    """One axis on which two releases are compared."""

    axis: str  # risk, attack, utility or learning
    name: str
    original: float | None
    values: tuple[float | None, float | None]
    higher_is_better: bool = False

    @property
    def better(self) -> int | None:
        """0 or 1 for the better release, None where neither is."""
        a, b = self.values
        if a is None or b is None or a == b or self.name in NEUTRAL:
            return None
        return int((b > a) == self.higher_is_better)

    def to_dict(self) -> dict[str, Any]:
        return {
            "axis": self.axis,
            "name": self.name,
            "original": self.original,
            "a": self.values[0],
            "b": self.values[1],
            "better": None if self.better is None else "ab"[self.better],
        }


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two releases of one original."""

    a: Judged
    b: Judged

    def rows(self) -> Iterator[Row]:
        """All axes on which one of them has a value."""
        for a, b in zip(self.a.axes(), self.b.axes(), strict=True):
            if (a.value, b.value) != (None, None):
                yield Row(a.axis, a.name, a.original, (a.value, b.value), a.higher_is_better)

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak compare --original --json`."""
        rows = [row.to_dict() for row in self.rows()]
        return {
            "quasi": list(self.a.comparison.quasi),
            "rows": rows,
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
            **(self.a.attacks.choice.to_dict() if self.a.attacks.choice else {}),
        }


def judge_files(
    original: Place,
    release: Place,
    *,
    policy: Policy | None = None,
    quasi: Sequence[str] = (),
    target: str | None = None,
    learner: str = "forest",
    demand: Demand | None = None,
) -> Judged:
    """Compare a release with its original, and attack both."""
    name = release.name if isinstance(release, Path) else str(release)
    if finished := finished_of(policy, release, original=original, quasi=quasi, target=target):
        choice = choose_memory(demand or Demand(), 0, verb="compare")
        return Judged(name, finished.compare(), replace(finished.attack(), choice=choice))
    expected = [*quasi, *([target] if target else [])]
    published = Source.of(release, expected=frozenset([*expected, *(policy.columns if policy else ())]))
    n_bytes = bytes_of(source_of_original(original, policy, expected=expected), published)
    choice = choose_memory(demand or Demand(), n_bytes, verb="compare")
    before, after = read_tables(original, release, policy=policy, quasi=quasi, target=target)
    comparison = compare_columns(before, after, policy=policy, quasi=quasi, target=target, learner=learner)
    beside = side_of(release)
    attacks = attack(before, after, policy=policy, quasi=comparison.quasi, kinds=_tried(policy), side=beside)
    return Judged(name, comparison, replace(attacks, choice=choice))


def _tried(policy: Policy | None) -> tuple[str, ...]:
    return (*TRIED, *WITH_REGISTER) if policy is not None and policy.population is not None else TRIED


def contrast_files(
    a: Place,
    b: Place,
    original: Place,
    *,
    policy: Policy | None = None,
    quasi: Sequence[str] = (),
    target: str | None = None,
    learner: str = "forest",
    demand: Demand | None = None,
) -> Contrast:
    """Judge two releases of one original on the same axes, by the same quasi-identifiers."""
    first = judge_files(original, a, policy=policy, quasi=quasi, target=target, learner=learner, demand=demand)
    same = first.comparison.quasi
    second = judge_files(original, b, policy=policy, quasi=same, target=target, learner=learner, demand=demand)
    if first.name == second.name:  # files of one name in two folders
        first, second = replace(first, name=str(a)), replace(second, name=str(b))
    return Contrast(first, second)
