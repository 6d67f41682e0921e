"""Compare: all runs and one of them in detail, attacks on it, and the lattice of solutions."""

from __future__ import annotations

import math
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from markupsafe import Markup

from tablecloak.errors import CloakError
from tablecloak.report.about import lattice as about
from tablecloak.report.blocks import Figure, LatticeLegend
from tablecloak.report.render.html import markup
from tablecloak.server.shell import (
    Sent,
    SentForm,
    back_to,
    chosen_run,
    failed,
    latest_of,
    project_of,
    render,
    run_of,
    state_of,
)
from tablecloak.server.steps.compare import service as compare_service
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.steps.run import service as run_service
from tablecloak.server.steps.run.service import error_of
from tablecloak.server.store import Stale

router = APIRouter(include_in_schema=False)
PAGE_ROWS = 10


@router.get("/projects/{project_id}/compare")
def compare(
    request: Request,
    project_id: str,
    run: str | None = None,
    page: int = 1,
    values: bool = False,
    beside: str = "",
    pair: int = 0,
) -> Response:
    """All runs, and one of them in detail, perhaps beside another."""
    state, project = state_of(request), project_of(request, project_id)
    chosen = chosen_run(state, project, run)
    if chosen is None:
        return render(request, "locked.html", project=project, step="compare")
    points = compare_service.points(state, project)
    metrics = compare_service.metrics(state, chosen)
    other = run_of(request, project, beside)
    is_other = other is not None and other.status == "done" and other.id != chosen.id
    return render(
        request, "compare.html", project=project, step="compare", run=chosen, chosen=chosen,
        points=points, numbers={p["id"]: p["number"] for p in points},
        parts=compare_service.parts_of_report(state, chosen), other=other if is_other else None,
        others=compare_service.parts_of_report(state, other) if other and is_other else {},
        rows=compare_service.side_by_side(points, state.store.runs(project.id, "run")),
        verdicts=compare_service.verdicts(chosen), attackers=compare_service.attackers(chosen), values=values,
        table=compare_service.beside_page(state, chosen, page, PAGE_ROWS, values=values),
        metrics=metrics, pair=compare_service.pair_of(metrics, pair),
    )  # fmt: skip


@router.get("/projects/{project_id}/attacks")
def attacks(request: Request, project_id: str, run: str | None = None) -> Response:
    """What attackers achieve on a run, if that was tried."""
    return show_attacks(request, project_id, run)


def show_attacks(
    request: Request, project_id: str, run: str | None, *, alert: Any = None, status: int = 200
) -> Response:
    """The page, perhaps with an alert."""
    state, project = state_of(request), project_of(request, project_id)
    chosen = chosen_run(state, project, run)
    if chosen is None:
        return render(request, "locked.html", project=project, step="compare")
    return render(request, "attacks.html", project=project, step="compare", run=chosen, chosen=chosen, alert=alert,
                  status=status, answer=compare_service.attacks(state, chosen))  # fmt: skip


