"""A recoding is a value: classes with their labels and the cuts that lead to them, to be stored and applied again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tablecloak.algorithms.base import CutTree, Solution
from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.class_labels import ClassLabels
from tablecloak.data.code_sets import CodeSets
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import Domain, DomainKind, distinct_of
from tablecloak.errors import DataError
from tablecloak.io.atomic import home_of
from tablecloak.policy.load import dump_policy, parse_policy
from tablecloak.policy.schema import Policy
from tablecloak.release.recoding.known_rows import UNSEEN, KnownRows
from tablecloak.values.cell_grammar import format_value

FORMAT = "tablecloak-recoding-1"
UNKNOWN = -2  # a value no class can hold
MISSING = -1
PAIRS_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class RecodedColumn:
    """One quasi-identifier of a recoding: known values in order, and the interval of them that every class holds.

    Known value `i` has place 2 i + 1; what lies between values i - 1 and i of an ordered column has place 2 i.
    """

    name: str
    type: str
    is_ordered: bool
    values: list[str]  # texts; of an ordered column only those where an interval or a side of a cut ends
    lo: IntArray  # (n_classes,) places
    hi: IntArray  # (n_classes,) places
    labels: ClassLabels
    sets: list[list[int]] | None = None  # places that a class holds, where they are no interval; None: all intervals
    inside: dict[str, int] = field(default_factory=dict)  # texts that are never published, with the known value above

    def holds(self, place: IntArray, classes: IntArray | slice) -> BoolArray:
        """Whether classes hold places; both are broadcast against each other."""
        inside = (place >= self.lo[classes]) & (place <= self.hi[classes])
        if self.sets is None:
            return np.asarray(inside)
        width = 2 * len(self.values) + 2
        members = [n * width + place + 1 for n, places in enumerate(self.sets) for place in places]  # missing is -1
        return np.asarray(inside & np.isin(np.arange(len(self.sets))[classes] * width + place + 1, members))

    def places(self, series: pl.Series) -> IntArray:
        """The place of every value of a column of new data."""
        distinct = distinct_of(series)
        if self.is_ordered:
            places = self._ordered_places(distinct.values)
        else:
            index = {text: 2 * i + 1 for i, text in enumerate(self.values)}
            index |= {text: 2 * i + 1 for text, i in self.inside.items()}
            texts = [format_value(v) for v in distinct.values.to_list()]
            places = np.array([MISSING if t is None else index.get(t, UNKNOWN) for t in texts], np.int64)
        return distinct.recoded(places)

    def _ordered_places(self, distinct: pl.Series) -> IntArray:
        values = _typed(pl.Series(self.values, dtype=pl.String), distinct.dtype)
        numbers, new = values.to_physical().to_numpy(), distinct.to_physical()
        at = np.searchsorted(numbers, new.fill_null(0).to_numpy())
        is_known = numbers[np.minimum(at, len(numbers) - 1)] == new.fill_null(0).to_numpy() if len(numbers) else at < 0
        return np.where(distinct.is_null().to_numpy(), MISSING, 2 * at + is_known)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "ordered": self.is_ordered,
            "values": self.values,
            "lo": self.lo.tolist(),
            "hi": self.hi.tolist(),
            "labels": list(self.labels.names),
            "label": self.labels.of_class.tolist(),
            **({} if self.sets is None else {"sets": self.sets}),
            **({"inside": self.inside} if self.inside else {}),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Recoding:
    """Classes of a release and how new rows find theirs."""

    columns: tuple[RecodedColumn, ...]
    n_classes: int
    tree: CutTree | None  # cuts are places; None: classes were not found by cutting
    policy: Policy  # the policy it was made with
    losses: FloatArray | None = None  # (n_classes,) of a record; None in files that older versions wrote
    known_rows: KnownRows | None = None  # rows that find their class by themselves, where no cuts lead to it
    key: bytes | None = field(default=None, repr=False)  # of the certificate; its random bits hide what a hash confirms

    @classmethod
    def of(
        cls,
        solution: Solution,
        domains: tuple[Domain, ...],
        policy: Policy,
        table: CodedTable | None = None,
        *,
        key: bytes | None = None,
    ) -> Recoding:
        """The recoding of a solution; only values that some class or cut ends at are kept.

        Args:
            table: the tuples that were searched, where they are in one piece.
            key: of the certificate of the run.
        """
        tree = solution.tree or CutTree(*(np.zeros(0, np.int64) for _ in range(4)))
        cut = tree.cut.copy()
        labels = solution.published(domains)
        columns = []
        for dim, domain in enumerate(domains):
            of_dim = tree.dim == dim
            column, cut[of_dim] = _column(domain, solution.lo[:, dim], solution.hi[:, dim], cut[of_dim], labels)
            if dim in solution.sets and not solution.sets[dim].are_intervals:
                column = replace(column, sets=_places_of(solution.sets[dim], int(domain.has_missing)))
            columns.append(column)
        placed = CutTree(tree.dim, cut, tree.left, tree.right) if solution.tree else None
        is_known = solution.tree is None and table is not None and len(solution.class_of_tuple) == table.n_tuples
        known_rows = KnownRows.of(table, solution.class_of_tuple) if table is not None and is_known else None
        # Column by column, for a matrix product ends in other digits on other processors, and this is written down.
        losses = (solution.losses(domains) * np.array([d.weight for d in domains])).sum(axis=1)
        return cls(tuple(columns), solution.n_classes, placed, policy, losses, known_rows, key)

    def labels(self) -> dict[str, ClassLabels]:
        """Published labels by column."""
        return {c.name: c.labels for c in self.columns}

    @property
    def read_columns(self) -> list[str]:
        """The columns that tell the class of a row."""
        return list(self.known_rows.columns) if self.known_rows else [c.name for c in self.columns]

    def classes_of(self, frame: pl.DataFrame) -> IntArray:
        """The class that each row is published with, or -1.

        Cuts lead to it. Without cuts a row that the recoding was made from has its class again, and any other row the
        class of least loss that covers it.
        """
        places = np.stack([c.places(frame[c.name]) for c in self.columns])  # (n_columns, n_rows)
        if self.tree is None:
            return self._known_or_cheapest(frame, places)
        return self._covering(self.tree.classes_of(places), places)

    def _covering(self, classes: IntArray, places: IntArray) -> IntArray:
        """The same classes, but -1 where a class does not cover its row."""
        for column, place in zip(self.columns, places, strict=True):
            classes = np.where(column.holds(place, classes), classes, -1)
        return classes

    def _known_or_cheapest(self, frame: pl.DataFrame, places: IntArray) -> IntArray:
        knows = self.known_rows is not None and set(self.known_rows.columns) <= set(frame.columns)
        leaves = {c.name: {text: c.values[i] for text, i in c.inside.items()} for c in self.columns}
        unseen = np.full(frame.height, UNSEEN)
        old_classes = self.known_rows.classes_of(frame, leaves) if self.known_rows and knows else unseen
        classes = np.where(old_classes >= 0, self._covering(np.maximum(old_classes, 0), places), -1)
        new = np.flatnonzero(old_classes == UNSEEN)
        different, of_row = np.unique(places[:, new], axis=1, return_inverse=True)
        classes[new] = self._cheapest(different)[of_row.reshape(-1)]
        return classes

    def _cheapest(self, places: IntArray) -> IntArray:
        """The class of least loss that covers each column of places, or -1; every class is looked at."""
        lo, hi = np.stack([c.lo for c in self.columns]), np.stack([c.hi for c in self.columns])
        ranked = np.argsort((hi - lo).sum(axis=0) if self.losses is None else self.losses, kind="stable")
        classes = np.full(places.shape[1], -1)
        step = max(1, PAIRS_AT_ONCE // max(1, self.n_classes))
        for begin in range(0, places.shape[1], step):
            part = places[:, begin : begin + step, None]  # (n_columns, rows, 1)
            covers = np.logical_and.reduce(
                [c.holds(place, ranked) for c, place in zip(self.columns, part, strict=True)]
            )  # (rows, n_classes)
            first = np.argmax(covers, axis=1)
            classes[begin : begin + step] = np.where(covers.any(axis=1), ranked[first], -1)
        return classes

    def explain(self) -> str:
        """What is published, in words."""
        lines = [f"{self.n_classes:,} classes"]
        lines += [f"  {c.name}: {len(c.labels.names):,} different values" for c in self.columns]
        return "\n".join(lines)

    def write(self, path: Path) -> None:
        """Store the recoding, readable by its owner only: it holds values of the original."""
        path.touch(mode=0o600)
        path.write_text(self.to_json(home_of(path)), encoding="utf-8")

    def to_json(self, folder: Path) -> str:
        """The recoding as text for a file in a folder; files that the policy names are found from there."""
        policy = dump_policy(self.policy.rebased(folder))
        cuts = ("dim", "cut", "left", "right")
        tree = {name: getattr(self.tree, name).tolist() for name in cuts} if self.tree else None
        columns = [c.to_dict() for c in self.columns]
        known_rows = {"known": self.known_rows.to_dict()} if self.known_rows else {}
        losses = {} if self.losses is None else {"losses": self.losses.tolist()}
        return json.dumps(
            {
                "format": FORMAT,
                "classes": self.n_classes,
                **({} if self.key is None else {"certificate_key": self.key.hex()}),
                "policy": policy,
                "columns": columns,
                "tree": tree,
                **losses,
                **known_rows,
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )


def _typed(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Canonical texts as values again."""
    if dtype == pl.Date:
        return texts.str.to_date("%Y-%m-%d")
    if dtype == pl.Datetime:
        return texts.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us")
    return texts.cast(dtype)


