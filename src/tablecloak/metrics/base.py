"""The metric seam: a metric is a function from the counts of a release to one number."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.errors import DoesNotApplyError
from tablecloak.metrics.compared_records import ComparedRecords
from tablecloak.metrics.release_details import ColumnDetails, Details, Weighed
from tablecloak.registry import find, known, register
from tablecloak.rng import child

P = ParamSpec("P")
_on_request: set[str] = set()
# Not measured without being asked for: one holds every class against every original, one says little beside iloss.
_DEAR = ("ambiguity-data", "iloss-domain")


@dataclass(frozen=True, slots=True, eq=False)
class ClassSums:
    """What the usual metrics add up over classes: enough of a release whose classes nobody holds together."""

    n_classes: int
    n_records: int
    n_kept: int  # records of classes that are as large as was asked for
    squares: int  # squares of the sizes of these classes, added up
    losses: FloatArray  # (n_columns,) losses of all records
    least: FloatArray  # (n_columns,) the least loss of any class

    @classmethod
    def of(cls, sizes: IntArray, losses: FloatArray, k: int) -> ClassSums:
        """The sums of classes with these sizes, (n_classes,), and losses, (n_classes, n_columns)."""
        kept = sizes[sizes >= k]
        # squares of sizes overflow 64 bits only beyond 3e9 records in one class
        return cls(
            len(sizes), int(sizes.sum()), int(kept.sum()), int((kept * kept).sum()), sizes @ losses,
            losses.min(axis=0, initial=1.0),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class ReleaseCounts:
    """What metrics look at: the classes of a release, what each lost on every quasi-identifier, what was left out."""

    sizes: IntArray  # (n_classes,) published records
    losses: FloatArray  # (n_classes, n_columns) NCP of the published values, 0 exact, 1 anything
    columns: tuple[str, ...]  # quasi-identifiers
    n_suppressed: int = 0  # records of the original that are not published
    k: int | None = None  # class size asked for, if any
    weights: tuple[float, ...] | None = None  # (n_columns,) importance; None means all alike
    look_closer: Callable[[], Details] | None = None  # counts what only some metrics ask for
    weigh: Callable[[], Weighed] | None = None  # what weights of a survey say; None: there are none

    @cached_property
    def sums(self) -> ClassSums:
        """What is added up over all classes."""
        return ClassSums.of(self.sizes, self.losses, self.k or 1)

    @cached_property
    def details(self) -> Details:
        """What only some metrics ask for, counted when the first of them does."""
        if self.look_closer is None:
            raise DoesNotApplyError("only class sizes and losses were counted")
        return self.look_closer()

    @cached_property
    def weighed(self) -> Weighed:
        """What weights of a survey say of the release."""
        if self.weigh is None:
            raise DoesNotApplyError("no column has the role weight")
        return self.weigh()

    @property
    def cells(self) -> tuple[ColumnDetails, ...]:
        """What each class publishes, by column."""
        if self.details.are_exact:
            raise DoesNotApplyError("cells are exact; groups only cut the link between columns")
        return self.details.columns

    @cached_property
    def records(self) -> ComparedRecords:
        """Originals and published records over the same columns, counted when the first metric asks for them."""
        make = self.details.records
        if make is None:
            raise DoesNotApplyError("the originals were not kept")
        records = make()
        if records.is_paired:  # a sample, its suppressed records included
            return records
        return records.grouped().with_suppressed(self.n_suppressed).sampled(child(0, "originals"))

    @property
    def n_records(self) -> int:
        """Published records."""
        return self.sums.n_records

    @property
    def n_rows(self) -> int:
        """Records of the original."""
        return self.n_records + self.n_suppressed

    def importance(self) -> FloatArray:
        """Weights of the columns, scaled to sum to 1, (n_columns,)."""
        weights = np.ones(len(self.columns)) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        return weights / max(float(weights.sum()), np.finfo(np.float64).tiny)

    def mean_weights(self) -> FloatArray:
        """Weights of the columns, scaled to a mean of 1, (n_columns,)."""
        if self.weights is None or len(set(self.weights)) == 1:
            return np.ones(len(self.columns))
        return self.importance() * len(self.columns)

    def by_column(self, values: FloatArray) -> dict[str, float]:
        """Numbers given in the order of the columns, by name."""
        return dict(zip(self.columns, values.tolist(), strict=True))

    def column_losses(self) -> FloatArray:
        """Mean loss of every column over the records of the original, suppressed ones losing 1, (n_columns,)."""
        return (self.sums.losses + self.n_suppressed) / max(1, self.n_rows)


class SummedCounts(ReleaseCounts):
    """The counts of a release of which only sums are here; single classes do not apply."""

    def __init__(
        self, sums: ClassSums, columns: tuple[str, ...], n_suppressed: int, k: int, weights: tuple[float, ...]
    ) -> None:
        nothing = np.zeros(0, np.int64)
        super().__init__(nothing, np.zeros((0, len(columns))), columns, n_suppressed, k, weights)
        self.__dict__["sums"] = sums
        del self.__dict__["sizes"], self.__dict__["losses"]

    def __getattr__(self, name: str) -> Any:
        if name in ("sizes", "losses"):
            raise DoesNotApplyError("classes stayed with the workers, and only sums were counted")
        raise AttributeError(name)


@dataclass(frozen=True, slots=True)
class Amount:
    """A measured number, with its parts by column where it has any."""

    value: float
    per_column: Mapping[str, float] | None = None
    error: float | None = None  # standard error, where the number comes from a sample
    note: str | None = None  # what it was counted on, where that is not everything


@dataclass(frozen=True, slots=True)
class Measurement:
    """A named number about a release; lower is better unless it says otherwise."""

    name: str
    value: float
    description: str
    per_column: Mapping[str, float] | None = None
    higher_is_better: bool = False
    reason: str | None = None  # why there is no value
    error: float | None = None  # standard error, where the value comes from a sample
    note: str | None = None  # what it was counted on, where that is not everything

    def to_dict(self) -> dict[str, Any]:
        """Plain data; a value that is not finite becomes null."""
        return {
            "name": self.name,
            "value": self.value if np.isfinite(self.value) else None,
            "description": self.description,
            "per_column": self.per_column,
            **({"higher_is_better": True} if self.higher_is_better else {}),
            **({"reason": self.reason} if self.reason else {}),
            **({"error": self.error} if self.error is not None else {}),
            **({"note": self.note} if self.note else {}),
        }


def metric(
    name: str, *, on_request: bool = False, higher_is_better: bool = False
) -> Callable[[Callable[Concatenate[ReleaseCounts, P], Amount]], Callable[Concatenate[ReleaseCounts, P], Measurement]]:
    """Register a function as a metric; line 1 of its docstring is the description that reports show.

    Args:
        on_request: measured only where it is named, because it costs time or says little to most readers.
    """
    if on_request:
        _on_request.add(name)

    def decorate(
        amount: Callable[Concatenate[ReleaseCounts, P], Amount],
    ) -> Callable[Concatenate[ReleaseCounts, P], Measurement]:
        description = (amount.__doc__ or "").partition("\n")[0]

        @wraps(amount)
        def measured(counts: ReleaseCounts, /, *args: P.args, **kwargs: P.kwargs) -> Measurement:
            try:
                result = amount(counts, *args, **kwargs)
            except DoesNotApplyError as exc:
                return Measurement(name, np.nan, description, None, higher_is_better, str(exc))
            return Measurement(
                name, result.value, description, result.per_column, higher_is_better, None, result.error, result.note
            )

        return register("metrics", name)(measured)

    return decorate


def every() -> list[str]:
    """Names of all metrics, those included that are measured only on request."""
    return list(known("metrics"))


def for_reports(counts: ReleaseCounts, *, without: Collection[str] = ()) -> list[Measurement]:
    """Every metric that applies to a release and costs little, on request or not."""
    measurements = measure(counts, [name for name in every() if name not in _DEAR and name not in without])
    return [m for m in measurements if m.reason is None and np.isfinite(m.value)]


def measure(counts: ReleaseCounts, names: Iterable[str] | None = None) -> list[Measurement]:
    """The named metrics of a release, or all that are not kept for requests."""
    chosen = [name for name in every() if name not in _on_request] if names is None else names
    return [find("metrics", name)(counts) for name in chosen]
