"""A release beside its original and beside other runs, as pages show it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tablecloak.errors import CloakError
from tablecloak.report.blocks import Document, from_plain
from tablecloak.report.render.html import part
from tablecloak.report.render.markup import Html
from tablecloak.server.forms import goal_words
from tablecloak.server.state import ServerState, StoredAnswer, key_of
from tablecloak.server.steps.compare import task as compare_task
from tablecloak.server.steps.compare.task import (
    AttackAnswer,
    BesideRequest,
    ComparisonAnswer,
    ReleaseRequest,
    RowsBeside,
)
from tablecloak.server.steps.load.service import PageNumbers
from tablecloak.server.steps.run import service as run_service
from tablecloak.server.steps.run.task import SAID
from tablecloak.server.store import Project, Run, Unknown

# Measures that runs are compared by, of those that a run has; the last is whether more is better.
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


def parts_of_report(state: ServerState, run: Run) -> dict[str, Html]:
    """The sections of the report by title; empty where there is no report."""
    try:
        path = run_service.file_of(state, run, "report").with_name(SAID)
        document: Document = from_plain(json.loads(path.read_text(encoding="utf-8")))
    except (Unknown, FileNotFoundError):  # of a run by a version that kept none
        return {}
    return {title: part(blocks) for title, blocks in document.sections.items()}


def _release_of(state: ServerState, run: Run) -> ReleaseRequest:
    return ReleaseRequest(state.table_of(run), run_service.file_of(state, run, "release"))


def attacks(state: ServerState, run: Run, *, is_wanted: bool = False) -> AttackAnswer | None:
    """What every attack achieves on a release; None if nobody wanted that yet. It may take a while."""
    memo = StoredAnswer(AttackAnswer, run.project, key_of("attack", run.id))
    answer = state.stored(memo)
    if answer is None and is_wanted:
        answer = state.fetch(compare_task.attack, _release_of(state, run))
        state.keep(memo, answer)
    return answer


def points(state: ServerState, project: Project) -> list[dict[str, Any]]:
    """Runs that ended well, as points of the frontier."""
    points_ = []
    for entry in run_service.history(state, project):
        run: Run = entry["run"]
        if run.status != "done":
            continue
        after = run.result.get("after") or {}
        points_.append(
            {
                "id": run.id,
                "number": entry["number"],
                "what": entry["what"],
                "algorithm": run.result["algorithm"],
                "goals": run.result["goals"],
                "risk": after.get("highest"),
                "average": after.get("average"),
                "loss": run.result["loss"],
                "suppressed": run.result["suppressed"],
                "classes": run.result["classes"],
                "holds": run.result["holds"],
                "status": run.result.get("status"),
                "seconds": sum(run.result["seconds"].values()),
                "href": f"/projects/{project.id}/compare?run={run.id}",
            }
        )
    return points_


def side_by_side(shown: list[dict[str, Any]], every: list[Run]) -> list[dict[str, Any]]:
    """Rows of a table with one column per run: goals, risk, loss and utility; the best of each row is marked."""
    results = {run.id: run.result for run in every}
    points_ = shown[:MOST_BESIDE]
    rows = [
        _compared("goals", [", ".join(map(goal_words, p["goals"])) for p in points_]),
        _compared("highest risk", [p["risk"] for p in points_], is_share=True),
        _compared("average risk", [p["average"] for p in points_], is_share=True),
        _compared("detail lost", [p["loss"] for p in points_], is_share=True),
        _compared("records left out", [p["suppressed"] for p in points_]),
        _compared("groups", [p["classes"] for p in points_], higher=True),
    ]
    for name, label in _MEASURES.items():
        measures = [(results[p["id"]].get("metrics") or {}).get(name) or {} for p in points_]
        if any(f.get("value") is not None for f in measures):
            is_higher = any(f.get("higher_is_better") for f in measures)
            about = next(f["description"] for f in measures if "description" in f)
            rows.append(_compared(label, [f.get("value") for f in measures], higher=is_higher, about=about))
    return rows


def _compared(
    label: str, values: list[Any], *, higher: bool = False, is_share: bool = False, about: str = ""
) -> dict[str, Any]:
    numbers = [v for v in values if isinstance(v, int | float)]
    best = (max if higher else min)(numbers) if len(set(numbers)) > 1 else None
    return {"label": label, "about": about, "values": values, "is_share": is_share,
            "best": [best is not None and v == best for v in values]}  # fmt: skip


def verdicts(run: Run) -> list[dict[str, Any]]:
    """Goals of a run: required and observed."""
    verdicts_: list[dict[str, Any]] = run.result["verdicts"]
    return verdicts_


def attackers(run: Run) -> list[dict[str, Any]]:
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
    attackers_ = [{"name": n, "before": before[k], "after": after[k], "help": h} for n, k, h in kinds]
    everything = (run.result.get("risk") or {}).get("published") or {}
    if everything.get("before") and everything.get("after"):
        name, why = (
            "Knows everything published",
            "share of records that stand alone for who knows every published column",
        )
        sides = {side: everything[side]["unique_share"] for side in ("before", "after")}
        attackers_.append({"name": name, **sides, "help": why})
    return attackers_


@dataclass(frozen=True, slots=True)
class PageBeside:
    """One page of an original and its release; without rows only where the pages are."""

    numbers: PageNumbers
    rows: RowsBeside | None = None


def beside_page(state: ServerState, run: Run, page: int, n_rows: int, *, values: bool) -> PageBeside | None:
    """Original and release side by side; None where they cannot be shown so."""
    numbers = PageNumbers.of(page, n_rows, run.result["rows"])
    if not values:
        return PageBeside(numbers)
    try:
        n_left_out = run.result["suppressed"]
        request = BesideRequest(_release_of(state, run), numbers.offset, n_rows, n_left_out=n_left_out)
        return PageBeside(numbers, state.ask(compare_task.rows_beside, request))
    except (CloakError, Unknown):
        return None


def pair_of(comparison: ComparisonAnswer | None, number: int) -> Mapping[str, Any] | None:
    """The table of two columns that a page shows, if there is one."""
    pairs = comparison.pairs if comparison else ()
    return pairs[number if 0 <= number < len(pairs) else 0] if pairs else None


def metrics(state: ServerState, run: Run) -> ComparisonAnswer | None:
    """Every metric and the distances of columns; None where the release cannot be compared cell by cell."""
    memo = StoredAnswer(ComparisonAnswer, run.project, key_of("compare", run.id))
    try:
        return state.ask_once(memo, compare_task.compare, _release_of(state, run))
    except (CloakError, Unknown):
        return None
