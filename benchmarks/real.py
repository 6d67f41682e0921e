"""What the default publishes of five real tables: version 0.1.0 and this one, scored from the files by the same code.

    python -m benchmarks.real [--data FOLDER] [--before FOLDER] [--page docs/benchmarks.md] [--svg docs/real.svg]

Each version gets the same file twice: once as `tablecloak init TABLE` and `tablecloak run` treat it with nothing
edited, once with a policy of the same roles (k = 5). This version also runs in the style `analyst`. --before names a
checkout of 0.1.0; its figures are kept in `real_before.json`, so that it is needed only to measure it again.

Nothing of tablecloak is used to score, but `verify` of this version for findings. Released cells are read by the
grammar of published values, a record counts in a query by the share of its label that the query holds, and a column
that is not published tells nothing: all of its values are as likely.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from ruamel.yaml import YAML

from benchmarks.chart import Panel, bar_chart
from benchmarks.roles import KNOWN, LEADING, Labelled, real_tables, write
from benchmarks.tables import replace_between

KEPT = Path(__file__).with_name("real_before.json")
BEFORE, NOW, ANALYST = "0.1.0", "now", "now, analyst"
DEFAULT, SAME = "default", "same roles"
K, MOST_ALONE = 5, 0.01
N_QUERIES, LEAST_SHARE, N_VICTIMS = 1_000, 0.01, 1_000
ASKED = ("quasi", "place", "date", "either", "sensitive", "amount")  # kinds of columns that analysts ask for
QUASI = ("quasi", "place", "date", "either", "amount")  # kinds that are quasi-identifiers where roles are the same
SLACK = 1e-6  # of a step, for rounded quotients
UNITS = 10**6  # numbers are told apart up to a millionth
COMMAND = "from tablecloak.cli.main import main; main()"

# Tables ---------------------------------------------------------------------------------------------------------------


def _days(frame: pl.DataFrame) -> pl.DataFrame:
    """Days since 1960 as dates, which they are."""
    return frame.with_columns((pl.date(1960, 1, 1) + pl.duration(days=pl.col(c))).alias(c) for c in ("diag", "death"))


# What is taken of a table of up to 30,162 rows, so that all runs take some minutes.
TABLES: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "adult": lambda frame: frame.gather_every(3),
    "flchain": lambda frame: frame,
    "insured": lambda frame: frame.gather_every(2),  # sorted by region
    "aids": _days,
    "insteval": lambda frame: frame.head(10_000),  # all rows of some students
}


def five_tables(data: Path, wanted: Sequence[str]) -> Iterator[Labelled]:
    for table in real_tables(data, wanted or list(TABLES), rows=30_162):
        yield Labelled(table.name, TABLES[table.name](table.frame), table.kinds)


# Releases -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Release:
    """A published file with the roles that made it."""

    path: Path
    roles: Mapping[str, str]
    seconds: float
    findings: list[str]


def release_of(version: Path, table: Labelled, *, roles: str, style: str, folder: Path) -> Release:
    """Run a version in a folder of its own as a person would.

    Raises:
        subprocess.CalledProcessError: where the version refuses.
    """
    folder.mkdir(parents=True)
    source = folder / f"{table.name}.csv"
    write(table, source, is_german=False)
    if roles == DEFAULT:
        _tablecloak(version, folder, "init", source.name)
        policy = next(folder.glob("*.yaml"))
    else:
        policy = folder / "policy.yaml"
        policy.write_text(same_policy(table), encoding="utf-8")
    if style != "detailed":
        text = policy.read_text(encoding="utf-8")
        policy.write_text(text.replace("output: {", f"output: {{style: {style}, ", 1), encoding="utf-8")
    begin = time.perf_counter()
    _tablecloak(version, folder, "run", policy.name)
    seconds = time.perf_counter() - begin
    (published,) = (folder / "out").glob("*.csv")
    here = Path(__file__).parents[1]
    told = _tablecloak(here, folder, "verify", f"out/{published.name}", "--policy", policy.name, "--json")
    findings = [f"{found['kind']}: {found['column']}" for found in json.loads(told)["findings"]]
    columns = YAML(typ="safe").load(policy)["columns"]
    return Release(published, {name: spec["role"] for name, spec in columns.items()}, seconds, findings)


def _tablecloak(version: Path, folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(version.resolve() / "src")}
    command = [sys.executable, "-c", COMMAND, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):  # 3: verify says no
        print(done.stderr, file=sys.stderr)
        done.check_returncode()
    return done.stdout


def same_policy(table: Labelled) -> str:
    """What others may know and what was measured are quasi-identifiers; nothing else is published."""
    quasi = [f"  {json.dumps(name)}: {{role: quasi}}" for name, kind in table.kinds.items() if kind in QUASI]
    begin = ["version: 1", f"input: {table.name}.csv", "columns:"]
    end = ["others: drop", "goals:", f"  - {{model: k-anonymity, k: {K}}}", "output: {path: out/release.csv}"]
    return "\n".join([*begin, *quasi, *end]) + "\n"


# Cells ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Label:
    """What a published cell may stand for: numbers of a span, or some values."""

    span: tuple[float, float] | None = None
    values: frozenset[str | float] = frozenset()


MISSING = Label(values=frozenset({""}))


@dataclass(frozen=True, slots=True)
class Scale:
    """The values of a column of the original: numbers (dates by their days) or texts."""

    cells: list[str | float]  # one for each record; "" is missing
    step: float | None  # of which all numbers are multiples from the first on, 1 for dates; None for texts
    domain: frozenset[str | float]
    ends: tuple[float, float]  # of numbers

    def everything(self) -> Label:
        return Label(None if self.step is None else self.ends, self.domain)


def scale_of(texts: Sequence[str]) -> Scale:
    numbers = [_number(text) for text in texts]
    if any(number is None and text for number, text in zip(numbers, texts, strict=True)):
        return Scale(list(texts), None, frozenset(texts), (0.0, 0.0))
    present = [number for number in numbers if number is not None]
    cells = ["" if number is None else number for number in numbers]
    return Scale(cells, _step(present), frozenset(cells), (min(present), max(present)))


def _step(numbers: Sequence[float]) -> float:
    """The unit of a column: numbers with one decimal are a tenth apart, or half a unit if they are halves."""
    whole = [round(number * UNITS) for number in numbers]
    return max(1, math.gcd(*(number - whole[0] for number in whole))) / UNITS


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return float(date.fromisoformat(text).toordinal())
    except ValueError:
        return None


def label_of(text: str, scale: Scale) -> Label:
    """What a cell stands for, by the grammar of published values.

    Raises:
        ValueError: where it is none of it.
    """
    if text in ("", "*"):
        return MISSING if text == "" else scale.everything()
    if scale.step is None and text in scale.domain:
        return Label(values=frozenset({text}))
    if text.startswith("all but {"):
        return Label(values=scale.domain - {""} - _members(text.removeprefix("all but "), scale))  # missing is none
    if text.startswith("{"):
        return Label(values=_members(text, scale))
    if scale.step is None:
        return Label(values=_members("{" + text + "}", scale))  # in quotes, since it reads like a label
    low, high = _span(text)
    first, last = scale.ends
    return Label((max(low, first), min(high, last))) if low < high else Label((low, high))


def _members(text: str, scale: Scale) -> frozenset[str | float]:
    (parts,) = csv.reader([text[1:-1]], skipinitialspace=True)
    members = frozenset(parts if scale.step is None else map(_plain, parts))
    if not members <= scale.domain:
        raise ValueError(f"{text} has values that do not occur")
    return members


def _span(text: str) -> tuple[float, float]:
    if text.startswith("[") and text.endswith("]"):
        low, high = (_number(part.strip()) for part in text[1:-1].split(","))
        if low is None or high is None:
            raise ValueError(f"{text} has no bounds")
        return low, high
    number = None if _is_period(text) else _number(text)
    return (number, number) if number is not None else _period(text)


def _is_period(text: str) -> bool:
    """1988-10 and 1990-Q2; a year alone looks like a number and is told by the scale."""
    return len(text) == 7 and text[:4].isdigit() and text[4] == "-"


def _period(text: str) -> tuple[float, float]:
    year, part = int(text[:4]), text[5:]
    first, n = (3 * int(part[1]) - 2, 3) if part.startswith("Q") else (int(part), 1)
    after = date(year + (first + n - 1) // 12, (first + n - 1) % 12 + 1, 1)
    return float(date(year, first, 1).toordinal()), float((after - timedelta(days=1)).toordinal())


def share_within(label: Label, low: float, high: float, scale: Scale) -> float:
    """How many of the numbers that a label may stand for lie in [low, high]."""
    if label.span is None:
        inside = [value for value in label.values if not isinstance(value, str) and low <= value <= high]
        return len(inside) / len(label.values)
    first, last = label.span
    if first == last:
        return float(low <= first <= high)
    return _places(max(first, low), min(last, high), scale) / _places(first, last, scale)


def _places(low: float, high: float, scale: Scale) -> int:
    """The places of a column from low to high."""
    step = scale.step or 1.0
    begin, end = ((bound - scale.ends[0]) / step for bound in (low, high))
    return max(0, math.floor(end + SLACK) - math.ceil(begin - SLACK) + 1)


def covers(label: Label, value: str | float) -> bool:
    if value in label.values:
        return True
    return label.span is not None and not isinstance(value, str) and label.span[0] <= value <= label.span[1]


def loss_of(label: Label, scale: Scale) -> float:
    if label.span is None:
        return 0.0 if len(label.values) == 1 else len(label.values) / len(scale.domain)
    first, last = scale.ends
    return (label.span[1] - label.span[0]) / ((last - first) or 1.0)


# Scores ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Score:
    """What one version publishes of one table."""

    table: str
    checksum: int  # of the input
    rows: int
    roles: str
    side: str
    published: int  # columns
    labels: dict[str, int]  # of every quasi-identifier
    overlapping: list[str]  # quasi-identifiers that have labels with common values
    loss: float
    query_error: float
    singled_out: float  # share of records that exactly one published row fits, by what others may know
    as_they_were: list[str]  # columns no goal looks at, letter by letter, that lead to persons
    findings: list[str]
    seconds: float


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the original with its published labels; one label for all where it is not published."""

    scale: Scale
    labels: list[Label]
    codes: npt.NDArray[np.int64]  # (n_rows,) label of each published row


