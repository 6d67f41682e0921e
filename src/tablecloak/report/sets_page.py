"""The report of a release of sets as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tablecloak.report import charts
from tablecloak.report.account import (
    alert_section,
    banner,
    figure,
    goal_section,
    method_section,
    reproduction_section,
)
from tablecloak.report.alerts import Alert
from tablecloak.report.html import Html, Node, el
from tablecloak.report.parts import caption, chart_figure, document, section, table
from tablecloak.report.public import public_run, rounded, step_of
from tablecloak.report.subject import Step

__all__ = ["SetSubject", "sets_page"]

GOAL_HEADS = ("goal", "holds", "required", "observed", "margin", "rarest itemset")
OBSERVED = (
    "Observed is the number of records that hold the rarest combination of items, counted again from the published "
    "cells. The margin is its distance to what is required."
)


@dataclass(frozen=True, slots=True)
class SetSubject:
    """Everything a report about sets says, as plain values."""

    name: str  # of the release
    run: Mapping[str, Any]  # the keys of `tablecloak run --json`
    certificate: Mapping[str, Any]
    model: Step
    algorithm: Step
    kept: Sequence[str] = ()
    starred: Sequence[str] = ()
    left_out: Sequence[str] = ()

    @property
    def counted(self) -> Mapping[str, Any]:
        """What was counted of itemsets."""
        found: Mapping[str, Any] = self.run["itemsets"]
        return found


def sets_page(subject: SetSubject) -> str:
    """The whole report, as everybody may read it."""
    subject = replace(subject, run=public_run(subject.run))
    written = [
        _banner(subject),
        alert_section(list(_alerts(subject))),
        goal_section(subject.run, [subject.model], heads=GOAL_HEADS, how=OBSERVED),
        _risk(subject),
        _utility(subject),
        _changes(subject),
        method_section(subject.certificate, subject.algorithm, [subject.model]),
        reproduction_section(subject.certificate, subject.run),
    ]
    return document(f"{subject.name}: privacy report", written, _footer(subject))


def _banner(subject: SetSubject) -> Html:
    run, counted = subject.run, subject.counted
    return banner(
        subject.name,
        run,
        _summary(subject),
        figure(f"{run['rows']:,}", "sets published"),
        figure(f"{counted['published_items']:,}", "different items"),
        figure(_highest(subject), "highest risk"),
        figure(charts.percent(run["loss"]), "detail lost"),
    )


def _highest(subject: SetSubject) -> str:
    rarest = subject.run["verdicts"][0]["achieved"]
    return f"{1 / rarest:.1%}" if rarest else "–"


def _summary(subject: SetSubject) -> str:
    run, counted = subject.run, subject.counted
    asked = subject.model.parameters
    rarest = run["verdicts"][0]["achieved"]
    found = "no items at all" if rarest is None else f"at least {int(rarest):,} records that hold them"
    covering = {True: "Every published item covers an item of its record.", False: "A published item covers nothing.",
                None: "Whether items cover their originals was not checked."}[run["covers"]]  # fmt: skip
    return (
        f"{run['rows']:,} sets are published. Whoever knows up to {asked['m']} items of somebody finds {found}. "
        f"{counted['published_items']:,} different items are published. {covering} "
        f"The price is {charts.percent(run['loss'])} of the detail in the items."
    )


def _alerts(subject: SetSubject) -> Iterator[Alert]:
    if subject.kept:
        text = "No goal looks at these columns. If someone may know their values, leave them out."
        yield Alert("warning", f"Published as they are: {', '.join(subject.kept)}", text)
    for note in subject.run.get("notes", ()):
        if not note.startswith("published as they are"):
            yield Alert("note", note[:1].upper() + note[1:], "")


def _risk(subject: SetSubject) -> Html:
    counted, k = subject.counted, subject.model.parameters["k"]
    after = counted["after"]
    rows: list[list[Node]] = [
        [f"{size + 1}", *(f"{after[key][size]:,}" for key in ("itemsets", "lowest", "rare"))]
        for size in range(len(after["itemsets"]))
    ]
    heads = ("items known", "combinations", "rarest", f"below {k}")
    return section(
        "Risk",
        table(heads, rows),
        caption(
            "Somebody who knows that many items of a person looks for the records that hold them all. Combinations are "
            "the different ones that are published; rarest is the number of records that hold the rarest of them, and "
            "the risk is 1 divided by that."
        ),
    )


def _utility(subject: SetSubject) -> Html:
    frequent = subject.counted["frequent"]
    chart = charts.bars(
        "Records with a published item", [label for label, _ in frequent], [float(n) for _, n in frequent],
        show=charts.number,
    )  # fmt: skip
    how = "The most frequent items as they are published; an item that stands for several counts where one of them is."
    return section(
        "Utility",
        el("p", f"{charts.percent(subject.run['loss'])} of the detail in the items is lost. 0% means that every item "
                "is published as it is, 100% that nothing is said about any."),
        el("div", chart_figure(chart, how), class_="charts") if frequent else None,
    )  # fmt: skip


def _changes(subject: SetSubject) -> Html:
    counted = subject.counted
    total = max(1, sum(level["occurrences"] for level in counted["levels"]))
    step = step_of(subject.run["rows"])
    rows: list[list[Node]] = [
        [_level_name(level["height"]), charts.percent(rounded(level["occurrences"] / total, step))]
        for level in counted["levels"]
    ]
    others: list[list[Node]] = [
        [name, what]
        for names, what in (
            (subject.kept, "kept as it is"),
            (subject.starred, "starred"),
            (subject.left_out, "left out"),
        )
        for name in names
    ]
    return section(
        "What changed",
        table(("items", "share"), rows),
        table(("column", "what happened"), others) if others else None,
        caption(
            "An item is published the same way in all sets. A level is how far up its hierarchy it went. "
            f"Shares of what sets held are rounded to {charts.percent(step)}."
        ),
    )


def _level_name(height: int) -> str:
    if height < 0:
        return "left out"
    return "as they are" if height == 0 else f"{height} level{'s' if height > 1 else ''} up"


def _footer(subject: SetSubject) -> Html:
    made = f"Made by tablecloak {subject.certificate['versions']['tablecloak']} on {subject.certificate['created']}."
    k = subject.model.parameters["k"]
    return el("footer", el("p", f"{made} Items are named only as they are published, in at least {k} records."))
