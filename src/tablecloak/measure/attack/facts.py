"""What attackers know beforehand, read from a table."""

from __future__ import annotations

from typing import Any

import polars as pl

from tablecloak.attacks.case import Fact
from tablecloak.errors import DataError


def read_facts(frame: pl.DataFrame) -> tuple[Fact, ...]:
    """Facts from a table with the columns sensitive and value, and weight, column, equals and row where they matter."""
    columns = ("sensitive", "value", "weight", "column", "equals", "row")
    for name in ("sensitive", "value"):
        if name not in frame.columns:
            raise DataError(f"a table of facts needs a column '{name}'", hint=f"its columns are: {', '.join(columns)}")
    rows = frame.select(n for n in columns if n in frame.columns).to_dicts()
    return tuple(
        Fact(
            sensitive=str(row["sensitive"]),
            value=None if row["value"] is None else str(row["value"]),
            weight=float(row.get("weight") or 0.0),
            column=_text_of(row.get("column")),
            equals=_text_of(row.get("equals")),
            row=None if row.get("row") is None else int(row["row"]),
        )
        for row in rows
    )


def _text_of(value: Any) -> str | None:
    return None if value is None else str(value)
