"""The server as a process: it says where it is, answers, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [("serve", "--ephemeral", "--port", "0"), ("demo", "--directory", "demo")], ids=" ".join
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_a_link_that_works_and_cleans_up(tmp_path, command, number):
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    words = [sys.executable, "-m", "tablecloak.cli.main", *command, "--no-browser"]
    with subprocess.Popen(
        words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as server:
        link = next(found[0] for line in server.stderr if (found := re.search(r"http://\S+token=\S+", line)))
        with urllib.request.urlopen(link) as answer:
            assert answer.status == 200
        assert list((tmp_path / "tmp").glob("tablecloak-serve-*"))
        server.send_signal(number)
        server.stderr.read()
    assert not list((tmp_path / "tmp").glob("tablecloak-serve-*"))
