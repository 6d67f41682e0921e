"""`tablecloak inspect`: what a table shows before anything is done to it."""

from __future__ import annotations

from typing import Annotated

import typer

from tablecloak.cli.options import Header, Repair, readable
from tablecloak.cli.output import emit
from tablecloak.cli.settings import Settings, uses
from tablecloak.io.places import place_of


@uses("engine", "memory", "threads")
def inspect_data(
    data: Annotated[str, typer.Argument(help="Data to look at; - is stdin.")],
    *,
    people: Annotated[
        int | None, typer.Option("--people", min=1, help="People that the data is a sample of.", show_default=False)
    ] = None,
    header: Header = None,
    repair: Repair = False,
    settings: Settings,
) -> None:
    """Profile a table: types, what columns look like, suggested roles, who stands alone. Shows no cell of it."""
    with readable(data) as source:
        from tablecloak.profile.profile import inspect_file
        from tablecloak.report.about.table import inspected

        profile = inspect_file(
            source, header=header, repair=repair, population=people, demand=settings.demand
        ).to_dict()  # fmt: skip
    profile["file"]["path"] = str(place_of(data))
    emit(settings, profile, inspected(profile))
