"""Options that every command understands, before or after its name; each says which of them it uses."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.engines import ENGINES
from tablecloak.errors import PolicyError

if TYPE_CHECKING:
    from tablecloak.engines.choose import Demand, EngineOptions

PANEL = "Options of every command"
EngineName = StrEnum("EngineName", ["auto", *ENGINES])  # type: ignore[misc]
AUTO = EngineName("auto")


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
    engine: Annotated[EngineName, _option("--engine", help="What does the work; auto decides by the size.")] = AUTO
    spark: Annotated[
        str | None, _option("--spark", help="Cluster, as in spark://host:port, local[2] or sc://host:port.")
    ] = None
    spill: Annotated[Path | None, _option("--spill", help="Folder for what does not fit memory.")] = None

    @property
    def memory_bytes(self) -> int | None:
        """The memory limit as a number."""
        from tablecloak.values.amounts import parse_bytes

        return None if self.memory is None else parse_bytes(self.memory)

    @property
    def engine_options(self) -> EngineOptions:
        """What verbs are told about the engine."""
        return {
            "engine": self.engine, "memory": self.memory_bytes, "spill": self.spill, "threads": self.threads,
            "spark": self.spark,
        }  # fmt: skip

    @property
    def demand(self) -> Demand:
        """The engine that was asked for."""
        from tablecloak.engines.choose import Demand

        return Demand(self.engine, self.memory_bytes, self.spill, self.threads, spark=self.spark)


_OPTIONS = inspect.get_annotations(Settings, eval_str=True)
_DEFAULTS = {field.name: field.default for field in fields(Settings)}
# What every command does; the others are for those that declare them.
SPOKEN = ("json", "quiet", "verbose", "no_color")
DECLARED = tuple(name for name in _OPTIONS if name not in SPOKEN)
ENGINE = ("engine", "memory", "threads", "spill", "spark")
_USES = "tablecloak_options"


def uses(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare the shared options that a command uses; any other one that is given to it is refused by name."""

    def declare(command: Callable[..., None]) -> Callable[..., None]:
        setattr(command, _USES, frozenset(names))
        return command

    return declare


def used_by(command: Callable[..., None]) -> frozenset[str]:
    """The shared options that a command declares."""
    declared: frozenset[str] = getattr(command, _USES, frozenset())
    return declared


def accepting_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Settings`, which it receives as its argument `settings`."""

    def run(context: typer.Context, options: dict[str, Any], arguments: dict[str, Any]) -> None:
        settings = _in_effect(context.obj or Settings(), options)
        refuse_unused(settings, used_by(command), context.command_path)
        command(**arguments, settings=settings)

    return _with_options(command, run)


def keep_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give the step before every command the options of `Settings`, and keep them for the command."""

    def run(context: typer.Context, options: dict[str, Any], arguments: dict[str, Any]) -> None:
        context.obj = _in_effect(context.obj or Settings(), options)
        command(**arguments, settings=context.obj)

    return _with_options(command, run)


def refuse_unused(settings: Settings, used: Collection[str], command: str) -> None:
    """Raise PolicyError if an option was given that a command does nothing with."""
    for name in DECLARED:
        if name not in used and getattr(settings, name) != _DEFAULTS[name]:
            options = ", ".join(f"--{other}" for other in DECLARED if other in used)
            raise PolicyError(
                f"`{command}` does not use --{name}", hint=f"leave it out; of these options it uses {options or 'none'}"
            )


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
        options = {name: arguments.pop(name) for name in _OPTIONS}
        run(context, options, arguments)

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
