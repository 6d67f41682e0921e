"""Presets: what a starter policy asks for, kept as data files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from ruamel.yaml import YAML

from tablecloak.data.table import ColumnType, Role
from tablecloak.errors import PolicyError, did_you_mean
from tablecloak.profile.profile import ColumnProfile
from tablecloak.profile.roles import Advice
from tablecloak.profile.safe_harbor import broken_rules

STANDARD = "standard"
PUBLISHED = (Role.QUASI, Role.SENSITIVE, Role.WEIGHT, Role.KEEP)


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RoleChange(_Data):
    """A role that a preset gives instead of the suggested one."""

    role: Role
    why: str
    hierarchy: dict[str, Any] | None = None  # how it is generalized, for a role quasi
    transform: tuple[dict[str, Any], ...] = ()  # what its cells become; `year - 89` stands for that year
    types: tuple[ColumnType, ...] = ()  # only for columns that are read as these types
    looks_like: str | None = None  # only for columns that look so
    otherwise: Literal["drop", "as suggested"] = "drop"  # what happens to other columns

    def fits(self, column: ColumnProfile) -> bool:
        """Whether the column is such that its hierarchy can be built, and its cells be changed."""
        advice = column.advice
        looks = self.looks_like is None or advice.looks_like.startswith(self.looks_like)
        is_whole = column.column.is_number and column.column.is_whole
        read_as = advice.reading.get("type", ColumnType.INTEGER if is_whole else column.column.type)
        return looks and (not self.types or read_as in self.types or column.column.type in self.types)


class Preset(_Data):
    """What a starter policy asks for."""

    summary: str
    reference: str | None = None
    k: int = 5
    l: int | None = None  # noqa: E741
    t: float | None = None
    strict: bool = False  # findings that the policy does not accept are errors
    rule: Literal["safe-harbor"] | None = None  # columns that are published unchanged and break it are left out
    roles: dict[Role, RoleChange] = Field(default_factory=dict)
    looks: dict[str, RoleChange] = Field(default_factory=dict)  # by detector, or by detector/what it looks like

    def advise(self, columns: Sequence[ColumnProfile], year: int) -> list[Advice]:
        """The roles of columns under this preset: by detector, else by the suggested role, else as suggested.

        Args:
            year: of publication.
        """
        advice = [self._advise(column) for column in columns]
        if self.rule is None:
            return advice
        both = list(zip(columns, advice, strict=True))
        unchanged = [each.column for each, to in both if to.role in PUBLISHED and not self.transform(each, year)]
        broken = broken_rules(unchanged, year=year)
        return [
            replace(to, role=Role.DROP, reason=broken[each.name]) if each.name in broken else to for each, to in both
        ]

    def _advise(self, column: ColumnProfile) -> Advice:
        advice, change = column.advice, self._change(column)
        if change is None:
            return advice
        fits = change.fits(column)
        reason = change.why if fits else f"{change.why}; cells as these cannot be changed so"
        return replace(advice, role=change.role if fits else Role.DROP, reason=reason)

    def hierarchy(self, column: ColumnProfile) -> dict[str, Any] | None:
        """How a column has to be generalized, if this preset says so."""
        change = self._change(column)
        return change.hierarchy if change is not None and change.fits(column) else None

    def transform(self, column: ColumnProfile, year: int) -> list[dict[str, Any]]:
        """What becomes of the cells of a column, if this preset says so.

        Args:
            year: of publication.
        """
        change = self._change(column)
        chain = change.transform if change is not None and change.fits(column) else ()
        return [{key: _in_year(value, year) for key, value in each.items()} for each in chain]

    def _change(self, column: ColumnProfile) -> RoleChange | None:
        advice = column.advice
        if advice.role is Role.PERSON:  # whose a row is decides how goals count, whatever the column looks like
            return self.roles.get(Role.PERSON)
        names = (f"{advice.detector}/{advice.looks_like}", advice.detector or "")
        change = next((self.looks[name] for name in names if name in self.looks), self.roles.get(advice.role))
        if change is not None and change.otherwise == "as suggested" and not change.fits(column):
            return None
        return change


def _in_year(value: Any, year: int) -> Any:
    match = re.fullmatch(r"year - (\d+)", value) if isinstance(value, str) else None
    return year - int(match[1]) if match else value


@cache
def presets() -> dict[str, Preset]:
    """Every preset by name, in alphabetical order."""
    folder = files("tablecloak.profile") / "presets_data"
    entries = {entry.name.removesuffix(".yaml"): entry for entry in folder.iterdir() if entry.name.endswith(".yaml")}
    yaml = YAML(typ="safe", pure=True)
    texts = {name: entries[name].read_text(encoding="utf-8") for name in sorted(entries)}
    return {name: Preset.model_validate(yaml.load(text)) for name, text in texts.items()}


def preset_named(name: str) -> Preset:
    """The preset of a name, or a PolicyError with the nearest name."""
    by_name = presets()
    if name not in by_name:
        hint = did_you_mean(name, by_name) or f"known presets: {', '.join(by_name)}"
        raise PolicyError(f"unknown preset '{name}'", hint=hint)
    return by_name[name]
