"""`tablecloak explore`: what variants of a policy risk and what they keep."""

from __future__ import annotations

from typing import Annotated

import typer

from tablecloak.cli.options import Force, Page, PolicyFile, Set, read_policy, readable_if_named
from tablecloak.cli.output import PagedResult, emit_page, progress_for
from tablecloak.cli.settings import ENGINE, Settings, uses
from tablecloak.errors import PolicyError


@uses(*ENGINE, "seed")
def explore(
    policy: PolicyFile,
    data: Annotated[str | None, typer.Argument(help="Data to explore, instead of the policy's input.")] = None,
    *,
    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", metavar="NAME=VALUES", help="As in k=2..20 or algorithm=mondrian,auto. Repeatable."),
    ] = None,
    risk: Annotated[
        str, typer.Option("--risk", help="What counts as risk: highest, average, unique or guess.")
    ] = "highest",
    utility: Annotated[str, typer.Option("--utility", help="The metric that counts as what is lost.")] = "gcp",
    html: Page = None,
    force: Force = False,
    changes: Set = None,
    settings: Settings,
) -> None:
    """Compare variants of a policy by risk and utility, and find the knee of the frontier. Writes no release."""
    if not vary:
        raise PolicyError("nothing varies", hint="--vary k=2..20 --vary algorithm=mondrian,auto")
    with readable_if_named(data) as source, progress_for(settings) as progress:
        loaded_policy = read_policy(policy, changes, settings, source=source)
        from tablecloak.measure.explore import explore_policy
        from tablecloak.policy.variations import parse_axis
        from tablecloak.report.about.explore import explored

        axes = [parse_axis(text) for text in vary]

        def work() -> PagedResult:
            report = explore_policy(
                loaded_policy, axes, risk=risk, utility=utility, progress=progress, **settings.engine_options
            ).to_dict()
            return report, explored(report, policy.name)

        emit_page(settings, work, page=html, reads=[policy, *loaded_policy.reads], force=force)
