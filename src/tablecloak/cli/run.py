"""`tablecloak run`: from data and a policy to a verified release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli import options
from tablecloak.cli.output import emit, progress_for, remark
from tablecloak.cli.settings import ENGINE, Settings, uses
from tablecloak.errors import PolicyError
from tablecloak.values.amounts import show_size


@uses(*ENGINE, "seed")
def run(
    policy: options.PolicyFile,
    *,
    source: Annotated[
        str | None, typer.Option("--input", "-i", metavar=options.DATA, help="Data to read; - is stdin.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--output", "-o", metavar=options.DATA, help="Release to write; - is stdout.")
    ] = None,
    report_file: Annotated[Path | None, typer.Option("--report", help="Report to write: one HTML page.")] = None,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="Certificate to write: verdicts and hashes as JSON.")
    ] = None,
    changes: options.Set = None,
    effort: options.Effort = None,
    budget: options.Budget = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Do everything but write.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a killed run stopped.")] = False,
    force: options.Force = False,
    strict: options.Strict = False,
    settings: Settings,
) -> None:
    """Read, generalize, verify and write a release."""
    limit = settings.memory_bytes
    reading, writing = options.readable_if_named(source), options.writable_if_named(target, settings)
    with reading as data, writing as release, progress_for(settings) as progress:
        loaded_policy = options.read_policy(
            policy, changes, settings, source=data, target=release, strict=strict, effort=effort, budget=budget
        )
        loaded_policy = loaded_policy.with_documents(report=report_file, certificate=certificate)
        if target == options.STREAM and loaded_policy.algorithm.publishes == "separated":
            raise PolicyError(f"{loaded_policy.algorithm.name} writes two tables", hint="name a file with --output")
        from tablecloak import pipeline
        from tablecloak.report.about.check_run_verify import ran

        report = pipeline.run(
            loaded_policy, progress=progress, force=force, dry_run=dry_run, resume=resume, **settings.engine_options
        ).to_dict()
    emit(settings, report, ran(report), is_stdout_taken=target == options.STREAM)
    if limit is not None and report["peak_memory_bytes"] > limit:
        used = show_size(report["peak_memory_bytes"])
        remark(settings, f"used {used}, more than --memory {settings.memory}")
