"""The references of the policy file, the command line and the dependencies leave nothing out."""

from __future__ import annotations

import re
import tomllib
from dataclasses import MISSING, fields
from enum import Enum
from typing import get_args

import pytest
import typer
from pages import ROOT, rows, section

from tablecloak import errors, registry
from tablecloak.cli.main import INTERRUPTED, app
from tablecloak.cli.settings import PANEL
from tablecloak.data.table import Role
from tablecloak.policy.load import json_schema
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import ColumnSpec, InputSpec, OutputSpec, PopulationSpec, SecretSpec

POLICY, CLI = ROOT / "docs/reference/policy.md", ROOT / "docs/reference/cli.md"
DEPENDENCIES = ROOT / "docs/dependencies.md"
SPECS = {("Top level",): Policy, ("input",): InputSpec, ("columns",): ColumnSpec, ("output",): OutputSpec}
SPECS |= {("population",): PopulationSpec, ("secret",): SecretSpec}
SPECS |= {("hierarchy", name): spec for name, spec in registry.known("hierarchies").items()}
CHOSEN = {
    (title, name): cls
    for title, kind in (("goals", "models"), ("algorithm", "algorithms"))
    for name, cls in registry.known(kind).items()
}


def written(value):
    """A default as it is written in YAML."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(value)}]" if isinstance(value, list) else str(value)


def choices(annotation):
    """The texts that a type allows, found inside unions and annotations."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [str(member.value) for member in annotation]
    inner = [arg for arg in get_args(annotation) if arg is not annotation]
    return [arg for arg in inner if isinstance(arg, str)] + [c for arg in inner for c in choices(arg)]


def require_row(titles, key, default, annotation):
    found = rows(section(POLICY, *titles))
    assert key in found, f"docs/reference/policy.md, {' / '.join(titles)}: no row for `{key}`"
    if default is not None:
        assert f"`{default}`" in found[key][1], f"docs/reference/policy.md: the default of {key} is {default}"
    for choice in choices(annotation):
        assert f"`{choice}`" in section(POLICY, *titles), f"docs/reference/policy.md: {key} may also be {choice}"


@pytest.mark.parametrize("titles", SPECS, ids="/".join)
def test_every_key_of_a_policy_has_its_row(titles):
    for name, field in SPECS[titles].model_fields.items():
        has_default = not field.is_required() and field.default not in (None, ...) and field.default_factory is None
        default = written(field.default) if has_default and name != "kind" else None
        require_row(titles, field.alias or name, default, field.annotation)


@pytest.mark.parametrize("titles", CHOSEN, ids="/".join)
def test_every_parameter_of_models_and_algorithms_has_its_row(titles):
    tag = "model" if titles[0] == "goals" else "kind"
    require_row(titles, tag, None, None)
    for field in fields(CHOSEN[titles]):
        default = None if field.default is MISSING else getattr(field.default, "default", field.default)
        is_given = default is not None and isinstance(default, str | int | float)
        require_row(titles, field.name, written(default) if is_given else None, field.type)


def keys_of(schema):
    if isinstance(schema, dict):
        named = schema.get("properties", {})
        inner = [key for value in schema.values() for key in keys_of(value)]
        return [*named, *inner] if isinstance(named, dict) else inner
    return [key for value in schema for key in keys_of(value)] if isinstance(schema, list) else []


def without_transforms(schema):
    """The schema without parameters of transforms: each kind has a page of its own, made of them."""
    if isinstance(schema, dict):
        return {key: {} if key == "transform" else without_transforms(value) for key, value in schema.items()}
    return [without_transforms(value) for value in schema] if isinstance(schema, list) else schema


def test_every_key_of_the_json_schema_is_described():
    described = rows(POLICY.read_text(encoding="utf-8"))
    keys = set(keys_of(without_transforms(json_schema())))
    assert {"version", "role", "k", "suppression_limit", "width", "recoding"} <= keys
    assert keys <= set(described)


def test_the_policy_page_has_no_row_for_a_key_that_is_not_there():
    known = set(keys_of(json_schema())) | {str(role) for role in Role} | {"key", "role", "---"}
    assert set(rows(POLICY.read_text(encoding="utf-8"))) <= known


def all_commands():
    top = typer.main.get_command(app)
    for name, command in top.commands.items():
        if hasattr(command, "commands"):
            yield from ((f"{name} {inner}", below) for inner, below in command.commands.items())
        else:
            yield name, command


COMMANDS = dict(all_commands())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_described(name):
    text, common = section(CLI, name), section(CLI, "Options of every command")
    for parameter in COMMANDS[name].params:
        is_common = getattr(parameter, "rich_help_panel", None) == PANEL or parameter.name == "help"
        for option in (o for o in parameter.opts if o.startswith("-")):
            assert re.search(rf"`{option}[ `]", common if is_common else text), (
                f"docs/reference/cli.md, {name}: {option}"
            )
    assert f"](#{name.replace(' ', '-')})" in CLI.read_text(encoding="utf-8")


def test_the_options_before_any_command_are_described():
    for parameter in typer.main.get_command(app).params:
        assert re.search(rf"`{parameter.opts[0]}[ `]", section(CLI, "Options of every command"))


def test_every_exit_code_is_described():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.CloakError)]
    codes = {0, INTERRUPTED} | {kind.exit_code for kind in kinds}
    assert {str(code) for code in codes} == set(rows(section(CLI, "Exit codes"))) - {"code", "---"}


def test_every_dependency_is_described():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for title, wanted in {
        "To run": settings["project"]["dependencies"],
        "To test": settings["dependency-groups"]["test"],
        "To build the site": settings["dependency-groups"]["docs"],
        "To develop": [*settings["dependency-groups"]["dev"], *settings["build-system"]["requires"]],
    }.items():
        names = {re.split(r"[<>=;\[ ]", entry)[0] for entry in wanted if isinstance(entry, str)}
        assert set(rows(section(DEPENDENCIES, title))) - {"package", "---"} == names
