"""Goals that protect nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tablecloak.errors import CloakError
from tablecloak.findings.base import Change, Finding, Fix, Shown, finding
from tablecloak.models.base import PrivacyModel
from tablecloak.stats.classes import ClassStats, Counted, Evidence, Histogram


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


def _is_idle(model: PrivacyModel, values: Mapping[str, Histogram]) -> bool:
    if model.guard_columns:
        return all(guard in values and not _n_named(values[guard]) for guard in model.guard_columns)
    if model.evidence & ~(Evidence.SIZE | Evidence.SENSITIVE | Evidence.TABLE):
        return False
    named = {name: hist for name, hist in values.items() if hist.domain.kind is Counted.SENSITIVE}
    if Evidence.SENSITIVE in model.evidence and not any(np.count_nonzero(hist.totals) > 1 for hist in named.values()):
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


def _column(model: PrivacyModel) -> str | None:
    names = model.sensitive_columns
    return names[0] if names and len(names) == 1 else None


def _stricter(model: PrivacyModel, number: int) -> tuple[Change, ...]:
    """A usual value for the models that have one limit."""
    if model.usual_limit is None:
        return ()
    parameter, value = model.usual_limit
    return (Change(f"goals.{number}.{parameter}", value),)
