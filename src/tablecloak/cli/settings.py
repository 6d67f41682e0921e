"""Options that every command understands, before or after its name."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["Engine", "Settings", "accepting_settings", "keep_settings"]

PANEL = "Options of every command"


class Engine(StrEnum):
    """What does the counting."""

    AUTO = "auto"
    LOCAL = "local"
    DUCKDB = "duckdb"
    SPARK = "spark"


def _option(*names: str, help: str, **more: Any) -> Any:  # noqa: A002
    return typer.Option(*names, help=help, rich_help_panel=PANEL, **more)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user asked of every command."""

    json: Annotated[bool, _option("--json", help="Machine-readable result on stdout.")] = False
    quiet: Annotated[bool, _option("--quiet", "-q", help="No progress, no messages.")] = False
    verbose: Annotated[bool, _option("--verbose", "-v", help="Show where an unexpected error came from.")] = False
    no_color: Annotated[bool, _option("--no-color", help="Plain text; the variable NO_COLOR does the same.")] = False
    threads: Annotated[int | None, _option("--threads", min=1, help="Threads to use; all by default.")] = None
    seed: Annotated[int | None, _option("--seed", min=0, help="Replaces the seed of the policy.")] = None
    memory: Annotated[
        str | None, _option("--memory", help="What may be used, as in 8GB; by default what there is.")
    ] = None
    engine: Annotated[Engine, _option("--engine", help="What does the work; auto decides by the size.")] = Engine.AUTO
    spark: Annotated[
        str | None, _option("--spark", help="Cluster, as in spark://host:port, local[2] or sc://host:port.")
    ] = None
    spill: Annotated[Path | None, _option("--spill", help="Folder for what does not fit memory.")] = None

    @property
    def memory_bytes(self) -> int | None:
        """The memory limit as a number."""
        from tablecloak.amounts import parse_bytes

        return None if self.memory is None else parse_bytes(self.memory)


_OPTIONS = inspect.get_annotations(Settings, eval_str=True)
_DEFAULTS = {field.name: field.default for field in fields(Settings)}


def accepting_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Settings`, which it receives as its argument `settings`."""

    def run(context: typer.Context, given: dict[str, Any], arguments: dict[str, Any]) -> None:
        command(**arguments, settings=_in_effect(context.obj or Settings(), given))

    return _with_options(command, run)


def keep_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give the step before every command the options of `Settings`, and keep them for the command."""

    def run(context: typer.Context, given: dict[str, Any], arguments: dict[str, Any]) -> None:
        context.obj = _in_effect(context.obj or Settings(), given)
        command(**arguments, settings=context.obj)

    return _with_options(command, run)


def _with_options(
    command: Callable[..., None], run: Callable[[typer.Context, dict[str, Any], dict[str, Any]], None]
) -> Callable[..., None]:
    signature = inspect.signature(command, eval_str=True)
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    own = [p for p in signature.parameters.values() if p.name != "settings"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_DEFAULTS[name], annotation=annotation)
        for name, annotation in _OPTIONS.items()
    ]
    parameters = [context, *own, *added]

    @functools.wraps(command)
    def wrapped(context: typer.Context, **arguments: Any) -> None:
        given = {name: arguments.pop(name) for name in _OPTIONS}
        run(context, given, arguments)

    # typer reads the options from the signature.
    wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapped


def _in_effect(before: Settings, after: dict[str, Any]) -> Settings:
    settings = replace(before, **{name: value for name, value in after.items() if value != _DEFAULTS[name]})
    if settings.no_color:
        os.environ["NO_COLOR"] = "1"
    if settings.threads is not None:
        # polars reads this once, when it is imported, which no command has done yet.
        os.environ["POLARS_MAX_THREADS"] = str(settings.threads)
    return settings
