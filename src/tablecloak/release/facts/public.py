"""What public documents may say of the original: report and certificate are handed over with the release.

Whoever knows every record but one can compute each figure for each value that the last cell may have, and compare. So
figures that need the original are rounded until one record moves them by a small part of a step, or left out where one
record can move them far. Pictures of the original have bars of many records only. What can be counted from the release
itself is told exactly. docs/concepts/ready.md says which documents are public, and what remains.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

from tablecloak.models.base import PrivacyModel

if TYPE_CHECKING:
    from tablecloak.attacks.base import AttackResult
    from tablecloak.release.facts.bins import BinShares
    from tablecloak.release.facts.subject import Subject

# Without a goal that asks for larger classes, nothing about fewer records than this is shown.
LEAST_FLOOR = 5
# A record moves a share by 1/n. Steps are those of so many records, so that it seldom moves what is shown.
RECORDS_PER_STEP = 50
STEPS = (0.01, 0.02, 0.05, 0.1)
LARGEST_STEP = 0.2  # of tables of fewer than 500 records
# What a published cell loses depends on its label and on the range of its column, and hardly on single records.
LOSS_STEP = 0.01
# Learned models move further than by 1/n; they are in a report where its policy names a target.
LEARNED_STEP = 0.05

# Metrics that follow from the release, its policy and the number of suppressed records.
FROM_RELEASE = frozenset({
    "average-class-size", "classification", "discernibility", "height", "minimal-distortion", "precision",
    "suppressed-records", "total",
})  # fmt: skip


def step_of(n_records: int) -> float:
    """In which steps shares of a table are told.

    >>> step_of(100), step_of(1000), step_of(30_000)
    (0.2, 0.05, 0.01)
    """
    return next((step for step in STEPS if step * n_records >= RECORDS_PER_STEP), LARGEST_STEP)


def floor_of(models: Sequence[PrivacyModel], n_records: int) -> int:
    """The fewest records of the original that a bar may stand for: as many as classes must have, and a step."""
    return max(LEAST_FLOOR, *(m.min_size for m in models), round(step_of(n_records) * n_records))


def rounded(value: float, step: float) -> float:
    """The nearest multiple of a step.

    >>> rounded(0.1234, 0.05), rounded(0.01, 0.05)
    (0.1, 0.0)
    """
    return round(round(value / step) * step, 4)


def level(value: float | None) -> float | None:
    """The level of a goal in two digits; whole numbers, such as sizes of classes, are those of the release.

    >>> level(5.0), level(0.17351), level(3.1416), level(None)
    (5.0, 0.17, 3.1, None)
    """
    if value is None or not math.isfinite(value) or value == int(value):
        return value
    return float(f"{value:.2g}") if abs(value) < 1 else round(value, 1)


def public_run(run: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of `tablecloak run --json` as far as they may be told to everybody."""
    n = int(run["rows"]) + int(run["suppressed"])
    public = {
        **run,
        "verdicts": [_verdict(verdict) for verdict in run["verdicts"]],
        "findings": [_finding(finding, n) for finding in run["findings"]],
        "loss": None if run["loss"] is None else rounded(run["loss"], LOSS_STEP),
        "metrics": _metrics(run["metrics"]),
    }
    if run.get("transforms"):  # warnings count cells of the original
        public["transforms"] = [{k: v for k, v in made.items() if k != "warnings"} for made in run["transforms"]]
    public.pop("attacks", None)  # on columns that transforms change; a report shows them among the others, rounded
    if run.get("moments"):
        public["moments"] = public_moments(run["moments"])
    if run.get("risk"):
        public["risk"] = {who: {**sides, "before": _risk(sides["before"], n)} for who, sides in run["risk"].items()}
    if run.get("learning"):
        public["learning"] = _learning(run["learning"])
    return public


def public_subject(subject: Subject) -> Subject:
    """What a report says, as far as everybody may read it."""
    facts = subject.facts
    assert facts is not None
    n = facts.before.n_records
    step = step_of(n)
    before = replace(
        facts.before,
        n_unique=round(rounded(facts.before.unique_share, step) * n),
        average=rounded(facts.before.average, step),
    )
    facts = replace(
        facts,
        before=before,
        quasi=tuple(replace(q, changed=rounded(q.changed, step), bins=_bins(q.bins, step)) for q in facts.quasi),
        sensitive=tuple(replace(s, bins=_bins(s.bins, step)) for s in facts.sensitive),
        attacks=tuple(_attack(exposure, step) for exposure in facts.attacks),
    )
    return replace(subject, run=public_run(subject.run), facts=facts)


