"""Goals: models as cards with sentences, the algorithm with its settings, edits of both, and what a check says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tablecloak import registry
from tablecloak.data.table import Role
from tablecloak.errors import PolicyError
from tablecloak.models.base import Goal, evidence_of, parameters
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import DEFAULT_ALGORITHM, Style
from tablecloak.release.plan import BINS
from tablecloak.report.explain import Explanation, describe
from tablecloak.server import catalogue
from tablecloak.server.catalogue import Offer
from tablecloak.server.forms import Field, fields_of, sentence_parts, settings_from
from tablecloak.server.state import ServerState, StoredAnswer, key_of
from tablecloak.server.steps.goals import task as goals_task
from tablecloak.server.steps.goals.task import CheckAnswer
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.store import Project
from tablecloak.server.tables import publishes_sets
from tablecloak.stats.classes import Evidence

FEW_LABELS = (BINS, DEFAULT_ALGORITHM)  # algorithms that the style `analyst` leaves as they are
# Where no better value is known, a new goal starts from these.
STARTS = {"k": 5, "l": 3, "t": 0.2, "p": 2, "alpha": 0.5, "beta": 1, "delta": 1, "limit": 0.1, "c": 0.5, "m": 2, "e": 1,
          "epsilon": 1, "h": 0.5}  # fmt: skip
# What the labels of a release are like, in one sentence each.
STYLES = {
    Style.DETAILED: "every group of records has labels of its own: least is lost, and labels may overlap",
    Style.ANALYST: "every column has few labels that do not overlap: more is lost, and counts by label add up",
}
PATIENCE = 0.8  # seconds until the light says what it is doing


@cache
def _about(kind: str, name: str) -> Explanation:
    return describe(kind, name, registry.find(f"{kind}s", name))


def _fields(name: str, policy: Policy) -> list[Field]:
    sensitive = policy.columns_with(Role.SENSITIVE)
    return fields_of(registry.find("models", name), columns={"sensitive": sensitive})


@dataclass(frozen=True, slots=True)
class Card:
    """A model or the algorithm of a policy, with its inputs."""

    name: str
    fields: Mapping[str, Field]
    values: Mapping[str, Any]
    about: Explanation
    at: int = 0  # place among the goals
    parts: Sequence[tuple[str, str]] = ()  # of its sentence

    @property
    def others(self) -> list[Field]:
        """Inputs that its sentence does not hold."""
        return [field for name, field in self.fields.items() if ("field", name) not in self.parts]


def cards(policy: Policy) -> list[Card]:
    """One card per goal of the policy."""
    cards_ = []
    for at, goal in enumerate(policy.goals):
        fields = {f.name: f for f in _fields(goal.name, policy)}
        parts = sentence_parts(goal.sentence, fields) or ()
        cards_.append(Card(goal.name, fields, parameters(goal), _about("model", goal.name), at, parts))
    return cards_


def offers(policy: Policy) -> dict[str, list[Offer]]:
    """Models that could be added, by what they are for; each says what it would need."""
    models = {
        name: model
        for name, model in registry.known("models").items()
        if (Evidence.ITEMS in evidence_of(model)) == publishes_sets(policy)
    }
    missing = None if policy.columns_with(Role.SENSITIVE) else "Needs a column with the role sensitive."
    offered = []
    for name, model in models.items():
        reason = missing if Evidence.SENSITIVE in evidence_of(model) else None
        group = catalogue.group_of_model(name)
        offered.append(Offer(name, _definition("model", name), reason, group, catalogue.picture_of(name)))
    return catalogue.grouped(offered, list(catalogue.MODEL_GROUPS))


def _definition(kind: str, name: str) -> str:
    return _about(kind, name).definition.replace("`", "")


def algorithm_card(policy: Policy) -> Card:
    """The algorithm of the policy with its inputs."""
    algorithm = policy.algorithm
    fields = {f.name: f for f in fields_of(type(algorithm))}
    values = {name: getattr(algorithm, name, None) for name in fields}
    return Card(algorithm.name, fields, values, _about("algorithm", algorithm.name))


def algorithms(policy: Policy) -> dict[str, list[Offer]]:
    """All algorithms by what they do; one that cannot enforce the goals says why."""
    goal = Goal(tuple(policy.goals))
    offered = []
    for name, kind in registry.known("algorithms").items():
        try:
            reason = kind().refuses(goal)
            if reason is None and publishes_sets(policy) and kind.forms_classes:
                reason = "it forms classes of records, and sets have none"
        except Exception:  # one that must be told something first is offered, and says so when it is chosen
            reason = None
        family = kind.__module__.split(".")[-2]
        picture = catalogue.picture_of(name, family)
        offered.append(Offer(name, _definition("algorithm", name), reason, catalogue.group_of_algorithm(kind), picture))
    return catalogue.grouped(offered, list(catalogue.ALGORITHM_GROUPS.values()))


def style_of(policy: Policy) -> Style | None:
    """What labels are like; None where there are none to choose, because sets of items are published."""
    if publishes_sets(policy):
        return None
    return policy.output.style if policy.output else Style.DETAILED


def edit_from(policy: Policy, form: Mapping[str, str]) -> tuple[policy_service.Change, str]:
    """The edit that a form of the goals page asks for, and what it is called in the history."""
    action = form.get("action", "")
    if action == "add":
        return policy_service.add_goal(_new_goal(policy, form.get("model", ""))), f"goal {form.get('model')}"
    if action == "remove":
        return policy_service.remove_goal(int(form.get("at", "0"))), "goal removed"
    if action == "goal":
        at = int(form.get("at", "0"))
        name = policy.goals[at].name if at < len(policy.goals) else ""
        goal = {"model": name, **settings_from(form, _fields(name, policy))}
        return policy_service.replace_goal(at, goal), f"goal {name}"
    if action == "algorithm":
        return _set_algorithm(policy, _algorithm(policy, form)), "algorithm"
    if action == "style":
        return _set_style(policy, form.get("style", "")), f"{form.get('style')} labels"
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
        limit = policy.algorithm.suppression_limit
        keeps = limit and any(f.name == "suppression_limit" for f in fields)
        return {"kind": kind, **({"suppression_limit": limit} if keeps else {})}
    return {"kind": kind, **settings_from(form, fields)}


def _set_algorithm(policy: Policy, algorithm: Mapping[str, Any]) -> policy_service.Change:
    """Another algorithm; where it does not find few labels, labels become detailed ones."""

    def change(document: policy_service.Document) -> None:
        policy_service.set_algorithm(algorithm)(document)
        if style_of(policy) is Style.ANALYST and algorithm["kind"] not in FEW_LABELS:
            policy_service.set_output({"style": None})(document)

    return change


def _set_style(policy: Policy, name: str) -> policy_service.Change:
    """What labels are like; few labels are found by an algorithm of their own, which takes the place of others."""
    if name not in STYLES or style_of(policy) is None:
        raise PolicyError("there are no such labels to choose", hint="reload the page")

    def change(document: policy_service.Document) -> None:
        is_analyst = name == Style.ANALYST
        policy_service.set_output({"style": name if is_analyst else None})(document)
        if is_analyst and policy.algorithm.name not in FEW_LABELS:
            policy_service.set_algorithm(_algorithm(policy, {"kind": BINS}))(document)

    return change


def _weights(policy: Policy, form: Mapping[str, str]) -> policy_service.Change:
    def change(document: policy_service.Document) -> None:
        for name in policy.columns_with(Role.QUASI):
            raw = form.get(f"weight:{name}", "").strip()
            try:
                weight = float(raw) if raw else 1.0
            except ValueError:
                raise PolicyError(f"the weight of {name} is not a number", hint="1 is usual, 2 counts twice") from None
            written = int(weight) if weight.is_integer() else weight
            policy_service.set_column(name, "weight", None if weight == 1 else written)(document)

    return change


def check_memo(project: Project) -> StoredAnswer[CheckAnswer]:
    """Where the answer of a check of the present policy is stored."""
    return StoredAnswer(CheckAnswer, project.id, key_of("check", project.policy))


@dataclass(frozen=True, slots=True)
class Checking:
    """A check that goes on: what it does and for how long."""

    phase: str
    seconds: int


def check(state: ServerState, project: Project) -> CheckAnswer:
    """Whether the goals can be reached; stored for each policy. It may take as long as a run."""
    answer = light(state, project, patience=None)
    assert isinstance(answer, CheckAnswer)
    return answer


def light(state: ServerState, project: Project, *, patience: float | None = PATIENCE) -> CheckAnswer | Checking:
    """The same, or what the check is doing if it does not answer in time; None waits until it does."""
    memo = check_memo(project)
    stored = state.stored(memo)
    if stored is not None:
        return stored
    table = state.table_of(project)
    question = state.begin(project.id, project.version, goals_task.check, table, lambda a: state.keep(memo, a))
    if not question.wait(patience):
        return Checking(question.phase, round(question.seconds))
    answer: CheckAnswer = CheckAnswer.failed(question.error) if question.error else question.answer
    return answer
