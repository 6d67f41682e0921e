"""What releases lose on tables of all sizes, like for like: one vocabulary at a time, and one scorer for all.

    python -m benchmarks.losses [--only adult,eia] [--k 5,10,50] [--vocabularies nodes,sets] [--methods mondrian,fast]
                                [--limit 300] [--json FILE] [--page FILE]

- **nodes**: every column is published as nodes of one hierarchy, ages and amounts too; the bound is proven for it.
- **ranges**: numbers as ranges, everything else as nodes of the same hierarchies.
- **sets**: any set of values (`labels: set`).

Every release is made by the command line in a process of its own, after one that loads (or compiles) kernels; seconds
are processor seconds of that process from its start to the verified file, memory is its peak, and the loss is read from
the file by `benchmarks.score`. ARX is not part of this run: its figures are those of version 3.9.2, local recoding, the
same hierarchies and rows, its best of all settings tried, processor seconds of its process on a machine like ours.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

from benchmarks.adult import find_adult
from benchmarks.bound import bound, read_tuples
from benchmarks.measure import QUASI
from benchmarks.releases import NoReleaseError, measured_on, release
from benchmarks.run import census_file, data_folder, measure
from benchmarks.score import Line, Tree
from benchmarks.tables import replace_between

METHODS = ("mondrian", "fast", "balanced", "best")
VOCABULARIES = ("nodes", "ranges", "sets")
KS = (2, 5, 10, 25, 50, 100)
CENSUS_KS = (10,)
FIRST = (3_016, 10_000, 0)  # rows of Adult; 0: all
CENSUS_ROWS = (100_000, 1_000_000, 10_000_000)
FEW = 6  # columns of the tables of numbers of which a bound can be had
GROUPS = (64, 16, 4)  # of their values, on the levels of their hierarchies
BOUND_ROUNDS = 200
# GCP and CPU seconds of ARX with nodes, by (rows of Adult, k).
ARX = {
    (30162, 5): (0.0646, 11.5), (30162, 10): (0.0892, 16.8), (30162, 50): (0.1641, 21.2),
    (3016, 5): (0.1469, 12.3), (3016, 10): (0.1983, 13.8), (3016, 50): (0.3360, 14.5),
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """A file of which every column named here is a quasi-identifier."""

    name: str
    file: Path
    n_rows: int
    columns: tuple[str, ...]
    folder: Path  # of `STEM_hierarchy_COLUMN.csv`, for the columns that have one
    vocabularies: tuple[str, ...]
    ks: tuple[int, ...] = KS
    peer_rows: int = 0  # of Adult, for which there are figures of ARX

    def scored(self, vocabulary: str) -> dict[str, Tree | Line]:
        """How the labels of every column are scored: by leaves, and ranges of numbers by their width; where there is a
        peer that publishes nodes, by leaves in all vocabularies."""
        return {c: self._scored(c, vocabulary) for c in self.columns}

    def _scored(self, column: str, vocabulary: str) -> Tree | Line:
        if (self.peer_rows or not self._is_range(column, vocabulary)) and self.hierarchy_of(column).is_file():
            return Tree.from_file(self.hierarchy_of(column))
        values = _column(self.file, column).cast(pl.Float64)
        return Line(float(values.min()), float(values.max()))  # type: ignore[arg-type]

    def policy(
        self, vocabulary: str, algorithm: str, target: Path, goals: str, sensitive: str | None = None
    ) -> str:  # fmt: skip
        """A policy, as YAML; all columns are quasi-identifiers but one that may be sensitive."""
        quasi = {c: f"{{role: quasi{self._hierarchy(c, vocabulary)}}}" for c in self.columns if c != sensitive}
        roles = quasi | ({sensitive: "{role: sensitive}"} if sensitive else {})
        columns = "\n".join(f"  {name}: {role}" for name, role in roles.items())
        return f"""version: 1
