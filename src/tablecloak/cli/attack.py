"""`tablecloak attack`: what attackers can still learn from a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablecloak.cli.options import Force, Page, Quasi, RolesFile, column_names, read_optional_policy
from tablecloak.cli.output import PagedResult, emit_page
from tablecloak.cli.settings import Settings, uses
from tablecloak.errors import PolicyError

if TYPE_CHECKING:
    from tablecloak.io.places import Place


@uses("engine", "memory", "threads", "seed")
def attack(
    original: Annotated[Path, typer.Argument(help="The data as it was; with --alone, the release itself.")],
    release: Annotated[Path | None, typer.Argument(help="The data as published, by any tool.")] = None,
    *,
    policy: RolesFile = None,
    quasi: Quasi = None,
    sensitive: Annotated[
        str | None, typer.Option("--sensitive", metavar="A,B,..", help="Sensitive columns, instead of the policy's.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option("--kind", "-k", help="Only this attack; may be repeated. All by default.")
    ] = None,
    population: Annotated[
        Path | None, typer.Option("--population", help="A register of the people the original is taken from.")
    ] = None,
    release2: Annotated[
        list[Path] | None, typer.Option("--release2", help="Another release about the same people; may be repeated.")
    ] = None,
    facts: Annotated[Path | None, typer.Option("--facts", help="Facts that attackers know, as a table.")] = None,
    control: Annotated[
        Path | None, typer.Option("--control", help="People like those of the original who are not in the release.")
    ] = None,
    alone: Annotated[
        bool, typer.Option("--alone", help="Attack the one file that is given, without an original.")
    ] = False,
    html: Page = None,
    force: Force = False,
    settings: Settings,
) -> None:
    """Attack a release, by itself or beside its original. Names rows by number, and shows no cell of either file."""
    if alone == (release is not None):
        raise PolicyError("give ORIGINAL and RELEASE, or one file with --alone", hint="tablecloak attack --help")
    from tablecloak.measure import attack as attacking
    from tablecloak.report.about.attack import attacked

    loaded_policy = read_optional_policy(policy, settings)
    others = release2 or []
    reads: list[Place | None] = [original, release, population, facts, control, *others]
    reads += [policy, *(loaded_policy.reads if loaded_policy else ())]

    def work() -> PagedResult:
        report = attacking.attack(
            None if release is None else original,
            original if release is None else release,
            policy=loaded_policy,
            quasi=column_names(quasi),
            sensitive=column_names(sensitive),
            population=population,
            others=others,
            facts=facts or (),
            control=control,
            kinds=kind or None,
            demand=settings.demand,
        ).to_dict()
        return report, attacked(report, str(release or original))

    emit_page(settings, work, page=html, reads=reads, force=force)
