"""`tablecloak compare`: a release beside its original, or two releases beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tablecloak.cli.columns import column_names
from tablecloak.cli.output import emit, page_at, remark
from tablecloak.cli.policies import read_optional_policy
from tablecloak.cli.settings import Settings, uses
from tablecloak.cli.streams import readable
from tablecloak.io.places import Place, place_of


@uses("engine", "memory", "threads", "seed")
def compare(
    a: Annotated[str, typer.Argument(help="The data as it was; with --original, the first of two releases.")],
    b: Annotated[str, typer.Argument(help="The data as published, by any tool; - is stdin.")],
    *,
    original: Annotated[
        str | None, typer.Option("--original", help="The data as it was, to compare the releases A and B.")
    ] = None,
    policy: Annotated[Path | None, typer.Option("--policy", "-p", help="Policy with quasi-identifiers.")] = None,
    quasi: Annotated[
        str | None, typer.Option("--quasi", metavar="A,B,..", help="Quasi-identifiers, instead of the policy's.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", help="Column that models learn to predict, from release and original.")
    ] = None,
    learner: Annotated[str, typer.Option("--learner", help="How: forest, logistic, tree or bayes.")] = "forest",
    html: Annotated[
        Path | None, typer.Option("--html", help="Page to write, one file that needs nothing else.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    settings: Settings,
) -> None:
    """Compare a release with its original, or two releases of one original: risk, attacks, utility. Shows no cell."""
    with readable(b) as published:
        from tablecloak.measure.two_releases import contrast_files, judge_files
        from tablecloak.report.about import compare as about

        assert published is not None
        options: dict[str, Any] = {
            "policy": read_optional_policy(policy, settings),
            "quasi": column_names(quasi) if quasi is not None else (),
            "target": target,
            "learner": learner,
            "demand": settings.demand,
        }
        reads: list[Place | None] = [place_of(a), place_of(original) if original else None, published, policy]
        with page_at(html, reads, force=force) as write:
            if original is None:
                report = judge_files(place_of(a), published, **options).to_dict()
                document = about.judged(report)
            else:
                report = contrast_files(place_of(a), published, place_of(original), **options).to_dict()
                document = about.contrasted(report)
            if html is not None:
                write(document)
    emit(settings, report, document.blocks)
    if html is not None:
        remark(settings, f"Wrote {html}.")
