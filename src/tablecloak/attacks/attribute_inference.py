"""Attribute inference: a model learned from the release predicts sensitive values of people."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.attacks._code_axes import CodeAxis, axes_of, place_of_values
from tablecloak.attacks.base import AttackSuccess, attack, wilson, worst_rows
from tablecloak.attacks.case import Case, Sensitive
from tablecloak.errors import DoesNotApplyError
from tablecloak.rng import child
from tablecloak.values.cell_grammar import format_value

LEARN_FROM = 20_000
MOST_VALUES = 30
BINS = 10
TREES = 30
NO_CONTROL = (
    "there is no control group (--control FILE): part of the success is what any such table teaches about anybody"
)


@attack("attribute-inference", on_request=True)
def attribute_inference(case: Case) -> AttackSuccess:
    """The share of people whose sensitive value a model learned from the release predicts, beside a control group.

    A random forest learns from the published rows; it is asked about up to 2,000 people of the original and, where
    one is given, as many of a control group who are not in the release. Numbers with more than 30 values are
    predicted as one of ten equally frequent ranges. The excess over the control group, (rate - control) / (1 -
    control), is what being in the release costs. Victims are people of the sample who were predicted right; the
    baseline is the control group's rate, or else that of always guessing the most frequent value.
    By guessing: as often as the model is right about the control group or, without one, the most frequent value.
    Stopped by: nothing fully; t-closeness and differential privacy lower the excess. What remains is what the table
    teaches about everybody.
    Reference: Giomi, Boenisch, Wehmeyer, Tasnadi, A unified framework for quantifying privacy risk in synthetic data,
    Proceedings on Privacy Enhancing Technologies 2023.
    """
    if importlib.util.find_spec("sklearn") is None:
        raise DoesNotApplyError("needs scikit-learn: pip install 'tablecloak[ml]'")
    if case.row_of is None:
        raise DoesNotApplyError("needs the original, to know which prediction is right")
    columns = [s for s in case.sensitive if s.originals is not None and s.name in case.group_stats.hist]
    if not columns:
        raise DoesNotApplyError("needs a sensitive column that the release publishes")
    axes = axes_of(case)
    successes = [_finding(case, column, axes) for column in columns]
    return max(successes, key=lambda f: f.average - f.baseline)


def _finding(case: Case, column: Sensitive, axes: list[CodeAxis]) -> AttackSuccess:
    rng = child(case.attacker.seed, "attribute-inference")
    kinds = _kinds(column)
    rows = _drawn(rng, case.n_rows, LEARN_FROM)
    learned = _learned(_published(case, axes, rows), kinds[_shown(case, column, rows, rng)], case.attacker.seed)
    targets = _drawn(rng, case.n_rows, case.attacker.sample)
    assert case.row_of is not None
    assert column.originals is not None
    people = case.row_of[targets]
    truth = kinds[column.originals[people]]
    is_right = learned.predict(_originals(case, axes, people)) == truth
    rate, n = float(is_right.mean()), len(targets)
    frequent = float(np.bincount(kinds[column.originals]).max()) / len(column.originals)
    control = _control(case, column, axes, learned, kinds)
    baseline = frequent if control is None else control[0]
    details: dict[str, Any] = {"column": column.name, "most_frequent_value": frequent}
    if control is not None:
        excess = excess_risk(rate, n, *control)
        details |= {"control_rate": control[0], "control_people": control[1]}
        details |= {"excess": excess[0], "excess_interval": list(excess[1:])}
    worst, rows_of = worst_rows(case, is_right.astype(np.float64), targets)
    return AttackSuccess(
        highest=None, average=rate, n_targets=n, n_victims=int(is_right.sum()), worst=worst, rows_of=rows_of,
        baseline=baseline, interval=wilson(float(is_right.sum()), n), n_sampled=n if n < case.n_rows else None,
        details=details, notes=() if control is not None else (NO_CONTROL,),
    )  # fmt: skip


def excess_risk(rate: float, n: int, control: float, n_control: int) -> tuple[float, float, float]:
    """(rate - control) / (1 - control), at least 0, with 95 % limits from those of both rates."""
    low, high = wilson(rate * n, n)
    low_control, high_control = wilson(control * n_control, n_control)

    def excess(a: float, b: float) -> float:
        return max(0.0, (a - b) / (1 - b)) if b < 1 else 0.0

    return excess(rate, control), excess(low, high_control), excess(high, low_control)


def _control(
    case: Case, column: Sensitive, axes: list[CodeAxis], learned: Any, kinds: IntArray
) -> tuple[float, int] | None:
    """The rate at which people who are not in the release are predicted right, and how many were asked about."""
    frame = case.control
    if frame is None or column.name not in frame.columns or any(a.name not in frame.columns for a in axes):
        return None
    chosen = frame.head(case.attacker.sample)
    features = np.stack([place_of_values(case, axis, chosen[axis.name]) for axis in axes], axis=1)
    place = {label: int(kinds[code]) for code, label in enumerate(column.domain.labels)}
    truth = np.array([place.get(format_value(value), -1) for value in chosen[column.name].to_list()])
    return float((learned.predict(features) == truth).mean()), chosen.height


def _learned(features: FloatArray, values: IntArray, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(TREES, min_samples_leaf=5, random_state=seed % (1 << 32), n_jobs=1)
    return forest.fit(features, values)


def _kinds(column: Sensitive) -> IntArray:
    """What is predicted for every value: itself, or one of ten ranges of numbers with as many people each."""
    domain = column.domain
    assert column.originals is not None
    if domain.numbers is None or domain.n_values <= MOST_VALUES:
        return np.arange(domain.n_values)
    order = np.argsort(domain.numbers, kind="stable")
    counts = np.bincount(column.originals, minlength=domain.n_values)[order]
    middle = (np.cumsum(counts) - counts / 2) / max(1, counts.sum())
    kinds = np.empty(domain.n_values, np.int64)
    kinds[order] = np.minimum((middle * BINS).astype(np.int64), BINS - 1)
    return kinds


def _shown(case: Case, column: Sensitive, rows: IntArray, rng: np.random.Generator) -> IntArray:
    """The sensitive value beside each row; where groups only list their values, one of them is drawn."""
    if column.codes is not None and not case.is_grouped:
        return column.codes[rows]
    hist = case.histogram(column.name)
    running = np.cumsum(hist.counts)
    first = np.concatenate([[0], running])[hist.indptr[:-1]]
    total = hist.records().astype(np.int64)
    groups = case.groups[rows]
    drawn = first[groups] + (rng.random(len(rows)) * total[groups]).astype(np.int64)
    return hist.codes[np.searchsorted(running, drawn, side="right")]


def _drawn(rng: np.random.Generator, n: int, most: int) -> IntArray:
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def _published(case: Case, axes: list[CodeAxis], rows: IntArray) -> FloatArray:
    columns = zip(axes, case.quasi, strict=True)
    return np.stack([axis.texts[quasi.labels[rows]] for axis, quasi in columns], axis=1)


def _originals(case: Case, axes: list[CodeAxis], people: IntArray) -> FloatArray:
    columns = [(axis, quasi.codes) for axis, quasi in zip(axes, case.quasi, strict=True) if quasi.codes is not None]
    return np.stack([axis.codes[codes[people]] for axis, codes in columns], axis=1)
