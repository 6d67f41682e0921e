"""`tablecloak run`: from data and a policy to a verified release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.output import emit, progress_for, remark, remark_all
from tablecloak.cli.policies import DATA, PolicyFile, Set, Strict, read_policy
from tablecloak.cli.settings import ENGINE, Settings, uses
from tablecloak.cli.streams import STREAM, readable, writable
from tablecloak.errors import PolicyError
from tablecloak.values.amounts import show_size


@uses(*ENGINE, "seed")
def run(
    policy: PolicyFile,
    *,
    source: Annotated[str | None, typer.Option("--input", "-i", metavar=DATA, help="Data to read; - is stdin.")] = None,
    target: Annotated[
        str | None, typer.Option("--output", "-o", metavar=DATA, help="Release to write; - is stdout.")
    ] = None,
    report_file: Annotated[Path | None, typer.Option("--report", help="Report to write: one HTML page.")] = None,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="Certificate to write: verdicts and hashes as JSON.")
    ] = None,
    changes: Set = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Do everything but write.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a killed run stopped.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    strict: Strict = False,
    settings: Settings,
) -> None:
    """Read, generalize, verify and write a release."""
    limit = settings.memory_bytes
    if target == STREAM and settings.json:
        raise PolicyError("--json and --output - both want stdout", hint="write the release to a file")
    with readable(source) as data, writable(target) as release, progress_for(settings) as progress:
        loaded_policy = read_policy(policy, changes, settings, source=data, target=release, strict=strict)
        loaded_policy = loaded_policy.with_documents(report=report_file, certificate=certificate)
        if target == STREAM and loaded_policy.algorithm.publishes == "separated":
            raise PolicyError(f"{loaded_policy.algorithm.name} writes two tables", hint="name a file with --output")
        from tablecloak import pipeline
        from tablecloak.report.about.check_run_verify import ran

        report = pipeline.run(
            loaded_policy, progress=progress, threads=settings.threads, force=force, dry_run=dry_run,
            engine=settings.engine, memory=limit, spill=settings.spill, resume=resume, spark=settings.spark,
        ).to_dict()  # fmt: skip
    if target == STREAM:
        remark_all(settings, ran(report))
    else:
        emit(settings, report, ran(report))
    if limit is not None and report["peak_memory_bytes"] > limit:
        used = show_size(report["peak_memory_bytes"])
        remark(settings, f"used {used}, more than --memory {settings.memory}")
