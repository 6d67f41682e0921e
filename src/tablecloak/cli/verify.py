"""`tablecloak verify`: an independent recount of a finished release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablecloak.cli.options import DATA, Set, Strict, read_policy, readable
from tablecloak.cli.output import emit, progress_for
from tablecloak.cli.settings import ENGINE, Settings, uses
from tablecloak.errors import DataError, GoalNotMet, PolicyError
from tablecloak.io.places import place_of

if TYPE_CHECKING:
    from tablecloak.release.documents import Certified
    from tablecloak.release.recount import Verification


@uses(*ENGINE)
def verify(
    release: Annotated[str, typer.Argument(help="The finished file; - is stdin.")],
    *,
    policy: Annotated[Path | None, typer.Option("--policy", "-p", help="Policy whose goals must hold.")] = None,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", "-c", help="Certificate to hold the file against, with its policy.")
    ] = None,
    original: Annotated[
        str | None,
        typer.Option("--original", metavar=DATA, help="Also find an original for every row, which it covers."),
    ] = None,
    recoding: Annotated[
        Path | None,
        typer.Option("--recoding", help="Recoding of the run, which tells whether the original is the certified one."),
    ] = None,
    changes: Set = None,
    strict: Strict = False,
    settings: Settings,
) -> None:
    """Recount a finished file, whoever made it. Exit code 0 if every goal holds, 3 if not."""
    if (policy is None) == (certificate is None):
        raise PolicyError("name a policy or a certificate", hint="--policy FILE, or --certificate FILE which holds one")
    if certificate is not None and changes:
        raise PolicyError("--set changes a policy, and a certificate has its own", hint="use --policy FILE")
    if certificate is None and recoding is not None:
        raise PolicyError("--recoding is held against a certificate", hint="add --certificate FILE")
    if recoding is not None and not recoding.is_file():
        raise DataError("there is no such recoding", hint="use the file that `run` wrote", location=str(recoding))
    with readable(release) as file, progress_for(settings) as progress:
        from tablecloak import pipeline
        from tablecloak.report.about.check_run_verify import engine_blocks, verified

        before = None if original is None else place_of(original)
        verification: Verification | Certified
        if certificate is not None:
            verification = pipeline.verify_certificate(
                file, certificate, original=before, recoding=recoding, progress=progress, demand=settings.demand
            )
        else:
            assert policy is not None
            loaded_policy = read_policy(policy, changes, settings)
            verification = pipeline.verify(
                file, loaded_policy, original=before, progress=progress, demand=settings.demand
            )
    report = verification.to_dict()
    must_be_ready = strict or (policy is not None and loaded_policy.strict)
    is_refused = not verification.holds or (must_be_ready and not verification.status.is_ready)
    emit(settings, report, [*verified(report), *engine_blocks(report)], is_failure=is_refused)
    if is_refused:
        raise typer.Exit(GoalNotMet.exit_code)
