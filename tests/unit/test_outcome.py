"""What a run says about itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tablecloak.release import outcome

SHOW = "from tablecloak.release.outcome import _peak_memory_bytes as peak; print(peak())"
BALLAST = "x = b'1' * 400_000_000"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells processes apart here")
def test_peak_memory_is_that_of_this_process_not_of_the_one_that_started_it():
    starter = f"import subprocess, sys; {BALLAST}; subprocess.run([sys.executable, '-c', {SHOW!r}], check=True)"
    found = subprocess.run([sys.executable, "-c", starter], capture_output=True, text=True, check=True)
    assert 1_000_000 < int(found.stdout) < 400_000_000


@pytest.mark.slow
def test_peak_memory_counts_what_was_freed():
    code = f"{BALLAST}; del x; {SHOW}"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(found.stdout) > 400_000_000


def test_peak_memory_is_known_without_proc(monkeypatch):
    def refuse(*args, **kwargs):
        raise FileNotFoundError

    monkeypatch.setattr(outcome.Path, "open", refuse)
    assert outcome._peak_memory_bytes() > 1_000_000
