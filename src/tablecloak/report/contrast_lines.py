"""Judged releases as lines for a terminal: one beside its original, or two beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tablecloak.report.parts import number
from tablecloak.report.profile_lines import compare_lines

__all__ = ["contrast_lines", "judged_lines", "shown"]

SHARES = ("risk", "attack", "learning")


def judged_lines(report: Mapping[str, Any]) -> Iterator[RenderableType]:
    """A release beside its original: risk, columns, metrics, learning, attacks."""
    yield from compare_lines(report)
    tried = [a for a in report["attacks"] if a["applies"]]
    if tried:
        yield Text()
        yield _attack_table(tried)
        yield Text("Chances of success, on average over all people; tablecloak attack tries more.", "dim")


def _attack_table(tried: list[Mapping[str, Any]]) -> Table:
    table = _table("attack", "original", "release", "by guessing", "victims")
    for attack in tried:
        before = attack.get("before")
        chances = (before["average"] if before else None, attack["average"], attack["baseline"])
        shares = ("" if chance is None else f"{chance:.1%}" for chance in chances)
        table.add_row(attack["attack"], *shares, f"{attack['victims']:,}")
    return table


def contrast_lines(report: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Two releases side by side; the better one of each row is marked."""
    a, b = report["a"]["release"], report["b"]["release"]
    yield Text(f"A  {a}   B  {b}   on {', '.join(report['quasi'])}")
    for axis in dict.fromkeys(row["axis"] for row in report["rows"]):
        yield Text()
        table = _table(axis, "original", "A", "B")
        for row in (r for r in report["rows"] if r["axis"] == axis):
            marks = {side: " ◂" if row["better"] == side else "  " for side in "ab"}
            cells = [shown(row, side) + marks[side] for side in "ab"]
            table.add_row(row["name"], shown(row, "original"), *cells)
        yield table
    yield Text("◂ the better of the two. Attacks: average chance of success.", "dim")
    for side in ("a", "b"):
        for note in report[side]["notes"]:
            yield Text(f"Note on {side.upper()}: {note}")


def shown(row: Mapping[str, Any], side: str) -> str:
    """A number of a row for people."""
    value = row[side]
    if value is None:
        return ""
    is_share = row["axis"] in SHARES or row["name"] == "suppressed"
    return f"{value:.1%}" if is_share else number(value)


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place else "left", no_wrap=True)
    return table
