"""`tablecloak check`: is the policy sound, and can its goals be reached on the data?"""

from __future__ import annotations

from typing import Annotated

import typer

from tablecloak.cli.options import Budget, Effort, PolicyFile, Set, Strict, read_policy, readable_if_named
from tablecloak.cli.output import emit, progress_for
from tablecloak.cli.settings import ENGINE, Settings, uses
from tablecloak.errors import GoalNotMet


@uses(*ENGINE, "seed")
def check(
    policy: PolicyFile,
    data: Annotated[str | None, typer.Argument(help="Data to check against, instead of the policy's input.")] = None,
    *,
    changes: Set = None,
    effort: Effort = None,
    budget: Budget = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Search the whole table as a run does, instead of estimating the loss.")
    ] = False,
    strict: Strict = False,
    settings: Settings,
) -> None:
    """Validate a policy; with data, also whether its goals can be reached. Writes nothing."""
    with readable_if_named(data) as source, progress_for(settings) as progress:
        loaded_policy = read_policy(
            policy, changes, settings, source=source, strict=strict, effort=effort, budget=budget
        )
        from tablecloak import pipeline
        from tablecloak.report.about.check_run_verify import checked

        report = pipeline.check(loaded_policy, exact=exact, progress=progress, **settings.engine_options).to_dict()
    is_refused = loaded_policy.strict and any(finding["accepted"] is None for finding in report["findings"])
    emit(settings, report, checked(report), is_failure=is_refused)
    if is_refused:
        raise typer.Exit(GoalNotMet.exit_code)
