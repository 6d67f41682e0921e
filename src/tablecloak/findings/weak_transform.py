"""Transforms that hide less than they seem to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tablecloak.attacks.base import AttackResult, AttackSuccess
from tablecloak.findings.base import Finding, Fix, Shown, finding

# The chance of finding a person's record that noise or swaps may leave, as classes of five do.
MOST_LINKED = 0.2
# Of the values behind pseudonyms and masks, so many more than a guess finds may be found.
MOST_RECOVERED = 0.1
# Of the noise that is left after each column was looked at alone, so much may be filtered out by means of the others.
MOST_FILTERED = 0.5
LINKAGE = ("distance-linkage", "probabilistic-linkage", "rank-linkage")
MORE_NOISE = "more noise or a wider window, a coarser transform, or leave {columns} out (role: drop)"
FIXES = {
    "frequency": "a kind that does not keep how often values occur, or leave {columns} out (role: drop)",
    "format": "show less of it (a coarser transform or another kind), or leave {columns} out (role: drop)",
    "dictionary": "a kind of pseudonyms with a secret key, such as hmac, or leave {columns} out (role: drop)",
}
WAYS = {
    "frequency": "how often pseudonyms of '{column}' occur tells the value behind them for about {share} of the "
    "records, and a guess is right for {guess}",
    "format": "what is published of '{column}' still tells the value for about {share} of the records to whoever has a "
    "list of the values, and a guess is right for {guess}",
    "dictionary": "pseudonyms of '{column}' are plain digests: whoever has a list of the values finds about {share} of "
    "the records",
}


@finding("weak-transform")
def weak_transform(shown: Shown) -> Iterator[Finding]:
    """Noise, swaps, pseudonyms or masks leave most of what they should hide to somebody who tries.

    What transforms publish is attacked beside what was there. Found are perturbed columns by which the record of a
    person whose true values are known is linked with a chance of more than 20 %, correlated ones of whose noise a
    filter removes more than half of what is left to see, and pseudonyms or masks that lead back to the value of more
    than 10 % of the records beyond what a guess does. Perturbed columns that a goal protects are taken to be unknown.
    """
    results = {result.attack: result for result in shown.evidence.attacks}
    yield from _linked(shown, [results[name] for name in LINKAGE if name in results])
    yield from _filtered(shown, results.get("noise-filtering"))
    yield from _undone(shown, results.get("pseudonym-reversal"))


def _linked(shown: Shown, results: list[AttackResult]) -> Iterator[Finding]:
    """The strongest way to link perturbed columns."""
    successes = [(r.attack, r.finding) for r in results if r.finding is not None and _is_open(shown, r.finding)]
    if not successes:
        return
    attack, success = max(successes, key=lambda pair: pair[1].average)
    if success.average <= MOST_LINKED:
        return
    drawn = success.details.get("among")
    among = "over all records" if drawn is None else f"among {drawn:,} records that were drawn, and less among all"
    what = (
        f"whoever knows the true {_values(success)} of a person finds their record with a chance of about "
        f"{_percent(shown, success, success.average)} {among} (attack {attack}), and of "
        f"{_percent(shown, success, success.baseline)} by guessing"
    )
    yield _finding(shown, success, what, success.details["columns"], success.details["weakest"], MORE_NOISE)


def _filtered(shown: Shown, result: AttackResult | None) -> Iterator[Finding]:
    success = result.finding if result else None
    if success is None or not _is_open(shown, success) or success.excess <= MOST_FILTERED:
        return
    what = (
        f"about {_percent(shown, success, success.average)} of the noise on {_quoted(success)} is filtered out again, "
        f"since these columns go together; {_percent(shown, success, success.baseline)} from each column alone"
    )
    yield _finding(shown, success, what, success.details["columns"], success.details["weakest"], MORE_NOISE)


def _undone(shown: Shown, result: AttackResult | None) -> Iterator[Finding]:
    success = result.finding if result else None
    if success is None:
        return
    for column, reached in success.details.get("by_column", {}).items():
        if reached["average"] - reached["baseline"] <= MOST_RECOVERED:
            continue
        way = reached["method"] if reached["method"] in WAYS else "dictionary"
        share, guess = (_percent(shown, success, reached[key]) for key in ("average", "baseline"))
        what = WAYS[way].format(column=column, share=share, guess=guess)
        yield _finding(shown, success, what, [column], column, FIXES[way], share=reached["average"])


def _finding(
    shown: Shown,
    success: AttackSuccess,
    what: str,
    columns: list[str],
    column: str,
    fix: str,
    share: float | None = None,
) -> Finding:
    """A finding whose figures are told in steps: they are those of the original."""
    return Finding(
        "weak-transform",
        what,
        Fix(fix.format(columns=", ".join(columns)), shown.drop(*columns).changes),
        column=column,
        share=_rounded(shown, success, success.average if share is None else share),
    )


def _is_open(shown: Shown, success: AttackSuccess) -> bool:
    """Whether some of the columns are not protected by a goal, which assumes that nobody knows them."""
    columns: Any = success.details.get("columns", ())
    return any(name not in shown.protected for name in columns) and "weakest" in success.details


def _values(success: AttackSuccess) -> str:
    return f"value{'s' if len(success.details['columns']) > 1 else ''} of {_quoted(success)}"


def _quoted(success: AttackSuccess) -> str:
    return ", ".join(f"'{name}'" for name in success.details["columns"])


def _rounded(shown: Shown, success: AttackSuccess, share: float) -> float:
    step = shown.step_of(success.n_sampled or success.n_targets)
    return round(min(1.0, round(share / step) * step), 4)


def _percent(shown: Shown, success: AttackSuccess, share: float) -> str:
    return f"{_rounded(shown, success, share):.0%}"
