"""`tablecloak check`: is the policy sound, and can its goals be reached on the data?"""

from __future__ import annotations

from typing import Annotated

import typer

from tablecloak.cli.output import emit, progress_for
from tablecloak.cli.policies import PolicyFile, Set, Strict, read_policy
from tablecloak.cli.settings import Settings
from tablecloak.cli.streams import readable
from tablecloak.errors import GoalNotMet


def check(
    policy: PolicyFile,
    data: Annotated[str | None, typer.Argument(help="Data to check against, instead of the policy's input.")] = None,
    *,
    changes: Set = None,
    strict: Strict = False,
    settings: Settings,
) -> None:
    """Validate a policy; with data, also whether its goals can be reached. Writes nothing."""
    with readable(data) as source, progress_for(settings) as progress:
        wanted = read_policy(policy, changes, settings, source=source, strict=strict)
        from tablecloak import pipeline
        from tablecloak.report import terminal

        report = pipeline.check(wanted, memory=settings.memory, progress=progress).to_dict()
    emit(settings, report, terminal.check_lines(report))
    if wanted.strict and any(found["accepted"] is None for found in report["findings"]):
        raise typer.Exit(GoalNotMet.exit_code)
