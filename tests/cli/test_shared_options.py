"""No shared option is ignored in silence: a command uses it, or refuses it by name."""

from __future__ import annotations

import pytest
import typer.main

from tablecloak.cli.main import app
from tablecloak.cli.settings import DECLARED, ENGINE, used_by

GIVEN = {"engine": "local", "memory": "1GB", "threads": "1", "seed": "3", "spill": "here", "spark": "local[1]"}


def commands(group=None, path=()):
    group = group or typer.main.get_command(app)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


ALL = dict(commands())
# Options that a command declares, by what it does with them.
OUT_OF_CORE = {*ENGINE}
IN_MEMORY = {"engine", "memory", "threads"}
EXPECTED = {
    ("run",): OUT_OF_CORE | {"seed"},
    ("check",): OUT_OF_CORE | {"seed"},
    ("explore",): OUT_OF_CORE | {"seed"},
    ("lattice",): OUT_OF_CORE | {"seed"},
    ("apply",): OUT_OF_CORE,
    ("verify",): OUT_OF_CORE,
    ("risk",): OUT_OF_CORE,
    ("compare",): IN_MEMORY | {"seed"},
    ("attack",): IN_MEMORY | {"seed"},
    ("inspect",): IN_MEMORY,
    ("advise",): IN_MEMORY,
    ("init",): IN_MEMORY,
    ("serve",): {"engine", "memory", "threads"},
    ("demo",): {"threads"},
    ("hierarchy", "build"): {"threads"},
    ("hierarchy", "check"): {"threads"},
    ("hierarchy", "show"): set(),
    ("dicom", "table"): {"threads"},
    ("dicom", "export"): {"threads"},
    ("codebook",): set(),
    ("list",): set(),
    ("explain",): set(),
    ("schema",): set(),
    ("fetch",): set(),
    ("reidentify",): set(),
    ("cache", "info"): set(),
    ("cache", "clear"): set(),
    ("cache", "warm"): set(),
    ("key", "new"): set(),
    ("key", "show-id"): set(),
}  # fmt: skip


def test_every_command_says_which_shared_options_it_uses():
    assert {path: set(used_by(command.callback)) for path, command in ALL.items()} == EXPECTED


def arguments_of(command, folder):
    """Something for every argument and option that a command cannot do without."""
    words = []
    for parameter in command.params:
        if parameter.required and parameter.param_type_name == "argument":
            words.append(str(folder))
        elif parameter.required:
            words += [parameter.opts[0], str(folder / "nothing")]
    return words


UNUSED = [(path, option) for path, used in EXPECTED.items() for option in DECLARED if option not in used]


@pytest.mark.parametrize(("path", "option"), UNUSED, ids=lambda part: part if isinstance(part, str) else " ".join(part))
def test_an_option_that_a_command_does_not_use_is_refused_by_name(cloak, tmp_path, path, option):
    words = [*path, *arguments_of(ALL[path], tmp_path), f"--{option}", GIVEN[option]]
    for order in (words, [f"--{option}", GIVEN[option], *words[:-2]]):
        outcome = cloak(*order)
        assert outcome.code == 2
        assert f"`tablecloak {' '.join(path)}` does not use --{option}" in outcome.err


@pytest.mark.parametrize("verb", ["attack", "compare"])
def test_a_seed_without_a_policy_is_refused(cloak, tmp_path, verb):
    outcome = cloak(verb, tmp_path / "a.csv", tmp_path / "b.csv", "--seed", 3)
    assert outcome.code == 2
    assert "--seed replaces the seed of a policy" in outcome.err
