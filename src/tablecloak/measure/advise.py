"""Advice: which technique fits each column of a table, and which goals fit the table, with lines for a policy.

From a table alone, roles are those that its profile suggests. Under a policy, roles are those of the policy, unless a
column leads to people by itself, and what the policy does already is told from what would be better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from tablecloak.data.table import ColumnType, Role
from tablecloak.engines.choose import Demand
from tablecloak.findings.base import Change, protected_columns
from tablecloak.io.sources import Source, open_source
from tablecloak.looks import ShowsItself
from tablecloak.models.base import Goal
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import ColumnSpec
from tablecloak.profile.column import Column
from tablecloak.profile.detector import detect
from tablecloak.profile.policy_text import flow, scalar
from tablecloak.profile.presets import preset_named
from tablecloak.profile.profile import Profile, inspect_frame, inspect_source
from tablecloak.profile.remedies import Remedy, is_identifying, remedies
from tablecloak.profile.roles import Advice
from tablecloak.profile.starter import MANY_VALUES
from tablecloak.profile.techniques import catalogue
from tablecloak.release.plan import source_of
from tablecloak.transforms.base import Family

# Goals that are usual; those of the presets.
K, L, T = preset_named("standard").k, preset_named("standard").l or 3, preset_named("strict").t or 0.4
# From so many rows on, encrypting every value takes longer than anything else that is done to a column.
MANY_ROWS = 1_000_000
CLOSENESS = ("t-closeness", "beta-likeness", "delta-disclosure")
HIDDEN = (Role.DROP, Role.IDENTIFIER, Role.PERSON)
HIDING = (Family.COVER, Family.PSEUDONYM)


class Fitness(StrEnum):
    """What advice is worth."""

    ADVISED = "advised"  # there is no policy that it could be compared with
    OPTION = "option"  # for those who need it
    FINE = "fine"  # the policy does so, or hides more
    BETTER = "better"  # it protects more than the policy does, or as much and says more
    UNSAFE = "unsafe"  # the policy publishes what leads to people


@dataclass(frozen=True, slots=True)
class ColumnAdvice:
    """What fits one column, the best first."""

    name: str
    looks_like: str
    status: Fitness
    remedies: tuple[Remedy, ...]
    now: str | None = None  # what the policy does

    @property
    def best(self) -> Remedy:
        return self.remedies[0]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "looks_like": self.looks_like,
            "status": str(self.status),
            "now": self.now,
            **self._told(self.best),
            "otherwise": [self._told(remedy) for remedy in self.remedies[1:]],
        }

    def _told(self, remedy: Remedy) -> dict[str, Any]:
        return {
            "when": remedy.when,
            "technique": remedy.technique,
            "rule": remedy.rule,
            "why": remedy.why,
            "line": f"columns.{scalar(self.name)}: {flow(dict(remedy.spec))}",
            "change": Change(f"columns.{self.name}", dict(remedy.spec)).to_dict(),
            "publishes": remedy.publishes,
            "not_from": remedy.not_from,
        }


@dataclass(frozen=True, slots=True)
class TableAdvice:
    """What fits the table as a whole, by one rule."""

    rule: str
    why: str
    not_from: str
    status: Fitness
    changes: tuple[Change, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        rule = catalogue().rule(self.rule)
        return {
            "rule": self.rule,
            "situation": rule.situation,
            "techniques": list(rule.techniques),
            "status": str(self.status),
            "why": self.why,
            "lines": [f"{change.place}: {flow(change.value)}" for change in self.changes],
            "changes": [change.to_dict() for change in self.changes],
            "not_from": self.not_from,
        }


@dataclass(frozen=True, slots=True, repr=False)
class AdviceReport(ShowsItself):
    """Everything `tablecloak advise` says about a table."""

    columns: tuple[ColumnAdvice, ...]
    table: tuple[TableAdvice, ...]
    n_rows: int | None  # None: no data was looked at
    file: str | None = None
    has_policy: bool = False

    def __getitem__(self, column: str) -> ColumnAdvice:
        return next(advice for advice in self.columns if advice.name == column)

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak advise --json`."""
        return {
            "file": self.file,
            "rows": self.n_rows,
            "has_policy": self.has_policy,
            "columns": [advice.to_dict() for advice in self.columns],
            "table": [advice.to_dict() for advice in self.table],
        }

    def __str__(self) -> str:
        return "\n".join(f"{c.name}: {c.best.technique or 'nothing to hide'} ({c.best.why})" for c in self.columns)


