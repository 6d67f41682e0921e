"""Learning: models trained on a release, tested on originals, beside models trained on originals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.errors import DataError, MissingExtra, PolicyError, did_you_mean
from tablecloak.metrics.compared_records import ComparedRecords, RecordColumn, bins_of, weighted_counts
from tablecloak.rng import child

MOST_TRAINED, MOST_TESTED = 20_000, 10_000
MOST_LEARNED = MOST_TRAINED + MOST_TESTED
TEST_SHARE = 0.3
# Numbers with more values than this are predicted by quarter; of categories the most frequent stay, others are one.
MOST_TARGETS, NUMBER_TARGETS = 20, 4
MOST_FEATURES = 24
LEAK = "released rows of test records could not be told apart and were trained on"


@dataclass(frozen=True, slots=True)
class Learning:
    """Shares of test records whose target was predicted rightly."""

    target: str
    learner: str
    n_targets: int  # different values to predict
    majority: float  # always saying the most frequent value
    original: float  # trained on originals
    release: float  # trained on the release
    error: float  # standard error of either accuracy, from the number of test records
    n_tested: int
    n_trained: int
    notes: tuple[str, ...] = ()

    @property
    def kept(self) -> float | None:
        """How much of the gain over the majority a model trained on the release keeps; None where there is none."""
        gain = self.original - self.majority
        return (self.release - self.majority) / gain if gain > self.error else None

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "notes": list(self.notes), "kept": self.kept}


def learn(
    records: ComparedRecords, target: str, *, learner: str = "forest", is_aligned: bool = False, seed: int = 0
) -> Learning:
    """Accuracy of a model trained on the release and tested on originals, against training on originals.

    Both predict the same held-out originals. Released cells enter as the mean of what they cover.

    Args:
        records: originals and published records, row by row.
        is_aligned: row i of the release is row i of the original, so that test records are kept out of its training.

    Raises: DataError if there is no such column, MissingExtra without scikit-learn.
    """
    model = _model(learner)
    aim = records.column(target)
    if aim is None:
        names = [column.name for column in records.columns]
        hint = did_you_mean(target, names) or f"columns that both tables have: {', '.join(names)}"
        raise DataError(f"there is no column '{target}' to predict", hint=hint)
    random = child(seed, "learning")
    value_of_code, n_targets = _targets(records, aim)
    features = [c for c in records.columns if c is not aim]
    if n_targets < 2 or not features:
        raise DataError(f"column '{target}' cannot be predicted", hint="it needs two values and another column")
    tested, trained = _split(len(records.weights_before), random)
    published = trained if is_aligned else random.permutation(len(records.weights_after))[:MOST_TRAINED]
    published = published[~_says_nothing(features, published)]
    if not len(published):
        raise DataError("nothing of the release says anything to learn from", hint="less generalization")
    tables = [_code_features(records, column) for column in features]
    cells = [_cell_means(c, table) for c, table in zip(features, tables, strict=True)]
    right = value_of_code[aim.before[tested]]
    own_values = value_of_code[aim.before[trained]]
    shown = _rows(tables, [c.before[tested] for c in features])

    def accuracy(inputs: FloatArray, outputs: IntArray) -> float:
        if len(np.unique(outputs)) < 2:
            return float((right == outputs[0]).mean())
        return float((model(seed).fit(inputs, outputs).predict(shown) == right).mean())

    own = accuracy(_rows(tables, [c.before[trained] for c in features]), own_values)
    released_values = value_of_code[aim.drawn(aim.cells[published], random)]
    released = accuracy(_rows(cells, [c.cells[published] for c in features]), released_values)
    return Learning(
        target=target,
        learner=learner,
        n_targets=n_targets,
        majority=float((right == np.bincount(own_values).argmax()).mean()),
        original=own,
        release=released,
        error=float(np.sqrt(max(own * (1 - own), released * (1 - released)) / len(tested))),
        n_tested=len(tested),
        n_trained=max(len(trained), len(published)),
        notes=() if is_aligned else (LEAK,),
    )


def _says_nothing(columns: Sequence[RecordColumn], rows: IntArray) -> BoolArray:
    """Records that may have any value in every column, such as suppressed ones."""
    sizes = [(column.coverage.sizes()[column.cells[rows]], column.n_codes) for column in columns]
    says_nothing: BoolArray = np.logical_and.reduce([(covered == n) & (n > 1) for covered, n in sizes])
    return says_nothing


def _rows(tables: Sequence[FloatArray], places: Sequence[NDArray[np.integer[Any]]]) -> FloatArray:
    """Features of records, given by the code or cell each has in every column."""
    return np.concatenate([table[place] for table, place in zip(tables, places, strict=True)], axis=1)


def _split(n: int, random: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Rows to test on and rows to train on."""
    order = random.permutation(n)
    n_tested = min(MOST_TESTED, max(1, round(TEST_SHARE * n)))
    return order[:n_tested], order[n_tested : n_tested + MOST_TRAINED]


