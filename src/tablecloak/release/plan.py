"""From a policy and the columns of a table to a plan: what is coded, what is published, what must hold."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from tablecloak.algorithms.base import Algorithm, Publishes, TupleOrder
from tablecloak.algorithms.topdown.mondrian import Mondrian
from tablecloak.attacks.base import AttackResult
from tablecloak.data.domain import MakeHierarchy
from tablecloak.data.nominal_codes import are_codes
from tablecloak.data.table import ColumnType, Order, Role
from tablecloak.engines.base import Publication, QuasiColumn, SensitiveColumn, Table
from tablecloak.errors import DataError, IncompatibleChoice, MissingExtra, did_you_mean, require_columns
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.io.atomic import Outputs
from tablecloak.io.cells import canonical_texts
from tablecloak.io.notation import Notation
from tablecloak.io.places import Place
from tablecloak.io.sources import Source
from tablecloak.metrics.learning import is_installed
from tablecloak.models.base import Goal
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import DEFAULT_ALGORITHM, Style, Suppressed, default_algorithm
from tablecloak.registry import find
from tablecloak.rng import Secret
from tablecloak.stats.classes import Counted, Evidence
from tablecloak.stats.joint import JOINT_NAME
from tablecloak.stats.persons import HOLDING_NAME
from tablecloak.transforms.base import Stage, Transform
from tablecloak.values.amounts import most_of
from tablecloak.values.cell_grammar import format_value

if TYPE_CHECKING:
    from tablecloak.release.moments import MomentFacts

# The column that says how many people of the population are behind a record; it is only counted, never published.
POPULATION = "\0population"
PUBLISHED = (Role.QUASI, Role.SENSITIVE, Role.WEIGHT, Role.KEEP)
# Text of digits, of one length and with this many values or more, is masked digit by digit unless the policy says else.
MASK_FROM = 20
BINS = "bins"  # the algorithm of the style `analyst`
BY_VALUES = (
    "sensitive values decide who is in a class: the goal bounds what the release says of them, not what someone learns "
    "who runs the program again; m-confidentiality bounds both"
)


@dataclass(frozen=True, slots=True)
class MadeColumn:
    """A column as transforms made it, for people to read."""

    column: str
    kinds: tuple[str, ...]
    stage: Stage
    means: str  # for the goals
    key: str | None = None  # what the key of its pseudonyms is called
    warnings: tuple[str, ...] = ()
    afterwards: tuple[Callable[[], None], ...] = field(default=(), repr=False)  # what is kept of it once it is released

    def to_dict(self) -> dict[str, Any]:
        """An entry of `transforms` in `--json`."""
        return {
            "column": self.column,
            "kinds": list(self.kinds),
            "stage": str(self.stage),
            "means": self.means,
            **({"key": self.key} if self.key else {}),
            **({"warnings": list(self.warnings)} if self.warnings else {}),
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does, settled before any search."""

    policy: Policy
    goal: Goal
    algorithm: Algorithm
    publication: Publication
    read_columns: tuple[str, ...]  # columns to read, in the order of the input
    is_reported: bool = False  # a report may be asked for, which speaks of every sensitive attribute
    secret: Secret = field(default_factory=Secret.fresh)  # hides people; all of a run derives from this one
    source: Source | None = None  # where the rows come from, opened already; None: a frame
    changed: Mapping[str, Sequence[Transform]] = field(default_factory=dict)  # published columns that are not as read
    made: tuple[MadeColumn, ...] = ()  # the same, once it is known what became of them
    attacked: tuple[AttackResult, ...] = ()  # what attackers reach on them, where a run or a check asked for it
    moments: MomentFacts | None = None  # what became of their means, deviations and correlations, where a run asked

    @property
    def quasi(self) -> list[str]:
        """Quasi-identifiers in the order of the policy."""
        return self.policy.columns_with(Role.QUASI)

    @property
    def sensitive(self) -> list[str]:
        """Sensitive attributes in the order of the policy."""
        return self.policy.columns_with(Role.SENSITIVE)

    @property
    def counted(self) -> list[str]:
        """The sensitive attributes that goal, algorithm or report look at: counting others would only cost time."""
        # what a goal links to persons may turn out to be a sensitive attribute
        is_asked = self.is_reported or self.goal.evidence & (Evidence.SENSITIVE | Evidence.PERSONS)
        return self.sensitive if is_asked or self.algorithm.needs_sensitive else []

    @property
    def weights(self) -> list[str]:
        """The column of weights of a survey, where a goal counts the people that records stand for; else none."""
        return self.policy.columns_with(Role.WEIGHT)[:1] if Evidence.WEIGHTS in self.goal.evidence else []

    @property
    def categorical(self) -> tuple[str, ...]:
        """Columns of which few values are expected."""
        return (*self.quasi, *self.sensitive)

    @property
    def coded(self) -> tuple[str, ...]:
        """Columns that live on as codes once they are coded."""
        return () if self.algorithm.publishes.is_bucketing else tuple(self.quasi)

    @property
    def itemised(self) -> tuple[str, ...]:
        """Columns whose cells are sets of items."""
        return ()

    @property
    def coded_by(self) -> tuple[Hashable, ...]:
        """What codes depend on beside rows, algorithm and evidence: plans that agree in it share a coding."""
        return ()

    @property
    def needs_memory(self) -> bool:
        """Methods that move rows about, guards and a population need all rows at hand."""
        is_moved = self.algorithm.publishes.is_bucketing or bool(self.judged_before)
        return is_moved or bool(self.goal.evidence & (Evidence.POPULATION | Evidence.GUARDS))

    def stage_of(self, column: str) -> Stage:
        """When a column is changed: what a goal looks at is judged as it was, unless the change only makes it coarser.

        Quasi-identifiers are changed before the search, for classes are formed of what is published.
        """
        is_late = self._is_late(column)
        is_judged = column in (*self.counted, *self.weights, self.person)
        return Stage.PUBLISHING if is_late and is_judged else Stage.BEFORE

    def keep_what_was_made(self) -> None:
        """Write what transforms keep for later, such as tokens in a vault; only a release that holds comes so far."""
        for made in self.made:
            for keep in made.afterwards:
                keep()

    def told_stage(self, column: str) -> Stage:
        """The same as people would say it: what no goal looks at is changed at publishing, whenever that is done."""
        return Stage.PUBLISHING if self._is_late(column) and column not in self.quasi else Stage.BEFORE

    def _is_late(self, column: str) -> bool:
        # coarser weights may be larger ones, which would promise more people than there are
        return column in self.weights or any(each.stage is Stage.PUBLISHING for each in self.changed[column])

    def means(self, column: str) -> str:
        """What the change of a column means for the goals."""
        if column not in (*self.quasi, *self.sensitive, *self.weights, self.person):
            return "no goal looks at it"
        if self.stage_of(column) is Stage.PUBLISHING:
            return "goals judge the values as they were"
        is_unasked = column in self.sensitive and column not in self.counted
        return "no goal looks at it" if is_unasked else "goals judge what is published"

    @property
    def changed_early(self) -> tuple[str, ...]:
        """Columns that are changed before the search: whatever comes behind sees what is published of them."""
        return tuple(name for name in self.changed if self.stage_of(name) is Stage.BEFORE)

    @property
    def judged_before(self) -> tuple[str, ...]:
        """Columns that goals judge as they were, and that are published as something else."""
        return tuple(name for name in self.changed if self.stage_of(name) is Stage.PUBLISHING)

    @property
    def is_blind(self) -> bool:
        """Sensitive values did not decide who is with whom, or only together with the secret.

        Where they did, a class tells by what it is which values it has: whoever runs the program again on all that
        people may have rules out what would have given other classes.
        """
        algorithm = self.algorithm
        if algorithm.publishes.is_bucketing:  # groups are drawn; a published variant follows the order of rows
            return algorithm.order is TupleOrder.SECRET
        return not _seeing(self.policy, self.goal, algorithm)

    @property
    def notes(self) -> tuple[str, ...]:
        """What enforcing the goal with this algorithm means beyond the usual."""
        if self.is_blind or Evidence.SENSITIVE not in self.goal.evidence:
            return self.goal.notes
        return (*self.goal.notes, BY_VALUES)

    @property
    def stars_are_suppressed(self) -> bool:
        return self.publication.keeps_suppressed

    def quasi_columns(self, table: Table) -> list[QuasiColumn]:
        """How each quasi-identifier of a table is coded."""
        specs = [self.policy.columns[n] for n in self.quasi]
        # whoever says that a column holds whole numbers wants intervals of them
        return [
            QuasiColumn(n, self._maker(n, table), spec.weight, may_be_codes=spec.type is None)
            for n, spec in zip(self.quasi, specs, strict=True)
        ]

    def sensitive_columns(self, table: Table) -> list[SensitiveColumn]:
        """How each sensitive attribute that the goal looks at is counted, and persons if the table names them."""
        columns = [
            SensitiveColumn(n, self._maker(n, table) if self.policy.columns[n].hierarchy is not None else None)
            for n in self.counted
        ]
        if Evidence.JOINT in self.goal.evidence and len(columns) > 1:
            columns.append(SensitiveColumn(JOINT_NAME, kind=Counted.JOINT, joins=tuple(self.counted)))
        person = self.person
        if person is not None and person in table.types:
            attributes = [c.name for c in columns if not c.joins]
            columns.append(SensitiveColumn(person, is_person=True))
            if attributes and self.goal.evidence & (Evidence.SENSITIVE | Evidence.PERSONS):
                columns.append(SensitiveColumn(HOLDING_NAME, kind=Counted.HOLDING, joins=(person, *attributes)))
        if POPULATION in table.types:
            columns.append(SensitiveColumn(POPULATION, kind=Counted.POPULATION))
        columns += [SensitiveColumn(n, kind=Counted.WEIGHT) for n in self.weights if n in table.types]
        return [*columns, *self.guard_columns(table)]

    def guard_columns(self, table: Table) -> list[SensitiveColumn]:
        """The columns in which people say what must not be learned of them, where the table has them."""
        return [SensitiveColumn(n, kind=Counted.GUARD) for n in self.goal.guard_columns if n in table.types]

    def most_left_out(self, n_rows: int) -> int:
        """How many of so many records may be left out; Datafly without a limit takes as many as a class needs."""
        limit = self.algorithm.suppression_limit
        return min(self.goal.min_size, n_rows - 1) if limit is None else most_of(n_rows, limit)

    @property
    def person(self) -> str | None:
        """The key of persons, who may have several rows."""
        return next(iter(self.policy.columns_with(Role.PERSON)), None)

    @property
    def target(self) -> str | None:
        """The column that a report learns to predict: as asked for, or the target of the algorithm."""
        policy_target = self.policy.output.target if self.policy.output else None
        return policy_target or (self.algorithm.target if is_installed() else None)

    def _maker(self, column: str, table: Table) -> MakeHierarchy:
        chosen = self.policy.hierarchy_of(column)
        column_type = table.types[column]
        may_be_codes = self.policy.columns[column].type is None

        def make(distinct: pl.Series) -> Hierarchy | None:
            if chosen is None:
                masked = _masked_codes(distinct, column_type)
                if masked or not self.algorithm.needs_hierarchies:
                    return masked
                is_line = column_type.is_ordered and not (may_be_codes and are_codes(distinct, column_type))
                return _automatic(distinct, column_type, is_line=is_line)
            notation = self.source.notations.get(column) if self.source else None
            return _hierarchy(chosen, distinct, column_type, notation)

        return make


