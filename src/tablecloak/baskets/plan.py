"""From a policy and the columns of a table to what happens to its column of sets, settled before any search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tablecloak.algorithms.apriori import Apriori
from tablecloak.data.table import Order, Role
from tablecloak.errors import IncompatibleChoice
from tablecloak.models.base import Goal
from tablecloak.models.km_anonymity import KmAnonymity
from tablecloak.plan import refuse_unknown_columns
from tablecloak.policy.schema import Policy, Transform
from tablecloak.rng import Secret
from tablecloak.stats.classes import Needs

__all__ = ["SEPARATOR", "SetPlan", "has_sets", "make_set_plan", "release_format"]

SEPARATOR = ";"
PUBLISHED = (Role.ITEMS, Role.SENSITIVE, Role.WEIGHT, Role.KEEP)
# Names of text files that hold sets again where the input did.
_TEXT = (".csv", ".tsv", ".txt", ".tab", ".dat", ".sets", "")


@dataclass(frozen=True, slots=True)
class SetPlan:
    """What a run does to a column of sets."""

    policy: Policy
    goal: KmAnonymity
    algorithm: Apriori
    column: str
    separator: str  # between the items of an original
    published_separator: str  # between the items of a published cell
    columns: tuple[str, ...]  # published, in the order of the input
    starred: tuple[str, ...] = ()
    secret: Secret = field(default_factory=Secret.fresh)  # hides people; all of a run derives from this one

    @property
    def order(self) -> Order:
        """In which order records are published."""
        return self.policy.output.order if self.policy.output else Order.CONTENT

    @property
    def wanted(self) -> tuple[str, ...]:
        """Columns to read."""
        return tuple(c for c in self.columns if c not in self.starred)

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns that are published as they are."""
        return tuple(c for c in self.wanted if c != self.column)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that the policy names and does not publish."""
        return tuple(c for c in self.policy.columns if c not in self.columns)


def has_sets(policy: Policy) -> bool:
    """Whether a policy speaks of sets of items."""
    return bool(policy.columns_with(Role.ITEMS)) or any(Needs.ITEMS in goal.needs for goal in policy.goals)


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
    starred = [n for n in policy.columns_with(Role.IDENTIFIER) if policy.columns[n].transform is Transform.STAR]
    shown = {*policy.columns_with(*PUBLISHED), *starred}
    if policy.others == "keep":
        shown |= {c for c in columns if c not in policy.columns}
    separator = policy.columns[column].separator or delimiter or _of_tables(policy, column)
    return SetPlan(
        policy, _goal(policy), _algorithm(policy), column, separator, _written(policy, column, delimiter),
        tuple(c for c in columns if c in shown), tuple(starred), secret or Secret.fresh(),
    )  # fmt: skip


def _of_tables(policy: Policy, column: str) -> str:
    """What separates items in the cells of a table, as far as a policy alone says it."""
    of_sets = policy.input is not None and policy.input.format == "sets"
    said = policy.input.delimiter if policy.input is not None and of_sets else None
    return policy.columns[column].separator or said or SEPARATOR


def _written(policy: Policy, column: str, delimiter: str | None) -> str:
    """What separates published items: in a file of sets its delimiter, in a table what the policy says."""
    path = policy.output_path
    if delimiter is None or path is None or release_format(policy, path, is_of_sets=True) != "sets":
        return _of_tables(policy, column)
    return (policy.output.delimiter if policy.output else None) or policy.columns[column].separator or delimiter


def _column(policy: Policy) -> str:
    found = policy.columns_with(Role.ITEMS)
    if not found:
        raise IncompatibleChoice(
            "km-anonymity speaks of sets of items, and no column has the role items",
            hint="give role: items to the column whose cells hold sets",
        )
    if len(found) > 1:
        raise IncompatibleChoice(
            f"{len(found)} columns have the role items, and one can be protected",
            hint=f"role: drop for {', '.join(found[1:])}, or unite them in one column",
        )
    return found[0]


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


def _goal(policy: Policy) -> KmAnonymity:
    found = [goal for goal in policy.goals if isinstance(goal, KmAnonymity)]
    others = [goal.name for goal in policy.goals if not isinstance(goal, KmAnonymity)]
    if not found:
        raise IncompatibleChoice(
            f"column '{_column(policy)}' holds sets of items, and no goal speaks of them",
            hint="goals: - {model: km-anonymity, k: 5, m: 2}; or role: drop for the column",
        )
    if others:
        raise IncompatibleChoice(
            f"{others[0]} judges classes of records, and sets of items have none", hint="only km-anonymity as goal"
        )
    if len(found) > 1:
        raise IncompatibleChoice(
            "there are several goals of km-anonymity", hint="keep one: a larger k, or m, asks for more"
        )
    return found[0]


def _algorithm(policy: Policy) -> Apriori:
    if isinstance(policy.algorithm, Apriori):
        return policy.algorithm
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
