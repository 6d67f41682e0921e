"""`tablecloak demo`: everything once, on made-up patients."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.cli.output import emit, progress_for, remark
from tablecloak.cli.settings import Settings
from tablecloak.errors import PolicyError

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType


def demo(
    *,
    directory: Annotated[
        Path | None, typer.Option("--directory", "-d", help="Keep the files here; without it nothing is kept.")
    ] = None,
    cli: Annotated[bool, typer.Option("--cli", help="Stay in the terminal, as this release always does.")] = False,  # noqa: ARG001
    settings: Settings,
) -> None:
    """Anonymize 5,000 made-up patients and show what changed."""
    with _folder(directory) as folder, progress_for(settings) as progress:
        remark(settings, "Making 5,000 patients who do not exist ...")
        from tablecloak import pipeline, sample
        from tablecloak.data.table import Role
        from tablecloak.io.tabular import read_frame
        from tablecloak.policy.load import load_policy
        from tablecloak.report import terminal

        policy_file = sample.write_patients(folder)
        policy = load_policy(policy_file)
        report = pipeline.run(policy, progress=progress, threads=settings.threads, force=directory is None).to_dict()
        if directory is None:
            report |= {"output": None, "recoding": None}
        quasi = policy.columns_with(Role.QUASI)
        assert policy.input_path is not None
        assert policy.output_path is not None
        before = read_frame(policy.input_path, columns=list(policy.columns))
        after = read_frame(policy.output_path)
        risk = {"before": class_risk(before, quasi), "after": class_risk(after, quasi)}
        lines: list[RenderableType] = [
            *terminal.run_lines(report, risk=risk),
            terminal.rows_table("The first records before", before.head(4).rows(named=True)),
            terminal.rows_table("and some as published", after.head(4).rows(named=True)),
            *terminal.next_steps(policy_file if directory is not None else None),
        ]
        emit(settings, {**report, "risk": risk}, lines)


def class_risk(frame: pl.DataFrame, quasi: list[str]) -> dict[str, Any]:
    """How exposed the records are to someone who knows all quasi-identifiers of a person."""
    sizes = frame.group_by(quasi).len()["len"].to_numpy()
    unique = int((sizes == 1).sum())
    return {
        "records": frame.height,
        "unique": unique,
        "unique_share": unique / frame.height,
        "highest": 1 / int(sizes.min()),
        "average": len(sizes) / frame.height,
    }


@contextmanager
def _folder(wanted: Path | None) -> Iterator[Path]:
    if wanted is not None:
        if wanted.exists() and (not wanted.is_dir() or any(wanted.iterdir())):
            raise PolicyError(f"{wanted} exists and is not an empty folder", hint="name a new folder")
        wanted.mkdir(parents=True, exist_ok=True)
        yield wanted
        return
    with tempfile.TemporaryDirectory(prefix="tablecloak-demo-") as folder:
        yield Path(folder)