def _bins(bins: BinShares | None, step: float) -> BinShares | None:
    if bins is None:
        return None
    before, after = (tuple(rounded(share, step) for share in side) for side in (bins.before, bins.after))
    return replace(bins, before=before, after=after)


def _attack(exposure: AttackResult, step: float) -> AttackResult:
    """What an attack reaches; that nobody is a victim is told exactly."""
    success = exposure.finding
    if success is None:
        return exposure
    if success.n_sampled is not None:  # a record moves what few records tell farther
        step = max(step, step_of(success.n_sampled))
    return replace(
        exposure,
        finding=replace(
            success,
            highest=None if success.highest is None else rounded(success.highest, step),
            average=rounded(success.average, step),
            baseline=rounded(success.baseline, step),
            n_victims=_count(success.n_victims, success.n_targets),
            interval=None,
            details={},
        ),
    )


def _count(count: int, n: int) -> int:
    """A number of records as a multiple of a step, at least one if there is any."""
    step = max(1, round(step_of(n) * n))
    return 0 if count == 0 else min(n, max(1, round(count / step)) * step)


def _verdict(verdict: Mapping[str, Any]) -> dict[str, Any]:
    public = {**verdict, **{key: level(verdict[key]) for key in ("achieved", "margin") if key in verdict}}
    return {
        **public,
        **({"conditions": [_verdict(c) for c in verdict["conditions"]]} if "conditions" in verdict else {}),
    }


def _finding(finding: Mapping[str, Any], n: int) -> Mapping[str, Any]:
    """A finding; attacks are those of people who know originals."""
    if finding["kind"] != "strong-attack":
        return finding
    count = _count(finding["count"], n)
    return {**finding, "count": count, "share": rounded(count / max(1, n), 0.0001)}


def _metrics(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The loss, and what follows from the release; one record can move other metrics far."""
    public = {name: metric for name, metric in metrics.items() if name in FROM_RELEASE}
    loss = metrics.get("gcp")
    if loss is not None:
        value, parts = loss["value"], loss["per_column"] or {}
        public["gcp"] = {
            **loss,
            "value": None if value is None else rounded(value, LOSS_STEP),
            "per_column": {column: rounded(part, LOSS_STEP) for column, part in parts.items()},
        }
    return public


def _risk(risk: Mapping[str, Any] | None, n: int) -> dict[str, float] | None:
    """The risk of the original on average; the most exposed record is one person."""
    if risk is None:
        return None
    return {key: rounded(risk[key], step_of(n)) for key in ("average", "unique_share")}


def _learning(learning: Mapping[str, Any]) -> dict[str, Any]:
    coarse = {key: rounded(learning[key], LEARNED_STEP) for key in ("majority", "release", "original")}
    return {**learning, **coarse, "kept": None, "error": LEARNED_STEP}


# What transforms do to statistics -------------------------------------------------------------------------------------


def public_moments(moments: Mapping[str, Any]) -> dict[str, Any]:
    """`moments` of a run as everybody may read them; the steps come with them."""
    pairs = [_pair(pair) for pair in moments["correlations"]]
    told = [pair for pair in pairs if pair is not None]
    # chosen by what is told of each, so that which one it is tells no more
    largest = max(told, key=lambda pair: abs(pair["after"] - pair["before"]), default=None)
    return {"columns": [_moments(column) for column in moments["columns"]], "largest_change": largest}


def _moments(column: Mapping[str, Any]) -> dict[str, Any]:
    steps, is_date = column["steps"], column["is_date"]
    sides = {
        side: {key: _in_steps(column[side][key], steps[key], is_date=is_date) for key in ("mean", "deviation", "total")}
        for side in ("before", "after")
    }
    return {**column, **sides}


def _pair(pair: Mapping[str, Any]) -> dict[str, Any] | None:
    sides = {side: _in_steps(pair[side], pair["step"]) for side in ("before", "after")}
    return None if None in sides.values() else {**pair, **sides}


def _in_steps(value: Any, step: float | None, *, is_date: bool = False) -> Any:
    """The nearest multiple of a step; of dates, in days.

    >>> _in_steps(1234.5, 50.0), _in_steps(0.123, 0.05), _in_steps("2020-02-29", 10.0, is_date=True)
    (1250.0, 0.1, '2020-03-01')
    """
    if value is None or step is None:
        return None
    if is_date and isinstance(value, str):
        days = round(date.fromisoformat(value).toordinal() / step) * step
        return date.fromordinal(max(1, round(days))).isoformat()
    return float(f"{round(value / step) * step:.12g}") + 0.0  # no -0
