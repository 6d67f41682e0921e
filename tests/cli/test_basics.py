"""What holds for every command: help, version, usage errors, exit codes, JSON errors."""

import subprocess
import sys

import pytest

from tablecloak import registry
from tablecloak.cli import list as list_things
from tablecloak.errors import PolicyError
from tablecloak.io.formats import formats
from tablecloak.values.amounts import parse_bytes

COMMANDS = ["demo", "check", "run", "verify", "apply", "list", "schema", "hierarchy"]


def test_version(cloak):
    assert cloak("--version").out.startswith("tablecloak 0.")


def test_help_names_every_command(cloak):
    outcome = cloak("--help")
    assert outcome.code == 0
    assert all(f" {name} " in outcome.out for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(cloak, command):
    outcome = cloak(command, "--help")
    assert outcome.code == 0
    assert "Usage: tablecloak" in outcome.out


def test_no_command_shows_the_help(cloak):
    outcome = cloak()
    assert outcome.code == 2
    assert "Usage: tablecloak" in outcome.out
    assert outcome.err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rum"], "No such command 'rum'. Did you mean 'run'?"),
        (["run"], "Missing argument 'policy'"),
        (["run", "p.yaml", "--frce"], "No such option: --frce"),
        (["run", "p.yaml", "--threads", "0"], "Invalid value for '--threads'"),
        (["run", "p.yaml", "--engine", "presto"], "Invalid value for '--engine'"),
        (["run", "p.yaml", "--memory", "lots"], "--memory lots is not an amount"),
        (["run", "p.yaml", "-o", "-", "--json"], "both want stdout"),
        (["verify", "r.csv"], "name a policy or a certificate"),
        (["list", "modles"], "Invalid value for"),
        (["hierarchy", "check", "a.csv", "b.csv"], "data and column go together"),
    ],
)
def test_wrong_usage_is_exit_code_2(cloak, words, message):
    outcome = cloak(*words)
    assert outcome.code == 2
    assert message in outcome.out + outcome.err


def test_errors_go_to_stderr(cloak, tmp_path):
    outcome = cloak("check", tmp_path / "nothing.yaml")
    assert outcome.code == 2
    assert outcome.out == ""
    assert "there is no policy file" in outcome.err


def test_errors_are_json_on_stdout_if_asked(cloak, tmp_path):
    (tmp_path / "p.yaml").write_text("columns: {age: quasy}\ngoals: [{model: k-anonymity, k: 1}]\n")
    outcome = cloak("check", tmp_path / "p.yaml", "--json")
    assert outcome.code == 2
    assert outcome.err == ""
    assert outcome.data["error"] == "policy"
    assert [p["path"] for p in outcome.data["problems"]] == ["columns.age", "goals[0].k"]
    assert outcome.data["location"] == f"{tmp_path}/p.yaml:1:16"


def test_usage_errors_are_json_too(cloak):
    outcome = cloak("run", "--json")
    assert outcome.code == 2
    assert "Missing argument" in outcome.data["message"]


def test_options_of_every_command_work_before_its_name(cloak):
    assert cloak("--json", "list", "engines").data == cloak("list", "engines", "--json").data


def test_list_has_every_registered_thing(cloak):
    found = cloak("list", "--json").data
    assert {entry["name"] for entry in found["models"]} == set(registry.known("models"))
    assert {entry["name"] for entry in found["algorithms"]} == set(registry.known("algorithms"))
    assert {entry["name"] for entry in found["metrics"]} == set(registry.known("metrics"))
    assert all(entry["summary"] for entries in found.values() for entry in entries)


def test_list_is_a_table_for_people(cloak):
    out = cloak("list", "models").out
    assert "k-anonymity" in out
    assert "what it is" in out


def test_formats_are_listed_by_what_they_are_and_without_parameters(cloak):
    entries = cloak("list", "formats", "--json").data["formats"]
    assert {entry["name"]: entry["summary"] for entry in entries} == {f.name: f.summary for f in formats()}
    assert len({entry["summary"] for entry in entries}) == len(entries)
    assert not any(entry["parameters"] for entry in entries)
    assert "parameters" not in cloak("list", "formats").out


def test_schema_is_printed(cloak):
    schema = cloak("schema").data
    assert schema["$id"] == "tablecloak-policy-1.json"
    assert "goals" in schema["properties"]


def test_schema_is_never_overwritten_without_force(cloak, tmp_path):
    target = tmp_path / "s.json"
    assert cloak("schema", "-o", target).code == 0
    before = target.read_text()
    target.write_text("mine")
    refused = cloak("schema", "-o", target)
    assert refused.code == 2
    assert "--force" in refused.err
    assert target.read_text() == "mine"
    assert cloak("schema", "-o", target, "--force").code == 0
    assert target.read_text() == before


def boom(kind):
    raise {"bug": ZeroDivisionError("SECRET"), "stop": KeyboardInterrupt()}[str(kind)]


def test_a_bug_is_exit_code_1_without_its_text(cloak, monkeypatch):
    monkeypatch.setattr(list_things, "things_of", lambda _kind: boom("bug"))
    outcome = cloak("list", "models")
    assert outcome.code == 1
    assert "unexpected ZeroDivisionError in boom" in outcome.err
    assert "-v" in outcome.err
    assert "SECRET" not in outcome.err


def test_the_places_of_a_bug_are_shown_if_asked(cloak, monkeypatch):
    monkeypatch.setattr(list_things, "things_of", lambda _kind: boom("bug"))
    err = cloak("list", "models", "-v").err
    assert "Traceback" in err
    assert "in boom" in err
    assert "SECRET" not in err.replace('ZeroDivisionError("SECRET")', "")  # the line of the source, not the text


def test_an_interrupt_is_exit_code_130(cloak, monkeypatch):
    monkeypatch.setattr(list_things, "things_of", lambda _kind: boom("stop"))
    assert cloak("list", "models").code == 130


@pytest.mark.parametrize(
    ("text", "count"), [("8GB", 8 * 10**9), ("512m", 512 * 10**6), ("1.5 GiB", 3 * 2**29), ("100", 100)]
)
def test_amounts_of_memory(text, count):
    assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "8XB"])
def test_what_is_not_an_amount_of_memory(text):
    with pytest.raises(PolicyError):
        parse_bytes(text)


HEAVY = ("polars", "numba", "numpy", "duckdb", "pandas", "pyarrow", "pydantic", "ruamel")  # what makes help slow


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from tablecloak.cli.main import main; main(['--help']); "
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stderr.strip() == "[]"


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error():
    command = f"{sys.executable} -m tablecloak.cli.main schema | head -n 1"
    found = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
