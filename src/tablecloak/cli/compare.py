"""`tablecloak compare`: a release beside its original, or two releases beside each other."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tablecloak.cli.options import Force, Page, Quasi, RolesFile, column_names, read_optional_policy, readable
from tablecloak.cli.output import PagedResult, emit_page
from tablecloak.cli.settings import Settings, uses
from tablecloak.io.places import place_of


@uses("engine", "memory", "threads", "seed")
def compare(
    a: Annotated[str, typer.Argument(help="The data as it was; with --original, the first of two releases.")],
    b: Annotated[str, typer.Argument(help="The data as published, by any tool; - is stdin.")],
    *,
    original: Annotated[
        str | None, typer.Option("--original", help="The data as it was, to compare the releases A and B.")
    ] = None,
    policy: RolesFile = None,
    quasi: Quasi = None,
    target: Annotated[
        str | None, typer.Option("--target", help="Column that models learn to predict, from release and original.")
    ] = None,
    learner: Annotated[str, typer.Option("--learner", help="How: forest, logistic, tree or bayes.")] = "forest",
    html: Page = None,
    force: Force = False,
    settings: Settings,
) -> None:
    """Compare a release with its original, or two releases of one original: risk, attacks, utility. Shows no cell."""
    with readable(b) as published:
        from tablecloak.measure.two_releases import contrast_files, judge_files
        from tablecloak.report.about import compare as about

        first, before = place_of(a), place_of(original) if original else None
        options: dict[str, Any] = {
            "policy": read_optional_policy(policy, settings), "quasi": column_names(quasi), "target": target,
            "learner": learner, "demand": settings.demand,
        }  # fmt: skip

        def work() -> PagedResult:
            if before is None:
                report = judge_files(first, published, **options).to_dict()
                return report, about.judged(report)
            report = contrast_files(first, published, before, **options).to_dict()
            return report, about.contrasted(report)

        emit_page(settings, work, page=html, reads=[first, before, published, policy], force=force)
