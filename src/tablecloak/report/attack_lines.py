"""What attacks achieve, as lines for a terminal and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tablecloak.report.html import Html, el

__all__ = ["lines", "page", "section"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
HEADS = ("attack", "highest", "average", "on the original", "by guessing", "victims", "of")
HOW = (
    "Highest is the chance of success against the most exposed person, where an attack has one by person; average that "
    "over all targets, of the release and of the original; beside it stands what a guess without the release, or a "
    "control group, reaches. Victims are counted as each attack says."
)


def lines(report: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Attacks that apply with what they reach before and after, then those that do not and why."""
    yield Text(
        f"Quasi-identifiers: {', '.join(report['quasi'])}. Sensitive: {', '.join(report['sensitive']) or 'none'}"
    )
    yield Text()
    yield _table([a for a in report["attacks"] if a["applies"]])
    yield Text(HOW, "dim")
    for attack in report["attacks"]:
        if attack["applies"] and attack["victims"]:
            yield Text()
            yield Text(f"{attack['attack']}: {attack['description']}")
            yield Text(f"  rows of the {attack['rows_of']}: {_rows(attack)}", "dim")
            yield Text(f"  by guessing: {attack['by_guessing']}", "dim")
            yield Text(f"  stopped by: {attack['stopped_by']}", "dim")
    skipped = [a for a in report["attacks"] if not a["applies"]]
    if skipped:
        yield Text()
        for attack in skipped:
            yield Text(f"Not tried: {attack['attack']}: {attack['reason']}", "dim")
    for note in report["notes"]:
        yield Text(f"Note: {note}")


def _roles(report: Mapping[str, Any]) -> str:
    sensitive = ", ".join(report["sensitive"]) or "none"
    return f"Quasi-identifiers: {', '.join(report['quasi'])}. Sensitive: {sensitive}."


def _table(attacks: list[Mapping[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, head in enumerate(HEADS):
        table.add_column(head, justify="right" if number else "left")
    for attack in attacks:
        table.add_row(*_cells(attack))
    return table


def _cells(attack: Mapping[str, Any]) -> list[str]:
    before = attack.get("before")
    average = _chance(attack["average"])
    if attack["interval"] and attack["targets"]:
        average += " ± " + _chance((attack["interval"][1] - attack["interval"][0]) / 2)
    return [
        attack["attack"],
        _chance(attack["highest"]),
        average,
        _chance(before["average"] if before else None),
        _chance(attack["baseline"]),
        f"{attack['victims']:,}",
        f"{attack['targets']:,}",
    ]


def _chance(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _rows(attack: Mapping[str, Any]) -> str:
    return ", ".join(str(row) for row in attack["worst_rows"]) or "none"


def page(report: Mapping[str, Any], name: str) -> str:
    """The results as one page that needs nothing else."""
    style = files("tablecloak.report").joinpath("report.css").read_text(encoding="utf-8")
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("title", f"{name}: attacks"),
        el("style", Html(style)),
    )
    title = el("header", el("p", "Attacks", class_="kicker"), el("h1", name))
    body = el("body", el("main", title, section(report)))
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n"


def section(report: Mapping[str, Any]) -> Html:
    """The results as sections of a page."""
    tried = [a for a in report["attacks"] if a["applies"]]
    rows = [el("tr", [el("td", cell, data_head=h) for h, cell in zip(HEADS, _cells(a), strict=True)]) for a in tried]
    table = el("table", el("thead", el("tr", [el("th", h, scope="col") for h in HEADS])), el("tbody", rows))
    roles = _roles(report)
    explained = [_explained(attack) for attack in tried]
    skipped = [el("li", f"{a['attack']}: {a['reason']}") for a in report["attacks"] if not a["applies"]]
    return Html(
        el("section", el("h2", "What attackers reach"), el("p", roles), table, el("p", HOW, class_="caption"))
        + el("section", el("h2", "The attacks"), el("dl", *explained))
        + (el("section", el("h2", "Not tried"), el("ul", *skipped)) if skipped else "")
        + "".join(el("p", f"Note: {note}", class_="caption") for note in report["notes"])
    )


def _explained(attack: Mapping[str, Any]) -> list[Html]:
    rows = f" Most exposed rows of the {attack['rows_of']}: {_rows(attack)}." if attack["worst_rows"] else ""
    source = f" Reference: {attack['reference']}" if attack["reference"] else ""
    notes = " ".join(["", *attack["notes"]])
    limits = f" By guessing: {attack['by_guessing']} Stopped by: {attack['stopped_by']}"
    return [
        el("dt", attack["attack"]),
        el("dd", f"{attack['description']}{rows}{limits}{source}{notes}"),
    ]
