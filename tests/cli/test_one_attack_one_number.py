"""One attack, one number: the report of a run, `tablecloak attack`, the web app and Python agree on the same files."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

import tablecloak as tc
from tablecloak.progress import silent
from tablecloak.release.plan import side_path
from tablecloak.report.about import release as about
from tablecloak.server.steps.compare import task as compare_task
from tablecloak.server.steps.compare.task import ReleaseRequest
from tablecloak.server.tables import PolicyTable

pytestmark = pytest.mark.slow
N = 120
COLUMNS = """version: 1
input: people.csv
columns:
  age: {role: quasi}
  town: {role: quasi, type: text}
  illness: {role: sensitive}
  cost: {role: sensitive}
"""
OUTPUT = "output: {path: release.csv, report: report.html}\n"
K5 = "goals: [{model: k-anonymity, k: 5}]\n"
# every way of publishing that counts differently: labels that overlap, suppressed records left out or as stars, sets,
# rings, persons with several rows, groups of exact values, averages, a population, another engine
WAYS = {
    "overlapping": K5 + "algorithm: mondrian\n" + OUTPUT,
    "auto": K5 + OUTPUT,
    "sets": K5 + "algorithm: {kind: auto, labels: set}\n" + OUTPUT,
    "left out": K5 + "algorithm: {kind: mondrian, suppression_limit: 0.2}\n" + OUTPUT,
    "stars": K5 + "algorithm: {kind: mondrian, suppression_limit: 0.2}\n" + OUTPUT.replace("}", ", suppressed: star}"),
    "ring": "goals: [{model: k-concealment, k: 3}]\nalgorithm: ring\n" + OUTPUT,
    "persons": K5.replace("goals", "  who: {role: person}\ngoals") + "algorithm: mondrian\n" + OUTPUT,
    "groups": "goals: [{model: l-diversity, l: 2, sensitive: illness}]\nalgorithm: anatomy\n" + OUTPUT,
    "population": K5 + "algorithm: mondrian\npopulation: register.csv\n" + OUTPUT,
    "averages": K5.replace("  town: {role: quasi, type: text}\n", "") + "algorithm: mdav\n" + OUTPUT,
    "duckdb": K5 + "algorithm: mondrian\nengine: duckdb\n" + OUTPUT,
}
NUMBERS = ("applies", "highest", "average", "baseline", "excess", "victims", "targets")


def people():
    """Neighbours are alike but for two who live far away; some costs are unknown, some rows repeat."""
    draw = random.Random(5)
    rows = [
        {
            "age": 20 + draw.randrange(40), "town": f"t{draw.randrange(9)}",
            "illness": draw.choice(["flu", "flu", "cold", "burn", "hiv"]),
            "cost": draw.choice([None, *range(100, 160, 3)]), "who": f"p{i // 2}",
        }
        for i in range(N - 6)
    ]  # fmt: skip
    rows += [*rows[:4], {**rows[0], "age": 99, "town": "t8"}, {**rows[1], "age": 97}]
    return pl.DataFrame(rows)


def figures(attacks):
    return {a["attack"]: {k: a.get(k) for k in NUMBERS} for a in attacks}


@pytest.mark.parametrize("way", WAYS)
def test_report_command_web_and_python_say_the_same(way, cloak, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    original = people() if way == "persons" else people().drop("who")
    original.write_csv("people.csv")
    if way == "population":
        pl.concat([original, original.head(40)]).write_csv("register.csv")
    text = (COLUMNS.replace("  town: {role: quasi, type: text}\n", "") if way == "averages" else COLUMNS) + WAYS[way]
    if way == "averages":
        original.drop("town").write_csv("people.csv")
    (tmp_path / "policy.yaml").write_text(text)
    reported = []
    monkeypatch.setattr(about.quality, "attack_blocks", lambda attacks, _: reported.extend(attacks) or iter(()))
    monkeypatch.setattr(about, "public_subject", lambda subject: subject)  # which rounds them
    words = ("--engine", "duckdb") if way == "duckdb" else ()
    if way == "duckdb":
        (tmp_path / "policy.yaml").write_text(text.replace("engine: duckdb\n", ""))
    assert cloak("run", "policy.yaml", *words).code == 0

    command = figures(cloak("attack", "people.csv", "release.csv", "-p", "policy.yaml", "--json").data["attacks"])
    table = PolicyTable((tmp_path / "policy.yaml").read_text(), tmp_path)
    web = figures(compare_task.attack(ReleaseRequest(table, Path("release.csv")), silent).document["attacks"])
    side = side_path(tmp_path / "release.csv")
    beside = {"side": pl.read_csv(side)} if side.exists() else {}
    if way == "population":
        beside["population"] = pl.read_csv("register.csv")
    quasi = ["age"] if way == "averages" else ["age", "town"]
    python = tc.attack(
        pl.read_csv("people.csv"),
        pl.read_csv("release.csv", schema_overrides=dict.fromkeys(quasi, pl.String)),
        policy=tc.load_policy("policy.yaml"),
        **beside,
    ).to_dict()["attacks"]
    assert web == command
    assert figures(python) == command
    assert sum(found["applies"] for found in command.values()) >= 5
    assert reported or way == "groups"
    if way == "persons":
        said = "chances and victims count rows, not persons: 120 rows are of 57 persons"
        assert said in reported[0]["notes"]
        assert said in cloak("attack", "people.csv", "release.csv", "-p", "policy.yaml", "--json").data["notes"]
    for name, found in figures(reported).items():
        assert found == command[name], name
