"""swap: pairs of rows exchange their cells, and no impossible pair of values arises."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
import polars as pl
from pydantic import BeforeValidator, Field, model_validator

from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.changed_columns import CellStep
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.io.frames import column_type
from tablecloak.rng import Stream
from tablecloak.transforms._moves import group_codes, moved
from tablecloak.transforms._row_pairs import ALONE, Matching
from tablecloak.transforms.base import Family, Fitting, Transform, texts_of, transform

Value = bool | int | float | str


def _plain(value: Any) -> Any:
    """Dates as they are written."""
    return value.isoformat() if isinstance(value, dt.date) else value


@transform("swap", Family.PERTURB)
class SwapCells(Transform):
    """Pairs of rows that are drawn exchange their cells, unless that makes a pair of values that cannot be.

    Missing cells stay. Two cells that are exchanged may be equal.
    Reference: Dalenius, Reiss, Data-swapping: a technique for disclosure control, J. Stat. Plan. Inference 1982.
    """

    is_drawn = True

    share: Annotated[float, Field(gt=0, le=1, description="of the cells that are not missing, how many move")] = 0.1
    forbidden: Annotated[
        tuple[tuple[dict[str, Annotated[Value, BeforeValidator(_plain)]], ...], ...],
        Field(description="values that never stand in one row, as in [[{sex: female}, {disease: prostate cancer}]]"),
    ] = ()

    @model_validator(mode="after")
    def _names_two_columns(self) -> Self:
        for rule in self.forbidden:
            names = [name for condition in rule for name in condition]
            if len(names) < 2 or len(set(names)) < len(names):
                raise ValueError("a forbidden pair names two columns or more, each of them once")
        return self

    def needs(self, person: str | None) -> tuple[str, ...]:  # noqa: ARG002
        return tuple(dict.fromkeys(name for rule in self._rules() for name in rule))

    def fit(self, fitting: Fitting) -> CellStep:
        rules = list(self._rules())
        if any(fitting.column not in rule for rule in rules):
            raise IncompatibleChoice(
                f"column '{fitting.column}': each forbidden pair must name it, or moving its cells changes nothing",
                hint=f"forbidden: [[{{{fitting.column}: ..}}, {{other column: ..}}]]",
            )
        others = [name for name in self.needs(None) if name != fitting.column]
        moving = [n for n in others if any(each.family is Family.PERTURB for each in fitting.changed.get(n, ()))]
        if moving:
            raise IncompatibleChoice(
                f"column '{fitting.column}': forbidden names '{moving[0]}', whose cells change by chance, too",
                hint=f"another transform for '{moving[0]}', or no forbidden pair with it",
            )
        frame = fitting.rows([fitting.column, *others])
        cells = frame[fitting.column]
        present = np.flatnonzero(cells.is_not_null().to_numpy())
        source_of = np.arange(len(cells))
        if len(present):
            exchange = _Exchange.of(frame[present], rules, fitting.column)
            left, right = present[self._pairs(exchange, fitting)].T
            source_of[left], source_of[right] = right, left
        return moved(fitting, cells, source_of)

    def _pairs(self, exchange: _Exchange, fitting: Fitting) -> IntArray:
        """(n_pairs, 2) rows that exchange cells; raises DataError where so many cannot."""
        n = len(exchange.class_of)
        n_pairs = int(self.share * n / 2 + 1e-9)
        if n_pairs < 1:
            message = f"column '{fitting.column}': a share of {self.share:g} of {n} cells is no pair"
            raise DataError(message, hint=f"share: {math.ceil(2e4 / n) / 1e4:g}" if n > 1 else "null")
        pairs = exchange.pairs(n_pairs, fitting.secret.stream("pairs"))
        if len(pairs) == n_pairs:
            return pairs
        can = 2 * len(pairs)
        message = f"column '{fitting.column}': {2 * n_pairs} of {n} cells should move, and only {can} can"
        hint = f"share: {math.floor(1e4 * can / n) / 1e4:g}" if can else "fewer forbidden pairs"
        raise DataError(f"{message}: others would make forbidden pairs", hint=hint)

    def warnings(self, fitting: Fitting) -> list[str]:
        if not self.forbidden:
            return []
        frame = fitting.rows(list(dict.fromkeys([fitting.column, *self.needs(None)])))
        there = np.zeros(frame.height, bool)
        for rule in self._rules():
            there |= np.logical_and.reduce([_holds(frame[name], value) for name, value in rule.items()])
        n = int(np.count_nonzero(there))
        return [f"{n} rows hold a forbidden pair already"] if n else []

    def _rules(self) -> Iterator[Mapping[str, Value]]:
        for rule in self.forbidden:
            yield {name: value for condition in rule for name, value in condition.items()}


@dataclass(frozen=True, slots=True, eq=False)
class _Exchange:
    """Which rows may exchange cells: rows are of one class if their cell, and the others, meet the same rules."""

    class_of: IntArray  # (n,)
    goes: BoolArray  # (n_classes, n_classes), whether rows of two classes may exchange cells

    @classmethod
    def of(cls, frame: pl.DataFrame, rules: list[Mapping[str, Value]], column: str) -> Self:
        has_value = np.zeros((frame.height, len(rules)), bool)  # the cell itself meets the rule
        has_others = np.ones((frame.height, len(rules)), bool)  # the other cells do
        for i, rule in enumerate(rules):
            has_value[:, i] = _holds(frame[column], rule[column])
            for name, value in rule.items():
                if name != column:
                    has_others[:, i] &= _holds(frame[name], value)
        class_of = group_codes(pl.DataFrame(np.hstack([has_value, has_others]).astype(np.int8)), frame.height)
        _, first, class_of = np.unique(class_of, return_index=True, return_inverse=True)  # a row of every class
        makes = has_others[first][:, None, :] & has_value[first][None, :, :]  # [to, from, rule]
        lands = np.logical_not(makes.any(axis=2))
        return cls(class_of.astype(np.int64), np.logical_and(lands, lands.T))

    def pairs(self, n_pairs: int, stream: Stream) -> IntArray:
        """(n_pairs, 2) rows that exchange cells, each in one pair: by chance, or as many as there can be."""
        left = stream.permutation(len(self.class_of))
        found: list[IntArray] = []
        n_found = 0
        while n_found < n_pairs:
            both = left[: len(left) // 2 * 2].reshape(-1, 2)
            taken = both[self.goes[self.class_of[both[:, 0]], self.class_of[both[:, 1]]]][: n_pairs - n_found]
            if not len(taken):
                break
            found.append(taken)
            n_found += len(taken)
            left = np.setdiff1d(left, taken)
            left = left[stream.permutation(len(left))]
        pairs = np.concatenate([*found, self._matched(left, n_pairs - n_found)])
        while len(pairs) < n_pairs and len(more := self._improved(pairs)) > len(pairs):
            pairs = more[:n_pairs]
        return pairs

    def _improved(self, pairs: IntArray) -> IntArray:
        """More pairs, if there can be more: then two rows that are left, and a few of the pairs, are enough to see it.

        Rows of one class go with the same others, so a shortest way to one pair more passes no two pairs of one kind in
        the same direction.
        """
        classes = np.sort(self.class_of[pairs], axis=1)
        kinds = classes[:, 0] * len(self.goes) + classes[:, 1]
        some = np.concatenate([np.flatnonzero(kinds == kind)[:2] for kind in np.unique(kinds)] or [np.zeros(0, int)])
        left = np.setdiff1d(np.arange(len(self.class_of)), pairs)
        of_left = self.class_of[left]
        alone = [left[of_left == each][:2] for each in np.unique(of_left)]
        rows = np.concatenate([pairs[some].ravel(), *alone]).astype(np.int64)
        n_paired = 2 * len(some)
        goes = self.goes[self.class_of[rows][:, None], self.class_of[rows][None, :]] & ~np.eye(len(rows), dtype=bool)
        paired = [place ^ 1 for place in range(n_paired)]  # 0 with 1, 2 with 3
        matching = Matching([np.flatnonzero(row).tolist() for row in goes], paired + [ALONE] * (len(rows) - n_paired))
        matching.grow()
        made = [(rows[a], rows[b]) for a, b in enumerate(matching.partner) if a < b]
        return np.concatenate([np.delete(pairs, some, axis=0), np.array(made, np.int64).reshape(-1, 2)])

    def _matched(self, left: IntArray, n_pairs: int) -> IntArray:
        """Pairs among rows in random order; classes that go with the fewest others choose first."""
        rows = {c: left[self.class_of[left] == c].tolist() for c in np.unique(self.class_of[left]).tolist()}
        pairs: list[tuple[int, int]] = []
        while len(pairs) < n_pairs:
            choices = {c: [d for d in rows if rows[d] and self.goes[c, d] and (c != d or len(rows[c]) > 1)]
                       for c in rows if rows[c]}  # fmt: skip
            open_ = [c for c, others in choices.items() if others]
            if not open_:
                break
            one = min(open_, key=lambda c: (sum(len(rows[d]) for d in choices[c]), c))
            other = max(choices[one], key=lambda d: (len(rows[d]), d))
            pairs.append((rows[one].pop(), rows[other].pop()))
        return np.array(pairs, np.int64).reshape(-1, 2)


def _holds(cells: pl.Series, value: Value) -> BoolArray:
    """(n,) where cells are a value, however it is written."""
    type_ = column_type(cells.name, cells.dtype)
    given = pl.Series("", [value])
    meant = texts_of(given, column_type("", given.dtype))[0]
    holds: BoolArray = (texts_of(cells, type_) == meant).fill_null(value=False).to_numpy()
    return holds
