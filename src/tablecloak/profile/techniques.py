"""Techniques: what the literature offers to protect a table, what is said of it there, and what this package has."""

from __future__ import annotations

import tomllib
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tablecloak.errors import PolicyError, did_you_mean

Printed: TypeAlias = Literal["yes", "no", "yes/no"]
Level: TypeAlias = Literal["low", "average", "high"]
OFFERED_KINDS = ("transforms", "models", "algorithms", "hierarchies")  # of the registry


class TechniqueFamily(StrEnum):
    """How a technique protects."""

    CRYPTOGRAPHIC = "cryptographic"  # by a key
    GENERALISATION = "generalisation"  # by less exact values, which stay true
    RANDOMISATION = "randomisation"  # by hidden or changed values
    BUCKETISATION = "bucketisation"  # by cutting links between exact values
    PSEUDONYMISATION = "pseudonymisation"  # by what stands for a value, with a way back


class _CatalogueEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Rank(_CatalogueEntry):
    """How the survey ranks a technique."""

    privacy: Level
    utility: Level


class Technique(_CatalogueEntry):
    """A technique as its source prints it, and what there is of it here."""

    name: str
    title: str
    family: TechniqueFamily
    what: str
    weakness: str
    source: str  # what the catalogue calls it
    completeness: Printed | None = None  # None: the thesis does not judge it
    confidentiality: Printed | None = None
    accuracy: Printed | None = None
    conditional: bool = False  # a printed value depends on something that the table leaves out
    conditional_value: Literal["confidentiality", "accuracy"] | None = None
    condition: str | None = None
    ranked_as: str | None = None  # the technique under which the survey ranks it
    transforms: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    hierarchies: tuple[str, ...] = ()
    not_offered: str | None = None  # why there is nothing of it here

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if bool(self.offered) == bool(self.not_offered):
            raise ValueError(f"{self.name} must be offered, or say why not")
        if not self.conditional == bool(self.condition) == bool(self.conditional_value):
            raise ValueError(f"{self.name} must say its condition, and only then is it conditional")
        return self

    @property
    def offered(self) -> dict[str, tuple[str, ...]]:
        """Registered names by kind."""
        return {kind: names for kind in OFFERED_KINDS if (names := getattr(self, kind))}


class ChoiceRule(_CatalogueEntry):
    """When techniques are chosen."""

    name: str
    situation: str
    techniques: tuple[str, ...]
    why: str
    source: str
    printed: str | None = None  # what the source says, where it is read the other way round

    @property
    def is_inverted(self) -> bool:
        return self.printed is not None


class Property(_CatalogueEntry):
    """What a privacy property protects from, as the survey prints it, and the model that asks for it."""

    name: str
    ticks: tuple[Literal["record", "attribute", "table", "skewness_similarity", "continuous", "algorithm"], ...]
    model: str | None = None
    not_offered: str | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.model is None) == (self.not_offered is None):
            raise ValueError(f"{self.name} must have a model, or say why not")
        return self


class Measure(_CatalogueEntry):
    """A measure of what is lost, as the survey lists it, and the metric that computes it."""

    name: str
    category: Literal["general", "special", "tradeoff"] | None = None
    metric: str | None = None
    not_offered: str | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.metric is None) == (self.not_offered is None):
            raise ValueError(f"{self.name} must have a metric, or say why not")
        return self


class Catalogue(_CatalogueEntry):
    """Everything that the sources print, and the rules of choice."""

    sources: dict[str, str]
    ranks: dict[str, Rank]
    techniques: Annotated[tuple[Technique, ...], Field(min_length=1)]
    rules: Annotated[tuple[ChoiceRule, ...], Field(min_length=1)]
    properties: tuple[Property, ...]
    measures: tuple[Measure, ...]

    def technique(self, name: str) -> Technique:
        """The technique of a name, or a PolicyError with the nearest name."""
        by_name = {each.name: each for each in self.techniques}
        if name not in by_name:
            raise PolicyError(f"unknown technique '{name}'", hint=did_you_mean(name, by_name))
        return by_name[name]

    def rule(self, name: str) -> ChoiceRule:
        """The rule of a name."""
        return next(rule for rule in self.rules if rule.name == name)

    def rank(self, technique: Technique) -> Rank | None:
        """How the survey ranks a technique, by what it belongs to."""
        return self.ranks[technique.ranked_as] if technique.ranked_as else None

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak advise --techniques --json`."""
        return {
            "techniques": [self._told(each) for each in self.techniques],
            "rules": [rule.model_dump(mode="json") | {"source": self.sources[rule.source]} for rule in self.rules],
            "properties": [each.model_dump(mode="json") for each in self.properties],
            "measures": [each.model_dump(mode="json") for each in self.measures],
        }

    def _told(self, technique: Technique) -> dict[str, Any]:
        rank = self.rank(technique)
        return technique.model_dump(mode="json") | {
            "privacy": rank.privacy if rank else None,
            "utility": rank.utility if rank else None,
            "source": self.sources[technique.source],
        }


@cache
def catalogue() -> Catalogue:
    """The catalogue that comes with the package."""
    text = (files("tablecloak.profile") / "techniques.toml").read_text(encoding="utf-8")
    return Catalogue.model_validate(tomllib.loads(text))
