"""The lattice explorer: safe and unsafe nodes, click one to apply it."""

from __future__ import annotations

import math
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from markupsafe import Markup

from tablecloak.errors import CloakError
from tablecloak.report import lattice as drawing
from tablecloak.server import drafts
from tablecloak.server.pages.shell import Sent, SentForm, back_to, failed, latest_of, project_of, render, workshop_of
from tablecloak.server.services import projects, runs
from tablecloak.server.services.results import error_of
from tablecloak.server.store import Stale

__all__ = ["router"]

router = APIRouter(include_in_schema=False)
MOST_LISTED = 40


MOST_PINNED = 12


@router.get("/projects/{project_id}/lattice")
def lattice(request: Request, project_id: str, node: str = "", tag: str = "", pins: str = "") -> Response:
    """The newest search."""
    return show(request, project_id, node=node, tag=tag, pins=pins)


def show(
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
    workshop, project = workshop_of(request), project_of(request, project_id)
    newest = latest_of(workshop, project, "lattice")
    found = newest.result if newest and newest.status == "done" else None
    chosen = _node(found, node) if found else None
    picture, overview = (None, None)
    if found:
        base, pinned = f"/projects/{project.id}/lattice", _pinned(found, pins)
        kept = f"&pins={';'.join(pinned)}" if pinned else ""
        picture, overview = drawing.picture(found, lambda n: f"{base}?node={','.join(map(str, n))}{kept}", chosen)
    return render(
        request, "lattice.html", project=project, step="compare", alert=alert, status=status, newest=newest,
        found=found, chosen=chosen, tag=tag, picture=Markup(picture or ""), overview=overview and Markup(overview),
        legend=Markup(drawing.legend()), measures=drawing.measures(found, chosen) if found and chosen else None,
        nodes=_listed(found, tag) if found else [], error=error_of(newest), **_shown(found, chosen, pins),
        is_current=newest is not None and newest.policy == project.policy,
    )  # fmt: skip


def _node(found: dict[str, Any], text: str) -> list[int]:
    """The node of an address, or the best one."""
    tops = [column["levels"] - 1 for column in found["columns"]]
    parts = [int(p) for p in text.split(",") if p.isdecimal()]
    fits = len(parts) == len(tops) and all(p <= top for p, top in zip(parts, tops, strict=True))
    best: list[int] = found["best"]
    return parts if fits else best


def _pinned(found: dict[str, Any], pins: str) -> list[str]:
    """Nodes that somebody keeps in sight, as an address names them; what names no node is left out."""
    wanted = dict.fromkeys(",".join(map(str, _node(found, text))) for text in pins.split(";") if text)
    return [text for text in wanted if text in pins.split(";")][:MOST_PINNED]


def _shown(found: dict[str, Any] | None, chosen: list[int] | None, pins: str) -> dict[str, Any]:
    """The pinned nodes with what is known of them, and what the chosen one would leave out to be safe."""
    if found is None or chosen is None:
        return {"pins": [], "pinned": [], "leave_out": None}
    known = {tuple(n["levels"]): n for n in found["nodes"]}
    names = _pinned(found, pins)
    nothing = {"tag": "unknown", "loss": None, "suppressed": None, "classes": None}
    nodes = [tuple(int(p) for p in name.split(",")) for name in names]
    pinned = [{"levels": list(n), **known.get(n, nothing)} for n in nodes]
    own = known.get(tuple(chosen), nothing)
    n_left = own["suppressed"] if own["tag"] == "unsafe" else None
    return {"pins": names, "pinned": pinned, "leave_out": n_left if n_left and n_left < found["records"] else None}


def _limit(found: dict[str, Any], node: list[int], present: float | None, *, is_wider: bool) -> float | None:
    """How large a share may be left out: as the policy says, or as much as makes the node safe."""
    left: int | None = next((n["suppressed"] for n in found["nodes"] if n["levels"] == node), None)
    if not is_wider or left is None:
        return present
    return max(present or 0.0, math.ceil(1e6 * left / int(found["records"])) / 1e6)


def _listed(found: dict[str, Any], tag: str) -> list[dict[str, Any]]:
    """Counted nodes, the ones that lose least first."""
    nodes = [n for n in found["nodes"] if n["loss"] is not None and tag in ("", n["tag"])]
    return sorted(nodes, key=lambda n: (n["tag"] != "safe", n["loss"]))[:MOST_LISTED]


@router.post("/projects/{project_id}/lattice")
def act(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Search the lattice, or apply a node and run."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    try:
        if sent.text("action") == "search":
            runs.begin(workshop, project, "lattice")
            return back_to(project, "lattice")
        newest = runs.latest(workshop, project, "lattice")
        if newest is None:
            return back_to(project, "lattice")
        node = _node(newest.result, sent.text("node"))
        levels = {c["name"]: n for c, n in zip(newest.result["columns"], node, strict=True)}
        present = getattr(projects.policy_of(workshop, project).algorithm, "suppression_limit", None)
        limit = _limit(newest.result, node, present, is_wider=sent.text("action") == "apply-and-leave-out")
        settings = {"kind": "levels", **({"suppression_limit": limit} if limit else {}), "levels": levels}
        project = projects.change(workshop, project, drafts.set_algorithm(settings), version=sent.version, note="node")
        runs.begin(workshop, project)
    except (CloakError, Stale) as error:
        status = 409 if isinstance(error, Stale) else 422
        return show(request, project_id, node=sent.text("node"), alert=failed(error), status=status)
    return back_to(project, "run")
