"""What every registered algorithm promises: goal, cells, limits, order of rows; ours and those of others."""

from __future__ import annotations

import pytest
from checks_algorithms import check_algorithm, made

from tablecloak.registry import known

# One of each folder of algorithms; the others wait for the whole suite.
SOON = {"auto", "optimal", "k-member", "mdav", "tds", "anatomy", "disk-clustering"}
FORMS_CLASSES = [name for name, kind in known("algorithms").items() if kind.forms_classes]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in SOON)) for name in FORMS_CLASSES]
)
def test_it_keeps_what_every_algorithm_promises(name):
    check_algorithm(made(name))


def test_only_algorithms_for_sets_form_no_classes():
    assert [name for name, kind in known("algorithms").items() if not kind.forms_classes] == ["apriori"]
