"""What attackers reach on a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tablecloak.report import blocks
from tablecloak.report.about.quality import ATTACK_HEADS, attack_cells, caption
from tablecloak.report.about.sets import risk_table
from tablecloak.report.words import share

HOW = (
    "Highest is the chance of success against the most exposed person, where an attack has one by person; average that "
    "over all targets, of the release and of the original; beside it stands what a guess without the release, or a "
    "control group, reaches. Victims are counted as each attack says."
)


def attacked(report: Mapping[str, Any], name: str) -> blocks.Document:
    """What each attack reaches before and after, then those that were not tried and why."""
    tried = [a for a in report["attacks"] if a["applies"]]
    skipped = [a for a in report["attacks"] if not a["applies"]]
    reached = blocks.table(ATTACK_HEADS, map(_cells, tried), kind="numbers")
    what = (blocks.Paragraph(_roles(report)), reached, *_known(tried), caption(HOW))
    contents: list[blocks.Block] = [
        blocks.Banner("Attacks", name, ()),
        blocks.Section("What attackers reach", what),
        blocks.Section("The attacks", (blocks.Labelled(tuple(_explained(attack) for attack in tried), "entries"),)),
    ]
    if skipped:
        entries = tuple(f"{a['attack']}: {a['reason']}" for a in skipped)
        contents.append(blocks.Section("Not tried", (blocks.Items(entries, "not tried"),)))
    contents += [caption(f"Note: {note}") for note in report["notes"]]
    return blocks.Document(f"{name}: attacks", tuple(contents))


def _roles(report: Mapping[str, Any]) -> str:
    if "known_items" in report:
        return f"Sets of items, of which someone knows up to {report['known_items']} of a person."
    sensitive = ", ".join(report["sensitive"]) or "none"
    return f"Quasi-identifiers: {', '.join(report['quasi'])}. Sensitive: {sensitive}."


def _known(tried: Sequence[Mapping[str, Any]]) -> Iterator[blocks.Block]:
    """By the number of items that are known, where attacks are on sets."""
    for attack in tried:
        if "by_known_items" in attack.get("details", {}):
            yield risk_table(attack["details"]["by_known_items"], attack["details"]["k"])


def _cells(attack: Mapping[str, Any]) -> list[str]:
    average = share(attack["average"])
    if attack["interval"] and attack["targets"]:
        average += " ± " + share((attack["interval"][1] - attack["interval"][0]) / 2)
    before = (attack.get("before") or {}).get("average")
    return [attack["attack"], *attack_cells(attack, before, average)]


def _explained(attack: Mapping[str, Any]) -> blocks.Entry:
    """What an attack does and what stops it; a terminal has room for those with victims."""
    texts = list(_said_of(attack))
    return blocks.Entry(attack["attack"], tuple(texts if attack["victims"] else (_small(text) for text in texts)))


def _said_of(attack: Mapping[str, Any]) -> Iterator[blocks.Text]:
    yield attack["description"]
    if attack["worst_rows"]:
        yield f"Most exposed rows of the {attack['rows_of']}: {', '.join(map(str, attack['worst_rows']))}."
    yield f"By guessing: {attack['by_guessing']}"
    yield f"Stopped by: {attack['stopped_by']}"
    if attack["reference"]:
        yield blocks.Words(f"Reference: {attack['reference']}", "small")
    yield from (blocks.Words(note, "small") for note in attack["notes"])


def _small(text: blocks.Text) -> blocks.Text:
    return blocks.Words(text, "small") if isinstance(text, str) else text
