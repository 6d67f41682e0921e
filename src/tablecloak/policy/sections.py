"""The parts of a policy: places, columns, outputs, and what stands for a goal, an algorithm or a hierarchy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic.annotated_handlers import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails

from tablecloak import registry
from tablecloak.algorithms.base import Algorithm
from tablecloak.data.table import ColumnType, Order, Role
from tablecloak.errors import PolicyError, did_you_mean
from tablecloak.io.notation import DATES, NUMBERS, Notation, is_format
from tablecloak.io.places import Place, database_table, is_uri, named, place_of
from tablecloak.metrics.distributions import DISTRIBUTION_METRICS
from tablecloak.policy.problems import InvalidPolicyError, fault, invalid, problems_of, relabel
from tablecloak.policy.tagged import Several, Tagged

DEFAULT_ALGORITHM = "auto"
DROP, STAR = "drop", "star"  # transforms of whole columns, for which no cell is read
SECRET_HINT = "say where it is: secret: {env: NAME} or {file: PATH}; without it every run draws a new one"


class Missing(StrEnum):
    """What an empty cell of a quasi-identifier means."""

    VALUE = "value"  # a value like any other: it matches only other empty cells
    DROP = "drop"  # its record is left out
    ERROR = "error"  # the data is refused


class Suppressed(StrEnum):
    """What happens to suppressed records."""

    DROP = "drop"  # left out of the release
    STAR = "star"  # published with `*` in every quasi-identifier and sensitive column


class Style(StrEnum):
    """What the labels of generalised columns are like."""

    DETAILED = "detailed"  # every class has labels of its own, which may overlap those of others
    ANALYST = "analyst"  # every column has few labels, which do not overlap


def _refused_loss(name: str, cls: type[Algorithm], params: Mapping[str, Any]) -> InitErrorDetails | None:
    """What is wrong with the loss that an algorithm is given, if it is one that people may expect to work."""
    if "loss" not in params:
        return None
    takers = [n for n, c in registry.known("algorithms").items() if _takes_loss(c)]
    if not _takes_loss(cls):
        text = f"{name} has no choice of loss" + (f": it minimises {cls.minimizes}" if cls.minimizes else "")
        return fault(("loss",), text, hint=f"a loss is a choice of {', '.join(takers)}", is_key=True)
    if params["loss"] in DISTRIBUTION_METRICS:
        text = f"{params['loss']} compares the distributions of whole columns, so no single cut or class has a price"
        return fault(
            ("loss",), text, hint="choose a metric of cells or classes; this one is measured by: tablecloak compare"
        )
    return None


def _takes_loss(cls: type) -> bool:
    return any(f.name == "loss" for f in fields(cls))


_GOAL = Tagged("model", "model", lambda: registry.named("models"))
_ALGORITHM = Tagged(
    "kind", "algorithm", lambda: registry.named("algorithms"), has_shorthand=True, refuses=_refused_loss
)
_HIERARCHY = Tagged("kind", "hierarchy kind", lambda: registry.named("hierarchies"), has_path=True)
_TRANSFORM = Tagged("kind", "transform", lambda: registry.named("transforms"), has_shorthand=True)

AnyGoal = Annotated[Any, _GOAL]
AnyAlgorithm = Annotated[Any, _ALGORITHM]
AnyHierarchy = Annotated[Any, _HIERARCHY]
AnyTransforms = Annotated[tuple[Any, ...], Several(_TRANSFORM)]


def hierarchy_from(written: Mapping[str, Any]) -> Any:
    """The parameters of a hierarchy that a mapping describes, checked as in a policy."""
    try:
        return _HIERARCHY.validate(written)
    except ValidationError as error:
        raise InvalidPolicyError(problems_of(error, dict(written))) from None


def default_algorithm() -> Any:
    """The algorithm of a policy that names none."""
    return registry.named("algorithms")[DEFAULT_ALGORITHM]()


class Spec(BaseModel):
    """A mapping of a policy: unknown keys are errors, and a bare text may stand for one of its keys."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False, defer_build=True
    )
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
        full = handler(schema)
        if cls.shorthand is None:
            return full
        return {"anyOf": [full, handler.resolve_ref_schema(full)["properties"][cls.shorthand]]}


class _PlaceSpec(Spec):
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
            return named(base / (self.path or ""))
        query = getattr(self, "query", None)
        return database_table(self.uri, table=self.table, query=query, password=self.password, base=base)

    def at(self, place: str | Place) -> Self:
        """The same with another place; relative paths start from the working directory."""
        ends = "/" if isinstance(place, str) and place.endswith("/") else ""  # which says that it is a folder
        named = place_of(place)
        cleared: dict[str, Any] = {
            key: None for key in ("path", "uri", "table", "query", "password") if key in type(self).model_fields
        }
        return self.model_copy(update={**cleared, **_keys_of(named, ends)})