def advise(
    data: Any = None,
    policy: Policy | None = None,
    *,
    header: bool | None = None,
    repair: bool = False,
    demand: Demand | None = None,
) -> AdviceReport:
    """Which techniques fit the columns of a table and the table as a whole, with reasons and lines for a policy.

    Args:
        data: a polars, pandas or Arrow frame, a place, a stream of CSV, or a policy; None is the input of the policy.
            Where that is not there, advice is about roles alone.
        header: whether the first row has the names of columns; None: find out.
        repair: a header that is missing or spoilt gets names.
    """
    if isinstance(data, Policy):
        data, policy = None, data
    if policy is None:
        with open_source(data, header=header, repair=repair) as source:
            return _of_table(_looked_at(source, demand))
    if data is not None:
        with open_source(data) as given:
            return _of_policy(policy, _profile_under(policy, given, demand))
    return _of_policy(policy, _profile_under(policy, _input_of(policy), demand))


def _looked_at(source: Source, demand: Demand | None) -> Profile:
    if source.is_frame:
        return inspect_frame(source.frame)
    return inspect_source(source, demand=demand, verb="advise")


def _input_of(policy: Policy) -> Source | None:
    """The input of a policy, if it names one that is there."""
    place = policy.input_place
    if place is None:
        return None
    is_pattern = isinstance(place, Path) and any(sign in str(place) for sign in "*?[")
    return None if isinstance(place, Path) and not is_pattern and not place.exists() else source_of(policy)


def _profile_under(policy: Policy, source: Source | None, demand: Demand | None) -> Profile | None:
    """What the columns look like; nothing is looked at in sets of items, which are no columns of values."""
    if source is None or policy.columns_with(Role.ITEMS):
        return None
    if source.is_frame:
        return inspect_frame(source.frame)
    read = source_of(policy.with_files(source=source.table or source.path))
    return inspect_source(read, demand=demand, verb="advise")


# Columns -------------------------------------------------------------------------------------------------------------


def _of_table(profile: Profile) -> AdviceReport:
    person = next(iter(profile.with_role(Role.PERSON)), None)
    columns = []
    for each in profile.columns:
        advice = each.advice
        found = remedies(each.column, advice, person=person)
        columns.append(ColumnAdvice(each.name, advice.looks_like, Fitness.ADVISED, found))
    table = _on_table(columns, {each.name: each.column for each in profile.columns}, profile.n_rows)
    return AdviceReport(tuple(columns), tuple(table), profile.n_rows, profile.file.path if profile.file else None)


def _of_policy(policy: Policy, profile: Profile | None) -> AdviceReport:
    seen = {each.name: each for each in profile.columns} if profile else {}
    names = [*policy.columns, *(name for name in seen if policy.others == "keep" and name not in policy.columns)]
    persons = [*policy.columns_with(Role.PERSON), *(profile.with_role(Role.PERSON) if profile else ())]
    columns, described = [], {}
    for name in names:
        spec = policy.columns.get(name) or ColumnSpec(role=Role.KEEP)
        if profile and name in seen:
            column, own = seen[name].column, seen[name].advice
        else:
            column, own = _unseen(name, spec)
        advice = _under(own, spec.role)
        found = remedies(column, advice, person=next(iter(persons), None))
        described[name] = column
        columns.append(ColumnAdvice(name, advice.looks_like, _status(spec, column, own, found), found, _now(spec)))
    table = [*_on_policy(policy, profile, described)]
    file = profile.file.path if profile and profile.file else None
    return AdviceReport(tuple(columns), tuple(table), profile.n_rows if profile else None, file, has_policy=True)


