"""`tablecloak list`: what there is to choose from."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from tablecloak.cli.output import emit
from tablecloak.cli.settings import Settings


class Kind(StrEnum):
    """What can be listed."""

    MODELS = "models"
    ALGORITHMS = "algorithms"
    METRICS = "metrics"
    ATTACKS = "attacks"
    HIERARCHIES = "hierarchies"
    DETECTORS = "detectors"
    FINDINGS = "findings"
    PRESETS = "presets"
    ENGINES = "engines"


def list_things(
    kind: Annotated[Kind | None, typer.Argument(help="What to list; everything by default.")] = None,
    *,
    settings: Settings,
) -> None:
    """List models, algorithms, metrics, attacks, hierarchy kinds, detectors, findings, presets and engines."""
    kinds = list(Kind) if kind is None else [kind]
    found = {str(k): [_entry(name, thing) for name, thing in _things(k).items()] for k in kinds}
    from tablecloak.report import terminal

    emit(settings, found, terminal.list_lines(found))


def _things(kind: Kind) -> dict[str, Any]:
    if kind is Kind.ENGINES:
        return {"local": "Works in the memory of this machine."}
    if kind is Kind.HIERARCHIES:
        from tablecloak.policy.schema import hierarchy_kinds

        return hierarchy_kinds()
    if kind is Kind.PRESETS:
        from tablecloak.profile.presets import presets

        return {name: preset.summary for name, preset in presets().items()}
    from tablecloak import registry

    return dict(registry.known(kind))


def _entry(name: str, thing: Any) -> dict[str, Any]:
    text = thing if isinstance(thing, str) else thing.__doc__ or ""
    return {"name": name, "summary": text.strip().partition("\n")[0], "parameters": _parameters(thing)}


def _parameters(thing: Any) -> list[str]:
    if is_dataclass(thing):
        return [field.name for field in fields(thing)]
    return [f.alias or n for n, f in getattr(thing, "model_fields", {}).items() if n != "kind"]
