"""Words: models as sentences that need no training, roles and hierarchy kinds in a few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["FIXED_ROLES", "KINDS", "ROLES", "SENTENCES", "goal_words", "sentence_parts"]

# A parameter between braces becomes an input. What is not listed here is shown by its definition.
SENTENCES: Mapping[str, str] = {
    "k-anonymity": "Each record looks like at least {k} records, itself included.",
    "l-diversity": "Each group of records that look alike has at least {l} different values of {sensitive}.",
    "t-closeness": "In each group, {sensitive} is mixed about as in the whole table: at most {t} apart.",
    "p-sensitive-k-anonymity": "Each record looks like at least {k}, which have at least {p} values of {sensitive}.",
    "alpha-k-anonymity": "Each record looks like at least {k}, and no value of {sensitive} has a share above {alpha}.",
    "average-risk": "On average, the chance to single somebody out is at most {limit}.",
    "sample-uniqueness": "At most a share of {limit} of the records stands alone.",
    "beta-likeness": "No value of {sensitive} is more than {beta} times its usual share more frequent in a group.",
    "delta-disclosure": "Shares of {sensitive} in a group differ from the table by a factor below e^{delta}.",
    "km-anonymity": "Whoever knows up to {m} items of somebody finds at least {k} records that hold them all.",
    "k-concealment": "Each person could be any of at least {k} published rows.",
}

ROLES: Mapping[str, tuple[str, str]] = {
    "identifier": ("names one person", "left out, or replaced by *"),
    "quasi": ("others may know it", "made coarser"),
    "sensitive": ("must not be learned", "published, protected by goals"),
    "person": ("key of a person with several rows", "counted, never published"),
    "items": ("a set of items in each cell", "made coarser until small combinations are frequent"),
    "weight": ("sampling weight", "published as it is"),
    "keep": ("harmless", "published as it is"),
    "drop": ("not needed", "left out"),
}

# Roles that are not chosen one by one: sets are a type of dataset.
FIXED_ROLES = ("items",)

KINDS: Mapping[str, str] = {
    "intervals": "equal ranges of numbers",
    "quantiles": "ranges with equally many values",
    "dates": "months, years, decades",
    "mask": "hide characters one by one",
    "order": "groups of neighbours",
    "tree": "a tree you write",
    "auto": "generated from the values",
}


def goal_words(goal: str) -> str:
    """A goal as results write it, `l-diversity(variant=distinct, l=3, sensitive=ill)`, in fewer words.

    >>> goal_words("l-diversity(variant=distinct, l=3, sensitive=ill)")
    'l-diversity (l = 3, ill)'
    """
    name, _, rest = goal.partition("(")
    said = [part.partition("=") for part in rest.rstrip(")").split(", ") if part]
    words = [value if key == "sensitive" else f"{key} = {value}" for key, _, value in said if value != "distinct"]
    return f"{name} ({', '.join(words)})" if words else name


def sentence_parts(name: str, parameters: Mapping[str, Any]) -> list[tuple[str, str]] | None:
    """The sentence of a model as ("text", words) and ("field", parameter); None if it has none that fits."""
    template = SENTENCES.get(name)
    if template is None:
        return None
    parts: list[tuple[str, str]] = []
    rest = template
    while "{" in rest:
        text, _, rest = rest.partition("{")
        field, _, rest = rest.partition("}")
        if field not in parameters:
            return None
        parts += [("text", text), ("field", field)]
    return [*parts, ("text", rest)]
