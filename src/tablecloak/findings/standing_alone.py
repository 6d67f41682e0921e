"""Records that stand alone on published columns which no goal looks at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tablecloak.data.table import Role
from tablecloak.engines.equal_rows import Alike
from tablecloak.findings.base import MOST_ALONE, Change, Finding, Fix, Shown, finding
from tablecloak.stats.classes import Evidence

KIND = "standing-alone"


@finding(KIND)
def standing_alone(shown: Shown) -> Iterator[Finding]:
    """More than 1 % of the records stand alone on columns outside the goals, by themselves or with quasi-identifiers.

    Where persons have several records, and it is known who, persons are counted: those of whom a record looks like
    nobody else's, however often they have it.

    Who knows such a value, the amount of a bill, the day of a visit, finds the record of the person and everything else
    in it, however large the classes are. Counted are the published columns that no goal speaks of: kept ones, weights,
    others that a policy keeps unnamed, and sensitive columns that no goal names. Columns are counted one by one; where
    each alone is fine, all of them together. Sensitive columns that a goal protects are taken to be unknown.
    """
    whole = _whole(shown)
    is_shared = whole.n_alone <= MOST_ALONE * whole.n_counted
    if not is_shared and _must_be_shared(shown):
        yield _on_quasi(shown, whole)
    if not shown.linked:
        return
    if not _exceeds(shown, whole, shown.linked):
        return
    counts = _by_column(shown, whole)
    alone = [name for name in shown.linked if counts[name] > MOST_ALONE * whole.n_counted]
    for name in sorted(alone, key=lambda n: -counts[n]):
        yield _on_column(shown, whole, name, counts[name])
    rest = sorted((name for name in shown.linked if name not in alone), key=lambda n: -counts[n])
    yield from _together(shown, whole, rest)


def _whole(shown: Shown) -> Alike:
    """How many records the published quasi-identifiers alone leave alone; before a release that is not known: none."""
    if shown.is_released and shown.quasi:
        return shown.count([shown.quasi])[0]
    counted = shown.count([shown.linked])[0] if shown.linked else Alike(shown.n_records, 0, 1, shown.n_records)
    return replace(counted, n_alone=0)


def _must_be_shared(shown: Shown) -> bool:
    """Whether the goals hide people by equal quasi-identifiers, not by cut links or among a population."""
    # weights of a survey do not tell that somebody alone in the table is alone in the population, too
    hides_otherwise = any(m.evidence & (Evidence.PAIRS | Evidence.POPULATION) for m in shown.goal.models)
    return shown.is_released and not shown.has_exact_groups and not hides_otherwise


def _known(shown: Shown) -> tuple[str, ...]:
    """What stands beside a column for whoever looks for a person; before a release nobody knows the labels."""
    return shown.quasi if shown.is_released else ()


def _exceeds(shown: Shown, whole: Alike, columns: Sequence[str]) -> bool:
    return _n_alone(shown, whole, [tuple(columns)])[0] > MOST_ALONE * whole.n_counted


def _n_alone(shown: Shown, whole: Alike, sets: Sequence[tuple[str, ...]]) -> list[int]:
    """Who each set of columns singles out, beyond those that quasi-identifiers single out without it."""
    quasi = _known(shown)
    with_known = [counted.n_alone - whole.n_alone for counted in shown.count([(*quasi, *s) for s in sets])]
    if not quasi or whole.n_alone == 0:  # alone on a set means alone on more columns
        return with_known
    return [max(pair) for pair in zip(with_known, (c.n_alone for c in shown.count(sets)), strict=True)]


def _by_column(shown: Shown, whole: Alike) -> dict[str, int]:
    if len(shown.linked) == 1:
        return {shown.linked[0]: _n_alone(shown, whole, [shown.linked])[0]}
    return dict(zip(shown.linked, _n_alone(shown, whole, [(name,) for name in shown.linked]), strict=True))


def _said(shown: Shown, whole: Alike, count: int) -> str:
    stand = "stand" if shown.is_released else "would stand"
    return f"{count:,} of {whole.n_counted:,} {whole.counted} ({count / max(1, whole.n_counted):.1%}) {stand} alone"


def _on_column(shown: Shown, whole: Alike, name: str, count: int) -> Finding:
    beside = " with the published quasi-identifiers" if _known(shown) else ""
    fix = shown.drop(name)
    text = f"{fix.text}; or {_otherwise(shown, name)}"
    return Finding(
        KIND,
        f"{_said(shown, whole, count)} on '{name}'{beside}, {_unlooked(shown, name)}",
        Fix(text, fix.changes),
        column=name,
        count=count,
        share=count / max(1, whole.n_counted),
    )


def _otherwise(shown: Shown, name: str) -> str:
    """What else could be done about a column."""
    spec = shown.policy.columns.get(name)
    if spec is not None and spec.role is Role.WEIGHT:
        return "accept it, if nobody outside knows weights"
    return "role: quasi, if it may be known and coarser values will do"


def _unlooked(shown: Shown, name: str) -> str:
    """That goals do not hide a column; of weights they may look at sums."""
    spec = shown.policy.columns.get(name)
    is_added_up = Evidence.WEIGHTS in shown.goal.evidence and spec is not None and spec.role is Role.WEIGHT
    return "of which goals look at sums only" if is_added_up else "and no goal looks at it"


def _together(shown: Shown, whole: Alike, columns: Sequence[str]) -> Iterator[Finding]:
    """Columns each of which is fine, and that together are not; those to leave out are told, worst first."""
    if len(columns) < 2:
        return
    count = _n_alone(shown, whole, [tuple(columns)])[0]
    if count <= MOST_ALONE * whole.n_counted:
        return
    left_out, published = [columns[0]], list(columns[1:])
    while len(published) > 1 and _exceeds(shown, whole, published):
        left_out.append(published.pop(0))
    yield Finding(
        KIND,
        f"{_said(shown, whole, count)} on {len(columns)} columns together that no goal looks at",
        shown.drop(*left_out),
        column=columns[0],
        count=count,
        share=count / max(1, whole.n_counted),
    )


def _on_quasi(shown: Shown, whole: Alike) -> Finding:
    at, what = len(shown.policy.goals), _said(shown, whole, whole.n_alone)
    goal = {"model": "k-anonymity", "k": 5}
    return Finding(
        KIND,
        f"{what} on the published quasi-identifiers: the goals allow classes of one",
        Fix("ask for k-anonymity, too", (Change(f"goals.{at}", goal),)),
        count=whole.n_alone,
        share=whole.share_alone,
    )