def _column(
    domain: Domain, lo: IntArray, hi: IntArray, cut: IntArray, labels: Mapping[str, ClassLabels]
) -> tuple[RecodedColumn, IntArray]:
    offset = int(domain.has_missing)
    is_ordered = domain.kind is DomainKind.ORDERED
    if is_ordered:
        texts, (first, last, at) = _ordered_places(domain, lo, hi, cut)
    else:
        leaves = domain.hierarchy.leaf_labels if domain.hierarchy else None
        values = leaves[offset:] if leaves else domain.values.to_list()
        texts = [str(format_value(v)) for v in values]
        first, last, at = (np.where(codes < offset, MISSING, 2 * (codes - offset) + 1) for codes in (lo, hi, cut))
    hidden = domain.hierarchy.inside if domain.hierarchy else {}
    column = RecodedColumn(
        domain.name, domain.type.value, is_ordered, texts, first, last, labels[domain.name],
        inside={text: code - offset for text, code in hidden.items()},
    )  # fmt: skip
    return column, at


def _ordered_places(
    domain: Domain, lo: IntArray, hi: IntArray, cut: IntArray
) -> tuple[list[str], tuple[IntArray, IntArray, IntArray]]:
    """Texts of where published intervals and sides of cuts end, and the places of these.

    They are the round bounds that are published, not the values inside them.
    """
    offset = int(domain.has_missing)
    begins, ends = domain.interval_ends(lo, hi)
    sides = domain.interval_ends(np.maximum(cut - 1, 0), cut)[1]  # a cut ends where an interval up to it would
    parts = ((lo, begins), (hi, ends), (cut, sides))
    bounds = np.unique(np.concatenate([places[codes >= offset] for codes, places in parts]))
    line = domain.values.to_physical().dtype
    texts = [str(format_value(v)) for v in pl.Series(bounds).cast(line).cast(domain.values.dtype).to_list()]
    first, last, at = (
        np.where(codes < offset, MISSING, 2 * np.searchsorted(bounds, places) + 1) for codes, places in parts
    )
    return texts, (first, last, at)


