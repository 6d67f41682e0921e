"""From a policy and the columns of a table to what happens to its column of sets, settled before any search."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tablecloak.algorithms.base import Algorithm
from tablecloak.algorithms.items.apriori import Apriori
from tablecloak.data.table import Order, Role
from tablecloak.engines.base import Publication
from tablecloak.errors import IncompatibleChoice
from tablecloak.models.base import Goal, PrivacyModel
from tablecloak.models.km_anonymity import KmAnonymity
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import Style
from tablecloak.release.plan import Plan, changed_of, needed_by, refuse_unknown_columns, replaced_of, starred_of
from tablecloak.rng import Secret
from tablecloak.stats.classes import Evidence

SEPARATOR = ";"
PUBLISHED = (Role.ITEMS, Role.SENSITIVE, Role.WEIGHT, Role.KEEP)
# Names of text files that hold sets again where the input did.
_TEXT = (".csv", ".tsv", ".txt", ".tab", ".dat", ".sets", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPlan(Plan):
    """What a run does to a column of sets."""

    column: str
    separator: str  # between the items of an original
    published_separator: str  # between the items of a published cell
    is_of_sets: bool = False  # the input is a file with one set a line

    @property
    def km(self) -> KmAnonymity:
        """The only goal that sets of items know."""
        (model,) = self.goal.models
        return cast(KmAnonymity, model)

    @property
    def apriori(self) -> Apriori:
        return cast(Apriori, self.algorithm)

    @property
    def categorical(self) -> tuple[str, ...]:
        return ()

    @property
    def coded(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def itemised(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def coded_by(self) -> tuple[Hashable, ...]:
        return (self.km.multiset, self.separator, self.published_separator)

    @property
    def needs_memory(self) -> bool:
        return True

    @property
    def kept_columns(self) -> tuple[str, ...]:
        """Columns that are published as they are."""
        names = [c for c in self.publication.columns if c not in self.publication.starred]
        return tuple(c for c in names if c != self.column and c not in self.changed)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that the policy names and does not publish."""
        return tuple(c for c in self.policy.columns if c not in self.publication.columns)


def has_sets(policy: Policy) -> bool:
    """Whether a policy speaks of sets of items."""
    return bool(policy.columns_with(Role.ITEMS)) or any(Evidence.ITEMS in goal.evidence for goal in policy.goals)


def make_set_plan(
    policy: Policy,
    columns: Sequence[str],
    *,
    delimiter: str | None = None,
    location: str | None = None,
    secret: Secret | None = None,
) -> SetPlan:
    """Settle what happens to each column; fails here if the policy cannot fit the table.

    Args:
        delimiter: of a file of sets.
        secret: that of the policy, where something will be published; None: a fresh one.
    """
    refuse_unknown_columns(policy, columns, location)
    column = _column(policy)
    _refuse_roles(policy)
    starred = starred_of(policy)
    changed = changed_of(policy)
    made = [name for name, chain in changed.items() if name not in columns and chain[0].makes_column]
    columns = [*columns, *made]
    needed = needed_by(changed, policy)
    read = [c for c in columns if c in needed]
    shown = {*policy.columns_with(*PUBLISHED), *starred, *replaced_of(policy)}
    if policy.others == "keep":
        shown |= {c for c in columns if c not in policy.columns}
    separator = policy.columns[column].separator or delimiter or _of_tables(policy, column)
    written = _written(policy, column, delimiter)
    goal = Goal((cast(PrivacyModel, _goal(policy)),))
    algorithm = cast(Algorithm, algorithm_of(policy))
    columns = tuple(c for c in columns if c in shown)
    return SetPlan(
        policy if delimiter is None else _with_delimiter(policy, delimiter),
        goal,
        algorithm,
        Publication(columns, tuple(starred), order=policy.output.order if policy.output else Order.CONTENT),
        tuple(dict.fromkeys(c for c in [*columns, *read] if c not in starred and c not in made)),
        changed=changed,
        secret=secret or Secret.fresh(),
        column=column,
        separator=separator,
        published_separator=written,
        is_of_sets=delimiter is not None,
    )


