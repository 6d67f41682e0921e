"""`tablecloak reidentify`: columns of a release as they were, for those who hold the key or the vault."""

from __future__ import annotations

import json
import os
import pwd
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.cli.options import DATA, Force, column_names, read_policy
from tablecloak.cli.output import emit
from tablecloak.cli.settings import Settings
from tablecloak.errors import DataError, PolicyError

if TYPE_CHECKING:
    import polars as pl

    from tablecloak.io.places import Place
    from tablecloak.policy.schema import Policy
    from tablecloak.transforms._restore import Return


def reidentify(
    release: Annotated[str, typer.Argument(metavar=DATA, help="The release.")],
    *,
    policy: Annotated[Path, typer.Option("--policy", "-p", help="The policy that it was made with.")],
    target: Annotated[Path, typer.Option("--output", "-o", help="File to write, which only its owner may read.")],
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="A,B,..", help="Columns to restore; all that can be by default.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="PLACE", help="Where the key is, as file:PATH#ID, instead of the policy's."),
    ] = None,
    vault: Annotated[
        Path | None, typer.Option("--vault", help="The vault of random tokens, instead of the policy's.")
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, for the log.")] = None,
    log: Annotated[
        Path | None,
        typer.Option("--log", help="File that every use is added to; beside the release by default."),
    ] = None,
    force: Force = False,
    settings: Settings,
) -> None:
    """Restore columns with their key or their vault; who did it, when and why is written down in a log."""
    from tablecloak.io.atomic import Outputs, refuse_over_inputs
    from tablecloak.io.places import place_of
    from tablecloak.io.tabular import write_frame
    from tablecloak.policy.secrets import public_keys

    loaded, place = read_policy(policy, None, settings), place_of(release)
    log = _log_beside(place) if log is None else log
    reads = [place, policy, *loaded.reads, *_key_files(loaded, key), *([vault] if vault else [])]
    refuse_over_inputs(log, [each for each in reads if each is not None])
    with Outputs(reads=[*reads, log], force=force) as outputs:
        partial = outputs.add(target, is_private=True)
        frame, delimiter = _read(place, loaded)
        ways = _ways(loaded, frame, columns, key, vault)
        entry = _entry(release, ways, frame.height, reason)
        try:
            frame = frame.with_columns(way.restored(frame[way.column]) for way in ways)
        except DataError:
            _append(log, {**entry, "outcome": "refused"})
            raise
        write_frame(frame, partial, delimiter=delimiter)
        _append(log, {**entry, "outcome": "restored"})  # before anybody can have the file
    report = {**entry, "output": str(target), "log": str(log), "unchecked": _unchecked(ways)}
    emit(settings, report, [*_said(report), *(f"Note: others may read {each}" for each in public_keys(loaded))])


def _read(place: Place, policy: Policy) -> tuple[pl.DataFrame, str | None]:
    """The release, letter by letter where it is a file of text, and what stands between its cells."""
    from tablecloak.data.table import ColumnType
    from tablecloak.io.sniff import sniff
    from tablecloak.io.sources import Source
    from tablecloak.io.tabular import read_frame

    source = Source.of(place, expected=frozenset(policy.columns))
    layout = sniff(source)
    if layout.format not in ("csv", "tsv"):
        return read_frame(source), None
    return read_frame(Source.of(source, types=dict.fromkeys(layout.names, ColumnType.TEXT))), layout.delimiter


def _ways(
    policy: Policy, frame: pl.DataFrame, columns: str | None, key: str | None, vault: Path | None
) -> list[Return]:  # fmt: skip
    from tablecloak.transforms._restore import returns

    names = [] if columns is None else column_names(columns, "--columns")
    return returns(policy, frame.columns, columns=names, place=key, vault=vault)


def _key_files(policy: Policy, key: str | None) -> list[Path]:
    """Keys and vaults, which nothing may be written over."""
    from tablecloak.transforms._pseudonyms import files_of_place

    named = [policy.base / file for c in policy.columns.values() for each in c.transform for file in each.files]
    named += [Path(file) for file in (files_of_place(key) if key is not None else ())]
    return [path.expanduser() for path in named]


def _unchecked(ways: list[Return]) -> list[str]:
    """Columns of which nobody can tell whether the key was the right one."""
    return [way.column for way in ways if not way.knows_its_key]


def _said(report: dict[str, Any]) -> list[str]:
    names = ", ".join(report["columns"])
    lines = [f"Wrote {report['output']}: {names} of {report['records']:,} records, for its owner only"]
    lines.append(f"Written down in {report['log']}")
    if report["unchecked"]:
        unchecked = ", ".join(report["unchecked"])
        lines.append(f"Note: ff1 cannot tell one key from another: with a wrong one, {unchecked} would be wrong, too")
    return lines


# The log -------------------------------------------------------------------------------------------------------------


def _log_beside(place: Place) -> Path:
    if not isinstance(place, Path):
        raise PolicyError("a table of a database has no file beside it for the log", hint="name one: --log FILE")
    return place.with_name(f"{place.name}.reidentify.jsonl")


def _entry(release: str, ways: list[Return], n_records: int, reason: str | None) -> dict[str, Any]:
    """What is written down about a use: never a value."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "user": _user(),
        "release": release,
        "columns": [way.column for way in ways],
        "records": n_records,
        "keys": {way.column: way.key_id for way in ways if way.key_id is not None},
        **({"vaults": vaults} if (vaults := {way.column: str(way.vault) for way in ways if way.vault}) else {}),
        "reason": reason,
    }


def _user() -> str:
    """Who runs the process; variables of the environment could say anybody."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _append(log: Path, entry: dict[str, Any]) -> None:
    """Write a line behind those of the log, for its owner only."""
    from tablecloak.io.atomic import writing

    with writing(log):
        descriptor = os.open(log, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "r+", encoding="utf-8") as file:
            if file.read(1) not in ("", "{"):
                raise PolicyError("this file is no log", hint="--log FILE, one that is new", location=str(log))
            os.fchmod(file.fileno(), 0o600)
            file.seek(0, os.SEEK_END)
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
