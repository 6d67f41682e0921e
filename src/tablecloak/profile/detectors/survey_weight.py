"""Weights of a survey."""

from __future__ import annotations

from statistics import fmean, pstdev

from tablecloak.profile.detector import Column, Match, Role, detector

# Weights that add up to the number of records have the mean 1, but for those that were left out.
NEAR_ONE = 0.01
# No body weighs more, in pounds; and spreads of weights beyond those of bodies, as shares of the mean.
HEAVIEST, SPREAD, SPREAD_OF_COMPUTED = 450, 0.4, 0.3
# What is measured has fewer digits behind the point than what was computed.
COMPUTED_DIGITS = 4
# Weights of several cells of a sample differ for most records; those of few cells are few numbers.
MANY_VALUES = 0.5
WHY = "how many people a record stands for"


@detector("survey-weight")
def survey_weight(column: Column) -> Match | None:
    """Sampling weights and expansion factors, by words of the header; by words that may mean bodies, if values fit."""
    if not column.is_number or (column.lowest or 0.0) < 0:
        return None
    is_said = column.says("survey-weight")
    if not is_said and not (column.says("any-weight") and _looks_computed(column)):
        return None
    return Match("survey weight", Role.WEIGHT, WHY if is_said else f"{WHY}: no body has such weights", 0.7)


def may_be_weight(column: Column) -> bool:
    """Whether a column could be weights of a survey, and nothing but its values or half its header says so."""
    if not column.is_number or column.is_whole or not column.n_distinct or (column.lowest or 0.0) <= 0:
        return False
    return _has_mean_one(column) or (column.says("any-weight") and column.distinct_share >= MANY_VALUES)


def _looks_computed(column: Column) -> bool:
    """Whether numbers under a header such as `weight` are no weights of bodies: there are hardly two equal ones, and
    they have the mean 1, reach beyond bodies, or have digits that no scale shows."""
    if column.is_whole or column.distinct_share < MANY_VALUES or (column.lowest or 0.0) <= 0:
        return False
    numbers = [float(text) for text in column.sample]
    spread = pstdev(numbers) / fmean(numbers)
    is_computed = column.share(lambda text: len(text.partition(".")[2]) >= COMPUTED_DIGITS) >= MANY_VALUES
    is_heavy = spread >= SPREAD and (column.highest or 0.0) > HEAVIEST
    return _has_mean_one(column) or is_heavy or (is_computed and spread >= SPREAD_OF_COMPUTED)


def _has_mean_one(column: Column) -> bool:
    is_one = column.mean is not None and abs(column.mean - 1) <= NEAR_ONE
    return is_one and not column.is_whole and column.singles_out
