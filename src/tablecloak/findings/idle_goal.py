"""Goals that protect nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tablecloak.errors import CloakError
from tablecloak.findings.base import Change, Finding, Fix, Shown, finding
from tablecloak.stats.classes import ClassStats, Counted, Histogram, Needs


@finding("idle-goal")
def idle_goal(shown: Shown) -> Iterator[Finding]:
    """A goal would hold if every record were published as it is, in a class of its own: it protects nobody.

    A limit can be so wide for the values that occur that nothing can break it: t-closeness with t: 0.6 for two values
    that are equally frequent, a confidence of 1. Where people say what they guard, nobody may have said anything.
    """
    for number, model in enumerate(shown.goal.models):
        if _is_idle(model, shown.evidence.values):
            yield Finding(
                "idle-goal",
                f"goal {number + 1} ({model.name}) protects nobody: it would hold with every record in its own class",
                Fix("ask for more, as `tablecloak explain` says what is usual", _stricter(model, number)),
                column=_column(model),
            )


def _is_idle(model: Any, values: Mapping[str, Histogram]) -> bool:
    guard = getattr(model, "guard", None)
    if guard is not None:
        return guard in values and not _n_named(values[guard])
    if model.needs & ~(Needs.SIZE | Needs.SENSITIVE):
        return False
    named = {name: hist for name, hist in values.items() if hist.domain.kind is Counted.SENSITIVE}
    if Needs.SENSITIVE in model.needs and not any(np.count_nonzero(hist.totals) > 1 for hist in named.values()):
        return False
    try:
        return bool((model.margin(_alone(named)) >= 0).all())
    except CloakError:  # a model of something else than classes and values
        return False


def _n_named(hist: Histogram) -> int:
    return sum(int(n) for label, n in zip(hist.domain.labels, hist.totals, strict=True) if label is not None)


def _alone(values: Mapping[str, Histogram]) -> ClassStats:
    """Classes of one record each, in which every value of every column occurs."""
    occurring = {name: np.flatnonzero(hist.totals) for name, hist in values.items()}
    n = max((len(codes) for codes in occurring.values()), default=1)
    ones, ends = np.ones(n, np.int64), np.arange(n + 1)
    alone = {
        name: Histogram(values[name].domain, ends, np.resize(codes, n), ones, values[name].totals)
        for name, codes in occurring.items()
    }
    return ClassStats(ones, alone)


def _column(model: Any) -> str | None:
    named = getattr(model, "sensitive", None)
    return named if isinstance(named, str) else None


def _stricter(model: Any, number: int) -> tuple[Change, ...]:
    """A usual value for the models that have one limit."""
    usual = {"t-closeness": ("t", 0.2), "beta-likeness": ("beta", 1.0), "confidence-bounding": ("h", 0.5)}
    if model.name not in usual or (model.name == "confidence-bounding" and model.h is None):
        return ()
    key, value = usual[model.name]
    return (Change(f"goals.{number}.{key}", value),)
