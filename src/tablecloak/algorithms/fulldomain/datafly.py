"""Datafly: raise the column with most values until few enough records are left in classes that fail."""

from __future__ import annotations

from tablecloak.algorithms.fulldomain.judge import Judge, Verdict
from tablecloak.progress import Progress

__all__ = ["datafly"]


def datafly(judge: Judge, progress: Progress) -> list[Verdict]:
    """The nodes on the way, the last of them safe."""
    progress.start("solve", judge.lattice.n_rows)
    node = judge.lattice.bottom
    way = [judge.verdict(node)]
    while not way[-1].is_safe:
        counts = {d: judge.rollups.distinct(d, node[d]) for d, h in enumerate(judge.lattice.heights) if node[d] < h}
        if not counts:
            raise judge.infeasible()
        dim = max(counts, key=lambda d: (counts[d], d))  # of columns with equally many values the last listed
        node = (*node[:dim], node[dim] + 1, *node[dim + 1 :])
        way.append(judge.verdict(node))
        progress.advance(sum(node))
    return way
