"""The file of what was recorded: a line for every case and verb, the local engine in full, others by difference."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from observing import Fields

EXPECTED = Path(__file__).parent / "expected.jsonl"
ENGINES = ("local", "duckdb", "spark")
Key = tuple[str, str, str]  # case, verb, engine


def load(path: Path = EXPECTED) -> dict[Key, Fields]:
    """Fields of every case, verb and engine."""
    records: dict[Key, Fields] = {}
    if not path.exists():
        return records
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        case, verb = entry.pop("case"), entry.pop("verb")
        base = entry.get("local", {})
        for engine, fields in entry.items():
            merged = fields if engine == "local" else base | fields
            records[case, verb, engine] = {name: value for name, value in merged.items() if value is not None}
    return records


def save(records: dict[Key, Fields], order: Iterable[tuple[str, str]], path: Path = EXPECTED) -> None:
    lines = []
    for case, verb in order:
        base = records.get((case, verb, "local"), {})
        entry: dict[str, object] = {"case": case, "verb": verb}
        for engine in ENGINES:
            if (case, verb, engine) in records:
                fields = records[case, verb, engine]
                entry[engine] = fields if engine == "local" else less(fields, base)
        lines.append(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


def less(fields: Fields, base: Fields) -> Fields:
    """What differs from the fields of the local engine; null for one that is not there."""
    gone = {name: None for name in base if name not in fields}
    return {name: value for name, value in fields.items() if base.get(name) != value} | gone


def differences(expected: Fields | None, actual: Fields | None) -> list[str]:
    """What changed, one line a field."""
    before, after = expected or {}, actual or {}
    names = dict.fromkeys([*before, *after])
    return [f"{n}: {before.get(n)} -> {after.get(n)}" for n in names if before.get(n) != after.get(n)]
