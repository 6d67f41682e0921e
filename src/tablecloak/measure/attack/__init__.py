"""Attacking: from files or frames, whoever made the release, to what attackers achieve on it."""

from tablecloak.measure.attack.cases import build_case
from tablecloak.measure.attack.facts import read_facts
from tablecloak.measure.attack.report import AttackReport
from tablecloak.measure.attack.tables import attack

__all__ = ["AttackReport", "attack", "build_case", "read_facts"]
