"""`tablecloak serve`: the web app."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from tablecloak.cli.output import remark
from tablecloak.cli.settings import Settings, uses
from tablecloak.errors import PolicyError
from tablecloak.values.amounts import parse_bytes

PORT = 8642


@uses("engine", "memory", "threads")
def serve(
    *,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = PORT,
    directory: Annotated[
        Path | None, typer.Option("--directory", "-d", help="Where projects are kept.", show_default=False)
    ] = None,
    ephemeral: Annotated[bool, typer.Option("--ephemeral", help="Delete everything when the server ends.")] = False,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Runs at the same time.")] = 1,
    root: Annotated[
        list[Path] | None,
        typer.Option("--root", help="Folder that files may be opened from; home and here by default. Repeatable."),
    ] = None,
    upload_limit: Annotated[str, typer.Option("--upload-limit", help="Largest file that can be uploaded.")] = "4GB",
    retention: Annotated[
        int, typer.Option("--retention", min=0, help="Days after which untouched projects are deleted; 0: never.")
    ] = 30,
    internet: Annotated[
        list[str] | None,
        typer.Option(
            "--internet",
            metavar="HOST",
            help="Server that records may be fetched from, as zenodo.org; none by default. Repeatable.",
        ),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the link.")] = False,
    settings: Settings,
) -> None:
    """Start the web app on this machine; stop it with Ctrl-C."""
    from tablecloak.server.app import LocalServer, free_port, open_browser
    from tablecloak.server.state import ServerSettings, default_directory

    if ephemeral and directory is not None:
        raise PolicyError("--ephemeral keeps nothing, so it needs no --directory", hint="use one of the two")
    limit = parse_bytes(upload_limit)
    overrides: dict[str, Any] = {
        "port": port or free_port(),
        "workers": workers,
        "threads": settings.threads,
        "engine": settings.engine.value,
        "memory": settings.memory_bytes,
        "upload_limit_bytes": limit,
        "expanded_limit_bytes": 4 * limit,
        "retention_days": retention or None,
        "internet": frozenset(internet or ()),
        **({"roots": tuple(folder.resolve() for folder in root)} if root else {}),
    }
    make = ServerSettings.ephemeral if ephemeral else partial(ServerSettings, directory or default_directory())
    chosen = make(**overrides)
    server = LocalServer(chosen)

    def ready() -> None:
        link = server.link()
        remark(settings, f"tablecloak is at {link}\nThe link works once. Stop with Ctrl-C.")
        if not no_browser:
            open_browser(link)

    server.run(ready)
