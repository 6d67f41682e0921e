"""The policy: what a table's columns mean, what must hold, how to get there and where the result goes.

A policy is a frozen value. Making one checks everything that can be checked without the data and raises
`InvalidPolicyError` with every problem found.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, ModelWrapValidatorHandler, PrivateAttr, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from tablecloak.data.table import Role
from tablecloak.errors import PolicyError, did_you_mean
from tablecloak.io.places import Place, named, password_file
from tablecloak.policy import sections
from tablecloak.policy.problems import InvalidPolicyError, fault, invalid, problems_of
from tablecloak.registry import known
from tablecloak.stats.classes import Evidence


class Policy(sections.Spec):
    """Everything that decides a release."""

    model_config = ConfigDict(title="tablecloak policy")

    version: Literal[1] = 1
    input: sections.InputSpec | None = None
    columns: dict[str, sections.ColumnSpec]
    """what each column means"""
    others: Literal["drop", "keep"] = "drop"
    """what happens to columns that are not named"""
    missing: sections.Missing = sections.Missing.VALUE
    """what empty cells of quasi-identifiers mean"""
    hierarchies: dict[str, sections.AnyHierarchy] = Field(default_factory=dict)
    """hierarchies that several columns share, by name"""
    goals: Annotated[tuple[sections.AnyGoal, ...], Field(json_schema_extra={"minItems": 1})]
    """what must hold"""
    population: sections.PopulationSpec | None = None
    """the people among whom those of the table are"""
    search_limit: Annotated[float, Field(gt=0)] = 3600.0
    """seconds; a search that compares records with each other is refused if it would take longer"""
    algorithm: sections.AnyAlgorithm = Field(default_factory=sections.default_algorithm)
    output: sections.OutputSpec | None = None
    accepted: tuple[sections.AcceptedSpec, ...] = Field(default_factory=tuple)
    """findings that may stay, each with its reason"""
    strict: bool = False
    """release nothing that has findings which were not accepted"""
    seed: Annotated[int, Field(ge=0)] = 0
    """decides which of several equally good answers a search finds; it hides nobody"""
    secret: sections.SecretSpec | None = None
    """where the secret behind randomness that hides people is; drawn anew for every run unless given"""

    _base: Path = PrivateAttr(default_factory=Path)
    _file: Path | None = PrivateAttr(default=None)  # that it was read from

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        faults = [*self._column_faults(), *self._goal_faults(), *self._accepted_faults()]
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
    def writes_text(self) -> bool:
        """Whether the release is a CSV or TSV file, or a folder of them."""
        path, output = self.output_path, self.output
        if path is None or output is None or self.input is None:
            return False
        if output.format or output.is_folder:
            return output.format in ("csv", "tsv")
        return any(suffix.lower() in (".csv", ".tsv") for suffix in path.suffixes[-2:])

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
        return named(self._base / path)

    @property
    def reads(self) -> list[Place | None]:
        """Everything that a run of the policy reads, itself included: what no output may be written over."""
        chosen = [*(self.hierarchy_of(name) for name in self.columns), *self.hierarchies.values()]
        hierarchies = [self.resolve(h) if isinstance(h, str) else h for h in chosen if isinstance(h, str | Path)]
        others = [self.population and self.population.path, self.secret and self.secret.file]
        others += [path for column in self.columns.values() for each in column.transform for path in each.files]
        named = [self.resolve(path).expanduser() for path in others if path]
        password = password_file(self.output_place)
        return [self._file, self.input_place, *hierarchies, *named, password]

    def from_file(self, path: Path) -> Self:
        """The same policy, which remembers the file that it was read from."""
        policy = self.at(path.parent)
        policy._file = path
        return policy

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
            rebased_spec = moved_all(spec, "path", *keys)
            if spec is None or spec.uri is None:
                return rebased_spec
            table = spec.place(self._base).rebased(base)
            return rebased_spec.model_copy(update={"uri": table.uri, "table": table.table, "password": table.password})

        def moved_all(spec: Any, *keys: str) -> Any:
            return spec and spec.model_copy(update={key: moved(getattr(spec, key)) for key in keys})

        def moved_column(column: sections.ColumnSpec) -> Any:
            rebased_column = moved_all(column, "hierarchy")
            transforms = tuple(each.with_paths(moved) for each in column.transform)
            return rebased_column.model_copy(update={"transform": transforms}) if transforms else rebased_column

        update = {
            "input": moved_place(self.input),
            "output": moved_place(self.output, "recoding", "report", "certificate"),
            "population": moved_all(self.population, "path"),
            "secret": moved_all(self.secret, "file"),
            "columns": {name: moved_column(column) for name, column in self.columns.items()},
            "hierarchies": {name: moved(chosen) for name, chosen in self.hierarchies.items()},
        }
        return self.model_copy(update=update).at(base)

    def with_files(self, *, source: str | Place | None = None, target: str | Place | None = None) -> Self:
        """The same policy reading and writing other files or tables, relative to the working directory."""
        update: dict[str, Any] = {}
        if source is not None:
            update["input"] = (self.input or sections.InputSpec(path=".")).at(source)
        if target is not None:
            update["output"] = (self.output or sections.OutputSpec(path=".")).at(target)
        return self.model_copy(update=update)

    def with_documents(self, *, report: Path | None = None, certificate: Path | None = None) -> Self:
        """The same policy writing these documents too; paths are relative to the working directory."""
        paths = {"report": report, "certificate": certificate}
        update = {name: str(named(path.absolute())) for name, path in paths.items() if path is not None}
        if not update or self.output is None:  # without a release there is nothing to document
            return self
        return self.model_copy(update={"output": self.output.model_copy(update=update)})

    def with_seed(self, seed: int) -> Self:
        """The same policy with another seed."""
        return self.model_copy(update={"seed": seed})

    def with_parameter(self, name: str, value: Any, *, asked: str) -> Self:
        """The same policy with another value of a parameter of its algorithm; `asked` is how it was asked for.

        Raises: PolicyError, if the algorithm has no such parameter.
        """
        if not _has_parameter(self.algorithm, name):
            able = [other for other, kind in known("algorithms").items() if _has_parameter(kind, name)]
            raise PolicyError(
                f"{asked}: {self.algorithm.name} has no {name}",
                hint=f"leave it out, or use an algorithm that has it: {', '.join(sorted(able))}",
            )
        return self.model_copy(update={"algorithm": replace(self.algorithm, **{name: value})})

    def columns_with(self, *roles: Role) -> list[str]:
        """The columns that have one of the roles, in the order of the policy."""
        return [name for name, column in self.columns.items() if column.role in roles]

    def hierarchy_of(self, column: str) -> Any | Path | None:
        """The hierarchy of a column: parameters to build it from, the file to read it from, or None."""
        chosen = self.columns[column].hierarchy
        if isinstance(chosen, str):
            chosen = self.hierarchies.get(chosen, chosen)
        return self.resolve(chosen) if isinstance(chosen, str) else chosen

    def missing_of(self, column: str) -> sections.Missing:
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
            if Evidence.POPULATION in goal.evidence and self.population is None:
                hint = "population: FILE, a table of the people among whom those of the table are"
                yield fault(("goals", index), f"{goal.name} needs a population", hint=hint)
            if Evidence.WEIGHTS in goal.evidence and not self.columns_with(Role.WEIGHT):
                hint = "give role: weight to the column that says how many people a record stands for"
                yield fault(("goals", index), f"{goal.name} needs a column with the role weight", hint=hint)
            if Evidence.SENSITIVE in goal.evidence and not sensitive:
                hint = "give role: sensitive to the column that must not be learned"
                yield fault(("goals", index), f"{goal.name} needs a column with the role sensitive", hint=hint)

    def _accepted_faults(self) -> Iterator[InitErrorDetails]:
        for index, accepted in enumerate(self.accepted):
            name = accepted.column
            if name is not None and name not in self.columns and self.others == "drop":
                message = f"no column '{name}' is published"
                yield fault(("accepted", index, "column"), message, hint=did_you_mean(name, self.columns))

    def _misnamed_columns(self, index: int, goal: Any) -> Iterator[InitErrorDetails]:
        """Columns that a goal names and that do not have the role for it."""
        for place, name, roles in goal.named_columns():
            # where nothing is sensitive, that is what is wrong, whatever the goal names
            if name not in self.columns_with(*roles) and (roles != (Role.SENSITIVE,) or self.columns_with(*roles)):
                yield _wrong_role(("goals", index, *place), name, self, roles[0])


def _wrong_role(place: tuple[str | int, ...], name: str, policy: Policy, role: Role) -> InitErrorDetails:
    if name in policy.columns:
        message = f"column '{name}' has the role {policy.columns[name].role}, not {role}"
        return fault(place, message, hint=f"columns.{name}.role: {role}")
    hint = did_you_mean(name, policy.columns_with(role))
    return fault(place, f"no column '{name}' has the role {role}", hint=hint)


def _has_parameter(algorithm: Any, name: str) -> bool:
    """Whether an algorithm, or a kind of them, has a field that policies can write."""
    return any(field.name == name for field in fields(algorithm))
