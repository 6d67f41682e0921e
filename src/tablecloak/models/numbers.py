"""What models of numeric sensitive columns share."""

from __future__ import annotations

from tablecloak.errors import IncompatibleChoice
from tablecloak.models.base import one_histogram
from tablecloak.stats.classes import ClassStats, Histogram
from tablecloak.stats.numeric import by_number

__all__ = ["numeric_histogram"]


def numeric_histogram(stats: ClassStats, sensitive: str | None, model_name: str) -> Histogram:
    """The histogram of the one sensitive column a model speaks of, codes in the order of its numbers."""
    hist = one_histogram(stats, sensitive, model_name)
    if hist.domain.numbers is None:
        raise IncompatibleChoice(
            f"{model_name} needs numbers or dates; the sensitive column '{hist.domain.name}' has none",
            hint="choose another model for it, such as l-diversity or t-closeness",
        )
    return by_number(hist)
