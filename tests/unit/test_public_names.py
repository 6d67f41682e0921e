"""What can be imported: all that is public is listed, found lazily, and has a first line that says what it is."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import tablecloak as tc
from tablecloak import registry

CLASSES = ("models", "algorithms", "transforms")


def test_dir_lists_what_is_public():
    assert set(dir(tc)) == set(tc.__all__)
    assert {"Anonymizer", "models", "algorithms", "transforms", "attacks", "anonymize"} <= set(dir(tc))
    assert all(getattr(tc, name) is not None for name in dir(tc))


@pytest.mark.parametrize("kind", CLASSES)
def test_everything_registered_is_importable_and_says_what_it_is(kind):
    room = importlib.import_module(f"tablecloak.{kind}")
    for thing in registry.known(kind).values():
        assert getattr(room, thing.__name__) is thing
        assert thing.__name__ in dir(room)
        assert thing.__doc__.strip()
        assert getattr(tc, kind) is room


def test_every_attack_is_in_a_module_of_its_name():
    for name, attack in registry.known("attacks").items():
        if attack.__module__.startswith("tablecloak."):
            module = getattr(tc.attacks, name.replace("-", "_"))
            assert getattr(module, name.replace("-", "_")) is attack
            assert name.replace("-", "_") in dir(tc.attacks)
            assert attack.__doc__.strip()


@pytest.mark.parametrize("kind", [*CLASSES, "attacks"])
@pytest.mark.parametrize("name", ["nothing", "Nothing", "_hidden"])
def test_other_names_are_no_attributes(kind, name):
    with pytest.raises(AttributeError, match=name):
        getattr(getattr(tc, kind), name)


def test_a_name_loads_its_module_and_the_package_loads_nothing():
    code = (
        "import sys, tablecloak; early = {'numpy', 'polars', 'pydantic'} & set(sys.modules); "
        "from tablecloak.models import LDiversity; import tablecloak as tc; tc.models.KMap; "
        "print(sorted(early), *sorted(m for m in sys.modules if m.startswith('tablecloak.models.')))"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert shown[0] == "[]"
    assert "tablecloak.models.l_diversity" in shown
    assert "tablecloak.models.t_closeness" not in shown
