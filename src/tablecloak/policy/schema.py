"""The policy: what a table's columns mean, what must hold, how to get there and where the result goes.

A policy is a frozen value. Making one checks everything that can be checked without the data and raises
`InvalidPolicyError` with every problem found.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails

from tablecloak import registry
from tablecloak.data.table import ColumnType, Role
from tablecloak.errors import PolicyError, did_you_mean
from tablecloak.hierarchy.build import HierarchySpec
from tablecloak.io.places import Place, database_table, is_uri, place_of
from tablecloak.policy.losses import refused_loss
from tablecloak.policy.problems import InvalidPolicyError, fault, invalid, problems_of, relabel
from tablecloak.policy.tagged import Tagged
from tablecloak.stats.classes import Needs

__all__ = [
    "DEFAULT_ALGORITHM",
    "ColumnSpec",
    "InputSpec",
    "Missing",
    "OutputSpec",
    "Policy",
    "PopulationSpec",
    "Suppressed",
    "Transform",
    "hierarchy_from",
    "hierarchy_kinds",
]

DEFAULT_ALGORITHM = "mondrian"


class Missing(StrEnum):
    """What an empty cell of a quasi-identifier means."""

    VALUE = "value"  # a value like any other: it matches only other empty cells
    DROP = "drop"  # its record is left out
    ERROR = "error"  # the data is refused


class Transform(StrEnum):
    """What happens to an identifier."""

    DROP = "drop"  # the column is not published
    STAR = "star"  # the column is published with `*` in every cell


class Suppressed(StrEnum):
    """What happens to suppressed records."""

    DROP = "drop"  # left out of the release
    STAR = "star"  # published with `*` in every quasi-identifier and sensitive column


def hierarchy_kinds() -> dict[str, type]:
    """The kinds of hierarchy that can be written in a policy, by name."""
    union = get_args(HierarchySpec)[0]
    specs: tuple[type[BaseModel], ...] = get_args(union) or (union,)
    return {str(get_args(spec.model_fields["kind"].annotation)[0]): spec for spec in specs}


_GOAL = Tagged("model", "model", lambda: registry.known("models"))
_ALGORITHM = Tagged("kind", "algorithm", lambda: registry.known("algorithms"), has_shorthand=True, refuses=refused_loss)
_HIERARCHY = Tagged("kind", "hierarchy kind", hierarchy_kinds, has_path=True)

AnyGoal = Annotated[Any, _GOAL]
AnyAlgorithm = Annotated[Any, _ALGORITHM]
AnyHierarchy = Annotated[Any, _HIERARCHY]


def hierarchy_from(written: Mapping[str, Any]) -> Any:
    """The parameters of a hierarchy that a mapping describes, checked; raises pydantic's ValidationError."""
    return _HIERARCHY.validate(written)


def _default_algorithm() -> Any:
    return registry.find("algorithms", DEFAULT_ALGORITHM)()


class _Spec(BaseModel):
    """A mapping of a policy: unknown keys are errors, and a bare text may stand for one of its keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)
    shorthand: ClassVar[str | None] = None

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(value, str) and cls.shorthand is not None:
            value = {"uri" if is_uri(value) and "uri" in cls.model_fields else cls.shorthand: value}
        try:
            return handler(value)
        except ValidationError as error:
            raise relabel(error, cls.model_fields) from None

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        found = handler(schema)
        if cls.shorthand is None:
            return found
        return {"anyOf": [found, handler.resolve_ref_schema(found)["properties"][cls.shorthand]]}


class _PlaceSpec(_Spec):
    """A file, or a table of a database."""

    shorthand = "path"

    path: str | None = None
    uri: str | None = None
    """database, as in postgresql://user@host/name or sqlite:///file.db; instead of a path"""
    table: str | None = None
    """table of the database, as in people or schema.people"""
    password: str | None = None
    """where the password is: env:NAME or file:PATH"""

    @model_validator(mode="after")
    def _names_one_place(self) -> Self:
        if (self.path is None) == (self.uri is None):
            raise invalid("place", [fault(("path",), "name a file or, with uri, a database", is_key=True)])
        try:
            self.place(Path())
        except PolicyError as error:
            key = "uri" if self.uri is not None else "path"
            raise invalid("place", [fault((key,), error.message, hint=error.hint)]) from None
        return self

    def place(self, base: Path) -> Place:
        """What is named, with relative paths starting from `base`."""
        if self.uri is None:
            for key in ("table", "query", "password"):
                if getattr(self, key, None) is not None:
                    raise PolicyError(f"{key} belongs to a database", hint="name it with uri: instead of path:")
            return base / (self.path or "")
        query = getattr(self, "query", None)
        return database_table(self.uri, table=self.table, query=query, password=self.password, base=base)

    def at(self, place: str | Place) -> Self:
        """The same with another place; relative paths start from the working directory."""
        ends = "/" if isinstance(place, str) and place.endswith("/") else ""  # which says that it is a folder
        found = place_of(place)
        cleared: dict[str, Any] = {
            key: None for key in ("path", "uri", "table", "query", "password") if key in type(self).model_fields
        }
        return self.model_copy(update={**cleared, **_keys_of(found, ends)})


