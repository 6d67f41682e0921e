"""`tablecloak schema`: JSON Schema of policies, for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.options import Force
from tablecloak.cli.output import emit_json, remark
from tablecloak.cli.settings import Settings


def schema(
    *,
    target: Annotated[Path | None, typer.Option("--output", "-o", help="File to write instead of stdout.")] = None,
    force: Force = False,
    settings: Settings,
) -> None:
    """Print the JSON Schema of a policy, with every model, algorithm and hierarchy kind there is."""
    from tablecloak.policy.load import json_schema

    document = json_schema()
    if target is None:
        emit_json(document)
        return
    from tablecloak.io.atomic import replace_when_done

    with replace_when_done(target, reads=[], force=force) as partial:
        partial.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    remark(settings, f"Wrote {target}. Put this first in a policy: # yaml-language-server: $schema={target.name}")
