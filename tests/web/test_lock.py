"""One server per directory."""

from __future__ import annotations

import subprocess
import sys

import pytest
from starlette.testclient import TestClient
from without_browser import BASE, settings_for

from tablecloak.errors import EngineError
from tablecloak.server.app import make_app
from tablecloak.server.state import DirectoryLock

HOLD = """
import sys
from pathlib import Path
from tablecloak.server.state import DirectoryLock
lock = DirectoryLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_server_is_refused_until_the_first_has_ended(tmp_path):
    with TestClient(make_app(settings_for(tmp_path)), base_url=BASE):
        with pytest.raises(EngineError, match=r"another tablecloak .* is using this folder") as refusal:
            make_app(settings_for(tmp_path))
        assert "--directory" in refusal.value.hint
    with TestClient(make_app(settings_for(tmp_path)), base_url=BASE) as client:
        assert client.get("/static/app.css").status_code == 200


def test_a_server_that_was_killed_holds_nothing(tmp_path):
    words = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(EngineError, match=f"process {holder.pid}"):
            DirectoryLock(tmp_path)
        holder.kill()
        holder.wait()
        DirectoryLock(tmp_path).release()