def _keys_of(place: Place, ends: str = "") -> dict[str, Any]:
    """The keys of a policy that name a place from any folder."""
    if isinstance(place, Path):
        return {"path": f"{place.absolute()}{ends}"}
    found = place.absolute()
    keys = {"uri": found.uri, "table": found.table, "query": found.query, "password": found.password}
    return {key: value for key, value in keys.items() if value is not None}


class InputSpec(_PlaceSpec):
    """Where the data is and how it is written; what is not said is found out from the file."""

    path: str | None = None
    """file, folder or pattern, relative to the policy"""
    query: str | None = None
    """what to ask the database, instead of a table"""
    format: str | None = None
    """csv, tsv, parquet, jsonl, arrow, xlsx, sas7bdat, sav or dta"""
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    encoding: str | None = None
    header: bool | None = None
    compression: str | None = None
    quote: Annotated[str, Field(min_length=1, max_length=1)] = '"'


class PopulationSpec(_Spec):
    """A register of the people that a table was taken from, for models that compare with it."""

    shorthand = "path"

    path: str
    """file, relative to the policy"""
    columns: dict[str, str] = Field(default_factory=dict)
    """what quasi-identifiers are called in it, where that is something else"""
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None


class ColumnSpec(_Spec):
    """What one column means."""

    shorthand = "role"

    role: Role
    type: ColumnType | None = None
    """found out from the data unless given"""
    format: str | None = None
    """how dates are written, as in %d/%m/%Y"""
    hierarchy: AnyHierarchy | None = None
    """how values become coarser: a file, a name under `hierarchies`, or a kind with its parameters"""
    transform: Transform | None = None
    """what happens to an identifier; drop unless given"""
    missing: Missing | None = None
    """what empty cells mean in this column"""
    weight: Annotated[float, Field(gt=0)] = 1.0
    """how much the detail of this quasi-identifier matters"""

    @model_validator(mode="after")
    def _fits_role(self) -> Self:
        faults = []
        if self.transform is not None and self.role is not Role.IDENTIFIER:
            message = f"only identifiers have one, and this column has the role {self.role}"
            faults.append(fault(("transform",), message, hint="remove it, or use role: identifier"))
        if self.format is not None and self.type not in (None, ColumnType.DATE, ColumnType.DATETIME):
            faults.append(fault(("format",), f"only dates have one, and this column has the type {self.type}"))
        if faults:
            raise invalid("ColumnSpec", faults)
        return self


class OutputSpec(_PlaceSpec):
    """Where the release goes and what it looks like."""

    path: str | None = None
    """file, relative to the policy; the extension says the format; a name that ends in / is a folder of files"""
    format: str | None = None
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    rows_per_file: Annotated[int, Field(ge=1)] | None = None
    """rows in each file of a folder; 1,000,000 unless given"""
    suppressed: Suppressed = Suppressed.DROP
    """what happens to suppressed records"""
    shuffle: bool = False
    """publish the rows in random order"""
    recoding: str | None = None
    """file for the recoding, which can be applied to new rows later"""
    report: str | None = None
    """file for the report, one HTML page that needs nothing else"""
    target: str | None = None
    """quasi-identifier or sensitive column that models learn to predict, to be told in the report"""
    certificate: str | None = None
    """file for the certificate: what holds, and the hashes of every file, as JSON"""

    @property
    def is_folder(self) -> bool:
        """Whether the release is a folder of files."""
        return self.path is not None and self.path.endswith("/")