def _hierarchy(chosen: Any, distinct: pl.Series, column_type: ColumnType, notation: Notation | None) -> Hierarchy:
    from tablecloak.hierarchy.hierarchy_files import read_hierarchy
    from tablecloak.hierarchy.kinds.base import build

    if isinstance(chosen, Path):
        return read_hierarchy(chosen, as_column=lambda texts: canonical_texts(texts, column_type, notation))
    return build(chosen, distinct.to_list(), column_type.value)


def _masked_codes(distinct: pl.Series, column_type: ColumnType) -> Hierarchy | None:
    """Codes such as postcodes are masked from the right; other text stays a set of values."""
    if column_type is not ColumnType.TEXT or len(distinct) < MASK_FROM:
        return None
    texts = distinct.cast(pl.String)
    if not texts.str.contains(r"^[0-9]{3,12}$").all() or texts.str.len_chars().n_unique() != 1:
        return None
    from tablecloak.hierarchy.kinds.base import build
    from tablecloak.hierarchy.kinds.mask import MaskSpec

    return build(MaskSpec(), texts.to_list(), column_type.value)


def _automatic(distinct: pl.Series, column_type: ColumnType, *, is_line: bool) -> Hierarchy:
    """A hierarchy for a method that cannot do without: ranges of numbers and dates, one level above other values."""
    from tablecloak.hierarchy.kinds.base import build
    from tablecloak.hierarchy.kinds.order import OrderSpec

    values = distinct.to_list()
    if is_line:
        return build(OrderSpec(fanout=5), values, column_type.value)
    return Hierarchy.from_paths([[str(format_value(value)), "*"] for value in sorted(values)], kind="order")


