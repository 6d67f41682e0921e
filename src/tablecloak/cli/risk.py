"""`tablecloak risk`: how exposed the records of any table are."""

from __future__ import annotations

from typing import Annotated

import typer

from tablecloak.cli.options import Header, Repair, column_names, readable
from tablecloak.cli.output import emit
from tablecloak.cli.settings import ENGINE, Settings, uses
from tablecloak.errors import PolicyError

# Items of a set that others know, where nobody says how many.
KNOWN = 2


@uses(*ENGINE)
def risk(
    data: Annotated[str, typer.Argument(help="Data to look at, original or release; - is stdin.")],
    *,
    quasi: Annotated[
        str | None, typer.Option("--quasi", metavar="A,B,..", help="Columns that others may know about a person.")
    ] = None,
    items: Annotated[
        str | None, typer.Option("--items", metavar="COLUMN", help="Column of sets of items, instead of --quasi.")
    ] = None,
    subsets: Annotated[
        int | None,
        typer.Option("--subsets", min=0, max=5, help="Also the risk of every set of up to so many columns, or items."),
    ] = None,
    people: Annotated[
        int | None, typer.Option("--people", min=1, help="People in the population that the table is a sample of.")
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option("--weight", metavar="COLUMN", help="How many people each record of a survey stands for."),
    ] = None,
    separator: Annotated[
        str | None, typer.Option("--separator", help="What stands between the items of a cell; ; by default.")
    ] = None,
    format: Annotated[  # noqa: A002
        str | None, typer.Option("--format", help="Format of the file, where its name does not tell it: sets, csv, ..")
    ] = None,
    header: Header = None,
    repair: Repair = False,
    settings: Settings,
) -> None:
    """Measure how many records of a table are unique on the given columns, and how likely they are singled out."""
    if (quasi is None) == (items is None):
        raise PolicyError("give --quasi or --items", hint="--quasi age,sex,zip; or --items COLUMN for sets of items")
    if items is not None and people is not None:
        raise PolicyError("--people estimates records that are unique on columns", hint="leave it out with --items")
    if items is not None and weight is not None:
        raise PolicyError("--weight estimates who is found by columns", hint="leave it out with --items")
    if items is None and separator is not None:
        raise PolicyError("--separator stands between items of sets", hint="leave it out with --quasi")
    with readable(data) as place:
        from tablecloak.io.sources import Source

        source = Source.of(place, format=format, header=header, repair=repair)
        if items is not None:
            from tablecloak.measure.sets import expose_sets
            from tablecloak.report.about.sets import exposed_sets

            report = expose_sets(
                source, items, separator=separator, n_known=subsets or KNOWN, demand=settings.demand
            ).to_dict()
            emit(settings, report, exposed_sets(report))
            return
        from tablecloak.measure.exposure import expose
        from tablecloak.report.about.table import exposed

        report = expose(
            source, column_names(quasi or ""), subsets=subsets or 0, people=people, weight=weight,
            demand=settings.demand,
        ).to_dict()  # fmt: skip
    emit(settings, report, exposed(report))