def _with_delimiter(policy: Policy, delimiter: str) -> Policy:
    """The policy that says what was found out, because a release may not show it."""
    assert policy.input is not None
    return policy.model_copy(update={"input": policy.input.model_copy(update={"delimiter": delimiter})})


def _of_tables(policy: Policy, column: str) -> str:
    """What separates items in the cells of a table, as far as a policy alone says it."""
    of_sets = policy.input is not None and policy.input.format == "sets"
    delimiter = policy.input.delimiter if policy.input is not None and of_sets else None
    return policy.columns[column].separator or delimiter or SEPARATOR


def _written(policy: Policy, column: str, delimiter: str | None) -> str:
    """What separates published items: in a file of sets its delimiter, in a table what the policy says."""
    path = policy.output_path
    if delimiter is None or path is None or release_format(policy, path, is_of_sets=True) != "sets":
        return _of_tables(policy, column)
    return (policy.output.delimiter if policy.output else None) or policy.columns[column].separator or delimiter


def _column(policy: Policy) -> str:
    columns = policy.columns_with(Role.ITEMS)
    if not columns:
        raise IncompatibleChoice(
            "km-anonymity speaks of sets of items, and no column has the role items",
            hint="give role: items to the column whose cells hold sets",
        )
    if len(columns) > 1:
        raise IncompatibleChoice(
            f"{len(columns)} columns have the role items, and one can be protected",
            hint=f"role: drop for {', '.join(columns[1:])}, or unite them in one column",
        )
    return columns[0]


def _refuse_roles(policy: Policy) -> None:
    if policy.columns_with(Role.QUASI):
        raise IncompatibleChoice(
            "sets of items and quasi-identifiers cannot be protected together",
            hint="role: drop for the quasi-identifiers, or release the two parts as tables without a common key",
        )
    if policy.columns_with(Role.PERSON):
        raise IncompatibleChoice(
            "with sets of items, every record is counted as a person",
            hint="unite the sets of each person in one record, and leave the key out",
        )
    if policy.output is not None and policy.output.style is Style.ANALYST:
        raise IncompatibleChoice(
            "output.style: analyst is about columns of values, and sets of items have none", hint="leave style out"
        )


def _goal(policy: Policy) -> KmAnonymity:
    goals: list[KmAnonymity] = [goal for goal in policy.goals if Evidence.ITEMS in goal.evidence]
    others = [goal.name for goal in policy.goals if Evidence.ITEMS not in goal.evidence]
    if not goals:
        raise IncompatibleChoice(
            f"column '{_column(policy)}' holds sets of items, and no goal speaks of them",
            hint="goals: - {model: km-anonymity, k: 5, m: 2}; or role: drop for the column",
        )
    if others:
        raise IncompatibleChoice(
            f"{others[0]} judges classes of records, and sets of items have none", hint="only km-anonymity as goal"
        )
    if len(goals) > 1:
        raise IncompatibleChoice(
            "there are several goals of km-anonymity", hint="keep one: a larger k, or m, asks for more"
        )
    return goals[0]


def algorithm_of(policy: Policy) -> Apriori:
    """The algorithm of the policy; where it names none, the one that knows sets."""
    if not policy.algorithm.forms_classes:
        return cast(Apriori, policy.algorithm)
    if "algorithm" not in policy.model_fields_set:
        return Apriori()
    reason = Apriori().refuses(Goal(tuple(policy.goals)))
    raise IncompatibleChoice(
        reason or f"{policy.algorithm.name} forms classes of records, and sets of items have none",
        hint="algorithm: apriori",
    )


def release_format(policy: Policy, path: Path, *, is_of_sets: bool) -> str | None:
    """The format of a release: sets become sets again unless the policy or the name of the file says otherwise."""
    if policy.output and policy.output.format:
        return policy.output.format
    if path.is_dir() or (policy.output and policy.output.is_folder):
        return None
    name = path.name.removesuffix(".gz")
    return "sets" if is_of_sets and Path(name).suffix in _TEXT else None
