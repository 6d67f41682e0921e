"""What a dataset looks like, as which kind it is read, and edits of its columns' types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tablecloak.data.table import Role
from tablecloak.engines.choose import Choice, Demand, choose
from tablecloak.errors import CloakError, DataError
from tablecloak.policy.schema import Policy
from tablecloak.server.state import ServerState, StoredAnswer, key_of
from tablecloak.server.steps.load import task as load_task
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.store import Dataset, Project

# Name, what it is, and what happens to it.
KINDS: Mapping[str, tuple[str, str]] = {
    "table": ("Simple table", "each line is a record, each cell one value"),
    "sets": ("Sets of values", "each line is a set of items, such as a shopping basket"),
    "table-with-sets": (
        "Table with a set-valued attribute",
        "the cells of one column hold sets; columns that others may know are left out",
    ),
    "disk": ("Disk based simple table", "a table too large for memory: clustered and counted on disk"),
}
# How dates are written, beside ISO 8601, and what that looks like.
DATES = {
    "dd.mm.yyyy": "31.12.1990",
    "dd/mm/yyyy": "31/12/1990",
    "mm/dd/yyyy": "12/31/1990",
    "dd-mm-yyyy": "31-12-1990",
    "yyyy/mm/dd": "1990/12/31",
    "yyyymmdd": "19901231",
    "dd.mm.yy": "31.12.90",
    "dd/mm/yy": "31/12/90",
    "mm/dd/yy": "12/31/90",
    "d mmmm yyyy": "31 December 1990",
}
NOTATION = ("format", "last_year", "decimal")  # keys of a column that its form sets
DECIMALS = {".": "decimal point", ",": "decimal comma"}
ANY_KIND = ("auto", *KINDS)
TEXT = (".csv", ".tsv", ".txt", ".tab", ".dat", ".sets", "")
DISK = {"kind": "disk-clustering"}
_GOAL = {"model": "km-anonymity", "k": 5, "m": 2}
_SEARCH = {"kind": "apriori", "suppression_limit": 0.01}


def dataset_profile(
    state: ServerState, dataset: Dataset, options: Mapping[str, Any] | None = None, *, preset: str = "standard"
) -> load_task.ProfileAnswer:
    """What a dataset looks like when it is read with these options, and a policy to start from."""
    options = options or {}
    key = key_of("profile", repr(sorted(options.items())), preset)
    request = load_task.ProfileRequest(_path(state, dataset), options, preset, state.means)
    return state.ask_once(StoredAnswer(load_task.ProfileAnswer, dataset.id, key), load_task.profile, request)


def reading_of(state: ServerState, dataset: Dataset) -> dict[str, Any]:
    """How a dataset is read at first: as it is written, or with its header repaired where it cannot be read else."""
    request = load_task.FileRequest(_path(state, dataset))
    return dict(state.ask(load_task.needed_repair, request))


def project_profile(state: ServerState, project: Project) -> load_task.ProfileAnswer:
    """What the dataset looks like as the policy reads it."""
    dataset = state.store.dataset(project.dataset)
    policy = policy_service.policy_of(state, project)
    assert policy.input is not None
    return dataset_profile(state, dataset, policy.input.model_dump(exclude_defaults=True, exclude={"path"}))


def reload(
    state: ServerState,
    project: Project,
    options: Mapping[str, Any],
    *,
    version: int,
    preset: str = "standard",
    note: str = "read the file in another way",
) -> Project:
    """Read the dataset in another way and start the policy afresh, because its columns may be others now."""
    text = starting_text(state, state.store.dataset(project.dataset), options, preset)
    return _written_afresh(state, project, text, version=version, note=note)


def _written_afresh(state: ServerState, project: Project, text: str, *, version: int, note: str) -> Project:
    """Replace the policy by one that nobody has looked at yet."""
    project = policy_service.write(state, project, text, version=version, note=note)
    state.store.forget_looks(project.id, "roles", "hierarchies", "goals")
    return project


def starting_text(
    state: ServerState, dataset: Dataset, options: Mapping[str, Any] | None = None, preset: str = "standard"
) -> str:
    """The policy that a dataset starts with when it is read with these options."""
    profile = dataset_profile(state, dataset, options, preset=preset)
    return policy_service.edited(profile.policy, policy_service.set_input(dataset.file, options or {}))


@dataclass(frozen=True, slots=True)
class PageNumbers:
    """Where a page of rows is among all of them."""

    page: int
    pages: int
    total: int  # rows
    first: int  # row of the page, from 1
    last: int

    @classmethod
    def of(cls, page: int, n_rows: int, total: int) -> PageNumbers:
        """The page of so many rows each that comes nearest to the one that was asked for."""
        pages = max(1, -(-total // n_rows))
        page = min(max(1, page), pages)
        return cls(page, pages, total, (page - 1) * n_rows + 1, min(total, page * n_rows))

    @property
    def offset(self) -> int:
        return self.first - 1


@dataclass(frozen=True, slots=True)
class TablePage:
    """One page of the dataset."""

    numbers: PageNumbers
    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...] = ()
    hidden: int = 0  # rows that are there and not shown


def page_of(state: ServerState, project: Project, page: int, n_rows: int, *, values: bool) -> TablePage:
    """One page of the dataset; without `values` only where the pages are."""
    profile = project_profile(state, project)
    numbers = PageNumbers.of(page, n_rows, profile.rows)
    if not values:
        names = tuple(column.name for column in profile.columns)
        return TablePage(numbers, names, hidden=min(n_rows, numbers.total))
    shown = state.ask(load_task.rows, load_task.RowsRequest(state.table_of(project), numbers.offset, n_rows))
    return TablePage(numbers, shown.columns, shown.rows)


def engine_of(state: ServerState, profile: load_task.ProfileAnswer) -> Choice:
    """What will do the work on a table, and why."""
    return choose(Demand(state.settings.engine, state.settings.memory), profile.memory_bytes)


def lines_of(state: ServerState, project: Project) -> tuple[str, ...]:
    """The first lines of the file as they are written; none if it is not text."""
    dataset = state.store.dataset(project.dataset)
    return state.ask(load_task.first_lines, load_task.FileRequest(_path(state, dataset))).lines


def columns_edit(form: Mapping[str, str], read: set[str]) -> policy_service.Change:
    """Types as chosen; a column that is not read gets the role drop, one that is read again the role keep."""

    def change(document: policy_service.Document) -> None:
        for name in list(document["columns"]):
            if f"type:{name}" not in form:
                continue
            written = _notation(form, name)
            type_ = None if written else form[f"type:{name}"] or None  # how cells are written says what they are
            for key, value in {"type": type_, **dict.fromkeys(NOTATION), **written}.items():
                if key in ("type", *written) or f"format:{name}" in form or f"decimal:{name}" in form:
                    policy_service.set_column(name, key, value)(document)
            role = document["columns"][name]["role"]
            if written and role == Role.DROP:  # it was left out because nobody knew how to read it
                policy_service.set_role(name, "quasi")(document)
            elif name not in read and role != Role.DROP:
                policy_service.set_role(name, "drop")(document)
            elif name in read and role == Role.DROP:
                policy_service.set_role(name, "keep")(document)

    return change


def _notation(form: Mapping[str, str], name: str) -> dict[str, Any]:
    """What a form says of how a column is written; nothing where that is found out."""
    written: dict[str, Any] = {key: form[f"{key}:{name}"] for key in ("format", "decimal") if form.get(f"{key}:{name}")}
    if written.get("format", "").endswith("yy") and not written["format"].endswith("yyyy"):
        written["last_year"] = datetime.now(UTC).year
    return written


def change_columns(
    state: ServerState, project: Project, form: Mapping[str, str], read: set[str], *, version: int
) -> Project:
    """Types and forms of dates as chosen; refused where a cell cannot be read so."""
    text = policy_service.edited(project.policy, columns_edit(form, read))
    if _readings(text) != _readings(project.policy):
        table = replace(state.table_of(project), policy=text)
        state.ask(load_task.rows, load_task.RowsRequest(table, 0, 1))
    return policy_service.write(state, project, text, version=version, note="types and columns")


def _readings(text: str) -> dict[str, tuple[Any, ...]]:
    """How the columns of a policy are read."""
    columns = YAML(typ="safe").load(text)["columns"]
    keys = ("type", *NOTATION)
    return {name: tuple(c.get(key) for key in keys) for name, c in columns.items() if isinstance(c, Mapping)}


def kind_of(policy: Policy) -> str:
    """The type that a policy reads its dataset as."""
    if policy.input and policy.input.format == "sets":
        return "sets"
    if policy.columns_with(Role.ITEMS):
        return "table-with-sets"
    return "disk" if policy.algorithm.name == DISK["kind"] else "table"


def looks_like_sets(state: ServerState, dataset: Dataset) -> bool:
    """Whether the lines of a dataset look like sets of items."""
    if Path(dataset.file).suffix.lower() not in TEXT:
        return False
    try:
        return state.ask(load_task.file_of_sets, load_task.FileRequest(_path(state, dataset))).looks_like_sets
    except CloakError:
        return False


def _path(state: ServerState, dataset: Dataset) -> Path:
    return state.files.dataset(dataset.id) / dataset.file


def set_kind(state: ServerState, project: Project, kind: str, form: Mapping[str, str], *, version: int) -> Project:
    """Read the dataset of a project as another type; its policy starts afresh."""
    dataset = state.store.dataset(project.dataset)
    if kind == "sets":
        text = text_of_sets(state, dataset, form)
        return _written_afresh(state, project, text, version=version, note="sets of values")
    if kind == "table-with-sets":
        return _with_sets(state, project, form, version=version)
    if kind not in KINDS:
        raise DataError("there is no such type of dataset", hint=", ".join(KINDS))
    text = starting_text(state, dataset)
    if kind == "disk":
        text = policy_service.edited(text, policy_service.set_algorithm(DISK))
    return _written_afresh(state, project, text, version=version, note=KINDS[kind][0].lower())


def text_of_sets(state: ServerState, dataset: Dataset, form: Mapping[str, str]) -> str:
    """A policy on a file of sets."""
    sets = state.ask(load_task.file_of_sets, load_task.FileRequest(_path(state, dataset)))
    delimiter = _mark(form.get("delimiter", "")) or sets.delimiter

    def change(document: policy_service.Document) -> None:
        policy_service.set_input(dataset.file, {"format": "sets", "delimiter": delimiter})(document)
        document["columns"]["items"] = policy_service.flow({"role": "items"})
        policy_service.add_goal(_GOAL)(document)
        policy_service.set_algorithm(_SEARCH)(document)

    return policy_service.edited("version: 1\ninput: x\ncolumns: {}\ngoals: []\n", change)


def _with_sets(state: ServerState, project: Project, form: Mapping[str, str], *, version: int) -> Project:
    """The policy with one column as sets; what was a quasi-identifier is left out."""
    dataset = state.store.dataset(project.dataset)
    column, separator = form.get("column", ""), _mark(form.get("separator", ""))
    if not column:
        guesses = state.ask(load_task.columns_of_sets, load_task.FileRequest(_path(state, dataset)))
        if not guesses:
            raise DataError(
                "no column looks as if its cells held sets", hint="choose the column and what separates its items"
            )
        column, separator = guesses[0].name, guesses[0].separator
    names = [c.name for c in dataset_profile(state, dataset).columns]
    if column not in names:
        raise DataError("there is no such column", hint=f"it has: {', '.join(names[:20])}")

    def change(document: policy_service.Document) -> None:
        for name in list(document["columns"]):
            policy_service.set_role(name, _role_beside_sets(document, name))(document)
        policy_service.set_role(column, "items")(document)
        document["columns"][column] = policy_service.flow({"role": "items", "separator": separator or ";"})
        document["goals"].clear()
        policy_service.add_goal(_GOAL)(document)
        policy_service.set_algorithm(_SEARCH)(document)

    text = policy_service.edited(starting_text(state, dataset), change)
    return _written_afresh(state, project, text, version=version, note=f"sets in {column}")


def left_out_beside_sets(policy: Policy, profile: load_task.ProfileAnswer) -> list[str]:
    """Columns that are left out only because a column of sets stands beside them: nobody should have to find out."""
    if kind_of(policy) != "table-with-sets":
        return []
    published = {name for name, column in policy.columns.items() if column.role is not Role.DROP}
    return [c.name for c in profile.columns if c.name not in published and c.role in (Role.QUASI, Role.PERSON)]


def _role_beside_sets(document: policy_service.Document, name: str) -> str:
    column = document["columns"][name]
    role = str(column["role"] if isinstance(column, Mapping) else column)
    return "drop" if role in (Role.QUASI, Role.PERSON) else role


@dataclass(frozen=True, slots=True)
class KindForm:
    """What a form about the kind of a dataset shows."""

    kind: str
    column: str | None  # that holds sets
    separator: str
    delimiter: str
    columns: tuple[str, ...]  # that could hold sets


def kind_form(policy: Policy, profile: load_task.ProfileAnswer) -> KindForm:
    """What a form about the type shows: the type now, and columns that could hold sets."""
    column = next(iter(policy.columns_with(Role.ITEMS)), None)
    separator = policy.columns[column].separator if column else None
    delimiter = (policy.input.delimiter if policy.input else None) or ""
    return KindForm(
        kind_of(policy),
        column,
        {"\t": "tab", " ": "space"}.get(separator or "", separator or ""),
        {"\t": "tab", " ": "space"}.get(delimiter, delimiter),
        tuple(c.name for c in profile.columns),
    )


def _mark(written: str) -> str:
    """What a form calls a mark, as the mark itself."""
    return {"tab": "\t", "space": " "}.get(written, written)
