"""What every registered attack promises; ours and those of others."""

from __future__ import annotations

import pytest
from checks_kinds import case_of_sets, check_attack

from tablecloak.attacks.base import counting, every
from tablecloak.registry import known


@pytest.mark.parametrize("name", known("attacks"))
def test_it_keeps_what_every_attack_promises(name):
    check_attack(known("attacks")[name], is_sampled=name not in counting())


@pytest.mark.parametrize("name", every(of_items=True))
def test_it_keeps_that_on_sets_of_items(name):
    check_attack(known("attacks")[name], case_of=case_of_sets)


@pytest.mark.parametrize("name", known("attacks"))
def test_it_attacks_columns_or_sets(name):
    of_items = known("attacks")[name](case_of_sets(1))
    assert (of_items.finding is not None) == (name in every(of_items=True))
