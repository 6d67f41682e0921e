"""`tablecloak risk`: how exposed the records of any table are."""

from __future__ import annotations

from typing import Annotated

import typer

from tablecloak.cli.columns import column_names
from tablecloak.cli.output import emit
from tablecloak.cli.settings import Settings
from tablecloak.cli.streams import readable


def risk(
    data: Annotated[str, typer.Argument(help="Data to look at, original or release; - is stdin.")],
    *,
    quasi: Annotated[
        str, typer.Option("--quasi", metavar="A,B,..", help="Columns that others may know about a person.")
    ],
    settings: Settings,
) -> None:
    """Measure how many records of a table are unique on the given columns, and how likely they are singled out."""
    names = column_names(quasi)
    with readable(data) as source:
        from tablecloak.io.tabular import read_frame, require_rows
        from tablecloak.profile.uniqueness import risk_of_frame
        from tablecloak.report import profile_lines

        assert source is not None
        frame = require_rows(read_frame(source, columns=names, categorical=names), source)
        report = {"quasi": names, **risk_of_frame(frame, names).to_dict()}
    emit(settings, report, profile_lines.risk_lines(report))
