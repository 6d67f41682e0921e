"""`tablecloak codebook`: what the values of a release mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.options import Force, RolesFile, read_optional_policy, readable
from tablecloak.cli.output import emit, remark
from tablecloak.cli.settings import Settings, uses
from tablecloak.errors import PolicyError


@uses()
def codebook(
    release: Annotated[str, typer.Argument(help="The data as published, by any tool; - is stdin.")],
    *,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where it goes: a .csv or an .html file.")
    ] = None,
    policy: RolesFile = None,
    force: Force = False,
    settings: Settings,
) -> None:
    """Say what every value of a release means: bounds of intervals, members of sets, and how many records show it."""
    if output is not None and output.suffix.lower() not in (".csv", ".html"):
        raise PolicyError(f"a codebook is a .csv or an .html file, not '{output.suffix}'", hint="-o codebook.html")
    with readable(release) as place:
        from tablecloak import api
        from tablecloak.io.atomic import replace_when_done, writing
        from tablecloak.io.tabular import write_frame
        from tablecloak.report.about.codebook import codebook_of
        from tablecloak.report.render.html import page

        values = api.codebook(place, read_optional_policy(policy, settings))
        document = codebook_of(values, Path(release).name if release != "-" else "the release")
        if output is None:
            emit(settings, values.to_dicts(), document.blocks)
            return
        with replace_when_done(output, reads=[place, policy], force=force) as target, writing(target):
            if output.suffix.lower() == ".csv":
                write_frame(values, target, format="csv")
            else:
                target.write_text(page(document), encoding="utf-8")
    remark(settings, f"Wrote {output}.")
