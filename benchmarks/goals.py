"""What `auto` loses on Adult where more than k is asked, and where categories are published as sets.

    python -m benchmarks.goals [--efforts fast,balanced] [--only diversity,sets] [--page FILE]

Eight of the nine columns are quasi-identifiers: all but occupation, which is sensitive, where more than k is asked; all
but the salary class for sets. Goals of diversity and closeness use the hierarchies of all columns, age too, so every
column is counted by leaves, whether classes are published as nodes of the hierarchies or as sets of values. The goals
of sets alone know no hierarchy: age is a number, and a set costs its size over that of the domain.
Nothing is suppressed. Every release is made by the command line in a process of its own and scored from its file.
Beside our figures are those of the best release by another tool on the same table, with its processor seconds on a
similar machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.adult import find_adult
from benchmarks.losses import Table, adult_table, algorithm_of
from benchmarks.releases import measured_on, release
from benchmarks.score import Line
from benchmarks.tables import replace_between

SENSITIVE = "occupation"
TARGET = "salary-class"


@dataclass(frozen=True, slots=True)
class Case:
    """One goal, and what another tool reaches."""

    name: str
    k: int
    more: str  # goals beside k
    other: str


CASES = {
    "diversity": (
        Case("k = 5, distinct 5-diversity", 5, "{model: l-diversity, l: 5}", "0.0590 / 1.8"),
        Case("k = 5, entropy 4-diversity", 5, "{model: l-diversity, l: 4, variant: entropy}",
             "0.1120, 750 suppressed / 8.3"),
        Case("k = 5, t = 0.2 (equal distance)", 5, "{model: t-closeness, t: 0.2, distance: equal}",
             "0.4471, 1,090 suppressed / 78.9"),
        Case("k = 5, t = 0.1 (equal distance)", 5, "{model: t-closeness, t: 0.1, distance: equal}", "not measured"),
        Case("k = 5, beta = 1", 5, "{model: beta-likeness, beta: 1}", "not measured"),
        Case("k = 5, beta = 2", 5, "{model: beta-likeness, beta: 2}", "not measured"),
    ),
    "sets": (
        Case("k = 5, sets", 5, "", "0.034 / 57"),
        Case("k = 10, sets", 10, "", "0.057 / 30"),
        Case("k = 50, sets", 50, "", "0.146 / 7"),
    ),
}  # fmt: skip
VOCABULARIES = {"diversity": ("nodes", "sets"), "sets": ("sets",)}


def figures(table: Table, folder: Path, kind: str, case: Case, vocabulary: str, effort: str) -> str:
    """Loss and processor seconds of one release."""
    quasi = replace(table, columns=tuple(c for c in table.columns if c != (SENSITIVE if case.more else TARGET)))
    scored = quasi.scored("nodes")
    if kind == "sets":
        scored["age"] = Line(17, 90)
        quasi = replace(quasi, folder=folder / "no hierarchies")
    policy, target = folder / "policy.yaml", folder / "release.csv"
    goals = f"[{{model: k-anonymity, k: {case.k}}}{', ' if case.more else ''}{case.more}]"
    algorithm = algorithm_of(effort, vocabulary)
    sensitive = SENSITIVE if case.more else None
    policy.write_text(quasi.policy(vocabulary, algorithm, target, goals, sensitive), encoding="utf-8")
    done = release(policy, target, scored, n_rows=table.n_rows, k=case.k)
    return f"{done.score.gcp:.4f} / {done.cpu_seconds:.1f}"


def lines(table: Table, folder: Path, kinds: Sequence[str], efforts: Sequence[str]) -> Iterator[str]:
    """The rows of the table: nodes and sets, each with every effort."""
    for kind in kinds:
        for case in CASES[kind]:
            cells = [
                figures(table, folder, kind, case, vocabulary, effort) if vocabulary in VOCABULARIES[kind] else ""
                for vocabulary in ("nodes", "sets")
                for effort in efforts
            ]
            yield f"| {case.name} | {' | '.join(cells)} | {case.other} |"


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--efforts", default="fast,balanced")
    parser.add_argument("--only", default="diversity,sets")
    parser.add_argument("--page", type=Path, help="put the table between the marks of this page")
    asked = parser.parse_args(given)
    source = find_adult()
    if source is None:
        sys.exit("Adult is not on this machine; set TABLECLOAK_DATA to the folder that holds adult/adult.csv")
    efforts = asked.efforts.split(",")
    titles = [f"{vocabulary}, `{effort}`" for vocabulary in ("nodes", "sets") for effort in efforts]
    rows = [f"| goal | {' | '.join(titles)} | other tool |", f"|{'---|' * (len(titles) + 2)}"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        table = adult_table(folder, source, 0)
        for kind in asked.only.split(","):
            for vocabulary in VOCABULARIES[kind]:  # loads, or compiles, kernels
                figures(table, folder, kind, CASES[kind][0], vocabulary, "fast")
        for row in lines(table, folder, asked.only.split(","), efforts):
            rows.append(row)
            print(row, flush=True)
    if asked.page:
        text = "\n".join(rows)
        replace_between(asked.page, "goals", f"{measured_on()}\n\nGCP / CPU seconds:\n\n{text}")


if __name__ == "__main__":
    main()
