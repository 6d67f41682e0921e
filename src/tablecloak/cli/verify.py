"""`tablecloak verify`: an independent recount of a finished release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.output import emit, progress_for
from tablecloak.cli.policies import Set, read_policy
from tablecloak.cli.settings import Settings
from tablecloak.cli.streams import readable
from tablecloak.errors import GoalNotMet


def verify(
    release: Annotated[Path, typer.Argument(help="The finished file; - is stdin.")],
    *,
    policy: Annotated[Path, typer.Option("--policy", "-p", help="Policy whose goals must hold.")],
    original: Annotated[
        Path | None, typer.Option("--original", help="Also check that every cell covers the original of its row.")
    ] = None,
    changes: Set = None,
    settings: Settings,
) -> None:
    """Recount a finished file, whoever made it. Exit code 0 if every goal holds, 3 if not."""
    with readable(release) as file, progress_for(settings) as progress:
        wanted = read_policy(policy, changes, settings)
        from tablecloak import pipeline
        from tablecloak.report import terminal

        assert file is not None
        verification = pipeline.verify_file(file, wanted, original=original, progress=progress)
    report = verification.to_dict()
    emit(settings, report, terminal.verify_lines(report))
    if not verification.holds:
        raise typer.Exit(GoalNotMet.exit_code)
