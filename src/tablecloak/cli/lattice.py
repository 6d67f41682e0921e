"""`tablecloak lattice`: which combinations of levels are safe, and what each loses."""

from __future__ import annotations

from typing import Annotated

import typer

from tablecloak.cli.options import Force, Page, PolicyFile, Set, read_policy, readable_if_named
from tablecloak.cli.output import PagedResult, emit_page, progress_for
from tablecloak.cli.settings import ENGINE, Settings, uses


@uses(*ENGINE, "seed")
def lattice(
    policy: PolicyFile,
    data: Annotated[str | None, typer.Argument(help="Data to search, instead of the policy's input.")] = None,
    *,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--algorithm",
            help="Search: flash, incognito, ola, samarati, mingen, optimal or best-first.",
            show_default=False,
        ),
    ] = None,
    html: Page = None,
    force: Force = False,
    changes: Set = None,
    settings: Settings,
) -> None:
    """Search the lattice of full-domain generalisations: safe and unsafe nodes, their loss, the best one."""
    with readable_if_named(data) as source, progress_for(settings) as progress:
        loaded_policy = read_policy(policy, changes, settings, source=source)
        from tablecloak import pipeline
        from tablecloak.report.about.lattice import searched

        def work() -> PagedResult:
            view, search = pipeline.explore(
                loaded_policy, algorithm=algorithm, progress=progress, **settings.engine_options
            )
            report = {"algorithm": search.name, **view.to_dict()}
            return report, searched(report)

        emit_page(settings, work, page=html, reads=[policy, *loaded_policy.reads], force=force)
