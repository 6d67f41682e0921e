"""`tablecloak key`: keys of pseudonyms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.output import emit, remark
from tablecloak.cli.settings import Settings, accepting_settings

app = typer.Typer(no_args_is_help=True, help="Draw keys of pseudonyms, and see what they are called.")


@app.command()
@accepting_settings
def new(
    file: Annotated[Path, typer.Argument(help="File for the key; if it has keys, the new one comes behind them.")],
    *,
    name: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="What the key is called; else it follows from the key.")
    ] = None,
    settings: Settings,
) -> None:
    """Draw a key and write it to a file that only its owner may read. The last key of a file is the one in use."""
    from tablecloak.transforms._keys import add_key

    key = add_key(file.expanduser(), name)
    emit(settings, {"id": key.id, "file": str(file)}, [key.id])


@app.command("show-id")
@accepting_settings
def show_id(
    place: Annotated[str, typer.Argument(help="Where keys are: env:NAME, file:PATH or file:PATH#ID.")],
    *,
    settings: Settings,
) -> None:
    """Print what the key in use is called. Nothing about the key follows from it."""
    from tablecloak.policy.secrets import is_public_place, split_place
    from tablecloak.transforms._keys import read_key, read_keys

    key = read_key(place, Path())
    ids = [each.id for each in read_keys(split_place(place)[0], Path())]
    is_public = is_public_place(place, Path())
    emit(settings, {"id": key.id, "ids": ids, "is_public": is_public}, [key.id])
    if is_public:
        remark(settings, "Note: others than its owner may read the file; whoever did has the key: chmod 600, new key")
