"""Attacking: from files or frames, whoever made the release, to what attackers achieve on it."""

from tablecloak.measure.attack.cases import build_case
from tablecloak.measure.attack.facts import read_facts
from tablecloak.measure.attack.files import attack
from tablecloak.measure.attack.frames import attack_frames
from tablecloak.measure.attack.report import AttackReport

__all__ = ["AttackReport", "attack", "attack_frames", "build_case", "read_facts"]
