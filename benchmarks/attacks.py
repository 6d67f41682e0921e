"""What every attack reaches on Adult before and after six ways to protect it, measured in one run.

    python -m benchmarks.attacks [--write docs/concepts/attacks.md] [--json FILE]
    python -m benchmarks.attacks --rows 1000000

Adult and its hierarchies are looked for in $TABLECLOAK_DATA, else in ../shared/data. Every second record is the table;
all records are the population, the others the control group. A second release, of k = 8, is what compositions compare.

With --rows the cost is measured instead, on made-up census records: processor seconds of `run` at k = 10, and of the
attacks on its release, those that only count classes and all of them, as ratios to it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.adult import find_adult
from tablecloak import load_policy, run
from tablecloak.algorithms.base import Problem
from tablecloak.attacks.base import counting, every
from tablecloak.attacks.case import Attacker
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame
from tablecloak.measure import attack as attacking
from tablecloak.policy.load import parse_policy
from tablecloak.policy.schema import Policy
from tablecloak.progress import silent
from tablecloak.release.plan import make_plan
from tablecloak.release.shapes.groups import separate
from tablecloak.sample.census import census_policy, census_to_file

QUASI = ["sex", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]
K, KL = "{model: k-anonymity, k: 5}", "{model: l-diversity, l: 3, variant: entropy}"
KT = "{model: t-closeness, t: 0.4}"
WAYS = {
    "k": ([K], "mondrian"),
    "k + l": ([K, KL], "mondrian"),
    "k + t": ([K, KT], "mondrian"),
    "Anatomy": (["{model: l-diversity, l: 3}"], "anatomy"),
    "V-KLT, published": ([K, "{model: l-diversity, l: 3}"], "{kind: v-klt, variant: published}"),
    "V-KLT, sound": ([K, "{model: l-diversity, l: 3}"], "{kind: v-klt, variant: sound}"),
}
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"


def policy_of(folder: Path, goals: Sequence[str], algorithm: str) -> Policy:
    """Age as a number with a hierarchy where a method needs one, occupation sensitive."""
    trees = "\n".join(
        f"  {n}: {{role: quasi, type: text, hierarchy: '{folder.resolve()}/adult_hierarchy_{n}.csv'}}" for n in QUASI
    )
    text = f"""version: 1
columns:
  age: {{role: quasi, type: integer}}
{trees}
  occupation: {{role: sensitive, type: text, hierarchy: '{folder.resolve()}/adult_hierarchy_occupation.csv'}}
goals: [{", ".join(goals)}]
algorithm: {algorithm}
"""
    return parse_policy(text, name="benchmark", base=folder)


def release_of(frame: pl.DataFrame, policy: Policy) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """What a method publishes, verified or not: a published method may not reach its goal."""
    engine, plan = LocalEngine(), make_plan(policy, frame.columns)
    table = table_of(frame)
    coding = engine.contingency(
        table, plan.quasi_columns(table), plan.sensitive_columns(table), by_row=plan.algorithm.needs_rows
    )
    solution = plan.algorithm.solve(Problem(coding.table, plan.goal), silent)
    if solution.bucketing is not None:
        parts = separate(table, solution, coding.table, plan)
        return parts.main.frame, None if parts.side is None else parts.side.frame
    labels = solution.published(coding.table.domains)
    release, _ = engine.publish(table, solution.class_of_row(coding.table), labels, plan.publication)
    return release.frame, None


def measure(folder: Path) -> dict[str, dict[str, Any]]:
    """By way of protection what every attack reaches; the original itself is one of them."""
    everybody = read_frame(Source(folder / "adult.csv")).select("age", *QUASI, "occupation")
    table, control = everybody.gather_every(2), everybody.gather_every(2, offset=1)
    second, _ = release_of(table, policy_of(folder, ["{model: k-anonymity, k: 8}"], "mondrian"))
    found: dict[str, dict[str, Any]] = {}
    for name, (goals, algorithm) in WAYS.items():
        policy = policy_of(folder, goals, algorithm)
        release, side = release_of(table, policy)
        report = attacking.attack(
            table, release, policy=policy, side=side, population=everybody, control=control, others=[second],
            attacker=Attacker(k=5, m=3), with_before=not found,
        )  # fmt: skip
        if report.before is not None:
            found["original"] = {e.attack: e.to_dict() for e in report.before}
        found[name] = {e.attack: e.to_dict() for e in report.after}
        print(f"{name}: {len(release)} rows", file=sys.stderr)
    return found


def table_text(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Highest chance / average chance / victims in percent of targets, by attack and way."""
    heads = ["attack", *found]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for name in every():
        cells = [_cell(found[way][name]) for way in found]
        if any(cell != "–" for cell in cells):
            lines.append(f"| [{name}](../reference/attacks/{name}.md) | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(exposure: Mapping[str, Any]) -> str:
    if not exposure["applies"]:
        return "–"
    share = exposure["victims"] / max(1, exposure["targets"])
    highest = "–" if exposure["highest"] is None else f"{exposure['highest']:.2f}"
    return f"{highest} / {exposure['average']:.3f} / {share:.1%}"


def cost(n_rows: int) -> str:
    """What attacks cost compared with the run that made the release, in one process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        census_to_file(folder / "census.csv", n_rows)
        (folder / "policy.yaml").write_text(census_policy(10, source="census.csv", target="release.csv"))
        policy = load_policy(folder / "policy.yaml")
        run(policy)  # compiles kernels
        ran = _seconds(lambda: run(policy, force=True))
        files = folder / "census.csv", folder / "release.csv"
        lines = [f"run: {ran:.1f} s"]
        for title, kinds in (("counting attacks", counting()), ("all attacks", every())):
            took = _seconds(partial(attacking.attack, *files, policy=policy, kinds=kinds, with_before=False))
            lines.append(f"{title}: {took:.1f} s, {took / ran:.2f} x run")
    return "\n".join(lines)


def _seconds(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def main() -> None:
    """Measure, print the table and put it where it belongs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="page whose table is replaced")
    parser.add_argument("--json", type=Path, help="file for all results")
    parser.add_argument("--rows", type=int, help="measure the cost on so many made-up records instead")
    given = parser.parse_args()
    if given.rows:
        print(cost(given.rows))
        return
    folder = find_adult()
    if folder is None:
        sys.exit("no Adult data: set TABLECLOAK_DATA to the folder that has adult/adult.csv")
    found = measure(folder)
    text = table_text(found)
    print(text)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    if given.write:
        page = given.write.read_text(encoding="utf-8")
        made = re.sub(f"(?s){BEGIN}.*{END}", lambda _: f"{BEGIN}\n{text}\n{END}", page)
        given.write.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
