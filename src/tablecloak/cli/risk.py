"""`tablecloak risk`: how exposed the records of any table are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.cli.columns import column_names
from tablecloak.cli.output import emit
from tablecloak.cli.settings import Settings
from tablecloak.cli.streams import readable

if TYPE_CHECKING:
    import polars as pl


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
    names = column_names(quasi)
    with readable(data) as source:
        from tablecloak.engines.alike import count_alike
        from tablecloak.handover import risk_of
        from tablecloak.io.sniff import sniff
        from tablecloak.io.sources import Source
        from tablecloak.io.tabular import read_frame, require_rows
        from tablecloak.profile.uniqueness import risk_of_frame
        from tablecloak.report import profile_lines

        assert source is not None
        known = sniff(Source.of(source)).names
        frame = require_rows(
            read_frame(source, columns=list(dict.fromkeys([*names, *known])), categorical=names), source
        )
        everything = risk_of(count_alike(frame, [frame.columns])[0]).to_dict()
        report = {"quasi": names, **risk_of_frame(frame, names).to_dict()}
        report["published"] = {"columns": frame.width, **everything}
        report |= _closer(frame, names, subsets, people)
    emit(settings, report, profile_lines.risk_lines(report))


def _closer(frame: pl.DataFrame, names: Sequence[str], subsets: int, people: int | None) -> dict[str, Any]:
    """What only is counted on request."""
    from tablecloak.profile.column import column_of
    from tablecloak.risks.grouping import class_sizes
    from tablecloak.risks.population import estimate_all
    from tablecloak.risks.subsets import dependencies, keys, riskiest, subset_risks
    from tablecloak.risks.uniques import minimal_uniques

    found: dict[str, Any] = {}
    codes = {name: column_of(frame[name])[1] for name in names} if subsets or people else {}
    if subsets:
        risks = subset_risks(codes, largest=subsets)
        found["subsets"] = [r.to_dict() for r in riskiest(risks, most=20)]
        found["keys"] = [list(key) for key in keys(risks)]
        found["dependencies"] = [d.to_dict() for d in dependencies(risks)]
        found["minimal_uniques"] = minimal_uniques(codes, largest=subsets).to_dict()
    if people:
        found["population"] = [e.to_dict() for e in estimate_all(class_sizes(list(codes.values())), people)]
    return found
