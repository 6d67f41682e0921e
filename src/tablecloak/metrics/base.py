"""The metric seam: a metric is a function from the counts of a release to one number, lower is better."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeAlias

import numpy as np

from tablecloak.registry import find, known, register
from tablecloak.stats.classes import FloatArray, IntArray

__all__ = ["Amount", "Measurement", "ReleaseCounts", "measure", "metric"]


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseCounts:
    """What metrics look at: the classes of a release, what each lost on every quasi-identifier, what was left out."""

    sizes: IntArray  # (n_classes,) published records
    losses: FloatArray  # (n_classes, n_columns) NCP of the published values, 0 exact, 1 anything
    columns: tuple[str, ...]  # quasi-identifiers
    n_suppressed: int = 0  # records of the original that are not published
    k: int | None = None  # class size asked for, if any
    weights: tuple[float, ...] | None = None  # (n_columns,) importance; None means all alike

    @property
    def n_records(self) -> int:
        """Published records."""
        return int(self.sizes.sum())

    @property
    def n_rows(self) -> int:
        """Records of the original."""
        return self.n_records + self.n_suppressed

    def importance(self) -> FloatArray:
        """Weights of the columns, scaled to sum to 1, (n_columns,)."""
        weights = np.ones(len(self.columns)) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        return weights / max(float(weights.sum()), np.finfo(np.float64).tiny)

    def column_losses(self) -> FloatArray:
        """Mean loss of every column over the records of the original, suppressed ones losing 1, (n_columns,)."""
        return (self.sizes @ self.losses + self.n_suppressed) / max(1, self.n_rows)


@dataclass(frozen=True, slots=True)
class Amount:
    """A measured number, with its parts by column where it has any."""

    value: float
    per_column: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """A named number about a release; lower is better."""

    name: str
    value: float
    description: str
    per_column: Mapping[str, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data; a value that is not finite becomes null."""
        value = self.value if np.isfinite(self.value) else None
        return {"name": self.name, "value": value, "description": self.description, "per_column": self.per_column}


Metric: TypeAlias = Callable[[ReleaseCounts], Measurement]


def metric(name: str) -> Callable[[Callable[[ReleaseCounts], Amount]], Metric]:
    """Register a function as a metric; line 1 of its docstring is the description that reports show."""

    def decorate(amount: Callable[[ReleaseCounts], Amount]) -> Metric:
        description = (amount.__doc__ or "").partition("\n")[0]

        @wraps(amount)
        def measured(counts: ReleaseCounts) -> Measurement:
            found = amount(counts)
            return Measurement(name, found.value, description, found.per_column)

        return register("metrics", name)(measured)

    return decorate


def measure(counts: ReleaseCounts, names: Iterable[str] | None = None) -> list[Measurement]:
    """The named metrics of a release, or all that are known."""
    return [find("metrics", name)(counts) for name in (known("metrics") if names is None else names)]
