"""What every registered attack promises; ours and those of others."""

from __future__ import annotations

import pytest
from checks_kinds import check_attack

from tablecloak.attacks.base import counting
from tablecloak.registry import known


@pytest.mark.parametrize("name", known("attacks"))
def test_it_keeps_what_every_attack_promises(name):
    check_attack(known("attacks")[name], is_sampled=name not in counting())
