"""Contrast: releases judged on the same axes of risk and utility, alone or two side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tablecloak.engines.choose import Demand, choose_memory
from tablecloak.io.places import Place
from tablecloak.io.sources import Source
from tablecloak.measure.attack import AttackReport, attack_frames
from tablecloak.measure.attack.files import population_of, side_of
from tablecloak.measure.compare import Comparison, compare_frames, read_tables
from tablecloak.policy.schema import Policy
from tablecloak.release.facts.attacked import TRIED, WITH_REGISTER
from tablecloak.release.finished import bytes_of, source_of_original

# Metrics of which more is better are marked so; these say how much, which is neither good nor bad.
NEUTRAL = frozenset({"average-class-size"})


@dataclass(frozen=True, slots=True)
class Judged:
    """A release beside its original: comparison and attacks."""

    name: str
    comparison: Comparison
    attacks: AttackReport

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
        """All axes, risk first."""
        yield from _risk_rows(self.a.comparison, self.b.comparison)
        yield from _attack_rows(self.a.attacks, self.b.attacks)
        yield from _utility_rows(self.a.comparison, self.b.comparison)
        yield from _learning_rows(self.a.comparison, self.b.comparison)

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
    expected = [*quasi, *([target] if target else [])]
    published = Source.of(release, expected=frozenset([*expected, *(policy.columns if policy else ())]))
    n_bytes = bytes_of(source_of_original(original, policy, expected=expected), published)
    choice = choose_memory(demand or Demand(), n_bytes, verb="compare")
    before, after = read_tables(original, release, policy=policy, quasi=quasi, target=target)
    comparison = compare_frames(before, after, policy=policy, quasi=quasi, target=target, learner=learner)
    attacks = attack_frames(
        before, after, policy=policy, quasi=comparison.quasi, kinds=_tried(policy), side=side_of(release),
        population=population_of(None, policy, before),
    )  # fmt: skip
    attacks = replace(attacks, choice=choice)
    return Judged(release.name if isinstance(release, Path) else str(release), comparison, attacks)


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


def _risk_rows(a: Comparison, b: Comparison) -> Iterator[Row]:
    for name, key in (("unique records", "unique_share"), ("highest risk", "highest"), ("average risk", "average")):
        yield Row("risk", name, getattr(a.before, key), (getattr(a.after, key), getattr(b.after, key)))
    if a.published is not None and b.published is not None:
        name = "unique knowing everything published"
        yield Row("risk", name, None, (a.published[1].unique_share, b.published[1].unique_share))


def _attack_rows(a: AttackReport, b: AttackReport) -> Iterator[Row]:
    earlier = {e.attack: e.finding for e in a.before or ()}
    for left, right in zip(a.after, b.after, strict=True):
        if left.finding is None and right.finding is None:
            continue
        before = earlier.get(left.attack)
        values = (
            left.finding.average if left.finding else None,
            right.finding.average if right.finding else None,
        )
        yield Row("attack", left.attack, before.average if before else None, values)


def _utility_rows(a: Comparison, b: Comparison) -> Iterator[Row]:
    share = [c.n_suppressed / max(1, c.before.n_records) for c in (a, b)]
    yield Row("utility", "suppressed", None, (share[0], share[1]))
    for left, right in zip(a.metrics, b.metrics, strict=True):
        values = (_finite(left.value), _finite(right.value))
        if values != (None, None):
            yield Row("utility", left.name, None, values, left.higher_is_better)


def _learning_rows(a: Comparison, b: Comparison) -> Iterator[Row]:
    if a.learning and b.learning:
        name = f"accuracy for {a.learning.target}"
        yield Row("learning", name, a.learning.original, (a.learning.release, b.learning.release), True)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
