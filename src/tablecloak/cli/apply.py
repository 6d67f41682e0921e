"""`tablecloak apply`: a stored recoding on new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.options import DATA, STREAM, Force, readable, writable_if_named
from tablecloak.cli.output import emit, progress_for
from tablecloak.cli.settings import ENGINE, Settings, uses


@uses(*ENGINE)
def apply(
    recoding: Annotated[Path, typer.Argument(help="Recoding written by an earlier run.")],
    data: Annotated[str, typer.Argument(help="New rows; - is stdin.")],
    *,
    target: Annotated[str, typer.Option("--output", "-o", metavar=DATA, help="Release to write; - is stdout.")],
    suppression_limit: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of rows that may be left out; the policy's by default.")
    ] = None,
    force: Force = False,
    settings: Settings,
) -> None:
    """Generalize new rows exactly as an earlier run did, then verify the result."""
    with readable(data) as source, writable_if_named(target, settings) as release, progress_for(settings) as progress:
        from tablecloak import pipeline
        from tablecloak.report.about.check_run_verify import ran

        assert release is not None
        report = pipeline.apply_file(
            recoding, source, release, suppression_limit=suppression_limit, force=force, progress=progress,
            **settings.engine_options,
        ).to_dict()  # fmt: skip
    emit(settings, report, ran(report), is_stdout_taken=target == STREAM)
