"""`tablecloak fetch`: a table of a record on Zenodo or a Dataverse server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.cli.options import Force
from tablecloak.cli.output import emit
from tablecloak.cli.settings import Settings
from tablecloak.errors import PolicyError
from tablecloak.values.amounts import parse_bytes, show_size

if TYPE_CHECKING:
    from tablecloak.io.repositories import Record


def fetch(
    record: Annotated[str, typer.Argument(help="Address of a record on Zenodo or a Dataverse server, or its DOI.")],
    *,
    file: Annotated[
        str | None, typer.Option("--file", help="File to fetch; without it, the files are listed.", show_default=False)
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write it; its own name by default.")
    ] = None,
    token: Annotated[
        str | None, typer.Option("--token", help="Where a token is: env:NAME or file:PATH; never the token itself.")
    ] = None,
    internet: Annotated[
        list[str] | None,
        typer.Option("--internet", help="Another server that may be asked, where the first one sends us on."),
    ] = None,
    limit: Annotated[str, typer.Option("--limit", help="Largest file that is fetched.")] = "4GB",
    force: Force = False,
    settings: Settings,
) -> None:
    """List the files of a record, or fetch one of them. The only command that uses the internet."""
    if target is not None and file is None:
        raise PolicyError("nothing is written without --file", hint="name one of the files that are listed")
    from tablecloak.io.atomic import Outputs
    from tablecloak.io.repositories import Remote, look_up, save_file, servers_of

    remote = Remote(frozenset([*servers_of(record), *(internet or ())]), limit_bytes=parse_bytes(limit))
    listing = look_up(record, remote, token=token)
    if file is None:
        emit(settings, listing.to_dict(), _lines(listing))
        return
    path = target or Path(Path(file).name)
    secret = Path(token[5:]).expanduser() if token and token.startswith("file:") else None
    with Outputs(reads=[secret], force=force) as outputs:
        save_file(listing, file, outputs.add(path, is_private=True), remote, token=token)
    written: dict[str, Any] = {"file": str(path), "bytes": path.stat().st_size}
    emit(settings, written, [f"Wrote {path} ({written['bytes']:,} bytes)"])


def _lines(record: Record) -> Iterator[str]:
    yield f"{record.title} ({record.host})"
    for file in record.files:
        size = "?" if file.n_bytes is None else show_size(file.n_bytes)
        remarks = [*(["not a table"] if not file.is_table else []), *(["restricted"] if file.is_restricted else [])]
        yield f"  {file.name}  {size}" + (f"  ({', '.join(remarks)})" if remarks else "")
