"""`tablecloak risk`: how exposed the records of any table are."""

from __future__ import annotations

from typing import Annotated

import typer

from tablecloak.cli.options import column_names, readable
from tablecloak.cli.output import emit
from tablecloak.cli.settings import ENGINE, Settings, uses


@uses(*ENGINE)
def risk(
    data: Annotated[str, typer.Argument(help="Data to look at, original or release; - is stdin.")],
    *,
    quasi: Annotated[
        str, typer.Option("--quasi", metavar="A,B,..", help="Columns that others may know about a person.")
    ],
    subsets: Annotated[
        int, typer.Option("--subsets", min=0, max=5, help="Also the risk of every set of up to so many columns.")
    ] = 0,
    people: Annotated[
        int | None, typer.Option("--people", min=1, help="People in the population that the table is a sample of.")
    ] = None,
    settings: Settings,
) -> None:
    """Measure how many records of a table are unique on the given columns, and how likely they are singled out."""
    with readable(data) as source:
        from tablecloak.measure.exposure import expose_file
        from tablecloak.report.about.table import exposed

        report = expose_file(
            source, column_names(quasi), subsets=subsets, people=people, demand=settings.demand
        ).to_dict()
    emit(settings, report, exposed(report))
