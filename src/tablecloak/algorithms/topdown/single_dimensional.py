"""Single-dimensional recoding: greedy top-down splits of whole columns, refused if any class then fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
import polars as pl
from pydantic import Field

from tablecloak.algorithms.base import FINER, Problem, Solution, algorithm, if_not_monotone
from tablecloak.algorithms.topdown._grid import Grid, Piece, Trial, children_of, is_numeric, whole_piece
from tablecloak.arrays import FloatArray
from tablecloak.models.base import Goal
from tablecloak.progress import Progress

QUANTILES = {"median": (0.5,), "quartiles": (0.5, 0.25, 0.75)}


@algorithm("single-dimensional", minimizes="the width of the widest piece")
class SingleDimensional:
    """Split the widest piece of a column for all its records at once, while every class satisfies the goal.

    Numbers are split at the median or a quartile, whichever keeps the classes most diverse; categories at a node of
    their tree into all its children. Early splits constrain later ones, so it loses far more than mondrian. Cost: one
    pass over a piece's records per split tried.
    """

    split: Annotated[
        Literal["at-most", "below"],
        Field(description="which numbers go left: those at most the candidate, or those below it"),
    ] = "at-most"
    candidates: Annotated[
        Literal["quartiles", "median"], Field(description="where a column of numbers may be split")
    ] = "quartiles"
    width: Annotated[
        Literal["range", "maximum"],
        Field(
            description="width of a piece of numbers: (max - min) / range of the column, or the older (max - min) / max"
        ),
    ] = "range"

    def refuses(self, goal: Goal) -> str | None:
        return if_not_monotone(goal, FINER)

    def run(self, problem: Problem, progress: Progress) -> SplitSearch:
        """Split until nothing can be split, and keep the steps."""
        run = SplitSearch(self, Grid(problem, 0.0))
        progress.start("solve", None)
        while run.open:
            run.step()
            progress.advance(len(run.steps))
        return run

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        run = self.run(problem, progress)
        return run.grid.solution(run.closed)


@dataclass(slots=True)
class SplitSearch:
    """A search under way: open and closed pieces, and the steps so far."""

    rules: SingleDimensional
    grid: Grid
    open: dict[Piece, float] = field(default_factory=dict)  # with their widths, in order of creation
    closed: list[Piece] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)  # "age:split" or "age:closed"

    def __post_init__(self) -> None:
        for dim, domain in enumerate(self.grid.table.domains):
            self._add(whole_piece(domain, dim))

    def step(self) -> None:
        """Split the widest open piece, or close it."""
        piece = max(self.open, key=lambda p: self.open[p])  # of equally wide pieces the first created
        del self.open[piece]
        domain = self.grid.table.domains[piece.dim]
        trial = self._best_cut(piece) if is_numeric(domain) else self._descent(piece)
        self.steps.append(f"{domain.name}:{'closed' if trial is None else 'split'}")
        if trial is None:
            self.closed.append(piece)
            return
        self.grid.apply(trial)
        for part in trial.parts:
            self._add(part)

    def _add(self, piece: Piece) -> None:
        domain = self.grid.table.domains[piece.dim]
        self.open[piece] = self.width(piece) * domain.weight

    def width(self, piece: Piece) -> float:
        """Split priority of a piece."""
        domain = self.grid.table.domains[piece.dim]
        present = np.unique(self.grid.codes[piece.dim][self.grid.inside(piece)])
        if not is_numeric(domain):
            return 1 - 1 / max(1, len(present))
        numbers = self._numbers(piece.dim)[present[present >= int(domain.has_missing)]]
        if len(numbers) == 0 or numbers[0] == numbers[-1]:
            return float(len(present) > 1)
        every = self._numbers(piece.dim)[int(domain.has_missing) :]
        whole = numbers[-1] if self.rules.width == "maximum" and numbers[-1] > 0 else every[-1] - every[0]
        return float((numbers[-1] - numbers[0]) / whole)

    def _descent(self, piece: Piece) -> Trial | None:
        """All children of a node at once."""
        parts = children_of(self.grid.table.domains[piece.dim], piece)
        if not parts:
            return None
        trial = self.grid.trial(piece, parts)
        return trial if trial.is_valid else None

    def _best_cut(self, piece: Piece) -> Trial | None:
        """The cut that leaves the least diverse class most diverse; the earlier candidate wins a tie."""
        best: Trial | None = None
        for cut in self._cuts(piece):
            trial = self.grid.trial(piece, self._sides(piece, cut))
            if trial.is_valid and (best is None or trial.least_degree > best.least_degree):
                best = trial
        return best

    def _cuts(self, piece: Piece) -> list[int]:
        """Last code of the left side, by candidate; where records without a value are in the piece they are parted."""
        domain = self.grid.table.domains[piece.dim]
        tuples = self.grid.inside(piece)
        codes = self.grid.codes[piece.dim][tuples]
        weights = self.grid.table.weights[tuples] if len(self.grid.table.weights) else np.ones(len(tuples), np.int64)
        if domain.has_missing and piece.lo == 0:
            return [0] if (codes == 0).any() and (codes > 0).any() else []
        present, inverse = np.unique(codes, return_inverse=True)
        numbers = self._numbers(piece.dim)[present]
        cuts = _quantiles(
            numbers, np.bincount(inverse, weights=weights).astype(float), QUANTILES[self.rules.candidates]
        )
        n_left = np.searchsorted(numbers, cuts, side="right" if self.rules.split == "at-most" else "left")
        return [int(present[n - 1]) for n in dict.fromkeys(n_left.tolist()) if 0 < n < len(present)]

    def _sides(self, piece: Piece, cut: int) -> list[Piece]:
        """Both sides of a cut, each from its first to its last value that occurs."""
        codes = self.grid.codes[piece.dim][self.grid.inside(piece)]
        left, right = codes[codes <= cut], codes[codes > cut]
        return [Piece(piece.dim, int(side.min()), int(side.max())) for side in (left, right)]

    def _numbers(self, dim: int) -> FloatArray:
        """The number behind every code; that of a missing value has no meaning."""
        domain = self.grid.table.domains[dim]
        numbers = domain.values.to_physical().cast(pl.Float64).to_numpy()
        return np.concatenate([np.zeros(int(domain.has_missing)), numbers])


def _quantiles(numbers: FloatArray, counts: FloatArray, shares: tuple[float, ...]) -> FloatArray:
    """Quantiles of numbers with their counts, interpolated between neighbouring records."""
    last = np.cumsum(counts) - 1
    place = np.array(shares) * last[-1]
    below, above = (numbers[np.searchsorted(last, f(place))] for f in (np.floor, np.ceil))
    return np.asarray(below + (above - below) * (place - np.floor(place)))
