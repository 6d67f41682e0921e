"""Write `expected.jsonl` anew and say what changed: `python tests/golden/write.py`.

`--keep FOLDER` writes no record; it leaves every text behind that is digested, so that two versions of the program can
be compared with `diff -r`. Names of cases, or how they begin, limit both.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import record
from cases import Case, all_cases
from observing import Spoken
from verbs import observe, order_of, verbs_of


def observed(case: Case, engine: str) -> tuple[str, str, dict[str, Spoken]]:
    with tempfile.TemporaryDirectory() as folder:
        return case.name, engine, observe(case, engine, Path(folder) / "case", verbs_of(case, engine))


def keep(folder: Path, name: str, engine: str, answers: dict[str, Spoken]) -> None:
    place = folder / engine / name
    place.mkdir(parents=True, exist_ok=True)
    for verb, answer in answers.items():
        for text, content in answer.texts.items():
            (place / f"{verb}.{text.replace('/', '_')}").write_text(content, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="names of cases, or how they begin; all by default")
    parser.add_argument("--keep", type=Path, help="folder for the texts behind the digests")
    parser.add_argument("--engine", action="append", choices=record.ENGINES, help="local and duckdb by default")
    parser.add_argument("--processes", type=int, default=2)
    wanted = parser.parse_args()
    chosen = [case for case in all_cases() if not wanted.cases or case.name.startswith(tuple(wanted.cases))]
    before = record.load()
    after = {} if not wanted.cases and not wanted.engine else dict(before)
    tasks = [(case, engine) for case in chosen for engine in wanted.engine or ("local", "duckdb")]
    with ProcessPoolExecutor(wanted.processes) as pool:
        for name, engine, answers in pool.map(observed, *zip(*tasks, strict=True), chunksize=4):
            after = {key: fields for key, fields in after.items() if (key[0], key[2]) != (name, engine)}
            after |= {(name, verb, engine): answer.fields for verb, answer in answers.items()}
            if wanted.keep:
                keep(wanted.keep, name, engine, answers)
    changed = 0
    for key in dict.fromkeys([*before, *after]):
        lines = record.differences(before.get(key), after.get(key))
        changed += bool(lines)
        for line in lines:
            print(*key, line)
    print(f"{len(after):,} records, {changed:,} of them changed")
    if not wanted.keep:
        record.save(after, order_of(after))
    return 0


if __name__ == "__main__":
    sys.exit(main())
