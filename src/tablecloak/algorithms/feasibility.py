"""Can any release satisfy the goal? For monotone models the table as one class answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tablecloak.errors import DataError, Infeasible, did_you_mean
from tablecloak.models.base import Goal, PrivacyModel, Verdict, all_held, parameters
from tablecloak.stats.classes import ClassStats
from tablecloak.stats.persons import Held

# Relaxations are only worth a full search where that takes no time to speak of.
TRY_LOSS_UP_TO = 50_000
# A value is shown in a message only if at least so many persons have it.
COMMON = 10


def require_feasible(whole: ClassStats, goal: Goal, loss_of: Callable[[Goal], float] | None = None) -> None:
    """Raise Infeasible, with the best achievable levels and relaxations that work, if no release can satisfy the goal,
    and DataError if it names values that do not occur.

    Uniting classes never breaks a monotone model, so the most general table, one class, is the best there is.

    Args:
        whole: the table as one class.
        loss_of: solves a relaxed goal and returns its information loss.
    """
    _refuse_absent_values(whole, goal)
    # whether everybody can be covered is found out by searching, which says more than a chance
    goal = replace(goal, models=tuple(m.in_search if m.asks_for_everybody else m for m in goal.models))
    verdicts = goal.verdicts(whole)
    # a model that is not monotone may hold on parts although it does not on the whole
    failing = [i for i, v in enumerate(verdicts) if not v.holds and goal.models[i] in goal.parts()[0].models]
    if not failing:
        return
    weaker = _relaxed_goals(goal, verdicts, failing)
    reached = [(g, text) for g, text in weaker if all(v.holds for v in g.parts()[0].verdicts(whole))]
    relaxations = [_tried(g, text, loss_of) for g, text in reached]
    raise Infeasible(
        "infeasible  " + "; ".join(_reason(verdicts[i], whole.n_records) for i in failing),
        best=[{"model": verdicts[i].model, **verdicts[i].to_dict()} for i in failing],
        relaxations=relaxations,
    )


def _refuse_absent_values(whole: ClassStats, goal: Goal) -> None:
    """A value that a goal names and nobody has protects nobody, and the one that was meant is not protected."""
    for model in goal.models:
        names = model.named_values()
        held = all_held(whole, model.sensitive_columns) if names else []
        n_holders = {
            label: n for each in held for label, n in zip(each.domain.labels, each.holders().totals, strict=True)
        }
        absent = [name for name in names if not n_holders.get(name)]
        if absent:
            # The name is the user's own. A value of the data may be shown only where so many have it that no class of a
            # release says less: with fewer, a message in some log would tell about somebody.
            common = [label for label, n in n_holders.items() if label and n >= max(COMMON, goal.min_size)]
            raise DataError(
                f"{model.name} names the value '{absent[0]}', which does not occur in {_columns(held)}",
                hint=did_you_mean(absent[0], common) or "name values as the data spells them, or leave it out",
            )
        n_unknown = model.n_unknown_guards(whole)
        if n_unknown:
            raise DataError(
                f"{n_unknown:,} different cells of the guard column name no value and no node, so they protect nobody",
                hint="spell them as the sensitive column or its hierarchy does; an empty cell guards nothing",
            )


def _columns(held: list[Held]) -> str:
    names = [f"'{each.domain.name}'" for each in held]
    return f"column {names[0]}" if len(names) == 1 else f"columns {', '.join(names)}"


def _reason(verdict: Verdict, n_rows: int) -> str:
    best = verdict.to_dict()["achieved"]
    required = verdict.to_dict()["required"]
    if best is None:
        return f"no release of this table satisfies {verdict.model}: even all {n_rows:,} records together do not"
    return f"no release reaches {verdict.model} {required} (best: {best}, with all {n_rows:,} records together)"


def _relaxed_goals(goal: Goal, verdicts: list[Verdict], failing: list[int]) -> Iterator[tuple[Goal, str]]:
    """Weaker goals with the change of the policy that leads to them, most protective first."""
    weaker = [list(goal.models[i].relaxed(verdicts[i].achieved)) for i in failing]
    for rank in range(max((len(w) for w in weaker), default=0)):
        chosen = {i: w[min(rank, len(w) - 1)] for i, w in zip(failing, weaker, strict=True) if w}
        if len(chosen) < len(failing):
            break
        models = tuple(chosen.get(i, m) for i, m in enumerate(goal.models))
        changes = [_change(i, goal.models[i], chosen[i]) for i in failing]
        yield replace(goal, models=models), ", ".join(changes)
    rest = tuple(m for i, m in enumerate(goal.models) if i not in failing)
    if rest:
        names = ", ".join(f"goals.{i} ({goal.models[i].name})" for i in failing)
        yield replace(goal, models=rest), f"remove {names}"


def _change(index: int, before: PrivacyModel, after: PrivacyModel) -> str:
    old, new = parameters(before), parameters(after)
    parts = [f"goals.{index}.{name}: {new.get(name)}" for name in {**old, **new} if old.get(name) != new.get(name)]
    return ", ".join(parts)


def _tried(goal: Goal, change: str, loss_of: Callable[[Goal], float] | None) -> dict[str, Any]:
    if loss_of is None:
        return {"change": f"{change}  → feasible", "feasible": True}
    loss = loss_of(goal)
    return {"change": f"{change}  → feasible, loss {loss:.2f}", "feasible": True, "loss": round(loss, 6)}
