"""`tablecloak init`: a commented policy to start from."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.options import Force, Header, Repair
from tablecloak.cli.output import emit
from tablecloak.cli.settings import Settings, uses


@uses("engine", "memory", "threads")
def init(
    data: Annotated[Path, typer.Argument(help="Data to write a policy for.")],
    *,
    target: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Policy to write; adult-policy.yaml for adult.csv.", show_default=False),
    ] = None,
    preset: Annotated[
        str, typer.Option("--preset", help="What to ask for; see `tablecloak list presets`.")
    ] = "standard",
    force: Force = False,
    header: Header = None,
    repair: Repair = False,
    settings: Settings,
) -> None:
    """Write a commented policy with suggested roles, hierarchies and goals, and its schema for editors."""
    from tablecloak.io.atomic import Outputs
    from tablecloak.policy.load import json_schema, parse_policy
    from tablecloak.profile.presets import preset_named
    from tablecloak.profile.profile import inspect_file
    from tablecloak.profile.starter import SCHEMA_FILE, policy_name, starter_policy, unused_output
    from tablecloak.report.about.table import started

    preset_named(preset)
    target = target or Path(policy_name(data))
    schema = target.parent / SCHEMA_FILE
    with Outputs(reads=[data], force=force) as outputs:
        policy_file = outputs.add(target)
        schema_file = None if schema.exists() and not force else outputs.add(schema)
        source = os.path.relpath(data, target.parent)
        profile = inspect_file(data, header=header, repair=repair, demand=settings.demand)
        about = {"header": header, **({"repair": True} if repair else {})}
        starter = starter_policy(
            profile, source=source, output=unused_output(data, target.parent), preset=preset, about=about
        )  # fmt: skip
        parse_policy(starter.text, name=str(target), base=target.parent)
        policy_file.write_text(starter.text, encoding="utf-8")
        if schema_file is not None:
            schema_file.write_text(json.dumps(json_schema(), indent=2) + "\n", encoding="utf-8")
    report = {
        "policy": str(target),
        "schema": str(schema),
        "preset": preset,
        "lines": starter.n_lines,
        "hierarchies": starter.n_hierarchies,
    }
    emit(settings, report, started(report))
