"""Rows in the order of the input."""

from __future__ import annotations

from collections.abc import Iterator

from tablecloak.findings.base import Change, Finding, Fix, Shown, finding


@finding("kept-order")
def kept_order(shown: Shown) -> Iterator[Finding]:
    """Rows are published in the order in which they came.

    Whoever knows that order, an alphabet, a ward round, the numbers of a list, finds people by their place; several
    rows in a row that belong to one person tell that they do.
    """
    if shown.keeps_order:
        yield Finding(
            "kept-order",
            "rows are published in the order of the input, which may be known",
            Fix("let rows be put in an order that says nothing", (Change("output.order", "content"),)),
            count=shown.n_records,
            share=1.0,
        )
