"""Goals: models as cards with sentences, the algorithm with its settings, and edits of both."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from tablecloak import registry
from tablecloak.baskets.plan import has_sets
from tablecloak.data.table import Role
from tablecloak.errors import PolicyError
from tablecloak.models.base import Goal, parameters
from tablecloak.policy.schema import Policy
from tablecloak.report.explain import Explanation, describe
from tablecloak.server import drafts
from tablecloak.server.forms import Field, fields_of, settings_from
from tablecloak.server.words import SENTENCES, sentence_parts
from tablecloak.stats.classes import Needs

__all__ = ["algorithm_card", "algorithm_groups", "cards", "edit_from", "offers"]

# Where no better value is known, a new goal starts from these.
STARTS = {"k": 5, "l": 3, "t": 0.2, "p": 2, "alpha": 0.5, "beta": 1, "delta": 1, "limit": 0.1, "c": 0.5, "m": 2, "e": 1,
          "epsilon": 1, "h": 0.5}  # fmt: skip
FIRST = ("k-anonymity", "l-diversity", "t-closeness")


@cache
def _about(kind: str, name: str) -> Explanation:
    return describe(kind, name, registry.find(f"{kind}s", name))


def _fields(name: str, policy: Policy) -> list[Field]:
    sensitive = policy.columns_with(Role.SENSITIVE)
    return fields_of(registry.find("models", name), columns={"sensitive": sensitive})


def cards(policy: Policy) -> list[dict[str, Any]]:
    """One card per goal of the policy."""
    found = []
    for at, goal in enumerate(policy.goals):
        values = parameters(goal)
        fields = _fields(goal.name, policy)
        said = sentence_parts(goal.name, {f.name: f for f in fields})
        in_sentence = [name for kind, name in said or [] if kind == "field"]
        found.append(
            {
                "at": at,
                "name": goal.name,
                "parts": said,
                "fields": {f.name: f for f in fields},
                "others": [f for f in fields if f.name not in in_sentence],
                "values": values,
                "about": _about("model", goal.name),
            }
        )
    return found


def offers(policy: Policy) -> list[dict[str, Any]]:
    """Models that could be added, the well known first; each says what it would need."""
    has_sensitive = bool(policy.columns_with(Role.SENSITIVE))
    found = []
    for name, model in registry.known("models").items():
        needs = getattr(model, "needs", None)
        needs_sensitive = isinstance(needs, Needs) and Needs.SENSITIVE in needs
        if (isinstance(needs, Needs) and Needs.ITEMS in needs) != has_sets(policy):
            continue
        about = _about("model", name)
        found.append(
            {"name": name, "definition": about.definition.replace("`", ""), "is_plain": name in SENTENCES,
             "is_ready": has_sensitive or not needs_sensitive}
        )  # fmt: skip
    return sorted(
        found, key=lambda o: (FIRST.index(o["name"]) if o["name"] in FIRST else 9, not o["is_plain"], o["name"])
    )


def algorithm_card(policy: Policy) -> dict[str, Any]:
    """The algorithm of the policy with its inputs."""
    algorithm = policy.algorithm
    fields = fields_of(type(algorithm))
    values = {f.name: getattr(algorithm, f.name, None) for f in fields}
    return {"name": algorithm.name, "fields": fields, "values": values,
            "about": _about("algorithm", algorithm.name)}  # fmt: skip


def algorithm_groups(policy: Policy) -> list[dict[str, Any]]:
    """All algorithms; one that cannot enforce the goals says why."""
    goal = Goal(tuple(policy.goals))
    found = []
    for name, kind in registry.known("algorithms").items():
        about = _about("algorithm", name)
        try:
            reason = kind().refuses(goal)
            if reason is None and has_sets(policy) and name != "apriori":
                reason = "it forms classes of records, and sets have none"
        except Exception:  # one that must be told something first is offered, and says so when it is chosen
            reason = None
        found.append({"name": name, "definition": about.definition.replace("`", ""), "reason": reason})
    return sorted(found, key=lambda a: (a["reason"] is not None, a["name"] != "auto", a["name"]))


def edit_from(policy: Policy, form: Mapping[str, str]) -> tuple[drafts.Change, str]:
    """The edit that a form of the goals page asks for, and what it is called in the history."""
    action = form.get("action", "")
    if action == "add":
        return drafts.add_goal(_new_goal(policy, form.get("model", ""))), f"goal {form.get('model')}"
    if action == "remove":
        return drafts.remove_goal(int(form.get("at", "0"))), "goal removed"
    if action == "goal":
        at = int(form.get("at", "0"))
        name = policy.goals[at].name if at < len(policy.goals) else ""
        return drafts.replace_goal(at, {"model": name, **settings_from(form, _fields(name, policy))}), f"goal {name}"
    if action == "algorithm":
        return drafts.set_algorithm(_algorithm(policy, form)), "algorithm"
    if action == "weights":
        return _weights(policy, form), "weights"
    raise PolicyError("the form asks for nothing that can be done", hint="reload the page")


def _new_goal(policy: Policy, name: str) -> dict[str, Any]:
    """A goal with values to start from."""
    goal: dict[str, Any] = {"model": name}
    sensitive = policy.columns_with(Role.SENSITIVE)
    for field in _fields(name, policy):
        if field.name == "sensitive":
            goal.update({"sensitive": sensitive[0]} if sensitive else {})
        elif (field.is_required or field.name == "l") and field.name in STARTS:
            goal[field.name] = STARTS[field.name]
    return goal


def _algorithm(policy: Policy, form: Mapping[str, str]) -> dict[str, Any]:
    kind = form.get("kind", policy.algorithm.name)
    fields = fields_of(registry.find("algorithms", kind))
    if kind != policy.algorithm.name:  # what both understand comes along
        limit = getattr(policy.algorithm, "suppression_limit", None)
        keeps = limit and any(f.name == "suppression_limit" for f in fields)
        return {"kind": kind, **({"suppression_limit": limit} if keeps else {})}
    return {"kind": kind, **settings_from(form, fields)}


def _weights(policy: Policy, form: Mapping[str, str]) -> drafts.Change:
    def change(document: drafts.Document) -> None:
        for name in policy.columns_with(Role.QUASI):
            raw = form.get(f"weight:{name}", "").strip()
            try:
                weight = float(raw) if raw else 1.0
            except ValueError:
                raise PolicyError(f"the weight of {name} is not a number", hint="1 is usual, 2 counts twice") from None
            written = int(weight) if weight.is_integer() else weight
            drafts.set_column(name, "weight", None if weight == 1 else written)(document)

    return change
