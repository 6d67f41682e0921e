"""What models of numeric sensitive columns share."""

from __future__ import annotations

from tablecloak.arrays import FloatArray
from tablecloak.errors import IncompatibleChoice
from tablecloak.models.base import one_held
from tablecloak.stats.classes import ClassStats
from tablecloak.stats.numeric import by_number
from tablecloak.stats.persons import Held


def numbers_held(stats: ClassStats, sensitive: str | None, model_name: str) -> tuple[Held, FloatArray]:
    """The one sensitive column a model speaks of, codes in the order of its numbers, and these, (n_values,)."""
    held = one_held(stats, sensitive, model_name)
    if held.domain.numbers is None:
        raise IncompatibleChoice(
            f"{model_name} needs numbers or dates; the sensitive column '{held.domain.name}' has none",
            hint="choose another model for it, such as l-diversity or t-closeness",
        )
    ordered = by_number(held)
    assert ordered.domain.numbers is not None
    return ordered, ordered.domain.numbers