def add_target(outputs: Outputs, policy: Policy) -> tuple[Place, Place]:
    """The output that a policy names, and the temporary place where it is written until it holds."""
    place = policy.output_place
    assert place is not None
    return place, outputs.add_place(place, is_folder=bool(policy.output and policy.output.is_folder))


def source_of(policy: Policy) -> Source:
    """The input of a policy as a source."""
    place = policy.input_place
    if policy.input is None or place is None:
        raise IncompatibleChoice("the policy names no input", hint="add `input: FILE` to it, or use --input FILE")
    spec = policy.input
    return Source.of(
        place,
        format=spec.format,
        delimiter=spec.delimiter,
        encoding=spec.encoding,
        header=spec.header,
        compression=spec.compression,
        quote=spec.quote,
        repair=spec.repair,
        types={name: c.type for name, c in policy.columns.items() if c.type is not None},
        notations={name: c.notation for name, c in policy.columns.items() if c.notation is not None},
        as_written=frozenset(name for name, c in policy.columns.items() if c.is_text),
        expected=frozenset(policy.columns),
    )


def as_policy_says(source: Source, policy: Policy) -> Source:
    """A frame, and what a policy says about how its texts are written; other columns have their types already."""
    assert source.frame is not None
    schema = source.frame.schema
    specs = {name: spec for name, spec in policy.columns.items() if name in schema}
    texts = [name for name, spec in specs.items() if spec.is_text or spec.type is ColumnType.TEXT]
    types = {
        name: spec.type for name, spec in specs.items()
        if spec.type not in (None, ColumnType.TEXT)
        and (isinstance(schema[name], pl.String) or spec.notation or spec.type is ColumnType.INTEGER)
    }  # fmt: skip
    return replace(
        source,
        types=types,
        notations={name: spec.notation for name, spec in specs.items() if spec.notation is not None},
        as_written=frozenset(texts),
        expected=frozenset(specs),
    )


