"""`tablecloak lattice`: which combinations of levels are safe, and what each loses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.output import emit, page_at, progress_for, remark
from tablecloak.cli.policies import PolicyFile, Set, read_policy
from tablecloak.cli.settings import ENGINE, Settings, uses
from tablecloak.cli.streams import readable


@uses(*ENGINE, "seed")
def lattice(
    policy: PolicyFile,
    data: Annotated[str | None, typer.Argument(help="Data to search, instead of the policy's input.")] = None,
    *,
    algorithm: Annotated[
        str | None,
        typer.Option("--algorithm", help="Search: flash, incognito, ola, optimal or best-first.", show_default=False),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Picture to write, one file that needs nothing else.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    changes: Set = None,
    settings: Settings,
) -> None:
    """Search the lattice of full-domain generalisations: safe and unsafe nodes, their loss, the best one."""
    with readable(data) as source, progress_for(settings) as progress:
        loaded_policy = read_policy(policy, changes, settings, source=source)
        from tablecloak import pipeline
        from tablecloak.report.about.lattice import searched

        with page_at(html, [policy, *loaded_policy.reads], force=force) as write:
            view, search = pipeline.explore(
                loaded_policy, algorithm=algorithm, progress=progress, **settings.engine_options
            )
            report = {"algorithm": search.name, **view.to_dict()}
            document = searched(report)
            if html is not None:
                write(document)
    emit(settings, report, document.blocks)
    if html is not None:
        remark(settings, f"Wrote {html}.")
