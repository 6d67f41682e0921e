"""Random tables under random policies, run as users run them, and judged without the package.

A case is made from a number: table, hierarchies, goals of every model, every algorithm, engine and options. It ends in
a release, which is read from its file with the csv module and judged from its own labels, or in an error of ours.
Anything else is a bug. `python tests/random_cases.py --cases 20000` searches for long; a failing number is made again
with `--first NUMBER --cases 1 --verbose`.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import re
import sys
import tempfile
import traceback
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

import oracle
import oracle_models
import tablecloak as tc
from tablecloak import pipeline, registry
from tablecloak.errors import CloakError
from tablecloak.policy.schema import Policy

ODD = ["A*02:01", "10-20", "[1, 5]", "{a}", "*", "a, b", 'say "hi"', "=1+1", "-7", "'x", "日本", "x y"]
ANIMALS = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "koi", "lynx"]
PLACES = {"north": {"coast": ["Kiel", "Husum"], "inland": ["Celle"]}, "south": {"alps": ["Chur"], "lake": ["Genf"]}}
ILLS = {"lung": ["flu", "asthma"], "gut": {"stomach": ["ulcer", "gastritis"], "liver": ["cirrhosis"]}, "skin": ["acne"]}
FIRST_DAY = date(1980, 1, 1)


def leaves_of(tree: Any) -> list[str]:
    if isinstance(tree, dict):
        return [leaf for child in tree.values() for leaf in leaves_of(child)]
    return list(tree)


def parents_of(tree: Any, root: str = "*") -> dict[str, str]:
    if not isinstance(tree, dict):
        return dict.fromkeys(tree, root)
    parents = {}
    for name, child in tree.items():
        parents |= {name: root, **parents_of(child, name)}
    return parents


@dataclass
class Kind:
    """A kind of quasi-identifier: its type, a random cell, hierarchies that fit."""

    type: str
    cell: Any
    hierarchies: list[dict[str, Any] | None]


KINDS = {
    "age": Kind("integer", lambda r: r.randint(0, 99), [
        None, None, {"kind": "intervals", "width": 5}, {"kind": "intervals", "width": 10, "closed": True},
        {"kind": "quantiles", "groups": 4}, {"kind": "order", "fanout": 3}, {"kind": "auto"},
        {"kind": "auto", "method": "range", "fanout": 4}]),
    "few": Kind("integer", lambda r: r.randint(1, 4), [None, {"kind": "order", "fanout": 2}]),
    "huge": Kind("integer", lambda r: r.choice([2**63 - 1, -(2**63), 2**62 + r.randint(0, 9), 3]), [None]),
    "income": Kind("float", lambda r: round(r.uniform(800, 9000), 2), [None, {"kind": "intervals", "width": 1000}]),
    "rate": Kind("float", lambda r: round(r.uniform(-2, 2), 1), [None, {"kind": "quantiles", "groups": 3}]),
    "wide": Kind("float", lambda r: r.choice([1e300, -1e300, 5e-324, 0.0, 1.5, r.uniform(-1e300, 1e300)]), [None]),
    "born": Kind("date", lambda r: FIRST_DAY + timedelta(days=r.randint(0, 9000)), [
        None, None, {"kind": "dates"}, {"kind": "dates", "levels": ["day", "quarter", "year"]},
        {"kind": "order", "fanout": 4}]),
    "flag": Kind("boolean", lambda r: r.random() < 0.3, [None]),
    "pet": Kind("text", lambda r: r.choice(ANIMALS), [
        None, None, {"kind": "order", "fanout": 3}, {"kind": "auto", "method": "group"}, {"kind": "mask"}]),
    "odd": Kind("text", lambda r: r.choice(ODD), [None, None, {"kind": "order", "fanout": 3}]),
    "place": Kind("text", lambda r: r.choice(leaves_of(PLACES)), [None, {"kind": "tree", "tree": PLACES}]),
    "zip": Kind("text", lambda r: f"{r.choice([13, 14, 99])}{r.randint(0, 9)}{r.randint(0, 9)}", [
        None, {"kind": "mask"}, {"kind": "mask", "from": "left"}, {"kind": "mask", "hide": 4}]),
    "same": Kind("text", lambda r: "same", [None, {"kind": "mask"}]),
}  # fmt: skip


@dataclass
class Case:
    """A table, a policy, and what a judge must know of them."""

    number: int
    rows: list[dict[str, Any]]
    types: dict[str, str]
    policy: dict[str, Any]
    engine: str
    population: list[dict[str, Any]] = field(default_factory=list)

    def names(self, *roles: str) -> list[str]:
        return [name for name, spec in self.policy["columns"].items() if spec["role"] in roles]

    @property
    def algorithm(self) -> str:
        return self.policy["algorithm"]["kind"]

    @property
    def is_reported(self) -> bool:
        return self.number % 4 == 0

    @property
    def is_verified(self) -> bool:
        return self.number % 4 == 1

    @property
    def is_applied(self) -> bool:
        publishes = registry.known("algorithms")[self.algorithm].publishes
        return self.number % 4 == 2 and str(publishes) == "generalized"

    def limit(self) -> Fraction:
        if self.algorithm == "datafly" and "suppression_limit" not in self.policy["algorithm"]:
            return Fraction(1)  # as many as its source allows
        return Fraction(repr(self.policy["algorithm"].get("suppression_limit", 0.0)))

    def tree(self, name: str) -> dict[str, str] | None:
        spec = self.policy["columns"][name].get("hierarchy") or {}
        return parents_of(spec["tree"]) if spec.get("kind") == "tree" else None


# --- making cases ---------------------------------------------------------------------------------------------------


def make_case(number: int) -> Case:
    r = random.Random(number)
    n = r.choice([r.randint(1, 8), r.randint(10, 40), r.randint(10, 40), r.randint(40, 160)])
    kinds = r.sample(sorted(KINDS), r.randint(1, 4))
    algorithm = random_algorithm(r, kinds)
    is_micro = algorithm["kind"] in ("mdav", "v-mdav", "univariate")
    if is_micro:
        kinds = r.sample(["age", "income", "rate", "few"], 1 if algorithm["kind"] == "univariate" else r.randint(1, 3))
    if algorithm["kind"] in ("v-kan", "v-klt"):
        algorithm["levels"] = {name: r.randint(0, 2) for name in kinds}
    gaps = r.choice([0, 0, 0, 0.1])
    rows = [
        {"row": i, **{k: None if r.random() < gaps else KINDS[k].cell(r) for k in kinds}, "ill": random_ill(r, gaps),
         "pay": r.choice([1, 2, 2, 3, 5, 8, 13, 21])}
        for i in range(n)
    ]  # fmt: skip
    columns: dict[str, Any] = {"row": {"role": "keep"}}
    for name in kinds:
        columns[name] = {"role": "quasi", "type": KINDS[name].type}
        hierarchy = None if is_micro else r.choice(KINDS[name].hierarchies)
        if hierarchy is not None:
            columns[name]["hierarchy"] = hierarchy
    columns["ill"] = {"role": "sensitive", "hierarchy": {"kind": "tree", "tree": ILLS}}
    columns["pay"] = {"role": r.choice(["sensitive", "keep", "drop"])}
    types = {"row": "integer", **{k: KINDS[k].type for k in kinds}, "ill": "text", "pay": "integer"}
    if r.random() < 0.25:
        n_people = max(1, n // r.randint(1, 4))
        for row in rows:
            row["who"] = f"p{r.randrange(n_people)}"
        columns["who"], types["who"] = {"role": "person"}, "text"
    policy: dict[str, Any] = {"version": 1, "columns": columns, "algorithm": algorithm, "seed": r.randint(0, 3)}
    if r.random() < 0.3:
        policy["missing"] = r.choice(["drop", "error", "value"])
    output: dict[str, Any] = {"suppressed": r.choice(["drop", "drop", "star"])}
    case = Case(number, rows, types, policy, r.choice(["local", "local", "duckdb"]))
    policy["goals"] = random_goals(r, case)
    if any(goal["model"] in NEEDS_POPULATION for goal in policy["goals"]):
        case.population = [dict(row) for row in rows for _ in range(r.randint(1, 4))]
    if any(goal["model"] == "personalized-privacy" for goal in policy["goals"]):
        for row in rows:
            row["guard"] = r.choice([None, None, "lung", "gut", "ulcer"])
        types["guard"] = "text"
    policy["output"] = output
    empty_a_column(case)
    return case


def empty_a_column(case: Case) -> None:
    """One table in 20 has a column with nothing in it."""
    r = random.Random(f"empty {case.number}")
    if r.random() < 0.05:
        name = r.choice(case.names("quasi", "sensitive"))
        for row in case.rows:
            row[name] = None


def random_ill(r: random.Random, gaps: float) -> str | None:
    return None if r.random() < gaps else r.choice(leaves_of(ILLS)[: r.choice([2, 4, 6, 6])])


def random_algorithm(r: random.Random, kinds: list[str]) -> dict[str, Any]:
    kind = r.choice([name for name in sorted(registry.known("algorithms")) if name != "apriori"])
    chosen: dict[str, Any] = {"kind": kind}
    fields = registry.known("algorithms")[kind].__dataclass_fields__
    if "suppression_limit" in fields and r.random() < 0.5:
        chosen["suppression_limit"] = r.choice([0.0, 0.05, 0.1, 0.29, 0.5])
    if "suppress" in fields and r.random() < 0.3:
        chosen["suppress"] = "cells"
    if kind == "levels":
        chosen["levels"] = {name: r.randint(0, 2) for name in kinds}
    if kind == "auto" and r.random() < 0.4:
        chosen["labels"] = "set"
    if kind == "mondrian" and r.random() < 0.5:
        chosen["mode"] = "relaxed"
    if kind == "suppression":
        chosen["unit"] = r.choice(["cells", "values", "attributes", "records"])
    return chosen


NEEDS_POPULATION = ("k-map", "delta-presence", "c-confident-delta-presence")
CONCEALING = ("k-concealment", "k-one-anonymity", "kk-anonymity", "one-k-anonymity")
GROUPED = ("anatomy", "permutation", "slicing", "swapping", "v-cold")


def random_goals(r: random.Random, case: Case) -> list[dict[str, Any]]:
    k = r.choice([2, 2, 3, 5])
    ill = {"sensitive": "ill"}
    present = sorted({row["ill"] for row in case.rows if row["ill"] is not None}) or ["flu"]
    value = r.choice(present)
    share = r.choice([0.3, 0.5, 0.6, 0.9])
    quasi = case.names("quasi")
    goals: dict[str, dict[str, Any]] = {
        "k-anonymity": {"k": k},
        "l-diversity": {**ill, **r.choice([
            {"l": 2}, {"l": 3}, {"variant": "entropy", "l": 2}, {"variant": "recursive", "l": 2, "c": 3},
            {"variant": "recursive", "l": 3, "c": 2}, {"variant": "pd-recursive", "l": 2, "c": 2, "allowed": [value]},
            {"variant": "npd-recursive", "l": 2, "c": 4, "c2": 0.1, "forbidden": [value]}])},
        "t-closeness": {**ill, "t": r.choice([0.2, 0.4, 0.6]), "distance": r.choice(["equal", "hierarchical"])},
        "p-sensitive-k-anonymity": {**ill, "p": 2, "k": k},
        "p-plus-sensitive-k-anonymity": {**ill, "p": 2, "k": k, "level": 1},
        "p-alpha-sensitive-k-anonymity": {**ill, "p": 2, "alpha": 1, "k": k, "level": 1},
        "alpha-k-anonymity": {**ill, "alpha": share, "k": k, **r.choice([{}, {"values": [value]}])},
        "confidence-bounding": {**ill, "s": value, "h": share},
        "xy-anonymity": {"k": k, **r.choice([{}, {"y": "ill"}, {"x": [quasi[0]]}])},
        "xy-privacy": {**ill, "k": k, "h": share},
        "beta-likeness": {**ill, "beta": r.choice([1, 2, 4]), "enhanced": r.random() < 0.3},
        "delta-disclosure": {**ill, "delta": r.choice([1, 2, 3])},
        "l-plus-diversity": {**ill, "thresholds": {value: share}},
        "ck-safety": {**ill, "c": 0.95, "k": r.choice([0, 1])},
        "lkc-privacy": {**ill, "l": r.randint(1, 3), "k": k, "c": share},
        "average-risk": {"limit": r.choice([0.2, 0.5])},
        "sample-uniqueness": {"limit": r.choice([0.0, 0.1])},
        "k-map": {"k": k + 2},
        "delta-presence": {"delta_max": r.choice([0.5, 0.8])},
        "personalized-privacy": {**ill, "guard": "guard", "limit": share},
        "m-confidentiality": {**ill, "m": 2, "k": k + 1},
        **{name: {"k": k} for name in CONCEALING},
    }  # fmt: skip
    if case.policy["columns"]["pay"]["role"] == "sensitive":
        pay = {"sensitive": "pay"}
        goals |= {
            "ke-anonymity": {**pay, "k": 2, "e": 2},
            "em-anonymity": {**pay, "epsilon": 1, "m": 2},
            "wgp": {**pay, "protection": 0.4, "width": 2},
            "multi-l-diversity": {"sensitive": ["ill", "pay"], "l": 2, "mode": r.choice(["def8", "per_sa"])},
        }
    names = sorted(goals)
    if case.algorithm in GROUPED and r.random() < 0.9:
        names = ["l-diversity", "t-closeness", "beta-likeness", "delta-disclosure", "l-plus-diversity", "ck-safety"]
    if case.algorithm == "ring" and r.random() < 0.9:
        names = list(CONCEALING)
    picked = r.sample(names, min(len(names), r.choice([1, 1, 2])))
    if case.algorithm not in (*GROUPED, "ring") and r.random() < 0.3:
        picked = ["k-anonymity"]
    return [{"model": name, **goals[name]} for name in picked]


# --- running them ---------------------------------------------------------------------------------------------------


def text_of(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else repr(value) if isinstance(value, float) else str(value)


def write_csv(path: Path, rows: list[dict[str, Any]], names: list[str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row in rows:
            cells = [text_of(row[name]) for name in names]
            file.write('""\n') if cells == [""] else writer.writerow(cells)
    return path


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [{name: unprotected(cell or "") for name, cell in row.items()} for row in rows]


def unprotected(cell: str) -> str:
    """A cell without the apostrophe that stands in front of a text that a spreadsheet would run."""
    return re.sub(r"^'(?=[=+\-@\t\r']|$)", "", cell)


@dataclass
class Outcome:
    """How a case ended: released, the class of our error, or a bug."""

    kind: str
    complaint: str = ""
    where: str = ""

    @property
    def is_bug(self) -> bool:
        return self.kind == "bug"


def run_case(case: Case, folder: Path) -> Outcome:
    source = write_csv(folder / "input.csv", case.rows, list(case.types))
    if case.population:
        write_csv(folder / "people.csv", case.population, case.names("quasi"))
        case.policy["population"] = str(folder / "people.csv")
    released = folder / "release.csv"
    output = {**case.policy["output"], "path": str(released)}
    if case.is_reported:
        output |= {"report": str(folder / "report.html"), "certificate": str(folder / "certificate.json")}
    if case.is_applied:
        output["recoding"] = str(folder / "recoding.json")
    written = {**case.policy, "input": str(source), "output": output}
    try:
        policy = Policy.model_validate(written)
        report = tc.run(policy, engine=case.engine, threads=1, force=True)
    except CloakError as error:
        if released.exists():
            return Outcome("bug", f"{type(error).__name__}, and yet there is a release")
        if "bug" in str(error).lower():
            return Outcome("bug", str(error))
        return Outcome(type(error).__name__, str(error))
    except Exception as error:  # every other exception is what is searched for
        return Outcome("bug", f"{type(error).__name__}: {error}", traceback.format_exc())
    try:
        judge(case, folder, policy, report)
    except AssertionError as error:
        return Outcome("bug", f"wrong release: {error}", traceback.format_exc(limit=3))
    except Exception as error:
        return Outcome("bug", f"judging: {type(error).__name__}: {error}", traceback.format_exc())
    try:
        use_release(case, folder, policy)
    except Exception as error:
        return Outcome("bug", f"using the release: {type(error).__name__}: {error}", traceback.format_exc())
    return Outcome("released")


def use_release(case: Case, folder: Path, policy: Policy) -> None:
    """What is done with a finished release: its documents read, it verified, its recoding applied."""
    source, released = folder / "input.csv", folder / "release.csv"
    if case.is_reported:
        page = (folder / "report.html").read_text(encoding="utf-8")
        assert page.rstrip().endswith("</html>"), "the report has no end"
        certified = pipeline.verify_certificate(released, folder / "certificate.json", original=source)
        wrong = [check for check in certified.checks if check.ok is False]
        assert not wrong, f"the certificate of our own release does not hold: {wrong}"
    if case.is_verified:
        for original in (None, source):
            found = pipeline.verify(released, policy, original=original)
            beside = "with" if original else "without"
            assert not found.fails, f"our own release fails {beside} its original: {found.to_dict()}"
    if case.is_applied:
        refusal = ""
        try:
            pipeline.apply_file(folder / "recoding.json", source, folder / "applied.csv")
        except CloakError as error:
            refusal = str(error)
        assert "bug" not in refusal.lower(), f"applying its recoding: {refusal}"
        assert bool(refusal) != (folder / "applied.csv").exists(), "applying its recoding ends in both or in nothing"


# --- judging them ---------------------------------------------------------------------------------------------------


def judge(case: Case, folder: Path, policy: Policy, report: Any) -> None:
    kind = registry.known("algorithms")[case.algorithm]
    if str(policy.algorithm.publishes) in ("grouped", "separated"):
        judge_groups(case, folder)
    elif str(policy.algorithm.publishes) == "generalized":
        judge_classes(case, read_csv(folder / "release.csv"), report)
    assert kind.name == case.algorithm


def used_rows(case: Case) -> dict[str, dict[str, Any]]:
    drops = case.policy.get("missing") == "drop"
    looked_at = case.names("quasi", "sensitive")
    return {str(row["row"]): row for row in case.rows if not drops or all(row[c] is not None for c in looked_at)}


def judge_classes(case: Case, published: list[dict[str, str]], report: Any) -> None:
    original = used_rows(case)
    quasi, sensitive = case.names("quasi"), case.names("sensitive")
    shown = [row for row in published if row["row"] not in ("", "*")]
    hidden = [row for row in published if row["row"] in ("", "*")]
    numbers = [row["row"] for row in shown]
    assert len(set(numbers)) == len(numbers), "a record is published twice"
    assert set(numbers) <= set(original), "a record is published that is not there"
    assert all(row[q] == "*" for row in hidden for q in quasi), "a suppressed record shows something"
    assert list(published[0]) == [c for c in case.types if c in case.names("keep", "quasi", "sensitive")]
    for row in shown:
        before = original[row["row"]]
        for name in case.names("keep", "sensitive"):
            same = row[name] == text_of(before[name]) or row[name] == f'"{text_of(before[name])}"'
            assert same or (name in sensitive and row[name] == "*"), f"{name} was changed"
        for name in quasi:
            assert covers(row[name], before[name], case, name), f"{name}: {row[name]} does not cover its original"
    joined = [
        {**row, **{s: original[row["row"]][s] for s in (*sensitive, *case.names("person"))},
         **({"guard": original[row["row"]]["guard"]} if "guard" in case.types else {})}
        for row in shown
    ]  # fmt: skip
    for goal in case.policy["goals"]:
        if joined:
            assert holds(case, goal, joined, list(original.values())), f"{goal} does not hold"
    n_out = len(original) - len(shown)
    assert n_out <= int(case.limit() * len(original)), f"{n_out} of {len(original)} records were left out"
    assert all(verdict.holds for verdict in report.verification.verdicts)


def holds(case: Case, goal: dict[str, Any], rows: list[dict[str, Any]], original: list[dict[str, Any]]) -> bool:
    """Whether a goal holds on published rows, by the slow judges; True where they cannot say."""
    quasi, person = case.names("quasi"), next(iter(case.names("person")), None)
    model = goal["model"]
    if person is not None and model != "k-anonymity":
        return True  # judged in persons by tests of their own
    if any(row["ill"] is None for row in original) and model not in (
        "k-anonymity",
        "average-risk",
        "sample-uniqueness",
    ):
        return True  # what missing values count for has tests of its own
    groups = oracle_models.group_by(rows, quasi).values()
    if model == "k-anonymity":
        return min(len({row[person] for row in g}) if person else len(g) for g in groups) >= goal["k"]
    if model in ("l-diversity", "t-closeness"):
        trees = {"ill": parents_of(ILLS)}
        return oracle.check(rows, quasi, [goal], trees=trees, original=original)[0][0]
    if model in CONCEALING:
        return conceals(case, goal, rows, original)
    if model in NEEDS_POPULATION:
        return in_population(case, goal, groups)
    if model == "personalized-privacy":
        return keeps_guards(goal, groups)
    if model == "ck-safety" and len(rows) > 6:
        return True  # the judge goes through all worlds
    thresholds = {"thresholds": tuple(goal["thresholds"].items())} if "thresholds" in goal else {}
    return oracle_models.check(
        {**goal, **thresholds}, rows, quasi, sensitive=case.names("sensitive"), original=original,
        tree=parents_of(ILLS) if goal.get("sensitive") != "pay" else None,
    )[0]  # fmt: skip


def conceals(case: Case, goal: dict[str, Any], rows: list[dict[str, Any]], original: list[dict[str, Any]]) -> bool:
    """Persons who could be each row and rows each person could be, by trying all pairs; matchings are not tried."""
    quasi = case.names("quasi")

    def fits(row: dict[str, Any], before: dict[str, Any]) -> bool:
        return all(covers(row[q], before[q], case, q) for q in quasi)

    there = [before for before in original if str(before["row"]) in {row["row"] for row in rows}]
    persons = min(sum(fits(row, before) for before in there) for row in rows)
    published = min(sum(fits(row, before) for row in rows) for before in there)
    wanted = {"one-k-anonymity": published, "k-one-anonymity": persons}.get(goal["model"], min(persons, published))
    return wanted >= goal["k"]


def in_population(case: Case, goal: dict[str, Any], groups: Any) -> bool:
    quasi = case.names("quasi")
    for group in groups:
        people = sum(all(covers(group[0][q], one[q], case, q) for q in quasi) for one in case.population)
        if goal["model"] == "k-map" and people < goal["k"]:
            return False
        if goal["model"] == "delta-presence" and Fraction(len(group), max(people, len(group))) > Fraction(
            repr(goal["delta_max"])
        ):
            return False
    return True


def keeps_guards(goal: dict[str, Any], groups: Any) -> bool:
    tree = parents_of(ILLS)
    for group in groups:
        for guarded in {row["guard"] for row in group if row["guard"]}:
            under = sum(row["ill"] is not None and oracle_models.is_under(tree, row["ill"], guarded) for row in group)
            if Fraction(under, len(group)) > Fraction(repr(goal["limit"])):
                return False
    return True


def judge_groups(case: Case, folder: Path) -> None:
    """Columns keep their values; no group says of anybody more than its goal allows."""
    original = list(used_rows(case).values())
    main = read_csv(folder / "release.csv")
    beside = sorted(folder.glob("release*sensitive*.csv")) + sorted(folder.glob("release-*.csv"))
    assert len(main) == len(original), "records are missing"
    for name in case.names("quasi"):
        ours = Counter(row[name].removeprefix('"').removesuffix('"') for row in main)
        theirs = Counter(text_of(row[name]).removeprefix('"').removesuffix('"') for row in original)
        assert ours == theirs, f"{name} has other values than before"
    if beside:
        side = read_csv(beside[0])
        group = next(name for name in side[0] if name not in case.types and name != "count")
        by_group: dict[str, Counter[str]] = defaultdict(Counter)
        for row in side:
            by_group[row[group]][row["ill"]] += int(row.get("count") or 1)
        assert sum(sum(c.values()) for c in by_group.values()) == len(original), "sensitive values are missing"
        for goal in case.policy["goals"]:
            if goal["model"] == "l-diversity" and goal.get("variant", "distinct") == "distinct":
                assert all(len(set(counts) - {""}) >= goal["l"] for counts in by_group.values()), "a group is too plain"


# --- reading published cells ----------------------------------------------------------------------------------------


def covers(cell: str, value: Any, case: Case, name: str) -> bool:
    """Whether a published cell may stand for an original value; labels are read from scratch."""
    if cell and set(cell) == {"*"} and value != cell:
        return True
    if cell == "" or value is None:
        return cell == "" and value is None
    kind, text = case.types[name], text_of(value)
    tree = case.tree(name)
    if tree is not None and cell in tree.values():
        return cell in ancestors(tree, text)
    if cell.startswith('"'):
        return cell == '"' + text.replace('"', '""') + '"'
    if cell == text:
        return True
    if cell.startswith("{") and cell.endswith("}") and text in members(cell):
        return True
    if cell.startswith("all but {") and cell.endswith("}"):
        return text not in members(cell.removeprefix("all but "))
    if kind == "text":
        is_mask = (case.policy["columns"][name].get("hierarchy") or {}).get("kind") == "mask" or text.isdigit()
        if is_mask and len(cell) == len(text) and all(c in ("*", t) for c, t in zip(cell, text, strict=True)):
            return True
        ends = re.fullmatch(r"\[(.+), (.+)\]", cell)
        return ends is not None and unquoted(ends[1]) <= text <= unquoted(ends[2])
    return in_range(cell, value, kind)


def ancestors(tree: dict[str, str], leaf: str) -> set[str]:
    above = set()
    while leaf in tree:
        leaf = tree[leaf]
        above.add(leaf)
    return above


def unquoted(text: str) -> str:
    return text[1:-1].replace('""', '"') if text.startswith('"') and text.endswith('"') and len(text) > 1 else text


def members(cell: str) -> set[str]:
    found = re.findall(r'\s*("(?:[^"]|"")*"|[^,"]*)\s*(?:,|$)', cell[1:-1])
    return {unquoted(member.strip()) for member in found}


def in_range(cell: str, value: Any, kind: str) -> bool:
    ends = re.fullmatch(r"\[([^,]+), ([^,]+)([\])])", cell)
    if ends is None:
        return (kind == "date" and in_period(cell, value)) or as_point(cell, kind) == as_point(text_of(value), kind)
    if kind == "date" and re.fullmatch(r"\d{4}", ends[1]):  # [1980, 1989]
        return int(ends[1]) <= value.year <= int(ends[2])
    low, high, at = as_point(ends[1], kind), as_point(ends[2], kind), as_point(text_of(value), kind)
    return low <= at <= high if ends[3] == "]" else low <= at < high


def in_period(cell: str, value: date) -> bool:
    quarter = f"{value.year}-Q{(value.month + 2) // 3}"
    return cell in (f"{value.year}", f"{value.year}-{value.month:02}", quarter)


def as_point(text: str, kind: str) -> Any:
    try:
        return datetime.fromisoformat(text) if kind == "date" else Fraction(text)
    except ValueError:
        return None


# --- searching for long ---------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--verbose", action="store_true")
    asked = parser.parse_args()
    ends: Counter[str] = Counter()
    bugs = 0
    for number in range(asked.first, asked.first + asked.cases):
        with tempfile.TemporaryDirectory() as folder:
            case = make_case(number)
            outcome = run_case(case, Path(folder))
        ends[outcome.kind] += 1
        if outcome.is_bug:
            bugs += 1
            print(f"case {number} ({case.algorithm}, {case.engine}): {outcome.complaint[:300]}", flush=True)
        if asked.verbose:
            print(json.dumps({k: v for k, v in case.policy.items() if k != "population"}, default=str, indent=1))
            print(outcome.kind, outcome.complaint, outcome.where)
    print(", ".join(f"{kind} {n:,}" for kind, n in ends.most_common()))
    return 1 if bugs else 0


if __name__ == "__main__":
    sys.exit(main())