def _places_of(sets: CodeSets, offset: int) -> list[list[int]]:
    """Places of the codes in sets."""
    return CodeSets(sets.starts, 2 * (sets.codes - offset) + 1).lists()


def read_recoding(path: Path) -> Recoding:
    """A recoding written by an earlier run."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.get("format") != FORMAT:
            raise DataError(
                f"not a recoding of the format {FORMAT}", hint="use the file that `run` wrote", location=str(path)
            )
        columns = tuple(
            RecodedColumn(
                c["name"], c["type"], c["ordered"], c["values"],
                np.array(c["lo"], np.int64), np.array(c["hi"], np.int64),
                ClassLabels(tuple(c["labels"]), np.array(c["label"], np.uint32)), c.get("sets"), c.get("inside", {}),
            )
            for c in content["columns"]
        )  # fmt: skip
        cuts = content["tree"]
        tree = CutTree(*(np.array(cuts[n], np.int64) for n in ("dim", "cut", "left", "right"))) if cuts else None
        policy = parse_policy(content["policy"], name=str(path), base=path.parent)
        losses = np.array(content["losses"], np.float64) if "losses" in content else None
        known_rows = KnownRows.from_dict(content["known"]) if "known" in content else None
        key = bytes.fromhex(content["certificate_key"]) if "certificate_key" in content else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        raise DataError(
            "cannot be read as a recoding", hint="use the file that `run` wrote", location=str(path)
        ) from exc
    return Recoding(columns, int(content["classes"]), tree, policy, losses, known_rows, key)
