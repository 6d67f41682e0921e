"""A searched lattice as a value: nodes with tags and losses, minimal nodes, the chosen one; plain data for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.fulldomain._judge import Judge, NodeVerdict
from tablecloak.algorithms.fulldomain._lattice import Lattice, Node
from tablecloak.algorithms.fulldomain._searched_lattice import SAFE, UNKNOWN, BestNode, SearchedLattice

# Beyond this many nodes only those are listed that were counted or are minimal.
LIST_UP_TO = 20_000


@dataclass(frozen=True, slots=True)
class NodeView:
    """What is known about one node."""

    levels: Node
    is_safe: bool | None  # None: the search could tell without it that it is not the best
    was_checked: bool  # counted; otherwise it follows from other nodes
    loss: float | None = None  # of checked nodes, suppression included
    loss_at_least: float | None = None
    suppressed: int | None = None
    classes: int | None = None

    def to_dict(self) -> dict[str, Any]:
        tag = "unknown" if self.is_safe is None else "safe" if self.is_safe else "unsafe"
        return {
            "levels": list(self.levels),
            "row": sum(self.levels),
            "tag": tag,
            "how": "checked" if self.was_checked else "inferred" if self.is_safe is not None else "skipped",
            "loss": self.loss,
            "loss_at_least": self.loss_at_least,
            "suppressed": self.suppressed,
            "classes": self.classes,
        }


@dataclass(frozen=True, slots=True)
class LatticeView:
    """A lattice after a search."""

    columns: tuple[str, ...]
    lattice: Lattice
    loss: str
    n_rows: int
    budget: int  # records that may be suppressed
    nodes: tuple[NodeView, ...]
    rows: tuple[dict[str, int], ...]  # per row of the lattice: nodes by tag
    minimal: tuple[Node, ...]  # safe nodes below which none is safe; only if every node is tagged
    best: Node
    checks: int
    bound: float | None  # no node loses less than this
    is_complete: bool  # every node is tagged

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak lattice --json`."""
        return {
            "columns": [{"name": n, "levels": h + 1} for n, h in zip(self.columns, self.lattice.heights, strict=True)],
            "size": self.lattice.size,
            "row_sizes": self.lattice.row_sizes(),
            "rows": list(self.rows),
            "loss": self.loss,
            "records": self.n_rows,
            "suppression_budget": self.budget,
            "checks": self.checks,
            "complete": self.is_complete,
            "bound": self.bound,
            "best": list(self.best),
            "minimal": [list(n) for n in self.minimal],
            "nodes": [n.to_dict() for n in self.nodes],
        }


def view_of_search(searched: SearchedLattice, best: NodeVerdict) -> LatticeView:
    """The lattice as a search with tags left it, which chose one node."""
    is_complete = bool((searched.tags != UNKNOWN).all())
    minimal = minimal_nodes(searched.tags) if is_complete else []
    shown = searched.lattice.nodes() if searched.lattice.size <= LIST_UP_TO else sorted({*searched.verdicts, *minimal})
    nodes = tuple(_node(searched, n) for n in shown)
    rows = tuple(dict(zip(("safe", "unsafe", "unknown"), row, strict=True)) for row in searched.rows())
    return _view(
        searched.judge, best.node, nodes, rows, minimal=tuple(minimal), checks=len(searched.verdicts),
        bound=searched.least_loss(), is_complete=is_complete,
    )  # fmt: skip


def view_of_best(judge: Judge, best: BestNode) -> LatticeView:
    """The lattice as a search without tags left it: only counted nodes are known."""
    nodes = [_checked(v) for _, v in sorted(best.verdicts.items())]
    rows = [{"safe": 0, "unsafe": 0, "unknown": n} for n in judge.lattice.row_sizes()]
    for node in nodes:
        row = rows[sum(node.levels)]
        row["safe" if node.is_safe else "unsafe"] += 1
        row["unknown"] -= 1
    return _view(judge, best.verdict.node, tuple(nodes), tuple(rows), checks=len(nodes), bound=best.bound)


def _view(
    judge: Judge, best: Node, nodes: tuple[NodeView, ...], rows: tuple[dict[str, int], ...], *, checks: int,
    bound: float, minimal: tuple[Node, ...] = (), is_complete: bool = False,
) -> LatticeView:  # fmt: skip
    columns = tuple(ladder.domain.name for ladder in judge.ladders)
    return LatticeView(
        columns, judge.lattice, judge.loss.name, judge.n_rows, judge.budget, nodes, rows, minimal, best, checks, bound,
        is_complete,
    )  # fmt: skip


def minimal_nodes(tags: NDArray[np.int8]) -> list[Node]:
    """Safe nodes none of whose direct specialisations is safe."""
    safe = tags == SAFE
    has_safe_below = np.zeros_like(safe)
    for d in range(safe.ndim):
        upper = tuple(slice(1, None) if i == d else slice(None) for i in range(safe.ndim))
        lower = tuple(slice(None, -1) if i == d else slice(None) for i in range(safe.ndim))
        has_safe_below[upper] |= safe[lower]
    return [tuple(int(i) for i in node) for node in np.argwhere(safe & ~has_safe_below)]


def _node(searched: SearchedLattice, node: Node) -> NodeView:
    if node in searched.verdicts:
        return _checked(searched.verdicts[node])
    tag = int(searched.tags[node])
    bound = searched.bound(node)
    return NodeView(
        node,
        is_safe=None if tag == UNKNOWN else tag == SAFE,
        was_checked=False,
        loss_at_least=bound if np.isfinite(bound) else None,
    )


def _checked(verdict: NodeVerdict) -> NodeView:
    return NodeView(
        verdict.node,
        verdict.is_safe,
        was_checked=True,
        loss=verdict.loss,
        suppressed=verdict.n_suppressed,
        classes=verdict.n_classes,
    )
