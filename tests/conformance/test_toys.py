"""The suites themselves: for each kind a toy with one planted bug is found, and its correct twin passes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated

import numpy as np
import polars as pl
import pytest
from checks_algorithms import check_algorithm, frame_of
from checks_kinds import (
    ROAD,
    Shape,
    check_attack,
    check_bad_bytes,
    check_detector,
    check_engine,
    check_finding,
    check_format,
    check_hierarchy,
    check_metric,
    check_shape,
    odd_table,
)
from checks_models import (
    check_claims_of_unions,
    check_evidence,
    check_merging,
    check_model,
    check_order,
    check_text,
    check_verdict,
    guessed,
)
from pydantic import Field
from test_every_finding import CLEAN
from test_every_shape import policies, spoil

from tablecloak import registry
from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.topdown._partition import CutRule, partition
from tablecloak.attacks.base import AttackSuccess, attack
from tablecloak.cli.main import main
from tablecloak.data.table import Role
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.findings.base import Finding, finding
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.hierarchy.kinds.base import HierarchySpec, hierarchy_kind
from tablecloak.io.formats import Format, add_format, format_called
from tablecloak.metrics.base import Amount, metric
from tablecloak.models.base import Monotone, PrivacyModel, Sense, model, one_histogram
from tablecloak.policy.schema import Policy
from tablecloak.profile.detector import Match, detector
from tablecloak.server.steps.hierarchies.service import fitting_kinds
from tablecloak.stats.classes import ClassStats, Evidence

TURNS = iter(range(10**6))


@contextmanager
def registered(kind: str, name: str) -> Iterator[None]:
    """What registers under a name inside is forgotten again."""
    registry.known(kind)
    try:
        yield
    finally:
        registry._known[kind].pop(name, None)


# Models -------------------------------------------------------------------------------------------------------------


def toy_model(bug: str = "") -> PrivacyModel:
    """At most a share of a class holds one value."""
    claims = Monotone.BOTH if bug == "monotone" else Monotone.GENERALIZATION
    evidence = Evidence.SIZE if bug == "evidence" else Evidence.SENSITIVE
    evidence |= Evidence.GUARDS if bug == "unused" else Evidence.SIZE

    @model("toy", evidence=evidence, monotone=claims, sense=Sense.AT_MOST)
    class Toy(PrivacyModel):
        """No value has a share above `most` in any class.

        Protects from: confident guesses. Not from: record linkage.
        """

        most: Annotated[float, Field(gt=0, le=1, description="largest share; 0.5 is usual")]

        @property
        def required(self) -> float:
            return self.most

        @property
        def min_size(self) -> int:
            return 9 if bug == "size" else 1

        def levels(self, stats: ClassStats) -> np.ndarray:
            hist = one_histogram(stats, None, "toy")
            shares = hist.max_by_class(hist.counts / np.maximum(hist.records(), 1)[hist.entry_class()])
            if bug == "merging":  # the second call about the same classes says something else
                return shares + next(TURNS) / 1000
            if bug == "table":
                return shares + (hist.totals.sum() % 1000) / 100
            return shares * (1 + np.arange(len(shares)) / 50) if bug == "order" else shares

    if bug == "text":
        Toy.__doc__ = "Toy"
    return guessed(Toy)


def test_a_correct_toy_model_passes():
    with registered("models", "toy"):
        check_model(toy_model())


@pytest.mark.parametrize(
    ("bug", "check"),
    [
        ("text", check_text),
        ("merging", check_merging),
        ("table", check_evidence),
        ("order", check_order),
        ("monotone", check_claims_of_unions),
        ("size", check_verdict),
        ("evidence", check_evidence),
        ("unused", check_evidence),
    ],
)
def test_a_planted_bug_in_a_model_is_found(bug, check):
    with registered("models", "toy"), pytest.raises(AssertionError):
        check(toy_model(bug))


# Algorithms ---------------------------------------------------------------------------------------------------------


def toy_algorithm(bug: str = ""):
    @algorithm("toy")
    class Toy:
        """Cut at medians."""

        def refuses(self, goal):
            return "" if bug == "refuses" else "only classes of k" if len(goal.models) > 1 else None

        def solve(self, problem: Problem, progress) -> Solution:
            found = partition(problem, CutRule(by_saving=True, relaxed=False), progress)
            if bug == "goal":
                classes = found.class_of_tuple.copy()
                lonely = (np.append(sides, sides[found.class_of_tuple[:1]], axis=0) for sides in (found.lo, found.hi))
                classes[0] = found.n_classes
                return Solution(classes, *lonely)
            if bug == "cover":
                return replace(found, hi=np.maximum(found.hi - 1, found.lo), tree=None)
            if bug == "limit":
                return replace(found, class_of_tuple=np.where(found.class_of_tuple == 0, -1, found.class_of_tuple))
            if bug == "seed":
                return replace(found, class_of_tuple=(found.class_of_tuple + next(TURNS)) % found.n_classes)
            return found

    return Toy()


def test_a_correct_toy_algorithm_passes():
    with registered("algorithms", "toy"):
        check_algorithm(toy_algorithm())


@pytest.mark.parametrize("bug", ["refuses", "goal", "cover", "limit", "seed"])
def test_a_planted_bug_in_an_algorithm_is_found(bug):
    with registered("algorithms", "toy"), pytest.raises(AssertionError):
        check_algorithm(toy_algorithm(bug))


# Metrics ------------------------------------------------------------------------------------------------------------


def toy_metric(bug: str = ""):
    def toy(counts):
        losses = float(counts.column_losses().mean())
        if bug == "order":
            losses = float(counts.sizes @ np.arange(len(counts.sizes))) + losses
        return Amount(np.nan if bug == "number" else -losses if bug == "range" else losses)

    toy.__doc__ = "" if bug == "text" else "Mean loss of a column."
    return metric("toy")(toy)


def test_a_correct_toy_metric_passes():
    with registered("metrics", "toy"):
        check_metric(toy_metric())


@pytest.mark.parametrize("bug", ["number", "range", "text"])
def test_a_planted_bug_in_a_metric_is_found(bug):
    with registered("metrics", "toy"), pytest.raises(AssertionError):
        check_metric(toy_metric(bug))


# Attacks ------------------------------------------------------------------------------------------------------------


def toy_attack(bug: str = ""):
    def toy(case):
        chances = 1 / case.sizes
        average = float(chances.mean()) * (30 if bug == "chance" else 1)
        average = float(chances[0]) * 0.9 if bug == "order" else average
        n = case.n_rows
        worst = (n + 1,) if bug == "row" else (1,)
        victims = n + 1 if bug == "victims" else int((chances > 0.5).sum())
        highest = max(float(chances.max()), average) if bug == "chance" else float(chances.max())
        return AttackSuccess(highest, average, 1 / n, n, victims, worst=worst)

    toy.__doc__ = "Guess the row of a person.\n\nStopped by: large classes." if bug != "text" else "Guess."
    return attack("toy")(toy)


def test_a_correct_toy_attack_passes():
    with registered("attacks", "toy"):
        check_attack(toy_attack())


@pytest.mark.parametrize("bug", ["chance", "order", "row", "victims", "text"])
def test_a_planted_bug_in_an_attack_is_found(bug):
    with registered("attacks", "toy"), pytest.raises(AssertionError):
        check_attack(toy_attack(bug))


# Detectors ----------------------------------------------------------------------------------------------------------


def toy_detector(bug: str = ""):
    @detector("toy")
    def toy(column):
        """Codes that begin with TOY."""
        if bug == "gaps" and column.n_missing:
            return None
        if not (column.sample or bug == "empty") or not all(text.startswith("TOY") for text in column.sample):
            return None
        shown = column.sample[0] if bug == "value" and column.sample else "toy"
        return Match(shown, Role.KEEP, "a toy", 0.7)

    return toy


def test_a_correct_toy_detector_passes():
    with registered("detectors", "toy"):
        check_detector(toy_detector(), ("x", ["TOY-12", "TOY-13"]))


@pytest.mark.parametrize("bug", ["gaps", "empty", "value"])
def test_a_planted_bug_in_a_detector_is_found(bug):
    with registered("detectors", "toy"), pytest.raises(AssertionError):
        check_detector(toy_detector(bug), ("x", ["TOY-12", "TOY-13"]))


# Hierarchy kinds ----------------------------------------------------------------------------------------------------


def toy_hierarchy(bug: str = "") -> HierarchySpec:
    @hierarchy_kind("toy", types=("integer",), offered=("integer", "text") if bug == "offered" else None)
    class Toy(HierarchySpec):
        """Intervals that are 10 wide."""

        step: Annotated[int, Field(exclude=bug == "policy")] = 10

        def over(self, column):
            step = self.step
            lower = {v: (v // step * step) + (step if bug == "label" and v == 12 else 0) for v in column.values}
            paths = [[str(v), f"[{lower[v]}, {lower[v] + step})", "*"] for v in column.values]
            return Hierarchy.from_paths([path for path in paths if not (bug == "lost" and path[0] == "12")])

    if bug == "text":
        Toy.__doc__ = ""
    return Toy(step=5)


def test_a_correct_toy_hierarchy_passes_and_can_be_listed_explained_and_asked_for(capsys):
    with registered("hierarchies", "toy"):
        check_hierarchy(toy_hierarchy(), [3, 7, 12, 18, 25], "integer")
        assert main(["list", "hierarchies", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["hierarchies"][-1] == {
            "name": "toy", "summary": "Intervals that are 10 wide.", "parameters": ["step"],
        }  # fmt: skip
        assert main(["explain", "toy", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["kind"] == "hierarchy"
        assert "toy" in fitting_kinds("integer")
        assert "toy" not in fitting_kinds("text")


@pytest.mark.parametrize("bug", ["label", "lost", "text", "offered", "policy"])
def test_a_planted_bug_in_a_hierarchy_is_found(bug):
    with registered("hierarchies", "toy"), pytest.raises(AssertionError):
        check_hierarchy(toy_hierarchy(bug), [3, 7, 12, 18, 25], "integer")


# Formats ------------------------------------------------------------------------------------------------------------


def toy_format(bug: str = "") -> Format:
    """Parquet under another name."""
    parquet = format_called("parquet")

    def sniffed(source, compression):
        return replace(parquet.sniff(source, compression), format="toy")

    def read(reading):
        frame = parquet.read(reading)
        return frame.with_columns(pl.col("text").fill_null("")) if bug == "nulls" else frame

    return add_format(replace(parquet, name="toy", suffixes=(), sniff=sniffed, read=read, stream=None, sink=None))


def test_a_correct_toy_format_passes(tmp_path):
    with registered("formats", "toy"):
        check_format(toy_format(), tmp_path, odd_table())
        check_bad_bytes(toy_format(), tmp_path)


def test_a_planted_bug_in_a_format_is_found(tmp_path):
    with registered("formats", "toy"), pytest.raises(AssertionError):
        check_format(toy_format("nulls"), tmp_path, odd_table())


# Engines ------------------------------------------------------------------------------------------------------------


class Forgetful(LocalEngine):
    """Loses a row where cells are missing."""

    def select(self, table, columns, *, without_missing=()):
        rest = super().select(table, columns, without_missing=without_missing)
        return type(rest)(rest.frame.head(-1), rest.types, rest.name) if without_missing else rest


def test_a_planted_bug_in_an_engine_is_found(tmp_path):
    path = tmp_path / "people.csv"
    frame_of(1, 40).write_csv(path)
    check_engine(LocalEngine(), LocalEngine(), path)
    with pytest.raises(AssertionError):
        check_engine(Forgetful(), LocalEngine(), path)


# Shapes -------------------------------------------------------------------------------------------------------------


def test_a_planted_bug_in_a_shape_is_found(tmp_path):
    written = {**policies(tmp_path)["classes"], "output": str(tmp_path / "release.txt")}
    policy = Policy.model_validate(written)
    remembered = {}

    def run(policy):
        remembered["first"] = ROAD.run(policy)
        return remembered["first"]

    blind = Shape(run, lambda *_: remembered["first"])  # says what the run said, whatever stands in the file
    check_shape(ROAD, policy, spoil)
    with pytest.raises(AssertionError):
        check_shape(blind, policy, spoil)


# Findings -----------------------------------------------------------------------------------------------------------


def toy_finding(bug: str = ""):
    @finding("toy")
    def toy(shown):
        """A column is called serial."""
        names = shown.outside if bug == "always" else [n for n in shown.outside if n == "serial" and bug != "never"]
        for name in names:
            what = "the value 1021 is there" if bug == "cell" else f"'{name}' is published"
            yield Finding("toy", what, shown.drop(name), column=name, share=2.0 if bug == "share" else 0.5)

    return toy


PLANTED = replace(CLEAN, outside=("ward", "serial"))


def test_a_correct_toy_finding_passes():
    with registered("findings", "toy"):
        check_finding(toy_finding(), PLANTED, CLEAN, {"serial": 1021})


@pytest.mark.parametrize("bug", ["always", "never", "cell", "share"])
def test_a_planted_bug_in_a_finding_is_found(bug):
    with registered("findings", "toy"), pytest.raises(AssertionError):
        check_finding(toy_finding(bug), PLANTED, CLEAN, {"serial": 1021})