class Policy(_Spec):
    """Everything that decides a release."""

    model_config = ConfigDict(title="tablecloak policy")

    version: Literal[1] = 1
    input: InputSpec | None = None
    columns: dict[str, ColumnSpec]
    """what each column means"""
    others: Literal["drop", "keep"] = "drop"
    """what happens to columns that are not named"""
    missing: Missing = Missing.VALUE
    """what empty cells of quasi-identifiers mean"""
    hierarchies: dict[str, AnyHierarchy] = Field(default_factory=dict)
    """hierarchies that several columns share, by name"""
    goals: Annotated[tuple[AnyGoal, ...], Field(json_schema_extra={"minItems": 1})]
    """what must hold"""
    population: PopulationSpec | None = None
    """the people among whom those of the table are"""
    algorithm: AnyAlgorithm = Field(default_factory=_default_algorithm)
    output: OutputSpec | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    """decides every random choice"""

    _base: Path = PrivateAttr(default_factory=Path)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        faults = [*self._column_faults(), *self._goal_faults()]
        if faults:
            raise invalid("Policy", faults)
        return self

    # Defined last, because pydantic makes the last validator the outermost.
    @model_validator(mode="wrap")
    @classmethod
    def _report(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(value)
        except ValidationError as error:
            raise InvalidPolicyError(problems_of(error, value)) from None

    @property
    def base(self) -> Path:
        """The folder that relative paths start from."""
        return self._base

    @property
    def input_place(self) -> Place | None:
        """Where the data is, if the policy says so."""
        return self.input.place(self._base) if self.input else None

    @property
    def output_place(self) -> Place | None:
        """Where the release goes, if the policy says so."""
        return self.output.place(self._base) if self.output else None

    @property
    def input_path(self) -> Path | None:
        """The data file, if the policy names one."""
        return place if isinstance(place := self.input_place, Path) else None

    @property
    def output_path(self) -> Path | None:
        """The file of the release, if the policy names one."""
        return place if isinstance(place := self.output_place, Path) else None

    @property
    def recoding_path(self) -> Path | None:
        """The file of the recoding, if the policy names one."""
        return self.resolve(self.output.recoding) if self.output and self.output.recoding else None

    @property
    def report_path(self) -> Path | None:
        """The file of the report, if the policy names one."""
        return self.resolve(self.output.report) if self.output and self.output.report else None

    @property
    def certificate_path(self) -> Path | None:
        """The file of the certificate, if the policy names one."""
        return self.resolve(self.output.certificate) if self.output and self.output.certificate else None

    def resolve(self, path: str) -> Path:
        """A path of the policy as one that can be opened."""
        return self._base / path

    def at(self, base: Path) -> Self:
        """The same policy with relative paths starting from `base`."""
        moved = self.model_copy()
        moved._base = base
        return moved

    def rebased(self, base: Path) -> Self:
        """The same files named from another folder, so that a copy of the policy kept there finds them."""

        def moved(path: Any) -> Any:
            if not isinstance(path, str) or path in self.hierarchies or Path(path).is_absolute():
                return path
            return os.path.relpath(self.resolve(path), base) + ("/" if path.endswith("/") else "")

        def moved_place(spec: Any, *keys: str) -> Any:
            found = moved_all(spec, "path", *keys)
            if spec is None or spec.uri is None:
                return found
            table = spec.place(self._base).rebased(base)
            return found.model_copy(update={"uri": table.uri, "table": table.table, "password": table.password})

        def moved_all(spec: Any, *keys: str) -> Any:
            return spec and spec.model_copy(update={key: moved(getattr(spec, key)) for key in keys})

        update = {
            "input": moved_place(self.input),
            "output": moved_place(self.output, "recoding", "report", "certificate"),
            "population": moved_all(self.population, "path"),
            "columns": {name: moved_all(column, "hierarchy") for name, column in self.columns.items()},
            "hierarchies": {name: moved(chosen) for name, chosen in self.hierarchies.items()},
        }
        return self.model_copy(update=update).at(base)

    def with_files(self, *, source: str | Place | None = None, target: str | Place | None = None) -> Self:
        """The same policy reading and writing other files or tables, relative to the working directory."""
        update: dict[str, Any] = {}
        if source is not None:
            update["input"] = (self.input or InputSpec(path=".")).at(source)
        if target is not None:
            update["output"] = (self.output or OutputSpec(path=".")).at(target)
        return self.model_copy(update=update)

    def with_documents(self, *, report: Path | None = None, certificate: Path | None = None) -> Self:
        """The same policy writing these documents too; paths are relative to the working directory."""
        given = {"report": report, "certificate": certificate}
        update = {name: str(path.absolute()) for name, path in given.items() if path is not None}
        if not update or self.output is None:  # without a release there is nothing to document
            return self
        return self.model_copy(update={"output": self.output.model_copy(update=update)})

    def with_seed(self, seed: int) -> Self:
        """The same policy with another seed."""
        return self.model_copy(update={"seed": seed})

    def columns_with(self, *roles: Role) -> list[str]:
        """The columns that have one of the roles, in the order of the policy."""
        return [name for name, column in self.columns.items() if column.role in roles]

    def hierarchy_of(self, column: str) -> Any | Path | None:
        """The hierarchy of a column: parameters to build it from, the file to read it from, or None."""
        chosen = self.columns[column].hierarchy
        if isinstance(chosen, str):
            chosen = self.hierarchies.get(chosen, chosen)
        return self.resolve(chosen) if isinstance(chosen, str) else chosen

    def missing_of(self, column: str) -> Missing:
        """What empty cells of a column mean."""
        return self.columns[column].missing or self.missing

    def _column_faults(self) -> Iterator[InitErrorDetails]:
        if not self.columns_with(Role.QUASI, Role.ITEMS):
            hint = "give role: quasi to the columns that others may know about a person, such as age, sex and zip"
            yield fault(("columns",), "no column has the role quasi", hint=hint)
        for name, column in self.columns.items():
            chosen = column.hierarchy
            if isinstance(chosen, str) and chosen not in self.hierarchies and Path(chosen).suffix == "":
                hint = did_you_mean(chosen, self.hierarchies) or "name a file, or an entry under hierarchies"
                yield fault(("columns", name, "hierarchy"), f"no hierarchy is called '{chosen}'", hint=hint)

    def _goal_faults(self) -> Iterator[InitErrorDetails]:
        if not self.goals:
            yield fault(("goals",), "there must be at least one", hint="- {model: k-anonymity, k: 5}")
        sensitive = self.columns_with(Role.SENSITIVE)
        for index, goal in enumerate(self.goals):
            yield from self._misnamed_columns(index, goal)
            if Needs.POPULATION in goal.needs and self.population is None:
                hint = "population: FILE, a table of the people among whom those of the table are"
                yield fault(("goals", index), f"{goal.name} needs a population", hint=hint)
            if Needs.SENSITIVE not in goal.needs:
                continue
            if not sensitive:
                hint = "give role: sensitive to the column that must not be learned"
                yield fault(("goals", index), f"{goal.name} needs a column with the role sensitive", hint=hint)
                continue
            for name in _named(getattr(goal, "sensitive", None)):
                if name not in sensitive:
                    yield _wrong_role(("goals", index, "sensitive"), name, self, Role.SENSITIVE)

    def _misnamed_columns(self, index: int, goal: Any) -> Iterator[InitErrorDetails]:
        """Columns that a goal names as X or Y and that cannot be either."""
        named = [
            (("x",), goal),
            *((("templates", i, "x"), t) for i, t in enumerate(getattr(goal, "templates", None) or ())),
        ]
        for place, owner in named:
            for name in _named(getattr(owner, "x", None)):
                if name not in self.columns_with(Role.QUASI):
                    yield _wrong_role(("goals", index, *place), name, self, Role.QUASI)
        for name in _named(getattr(goal, "y", None)):
            if name not in self.columns_with(Role.SENSITIVE, Role.PERSON):
                yield _wrong_role(("goals", index, "y"), name, self, Role.SENSITIVE)


def _named(sensitive: Any) -> list[str]:
    return [] if sensitive is None else [sensitive] if isinstance(sensitive, str) else list(sensitive)


def _wrong_role(place: tuple[str | int, ...], name: str, policy: Policy, role: Role) -> InitErrorDetails:
    if name in policy.columns:
        message = f"column '{name}' has the role {policy.columns[name].role}, not {role}"
        return fault(place, message, hint=f"columns.{name}.role: {role}")
    hint = did_you_mean(name, policy.columns_with(role))
    return fault(place, f"no column '{name}' has the role {role}", hint=hint)
