"""Compare: all runs and one of them in detail, attacks on it, and the lattice of solutions."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from tablecloak.report.about.attack import attacked
from tablecloak.report.about.compare import metrics_table
from tablecloak.report.blocks import Figure, LatticeLegend
from tablecloak.server.shell import AtProject, ProjectVisit, Sent, SentForm, back_to, render, tried
from tablecloak.server.steps.compare import service as compare_service
from tablecloak.server.steps.run import service as run_service
from tablecloak.server.store import Project, Run

router = APIRouter(include_in_schema=False)
PAGE_ROWS = 10


@router.get("/projects/{project_id}/compare")
def compare(
    at: AtProject, run: str | None = None, tab: str = "", page: int = 1, values: bool = False, beside: str = "",
    pair: int = 0,
) -> Response:  # fmt: skip
    """All runs, and one of them in detail, perhaps beside another: one question on each tab."""
    state, chosen = at.state, at.chosen_run(run)
    if chosen is None:
        return render(at, "locked.html", step="compare")
    points = compare_service.points(state, at.project)
    tab = tab if tab in compare_service.TABS else "records" if values else "verdict"
    comparison = compare_service.metrics(state, chosen) if tab in ("lost", "pairs") else None
    pairs = comparison.pairs if comparison else ()
    other = at.run(beside)
    if other is not None and (other.status != "done" or other.id == chosen.id):
        other = None
    report, others = (compare_service.parts_of_report(state, each) if each else {} for each in (chosen, other))
    return render(
        at, "compare.html", step="compare", run=chosen, chosen=chosen, points=points, tab=tab,
        tabs=compare_service.TABS, numbers={p.run.id: p.number for p in points}, other=other,
        frontier=compare_service.frontier(points, chosen), rows=compare_service.side_by_side(points),
        parts=compare_service.sections_of(report, tab), others=compare_service.sections_of(others, tab),
        groups=run_service.groups_of(chosen), values=values,
        goals=compare_service.goals_part(chosen), attackers=compare_service.attackers(chosen),
        table=compare_service.beside_page(state, chosen, page, PAGE_ROWS, values=values and tab == "records"),
        pairs=pairs, pair=pairs[pair if 0 <= pair < len(pairs) else 0] if pairs else None,
        metrics=metrics_table(comparison.document["metrics"]) if comparison else None,
    )  # fmt: skip


@router.get("/projects/{project_id}/attacks")
def attacks(at: AtProject, run: str | None = None) -> Response:
    """What attackers achieve on a run, if that was tried."""
    chosen = at.chosen_run(run)
    if chosen is None:
        return render(at, "locked.html", step="compare")
    answer = compare_service.attacks(at.state, chosen)
    parts = attacked(answer.document, "").sections if answer else {}
    notes = answer.document["notes"] if answer else []
    return render(at, "attacks.html", step="compare", run=chosen, chosen=chosen, parts=parts, notes=notes)


@router.post("/projects/{project_id}/attacks")
def attack(sent: SentForm, at: AtProject) -> Response:
    """Try them all."""
    chosen = at.chosen_run(sent.text("run"))
    if chosen is None:
        return back_to(at.project, "attacks")

    def do() -> Project:
        compare_service.attacks(at.state, chosen, is_wanted=True)
        return at.project

    return tried(at, do, attacks, "attacks", f"?run={chosen.id}", run=chosen.id)


@router.get("/projects/{project_id}/lattice")
def lattice(at: AtProject, node: str = "", tag: str = "", pins: str = "") -> Response:
    """The newest search."""
    newest = run_service.latest(at.state, at.project, "lattice", status=None)
    address = f"/projects/{at.project.id}/lattice"
    searched = None
    if newest and newest.status == "done":
        searched = compare_service.LatticePage.of(newest.result, address, node=node, pins=pins, tag=tag)
    return render(
        at, "lattice.html", step="compare", newest=newest, searched=searched, legend=Figure(LatticeLegend()),
        is_current=newest is not None and newest.policy == at.project.policy,
    )  # fmt: skip


@router.post("/projects/{project_id}/lattice")
def act(sent: SentForm, at: AtProject) -> Response:
    """Search the lattice, or apply a node and run."""
    newest = run_service.latest(at.state, at.project, "lattice")
    is_search = sent.text("action") == "search"
    if newest is None and not is_search:
        return back_to(at.project, "lattice")
    then = "lattice" if is_search else "run"
    return tried(at, lambda: _acted(at, sent, None if is_search else newest), lattice, then, node=sent.text("node"))


def _acted(at: ProjectVisit, sent: Sent, searched: Run | None) -> Project:
    if searched is None:
        run_service.begin(at.state, at.project, "lattice")
        return at.project
    is_wider = sent.text("action") == "apply-and-leave-out"
    view, node = searched.result, sent.text("node")
    project = compare_service.apply_node(at.state, at.project, view, node, is_wider=is_wider, version=sent.version)
    run_service.begin(at.state, project)
    return project
