"""The registry: every name is in a file called after it, and one name loads one file."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tablecloak
from tablecloak import registry

KINDS_OF_HIERARCHIES = ["intervals", "quantiles", "mask", "dates", "order", "tree", "auto"]


def _loaded(kind: str, name: str) -> list[str]:
    """Modules of a kind that a fresh process has loaded after it looked up one name."""
    code = (
        f"import sys; from tablecloak import registry; registry.named({kind!r})[{name!r}]; "
        f"print(*(m for m in sys.modules if m.startswith('tablecloak.{kind}')))"
    )
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()


def test_one_name_loads_no_other_algorithm() -> None:
    loaded = {name.rpartition(".")[2] for name in _loaded("algorithms", "oka")}
    others = {name.replace("-", "_") for name in registry.known("algorithms")} - {"oka"}
    assert "oka" in loaded
    assert not loaded & others


@pytest.mark.parametrize(
    "kind", [kind for kind in registry.KINDS if kind != "formats"]
)  # formats of one library share a file
def test_a_registered_name_is_the_name_of_its_file(kind: str) -> None:
    modules = {name: thing.__module__ for name, thing in registry.known(kind).items()}
    files = {name: module.rpartition(".")[2] for name, module in modules.items() if module.startswith("tablecloak.")}
    assert files == {name: name.replace("-", "_") for name in files}


@pytest.mark.parametrize("kind", registry.KINDS)
def test_all_names_are_listed_in_order(kind: str) -> None:
    names = list(registry.known(kind))
    assert names
    assert names == (KINDS_OF_HIERARCHIES if kind == "hierarchies" else sorted(names))


@pytest.mark.parametrize("name", tablecloak.__all__)
def test_every_public_name_is_found(name: str) -> None:
    assert getattr(tablecloak, name) is not None


def test_threads_that_ask_at_once_all_find_everything() -> None:
    """The first one loads; the others must not go on with the half of it."""
    program = """
import threading
from tablecloak import registry
counts = []
begin = threading.Barrier(8)
def ask():
    begin.wait()
    counts.append(len(registry.known("attacks")))
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(*sorted(set(counts)))
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert answer.split() == [str(len(registry.known("attacks")))]
