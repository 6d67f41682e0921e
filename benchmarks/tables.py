"""Results as Markdown tables, put between two marks of a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

__all__ = ["grid", "replace_between"]


class Measured(Protocol):
    """A result at one k."""

    @property
    def method(self) -> str: ...

    @property
    def k(self) -> int: ...

    @property
    def gcp(self) -> float: ...


R = TypeVar("R", bound=Measured)


def grid(results: Sequence[R], show: Callable[[R], str]) -> str:
    """Methods down, least loss first, k across."""
    ks = sorted({r.k for r in results})
    by = {(r.method, r.k): r for r in results}
    methods = sorted(
        {r.method for r in results}, key=lambda m: (sum(by[m, k].gcp if (m, k) in by else 1 for k in ks), m)
    )
    lines = [f"| method | {' | '.join(f'k = {k}' for k in ks)} |", "|---" * (len(ks) + 1) + "|"]
    for method in methods:
        cells = [show(by[method, k]) if (method, k) in by else "–" for k in ks]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def replace_between(page: Path, mark: str, text: str) -> None:
    """Put a text between `<!-- mark -->` and `<!-- end of mark -->`."""
    begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{page} has no marks for {mark}")
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")
