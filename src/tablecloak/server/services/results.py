"""Results of runs as pages show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tablecloak.errors import CloakError, PolicyError
from tablecloak.findings.base import Status
from tablecloak.server import drafts
from tablecloak.server.services import runs
from tablecloak.server.services.workshop import Workshop
from tablecloak.server.store import Project, Run, Unknown
from tablecloak.server.words import goal_words

__all__ = [
    "attackers", "beside_page", "error_of", "findings", "fix_edit", "history", "is_ready", "is_stopping", "log",
    "losses", "metrics", "pair_of", "phases", "points", "reason_edit", "side_by_side", "verdicts",
]  # fmt: skip


def phases(workshop: Workshop, run: Run) -> list[dict[str, Any]]:
    """Phases of a run so far, with how far each came."""
    found: list[dict[str, Any]] = []
    for event in workshop.jobs.events(run):
        if event["kind"] == "start" and not (found and found[-1]["name"] == event["phase"] and not found[-1]["ended"]):
            found.append({"name": event["phase"], "total": event["total"], "done": 0, "note": "", "ended": None,
                          "began": event["at"]})  # fmt: skip
        elif event["kind"] == "start":
            found[-1]["total"] = event["total"]
        elif event["kind"] == "advance" and found:
            found[-1]["done"] = event["done"]
        elif event["kind"] == "finish" and found:
            found[-1].update(note=event["note"], ended=event["at"])
    for phase in found:
        phase["seconds"] = None if phase["ended"] is None else round(phase["ended"] - phase["began"], 2)
        phase["share"] = 1.0 if phase["ended"] is not None else phase["done"] / phase["total"] if phase["total"] else 0
    return found


def losses(workshop: Workshop, run: Run) -> list[tuple[float, float]]:
    """Seconds and the best loss found by then, falling."""
    return [(e["at"], e["loss"]) for e in workshop.jobs.events(run) if e["kind"] == "best"]


def log(workshop: Workshop, run: Run) -> list[str]:
    """What was told about a run, line by line, with seconds since it began."""
    words: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "state": lambda e: str(e["status"]),
        "start": lambda e: f"{e['phase']} begins" + (f", {e['total']:,} to do" if e["total"] else ""),
        "finish": lambda e: f"ends: {e['note']}" if e["note"] else "ends",
        "best": lambda e: f"best loss so far {e['loss']:.4%}",
        "groups": lambda e: f"{e['groups']:,} groups so far",
        "nodes": lambda e: f"{sum(row[0] + row[1] for row in e['rows']):,} nodes known so far",
        "stopping": lambda _: "asked to publish the best so far",
        "resumed": lambda e: f"goes on after {e['phases']} finished phases",
    }
    told = [e for e in workshop.jobs.events(run) if e["kind"] in words]
    return [f"{event['at']:9.2f} s  {words[event['kind']](event)}" for event in told]


def is_stopping(workshop: Workshop, run: Run) -> bool:
    """Whether a run was asked to publish the best it has."""
    return run.is_open and any(e["kind"] == "stopping" for e in workshop.jobs.events(run))


def summary(run: Run) -> str:
    """Goals and algorithm of a run in a few words."""
    result = run.result or {}
    return f"{', '.join(map(goal_words, result.get('goals', [])))} by {result.get('algorithm', '')}"


def history(workshop: Workshop, project: Project) -> list[dict[str, Any]]:
    """All runs of a project, newest first, numbered from the first."""
    every = workshop.store.runs(project.id, "run")
    return [
        {"number": len(every) - i, "run": run, "what": summary(run) if run.result else "", "error": error_of(run)}
        for i, run in enumerate(every)
    ]


def points(workshop: Workshop, project: Project) -> list[dict[str, Any]]:
    """Runs that ended well, as points of the frontier."""
    found = []
    for entry in history(workshop, project):
        run: Run = entry["run"]
        if run.status != "done":
            continue
        after = run.result.get("after") or {}
        found.append(
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
    return found


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
        found = [(results[p["id"]].get("metrics") or {}).get(name) or {} for p in points_]
        if any(f.get("value") is not None for f in found):
            is_higher = any(f.get("higher_is_better") for f in found)
            about = next(f["description"] for f in found if "description" in f)
            rows.append(_compared(label, [f.get("value") for f in found], higher=is_higher, about=about))
    return rows


def _compared(
    label: str, values: list[Any], *, higher: bool = False, is_share: bool = False, about: str = ""
) -> dict[str, Any]:
    numbers = [v for v in values if isinstance(v, int | float)]
    best = (max if higher else min)(numbers) if len(set(numbers)) > 1 else None
    return {"label": label, "about": about, "values": values, "is_share": is_share,
            "best": [best is not None and v == best for v in values]}  # fmt: skip


def is_ready(run: Run) -> bool:
    """Whether a release may be handed over: every goal holds, and what else was found was accepted with a reason."""
    return run.result.get("status") in (Status.READY, Status.ACCEPTED)


def findings(run: Run) -> list[dict[str, Any]]:
    """What singles people out besides the goals, the open ones first."""
    every: list[dict[str, Any]] = run.result.get("findings") or []
    return sorted(({**found, "at": at} for at, found in enumerate(every)), key=lambda found: bool(found["accepted"]))


def _finding_at(run: Run, at: int) -> dict[str, Any]:
    every = run.result.get("findings") or []
    if not 0 <= at < len(every):
        raise PolicyError("there is no such finding", hint="reload the page")
    chosen: dict[str, Any] = every[at]
    return chosen


def fix_edit(run: Run, at: int) -> tuple[drafts.Change, str]:
    """The edit of a policy that ends a finding, and what it is called in the history."""
    found = _finding_at(run, at)
    edits = [drafts.set_at(change["set"], change["to"]) for change in found["fix"]["changes"]]
    if not edits:
        raise PolicyError("this finding has no change that can be made by itself", hint=found["fix"]["text"])

    def change(document: drafts.Document) -> None:
        for edit in edits:
            edit(document)

    return change, f"fix of {found['kind']}"


def reason_edit(run: Run, at: int, because: str) -> tuple[drafts.Change, str]:
    """The edit of a policy that accepts a finding."""
    found = _finding_at(run, at)
    if not because.strip():
        raise PolicyError("a finding is accepted with a reason", hint="say why it may stay; the report shows it")
    return drafts.accept(found["kind"], found["column"], because.strip()), f"{found['kind']} accepted"


def verdicts(run: Run) -> list[dict[str, Any]]:
    """Goals of a run: required and observed."""
    found: list[dict[str, Any]] = run.result["verdicts"]
    return found


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
    found = [{"name": n, "before": before[k], "after": after[k], "help": h} for n, k, h in kinds]
    everything = (run.result.get("risk") or {}).get("published") or {}
    if everything.get("before") and everything.get("after"):
        name, why = (
            "Knows everything published",
            "share of records that stand alone for who knows every published column",
        )
        sides = {side: everything[side]["unique_share"] for side in ("before", "after")}
        found.append({"name": name, **sides, "help": why})
    return found


def error_of(run: Run | None) -> dict[str, Any] | None:
    """Why a run did not end well, in words."""
    if run is None or not run.error:
        return None
    return {"message": run.error.get("message", ""), "hint": run.error.get("hint"),
            "relaxations": run.error.get("relaxations", [])}  # fmt: skip


def beside_page(workshop: Workshop, run: Run, page: int, n_rows: int, *, values: bool) -> dict[str, Any] | None:
    """Original and release side by side; without `values` only where the pages are."""
    total = run.result["rows"]
    n_pages = max(1, -(-total // n_rows))
    page = min(max(1, page), n_pages)
    offset = (page - 1) * n_rows
    found: dict[str, Any] = {"page": page, "pages": n_pages, "total": total, "first": offset + 1,
                             "last": min(total, offset + n_rows)}  # fmt: skip
    if not values:
        return {**found, "hidden": True}
    try:
        return {**found, "hidden": False, **runs.beside(workshop, run, offset, n_rows)}
    except (CloakError, Unknown):
        return None


def pair_of(metrics: Mapping[str, Any] | None, number: int) -> dict[str, Any] | None:
    """The table of two columns that a page shows, if there is one."""
    pairs = (metrics or {}).get("pairs") or []
    return pairs[number if 0 <= number < len(pairs) else 0] if pairs else None


def metrics(workshop: Workshop, run: Run) -> dict[str, Any] | None:
    """Every metric and the distances of columns; None where the release cannot be compared cell by cell."""
    try:
        return runs.comparison(workshop, run)
    except (CloakError, Unknown):
        return None
