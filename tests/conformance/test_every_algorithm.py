"""What every registered algorithm promises: goal, cells, limits, order of rows; ours and those of others."""

from __future__ import annotations

import pytest
from checks_algorithms import check_algorithm, made

from tablecloak.registry import known


@pytest.mark.parametrize("name", [name for name, kind in known("algorithms").items() if kind.forms_classes])
def test_it_keeps_what_every_algorithm_promises(name):
    check_algorithm(made(name))


def test_only_algorithms_for_sets_form_no_classes():
    assert [name for name, kind in known("algorithms").items() if not kind.forms_classes] == ["apriori"]
