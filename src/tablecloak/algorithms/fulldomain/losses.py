"""What a node loses, as sums over records, with the bounds that make searches skip nodes.

A published record costs `published`, which never falls when its class gets coarser; a suppressed one costs
`suppressed`, which is at least as much. So a node X bounds others:
  every node above X loses at least base(X), the cost if nothing were suppressed;
  every node Y below X loses at least base(Y) + penalty(X), if whatever X must suppress Y must suppress too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tablecloak.algorithms.fulldomain.ladder import Ladder
from tablecloak.algorithms.fulldomain.lattice import Node
from tablecloak.algorithms.fulldomain.rollup import Groups
from tablecloak.data.coded import CodedTable

__all__ = ["Loss", "LossName"]

FloatArray = NDArray[np.float64]

LossName: TypeAlias = Annotated[
    Literal["gcp", "discernibility", "precision", "height"],
    Field(
        description="what is kept lowest: gcp, mean loss of a cell; discernibility, sizes of classes; precision, mean "
        "share of the levels climbed; height, sum of the levels"
    ),
]


class Loss:
    """Costs per record of the classes of a node; summed over records and divided by `scale` they are its loss."""

    def __init__(self, name: str, table: CodedTable, ladders: Sequence[Ladder], bottom: Groups) -> None:
        self.name = name
        self.ladders = tuple(ladders)
        self.n_rows = max(1, table.n_rows)
        self.weights = table.space.weight / max(1, len(ladders))  # sum to 1
        self.scale = 1 if name == "discernibility" else self.n_rows
        self.per_level = self._per_level(bottom)

    def published(self, groups: Groups) -> FloatArray:
        """Cost of a published record of every class."""
        if self.name == "discernibility":
            return groups.stats.size.astype(np.float64)
        if self.name == "gcp":
            return self._cell_losses(groups)
        return np.full(groups.n_groups, self.base(groups.levels))

    def suppressed(self, published: FloatArray) -> FloatArray:
        """Cost of a record of every class if it is suppressed."""
        if self.name == "height":
            return published
        return np.full(len(published), float(self.n_rows) if self.name == "discernibility" else 1.0)

    def base(self, levels: Node) -> float:
        """Loss of a node if nothing is suppressed, as far as it is known without counting the node."""
        return float(sum(v[level] for v, level in zip(self.per_level, levels, strict=True)))

    def base_array(self, shape: tuple[int, ...]) -> FloatArray:
        """`base` of all nodes."""
        total = np.zeros(shape)
        for d, values in enumerate(self.per_level):
            total += values.reshape([-1 if i == d else 1 for i in range(len(shape))])
        return total

    def _per_level(self, bottom: Groups) -> list[FloatArray]:
        """What each level of each column adds to the loss."""
        size, parts = bottom.stats.size, []
        for d, ladder in enumerate(self.ladders):
            if self.name == "gcp":
                ranks = [ladder.step(0, level)[bottom.ranks[d]] for level in range(ladder.height + 1)]
                sums = [size @ rung.losses[rank] for rung, rank in zip(ladder.rungs, ranks, strict=True)]
                part = self.weights[d] * np.array(sums) / self.n_rows
            elif self.name == "precision":
                part = self.weights[d] * np.arange(ladder.height + 1) / max(1, ladder.height)
            else:
                part = np.arange(ladder.height + 1) * float(self.name == "height")
            parts.append(np.asarray(part, np.float64))
        return parts

    def _cell_losses(self, groups: Groups) -> FloatArray:
        total = np.zeros(groups.n_groups)
        for d, (ladder, level) in enumerate(zip(self.ladders, groups.levels, strict=True)):
            if level:
                total += (self.weights[d] * ladder.rungs[level].losses)[groups.ranks[d]]
        return total
