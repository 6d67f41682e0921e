"""What every kind of hierarchy promises that a policy can ask for."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from checks_kinds import check_hierarchy

from tablecloak import registry

NUMBERS = [3, 7, 8, 12, 13, 21, 40, 41, 99, 100]
DAYS = [date(2019, 1, 1) + timedelta(days=97 * i) for i in range(12)]
WORDS = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu"]
CODES = ["13053", "13068", "14850", "14853", "99999"]
TREE = {"land": ["ant", "cat", "dog", "fox", "gnu"], "other": {"air": ["bee"], "sea": ["eel"]}}
PARENTS = {"ant": "land", "cat": "land", "dog": "land", "fox": "land", "gnu": "land", "bee": "air", "eel": "sea",
           "air": "other", "sea": "other", "land": "*", "other": "*"}  # fmt: skip
# A new kind needs an entry here: parameters, values, and the type of the column.
EXAMPLES = {
    "intervals": [({"width": 5}, NUMBERS, "integer"), ({"width": 10, "closed": True}, NUMBERS, "integer")],
    "quantiles": [({"groups": 4}, NUMBERS, "integer"), ({"groups": 3}, DAYS, "date")],
    "mask": [({}, CODES, "text"), ({"from": "left"}, CODES, "text"), ({"hide": 2}, CODES, "text")],
    "dates": [({}, DAYS, "date"), ({"levels": ["day", "quarter", "year"]}, DAYS, "date")],
    "order": [({"fanout": 3}, WORDS, "text"), ({"fanout": 2}, NUMBERS, "integer")],
    "tree": [({"tree": TREE}, WORDS, "text")],
    "auto": [({"method": "range", "fanout": 4}, NUMBERS, "integer"), ({"fanout": 3}, WORDS, "text")],
}
SPECS = registry.known("hierarchies")
CASES = [(kind, *example) for kind in SPECS for example in EXAMPLES[kind]]


@pytest.mark.parametrize(("kind", "params", "values", "column_type"), CASES)
def test_it_keeps_what_every_hierarchy_promises(kind, params, values, column_type):
    check_hierarchy(SPECS[kind](**params), values, column_type, tree=PARENTS if kind == "tree" else None)


@pytest.mark.parametrize("kind", SPECS)
def test_it_has_words_and_examples(kind):
    assert SPECS[kind].__doc__
    assert EXAMPLES[kind]
