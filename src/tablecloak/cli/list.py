"""`tablecloak list`: what there is to choose from."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from tablecloak.cli.output import emit
from tablecloak.cli.settings import Settings
from tablecloak.engines import ENGINES


class ListedKind(StrEnum):
    """What can be listed."""

    MODELS = "models"
    ALGORITHMS = "algorithms"
    METRICS = "metrics"
    ATTACKS = "attacks"
    HIERARCHIES = "hierarchies"
    TRANSFORMS = "transforms"
    DETECTORS = "detectors"
    FINDINGS = "findings"
    PRESETS = "presets"
    FORMATS = "formats"
    ENGINES = "engines"


def list_things(
    kind: Annotated[ListedKind | None, typer.Argument(help="What to list; everything by default.")] = None,
    *,
    settings: Settings,
) -> None:
    """List models, algorithms, transforms, hierarchies, metrics, attacks, detectors, findings, presets, engines .."""
    kinds = list(ListedKind) if kind is None else [kind]
    entries = {str(k): [_entry(name, thing) for name, thing in things_of(k).items()] for k in kinds}
    from tablecloak.report.about.things import available

    emit(settings, entries, available(entries))


def things_of(kind: ListedKind) -> dict[str, Any]:
    """What there is of a kind, by name: what was registered, or a sentence."""
    if kind is ListedKind.ENGINES:
        return {name: engine.summary for name, engine in ENGINES.items()}
    if kind is ListedKind.PRESETS:
        from tablecloak.profile.presets import presets

        return {name: preset.summary for name, preset in presets().items()}
    from tablecloak import registry

    return dict(registry.known(kind))


def _entry(name: str, thing: Any) -> dict[str, Any]:
    return {"name": name, "summary": summary_of(thing), "parameters": _parameters(thing)}


def summary_of(thing: Any) -> str:
    """One sentence: what a thing says of itself, or the first line of its docstring."""
    text = thing if isinstance(thing, str) else getattr(thing, "summary", None) or thing.__doc__ or ""
    return str(text).strip().partition("\n")[0]


def _parameters(thing: Any) -> list[str]:
    if isinstance(thing, type) and is_dataclass(thing):
        return [field.name for field in fields(thing)]
    return [f.alias or n for n, f in getattr(thing, "model_fields", {}).items()]