def score(table: Labelled, release: Release, roles: str, side: str) -> Score:
    original = _texts(release.path.parents[1] / f"{table.name}.csv")
    published = _texts(release.path)
    n = len(next(iter(published.values())))
    columns = {name: _column(name, texts, published.get(name), n) for name, texts in original.items()}
    quasi = [name for name in published if release.roles.get(name) == "quasi"]
    lost = [np.array([loss_of(label, columns[name].scale) for label in columns[name].labels]) for name in quasi]
    rows = len(next(iter(original.values())))
    losses = sum(float(each[columns[name].codes].sum()) for each, name in zip(lost, quasi, strict=True))
    return Score(
        table=table.name,
        checksum=zlib.crc32((release.path.parents[1] / f"{table.name}.csv").read_bytes()),
        rows=rows,
        roles=roles,
        side=side,
        published=len(published),
        labels={name: len(columns[name].labels) for name in quasi},
        overlapping=[name for name in quasi if _overlap(columns[name])],
        loss=(losses / len(quasi) + rows - n) / rows,
        query_error=query_error(columns, [c for c, kind in table.kinds.items() if _is_asked(kind, roles)], rows),
        singled_out=singled_out([columns[c] for c, kind in table.kinds.items() if kind in KNOWN | LEADING], rows),
        as_they_were=[c for c in published if c not in quasi and _leads(original[c], published[c], table.kinds[c])],
        findings=release.findings,
        seconds=release.seconds,
    )