def side_output_path(policy: Policy) -> Path | None:
    """The file of the sensitive columns that a policy asks for, where they have a table of their own."""
    place = policy.output_place
    if policy.algorithm.publishes is not Publishes.SEPARATED or place is None:
        return None
    if not isinstance(place, Path) or (policy.output and policy.output.is_folder):
        raise IncompatibleChoice(f"{policy.algorithm.name} writes two files", hint="name one file as output")
    return side_path(place)


def side_path(path: Path) -> Path:
    """The file beside a release that holds its sensitive columns: `release.csv` has `release.st.csv`."""
    suffixes = path.suffixes[-2:] if path.suffix in (".gz", ".zst") else path.suffixes[-1:]
    suffix = "".join(suffixes)
    return path.with_name(f"{path.name.removesuffix(suffix)}.st{suffix}")


def make_plan(
    policy: Policy,
    columns: Sequence[str],
    *,
    location: str | None = None,
    is_reported: bool | None = None,
    secret: Secret | None = None,
) -> Plan:
    """Settle what happens to each column; fails here if the policy cannot fit the table.

    Args:
        is_reported: whether a report may be asked for; None: if the policy names one.
        secret: that of the policy, where something will be published; None: a fresh one.
    """
    refuse_unknown_columns(policy, columns, location)
    _refuse_items(policy)
    _refuse_two_persons(policy)
    _refuse_two_weights(policy)
    goal = Goal(tuple(policy.goals), counts_persons=bool(policy.columns_with(Role.PERSON)))
    # whether persons have several rows is only known from the rows: `settle_persons` asks again
    algorithm = _algorithm_for(policy, replace(goal, counts_persons=False))
    _refuse_groups_of_published_values(policy, algorithm)
    starred = starred_of(policy)
    changed = changed_of(policy)
    made = [name for name, chain in changed.items() if name not in columns and chain[0].makes_column]
    columns = [*columns, *made]
    shown = {*policy.columns_with(*PUBLISHED), *starred, *replaced_of(policy)}
    if policy.others == "keep":
        shown |= {c for c in columns if c not in policy.columns}
    _refuse_leaks(policy, goal, algorithm)
    _refuse_target(policy)
    read = shown.difference(starred) | set(policy.columns_with(Role.PERSON)) | set(goal.guard_columns)
    read |= needed_by(changed, policy)
    output = policy.output
    return Plan(
        policy=policy,
        goal=goal,
        algorithm=algorithm,
        publication=Publication(
            columns=tuple(c for c in columns if c in shown),
            starred=tuple(starred),
            keeps_suppressed=bool(output and output.suppressed is Suppressed.STAR),
            labelled=tuple(c for c in columns if c in policy.columns_with(Role.QUASI)),
            order=output.order if output else Order.CONTENT,
        ),
        read_columns=tuple(c for c in columns if c in read and c not in made),
        changed=changed,
        is_reported=policy.report_path is not None if is_reported is None else is_reported,
        secret=secret or Secret.fresh(),
    )