@router.post("/projects/{project_id}/attacks")
def attack(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Try them all."""
    state, project = state_of(request), project_of(request, project_id)
    chosen = chosen_run(state, project, sent.text("run"))
    if chosen is not None:
        try:
            compare_service.attacks(state, chosen, is_wanted=True)
        except CloakError as error:
            return show_attacks(request, project_id, chosen.id, alert=failed(error), status=422)
    return back_to(project, "attacks", f"?run={chosen.id}" if chosen else "")


MOST_LISTED = 40
MOST_PINNED = 12


@router.get("/projects/{project_id}/lattice")
def lattice(request: Request, project_id: str, node: str = "", tag: str = "", pins: str = "") -> Response:
    """The newest search."""
    return show_lattice(request, project_id, node=node, tag=tag, pins=pins)


def show_lattice(
    request: Request,
    project_id: str,
    *,
    node: str = "",
    tag: str = "",
    pins: str = "",
    alert: Any = None,
    status: int = 200,
) -> Response:
    """The page, perhaps with an alert."""
    state, project = state_of(request), project_of(request, project_id)
    newest = latest_of(state, project, "lattice")
    view = newest.result if newest and newest.status == "done" else None
    chosen = _node(view, node) if view else None
    diagram, overview = None, None
    if view:
        base, pinned = f"/projects/{project.id}/lattice", _pinned(view, pins)
        pins_query = f"&pins={';'.join(pinned)}" if pinned else ""
        diagram, overview = about.pictures(
            view, link=lambda n: f"{base}?node={','.join(map(str, n))}{pins_query}", chosen=chosen
        )
    return render(
        request, "lattice.html", project=project, step="compare", alert=alert, status=status, newest=newest,
        view=view, chosen=chosen, tag=tag, picture=_drawn(diagram), overview=_drawn(overview),
        legend=_drawn(Figure(LatticeLegend())),
        measures=about.measures(view, chosen) if view and chosen else None,
        nodes=_listed(view, tag) if view else [], error=error_of(newest), **_shown(view, chosen, pins),
        is_current=newest is not None and newest.policy == project.policy,
    )  # fmt: skip


def _drawn(figure: Figure | None) -> Markup | None:
    return None if figure is None else Markup(markup(figure))


def _node(view: dict[str, Any], text: str) -> list[int]:
    """The node of an address, or the best one."""
    tops = [column["levels"] - 1 for column in view["columns"]]
    parts = [int(p) for p in text.split(",") if p.isdecimal()]
    fits = len(parts) == len(tops) and all(p <= top for p, top in zip(parts, tops, strict=True))
    best: list[int] = view["best"]
    return parts if fits else best


def _pinned(view: dict[str, Any], pins: str) -> list[str]:
    """Nodes that somebody keeps in sight, as an address names them; what names no node is left out."""
    wanted = dict.fromkeys(",".join(map(str, _node(view, text))) for text in pins.split(";") if text)
    return [text for text in wanted if text in pins.split(";")][:MOST_PINNED]


def _shown(view: dict[str, Any] | None, chosen: list[int] | None, pins: str) -> dict[str, Any]:
    """The pinned nodes with what is known of them, and what the chosen one would leave out to be safe."""
    if view is None or chosen is None:
        return {"pins": [], "pinned": [], "leave_out": None}
    counted = {tuple(n["levels"]): n for n in view["nodes"]}
    names = _pinned(view, pins)
    nothing = {"tag": "unknown", "loss": None, "suppressed": None, "classes": None}
    nodes = [tuple(int(p) for p in name.split(",")) for name in names]
    pinned = [{"levels": list(n), **counted.get(n, nothing)} for n in nodes]
    own = counted.get(tuple(chosen), nothing)
    n_left = own["suppressed"] if own["tag"] == "unsafe" else None
    return {"pins": names, "pinned": pinned, "leave_out": n_left if n_left and n_left < view["records"] else None}


def _limit(view: dict[str, Any], node: list[int], present: float | None, *, is_wider: bool) -> float | None:
    """How large a share may be left out: as the policy says, or as much as makes the node safe."""
    left: int | None = next((n["suppressed"] for n in view["nodes"] if n["levels"] == node), None)
    if not is_wider or left is None:
        return present
    return max(present or 0.0, math.ceil(1e6 * left / int(view["records"])) / 1e6)


def _listed(view: dict[str, Any], tag: str) -> list[dict[str, Any]]:
    """Counted nodes, the ones that lose least first."""
    nodes = [n for n in view["nodes"] if n["loss"] is not None and tag in ("", n["tag"])]
    return sorted(nodes, key=lambda n: (n["tag"] != "safe", n["loss"]))[:MOST_LISTED]


@router.post("/projects/{project_id}/lattice")
def act(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Search the lattice, or apply a node and run."""
    state, project = state_of(request), project_of(request, project_id)
    try:
        if sent.text("action") == "search":
            run_service.begin(state, project, "lattice")
            return back_to(project, "lattice")
        newest = run_service.latest(state, project, "lattice")
        if newest is None:
            return back_to(project, "lattice")
        node = _node(newest.result, sent.text("node"))
        levels = {c["name"]: n for c, n in zip(newest.result["columns"], node, strict=True)}
        present = policy_service.policy_of(state, project).algorithm.suppression_limit
        limit = _limit(newest.result, node, present, is_wider=sent.text("action") == "apply-and-leave-out")
        settings = {"kind": "levels", **({"suppression_limit": limit} if limit else {}), "levels": levels}
        project = policy_service.change(
            state, project, policy_service.set_algorithm(settings), version=sent.version, note="node"
        )
        run_service.begin(state, project)
    except (CloakError, Stale) as error:
        status = 409 if isinstance(error, Stale) else 422
        return show_lattice(request, project_id, node=sent.text("node"), alert=failed(error), status=status)
    return back_to(project, "run")
