"""Finished releases whose columns were transformed: the original is transformed again, and the rest is as without.

Where a transform is drawn and the secret behind it is not known, nobody can make its cells again: they are looked at as
far as the transform says what they may be, and that they could not be held against the original is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from tablecloak.data.table import Role
from tablecloak.engines.base import Engine, Table
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.findings.base import protected_columns
from tablecloak.io.sources import Source
from tablecloak.models.base import Goal
from tablecloak.policy.schema import Policy
from tablecloak.progress import Timed
from tablecloak.release.changed_cells import wrong_cells
from tablecloak.release.plan import changed_of, make_plan, replaced_of
from tablecloak.release.prepare import read
from tablecloak.release.recount import Failure, Verification
from tablecloak.release.shapes.base import shape_of
from tablecloak.release.transform import published, transformed
from tablecloak.rng import Secret
from tablecloak.stats.classes import Evidence
from tablecloak.transforms.base import Family, Transform

UNKNOWN = (
    "{columns} could not be held against the original: transforms drew what is published, from a secret that the "
    "policy does not name"
)
JUDGED = "the goal judged '{column}' as it was, and what is published of it was changed: only the run itself can tell"


UNATTACKED = (
    "how much of {columns} attackers undo was not looked at: cells lie beside their originals only in the run that "
    "made them"
)


@dataclass(frozen=True, slots=True)
class Remade:
    """What verifying a release begins with: a policy without transforms, and the original as these change it."""

    asked: Policy  # with its transforms
    policy: Policy
    original: Source | None
    unknown: tuple[str, ...] = ()  # columns that cannot be made again
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, engine: Engine, original: Source | None, policy: Policy, timed: Timed) -> Remade:
        """The original as a release shows it, where that can be known."""
        changed = list(changed_of(policy))
        plain = without_transforms(policy)
        if original is None or not changed:
            return cls(policy, plain, original)
        unknown = tuple(name for name in changed if _is_lost(policy, name))
        notes = (UNKNOWN.format(columns=", ".join(f"'{n}'" for n in unknown)),) if unknown else ()
        if set(unknown) & set(policy.columns_with(Role.QUASI)):
            return cls(policy, plain, None, unknown, notes)
        plan, table = read(engine, original, _without(policy, unknown), timed)
        unpublished = [*policy.columns_with(Role.PERSON), *plan.goal.guard_columns]
        hidden = [n for n in unpublished if n in table.types and n not in plan.changed]
        columns = [n for n in plan.publication.columns if n in table.types or n in plan.changed]
        shown = published(engine, table, list(dict.fromkeys([*columns, *hidden])), plan)
        return cls(policy, plain, _kept(engine, shown, original), unknown, notes)

    def faults(self, engine: Engine, release: Table) -> list[Failure]:
        """Published cells that the transforms of their columns cannot have made."""
        return wrong_cells(engine, release, self.asked)

    def judged(self, verification: Verification, goal: Goal) -> Verification:
        """Without a yes to what only values tell that are not published."""
        verification = replace(verification, unchecked=(*verification.unchecked, *self.notes, *self._unattacked))
        late = self._late
        if not late:
            return verification
        verdicts = []
        for verdict, model in zip(verification.verdicts, goal.models, strict=True):
            looked_at = [*protected_columns(Goal((model,)), self.policy.columns_with(Role.SENSITIVE))]
            looked_at += self.policy.columns_with(Role.WEIGHT) if Evidence.WEIGHTS in model.evidence else []
            spoken = [n for n in looked_at if n in late]
            why = JUDGED.format(column=spoken[0]) if spoken else None
            verdicts.append(replace(verdict, holds=False, unchecked=why) if why else verdict)
        return replace(verification, verdicts=verdicts)

    @property
    def _unattacked(self) -> tuple[str, ...]:
        """What a run finds by attacking what it publishes, and a finished file does not show."""
        hiding = (Family.COVER, Family.PERTURB)
        chains = {n: c for n, c in changed_of(self.asked).items() if self.asked.columns[n].role is not Role.QUASI}
        names = [f"'{n}'" for n, chain in chains.items() if any(each.family in hiding for each in chain)]
        return (UNATTACKED.format(columns=", ".join(names)),) if names else ()

    @property
    def _late(self) -> tuple[str, ...]:
        if not changed_of(self.asked):
            return ()
        names, secret = list(self.asked.columns), Secret.fresh()
        plan = shape_of(self.asked).plan(
            self.asked, names, delimiter=None, location=None, is_reported=None, secret=secret
        )
        return plan.judged_before


def as_attackers_know(frame: pl.DataFrame, policy: Policy) -> tuple[pl.DataFrame, Policy]:
    """What is known of people, as it would be published: who knows an age and the policy rounds it as the policy does.

    Only quasi-identifiers, and only where nothing was drawn; other columns stay as they are.
    """
    changed = changed_of(policy)
    if not changed:
        return frame, policy
    names = [n for n, chain in changed.items() if policy.columns[n].role is Role.QUASI and not _is_drawn(chain)]
    quasi = {n: policy.columns[n] for n in names}
    known = without_transforms(policy)
    needed = {need for n in names for each in changed[n] for need in each.needs(None)}
    if not names or not (needed | {n for n in names if not changed[n][0].makes_column}) <= set(frame.columns):
        return frame, known
    asked = policy.model_copy(update={"columns": quasi, "others": "keep", "accepted": ()})
    engine = LocalEngine()
    table, _ = transformed(engine, table_of(frame), make_plan(asked, frame.columns))
    return engine.frame(table), known


def _is_drawn(chain: Sequence[Transform]) -> bool:
    return any(each.is_drawn for each in chain)


def without_transforms(policy: Policy) -> Policy:
    """The policy of someone who was given the columns as transforms make them."""
    columns, hidden = dict(policy.columns), replaced_of(policy)
    for name in list(changed_of(policy)):
        role = Role.KEEP if name in hidden else columns[name].role
        columns[name] = columns[name].model_copy(update={"transform": (), "role": role, "type": None, "format": None})
    return policy.model_copy(update={"columns": columns})


def _without(policy: Policy, columns: tuple[str, ...]) -> Policy:
    """The policy without columns that cannot be made again."""
    rest = {name: spec for name, spec in policy.columns.items() if name not in columns or spec.role is Role.PERSON}
    rest = {n: s.model_copy(update={"transform": ()}) if n in columns else s for n, s in rest.items()}
    goals = policy.goals
    return policy.model_copy(update={"columns": rest, "goals": goals, "accepted": ()})


def _is_lost(policy: Policy, column: str) -> bool:
    """Whether nobody can make the cells of a column again."""
    drawn = [t for t in policy.columns[column].transform if t.is_drawn and t.key_place is None]
    return policy.secret is None and any(getattr(t, "vault", None) is None for t in drawn)


def _kept(engine: Engine, table: Table, original: Source) -> Source:
    """A table as a source that can be read again and again."""
    if engine.scratch is None:
        return Source.in_memory(engine.frame(table))
    path = engine.scratch / "original-as-published.parquet"
    engine.write(table, path, kind="parquet", delimiter=None)
    return replace(Source.of(path), expected=original.expected)