def _algorithm_for(policy: Policy, goal: Goal) -> Algorithm:
    """The algorithm of the policy; where it names none and the usual one cannot enforce the goal, one that can."""
    if policy.output is not None and policy.output.style is Style.ANALYST:
        return _with_few_labels(policy)
    return _detailed(policy, goal)


def _with_few_labels(policy: Policy) -> Algorithm:
    """The algorithm of the style `analyst`."""
    own = policy.algorithm
    if own.name not in (BINS, DEFAULT_ALGORITHM):
        raise IncompatibleChoice(
            f"output.style: analyst finds the labels of columns by {BINS}, and {own.name} was asked for",
            hint=f"leave algorithm out, or output.style: detailed with {own.name}",
        )
    chosen = own if own.name == BINS else find("algorithms", BINS)(suppression_limit=own.suppression_limit or 0.0)
    return cast(Algorithm, chosen)


def detailed_algorithm(plan: Plan) -> Algorithm | None:
    """What would make the same release in the style `detailed`; None where that is its style."""
    if plan.policy.output is None or plan.policy.output.style is Style.DETAILED:
        return None
    usual = default_algorithm() if plan.policy.algorithm.name == BINS else plan.policy.algorithm
    return cast(Algorithm, Mondrian() if usual.refuses(plan.goal) else usual)


def _detailed(policy: Policy, goal: Goal) -> Algorithm:
    reason = policy.algorithm.refuses(goal)
    if reason is None:
        return cast(Algorithm, policy.algorithm)
    other = cast(Algorithm, Mondrian())
    if "algorithm" not in policy.model_fields_set and other.refuses(goal) is None:
        return other
    raise IncompatibleChoice(f"{policy.algorithm.name} cannot enforce this goal: {reason}", hint="another algorithm")


def starred_of(policy: Policy) -> list[str]:
    """Identifiers that are published as `*`."""
    return [n for n, column in policy.columns.items() if column.is_starred]


def changed_of(policy: Policy) -> dict[str, Sequence[Transform]]:
    """Published columns whose cells transforms make; none is read of those that are starred or left out."""
    return {n: c.transform for n, c in policy.columns.items() if c.transform and not c.is_left_out and not c.is_starred}


def needed_by(changed: Mapping[str, Sequence[Transform]], policy: Policy) -> set[str]:
    """Other columns that transforms read."""
    person = next(iter(policy.columns_with(Role.PERSON)), None)
    return {name for chain in changed.values() for each in chain for name in each.needs(person)}


def replaced_of(policy: Policy) -> list[str]:
    """Columns that no release shows as they are, and that are published as what transforms make of them."""
    hidden = policy.columns_with(Role.IDENTIFIER, Role.PERSON)
    return [n for n in hidden if policy.columns[n].transform and not policy.columns[n].is_left_out]


def _refuse_leaks(policy: Policy, goal: Goal, algorithm: Algorithm) -> None:
    """Where classes must not depend on sensitive values, neither another model nor the search may look at them."""
    blind = next((m.name for m in goal.models if m.asks_of_search), None)
    seeing = _seeing(policy, goal, algorithm)
    if blind and seeing:
        raise IncompatibleChoice(
            f"{blind} forms classes without looking at sensitive values, as {', '.join(seeing)} does",
            hint=f"ask for one of them; a larger k makes {blind} easier to reach",
        )


