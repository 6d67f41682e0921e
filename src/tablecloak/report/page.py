"""The report as one HTML page that needs nothing else: no scripts, no fonts, no network."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tablecloak.report import charts, groups
from tablecloak.report.account import (
    GOAL_HEADS,
    alert_section,
    banner,
    figure,
    goal_row,
    goal_section,
    method_section,
    reproduction_section,
    verdict_word,
)
from tablecloak.report.alerts import alerts
from tablecloak.report.bins import Bins
from tablecloak.report.facts import Facts
from tablecloak.report.html import Html, Node, el
from tablecloak.report.judged import READ, attack_parts, learning_part, utility_parts
from tablecloak.report.parts import caption, chart_figure, document, listed, number, section, table
from tablecloak.report.public import LEARNED_STEP, LOSS_STEP, public_subject, step_of
from tablecloak.report.subject import Subject

__all__ = ["page", "sections", "summary"]

BEFORE_AFTER = ("before", "after")
MOST_SIZES = 10
COVERED = {True: "Every published cell covers its original.", False: "A published cell does not cover its original.",
           None: "Whether cells cover their originals was not checked."}  # fmt: skip


def page(subject: Subject) -> str:
    """The whole report, as everybody may read it."""
    subject = public_subject(subject)
    parts = [_banner, _alerts, _goals, _risk, _attacks, _utility, _changes, _method, _reproduction]
    written = [write(subject) for write in parts]
    return document(f"{subject.name}: privacy report", written, _footer(subject))


def sections(written: str) -> dict[str, Html]:
    """The sections of a report that `page` made, by title: what another page may show of it."""
    # everything a report says is escaped, so these tags are its own
    return {title: Html(body) for title, body in re.findall(r"<section><h2>(.*?)</h2>(.*?)</section>", written, re.S)}


def summary(run: dict[str, Any]) -> str:
    """A short account of a run for notebooks: verdict, goals, loss."""
    rows = [goal_row(verdict, "") for verdict in run["verdicts"]]
    totals = f"{run['rows']:,} records in {run['classes']:,} classes, {run['suppressed']:,} suppressed"
    loss = "" if run["loss"] is None else f", loss {run['loss']:.3f}"
    return el("div", el("strong", verdict_word(run)), f" {totals}{loss}", table(GOAL_HEADS, rows))


def _banner(subject: Subject) -> Html:
    run, facts = subject.run, subject.facts
    surest = figure(f"{groups.highest_guess(subject):.1%}", "surest guess") if subject.blocks else None
    return banner(
        subject.name,
        run,
        _plain_summary(subject),
        figure(f"{facts.after.n_records:,}", "records published"),
        figure(f"{run['classes']:,}", "groups" if subject.blocks else "classes"),
        surest or figure(f"{facts.after.highest:.1%}", "highest risk"),
        figure("–" if run["loss"] is None else charts.percent(run["loss"]), "detail lost"),
    )


def _plain_summary(subject: Subject) -> str:
    if subject.blocks:
        return groups.summary(subject)
    run, facts = subject.run, subject.facts
    smallest = facts.class_sizes[0][0] if facts.class_sizes else 0
    parts = [
        f"Of {facts.before.n_records:,} records, {facts.after.n_records:,} are published. "
        f"Each of them looks like at least {smallest - 1:,} others in {listed([q.name for q in facts.quasi])}."
        if smallest
        else "Nothing is published.",
        _singled_out(facts),
        COVERED[run["covers"]],
    ]
    if run["loss"] is not None:
        parts.append(f"The price is {charts.percent(run['loss'])} of the detail in these columns.")
    return " ".join(parts)


def _singled_out(facts: Facts) -> str:
    before, after = (charts.percent(side.unique_share) for side in (facts.before, facts.after))
    return f"Before, about {before} of the records could be singled out by these columns; now {after} can."


def _alerts(subject: Subject) -> Html:
    return alert_section(alerts(subject))


def _goals(subject: Subject) -> Html:
    return goal_section(subject.run, subject.models)


def _method(subject: Subject) -> Html:
    return method_section(subject.certificate, subject.algorithm, subject.models)


def _reproduction(subject: Subject) -> Html:
    return reproduction_section(subject.certificate, subject.run)


def _risk(subject: Subject) -> Html:
    before, after = subject.facts.before, subject.facts.after
    measures = {
        "highest": "highest risk",
        "average": "average risk",
        "unique_share": "unique records",
    }
    rows = [
        # the most exposed record of the original is one person
        [name, "–" if key == "highest" else charts.percent(getattr(before, key)), f"{getattr(after, key):.1%}"]
        for key, name in measures.items()
    ]
    published = (subject.run.get("risk") or {}).get("published") or {}
    sides = [published.get(side) for side in BEFORE_AFTER]
    if sides[1]:
        rows += [
            [
                f"{name.replace('records', sides[1].get('counted', 'records'))}, knowing everything published",
                *("–" if s is None or key not in s else charts.percent(s[key]) for s in sides),
            ]
            for key, name in measures.items()
        ]
    chart = charts.paired_bars(
        "Risk before and after",
        list(measures.values())[1:],
        *([getattr(e, key) for key in list(measures)[1:]] for e in (before, after)),
    )
    return section(
        "Risk",
        el(
            "div",
            chart_figure(chart, None, names=BEFORE_AFTER),
            el("div", table(("risk", "before", "after"), rows)),
            class_="pair",
        ),
        table(groups.GUESS_HEADS, groups.guesses(subject)) if subject.blocks else None,
        caption(groups.RISK)
        if subject.blocks
        else caption(
            "The prosecutor knows that a person is in the table, and all quasi-identifiers of that person. "
            "The risk of a record is the chance of picking it from its class: 1 divided by the size of the class. "
            "A record is unique if no other shares its quasi-identifiers. Who knows everything that is published about "
            "a person, protected sensitive values too, finds the record if no other is the same in all columns."
        ),
    )


def _attacks(subject: Subject) -> Html:
    exposures = [exposure.to_dict() for exposure in subject.facts.attacks]
    before = dict.fromkeys(("prosecutor", "marketer"), subject.facts.before.average)
    how = caption(f"Chances are rounded to {charts.percent(step_of(subject.facts.before.n_records))}.")
    return section("Attacks", *attack_parts(exposures, before), how)


def _utility(subject: Subject) -> Html:
    facts = subject.facts
    if subject.blocks:
        metrics = {name: m for name, m in subject.run["metrics"].items() if m["value"] is not None and name != "gcp"}
        return section(
            "Utility", el("p", groups.UTILITY), learning_part(subject.run),
            el("div", _sizes_chart(facts, "group", groups.SIZES), class_="charts"), _further_metrics(metrics), OWNER,
        )  # fmt: skip
    shown = [_loss_chart(subject), _sizes_chart(facts)]
    shown += [_bins_chart(f"{q.name}, before and after", q.bins, facts.floor, _GENERALIZED) for q in facts.quasi]
    shown += [_bins_chart(f"{s.name} (sensitive)", s.bins, facts.floor, _SENSITIVE) for s in facts.sensitive]
    metrics = subject.run["metrics"]
    return section(
        "Utility", *utility_parts(metrics), learning_part(subject.run), el("div", shown, class_="charts"),
        _further_metrics(metrics), OWNER,
    )  # fmt: skip


def _further_metrics(metrics: Mapping[str, Mapping[str, Any]]) -> Html | None:
    """The other information metrics that apply, each with a line that says how to read it."""
    rows: list[list[Node]] = [
        [name, number(m["value"]), "higher" if m.get("higher_is_better") else "lower", m["description"]]
        for name, m in metrics.items()
        if name not in READ and m["value"] is not None
    ]
    if not rows:
        return None
    heads = ("metric", "value", "better", "how to read it")
    how = caption("Only releases of the same table can be compared by these numbers.")
    return el("div", el("h3", "Information metrics"), table(heads, rows, class_="measures"), how)


OWNER = caption(
    "Whoever knows nearly all records could test guesses by exact figures, so this page rounds what needs the "
    f"original (loss to {LOSS_STEP:.0%}, accuracies to {LEARNED_STEP:.0%}) and leaves out what one record can move "
    "far. Errors of queries, distances and correlations are told to the owner, by tablecloak run --json."
)
_GENERALIZED = (
    "The closer the two, the better analyses of this column keep their results. A generalized value counts evenly for "
    "all it covers."
)
_SENSITIVE = "Values are published as they are, so only suppressed records can make a difference."


def _loss_chart(subject: Subject) -> Html:
    per_column = (subject.run["metrics"].get("gcp") or {}).get("per_column") or {}
    chart = charts.bars("Detail lost by column", list(per_column), list(per_column.values()), top=1.0)
    return chart_figure(chart, "0% means every value is published exactly, 100% that nothing is said about the column.")


_SIZES = "Number of classes by size. Bars far to the right are classes with more generalization than needed."


def _sizes_chart(facts: Facts, unit: str = "class", how: str = _SIZES) -> Html:
    labels, counts = _size_bands(facts.class_sizes)
    return chart_figure(charts.histogram(f"{unit.title()} sizes", labels, counts, axis=f"records in a {unit}"), how)


def _size_bands(sizes: Sequence[tuple[int, int]]) -> tuple[list[str], list[float]]:
    """At most ten bands of equal width from the smallest class on; the last takes all that are larger."""
    if not sizes:
        return [], []
    first = sizes[0][0]
    total, seen, bulk = sum(n for _, n in sizes), 0, first
    for size, n in sizes:
        seen += n
        bulk = size
        if seen >= 0.95 * total:
            break
    width = max(1, -(-(bulk - first + 1) // (MOST_SIZES - 1)))
    n_bands = min(MOST_SIZES, (sizes[-1][0] - first) // width + 1)
    counts = [0.0] * n_bands
    for size, n in sizes:
        counts[min((size - first) // width, n_bands - 1)] += n
    starts = [first + i * width for i in range(n_bands)]
    labels = [str(a) if width == 1 else f"{a}–{a + width - 1}" for a in starts]
    is_open = sizes[-1][0] > starts[-1] + width - 1
    return [*labels[:-1], f"{starts[-1]}+" if is_open else labels[-1]], counts


def _bins_chart(title: str, bins: Bins | None, floor: int, how: str) -> Html:
    if bins is None:
        text = "Nothing to compare: values are published only in groups, and a report names no others."
        return el("figure", el("h3", title), el("p", text, class_="nothing"))
    draw = charts.steps if bins.edges else charts.paired_bars
    chart = draw(title, bins.edges or bins.labels, bins.before, bins.after)
    how = f"{how} Groups of fewer than {floor} records are joined, and shares are rounded."
    return chart_figure(chart, how, names=BEFORE_AFTER, title=title)


def _changes(subject: Subject) -> Html:
    loss = (subject.run["metrics"].get("gcp") or {}).get("per_column") or {}
    rows: list[list[Node]] = [
        [q.name, _happened(subject, q.name, "generalized"), f"{q.distinct_after:,}", charts.percent(q.changed),
         charts.percent(loss[q.name]) if q.name in loss else "–"]
        for q in subject.facts.quasi
    ]  # fmt: skip
    rows += [[s.name, _happened(subject, s.name, "sensitive, as it is"), f"{s.distinct_after:,}", "0%", "–"]
             for s in subject.facts.sensitive]  # fmt: skip
    for names, what in ((subject.kept, "kept as it is"), (subject.starred, "starred"), (subject.left_out, "left out")):
        rows += [[name, what, "–", "0%" if what == "kept as it is" else "100%", "–"] for name in names]
    heads = ("column", "what happened", "different values", "cells changed", "detail lost")
    return section(
        "What changed",
        table(heads, rows),
        caption("Suppressed records count as changed in every quasi-identifier. Columns that the policy does not name "
                 "are left out unless it says others: keep."),
    )  # fmt: skip


def _happened(subject: Subject, column: str, otherwise: str) -> str:
    return groups.happened(subject, column) if subject.blocks else otherwise


def _footer(subject: Subject) -> Html:
    made = f"Made by tablecloak {subject.certificate['versions']['tablecloak']} on {subject.certificate['created']}."
    floor = subject.facts.floor
    step = charts.percent(step_of(subject.facts.before.n_records))
    shown = (
        f"No value of the original is named; charts show groups of at least {floor} of its records, in steps of {step}."
    )
    return el("footer", el("p", f"{made} {shown}"))
