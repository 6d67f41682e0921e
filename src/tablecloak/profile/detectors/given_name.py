"""Names of persons that the header does not announce."""

from __future__ import annotations

from tablecloak.data.given_names import has_given_name, is_family_name
from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector, percent

# Of many different first names, lists of frequent ones have a part; of towns and firms hardly any.
ENOUGH, FEWEST = 0.15, 20


@detector("given-name")
def given_name(column: Column) -> Match | None:
    """Names of persons without a header that says so: many texts have a frequent given name, or are family names."""
    if column.type is not ColumnType.TEXT or len(column.sample) < FEWEST:
        return None
    if column.says("thing") or column.says("place"):
        return None
    given, family = column.share(has_given_name), column.share(is_family_name)
    if max(given, family) < ENOUGH:
        return None
    which, share = ("given", given) if given >= family else ("family", family)
    return Match(f"person name ({percent(share)} with a frequent {which} name)", Role.IDENTIFIER, "names people", 0.82)
