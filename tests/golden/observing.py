"""What the verbs say about a case, through the command line and the public names alone, as digests and a few figures.

Only what cannot be the same twice is taken out: seconds, memory, dates of documents, versions of packages.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import re
import secrets
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import made_tables as made
from cases import Case

Fields = dict[str, Any]

ENVIRONMENT = {
    "COLUMNS": "120",
    "NO_COLOR": "1",
    "GOLDEN_SECRET": hashlib.sha256(b"the golden corpus").hexdigest(),
    "SHORT_SECRET": "5f",
}
TABLES: dict[str, Callable[[], list[made.Row]]] = {
    "people": made.people,
    "gaps": made.with_gaps,
    "visits": made.visits,
    "register": made.register,
    "register-years": lambda: [{"years": row.pop("age"), **row} for row in made.register()],
    "numbers": made.numbers,
    "odd": made.oddities,
    "tiny": made.tiny,
    "with-baskets": lambda: [
        {"items": ";".join(goods), **row} for goods, row in zip(made.baskets(), made.people(90), strict=True)
    ],
}


@dataclass
class Spoken:
    """What a command said, or a call returned: every text that is digested, by name, and figures that are shown."""

    texts: dict[str, str]
    figures: Fields = field(default_factory=dict)

    @property
    def fields(self) -> Fields:
        """Figures, and what is left of the texts."""
        return self.figures | {name: digest(text) for name, text in self.texts.items() if text}


# --- the folder of a case -------------------------------------------------------------------------------------------


def lay_out(case: Case, folder: Path) -> None:
    """Everything that the case reads, under names that hold no path of this machine."""
    (folder / "out").mkdir(parents=True)
    if case.table == "baskets":
        lines = "".join(";".join(goods) + "\n" for goods in made.baskets())
        (folder / "input.sets").write_text(lines, encoding="utf-8")
        (folder / "goods.csv").write_text(hierarchy_of(made.GOODS), encoding="utf-8")
    elif case.table == "nobody":
        (folder / "input.csv").write_text(made.csv_of([], list(made.people(1)[0])), encoding="utf-8")
    else:
        lay_out_rows(case, folder, TABLES[case.table]())
    for name, table in case.tables.items():
        made.write_csv(folder / name, TABLES[table]())
    (folder / "policy.yaml").write_text(json.dumps(case.policy, indent=1, ensure_ascii=False), encoding="utf-8")


def lay_out_rows(case: Case, folder: Path, rows: list[made.Row]) -> None:
    names = list(rows[0])
    text = made.csv_of(rows)
    (folder / "input.csv").write_text(text, encoding="utf-8")
    if "age" in names:
        more = made.people(40, "more")
        (folder / "more.csv").write_text(
            made.csv_of([{name: row.get(name, f"n{i}") for name in names} for i, row in enumerate(more)]), "utf-8"
        )
    if any("towns" in str(column) for column in case.policy["columns"].values()):
        (folder / "towns.csv").write_text(hierarchy_of(made.PLACES), encoding="utf-8")
        (folder / "towns.json").write_text(json.dumps(made.PLACES), encoding="utf-8")
    kind = case.name.rpartition("/")[2]
    if "database" in kind or "query" in kind or kind == "no-table":
        write_database(folder / "input.db", case.table, rows)
    writer = OTHER_FORMS.get(case.source)
    if writer is not None:
        writer(folder, rows)


def hierarchy_of(tree: Any) -> str:
    return "".join(";".join(path) + "\n" for path in made.paths(tree))


def write_database(path: Path, table: str, rows: list[made.Row]) -> None:
    names = list(rows[0])
    kinds = {int: "INTEGER", float: "REAL"}
    columns = ", ".join(f"{name} {kinds.get(type(rows[0][name]), 'TEXT')}" for name in names)
    cells = [[v if v is None or isinstance(v, int | float) else made.cell(v) for v in row.values()] for row in rows]
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE {table} ({columns})")
        database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})", cells)


def write_parts(folder: Path, rows: list[made.Row]) -> None:
    (folder / "parts").mkdir()
    for i, start in enumerate(range(0, len(rows), 40)):
        made.write_csv(folder / "parts" / f"part{i}.csv", rows[start : start + 40])


def write_hive(folder: Path, rows: list[made.Row]) -> None:
    for sex in ("female", "male"):
        (folder / "hive" / f"sex={sex}").mkdir(parents=True)
        chosen = [{k: v for k, v in row.items() if k != "sex"} for row in rows if row["sex"] == sex]
        made.write_csv(folder / "hive" / f"sex={sex}" / "part.csv", chosen)


def write_frame(folder: Path, suffix: str) -> None:
    import polars as pl

    frame = pl.read_csv(folder / "input.csv", try_parse_dates=True)
    getattr(frame, {"parquet": "write_parquet", "arrow": "write_ipc"}[suffix])(folder / f"input.{suffix}")


OTHER_FORMS: dict[str, Callable[[Path, list[made.Row]], Any]] = {
    "parts/": write_parts,
    "parts/*.csv": write_parts,
    "hive/": write_hive,
    "semicolons.csv": lambda folder, rows: (folder / "semicolons.csv").write_text(
        made.csv_of(rows, delimiter=";"), encoding="utf-8"
    ),
    "input.csv.gz": lambda folder, rows: (folder / "input.csv.gz").write_bytes(
        gzip.compress(made.csv_of(rows).encode(), mtime=0)
    ),
    "input.jsonl": lambda folder, rows: (folder / "input.jsonl").write_text(
        "".join(json.dumps(row, default=str) + "\n" for row in rows), encoding="utf-8"
    ),
    "input.parquet": lambda folder, rows: write_frame(folder, "parquet"),
    "input.arrow": lambda folder, rows: write_frame(folder, "arrow"),
}


# --- speaking to the command line -----------------------------------------------------------------------------------


@contextlib.contextmanager
def settled(folder: Path) -> Iterator[None]:
    """Work in the folder, with a terminal of one width and one secret, also for verbs that draw their own."""
    before, there, drawn = dict(os.environ), Path.cwd(), secrets.token_bytes
    os.environ.update(ENVIRONMENT)
    os.chdir(folder)
    secrets.token_bytes = lambda n=None: hashlib.shake_256(b"drawn by a verb").digest(n or 32)
    try:
        yield
    finally:
        secrets.token_bytes = drawn
        os.chdir(there)
        os.environ.clear()
        os.environ.update(before)


def said(*words: str) -> Spoken:
    """What a command line answers, in this process, which works in the folder of a case."""
    from tablecloak.cli.main import main

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    shown = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        code = main(list(words))
    finally:
        sys.stdout, sys.stderr = shown
    answer, complaint = (stream.buffer.getvalue().decode() for stream in (out, err))
    figures: Fields = {"exit": code}
    with contextlib.suppress(json.JSONDecodeError):
        document = json.loads(answer)
        figures |= figures_of(document)
        steadied = steady_json(document)
        if words[0] in READING and isinstance(steadied, dict):
            steadied = {key: part for key, part in steadied.items() if key not in WORKED}
        answer = json.dumps(steadied, indent=1, ensure_ascii=False)
    here = str(Path.cwd())
    answer, complaint = (steady(text.replace(here, "FOLDER")) for text in (answer, complaint))
    if code:
        figures["error"] = first_complaint(complaint)
    return Spoken({"out": answer, "err": complaint}, figures)


def first_complaint(complaint: str) -> str:
    """The first line that is no progress."""
    lines = [line.strip() for line in complaint.splitlines() if "SECONDS" not in line and line.strip()]
    return lines[0][:100] if lines else ""


def figures_of(document: Any) -> Fields:
    """A few numbers of a document, so that a difference can be read."""
    if not isinstance(document, dict):
        return {}
    names = ("status", "holds", "feasible", "rows", "classes", "suppressed", "loss", "covers")
    return {name: with_digits(document[name], 6) for name in names if document.get(name) is not None}


def with_digits(value: Any, n: int) -> Any:
    """The same with numbers of so many digits."""
    if isinstance(value, dict):
        return {key: with_digits(part, n) for key, part in value.items()}
    if isinstance(value, list):
        return [with_digits(part, n) for part in value]
    if not isinstance(value, float):
        return value
    return float(f"{value:.{n}g}") if abs(value) > NOTHING else 0.0


SECONDS = re.compile(r"\b\d[\d,]*(\.\d+)? (s|ms|min|h)\b")
MEMORY = re.compile(r"(?<=SECONDS, )\d[\d,.]* [kMG]B")
# What only the first run of a process waits for, and what a process took that did other things before.
ONCE = re.compile(r"^( compile  .*|used .* more than --memory .*)\n", re.MULTILINE)
PROGRESS = re.compile(r" +SECONDS$", re.MULTILINE)
STAMP = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?([+-]\d\d:\d\d|Z| UTC)?")
# Verbs that read what is there say the same on every engine, but for which one it was.
READING = ("verify", "risk", "compare", "attack", "inspect")
WORKED = ("engine", "engine_reason")
NOTHING = 1e-9  # what is left of sums that should be 0
VARYING = ("seconds", "peak_memory_bytes", "created", "versions")


def steady(text: str) -> str:
    """A text less what took how long."""
    text = ONCE.sub("", SECONDS.sub("SECONDS", text))
    return PROGRESS.sub(" SECONDS", MEMORY.sub("MEMORY", text))


def steady_json(value: Any) -> Any:
    """A document less what took how long, when, and on which versions; names and order of keys stay.

    The last digits of a sum depend on how many numbers a processor adds at once.
    """
    return with_digits(without_varying(value), 10)


def without_varying(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: varying_part(key, p) if key in VARYING else without_varying(p) for key, p in value.items()}
    return [without_varying(v) for v in value] if isinstance(value, list) else value


def varying_part(key: str, part: Any) -> Any:
    """What stays of a part that varies: the names in it, such as those of phases."""
    return list(part) if isinstance(part, dict) else key


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]


# --- what is left behind --------------------------------------------------------------------------------------------


def written(folder: Path, before: dict[Path, int]) -> dict[str, str]:
    """The files that a command made or changed, as texts."""
    texts = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.stat().st_mtime_ns != before.get(path):
            texts[path.relative_to(folder).as_posix()] = text_of(path)
    return texts


def stamps(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def text_of(path: Path) -> str:
    """A file as a text: as it is, or what it holds where a format leaves room in how it is written."""
    if path.suffix == ".json":
        return json.dumps(steady_json(json.loads(path.read_text(encoding="utf-8"))), indent=1, ensure_ascii=False)
    if path.suffix == ".html":
        return STAMP.sub("STAMP", steady(path.read_text(encoding="utf-8")))
    if path.suffix in (".db", ".xlsx", ".parquet", ".arrow"):
        return "\n".join(content_of(path))
    return path.read_bytes().decode()


def content_of(path: Path) -> Iterator[str]:
    """Columns with their types and rows, in order."""
    import polars as pl

    if path.suffix == ".db":
        with contextlib.closing(sqlite3.connect(path)) as database:
            for (statement,) in database.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall():
                yield statement
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"):
                yield from map(repr, database.execute(f'SELECT * FROM "{name}"').fetchall())
        return
    readers = {".xlsx": pl.read_excel, ".parquet": pl.read_parquet, ".arrow": pl.read_ipc}
    frame = readers[path.suffix](path.read_bytes())
    yield repr(frame.schema)
    yield from map(repr, frame.rows())
