"""Arguments and options that several commands share, and what they name: policies, columns, stdin and stdout."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from tablecloak.cli.output import emit_bytes
from tablecloak.cli.settings import Settings
from tablecloak.errors import PolicyError
from tablecloak.io.places import Place, place_of
from tablecloak.io.private import PrivateFolder, spooled
from tablecloak.values.amounts import parse_seconds

if TYPE_CHECKING:
    from tablecloak.policy.schema import Policy

STREAM = "-"  # as the name of a file: stdin or stdout
DATA = "FILE|URI"  # also a folder or pattern of files, and a table of a database
PolicyFile: TypeAlias = Annotated[Path, typer.Argument(help="Policy file (YAML).")]
RolesFile: TypeAlias = Annotated[
    Path | None, typer.Option("--policy", "-p", help="Policy with the roles of columns.")
]  # fmt: skip
Header: TypeAlias = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first row has the names of columns.", show_default=False),
]
Repair: TypeAlias = Annotated[
    bool, typer.Option("--repair", help="Give names to columns whose header is missing or spoilt, and say why.")
]
Set: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change the policy for this run, as in goals.0.k=10. Repeatable."),
]
EffortName = StrEnum("EffortName", ["fast", "balanced", "best"])
Effort: TypeAlias = Annotated[
    EffortName | None, typer.Option("--effort", help="How long to look for less loss: effort of the algorithm.")
]
Budget: TypeAlias = Annotated[
    str | None,
    typer.Option("--budget", metavar="TIME", help="Time for the search, as in 30s or 2min: its time_limit."),
]
Strict: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="Exit code 3 if there are findings that the policy does not accept.")
]
Quasi: TypeAlias = Annotated[
    str | None, typer.Option("--quasi", metavar="A,B,..", help="Quasi-identifiers, instead of the policy's.")
]
Page: TypeAlias = Annotated[
    Path | None, typer.Option("--html", help="Page to write, one file that needs nothing else.")
]  # fmt: skip
Force: TypeAlias = Annotated[bool, typer.Option("--force", "-f", help="Replace files that exist.")]


def column_names(text: str | None, option: str = "--quasi") -> list[str]:
    """The columns of a list such as `age,sex,zip`; a name with a comma is written in double quotes."""
    if text is None:
        return []
    names = [name.strip() for row in csv.reader([text], skipinitialspace=True) for name in row]
    if not names or not all(names):
        raise PolicyError(f"{option} '{text}' is not a list of columns", hint=f"write {option} age,sex,zip")
    return list(dict.fromkeys(names))


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
    effort: EffortName | None = None,
    budget: str | None = None,
) -> Policy:
    """The policy with everything that the command line changes; `--effort` and `--budget` after `--set`."""
    from tablecloak.policy.load import load_policy

    policy = load_policy(path, changes or ()).with_files(source=source, target=target)
    policy = policy.model_copy(update={"strict": True}) if strict else policy
    if effort is not None:
        policy = policy.with_parameter("effort", effort.value, asked="--effort")
    if budget is not None:
        policy = policy.with_parameter("time_limit", parse_seconds(budget, "--budget"), asked="--budget")
    return policy if settings.seed is None else policy.with_seed(settings.seed)


# Streams -------------------------------------------------------------------------------------------------------------


@contextmanager
def readable(named: str) -> Iterator[Place]:
    """The place that was named, or for `-` a private temporary file with what stdin holds."""
    if named != STREAM:
        yield place_of(named)
        return
    with spooled(sys.stdin.buffer, name="stdin.csv") as copy:
        yield copy


def readable_if_named(named: str | None) -> AbstractContextManager[Place | None]:
    """The same, where something was named."""
    return nullcontext() if named is None else readable(named)


@contextmanager
def writable(named: str) -> Iterator[str]:
    """What was named, or for `-` a private temporary file that goes to stdout when the work is done."""
    if named != STREAM:
        yield named
        return
    with PrivateFolder.temporary() as folder:
        copy = folder / "stdout.csv"
        yield str(copy)
        with copy.open("rb") as source:
            emit_bytes(iter(lambda: source.read(1 << 20), b""))


def writable_if_named(named: str | None, settings: Settings) -> AbstractContextManager[str | None]:
    """The same for a release, where something was named; stdout takes either the release or JSON."""
    if named == STREAM and settings.json:
        raise PolicyError("--json and --output - both want stdout", hint="write the release to a file")
    return nullcontext() if named is None else writable(named)
