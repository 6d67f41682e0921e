"""Alerts: what a reader of a report should look at before handing a release over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tablecloak.report.facts import NEAR, SKEWED
from tablecloak.report.subject import Subject

__all__ = ["Alert", "alerts"]

MANY_SUPPRESSED = 0.02
COMMON = 0.5


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing to look at."""

    level: Literal["warning", "note"]
    title: str
    text: str


def alerts(subject: Subject) -> list[Alert]:
    """Everything worth a look, warnings first."""
    found = [
        *_unprotected(subject),
        *_suppressed(subject),
        *_skewed(subject),
        *_near_limit(subject),
        *_starred(subject),
        *_coarse(subject),
        *_remarks(subject),
    ]
    return sorted(found, key=lambda alert: alert.level != "warning")


def _unprotected(subject: Subject) -> Iterator[Alert]:
    if subject.kept:
        names = ", ".join(subject.kept)
        yield Alert(
            "warning",
            f"Published as they are: {names}",
            "No goal looks at these columns. If someone may know their values, give them the role quasi; "
            "if nobody may learn them, the role sensitive.",
        )


def _suppressed(subject: Subject) -> Iterator[Alert]:
    n, total = subject.run["suppressed"], subject.facts.before.n_records
    if n:
        level: Literal["warning", "note"] = "warning" if n > MANY_SUPPRESSED * total else "note"
        yield Alert(
            level,
            f"{n:,} of {total:,} records suppressed ({n / max(1, total):.1%})",
            "Suppressed records are missing from every count; rare groups are hit more often than common ones.",
        )
    dropped = subject.run["dropped_for_missing"]
    if dropped:
        yield Alert("note", f"{dropped:,} records left out for empty cells", "The policy asks for this: missing: drop.")


def _skewed(subject: Subject) -> Iterator[Alert]:
    for column in subject.facts.sensitive:
        worst = column.worst_top_share
        if column.n_skewed:
            yield Alert(
                "warning",
                f"{column.name}: {column.n_skewed:,} classes are nearly of one value",
                f"In these classes one value has a share of {SKEWED:.0%} or more (at most {worst:.0%}). "
                "Someone who knows a person's class can guess it; l-diversity or t-closeness limits this.",
            )
        elif column.top_share >= COMMON:
            yield Alert(
                "note",
                f"{column.name}: one value has {column.top_share:.0%} of the records",
                "A skewed column lets people guess well without any table; judge the goals with that in mind.",
            )


def _near_limit(subject: Subject) -> Iterator[Alert]:
    facts = subject.facts
    if facts.n_near_limit:
        share = facts.n_records_near_limit / max(1, facts.after.n_records)
        yield Alert(
            "note",
            f"{facts.n_near_limit:,} classes are near the smallest size allowed",
            f"They hold {share:.0%} of the records and have at most {NEAR:g} times the smallest size. "
            "That is what a release without waste looks like; ask for a larger k if you want a reserve.",
        )


def _starred(subject: Subject) -> Iterator[Alert]:
    if subject.starred:
        names = ", ".join(subject.starred)
        yield Alert("note", f"Identifiers starred: {names}", "These columns are published with * in every cell.")


def _coarse(subject: Subject) -> Iterator[Alert]:
    names = [q.name for q in subject.facts.quasi if q.is_coarse]
    if names:
        yield Alert(
            "note",
            f"Never published exactly: {', '.join(names)}",
            "The policy names the finest detail that may be shown. Risk before is counted in that "
            "detail: the original itself is more exposed.",
        )


def _remarks(subject: Subject) -> Iterator[Alert]:
    """What algorithm and recount had to say, such as what a published variant leaves unprotected."""
    for note in subject.run.get("notes", ()):
        yield Alert("note", note[:1].upper() + note[1:], "")
