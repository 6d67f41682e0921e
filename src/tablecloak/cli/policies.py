"""Arguments that name a policy, and reading it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from tablecloak.cli.settings import Settings
from tablecloak.errors import PolicyError

if TYPE_CHECKING:
    from tablecloak.io.places import Place
    from tablecloak.policy.schema import Policy

DATA = "FILE|URI"  # also a folder or pattern of files, and a table of a database
PolicyFile: TypeAlias = Annotated[Path, typer.Argument(help="Policy file (YAML).")]
Header: TypeAlias = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first row has the names of columns.", show_default=False),
]
Set: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change the policy for this run, as in goals.0.k=10. Repeatable."),
]
Strict: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="Exit code 3 if there are findings that the policy does not accept.")
]


def read_optional_policy(path: Path | None, settings: Settings) -> Policy | None:
    """The policy, where one is named; without one there is no seed to replace."""
    if path is not None:
        return read_policy(path, None, settings)
    if settings.seed is not None:
        raise PolicyError("--seed replaces the seed of a policy, and none is named", hint="add --policy FILE")
    return None


def read_policy(
    path: Path,
    changes: Sequence[str] | None,
    settings: Settings,
    *,
    source: str | Place | None = None,
    target: str | Place | None = None,
    strict: bool = False,
) -> Policy:
    """The policy with everything that the command line changes."""
    from tablecloak.policy.load import load_policy

    policy = load_policy(path, changes or ()).with_files(source=source, target=target)
    policy = policy.model_copy(update={"strict": True}) if strict else policy
    return policy if settings.seed is None else policy.with_seed(settings.seed)
