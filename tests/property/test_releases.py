"""Random tables x random goals: every release is judged by the oracle, every refusal is proved by it."""

from __future__ import annotations

import math
import re
from collections import Counter

import pytest
from hypothesis import HealthCheck, event, given, settings
from tables import cases

import effort
from oracle import exact
from tablecloak import DataError, Infeasible, anonymize

pytestmark = pytest.mark.slow
often = settings(
    max_examples=effort.often(75),
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def same(ours, theirs):
    if ours is None:
        return math.isinf(theirs)
    return ours == theirs or math.isclose(ours, float(theirs), rel_tol=1e-9, abs_tol=1e-8)


@often
@given(cases())
def test_a_release_is_right_or_its_refusal_is(case):
    if case.missing == "error" and any(map(case.has_missing, case.rows)):
        with pytest.raises(DataError, match="empty cells and the policy says missing: error"):
            anonymize(case.frame, case.policy())
        return
    if not case.used:
        with pytest.raises(DataError, match="no rows"):
            anonymize(case.frame, case.policy())
        return
    if names_absent_values(case):
        with pytest.raises(DataError, match="which does not occur in column 'illness'"):
            anonymize(case.frame, case.policy())
        return
    try:
        release = anonymize(case.frame, case.policy(), threads=1)
    except Infeasible as refusal:
        event("infeasible")
        check_refusal(case, refusal)
    else:
        event("release")
        check_release(case, release)


def names_absent_values(case):
    named = {value for goal in case.goals for key in ("allowed", "forbidden") for value in goal.get(key) or ()}
    return not named <= {row.get("illness") for row in case.used}


def check_release(case, release):
    rows = release.frame.to_dicts()
    verification = release.report.verification
    published = [row for row in rows if row["row"] is not None]
    hidden = [row for row in rows if row["row"] is None]
    original = {row["row"]: row for row in case.used}

    # every record once, in order, kept columns and sensitive cells as they were
    assert list(release.frame.columns) == list(case.types)
    numbers = [row["row"] for row in published]
    assert len(set(numbers)) == len(numbers)
    if case.output["order"] == "keep":
        assert numbers == sorted(numbers)
    if case.output["order"] == "content":
        assert rows == sorted(rows, key=lambda row: by_content(case, row))
    assert all(row[s] == original[row["row"]][s] for row in published for s in case.sensitive)
    n_suppressed = len(original) - len(published)
    assert n_suppressed <= exact(case.algorithm["suppression_limit"]) * len(original)
    assert len(hidden) == (n_suppressed if case.output["suppressed"] == "star" else 0)
    assert all(row[q] == "*" for row in hidden for q in case.quasi)
    assert all(row[s] in ("*", None) for row in hidden for s in case.sensitive)
    counted = [row for row in published if not reads_as_suppressed(case, row)] or published
    assert verification.n_suppressed == len(original) - len(counted)
    assert verification.n_rows == len(counted)
    assert release.report.n_missing_dropped == len(case.rows) - len(original)

    # every cell covers its original
    assert verification.covers is True
    for row in published:
        for name in case.quasi:
            assert case.covers(name, row[name], original[row["row"]][name]), (name, case.specs[name])

    # the goals hold, at the level we say
    assert all(holds for holds, _ in case.judged(published))
    judged = case.judged(counted)
    assert all(holds for holds, _ in judged)
    for verdict, (_, achieved) in zip(verification.verdicts, judged, strict=True):
        assert verdict.holds
        assert same(verdict.achieved, achieved)
    assert verification.n_classes == len({tuple(row[q] for q in case.quasi) for row in counted})

    # and the loss is what we say
    cells = Counter((name, row[name]) for row in published for name in case.quasi)
    lost = sum(n * case.weights[name] * case.loss(name, cell) for (name, cell), n in cells.items())
    total = sum(case.weights.values())
    assert release.report.loss == pytest.approx((lost / total + n_suppressed) / len(original), abs=1e-9)


def by_content(case, row):
    """Cells in the order in which they are compared, missing ones first."""
    rest = [name for name in case.types if name not in case.quasi]
    names = [*(name for name in case.types if name in case.quasi), *rest]
    return [(row[name] is not None, row[name] if row[name] is not None else 0) for name in names]


def reads_as_suppressed(case, row):
    """Whether a reader of the release must take a published row for a suppressed one."""
    return (
        case.output["suppressed"] == "star"
        and all(row[q] == "*" for q in case.quasi)
        and all(row[s] is None and case.types[s] != "text" for s in case.sensitive)
    )


def check_refusal(case, refusal):
    judged = case.judged(case.used, quasi=[])
    failing = [(goal, level) for goal, (holds, level) in zip(case.goals, judged, strict=True) if not holds]
    assert failing, "one class satisfies the goal"
    assert [b["model"] for b in refusal.best] == [goal["model"] for goal, _ in failing]
    assert all(same(b["achieved"], level) for b, (_, level) in zip(refusal.best, failing, strict=True))
    for relaxation in refusal.relaxations:
        goals = relaxed(case.goals, relaxation["change"])
        assert all(holds for holds, _ in case.judged(case.used, quasi=[], goals=goals))
        made = anonymize(case.frame, case.policy(goals), threads=1)
        assert made.report.verification.holds
        assert made.report.loss == pytest.approx(relaxation["loss"], abs=1e-6)
    assert len({r["change"] for r in refusal.relaxations}) == len(refusal.relaxations)
    assert len(refusal.relaxations) >= min(2, n_possible(case, failing))


def relaxed(goals, change):
    """The goals after a change that an error suggests, read as a user would."""
    text = change.partition("  →")[0]
    if text.startswith("remove "):
        gone = {int(i) for i in re.findall(r"goals\.(\d+) ", text)}
        return [goal for i, goal in enumerate(goals) if i not in gone]
    changed = [dict(goal) for goal in goals]
    for index, key, value in re.findall(r"goals\.(\d+)\.(\w+): ([\w.-]+)", text):
        assert key in ("k", "l", "c", "t", "c2")
        changed[int(index)][key] = int(value) if re.fullmatch(r"\d+", value) else float(value)
    return changed


def n_possible(case, failing):
    """How many different weaker goals exist at all, counting removal of what fails and lower levels of one kind."""
    n_removals = int(len(failing) < len(case.goals))
    if len(failing) > 1:
        return n_removals
    goal, level = failing[0]
    if goal["model"] == "k-anonymity":
        return n_removals + max(0, int(level) - 1)
    if goal.get("variant", "distinct") == "distinct":
        return n_removals + max(0, int(level) - 1)
    if goal["variant"] == "entropy":
        return n_removals + 2 * (level > 1.02)
    return n_removals + (level != math.inf)