def _unseen(name: str, spec: ColumnSpec) -> tuple[Column, Advice]:
    """A column of which only the name and what the policy says are known."""
    column = Column(name, spec.type or ColumnType.TEXT, n_rows=0, n_missing=0, n_distinct=0, sample=())
    detection = detect(column)
    if detection is None:
        return column, Advice(spec.role, "", "")
    match = detection.match
    return column, Advice(match.role, match.reason, match.looks_like, detection.detector)


def _under(own: Advice, asked: Role) -> Advice:
    """What a column is under a policy: what leads to people stays what it is, else the policy knows."""
    if is_identifying(own) or asked in (Role.KEEP, Role.DROP):
        return own
    return Advice(asked, own.reason, own.looks_like, own.detector, own.reading)


def _status(spec: ColumnSpec, column: Column, own: Advice, found: Sequence[Remedy]) -> Fitness:
    """How far what a policy does to a column is from what fits it."""
    kinds = {each.name for each in spec.transform}
    is_left_out = spec.role in HIDDEN and not kinds
    if is_left_out or any(each.family in HIDING for each in spec.transform):
        return Fitness.FINE
    if spec.role in HIDDEN or is_identifying(own):
        return Fitness.UNSAFE
    if any(remedy.role is spec.role and {remedy.kind} - {None} == kinds for remedy in found):
        return Fitness.FINE
    if spec.role in (Role.QUASI, Role.ITEMS) or kinds:
        return Fitness.FINE
    if spec.role in (Role.KEEP, Role.WEIGHT) and column.singles_out:
        return Fitness.UNSAFE
    return Fitness.BETTER


def _now(spec: ColumnSpec) -> str:
    kinds = ", ".join(each.name for each in spec.transform)
    return f"role: {spec.role}" + (f", transform: {kinds}" if kinds else "")


# The table -----------------------------------------------------------------------------------------------------------


def _on_table(columns: Sequence[ColumnAdvice], described: dict[str, Column], n_rows: int) -> Iterator[TableAdvice]:
    """What fits a table whose columns become what was advised."""
    quasi = [advice.name for advice in columns if advice.best.role is Role.QUASI]
    sensitive = [advice.name for advice in columns if advice.best.role is Role.SENSITIVE]
    goals = [*_k_goal(), *(goal for name in sensitive for goal in _goals_for(name, described[name]))]
    if quasi and not sensitive:
        yield _only_quasi(Fitness.ADVISED, (Change("goals", _k_goal()),))
    elif sensitive and not quasi:
        yield _only_sensitive(Fitness.ADVISED, (Change("goals", goals[1:]),))
    elif quasi:
        yield _quasi_and_sensitive(Fitness.ADVISED, (Change("goals", goals),))
        yield from _options(sensitive, described)
    if n_rows >= MANY_ROWS and any(advice.best.role in (Role.IDENTIFIER, Role.PERSON) for advice in columns):
        yield _speed()


def _on_policy(policy: Policy, profile: Profile | None, described: dict[str, Column]) -> Iterator[TableAdvice]:
    """What the goals and the rest of a policy leave open."""
    sensitive = policy.columns_with(Role.SENSITIVE)
    missing = [*_missing_goals(policy, sensitive, described)]
    first = len(policy.goals)
    changes = tuple(Change(f"goals.{first + number}", goal) for number, goal in enumerate(missing))
    status = Fitness.BETTER if changes else Fitness.FINE
    if policy.columns_with(Role.ITEMS):
        yield _of_items()
    elif not sensitive:
        yield _only_quasi(status, changes)
    else:
        yield _quasi_and_sensitive(status, changes)
        yield from _options(sensitive, described)
    found = profile.with_role(Role.PERSON) if profile else []
    if found and not policy.columns_with(Role.PERSON):
        why = f"'{found[0]}' repeats like a number of persons, and goals count its rows as if they were people"
        not_from = "rows that can be recognised as those of one person by what else they show"
        yield TableAdvice("persons", why, not_from, Fitness.UNSAFE, (Change(f"columns.{found[0]}.role", "person"),))
    if policy.others == "keep":
        why = "columns that the policy does not name are published as they are, also those that come later"
        yield TableAdvice(
            "unclassified", why, "what is named and has the wrong role", Fitness.UNSAFE, (Change("others", "drop"),)
        )
    if profile and profile.n_rows >= MANY_ROWS and policy.columns_with(Role.IDENTIFIER, Role.PERSON):
        yield _speed()


