"""Presets: what a starter policy asks for, kept as data files."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from ruamel.yaml import YAML

from tablecloak.data.table import ColumnType, Role
from tablecloak.errors import PolicyError, did_you_mean
from tablecloak.profile.profile import ColumnProfile
from tablecloak.profile.roles import Advice

STANDARD = "standard"


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RoleChange(_Data):
    """A role that a preset gives instead of the suggested one."""

    role: Role
    why: str
    hierarchy: dict[str, Any] | None = None  # how it is generalized, for a role quasi
    types: tuple[ColumnType, ...] = ()  # only for columns of these types; otherwise they are dropped
    looks_like: str | None = None  # only for columns that look so; otherwise they are dropped

    def fits(self, column: ColumnProfile) -> bool:
        """Whether the column is such that its hierarchy can be built."""
        looks = self.looks_like is None or column.advice.looks_like.startswith(self.looks_like)
        return looks and (not self.types or column.column.type in self.types)


class Preset(_Data):
    """What a starter policy asks for."""

    summary: str
    reference: str | None = None
    k: int = 5
    l: int | None = None  # noqa: E741
    t: float | None = None
    strict: bool = False  # findings that the policy does not accept are errors
    roles: dict[Role, RoleChange] = Field(default_factory=dict)
    looks: dict[str, RoleChange] = Field(default_factory=dict)

    def advise(self, column: ColumnProfile) -> Advice:
        """The role of a column under this preset: by its detector, else by its suggested role, else as suggested."""
        advice = column.advice
        change = self._change(column)
        if change is None:
            return advice
        role = change.role if change.fits(column) else Role.DROP
        return Advice(role, change.why, advice.looks_like, advice.detector, advice.reading)

    def hierarchy(self, column: ColumnProfile) -> dict[str, Any] | None:
        """How a column has to be generalized, if this preset says so."""
        change = self._change(column)
        return change.hierarchy if change is not None and change.fits(column) else None

    def _change(self, column: ColumnProfile) -> RoleChange | None:
        return self.looks.get(column.advice.detector or "") or self.roles.get(column.advice.role)


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
