"""No cell of the data in any message: planted values, files that are wrong in many ways, every verb that reads them."""

from __future__ import annotations

import json

import polars as pl
import pytest

from canaries import BROKEN, CANARY, NUMBER, POLICY, WHOLE, leaks

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.json").write_text(json.dumps(POLICY))
    (tmp_path / "tree.csv").write_text("a;*\nb;*\n")
    (tmp_path / "whole.csv").write_text(WHOLE)
    return tmp_path


VERBS = [
    ["run", "policy.json"],
    ["run", "policy.json", "-v"],
    ["run", "policy.json", "--engine", "duckdb", "-v"],
    ["check", "policy.json", "--json"],
    ["inspect", "data.csv"],
    ["advise", "data.csv"],
    ["advise", "policy.json", "data.csv", "--json"],
    ["init", "data.csv", "--force"],
    ["risk", "data.csv", "--quasi", "name,age"],
    ["hierarchy", "build", "data.csv", "age", "--kind", "order", "--set", "fanout=2"],
    ["hierarchy", "check", "tree.csv", "data.csv", "name"],
    ["hierarchy", "show", "data.csv"],
    ["compare", "whole.csv", "data.csv", "--quasi", "name,age"],
    ["compare", "data.csv", "whole.csv", "--policy", "policy.json"],
    ["attack", "whole.csv", "data.csv", "--policy", "policy.json", "--kind", "prosecutor"],
    ["verify", "data.csv", "--policy", "policy.json", "--original", "whole.csv"],
    ["apply", "data.csv", "whole.csv", "-o", "out.csv"],
    ["run", "data.csv"],
    ["verify", "whole.csv", "--certificate", "data.csv"],
]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_no_verb_shows_a_cell_of_a_broken_file(cloak, folder, verb):
    shown = []
    for kind, data in BROKEN.items():
        (folder / "data.csv").write_bytes(data.encode() if isinstance(data, str) else data)
        outcome = cloak(*verb)
        if leaks(outcome.err) or (outcome.code and leaks(outcome.out)) or "unexpected" in outcome.err:
            shown.append((kind, outcome.code, outcome.out[-300:], outcome.err[-300:]))
        if verb[0] in ("inspect", "advise", "risk", "compare", "attack", "check") and leaks(outcome.out):
            shown.append((kind, "result", outcome.out[-300:], ""))
    assert shown == []


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "arrow", "xlsx"])
@pytest.mark.parametrize("verb", [["run", "policy.json", "-v"], ["inspect", "data.{}"], ["init", "data.{}", "--force"]])
def test_other_formats_show_no_cell_either(cloak, folder, kind, verb):
    file = folder / f"data.{kind}"
    frame = pl.DataFrame(
        {"name": [CANARY] * 3, "age": [NUMBER, CANARY, "1"], "income": [CANARY] * 3, "born": ["x"] * 3}
    )
    if kind == "xlsx":
        pytest.importorskip("xlsxwriter")
        pytest.importorskip("fastexcel")
        frame.write_excel(file, include_header=False)
    else:
        getattr(frame, {"parquet": "write_parquet", "jsonl": "write_ndjson", "arrow": "write_ipc"}[kind])(file)
    (folder / "policy.json").write_text(json.dumps(POLICY | {"input": file.name}))
    for cut in (None, 20, 200):
        file.write_bytes(file.read_bytes()[:-cut] if cut else file.read_bytes())
        outcome = cloak(*(word.format(kind) for word in verb))
        assert not leaks(outcome.err + outcome.out), outcome
        assert "unexpected" not in outcome.err


def test_a_first_row_that_may_be_a_record_is_asked_about(cloak, folder):
    (folder / "data.csv").write_text("Anna,Bern\nBeat,Thun\nCarl,Bern\n")
    outcome = cloak("inspect", "data.csv")
    assert outcome.code == 5
    assert "may be a record instead of names of columns: 1 of its 2 cells are like those below" in outcome.err
    assert "--no-header" in outcome.err
    named = cloak("inspect", "data.csv", "--no-header", "--json")
    assert [c["name"] for c in named.data["columns"]] == ["column_1", "column_2"]
    assert named.data["rows"] == 3
    assert [c["name"] for c in cloak("inspect", "data.csv", "--header", "--json").data["columns"]] == ["Anna", "Bern"]
    assert cloak("init", "data.csv", "--no-header").code == 0
    assert cloak("check", "data-policy.yaml", "--json").data.get("rows", 3) == 3  # it knows what its columns are called


def test_a_header_that_a_policy_knows_is_not_asked_about(cloak, folder):
    (folder / "data.csv").write_text("name,city\nBeat,Thun\nname,city\nBeat,Thun\n")
    written = {"input": "data.csv", "columns": {"name": "quasi"}, "goals": [{"model": "k-anonymity", "k": 1}]}
    (folder / "p.json").write_text(json.dumps(written))
    outcome = cloak("check", "p.json")
    assert "may be a record" not in outcome.err
