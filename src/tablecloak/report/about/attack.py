"""What attackers reach on a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tablecloak.report.about.quality import caption
from tablecloak.report.about.sets import risk_table
from tablecloak.report.blocks import (
    Banner,
    Block,
    Document,
    Entry,
    Items,
    Labelled,
    Paragraph,
    Section,
    Table,
    Text,
    Words,
    table,
)
from tablecloak.report.words import NONE

HEADS = ("attack", "highest", "average", "on the original", "by guessing", "victims", "of")
HOW = (
    "Highest is the chance of success against the most exposed person, where an attack has one by person; average that "
    "over all targets, of the release and of the original; beside it stands what a guess without the release, or a "
    "control group, reaches. Victims are counted as each attack says."
)


def attacked(report: Mapping[str, Any], name: str) -> Document:
    """What each attack reaches before and after, then those that were not tried and why."""
    tried = [a for a in report["attacks"] if a["applies"]]
    skipped = [a for a in report["attacks"] if not a["applies"]]
    blocks: list[Block] = [
        Banner("Attacks", name, ()),
        Section("What attackers reach", (Paragraph(_roles(report)), _reached(tried), *_known(tried), caption(HOW))),
        Section("The attacks", (Labelled(tuple(_explained(attack) for attack in tried), "entries"),)),
    ]
    if skipped:
        entries = tuple(f"{a['attack']}: {a['reason']}" for a in skipped)
        blocks.append(Section("Not tried", (Items(entries, "not tried"),)))
    blocks += [caption(f"Note: {note}") for note in report["notes"]]
    return Document(f"{name}: attacks", tuple(blocks))


def _roles(report: Mapping[str, Any]) -> str:
    if "known_items" in report:
        return f"Sets of items, of which someone knows up to {report['known_items']} of a person."
    sensitive = ", ".join(report["sensitive"]) or "none"
    return f"Quasi-identifiers: {', '.join(report['quasi'])}. Sensitive: {sensitive}."


def _reached(tried: Sequence[Mapping[str, Any]]) -> Table:
    return table(HEADS, [_cells(attack) for attack in tried], kind="numbers")


def _known(tried: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    """By the number of items that are known, where attacks are on sets."""
    for attack in tried:
        if "by_known_items" in attack["details"]:
            yield risk_table(attack["details"]["by_known_items"], attack["details"]["k"])


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
    return NONE if value is None else f"{value:.3f}"


def _explained(attack: Mapping[str, Any]) -> Entry:
    """What an attack does and what stops it; a terminal has room for those with victims."""
    texts = list(_said_of(attack))
    return Entry(attack["attack"], tuple(texts if attack["victims"] else (_small(text) for text in texts)))


def _said_of(attack: Mapping[str, Any]) -> Iterator[Text]:
    yield attack["description"]
    if attack["worst_rows"]:
        yield f"Most exposed rows of the {attack['rows_of']}: {', '.join(map(str, attack['worst_rows']))}."
    yield f"By guessing: {attack['by_guessing']}"
    yield f"Stopped by: {attack['stopped_by']}"
    if attack["reference"]:
        yield Words(f"Reference: {attack['reference']}", "small")
    yield from (Words(note, "small") for note in attack["notes"])


def _small(text: Text) -> Text:
    return Words(text, "small") if isinstance(text, str) else text