def _targets(records: ComparedRecords, column: RecordColumn) -> tuple[IntArray, int]:
    """What is predicted for every code: the value itself, a quarter of many numbers, or `other` for rare categories."""
    weights = weighted_counts(column.before, records.weights_before, column.n_codes)
    if column.n_codes <= MOST_TARGETS:
        return np.arange(column.n_codes), int(np.count_nonzero(weights))
    if column.places is not None:
        return bins_of(weights, NUMBER_TARGETS)
    return _most_frequent(weights, MOST_TARGETS)


def _most_frequent(weights: FloatArray, most: int) -> tuple[IntArray, int]:
    """Number of every code among the most frequent ones; all others share the last number."""
    order = np.argsort(-weights, kind="stable")
    numbers = np.full(len(weights), most - 1)
    numbers[order[: most - 1]] = np.arange(min(most - 1, len(weights)))
    return numbers, min(most, len(weights))


def _code_features(records: ComparedRecords, column: RecordColumn) -> FloatArray:
    """What a model sees of every code: its place for numbers and dates, else one column per frequent value."""
    if column.places is not None:
        is_missing = np.isnan(column.places)
        place = np.where(is_missing, 0.0, column.places)
        return np.stack([place, is_missing], axis=1).astype(np.float64) if is_missing.any() else place[:, None]
    weights = weighted_counts(column.before, records.weights_before, column.n_codes)
    numbers, n = _most_frequent(weights, MOST_FEATURES)
    return np.asarray(numbers[:, None] == np.arange(n), dtype=np.float64)


def _cell_means(column: RecordColumn, of_code: FloatArray) -> FloatArray:
    """Mean over the codes that every cell covers, (n_cells, n_features)."""
    running = np.concatenate([np.zeros((1, of_code.shape[1])), np.cumsum(of_code, axis=0)])
    coverage = column.coverage
    sums = running[coverage.hi + 1] - running[coverage.lo]
    for cell, members in coverage.sets.items():
        sums[cell] = of_code[sorted(members)].sum(axis=0)
    means: FloatArray = sums / np.maximum(coverage.sizes(), 1)[:, None]
    return means


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=60, min_samples_leaf=5, random_state=seed)


def _logistic(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=500, random_state=seed))


def _tree(seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(min_samples_leaf=10, random_state=seed)


def _bayes(seed: int) -> Any:  # noqa: ARG001
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB(var_smoothing=1e-3)


LEARNERS: dict[str, Callable[[int], Any]] = {"forest": _forest, "logistic": _logistic, "tree": _tree, "bayes": _bayes}


def is_installed() -> bool:
    """Whether the package is there that models are learned with."""
    return find_spec("sklearn") is not None


def _model(learner: str) -> Callable[[int], Any]:
    if learner not in LEARNERS:
        hint = did_you_mean(learner, LEARNERS) or f"known: {', '.join(LEARNERS)}"
        raise PolicyError(f"unknown learner '{learner}'", hint=hint)
    try:
        import sklearn  # noqa: F401
    except ImportError as exc:
        raise MissingExtra("learning needs scikit-learn", hint="pip install 'tablecloak[ml]'") from exc
    return LEARNERS[learner]
