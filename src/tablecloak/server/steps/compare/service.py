"""A release beside its original and beside other runs, as pages show it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tablecloak.errors import CloakError
from tablecloak.measure.frontier import on_frontier
from tablecloak.report.about import lattice as about
from tablecloak.report.about.check_run_verify import verdicts_block
from tablecloak.report.about.quality import READ, caption
from tablecloak.report.about.release import COVERED
from tablecloak.report.blocks import (
    Block,
    Charts,
    Document,
    Dot,
    Figure,
    PairedBars,
    Scatter,
    SteppedLines,
    TextTable,
    from_plain,
)
from tablecloak.server.forms import goal_words
from tablecloak.server.state import ServerState, StoredAnswer, key_of
from tablecloak.server.steps.compare import task as compare_task
from tablecloak.server.steps.load.service import PageNumbers
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.steps.run import service as run_service
from tablecloak.server.steps.run.task import SAID
from tablecloak.server.store import Project, Run, Unknown

# Measures that runs are compared by, of those that a run has.
_MEASURES = {
    "query-error": "error of counts",
    "contingency-error": "error of tables of two columns",
    "association-error": "error of associations",
    "propensity": "tells released from original",
    "hellinger": "distance of the columns",
    "classification": "wrong guesses of the target",
    "precision": "precision of the hierarchies",
    "discernibility": "discernibility",
    "average-class-size": "group size against k",
}
MOST_BESIDE = 6
TABS = {
    "verdict": "Verdict",
    "risk": "Risk",
    "lost": "Detail lost",
    "attacks": "Attacks",
    "distributions": "Distributions",
    "pairs": "Pairs",
    "records": "Records",
}
COLUMN_CHARTS = (PairedBars, SteppedLines, type(None))
# Sections of the report, by the tab that shows them.
TAB_OF = {"Alerts": "verdict", "Risk": "risk", "Attacks": "attacks", "Utility": "lost", "What changed": "lost"}


def parts_of_report(state: ServerState, run: Run) -> dict[str, tuple[Block, ...]]:
    """The sections of the report by title; empty where there is no report."""
    try:
        path = run_service.file_of(state, run, "report").with_name(SAID)
        document: Document = from_plain(json.loads(path.read_text(encoding="utf-8")))
    except (Unknown, FileNotFoundError, KeyError):  # of a run by a version that kept none, or other blocks
        return {}
    return document.sections


def sections_of(parts: Mapping[str, tuple[Block, ...]], tab: str) -> dict[str, tuple[Block, ...]]:
    """The sections of a report that a tab shows; what holds columns before and after stands on a tab of its own."""
    utility = parts.get("Utility", ())
    if tab == "distributions":
        charts = tuple(Charts(own) for block in utility if isinstance(block, Charts) and (own := _columns_of(block)))
        return {"Columns, before and after": charts} if charts else {}
    shown = {title: blocks for title, blocks in parts.items() if TAB_OF.get(title) == tab}
    if "Utility" in shown:
        shown["Utility"] = tuple(_without_columns(block) for block in utility)
    return shown


def _columns_of(charts: Charts) -> tuple[Block, ...]:
    """Figures that hold a column against its original, or say why there is nothing to hold."""
    return tuple(f for f in charts.blocks if isinstance(f, Figure) and isinstance(f.chart, COLUMN_CHARTS))


def _without_columns(block: Block) -> Block:
    """A block of utility without columns before and after, and without the loss that the page states exactly."""
    if isinstance(block, Charts):
        return Charts(tuple(f for f in block.blocks if f not in _columns_of(block)))
    if isinstance(block, TextTable) and block.kind == "measures":
        return replace(block, rows=tuple(row for row in block.rows if row[0] != READ["gcp"][0]))
    return block


def goals_part(run: Run) -> list[Block]:
    """The goals of a run: required and observed."""
    return [verdicts_block(run.result["verdicts"], worst="worst group"), caption(COVERED[run.result["covers"]])]


def _release_of(state: ServerState, run: Run) -> compare_task.ReleaseRequest:
    return compare_task.ReleaseRequest(state.table_of(run), run_service.file_of(state, run, "release"))


def attacks(state: ServerState, run: Run, *, is_wanted: bool = False) -> compare_task.AttackAnswer | None:
    """What every attack achieves on a release; None if nobody wanted that yet. It may take a while."""
    memo = StoredAnswer(compare_task.AttackAnswer, run.project, key_of("attack", run.id))
    answer = state.stored(memo)
    if answer is None and is_wanted:
        answer = state.fetch(compare_task.attack, _release_of(state, run))
        state.keep(memo, answer)
    return answer


def points(state: ServerState, project: Project) -> list[run_service.NumberedRun]:
    """Runs that ended well."""
    return [numbered for numbered in run_service.history(state, project) if numbered.run.status == "done"]


def frontier(points_: Sequence[run_service.NumberedRun], chosen: Run) -> Scatter:
    """Runs by risk and loss: low and left is better. Every point is a link; those that no other beats are joined."""
    values = [(p.risk.get("highest"), p.run.result["loss"]) for p in points_]
    best = on_frontier(values)
    dots = tuple(
        Dot(
            risk,
            loss,
            f"run {p.number}: {p.what}",
            is_frontier=i in best,
            name=str(p.number),
            link=p.address,
            is_chosen=p.run.id == chosen.id,
        )
        for i, (p, (risk, loss)) in enumerate(zip(points_, values, strict=True))
        if risk is not None and loss is not None
    )
    return Scatter("All runs by risk and loss", dots, "highest risk of a record", "detail lost", ())


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """What each of several runs has, with a mark at the best."""

    label: str
    cells: tuple[Any, ...]  # words, a number or None
    best: float | None = None
    is_share: bool = False
    about: str = ""


def side_by_side(points_: Sequence[run_service.NumberedRun]) -> list[ComparedRow]:
    """Rows of a table with one column per run: goals, risk, loss and utility; the best of each row is marked."""
    shown = points_[:MOST_BESIDE]
    results = [p.run.result for p in shown]
    rows = [
        ComparedRow("goals", tuple(", ".join(map(goal_words, r["goals"])) for r in results)),
        _compared("highest risk", [p.risk.get("highest") for p in shown], is_share=True),
        _compared("average risk", [p.risk.get("average") for p in shown], is_share=True),
        _compared("detail lost", [r["loss"] for r in results], is_share=True),
        _compared("records left out", [r["suppressed"] for r in results]),
        _compared("groups", [r["classes"] for r in results], higher=True),
    ]
    for name, label in _MEASURES.items():
        measures = [(r.get("metrics") or {}).get(name) or {} for r in results]
        if any(m.get("value") is not None for m in measures):
            is_higher = any(m.get("higher_is_better") for m in measures)
            about = next(m["description"] for m in measures if "description" in m)
            rows.append(_compared(label, [m.get("value") for m in measures], higher=is_higher, about=about))
    return rows


def _compared(
    label: str, values: list[float | None], *, higher: bool = False, is_share: bool = False, about: str = ""
) -> ComparedRow:
    numbers = {v for v in values if v is not None}
    best = (max if higher else min)(numbers) if len(numbers) > 1 else None
    return ComparedRow(label, tuple(values), best, is_share, about)


@dataclass(frozen=True, slots=True)
class AttackerRisk:
    """Who wants to know something, and the chance of success before and after."""

    name: str
    help: str
    before: float
    after: float


def attackers(run: Run) -> list[AttackerRisk]:
    """Risk before and after, by what an attacker wants."""
    before, after = run.result.get("before"), run.result.get("after")
    if not before or not after:
        return []
    kinds: tuple[tuple[str, str, str], ...] = (
        ("Prosecutor", "highest", "knows that somebody is in the table and looks for that person: the worst case"),
        ("Marketer", "average", "tries to match everybody and counts how many are right: the average"),
        ("Unique records", "unique_share", "share of records that stand alone"),
    )
    if run.result.get("itemsets"):
        kinds = (
            ("Somebody who knows some items", "highest", "of all records that hold them picks one: the worst case"),
        )
    attackers_ = [AttackerRisk(name, help_, before[key], after[key]) for name, key, help_ in kinds]
    everything = (run.result.get("risk") or {}).get("published") or {}
    if everything.get("before") and everything.get("after"):
        help_ = "share of records that stand alone for who knows every published column"
        shares = (everything[side]["unique_share"] for side in ("before", "after"))
        attackers_.append(AttackerRisk("Knows everything published", help_, *shares))
    return attackers_


@dataclass(frozen=True, slots=True)
class PageBeside:
    """One page of an original and its release; without rows only where the pages are."""

    numbers: PageNumbers
    rows: compare_task.RowsBeside | None = None


def beside_page(state: ServerState, run: Run, page: int, n_rows: int, *, values: bool) -> PageBeside | None:
    """Original and release side by side; None where they cannot be shown so."""
    numbers = PageNumbers.of(page, n_rows, run.result["rows"])
    if not values:
        return PageBeside(numbers)
    try:
        n_left_out = run.result["suppressed"]
        request = compare_task.BesideRequest(_release_of(state, run), numbers.offset, n_rows, n_left_out=n_left_out)
        return PageBeside(numbers, state.ask(compare_task.rows_beside, request))
    except (CloakError, Unknown):
        return None


def metrics(state: ServerState, run: Run) -> compare_task.ComparisonAnswer | None:
    """Every metric and the distances of columns; None where the release cannot be compared cell by cell."""
    memo = StoredAnswer(compare_task.ComparisonAnswer, run.project, key_of("compare", run.id))
    try:
        return state.ask_once(memo, compare_task.compare, _release_of(state, run))
    except (CloakError, Unknown):
        return None


MOST_LISTED = 40
MOST_PINNED = 12
UNKNOWN_NODE: Mapping[str, Any] = {"tag": "unknown", "loss": None, "suppressed": None, "classes": None}


@dataclass(frozen=True, slots=True)
class LatticePage:
    """What a page shows of a searched lattice."""

    view: Mapping[str, Any]  # as `tablecloak lattice --json` prints it
    chosen: list[int]
    pins: list[str]  # nodes that somebody keeps in sight, as an address names them
    tag: str  # of the nodes that are listed; empty: all
    picture: Figure
    overview: Figure | None

    @classmethod
    def of(cls, view: Mapping[str, Any], address: str, *, node: str, pins: str, tag: str) -> LatticePage:
        chosen = node_of(view, node)
        wanted = dict.fromkeys(",".join(map(str, node_of(view, text))) for text in pins.split(";") if text)
        pinned = [text for text in wanted if text in pins.split(";")][:MOST_PINNED]  # what names no node is left out
        query = f"&pins={';'.join(pinned)}" if pinned else ""

        def link(levels: Sequence[int]) -> str:
            return f"{address}?node={','.join(map(str, levels))}{query}"

        return cls(view, chosen, pinned, tag, *about.pictures(view, link=link, chosen=chosen))

    @property
    def measures(self) -> str:
        return about.measures(self.view, self.chosen)

    def _node(self, levels: Sequence[int]) -> Mapping[str, Any]:
        known = next((n for n in self.view["nodes"] if n["levels"] == list(levels)), UNKNOWN_NODE)
        return {"levels": list(levels), **known}

    @property
    def pinned(self) -> list[Mapping[str, Any]]:
        """The pinned nodes with what is known of them."""
        return [self._node([int(p) for p in name.split(",")]) for name in self.pins]

    @property
    def listed(self) -> list[Mapping[str, Any]]:
        """Counted nodes, the ones that lose least first."""
        nodes = [n for n in self.view["nodes"] if n["loss"] is not None and self.tag in ("", n["tag"])]
        return sorted(nodes, key=lambda n: (n["tag"] != "safe", n["loss"]))[:MOST_LISTED]

    @property
    def leave_out(self) -> int | None:
        """How many records the chosen node would leave out to be safe."""
        own = self._node(self.chosen)
        n_left: int | None = own["suppressed"] if own["tag"] == "unsafe" else None
        return n_left if n_left and n_left < self.view["records"] else None


def node_of(view: Mapping[str, Any], text: str) -> list[int]:
    """The node of an address, or the best one."""
    tops = [column["levels"] - 1 for column in view["columns"]]
    parts = [int(p) for p in text.split(",") if p.isdecimal()]
    fits = len(parts) == len(tops) and all(p <= top for p, top in zip(parts, tops, strict=True))
    best: list[int] = view["best"]
    return parts if fits else best


def apply_node(
    state: ServerState, project: Project, view: Mapping[str, Any], node: str, *, is_wider: bool, version: int
) -> Project:
    """Write a node of the lattice into the policy.

    Args:
        is_wider: as many records may be left out as make the node safe; else as the policy says.
    """
    levels = node_of(view, node)
    limit = policy_service.policy_of(state, project).algorithm.suppression_limit
    left: int | None = next((n["suppressed"] for n in view["nodes"] if n["levels"] == levels), None)
    if is_wider and left is not None:
        limit = max(limit or 0.0, math.ceil(1e6 * left / int(view["records"])) / 1e6)
    named = {c["name"]: n for c, n in zip(view["columns"], levels, strict=True)}
    settings = {"kind": "levels", **({"suppression_limit": limit} if limit else {}), "levels": named}
    return policy_service.change(state, project, policy_service.set_algorithm(settings), version=version, note="node")