def _keys_of(place: Place, ends: str = "") -> dict[str, Any]:
    """The keys of a policy that name a place from any folder."""
    if isinstance(place, Path):
        return {"path": f"{named(place.absolute())}{ends}"}
    absolute = place.absolute()
    keys = {"uri": absolute.uri, "table": absolute.table, "query": absolute.query, "password": absolute.password}
    return {key: value for key, value in keys.items() if value is not None}


class InputSpec(_PlaceSpec):
    """Where the data is and how it is written; what is not said is found out from the file."""

    path: str | None = None
    """file, folder or pattern, relative to the policy"""
    query: str | None = None
    """what to ask the database, instead of a table"""
    format: str | None = None
    """csv, tsv, parquet, jsonl, arrow, xlsx, sas7bdat, sav or dta; sets for a file with one set of items a line"""
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    encoding: str | None = None
    header: bool | None = None
    compression: str | None = None
    quote: Annotated[str, Field(min_length=1, max_length=1)] = '"'
    repair: bool = False
    """a header that is missing or spoilt is repaired, as `tablecloak inspect --repair` shows"""


class PopulationSpec(Spec):
    """A register of the people that a table was taken from, for models that compare with it."""

    shorthand = "path"

    path: str
    """file, relative to the policy"""
    columns: dict[str, str] = Field(default_factory=dict)
    """what quasi-identifiers are called in it, where that is something else"""
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None


class SecretSpec(Spec):
    """Where the secret behind hiding randomness is; it never stands in a policy itself."""

    env: Annotated[str, Field(min_length=1)] | None = None
    """variable that holds it"""
    file: Annotated[str, Field(min_length=1)] | None = None
    """file that holds it, relative to the policy; only its owner may read it"""

    # Defined here, so that what was written in place of a reference reaches no message.
    @model_validator(mode="wrap")
    @classmethod
    def _is_reference(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping) or set(value) - {"env", "file"}:
            raise invalid("SecretSpec", [fault((), "a secret must not be written in a policy", hint=SECRET_HINT)])
        named = [name for name in value.values() if name is not None]
        if len(named) != 1 or not isinstance(named[0], str):
            raise invalid("SecretSpec", [fault((), "name one place of the secret", hint=SECRET_HINT)])
        return handler(value)

    def __str__(self) -> str:
        return f"the variable {self.env}" if self.env is not None else f"the file {self.file}"


class AcceptedSpec(Spec):
    """A finding that may stay, and why."""

    finding: str
    """kind of the finding, as `tablecloak list findings` names it"""
    column: str | None = None
    """the column it is about; every column if left out"""
    because: str
    """the reason, which stands in report and certificate"""

    @model_validator(mode="after")
    def _is_meant(self) -> Self:
        faults = []
        kinds = registry.known("findings")
        if self.finding not in kinds:
            hint = did_you_mean(self.finding, kinds) or f"known findings: {', '.join(kinds)}"
            faults.append(fault(("finding",), f"no finding is called '{self.finding}'", hint=hint))
        if not self.because.strip():
            faults.append(fault(("because",), "a reason is needed", hint="say why the release may have this finding"))
        if faults:
            raise invalid("AcceptedSpec", faults)
        return self


