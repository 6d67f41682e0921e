"""Attacking: from files or frames, whoever made the release, to what attackers achieve on it."""

from tablecloak.attacking.cases import build_case
from tablecloak.attacking.facts import read_facts
from tablecloak.attacking.files import attack_files
from tablecloak.attacking.frames import attack_frames
from tablecloak.attacking.report import AttackReport

__all__ = ["AttackReport", "attack_files", "attack_frames", "build_case", "read_facts"]