input: '{self.file}'
columns:
{columns}
others: drop
goals: {goals}
algorithm: {algorithm}
output: '{target}'
"""

    def hierarchy_of(self, column: str) -> Path:
        return self.folder / f"{self.file.stem}_hierarchy_{column}.csv"

    def _hierarchy(self, column: str, vocabulary: str) -> str:
        has_none = self._is_range(column, vocabulary) or not self.hierarchy_of(column).is_file()
        return "" if has_none else f", hierarchy: '{self.hierarchy_of(column)}'"

    def _is_range(self, column: str, vocabulary: str) -> bool:
        return vocabulary == "ranges" and column != "zip" and _column(self.file, column).dtype.is_numeric()


@dataclass(frozen=True)
class Result:
    """One release, or why there is none."""

    table: str
    k: int
    vocabulary: str
    method: str
    gcp: float | None
    cpu_seconds: float | None
    peak_mb: int | None
    why_not: str = ""


def _column(file: Path, column: str) -> pl.Series:
    delimiter = ";" if ";" in file.open(encoding="utf-8").readline() else ","
    return pl.read_csv(file, separator=delimiter, columns=[column], infer_schema_length=None)[column]


def adult_table(folder: Path, source: Path, first: int) -> Table:
    """The first rows of Adult (0: all), with the nine hierarchies."""
    lines = (source / "adult.csv").read_text(encoding="utf-8").splitlines()
    kept = lines[: first + 1] if first else lines
    n_rows, columns = len(kept) - 1, tuple(lines[0].split(";"))
    file = folder / f"adult-{n_rows}" / "adult.csv"
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(kept) + "\n", encoding="utf-8")
    return Table(f"adult, {n_rows:,} rows", file, n_rows, columns, source.resolve(), VOCABULARIES, peer_rows=n_rows)


def number_tables(folder: Path, source: Path) -> Iterator[Table]:
    """The reference sets of microaggregation: some columns with hierarchies of equally many values, and all."""
    for name in ("Tarragona", "CASCrefmicrodata", "EIA"):
        frame = pl.read_csv(source / f"{name}.csv", infer_schema_length=None)
        numbers = [c for c in frame.columns if frame[c].dtype.is_numeric() and c not in ("UTILITYID", "YEAR", "MONTH")]
        file = folder / f"{name}.csv"
        frame.select(numbers).rename({c: c.replace(".", "_") for c in numbers}).write_csv(file)
        columns = tuple(c.replace(".", "_") for c in numbers)
        for c, own in zip(numbers, columns, strict=True):
            _write_groups(folder / f"{name}_hierarchy_{own}.csv", frame[c])
        yield Table(f"{name}, {FEW} columns", file, frame.height, columns[:FEW], folder, ("nodes", "ranges"))
        yield Table(f"{name}, {len(columns)} columns", file, frame.height, columns, folder, ("ranges",))


def _write_groups(file: Path, values: pl.Series) -> None:
    """A hierarchy whose nodes on each level hold about equally many different values that follow each other."""
    different = values.unique().sort().cast(pl.String).to_list()
    places = range(len(different))
    levels = [[f"{n} groups, {i * min(n, len(different)) // len(different) + 1}" for i in places] for n in GROUPS]
    lines = (";".join([different[i], *(level[i] for level in levels), "*"]) for i in places)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def census_tables(folder: Path, data: Path) -> Iterator[Table]:
    """The made-up census: age is a number, the other seven quasi-identifiers have hierarchies."""
    from tablecloak.sample.census import TREES

    for n_rows in CENSUS_ROWS:
        file = census_file(data, n_rows)
        for column, tree in TREES.items():
            rows = [[*reversed(path), "*"] for path in _paths(tree)]
            text = "\n".join(";".join(row) for row in rows) + "\n"
            (folder / f"{file.stem}_hierarchy_{column}.csv").write_text(text, encoding="utf-8")
        zips = pl.read_csv(file, columns=["zip"], schema_overrides={"zip": pl.String})["zip"].unique().sort()
        masked = (";".join(z[: len(z) - i] + "*" * i for i in range(len(z))) + ";*" for z in zips)
        (folder / f"{file.stem}_hierarchy_zip.csv").write_text("\n".join(masked) + "\n", encoding="utf-8")
        yield Table(f"census, {n_rows:,} rows", file, n_rows, tuple(QUASI), folder, ("ranges", "sets"), CENSUS_KS)


def _paths(tree: object, above: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """The labels above every leaf, the root's children first."""
    if isinstance(tree, list):
        yield from ([*above, leaf] for leaf in tree)
        return
    assert isinstance(tree, dict)
    for label, below in tree.items():
        yield from _paths(below, (*above, label))


def algorithm_of(method: str, vocabulary: str) -> str:
    """mondrian, or an effort of auto, as policies name it."""
    if method == "mondrian":
        return "mondrian"
    return f"{{kind: auto, effort: {method}, labels: {'set' if vocabulary == 'sets' else 'hierarchy'}}}"


def measured(table: Table, folder: Path, k: int, vocabulary: str, method: str, limit: float) -> Result:
    policy, target = folder / "policy.yaml", folder / "release.csv"
    goals = f"[{{model: k-anonymity, k: {k}}}]"
    policy.write_text(table.policy(vocabulary, algorithm_of(method, vocabulary), target, goals), encoding="utf-8")
    about = (table.name, k, vocabulary, method)
    try:
        done = release(policy, target, table.scored(vocabulary), n_rows=table.n_rows, k=k, limit=limit)
    except NoReleaseError as reason:
        return Result(*about, None, None, None, str(reason))
    return Result(*about, done.score.gcp, done.cpu_seconds, done.peak_mb)


