"""Outcomes of runs and checks, as values: what was found, what was done and what it cost."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak import looks
from tablecloak.algorithms import solution_metrics
from tablecloak.algorithms.base import Solution
from tablecloak.arrays import FloatArray
from tablecloak.attacks.base import AttackResult
from tablecloak.attacks.row_classes import classes_of
from tablecloak.data.coded import CodedTable
from tablecloak.engines.base import Answer, Coding, OnDemand
from tablecloak.engines.row_samples import sample_of
from tablecloak.errors import DoesNotApplyError
from tablecloak.findings.base import Finding, Status
from tablecloak.io.places import Place
from tablecloak.looks import ShowsItself
from tablecloak.metrics.base import ClassSums, Measurement, ReleaseCounts, SummedCounts, for_reports, measure
from tablecloak.metrics.learning import MOST_LEARNED, Learning, learn
from tablecloak.metrics.release_details import Details, Target, Weighed
from tablecloak.models.base import PrivacyModel, parameters
from tablecloak.policy.schema import Policy
from tablecloak.release.facts.subject import Subject
from tablecloak.release.moments import MomentFacts
from tablecloak.release.plan import MadeColumn, Plan, side_output_path
from tablecloak.release.population import odd_weights
from tablecloak.release.recount import Verification
from tablecloak.stats.classes import ClassStats, Counted, Histogram

# The weight of every original, (n_rows,), where it is asked for.
Weights = Callable[[], FloatArray]
# What a run says where one of its columns is the weight of a survey.
WEIGHED = ("weighted-loss", "individual-risk", "reidentification-rate", "expected-population-uniques")
# What a report says about utility beside the metrics of every run.
REPORTED = (
    "query-error", "contingency-error", "association-error", "correlation-error", "propensity", "hellinger", "lp-norm",
    "kl", "emd",
)  # fmt: skip


def _peak_memory_bytes() -> int:
    """The most memory this process has held; `ru_maxrss` of Linux would count the process that started it, too."""
    with suppress(OSError), Path("/proc/self/status").open(encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


@dataclass(frozen=True, slots=True, repr=False)
class RunReport(ShowsItself):
    """What a run found, did and cost."""

    verification: Verification
    measurements: list[Measurement]
    seconds: Mapping[str, float]
    goals: list[str]
    algorithm: str
    engine: str
    n_missing_dropped: int = 0
    notes: tuple[str, ...] = ()
    output: str | None = None
    side_output: str | None = None  # the sensitive columns, where they have a table of their own
    recoding: str | None = None
    report: str | None = None
    certificate: str | None = None
    engine_reason: str = ""  # why this engine
    learning: Learning | None = None  # what models learn from the release, where a target was chosen
    peak_memory_bytes: int = field(default_factory=_peak_memory_bytes)
    transforms: tuple[MadeColumn, ...] = ()  # columns that are published as transforms make them
    attacks: tuple[AttackResult, ...] = ()  # what attackers reach on these
    moments: MomentFacts | None = None  # means, deviations and correlations of these, before and after
    detailed_loss: float | None = None  # what detailed labels would lose, where few were asked for
    subject: Subject | None = field(default=None, repr=False)  # what its documents say, where any were written

    @property
    def loss(self) -> float | None:
        """Global certainty penalty, 0 nothing lost, 1 everything."""
        return next((m.value for m in self.measurements if m.name == "gcp"), None)

    @property
    def status(self) -> Status:
        """Whether the release can be handed over: ready, accepted, findings, unchecked or fails."""
        return self.verification.status

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What besides the goals singles people out in the release."""
        return self.verification.findings

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak run --json`."""
        return {
            **self.verification.to_dict(),
            **({"notes": notes} if (notes := [*self.notes, *self.verification.notes]) else {}),
            "loss": self.loss,
            **({} if self.detailed_loss is None else {"detailed_loss": self.detailed_loss}),
            "metrics": {m.name: m.to_dict() for m in self.measurements},
            **({"learning": self.learning.to_dict()} if self.learning else {}),
            **({"transforms": [made.to_dict() for made in self.transforms]} if self.transforms else {}),
            **({"attacks": [result.to_dict() for result in self.attacks]} if self.attacks else {}),
            **({"moments": self.moments.to_dict()} if self.moments else {}),
            "dropped_for_missing": self.n_missing_dropped,
            "goals": self.goals,
            "algorithm": self.algorithm,
            "engine": self.engine,
            **({"engine_reason": self.engine_reason} if self.engine_reason else {}),
            "seconds": {phase: round(s, 4) for phase, s in self.seconds.items()},
            "peak_memory_bytes": self.peak_memory_bytes,
            "output": self.output,
            **({"side_output": self.side_output} if self.side_output else {}),
            "recoding": self.recoding,
            "report": self.report,
            "certificate": self.certificate,
        }

    def __str__(self) -> str:
        return looks.text(self)

    def __rich__(self) -> Any:
        return looks.rich(self)


@dataclass(frozen=True, slots=True, repr=False)
class CheckReport(ShowsItself):
    """Whether a policy is sound and its goal can be reached."""

    goals: list[str]
    algorithm: str
    engine: str
    rows: int | None = None
    columns: int | None = None
    quasi: tuple[str, ...] = ()
    tuples: int | None = None
    feasible: bool | None = None
    loss: float | None = None
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()  # those that do not need a release
    transforms: tuple[MadeColumn, ...] = ()
    sampled_rows: int | None = None  # that the loss was estimated from; None: it is what a search came to
    not_shown: str | None = None  # why it is not known whether the goal can be reached

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak check --json`."""
        plain = {n: list(v) if isinstance(v := getattr(self, n), tuple) else v for n in self.__slots__}
        for name in ("sampled_rows", "not_shown"):
            if plain[name] is None:
                del plain[name]
        transforms = plain.pop("transforms")
        changed = {"transforms": [made.to_dict() for made in transforms]} if transforms else {}
        return {**plain, **changed, "findings": [finding.to_dict() for finding in self.findings]}


def counts_of(coding: Coding, answer: Answer, plan: Plan, weights: Weights | None = None) -> ReleaseCounts:
    """What metrics measure of a solution.

    Args:
        weights: the weight of every original, where one of the columns is that of a survey.
    """
    solution = answer.solution
    is_here = len(solution.class_of_tuple) == coding.n_tuples  # of a large table, the classes of tuples are on disk
    if is_here:
        look = solution_metrics.of_table(lambda: coding.table)
    else:
        sample = lambda: sample_of(coding, answer)  # noqa: E731
        look = solution_metrics.of_sample(sample, coding.domains, coding.n_rows, coding.originals)
    weigh = None if weights is None else _weigher(coding, weights)
    return solution_metrics.counts(
        coding.domains, solution, answer.sizes, coding.n_rows, plan.goal.min_size, look, weigh
    )


def summed(coding: Coding, sums: ClassSums, plan: Plan) -> ReleaseCounts:
    """The same of a solution whose classes lie elsewhere, for metrics that need no more than sums."""
    domains = coding.domains
    return SummedCounts(
        sums, tuple(d.name for d in domains), coding.n_rows - sums.n_records, plan.goal.min_size,
        tuple(d.weight for d in domains),
    )  # fmt: skip


def _weigher(coding: Coding, weights: Weights) -> solution_metrics.Weigh:
    """Adds up the weights of rows in memory, or else of tuples, where a goal had them counted."""

    def weigh(solution: Solution, united: solution_metrics.United) -> Weighed:
        codes: list[NDArray[np.integer[Any]]]
        if coding.codes:
            classes, codes = solution.class_of_row(coding.table), [coding.codes[d.name] for d in coding.domains]
            of_row, n_equal = weights(), None
        else:
            table, number = _tuples_with_weights(coding, solution)
            classes, codes = solution.class_of_tuple, [table.quasi_codes(i) for i in range(table.space.n_dims)]
            numbers = table.sensitive[number].numbers
            assert numbers is not None
            of_row, n_equal = numbers[table.sensitive_codes(number)], table.weights if len(table.weights) else None
        combinations, _ = classes_of(codes, len(classes))
        return Weighed.of_rows(united.of(classes), len(united.firsts), of_row, combinations, n_equal)

    return weigh


def _tuples_with_weights(coding: Coding, solution: Solution) -> tuple[CodedTable, int]:
    """The tuples of a table, and which of their attributes is the weight."""
    number = next((i for i, s in enumerate(coding.sensitive) if s.kind is Counted.WEIGHT), None)
    if number is None or len(coding.shards) != 1 or len(solution.class_of_tuple) != coding.n_tuples:
        raise DoesNotApplyError("weights are added up in memory; of a finished release, compare does it")
    return coding.table, number


def weights_in(frame: pl.DataFrame, column: str) -> FloatArray:
    """The weight of every row, (n_rows,); raises DoesNotApplyError where cells are no numbers of people."""
    if odd_weights(frame[column]):
        raise DoesNotApplyError(f"cells of the column '{column}' are empty, negative or no numbers")
    return frame[column].cast(pl.String).cast(pl.Float64).to_numpy()


def _reported(counts: ReleaseCounts) -> list[Measurement]:
    """The metrics that a report shows: those of every run, those of utility, and what else applies and is cheap."""
    measurements = [*measure(counts), *measure(counts, REPORTED)]
    return [*measurements, *for_reports(counts, without={m.name for m in measurements})]


def with_targets(counts: ReleaseCounts, coding: Coding, classes: Sequence[ClassStats]) -> ReleaseCounts:
    """The counts with the targets of all classes as they were recounted, where a large table has them on disk."""

    def look() -> Details:
        details = counts.details
        return details if details.targets is not None else replace(details, targets=_targets(coding, classes))

    return replace(counts, look_closer=look) if classes else counts


def _targets(coding: Coding, classes: Sequence[ClassStats]) -> dict[str, Target]:
    originals = {domain.name: domain for domain in coding.sensitive if domain.kind is Counted.SENSITIVE}
    histograms = classes[0].hist_of(Counted.SENSITIVE)

    def of_parts(name: str) -> OnDemand[Histogram]:  # parts on disk are read anew on each walk, one at a time
        return OnDemand(len(classes), lambda part: classes[part].hist[name])

    return {name: Target.matched(of_parts(name), histograms[name].domain, before, coding.totals[name])
            for name, before in originals.items() if name in histograms}  # fmt: skip


def with_utility(report: RunReport, counts: ReleaseCounts, plan: Plan) -> RunReport:
    """The report of a run with what a page says about utility."""
    return replace(report, measurements=_reported(counts), learning=_learned(counts, plan))


def _learned(counts: ReleaseCounts, plan: Plan) -> Learning | None:
    """How well the target of the policy can be learned from the release, if it has one."""
    target = plan.target
    rows = counts.details.rows if target is not None else None
    if target is None or rows is None:
        return None
    return learn(rows(MOST_LEARNED), target, is_aligned=True, seed=plan.policy.seed)


def loss_of(coding: Coding, plan: Plan, solution: Solution) -> float:
    """Global certainty penalty of a solution."""
    answer = Answer(solution, solution.sizes(coding.table))
    return measure(counts_of(coding, answer, plan), ["gcp"])[0].value


def sentence(model: PrivacyModel) -> str:
    """A model with its parameters, as people write it."""
    inner = ", ".join(f"{name}={value}" for name, value in parameters(model).items())
    return f"{model.name}({inner})"


def with_files(report: RunReport, policy: Policy) -> RunReport:
    """The report of a run that wrote the files its policy names."""

    def named(path: Place | None) -> str | None:
        return None if path is None else str(path)

    return replace(
        report,
        output=named(policy.output_place),
        side_output=named(side_output_path(policy)),
        recoding=named(policy.recoding_path),
        report=named(policy.report_path),
        certificate=named(policy.certificate_path),
    )
