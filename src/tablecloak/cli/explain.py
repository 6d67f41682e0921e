"""`tablecloak explain`: what a model, an algorithm, a metric and so on means."""

from __future__ import annotations

from typing import Annotated

import typer

from tablecloak.cli.output import emit
from tablecloak.cli.settings import Settings


def explain(
    name: Annotated[str, typer.Argument(help="A model, an algorithm, a metric, ..; `tablecloak list` names them.")],
    *,
    settings: Settings,
) -> None:
    """Say what a model, algorithm, metric and so on means: definition, protection, parameters, reference."""
    from tablecloak.report.about.things import meaning
    from tablecloak.report.explain import explain as explained

    explanation = explained(name).to_dict()
    emit(settings, explanation, meaning(explanation))