def page_text(results: Sequence[Result], bounds: dict[tuple[str, int], float], floors: dict[str, float]) -> str:
    """One table in Markdown for every table: vocabularies and k down, methods across."""
    methods = list(dict.fromkeys(r.method for r in results))
    peers = {r.table: int(re.sub(r"\D", "", r.table) or 0) for r in results if r.table.startswith("adult")}
    lines = [
        f"| table | k | published as | bound | {' | '.join(f'`{m}`' for m in methods)} | ARX |",
        "|" + "---|" * (len(methods) + 5),
    ]
    keys = list(dict.fromkeys((r.table, r.vocabulary, r.k) for r in results))
    by = {(r.table, r.vocabulary, r.k, r.method): r for r in results}
    for name, vocabulary, k in keys:
        least = bounds.get((name, k)) if vocabulary == "nodes" else None
        cells = [_cell(by.get((name, vocabulary, k, m)), least, floors.get(name)) for m in methods]
        peer = ARX.get((peers.get(name, 0), k)) if vocabulary == "nodes" else None
        shown = f"{least:.4f}" if least is not None else ""
        lines.append(f"| {name} | {k} | {vocabulary} | {shown} | {' | '.join(cells)} | {_shown(peer)} |")
    return "\n".join(lines)


def _cell(result: Result | None, least: float | None, floor_seconds: float | None) -> str:
    """Loss (as a multiple of the bound), processor seconds (as a multiple of the floor's), peak."""
    if result is None:
        return ""
    if result.gcp is None or result.cpu_seconds is None:
        return result.why_not
    bounded = f" ({result.gcp / least:.2f})" if least else ""
    floored = f" ({result.cpu_seconds / floor_seconds:.1f} x)" if floor_seconds else ""
    return f"{result.gcp:.4f}{bounded} / {result.cpu_seconds:.1f}{floored} / {result.peak_mb}"


def _shown(peer: tuple[float, float] | None) -> str:
    return "{:.4f} / {:.1f}".format(*peer) if peer else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="adult,microaggregation,census", help="tables")
    parser.add_argument("--k", help="instead of those of each table")
    parser.add_argument("--vocabularies", default=",".join(VOCABULARIES))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--limit", type=float, default=300.0, help="seconds by the clock for one release")
    parser.add_argument("--json", type=Path, help="write one JSON object per release")
    parser.add_argument("--page", type=Path, help="put the table between the marks of this page")
    given = parser.parse_args()
    adult = find_adult()
    if adult is None:
        sys.exit("Adult is not on this machine; set TABLECLOAK_DATA to the folder that holds adult/adult.csv")
    with tempfile.TemporaryDirectory() as temporary, data_folder() as data:
        folder = Path(temporary)
        kinds: dict[str, Callable[[], Iterable[Table]]] = {
            "adult": lambda: (adult_table(folder, adult, first) for first in FIRST),
            "microaggregation": lambda: number_tables(folder, adult.parent / "microaggregation"),
            "census": lambda: census_tables(folder, data),
        }
        tables = [table for kind in given.only.split(",") for table in kinds[kind]()]
        results, bounds, floors = measure_all(tables, folder, given)
    if given.json:
        given.json.write_text("".join(json.dumps(asdict(r)) + "\n" for r in results), encoding="utf-8")
    text = page_text(results, bounds, floors)
    print(text)
    if given.page:
        unit = "GCP (as a multiple of the bound) / CPU seconds / peak MB:"
        replace_between(given.page, "losses", f"{measured_on()}\n\n{unit}\n\n{text}")


def measure_all(
    tables: Sequence[Table], folder: Path, given: argparse.Namespace
) -> tuple[list[Result], dict[tuple[str, int], float], dict[str, float]]:
    """Every release, the bounds where there are some, and the processor seconds of the floor."""
    results: list[Result] = []
    bounds: dict[tuple[str, int], float] = {}
    floors: dict[str, float] = {}
    methods = given.methods.split(",")
    for vocabulary in given.vocabularies.split(","):  # loads, or compiles, kernels
        for method in methods:
            measured(tables[0], folder, 10, vocabulary, method, limit=600)
    for table in tables:
        ks = tuple(map(int, given.k.split(","))) if given.k else table.ks
        if not table.peer_rows and table.ks == CENSUS_KS:
            floors[table.name] = measure("floor", table.file, folder / "floor.csv")["cpu_seconds"]
        for vocabulary in given.vocabularies.split(","):
            for k in ks if vocabulary in table.vocabularies else ():
                if vocabulary == "nodes":
                    bounds[table.name, k] = bound_of(table, k)
                for method in methods:
                    results.append(measured(table, folder, k, vocabulary, method, given.limit))
                    print(results[-1], flush=True)
    return results, bounds, floors


def bound_of(table: Table, k: int) -> float:
    """GCP that no release with nodes goes below."""
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / table.file.name
        delimiter = ";" if ";" in table.file.open(encoding="utf-8").readline() else ","
        frame = pl.read_csv(table.file, separator=delimiter, infer_schema=False, columns=list(table.columns))
        frame.select(table.columns).write_csv(file, separator=delimiter)
        return bound(read_tuples(file, table.folder, None), k, BOUND_ROUNDS)


if __name__ == "__main__":
    main()