def _is_asked(kind: str, roles: str) -> bool:
    return kind in (ASKED if roles == DEFAULT else QUASI)


def _texts(path: Path) -> dict[str, list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return {name: [row[i] for row in rows] for i, name in enumerate(header)}


def _column(name: str, original: Sequence[str], published: Sequence[str] | None, n: int) -> Column:
    scale = scale_of(original)
    if published is None:
        return Column(scale, [scale.everything()], np.zeros(n, dtype=np.int64))
    is_dates = scale.step is not None and any("-" in text[1:] for text in original)
    texts = list(dict.fromkeys(published))
    numbers = {text: i for i, text in enumerate(texts)}
    try:
        labels = [_year(text, scale) if is_dates and len(text) == 4 else label_of(text, scale) for text in texts]
    except ValueError as problem:
        raise ValueError(f"{name}: {problem}") from problem
    return Column(scale, labels, np.array([numbers[text] for text in published]))


def _year(text: str, scale: Scale) -> Label:
    return label_of(f"[{text}-01-01, {text}-12-31]", scale)


def _overlap(column: Column) -> bool:
    """Whether two labels stand for a common value of the original, * aside."""
    labels = [label for label in column.labels if label != column.scale.everything()]
    return any(sum(covers(label, value) for label in labels) > 1 for value in column.scale.domain)


def _leads(original: Sequence[str], published: Sequence[str], kind: str) -> bool:
    """Whether a column is published as it was and names persons, is known to others or has values of single records."""
    counts = Counter(map(_plain, original))
    if counts != Counter(map(_plain, published)):
        return False
    alone = sum(count == 1 for count in counts.values()) / len(original)
    return kind in LEADING | KNOWN or alone > MOST_ALONE


def _plain(text: str) -> str | float:
    number = _number(text)
    return text if number is None else number


def query_error(columns: Mapping[str, Column], asked: Sequence[str], rows: int) -> float:
    """Mean relative error of counts by one to three random conditions that at least 1 % of the records meet."""
    draw = random.Random(7)
    errors: list[float] = []
    while len(errors) < N_QUERIES:
        chosen = draw.sample(asked, min(len(asked), draw.randint(1, 3)))
        is_met, estimates = np.ones(rows, dtype=bool), None
        for name in chosen:
            column = columns[name]
            truth, shares = _condition(column, draw)
            is_met &= truth
            estimates = shares[column.codes] if estimates is None else estimates * shares[column.codes]
        count = int(is_met.sum())
        if count >= LEAST_SHARE * rows and estimates is not None:
            errors.append(abs(float(estimates.sum()) - count) / count)
    return float(np.mean(errors))


def _condition(column: Column, draw: random.Random) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
    """A range between two records, or the values of a few: who meets it, and which share of each label."""
    scale = column.scale
    if scale.step is None:
        wanted = frozenset(draw.choices(scale.cells, k=1 + len(scale.domain) // 4))
        shares = [len(label.values & wanted) / len(label.values) for label in column.labels]
        return np.array([cell in wanted for cell in scale.cells]), np.array(shares)
    numbers = [cell for cell in scale.cells if not isinstance(cell, str)]
    low, high = sorted(draw.choices(numbers, k=2))
    shares = [share_within(label, low, high, scale) for label in column.labels]
    return np.array([not isinstance(cell, str) and low <= cell <= high for cell in scale.cells]), np.array(shares)


def singled_out(known: Sequence[Column], rows: int) -> float:
    """The share of records that exactly one published row fits."""
    victims = random.Random(7).sample(range(rows), min(rows, N_VICTIMS))
    fits = [{value: np.array([covers(label, value) for label in c.labels]) for value in c.scale.domain} for c in known]
    n_alone = 0
    for victim in victims:
        candidates = np.ones(len(known[0].codes), dtype=bool)
        for column, fit in zip(known, fits, strict=True):
            candidates &= fit[column.scale.cells[victim]][column.codes]
        n_alone += int(candidates.sum()) == 1
    return n_alone / len(victims)


# What is printed ------------------------------------------------------------------------------------------------------


def measure(tables: Sequence[Labelled], before: Path | None, folder: Path) -> list[Score]:
    here = Path(__file__).parents[1]
    sides = [(NOW, here, "detailed"), (ANALYST, here, "analyst")]
    if before is not None:
        sides.insert(0, (BEFORE, before, "detailed"))
    scores = []
    for table in tables:
        for roles in (DEFAULT, SAME):
            for side, version, style in sides:
                place = folder / f"{table.name}-{roles}-{side}".replace(" ", "-").replace(",", "")
                release = release_of(version, table, roles=roles, style=style, folder=place)
                scores.append(score(table, release, roles, side))
                print(json.dumps(asdict(scores[-1])), flush=True)
    return scores


def kept_scores(scores: Sequence[Score]) -> list[Score]:
    """The figures of 0.1.0 that were measured before, of the same tables.

    Raises:
        ValueError: where a table has changed since.
    """
    checksums = {score.table: score.checksum for score in scores}
    kept = [Score(**entry) for entry in json.loads(KEPT.read_text(encoding="utf-8")) if entry["table"] in checksums]
    changed = sorted({score.table for score in kept if score.checksum != checksums[score.table]})
    if changed:
        raise ValueError(f"{KEPT.name} was measured on other rows of {', '.join(changed)}; measure again with --before")
    return kept


def page_of(scores: Sequence[Score]) -> str:
    return "\n\n".join(
        [
            "Default, nothing edited:",
            _table(_of(scores, DEFAULT), with_roles=True),
            f"The same roles for both, k = {K}:",
            _table(_of(scores, SAME), with_roles=False),
            "Labels of every quasi-identifier, the same roles (* they overlap):",
            _label_table(_of(scores, SAME)),
        ]
    )


def _of(scores: Sequence[Score], roles: str) -> list[Score]:
    order = {name: i for i, name in enumerate(TABLES)}
    sides = (BEFORE, NOW, ANALYST)
    return sorted((s for s in scores if s.roles == roles), key=lambda s: (order[s.table], sides.index(s.side)))


def _table(scores: Sequence[Score], *, with_roles: bool) -> str:
    head = ["table", "version", "columns published", "quasi-identifiers", "labels a column", "columns that overlap"]
    head += ["loss", "query error"]
    if with_roles:
        head += ["singled out", "lead to persons as they were", "findings"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for s in scores:
        cells = [s.table, s.side, s.published, len(s.labels), f"{_mean_labels(s):,.0f}", len(s.overlapping)]
        cells += [f"{s.loss:.3f}", f"{s.query_error:.1%}"]
        if with_roles:
            cells += [f"{s.singled_out:.1%}", ", ".join(s.as_they_were) or "–", _counted(s.findings)]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def _counted(findings: Sequence[str]) -> str:
    kinds = Counter(finding.partition(":")[0] for finding in findings)
    return ", ".join(f"{n} {kind}" for kind, n in kinds.items()) or "none"


def _label_table(scores: Sequence[Score]) -> str:
    lines = ["| table | column | 0.1.0 | now | now, analyst |", "|---|---|---|---|---|"]
    for table in dict.fromkeys(s.table for s in scores):
        sides = [s for s in scores if s.table == table]
        for name in sides[0].labels:
            cells = [f"{s.labels[name]:,}{' *' if name in s.overlapping else ''}" for s in sides]
            lines.append(f"| {table} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean_labels(s: Score) -> float:
    return sum(s.labels.values()) / len(s.labels)


def chart_of(scores: Sequence[Score]) -> str:
    panels = []
    for roles, title in ((DEFAULT, "default, nothing edited"), (SAME, f"the same roles, k = {K}")):
        own = _of(scores, roles)
        labels = {(s.table, s.side): _mean_labels(s) for s in own}
        errors = {(s.table, s.side): 100 * s.query_error for s in own}
        panels.append(Panel(f"Labels a quasi-identifier: {title}", labels, "{:,.0f}"))
        panels.append(Panel(f"Error of counts in %: {title}", errors, "{:.1f}"))
    return bar_chart(panels)


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with the reference data sets")
    parser.add_argument("--before", type=Path, help="checkout of 0.1.0, whose figures are written down anew")
    parser.add_argument("--table", nargs="*", default=[], choices=list(TABLES), help="only these tables")
    parser.add_argument("--keep", type=Path, help="folder to keep the releases in, to read them")
    parser.add_argument("--page", type=Path, help="page to put the tables into")
    parser.add_argument("--svg", type=Path, help="draw labels and errors")
    asked = parser.parse_args(given)
    tables = list(five_tables(asked.data, asked.table))
    with tempfile.TemporaryDirectory() as place:
        scores = measure(tables, asked.before, asked.keep or Path(place))
    if asked.before and not asked.table:
        kept = [asdict(score) for score in scores if score.side == BEFORE]
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    if not asked.before:
        scores += kept_scores(scores)
    text = page_of(scores)
    print(text)
    if asked.page:
        replace_between(asked.page, "real tables", text)
    if asked.svg:
        asked.svg.write_text(chart_of(scores), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