class ColumnSpec(Spec):
    """What one column means."""

    shorthand = "role"

    role: Role
    type: ColumnType | None = None
    """found out from the data unless given"""
    format: str | None = None
    """how dates are written, as in dd/mm/yyyy, d mmmm yyyy (months by name), excel (days that it counts) or %d/%m/%Y"""
    last_year: Annotated[int, Field(ge=1900, le=2200)] | None = None
    """last of the hundred years that years of two digits stand for"""
    decimal: Literal[".", ","] | None = None
    """what begins the decimals of numbers, where it is a comma"""
    thousands: Literal[",", ".", " ", "'"] | None = None
    """what parts every three digits of large numbers"""
    unit: Annotated[str, Field(min_length=1, max_length=16)] | None = None
    """what stands before or behind every number: a currency, a unit, %"""
    hierarchy: AnyHierarchy | None = None
    """how values become coarser: a file, a name under `hierarchies`, or a kind with its parameters"""
    transform: AnyTransforms = ()
    """what its cells become, one transform or several after each other; identifiers are dropped unless given one"""
    missing: Missing | None = None
    """what empty cells mean in this column"""
    weight: Annotated[float, Field(gt=0)] = 1.0
    """how much the detail of this quasi-identifier matters"""
    separator: Annotated[str, Field(min_length=1, max_length=8)] | None = None
    """what stands between the items of a cell; a semicolon unless given, in a file of sets its delimiter"""

    @model_validator(mode="after")
    def _fits_role(self) -> Self:
        faults = [*self._transform_faults()]
        if self.separator is not None and self.role is not Role.ITEMS:
            message = f"only sets of items have one, and this column has the role {self.role}"
            faults.append(fault(("separator",), message, hint="remove it, or use role: items"))
        faults += self._notation_faults()
        if faults:
            raise invalid("ColumnSpec", faults)
        return self

    def _notation_faults(self) -> Iterator[InitErrorDetails]:
        """Ways of writing that do not fit the type, or each other."""
        if self.format is not None and self.type not in (None, *DATES):
            yield fault(("format",), f"only dates have one, and this column has the type {self.type}")
        elif self.format is not None and not is_format(self.format):
            hint = "d is the day, m the month, y the year: dd.mm.yyyy, mm/dd/yy, d mmmm yyyy, yyyymmdd; or excel"
            yield fault(("format",), "a date has a day, a month and a year", hint=hint)
        elif self.format is not None and self.last_year is None and Notation(self.format).has_short_years:
            hint = "last_year: 2026 reads 27 as 1927 and 26 as 2026"
            yield fault(("format",), "years of two digits need the last_year that they stand for", hint=hint)
        for key in ("decimal", "thousands", "unit"):
            if getattr(self, key) is not None and (self.format is not None or self.type not in (None, *NUMBERS)):
                yield fault((key,), f"only numbers have one, and this column has the type {self.type or 'date'}")
        if self.thousands is not None and self.thousands == (self.decimal or "."):
            hint = f'decimal: "{"," if self.thousands == "." else "."}"'
            yield fault(("thousands",), "decimals begin with the same mark", hint=hint)

    @property
    def notation(self) -> Notation | None:
        """How the cells of the column are written, where the policy says so."""
        notation = Notation(self.format, self.last_year, self.decimal, self.thousands, self.unit)
        return notation if notation != Notation() else None

    @property
    def is_text(self) -> bool:
        """Whether the column is treated letter by letter, so that how its values are written does not matter."""
        if self.role in (Role.PERSON, Role.ITEMS, Role.IDENTIFIER, Role.DROP, Role.KEEP):
            return True
        if self.transform:
            return ColumnType.TEXT in self.transform[0].types
        return getattr(self.hierarchy, "name", None) in ("mask", "tree")

    def _transform_faults(self) -> Iterator[InitErrorDetails]:
        """Transforms that mean nothing for a column of this role."""
        names = [each.name for each in self.transform]
        if not names:
            return
        whole = next((name for name in names if name in (DROP, STAR)), None)
        if whole and len(names) > 1:
            message = f"after {whole} nothing is left to change"
            yield fault(("transform",), message, hint=f"transform: {whole}, or the other ones")
        elif whole and self.role is not Role.IDENTIFIER:
            message = f"only identifiers are left out or hidden wholly, and this column has the role {self.role}"
            yield fault(("transform",), message, hint=f"role: {'drop' if whole == DROP else 'identifier'}")
        if self.role in (Role.DROP, Role.ITEMS):
            message = f"a column with the role {self.role} has none"
            yield fault(("transform",), message, hint="remove it, or give the column another role")
        if self.role is Role.QUASI:
            named = next((each.name for each in self.transform if each.family == "pseudonym"), None)
            if named:
                message = f"{named} leaves nothing that could be generalised"
                yield fault(("transform",), message, hint="role: identifier, or a transform that makes values coarser")

    @property
    def is_left_out(self) -> bool:
        """An identifier that is not published."""
        return self.role is Role.IDENTIFIER and (not self.transform or self.transform[0].name == DROP)

    @property
    def is_starred(self) -> bool:
        """An identifier of which every cell is published as `*`."""
        return self.role is Role.IDENTIFIER and bool(self.transform) and self.transform[0].name == STAR


class OutputSpec(_PlaceSpec):
    """Where the release goes and what it looks like."""

    path: str | None = None
    """file, relative to the policy; the extension says the format; a name that ends in / is a folder of files"""
    format: str | None = None
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    rows_per_file: Annotated[int, Field(ge=1)] | None = None
    """rows in each file of a folder; 1,000,000 unless given"""
    style: Style = Style.DETAILED
    """detailed: every class has its own labels; analyst: every column has few labels, which do not overlap"""
    suppressed: Suppressed = Suppressed.DROP
    """what happens to suppressed records"""
    order: Order = Order.CONTENT
    """in which order rows are published"""
    recoding: str | None = None
    """file for the recoding, which can be applied to new rows later"""
    report: str | None = None
    """file for the report, one HTML page that needs nothing else"""
    target: str | None = None
    """quasi-identifier or sensitive column that models learn to predict, to be told in the report"""
    certificate: str | None = None
    """file for the certificate: what holds, with hashes of published files and a keyed digest of the input, as JSON"""

    @model_validator(mode="before")
    @classmethod
    def _refuse_shuffle(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and "shuffle" in data:
            message = "'shuffle' is no longer there: rows never stay in the order of the input unless asked for"
            raise invalid("OutputSpec", [fault(("shuffle",), message, hint="order: random", is_key=True)])
        return data

    @property
    def is_folder(self) -> bool:
        """Whether the release is a folder of files."""
        return self.path is not None and self.path.endswith("/")