def _k_goal() -> list[dict[str, Any]]:
    return [{"model": "k-anonymity", "k": K}]


def _goals_for(name: str, column: Column | None) -> Iterator[dict[str, Any]]:
    """Goals of a sensitive column: diverse, and close to the table where its values are few enough to be so."""
    n_values = column.n_distinct if column and column.n_rows else None
    level = L if n_values is None else min(L, n_values)
    if level >= 2:
        yield {"model": "l-diversity", "l": level, "sensitive": name}
    if n_values is None or 1 < n_values <= MANY_VALUES:
        yield {"model": "t-closeness", "t": T, "sensitive": name}


def _missing_goals(policy: Policy, sensitive: Sequence[str], described: dict[str, Column]) -> Iterator[dict[str, Any]]:
    goal = Goal(tuple(policy.goals), counts_persons=bool(policy.columns_with(Role.PERSON)))
    if goal.min_size < 2:
        yield from _k_goal()
    protected = protected_columns(goal, sensitive)
    close = [model for model in goal.models if model.name in CLOSENESS]
    for name in sensitive:
        is_close = any(model.sensitive_columns is None or name in model.sensitive_columns for model in close)
        for wanted in _goals_for(name, described.get(name)):
            if is_close if wanted["model"] in CLOSENESS else name in protected:
                continue
            yield wanted


def _only_quasi(status: Fitness, changes: tuple[Change, ...]) -> TableAdvice:
    return TableAdvice(
        "only-quasi",
        f"nothing is sensitive, so it is enough that every record looks like others: k-anonymity, with k: {K} or more",
        "what all records of a class have in common, and columns that are sensitive after all",
        status,
        changes,
    )


def _only_sensitive(status: Fitness, changes: tuple[Change, ...]) -> TableAdvice:
    return TableAdvice(
        "only-sensitive",
        "nothing looks like something others know, so values have to be mixed: l-diversity, and t-closeness because "
        "different values may be similar; a policy needs a quasi-identifier, so give that role to what others may know",
        "columns that others know after all, which would single records out",
        status,
        changes,
    )


def _quasi_and_sensitive(status: Fitness, changes: tuple[Change, ...]) -> TableAdvice:
    return TableAdvice(
        "quasi-and-sensitive",
        "k-anonymity hides which record is whose, l-diversity what a class has in common, t-closeness what is similar "
        "or rare: together they close what each leaves open",
        "who knows sensitive values already, and other releases of the same people",
        status,
        changes,
    )


def _options(sensitive: Sequence[str], described: dict[str, Column]) -> Iterator[TableAdvice]:
    numbers = [name for name in sensitive if name in described and described[name].is_number]
    if numbers:
        yield TableAdvice(
            "quantitative",
            f"{', '.join(numbers)}: numbers may also be perturbed; k-anonymity comes first, because it holds for every "
            "record and noise for none",
            "outliers, and columns that are correlated with them",
            Fitness.OPTION,
        )
    yield TableAdvice(
        "faithful-copy",
        "where values must stay exact, each column is shuffled inside of groups, and only whose they are is lost",
        "columns that depend on each other and undo it; who is in the table is nearly seen",
        Fitness.OPTION,
        (Change("algorithm", {"kind": "permutation"}),),
    )


def _of_items() -> TableAdvice:
    return TableAdvice(
        "items",
        "every item may be known and may be learned, so any few of them must be in k sets: km-anonymity",
        "who knows more items of a set than the goal is about",
        Fitness.FINE,
    )


def _speed() -> TableAdvice:
    return TableAdvice(
        "speed",
        "the table is large: hmac or counter cost less than aes-siv and ff1, which encrypt every value",
        "nothing; it is about time",
        Fitness.OPTION,
    )
