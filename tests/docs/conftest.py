"""Examples run in a folder of their own, and what they register is forgotten."""

from __future__ import annotations

import pytest

from tablecloak import registry


@pytest.fixture
def own_registry(monkeypatch):
    """What examples register is forgotten afterwards."""
    for kind in registry.KINDS:
        registry.known(kind)
    monkeypatch.setattr(registry, "_known", {kind: dict(things) for kind, things in registry._known.items()})


@pytest.fixture
def somewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path
