"""Random sets of items under random policies, with all documents, verified and applied, and judged without the package.

As random_cases.py for tables: a case ends in a release that the slow judge of sets accepts, or in an error of ours.
`python tests/random_sets.py --cases 2000` searches for long.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

import oracle_sets
import tablecloak as tc
from random_cases import ANIMALS, ILLS, ODD, Outcome, leaves_of, unprotected
from tablecloak import pipeline
from tablecloak.errors import CloakError
from tablecloak.policy.schema import Policy

# What items are drawn from, their type, and hierarchies that fit.
ITEMS: dict[str, tuple[list[str], str, list[dict[str, Any] | None]]] = {
    "animals": (ANIMALS, "text", [None, {"kind": "order", "fanout": 3}, {"kind": "mask"}]),
    "ills": (leaves_of(ILLS), "text", [{"kind": "tree", "tree": ILLS}]),
    "odd": ([item for item in ODD if "," not in item], "text", [None, {"kind": "order", "fanout": 3}]),
    "numbers": ([str(n) for n in range(1, 30)], "integer", [None, {"kind": "intervals", "width": 5}]),
}


def make_sets(number: int) -> tuple[list[list[str]], dict[str, Any], bool]:
    """Sets, the policy for them but for its files, and whether they are a column of a table."""
    r = random.Random(f"sets {number}")
    items, type_, hierarchies = ITEMS[r.choice(sorted(ITEMS))]
    n, longest = r.choice([r.randint(1, 4), r.randint(5, 60), r.randint(5, 60)]), r.choice([0, 1, 3, 5])
    sets = [r.sample(items, min(len(items), r.randint(0, longest))) for _ in range(n)]
    if longest and r.random() < 0.2:
        sets = [one + one[:1] for one in sets]  # some items twice
    hierarchy = r.choice(hierarchies)
    column = {"role": "items", "type": type_, **({"hierarchy": hierarchy} if hierarchy else {})}
    goal = {"model": "km-anonymity", "k": r.randint(2, 4), "m": r.randint(1, 3), "multiset": r.random() < 0.2}
    limit = r.choice([0.0, 0.0, 0.1, 0.5, 1.0])
    is_table = r.random() < 0.5
    columns = {"items": column, **({"row": {"role": r.choice(["keep", "sensitive", "drop"])}} if is_table else {})}
    policy = {"columns": columns, "goals": [goal], "algorithm": {"kind": "apriori", "suppression_limit": limit}}
    return sets, policy, is_table


def run_sets(number: int, folder: Path) -> Outcome:
    sets, policy, is_table = make_sets(number)
    suffix = "csv" if is_table else "sets"
    source, released = folder / f"input.{suffix}", folder / f"release.{suffix}"
    lines = [";".join(one) for one in sets]
    if is_table:
        with source.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["items", "row"], *([line, i] for i, line in enumerate(lines))])
    else:
        source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    documents = {"report": "report.html", "certificate": "certificate.json", "recoding": "recoding.json"}
    policy["output"] = {"path": released.name, **documents}
    policy["input"] = {"path": source.name, "delimiter": ";"} if not is_table else source.name
    try:
        parsed = Policy.model_validate(policy).at(folder)
        tc.run(parsed)
    except CloakError as error:
        is_bug = released.exists() or "bug" in str(error).lower()
        return Outcome("bug" if is_bug else type(error).__name__, str(error))
    except Exception as error:  # every other exception is what is searched for
        return Outcome("bug", f"{type(error).__name__}: {error}", traceback.format_exc())
    try:
        judge(sets, policy, released)
        use_release(folder, parsed, source, released)
    except Exception as error:
        return Outcome("bug", f"{type(error).__name__}: {error}", traceback.format_exc())
    return Outcome("released")


def read_sets(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        is_table = path.suffix == ".csv"
        cells = [row["items"] for row in csv.DictReader(file)] if is_table else [line.rstrip("\r\n") for line in file]
    # a text that a spreadsheet would run has an apostrophe in front: a cell in a table, an item in a file of sets
    parts = [unprotected(cell).split(";") if is_table else map(unprotected, cell.split(";")) for cell in cells]
    return [sorted(filter(None, items)) for items in parts]


def judge(sets: list[list[str]], policy: dict[str, Any], released: Path) -> None:
    """Combinations of published items are frequent, and there are as many sets as before."""
    goal, shown = policy["goals"][0], read_sets(released)
    assert len(shown) == len(sets), "sets are missing"
    assert sum(map(len, shown)) <= sum(map(len, sets)), "there are more items than before"
    assert oracle_sets.is_km_anonymous(shown, goal["k"], goal["m"], multiset=goal["multiset"]), f"{goal} does not hold"


def use_release(folder: Path, policy: Policy, source: Path, released: Path) -> None:
    assert (folder / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    certified = pipeline.verify_certificate(released, folder / "certificate.json", original=source)
    wrong = [check for check in certified.checks if check.ok is False]
    assert not wrong, f"the certificate of our own release does not hold: {wrong}"
    for original in (None, source):
        found = pipeline.verify(released, policy, original=original)
        assert not found.fails, f"our own release fails {'with' if original else 'without'} its original"
    refusal, again = "", folder / f"applied{released.suffix}"
    try:
        pipeline.apply_file(folder / "recoding.json", source, again)
    except CloakError as error:
        refusal = str(error)
    assert not refusal, f"its own input is refused by its recoding: {refusal}"
    assert sorted(read_sets(again)) == sorted(read_sets(released)), "its recoding publishes the same input otherwise"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    ends: Counter[str] = Counter()
    for number in range(asked.first, asked.first + asked.cases):
        with tempfile.TemporaryDirectory() as folder:
            outcome = run_sets(number, Path(folder))
        ends[outcome.kind] += 1
        if outcome.is_bug or asked.cases == 1:
            print(f"case {number}: {outcome.complaint[:300]}\n{outcome.where if asked.cases == 1 else ''}", flush=True)
    print(", ".join(f"{kind} {n:,}" for kind, n in ends.most_common()))
    return 1 if ends["bug"] else 0


if __name__ == "__main__":
    sys.exit(main())
