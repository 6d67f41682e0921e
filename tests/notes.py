"""Progress that remembers."""

from __future__ import annotations

from tablecloak.progress import Silent


class Notes(Silent):
    """Progress that keeps the closing note of every phase."""

    def __init__(self):
        self.notes = {}
        self.phase = ""

    def start(self, phase, total=None):
        self.phase = phase

    def finish(self, note=""):
        self.notes[self.phase] = note
