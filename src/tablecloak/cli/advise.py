"""`tablecloak advise`: which techniques fit a table, column by column."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.options import STREAM, Header, Repair, readable, readable_if_named
from tablecloak.cli.output import emit
from tablecloak.cli.settings import Settings, uses
from tablecloak.errors import PolicyError
from tablecloak.io.places import place_of

POLICIES = (".yaml", ".yml", ".json")  # endings of policies; no table has them


@uses("engine", "memory", "threads")
def advise(
    target: Annotated[
        str | None, typer.Argument(metavar="TABLE|POLICY", help="Data, or a policy (YAML); - is data from stdin.")
    ] = None,
    data: Annotated[str | None, typer.Argument(help="Data of the policy, instead of its input.")] = None,
    *,
    techniques: Annotated[
        bool, typer.Option("--techniques", help="Print the catalogue of techniques and the rules of choice.")
    ] = False,
    header: Header = None,
    repair: Repair = False,
    settings: Settings,
) -> None:
    """Advise which technique fits each column and the table, with lines for a policy. Shows no cell of it."""
    if techniques:
        if target is not None:
            raise PolicyError("--techniques is about no table", hint="leave out what is named, or the option")
        _print_catalogue(settings)
        return
    if target is None:
        raise PolicyError("name a table or a policy", hint="tablecloak advise FILE, or advise --techniques")
    if _is_policy(target):
        if header is not None or repair:
            option = "--header" if header is not None else "--repair"
            hint = f"a policy says it: input: {{path: FILE, {option[2:]}: true}}"
            raise PolicyError(f"{option} is for tables", hint=hint)
        _advise_policy(Path(target), data, settings)
        return
    if data is not None:
        hint = f"a policy ends in {', '.join(POLICIES)}; name it first, then its data"
        raise PolicyError(f"'{target}' is no policy, so it has no data of its own", hint=hint)
    from tablecloak.measure.advise import advise as advise_on
    from tablecloak.report.about.advice import advised

    with readable(target) as source:
        report = advise_on(source, header=header, repair=repair, demand=settings.demand).to_dict()
    report["file"] = str(place_of(target)) if target != STREAM else None
    emit(settings, report, advised(report))


def _is_policy(target: str) -> bool:
    return target.lower().endswith(POLICIES)


def _advise_policy(path: Path, data: str | None, settings: Settings) -> None:
    from tablecloak.measure.advise import advise as advise_on
    from tablecloak.policy.load import load_policy
    from tablecloak.report.about.advice import advised

    policy = load_policy(path)
    with readable_if_named(data) as source:
        report = advise_on(source, policy, demand=settings.demand).to_dict()
    if data == STREAM:
        report["file"] = None
    emit(settings, report, advised(report))


def _print_catalogue(settings: Settings) -> None:
    from tablecloak.profile.techniques import catalogue
    from tablecloak.report.about.advice import techniques

    told = catalogue().to_dict()
    emit(settings, told, techniques(told))
