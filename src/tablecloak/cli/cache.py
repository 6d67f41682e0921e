"""`tablecloak cache`: compiled kernels, which large tables need and the first run of a version waits for."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from tablecloak.cli.output import emit, progress_for
from tablecloak.cli.settings import Settings, accepting_settings
from tablecloak.errors import IncompatibleChoice
from tablecloak.values.amounts import show_size

app = typer.Typer(no_args_is_help=True, help="See, delete or prepare compiled kernels, which large tables need.")


@app.command()
@accepting_settings
def info(*, settings: Settings) -> None:
    """Show where compiled kernels are, of which versions, and how much room they take."""
    from tablecloak.kernels import kept

    folders = kept.versions()
    n_bytes = sum(folder.n_bytes for folder in folders)
    report = {
        "folder": str(kept.home()),
        "bytes": n_bytes,
        "versions": [_described(folder) for folder in folders],
    }
    lines = [f"{kept.home()}  {show_size(n_bytes)}"]
    for folder in folders:
        what = "this version" if folder.is_current else f"another version, not used for {folder.unused_days:.0f} days"
        lines.append(f"  {folder.path.name}  {folder.n_files:,} files, {show_size(folder.n_bytes)}  {what}")
    if not any(folder.is_current and folder.n_files for folder in folders):
        lines.append("Nothing is compiled for this version yet. Next: tablecloak cache warm")
    emit(settings, report, lines)


@app.command()
@accepting_settings
def clear(
    *,
    old: Annotated[bool, typer.Option("--old", help="Only those of other versions.")] = False,
    settings: Settings,
) -> None:
    """Delete compiled kernels. The next run on a large table compiles them again."""
    from tablecloak.kernels import kept

    folders = [folder for folder in kept.versions() if not (old and folder.is_current)]
    kept.remove(folders)
    n_bytes = sum(folder.n_bytes for folder in folders)
    n = len(folders)
    said = f"Deleted {n} version{'s' if n != 1 else ''}, {show_size(n_bytes)}."
    emit(settings, {"deleted": [_described(folder) for folder in folders], "bytes": n_bytes}, [said])


@app.command()
@accepting_settings
def warm(*, settings: Settings) -> None:
    """Compile what the usual algorithms need, now instead of in the first run on a large table."""
    from tablecloak.kernels import dispatch, kept

    if not dispatch.has_compiler():
        raise IncompatibleChoice("numba is not installed, so nothing is compiled", hint="pip install numba")
    from tablecloak.kernels.compiling import compile_kernels, missing
    from tablecloak.kernels.loading import STEPS

    begin = time.perf_counter()
    with progress_for(settings) as progress:
        steps = missing(STEPS)
        if steps:
            progress.start("compile", len(steps))
            compile_kernels(steps, progress)
            progress.finish(f"{len(steps)} kernels")
    seconds = time.perf_counter() - begin
    folder = str(kept.current())
    emit(
        settings,
        {"folder": folder, "seconds": round(seconds, 2)},
        [f"Kernels are ready in {folder} ({seconds:.1f} s)."],
    )


def _described(folder: Any) -> dict[str, Any]:
    return {"path": str(folder.path), "is_current": folder.is_current, "files": folder.n_files,
            "bytes": folder.n_bytes, "unused_days": round(folder.unused_days, 1)}  # fmt: skip
