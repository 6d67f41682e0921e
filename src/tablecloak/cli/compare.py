"""`tablecloak compare`: a release beside its original."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.columns import column_names
from tablecloak.cli.output import emit
from tablecloak.cli.policies import read_policy
from tablecloak.cli.settings import Settings
from tablecloak.cli.streams import readable
from tablecloak.io.places import place_of


def compare(
    original: Annotated[str, typer.Argument(help="The data as it was.")],
    release: Annotated[str, typer.Argument(help="The data as published, by any tool; - is stdin.")],
    *,
    policy: Annotated[Path | None, typer.Option("--policy", "-p", help="Policy with quasi-identifiers.")] = None,
    quasi: Annotated[
        str | None, typer.Option("--quasi", metavar="A,B,..", help="Quasi-identifiers, instead of the policy's.")
    ] = None,
    settings: Settings,
) -> None:
    """Compare risk, loss and distributions before and after. Shows no cell of either file."""
    with readable(release) as published:
        from tablecloak.comparison import compare_files
        from tablecloak.report import profile_lines

        assert published is not None
        wanted = None if policy is None else read_policy(policy, None, settings)
        names = column_names(quasi) if quasi is not None else ()
        report = compare_files(place_of(original), published, policy=wanted, quasi=names).to_dict()
    emit(settings, report, profile_lines.compare_lines(report))
