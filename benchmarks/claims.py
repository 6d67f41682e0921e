"""What Dimakopoulos (NTUA, 2022) reports of disk-based clustering, held against runs of `benchmarks.thesis`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

__all__ = ["directions", "tables", "verdict"]

Result = Mapping[str, Any]
DISK = "disk-clustering"
KS = (4, 10, 100)
MODES = ("classic", "optimized")
ONE_TO_FOUR = ("date", "age, date", "age, salary, date", "age, salary, date, icd")


class Measured:
    """Figures of runs by quasi-identifiers, k and method; a run that is missing or failed raises KeyError."""

    def __init__(self, results: Sequence[Result]) -> None:
        self._found = {(r["quasi"], r["k"], r["method"]): r for r in results if "failed" not in r}
        self.ks = sorted({r["k"] for r in results})
        self.sets = list(dict.fromkeys(r["quasi"] for r in results))

    def of(self, field: str, quasi: str, k: int, method: str = DISK) -> float:
        return float(self._found[quasi, k, method][field])

    def time(self, quasi: str, k: int, method: str = DISK) -> float:
        """Processor seconds of the search."""
        return self.of("solve_cpu", quasi, k, method)

    def ncp(self, quasi: str, k: int, method: str = DISK) -> float:
        return self.of("ncp", quasi, k, method)

    def total(self, quasi: str, k: int, method: str = DISK) -> float:
        return self.of("total", quasi, k, method)

    def is_clustered(self, quasi: str, k: int) -> bool:
        """Whether records had to be dealt to clusters."""
        return self._found[quasi, k, DISK]["mode"] is not None


def _claims(found: Measured) -> list[tuple[str, Callable[[int], bool], tuple[int, ...]]]:
    """What is said, whether it is so at one k, and at which k it is said."""
    time, ncp, total = found.time, found.ncp, found.total
    one, two, three, four = ONE_TO_FOUR
    claims: list[tuple[str, Callable[[int], bool]]] = [
        ("the date of death alone takes longer than combinations",
         lambda k: time(one, k) > max(time(n, k) for n in (two, three, four))),
        ("two to four attributes take about as long (within a factor of two)",
         lambda k: max(time(n, k) for n in (two, three, four)) < 2 * min(time(n, k) for n in (two, three, four))),
        ("time falls from one to two attributes", lambda k: time(two, k) < time(one, k)),
        ("time rises from two to three attributes", lambda k: time(three, k) > time(two, k)),
        ("time falls a little from three to four attributes", lambda k: time(four, k) < time(three, k)),
        ("salary as a range is faster than with a hierarchy",
         lambda k: time("salary as a range", k) < time("salary", k)),
        ("age needs no clustering", lambda k: not found.is_clustered("age", k)),
        ("salary is nearly k-anonymous by itself (NCP below 0.001)", lambda k: ncp("salary", k) < 0.001),
        ("age and salary are faster than date of death and ICD",
         lambda k: max(time("age", k), time("salary", k)) < min(time(one, k), time("icd", k))),
        ("NCP rises with the number of attributes",
         lambda k: all(ncp(a, k) < ncp(b, k) for a, b in pairwise(ONE_TO_FOUR))),
        ("NCP of the date of death alone is lowest",
         lambda k: ncp(one, k) < min(ncp(n, k) for n in (two, three, four))),
        ("Total of the date of death alone is lowest",
         lambda k: total(one, k) < min(total(n, k) for n in (two, three, four))),
        ("Total of two to four attributes converges (within 0.1)",
         lambda k: max(total(n, k) for n in (two, three, four)) - min(total(n, k) for n in (two, three, four)) < 0.1),
        ("Flash is faster (one to four attributes)",
         lambda k: all(time(n, k, "flash") < time(n, k) for n in ONE_TO_FOUR)),
        ("Flash loses less by NCP on some combination of attributes",
         lambda k: any(ncp(n, k, "flash") < ncp(n, k) for n in (two, three, four))),
        ("Flash on age and ICD leaves age and sends ICD to the root (Total and NCP 0.5)",
         lambda k: all(abs(loss("age, icd", k, "flash") - 0.5) < 0.01 for loss in (total, ncp))),
        ("the optimised mode is faster (two to four attributes)",
         lambda k: all(time(n, k, "optimized") < time(n, k, "classic") for n in (two, three, four))),
        ("the optimised mode loses a little more NCP (at most 1.5 times; two to four attributes)",
         lambda k: all(ncp(n, k, "classic") <= ncp(n, k, "optimized") <= 1.5 * ncp(n, k, "classic")
                       for n in (two, three, four))),
    ]  # fmt: skip
    at_100: list[tuple[str, Callable[[int], bool]]] = [
        ("of single attributes, salary has the lowest NCP (age aside)",
         lambda k: ncp("salary", k) < min(ncp(one, k), ncp("icd", k))),
        ("of single attributes, salary has the lowest Total (age aside)",
         lambda k: total("salary", k) < min(total(one, k), total("icd", k))),
        ("Total of the date of death is far above its NCP (five times)", lambda k: total(one, k) > 5 * ncp(one, k)),
    ]  # fmt: skip
    return [*((*claim, KS) for claim in claims), *((*claim, (100,)) for claim in at_100)]


def verdict(holds: Callable[[int], bool], ks: Sequence[int]) -> str:
    """At which k something is so, is not so, or cannot be said."""
    said: dict[str, list[str]] = {"so here": [], "**not** so here": [], "not measured": []}
    for k in ks:
        try:
            said["so here" if holds(k) else "**not** so here"].append(str(k))
        except KeyError:
            said["not measured"].append(str(k))
    measured = {name: list_ for name, list_ in said.items() if list_}
    return "; ".join(f"{name} at k = {', '.join(list_)}" for name, list_ in measured.items())


def directions(results: Sequence[Result]) -> str:
    """What is reported, each with what was measured, as Markdown."""
    found = Measured(results)
    lines = ["| reported of the disk-based algorithm | measured |", "|---|---|"]
    for said, holds, ks in _claims(found):
        lines.append(f"| {said} | {verdict(holds, [k for k in ks if k in found.ks] or ks)} |")
    return "\n".join(lines)


def tables(results: Sequence[Result]) -> str:
    """All runs as Markdown: processor seconds of the search, NCP and Total, and what was not finished."""
    by = {(r["quasi"], r["k"], r["method"]): r for r in results}
    lines = [
        f"| quasi-identifiers | k | `{DISK}` | its other mode | mode `source` | `auto` | Flash |",
        "|---" * 7 + "|",
    ]
    for quasi, k in sorted({(r["quasi"], r["k"]) for r in results}, key=_place):
        own = by.get((quasi, k, DISK))
        other = next((r for m in MODES if (r := by.get((quasi, k, m))) and not _is_same(r, own)), None)
        cells = [_cell(r) for r in (own, other, *(by.get((quasi, k, m)) for m in ("source", "auto", "flash")))]
        lines.append(f"| {quasi} | {k} | {' | '.join(cells)} |")
    runs = [r for r in results if r["method"] not in MODES or not _is_same(r, by.get((r["quasi"], r["k"], DISK)))]
    done = [r for r in runs if "failed" not in r]
    peak = max((r["peak_bytes"] for r in done), default=0) / 1e9
    figures = f"{len(done)} of {len(runs)} runs finished; the largest peak memory was {peak:.2f} GB."
    return "\n".join([*lines, "", f"Processor seconds of the search / NCP / Total. {figures}"])


def _is_same(r: Result, own: Result | None) -> bool:
    """Whether the algorithm chose this mode by itself, or needed none."""
    return own is not None and "failed" not in own and own["mode"] in (None, r["method"])


def _cell(r: Result | None) -> str:
    if r is None:
        return "–"
    if "failed" in r:
        return str(r["failed"])
    total = "–" if r["total"] is None else f"{r['total']:.3f}"
    mode = f"{r['mode']}: " if r["mode"] else ""
    return f"{mode}{r['solve_cpu']:.1f} / {r['ncp']:.4f} / {total}"


def _place(cell: tuple[str, int]) -> tuple[int, str, int]:
    quasi, k = cell
    return len(quasi.split(",")), quasi, k
