"""How results of lower rooms look, which know this module by name only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group

from tablecloak.report import blocks
from tablecloak.report.about import advice, attack, check_run_verify, compare, explore, quality, release, table
from tablecloak.report.render import html as pages
from tablecloak.report.render import terminal
from tablecloak.report.words import counted

if TYPE_CHECKING:
    from tablecloak.release.facts.subject import Subject

THE_RELEASE = "the release"
N_ROWS = 5  # of a release that a notebook shows


def page(subject: Subject) -> str:
    """The report of a release as a page."""
    return pages.page(release.report_of(subject))


def text(result: Any) -> str:
    """What a result says, line by line."""
    return terminal.plain(_lines(result))


def rich(result: Any) -> Group:
    """What a result says, as rich prints it."""
    return Group(*terminal.lines(_lines(result)))


def _lines(result: Any) -> list[blocks.Block]:
    report = result.to_dict()
    return check_run_verify.ran(report) if type(result).__name__ == "RunReport" else explore.frontier_lines(report)


def brief(result: Any) -> str:
    """A result in one line."""
    name = type(result).__name__
    return f"{name}({BRIEFLY[name](result)})"


def html(result: Any) -> str:
    """A result in a notebook: tables and charts with our colours, which reach nothing else on its page."""
    sheet = files("tablecloak.report").joinpath("report.css").read_text(encoding="utf-8")
    style = sheet.replace(":root", ":scope").replace("body {", ":scope {")
    style += ":scope { padding: 16px; border-radius: 10px; }\n"
    shown = pages.part(SHOWN[type(result).__name__](result))
    return f'<div class="tablecloak"><style>@scope (.tablecloak) {{\n{style}}}</style>{shown}</div>'


# By the names of classes, because results of other rooms need not be loaded to show one ------------------------------


def _report_of(said: Callable[[Mapping[str, Any]], Iterable[blocks.Block]]) -> Callable[[Any], Iterable[blocks.Block]]:
    return lambda result: said(result.to_dict())


def _release(result: Any) -> Iterator[blocks.Block]:
    """A release: its verdict, how large its classes are, and some of its rows, which are published anyway."""
    yield from check_run_verify.summary(result.report.to_dict())
    if result.class_sizes is not None:
        sizes, n_classes = np.unique(result.class_sizes, return_counts=True)
        pairs = list(zip(sizes.tolist(), n_classes.tolist(), strict=True))
        labels, counts = release.size_bands(pairs)
        yield blocks.Figure(blocks.UprightBars("Class sizes", labels, counts, axis="records in a class"))
    if result.n_rows:
        yield table.first_rows("First rows", result.first_rows(N_ROWS))


def _profile(result: Any) -> Iterator[blocks.Block]:
    yield from table.inspected(result.to_dict())
    sets = result.sets[: table.MOST_SETS]
    if sets:
        names = tuple(", ".join(part.columns) for part in sets)
        yield blocks.Figure(blocks.Bars("Records that are unique on", names, tuple(p.unique_share for p in sets), 1.0))


def _risk(result: Any) -> Iterator[blocks.Block]:
    yield blocks.Paragraph(str(result))
    values = (result.unique_share, result.highest, result.average)
    yield blocks.Figure(blocks.Bars("Risk", ("unique records", "highest risk", "average risk"), values, 1.0))


def _compared(result: Any) -> Iterable[blocks.Block]:
    return compare.judged({"release": THE_RELEASE, "attacks": [], **result.to_dict()}).blocks


def _attacked(result: Any) -> Iterator[blocks.Block]:
    report = result.to_dict()
    tried = [each for each in report["attacks"] if each["applies"]]
    if tried:
        yield quality.attack_chart(tried)
    yield from attack.attacked(report, THE_RELEASE).blocks[1:]  # a cell needs no banner


def _explored(result: Any) -> list[blocks.Block]:
    report = result.to_dict()
    return [explore.frontier_figure(report), *explore.frontier_lines(report)]


SHOWN: dict[str, Callable[[Any], Iterable[blocks.Block]]] = {
    "AdviceReport": _report_of(advice.advised),
    "AttackReport": _attacked,
    "CheckReport": _report_of(check_run_verify.checked),
    "Comparison": _compared,
    "Exploration": _explored,
    "Profile": _profile,
    "Risk": _risk,
    "RunReport": _report_of(check_run_verify.summary),
    "SetComparison": _compared,
    "SubsetRisk": _risk,
    "Verification": _report_of(check_run_verify.verified),
    "VerifiedRelease": _release,
}


def _loss(value: float | None) -> str:
    return "" if value is None else f", loss {value:.3f}"


def _verdict(result: Any) -> str:
    return f"{result.status}, {result.n_rows:,} records in {result.n_classes:,} classes"


def _checked(result: Any) -> str:
    if result.rows is None:
        return "without data"
    feasible = {True: "feasible", None: "not known whether feasible"}[result.feasible]
    about = "about " if result.sampled_rows else ""
    return feasible if result.loss is None else f"{feasible}, loss {about}{result.loss:.3f}"


def _success(result: Any) -> str:
    reached = [(each.finding.average, each.attack) for each in result.after if each.finding is not None]
    best = max(reached, default=None)
    return counted(len(reached), "attack") + ("" if best is None else f", most by {best[1]}: {best[0]:.1%}")


def _change(result: Any) -> str:
    unique = f"unique {result.before.unique_share:.1%} → {result.after.unique_share:.1%}"
    return f"{unique}{_loss(result.loss)}"


BRIEFLY: dict[str, Callable[[Any], str]] = {
    "AdviceReport": lambda r: counted(len(r.columns), "column"),
    "AttackReport": _success,
    "CheckReport": _checked,
    "Comparison": _change,
    "Exploration": lambda r: f"{counted(len(r.points), 'variant')}, {len(r.frontier)} on the frontier",
    "Profile": lambda r: f"{r.n_rows:,} rows × {len(r.columns)} columns, quasi: {', '.join(r.quasi) or 'none'}",
    "Risk": lambda r: f"{r.n_unique:,} of {r.n_records:,} unique, highest {r.highest:.3g}, average {r.average:.3g}",
    "RunReport": lambda r: f"{_verdict(r.verification)}{_loss(r.loss)}",
    "SetComparison": lambda r: f"{r.column}{_loss(r.loss)}",
    "SubsetRisk": lambda r: f"{', '.join(r.columns)}: {r.n_unique:,} of {r.n_records:,} unique",
    "Verification": _verdict,
    "VerifiedRelease": lambda r: f"{r.report.status}, {r.n_rows:,} rows × {r.n_columns} columns{_loss(r.report.loss)}",
}
