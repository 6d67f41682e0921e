"""Running the command line in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from tablecloak.cli.main import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def cloak(capsys, monkeypatch):
    """Call it with the words of a command line."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")

    def call(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call
