"""`tablecloak demo`: everything once, on made-up patients."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablecloak.cli.output import emit, progress_for, remark
from tablecloak.cli.settings import Settings, uses
from tablecloak.errors import PolicyError

if TYPE_CHECKING:
    import polars as pl

FOLDER = Path("tablecloak-demo")
N_SHOWN = 4


@uses("threads")
def demo(
    *,
    directory: Annotated[
        Path, typer.Option("--directory", "-d", help="Folder for the data, the policy, the release and its report.")
    ] = FOLDER,
    cli: Annotated[bool, typer.Option("--cli", help="Stay in the terminal.")] = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Start the web app, only print its link.")] = False,
    sets: Annotated[
        bool, typer.Option("--sets", help="Made-up shopping baskets instead of patients; stays in the terminal.")
    ] = False,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port of the web app; 0 takes a free one.")] = 0,
    settings: Settings,
) -> None:
    """Anonymize 5,000 made-up patients, show what changed, and open the web app on the result.

    Where the output is not a terminal, only --no-browser starts the web app.
    """
    if sets:
        from tablecloak.cli import demo_sets

        demo_sets.show(directory, settings)
        return
    _refuse_other_folders(directory)
    _in_terminal(directory, settings)
    if no_browser or (sys.stdout.isatty() and not cli and not settings.json):
        from tablecloak.cli import demo_web

        demo_web.show(settings, port=port, browser=not no_browser)
    elif not cli:
        remark(settings, "See it in a browser: `tablecloak demo --no-browser` prints a link and waits.")


def _in_terminal(directory: Path, settings: Settings) -> None:
    with progress_for(settings) as progress:
        remark(settings, "Making 5,000 patients who do not exist ...")
        from tablecloak import pipeline, sample
        from tablecloak.io.tabular import read_frame
        from tablecloak.policy.load import load_policy
        from tablecloak.report.about.check_run_verify import demonstrated, ran
        from tablecloak.report.about.table import first_rows

        policy_file = sample.write_patients(directory)
        policy = load_policy(policy_file)
        report = pipeline.run(policy, progress=progress, threads=settings.threads, force=True).to_dict()
        careless = pipeline.run(load_policy(policy_file, ["columns.cost.role=keep"]), dry_run=True).to_dict()
        assert policy.input_path is not None
        assert policy.output_path is not None
        before = read_frame(policy.input_path, columns=list(policy.columns))
        after = read_frame(policy.output_path)
        shown_rows = before.head(N_SHOWN).rows(named=True), _spread_over(after).rows(named=True)
        blocks = [
            *ran(report),
            first_rows("The first records before", shown_rows[0]),
            first_rows("and some as published", shown_rows[1]),
            *demonstrated({**report, "policy": policy_file}, careless),
        ]
        shown = {key: careless[key] for key in ("status", "findings")}
        emit(settings, {**report, "with_cost_kept": shown}, blocks)


def _spread_over(release: pl.DataFrame) -> pl.DataFrame:
    """Some complete records from all over a release, which is in the order of its content, empty cells first."""
    complete = release.drop_nulls()
    return complete.gather_every(max(1, complete.height // N_SHOWN), offset=complete.height // (2 * N_SHOWN)).head(
        N_SHOWN
    )


def _refuse_other_folders(folder: Path) -> None:
    from tablecloak.sample import patients_policy

    refuse_other_folders(folder, patients_policy())


def refuse_other_folders(folder: Path, own_policy: str) -> None:
    """Stop unless the folder is new, empty, or as an earlier demo left it."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    policy = folder / "policy.yaml"
    if policy.is_file() and policy.read_bytes() == own_policy.encode():
        return
    what = "has a policy that was changed" if policy.is_file() else "exists and was not made by demo"
    raise PolicyError(f"{folder} {what}", hint="name a new folder with --directory")
