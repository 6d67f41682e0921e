"""The command line: finds the command, runs it, and turns what goes wrong into messages and exit codes.

Exit codes: 0 ok, 1 bug or engine, 2 usage or policy, 3 goal not met, 4 infeasible, 5 data, 130 interrupted.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any

import typer
from typer.exceptions import Abort, TyperException
from typer.main import get_command

from tablecloak.cli import (
    advise,
    apply,
    attack,
    check,
    codebook,
    compare,
    demo,
    dicom,
    explain,
    explore,
    fetch,
    hierarchy,
    init,
    key,
    lattice,
    reidentify,
    risk,
    run,
    schema,
    serve,
    verify,
)  # fmt: skip
from tablecloak.cli import cache as kernel_cache
from tablecloak.cli import inspect as inspect_data
from tablecloak.cli import list as list_things
from tablecloak.cli.interrupts import wish
from tablecloak.cli.limits import STARVED, is_starved, memory_limit, watched
from tablecloak.cli.output import emit_json, stderr
from tablecloak.cli.settings import Settings, accepting_settings, keep_settings
from tablecloak.errors import CloakError, EngineError, PolicyError
from tablecloak.garbage import never_collected_at_end
from tablecloak.io.private import discard_unfinished, keep_private, remove_abandoned
from tablecloak.progress import Cancelled
from tablecloak.values.amounts import show_bytes

INTERRUPTED = 130
STOPPING = b"\nstopping: the best release found so far is kept; Ctrl-C again abandons the run\n"

app = typer.Typer(
    name="tablecloak",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Share tables about people without exposing anyone.",
)
# In the order of the help; each is called after its file.
_COMMANDS: tuple[Callable[..., None], ...] = (
    demo.demo, inspect_data.inspect_data, advise.advise, init.init, check.check, run.run, verify.verify, risk.risk,
    compare.compare, codebook.codebook, explore.explore, attack.attack, apply.apply, lattice.lattice,
    list_things.list_things, explain.explain, schema.schema, serve.serve, fetch.fetch, reidentify.reidentify,
)  # fmt: skip
for _command in _COMMANDS:
    app.command(_command.__module__.rpartition(".")[2])(accepting_settings(_command))
app.add_typer(hierarchy.app, name="hierarchy")
app.add_typer(dicom.app, name="dicom")
app.add_typer(key.app, name="key")
app.add_typer(kernel_cache.app, name="cache")


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"tablecloak {version('tablecloak')}")
        raise typer.Exit


@app.callback()
@keep_settings
def _before_command(
    *,
    settings: Settings,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Share tables about people without exposing anyone."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    is_watched = arguments is None and memory_limit() is not None
    if is_watched and (code := watched()) is not None:
        return _explain_plainly(_out_of_memory(), words) if code == STARVED else code
    if arguments is None:
        _prepare_process()
    try:
        return int(_commands()(words, standalone_mode=False, prog_name="tablecloak") or 0)
    except (Abort, Cancelled, KeyboardInterrupt):
        return INTERRUPTED
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # panics of polars are no Exceptions
        if is_watched and not isinstance(error, TyperException) and is_starved(error):
            os._exit(STARVED)  # there may be no memory to say so here
        return _failed(error, words)


@cache
def _commands() -> Any:
    """All commands with their options, which take longer to put together than some of them to run."""
    return get_command(app)


def _failed(error: BaseException, words: Sequence[str]) -> int:
    """Say what went wrong; a bug ends in a short message, not in a page of frames."""
    if isinstance(error, TyperException):
        if not error.format_message().strip():  # no command was named, and the help is already on the screen
            return PolicyError.exit_code
        error = _usage(error)
    if is_starved(error):
        error = _out_of_memory()
    return _explain(error, words) if isinstance(error, CloakError) else _bug(error, words)


def _prepare_process() -> None:
    """What holds for the whole process: its files are private, signals clean up, no terminal is too old for a tick."""
    never_collected_at_end()
    keep_private()
    remove_abandoned()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _interrupted)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _interrupted(number: int, _frame: object) -> None:
    """Keep the best answer if a search has one to refine; else remove unfinished files and end at once.

    An exception raised here could be swallowed by whatever runs at this moment (a destructor, a callback
    of the import system), and the run would go on or hang.
    """
    if number == signal.SIGINT and wish.stop():
        os.write(sys.stderr.fileno(), STOPPING)
        return
    discard_unfinished()
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), b"\x1b[?25h\n")  # progress bars hide the cursor
    os._exit(128 + number)


def _usage(error: TyperException) -> CloakError:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "tablecloak"
    return PolicyError(error.format_message(), hint=f"{path} --help")


def _explain(error: CloakError, words: Sequence[str]) -> int:
    if "--json" in words:
        emit_json(error.to_dict())
    else:
        stderr().print(str(error), style="bold red" if stderr().is_terminal else "", soft_wrap=True, markup=False)
    return error.exit_code


def _out_of_memory() -> CloakError:
    limit = memory_limit()
    if limit is None:
        hint = (
            "--engine duckdb --memory 1GB works on disk; or fewer --threads, fewer columns, a machine with more of it"
        )
        return EngineError("there is not enough memory", hint=hint)
    message = f"there is not enough memory: this process may have {show_bytes(limit)} (ulimit -v)"
    return EngineError(message, hint="allow more, at least 4 GB; then --engine duckdb --memory 1GB works on disk")


def _explain_plainly(error: CloakError, words: Sequence[str]) -> int:
    """The same without any library that would have to be loaded."""
    if "--json" in words:
        sys.stdout.write(json.dumps(error.to_dict()) + "\n")
    else:
        sys.stderr.write(f"{error}\n")
    return error.exit_code


def _bug(error: BaseException, words: Sequence[str]) -> int:
    """An unexpected error: its type and places only, because its text might hold a cell of the data."""
    if {"-v", "--verbose"} & set(words):
        stderr().print("Traceback:", "".join(traceback.format_tb(error.__traceback__)), sep="\n", markup=False)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    message = f"unexpected {type(error).__name__} in {frame.name} ({frame.filename.rpartition('/')[2]}:{frame.lineno})"
    return _explain(CloakError(message, hint="run again with -v for details; this is a bug in tablecloak"), words)


if __name__ == "__main__":
    sys.exit(main())
