"""`tablecloak demo`: everything once, on made-up patients or baskets, in the terminal and in the web app."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablecloak.cli.output import emit, progress_for, remark
from tablecloak.cli.settings import Settings, uses
from tablecloak.errors import EngineError, PolicyError

if TYPE_CHECKING:
    import polars as pl

FOLDER, SETS_FOLDER = Path("tablecloak-demo"), Path("tablecloak-demo-sets")
N_SHOWN, N_SETS_SHOWN = 4, 5
SECONDS = 60  # that the run of the web app gets


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
    folder = SETS_FOLDER if sets and directory == FOLDER else directory
    _show_in_terminal(folder, settings, sets=sets)
    if sets:
        return
    if no_browser or (sys.stdout.isatty() and not cli and not settings.json):
        _show_web(settings, port=port, browser=not no_browser)
    elif not cli:
        remark(settings, "See it in a browser: `tablecloak demo --no-browser` prints a link and waits.")


def _show_in_terminal(folder: Path, settings: Settings, *, sets: bool) -> None:
    """Publish patients or baskets and show some before and after; of patients also what keeping costs would do."""
    from tablecloak import sample

    _refuse_other_folders(folder, sample.baskets_policy() if sets else sample.patients_policy())
    with progress_for(settings) as progress:
        making = "Filling 2,000 baskets of customers" if sets else "Making 5,000 patients"
        remark(settings, f"{making} who do not exist ...")
        from tablecloak import pipeline
        from tablecloak.io.tabular import read_frame
        from tablecloak.policy.load import load_policy
        from tablecloak.report.about.check_run_verify import demonstrated, ran
        from tablecloak.report.about.table import first_rows

        policy_file = (sample.write_baskets if sets else sample.write_patients)(folder)
        policy = load_policy(policy_file)
        report = pipeline.run(policy, progress=progress, threads=settings.threads, force=True).to_dict()
        assert policy.input_path is not None
        assert policy.output_path is not None
        if sets:
            before = first_rows("The first baskets before", _sets(policy.input_path)[:N_SETS_SHOWN])
            published = _sets(policy.output_path)  # in the order of their content: the first are short and alike
            after = first_rows("and some as published", published[:: len(published) // N_SETS_SHOWN][:N_SETS_SHOWN])
            emit(settings, report, [*ran(report), before, after, *demonstrated({**report, "policy": policy_file})])
            return
        careless = pipeline.run(load_policy(policy_file, ["columns.cost.role=keep"]), dry_run=True).to_dict()
        originals = read_frame(policy.input_path, columns=list(policy.columns)).head(N_SHOWN)
        before = first_rows("The first records before", originals.rows(named=True))
        after = first_rows("and some as published", _spread_over(read_frame(policy.output_path)).rows(named=True))
        said = demonstrated({**report, "policy": policy_file}, careless)
        kept = {key: careless[key] for key in ("status", "findings")}
        emit(settings, {**report, "with_cost_kept": kept}, [*ran(report), before, after, *said])


def _spread_over(release: pl.DataFrame) -> pl.DataFrame:
    """Some complete records from all over a release, which is in the order of its content, empty cells first."""
    complete = release.drop_nulls()
    return complete.gather_every(max(1, complete.height // N_SHOWN), offset=complete.height // (2 * N_SHOWN)).head(
        N_SHOWN
    )


def _sets(path: Path) -> list[dict[str, str]]:
    """The sets of a file that are not empty."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [{"items": line.replace(";", "; ")} for line in lines if line]


def _refuse_other_folders(folder: Path, own_policy: str) -> None:
    """Stop unless the folder is new, empty, or as an earlier demo left it."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    policy = folder / "policy.yaml"
    if policy.is_file() and policy.read_bytes() == own_policy.encode():
        return
    what = "has a policy that was changed" if policy.is_file() else "exists and was not made by demo"
    raise PolicyError(f"{folder} {what}", hint="name a new folder with --directory")


def _show_web(settings: Settings, *, port: int, browser: bool) -> None:
    """Serve the sample from a folder that is deleted at the end, with one run done."""
    from tablecloak.server.app import LocalServer, free_port, open_browser
    from tablecloak.server.state import ServerSettings
    from tablecloak.server.steps.home import service as home_service
    from tablecloak.server.steps.run import service as run_service

    server = LocalServer(ServerSettings.ephemeral(port=port or free_port(), threads=settings.threads))
    state = server.app.state.server

    def ready() -> None:
        project = home_service.create_sample(state)
        run = run_service.begin(state, project)
        deadline = time.monotonic() + SECONDS
        while state.store.run(run.id).is_open and time.monotonic() < deadline:
            time.sleep(0.05)
        link = server.link(f"/projects/{project.id}/compare")
        remark(settings, f"\nIn the web app: {link}\nThe link works once. Ctrl-C ends it and deletes its copy.")
        if browser:
            open_browser(link)

    try:
        server.run(ready)
    except OSError as exc:
        raise EngineError(f"the web app could not start: {exc.strerror}", hint="tablecloak demo --cli") from exc
