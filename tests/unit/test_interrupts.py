"""Ctrl-C: the first keeps the best answer while one is being refined, any other ends the run."""

from __future__ import annotations

import signal

import pytest

from tablecloak.cli import interrupts, main
from tablecloak.cli.interrupts import Quiet, Wish


@pytest.fixture
def wish(monkeypatch):
    fresh = Wish()
    monkeypatch.setattr(interrupts, "wish", fresh)
    monkeypatch.setattr(main, "wish", fresh)
    return fresh


@pytest.fixture
def exits(monkeypatch):
    codes = []
    monkeypatch.setattr(main.os, "_exit", codes.append)
    monkeypatch.setattr(main, "discard_unfinished", lambda: None)
    return codes


@pytest.mark.parametrize("phase", ["refine", "search boxes"])
def test_the_first_ctrl_c_while_refining_only_asks_to_stop(wish, exits, capfd, phase):
    progress = Quiet()
    progress.start(phase)
    assert not progress.stopping()
    main._interrupted(signal.SIGINT, None)
    assert progress.stopping()
    assert exits == []
    assert "best release found so far is kept" in capfd.readouterr().err


def test_the_second_ctrl_c_ends_the_run(wish, exits):
    Quiet().start("refine")
    main._interrupted(signal.SIGINT, None)
    main._interrupted(signal.SIGINT, None)
    assert exits == [130]


@pytest.mark.parametrize("phase", ["read", "compile", "solve", "write"])
def test_ctrl_c_ends_the_run_where_there_is_no_answer_to_keep(wish, exits, phase):
    progress = Quiet()
    progress.start("refine")
    progress.finish()
    progress.start(phase)
    main._interrupted(signal.SIGINT, None)
    assert exits == [130]
    assert not progress.stopping()


def test_being_terminated_always_ends_the_run(wish, exits):
    Quiet().start("refine")
    main._interrupted(signal.SIGTERM, None)
    assert exits == [143]