def _seeing(policy: Policy, goal: Goal, algorithm: Algorithm) -> list[str]:
    """Models, and the algorithm, that look at sensitive values while classes are formed."""
    seeing = [m.name for m in goal.models if Evidence.SENSITIVE in m.in_search.evidence]
    if algorithm.sees_sensitive(policy.columns_with(Role.QUASI)):
        seeing.append(algorithm.name)
    return seeing


def _refuse_target(policy: Policy) -> None:
    """A target must be coded, and there must be something to learn with."""
    target = policy.output.target if policy.output else None
    if target is None:
        return
    candidates = policy.columns_with(Role.QUASI, Role.SENSITIVE)
    if target not in candidates:
        hint = did_you_mean(target, candidates) or f"it may be: {', '.join(candidates)}"
        raise IncompatibleChoice(f"output.target '{target}' is neither quasi-identifier nor sensitive", hint=hint)
    if not is_installed():
        raise MissingExtra("learning needs scikit-learn", hint="pip install 'tablecloak[ml]', or no output.target")


def refuse_unknown_columns(policy: Policy, columns: Sequence[str], location: str | None) -> None:
    """Raise DataError for a column that a policy names and a table does not have."""
    names = set(columns)
    asked = [n for n, column in policy.columns.items() if column.role is not Role.DROP]
    made = [n for n in asked if policy.columns[n].transform and policy.columns[n].transform[0].makes_column]
    require_columns((n for n in asked if n not in made), columns, location)
    for accepted in policy.accepted:
        column_name = accepted.column
        if (
            column_name is not None
            and policy.others == "keep"
            and column_name not in names
            and column_name not in policy.columns
        ):
            message = f"accepted names the column '{column_name}', and there is none"
            raise DataError(message, hint=did_you_mean(column_name, columns), location=location)


def _refuse_items(policy: Policy) -> None:
    items = policy.columns_with(Role.ITEMS)
    if items:
        raise IncompatibleChoice(
            f"column '{items[0]}' has the role items, and this command does not work on sets of items",
            hint="run, check and verify do; here, give it the role drop, or sensitive if each cell is one value",
        )
    of_items = [goal.name for goal in policy.goals if Evidence.ITEMS in goal.evidence]
    if of_items:
        raise IncompatibleChoice(
            f"{of_items[0]} judges sets of items, and no column holds any", hint="role: items, or another goal"
        )
    if not policy.columns_with(Role.QUASI):
        raise IncompatibleChoice("no column has the role quasi", hint="give role: quasi to what others may know")


def _refuse_groups_of_published_values(policy: Policy, algorithm: Algorithm) -> None:
    column = algorithm.group_column
    if column in policy.columns_with(Role.QUASI, Role.SENSITIVE):
        raise IncompatibleChoice(
            f"the column '{column}' names the groups, and their numbers are published instead of it",
            hint=f"columns.{column}.role: keep",
        )


def _refuse_two_persons(policy: Policy) -> None:
    persons = policy.columns_with(Role.PERSON)
    if len(persons) > 1:
        raise IncompatibleChoice(
            f"{len(persons)} columns have the role person", hint="keep the one that tells people apart best"
        )


def _refuse_two_weights(policy: Policy) -> None:
    weights = policy.columns_with(Role.WEIGHT)
    asking = next((m.name for m in policy.goals if Evidence.WEIGHTS in m.evidence), None)
    if asking and len(weights) > 1:
        raise IncompatibleChoice(
            f"{len(weights)} columns have the role weight, and {asking} asks what each record stands for",
            hint="leave it to the weight of the final sample; role: keep for the others",
        )


def texts_made(plan: Plan) -> dict[str, ColumnType]:
    """Columns that transforms make texts of, which may look like something else."""
    made = {name: chain[-1].result(ColumnType.TEXT) for name, chain in plan.changed.items()}
    always = {name: {chain[-1].result(t) for t in chain[-1].types} for name, chain in plan.changed.items()}
    return {name: type_ for name, type_ in made.items() if always[name] == {ColumnType.TEXT}}
