"""Random coded tables with every kind of quasi-identifier."""

from __future__ import annotations

import polars as pl

from tablecloak.data.coded import code_table
from tablecloak.data.domain import fit_domain, fit_sensitive
from tablecloak.data.table import ColumnType
from tablecloak.hierarchy.hierarchy import Hierarchy


def letters_tree(n):
    """A hierarchy of n leaves in groups of three."""
    return Hierarchy.from_paths([[f"v{i}", f"g{i // 3}", f"h{i // 9}", "*"] for i in range(n)])


def frame_of(random, n):
    """Numbers (few and many), categories with and without a hierarchy, missing cells, and a sensitive column."""
    return pl.DataFrame(
        {
            "age": pl.Series(random.integers(20, 60, n)),
            "income": pl.Series([None if random.random() < 0.05 else int(v) for v in random.integers(0, 5000, n)]),
            "job": pl.Series([f"v{v}" for v in random.integers(0, 12, n)]),
            "town": pl.Series([f"v{v}" for v in random.integers(0, 400, n)]),
            "colour": pl.Series([None if random.random() < 0.05 else f"c{v}" for v in random.integers(0, 6, n)]),
            "illness": pl.Series([f"i{v}" for v in random.integers(0, 5, n)]),
        }
    )


def coded_table(random, n):
    """A table of `frame_of`, coded."""
    frame = frame_of(random, n)
    trees = {"job": letters_tree(12), "town": letters_tree(400)}
    types = {"age": ColumnType.INTEGER, "income": ColumnType.INTEGER}
    quasi = [
        fit_domain(
            frame[c],
            types.get(c, ColumnType.TEXT),
            make_hierarchy=(lambda _, c=c: trees[c]) if c in trees else None,
        )
        for c in ("age", "income", "job", "town", "colour")
    ]
    return code_table(quasi, [fit_sensitive(frame["illness"], ColumnType.TEXT)])
