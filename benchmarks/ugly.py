"""Ugly files: tables as people export them, what must be read from each, and how far DuckDB's sniffer gets with them.

`python -m benchmarks.ugly [--markdown]`. A column is right if its name and every one of its values are; one that has to
be asked about is right if it stays text and the question is asked, which a sniffer that only guesses cannot do.
"""

from __future__ import annotations

import argparse
import codecs
import gzip
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tablecloak.errors import DataError
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame


class Asked:
    """Texts that must stay as they are until somebody answers a question about them."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)


@dataclass(frozen=True)
class UglyFile:
    """A file and what must be read from it."""

    name: str
    content: bytes
    columns: Mapping[str, Sequence[Any] | Asked]
    suffix: str = "csv"


def _file(
    name: str, text: str, columns: Mapping[str, Any], *, encoding: str = "utf-8", suffix: str = "csv"
) -> UglyFile:
    return UglyFile(name, text.encode(encoding), columns, suffix)


SEX = ["m", "f", "m", "f", "m"]
AGES = [30, 31, 32, 33, 34]


def _column(header: str, cells: Sequence[str], delimiter: str = ";") -> str:
    """A table of one column beside that of the sexes."""
    rows = [f"{cell}{delimiter}{sex}" for cell, sex in zip(cells, SEX, strict=True)]
    return "\n".join([f"{header}{delimiter}sex", *rows]) + "\n"


def _of(name: str, header: str, cells: Sequence[str], values: Any) -> UglyFile:
    return _file(name, _column(header, cells), {header: values, "sex": SEX})


DAYS = [date(1933, 2, 9), date(1951, 12, 31), date(1960, 3, 5), date(1978, 8, 17), date(2001, 5, 1)]
GERMAN = ("Februar", "Dezember", "März", "August", "Mai")
FRENCH = ("février", "décembre", "mars", "août", "mai")
POLISH = ("lutego", "grudnia", "marca", "sierpnia", "maja")
PORTUGUESE = ("fevereiro", "dezembro", "março", "agosto", "maio")
PEOPLE = ["Anna Keller", "Peter Moser", "Maria Luca", "Ali Demir", "Eva Frei"]
JOBS = ["nurse", "cook", "smith", "clerk", "baker"]

FILES = (
    _of("dates with dots", "born", [f"{d:%d.%m.%Y}" for d in DAYS], DAYS),
    _of("dates with dots, no zeros", "born", [f"{d.day}.{d.month}.{d.year}" for d in DAYS], DAYS),
    _of("dates, day first", "born", [f"{d:%d/%m/%Y}" for d in DAYS], DAYS),
    _of("dates, month first", "born", [f"{d:%m/%d/%Y}" for d in DAYS], DAYS),
    _of(
        "dates, day or month first",
        "seen",
        (u := ["1/2/2020", "3/4/2020", "12/1/2020", "5/5/2020", "7/8/2020"]),
        Asked(*u),
    ),
    _of("dates, years of two digits", "seen", (t := [f"{d:%m/%d/%y}" for d in DAYS]), Asked(*t)),
    _of("dates in one number", "born", [f"{d:%Y%m%d}" for d in DAYS], DAYS),
    _of("dates as days of a spreadsheet", "birth_date", [str((d - date(1899, 12, 30)).days) for d in DAYS], DAYS),
    _of(
        "dates with German months", "born", [f"{d.day}. {m} {d.year}" for d, m in zip(DAYS, GERMAN, strict=True)], DAYS
    ),
    _of("dates with French months", "born", [f"{d.day} {m} {d.year}" for d, m in zip(DAYS, FRENCH, strict=True)], DAYS),
    _of("dates with Polish months", "born", [f"{d.day} {m} {d.year}" for d, m in zip(DAYS, POLISH, strict=True)], DAYS),
    _of(
        "dates with Portuguese months",
        "born",
        [f"{d.day} de {m} de {d.year}" for d, m in zip(DAYS, PORTUGUESE, strict=True)],
        DAYS,
    ),
    _of("dates with English months", "born", [f"{d:%B} {d.day}, {d.year}" for d in DAYS], DAYS),
    _of("dates of a database", "born", [f"{d:%d-%b-%Y}".upper() for d in DAYS], DAYS),
    _of(
        "dates written in two ways",
        "seen",
        (w := ["09.02.1933", "31.12.1951", "1960-03-05", "17.08.1978", "01.05.2001"]),
        Asked(*w),
    ),
    _of(
        "times with dots",
        "seen",
        [f"{d:%d.%m.%Y} 14:0{i}" for i, d in enumerate(DAYS)],
        [datetime(d.year, d.month, d.day, 14, i) for i, d in enumerate(DAYS)],
    ),
    _of("decimal commas", "bmi", ["21,5", "32,25", "19", "27,0", "24,75"], [21.5, 32.25, 19.0, 27.0, 24.75]),
    _of(
        "thousands with dots",
        "pay",
        ["1.234,50", "999,00", "12.000,25", "7,10", "1.000.000,00"],
        [1234.5, 999.0, 12000.25, 7.1, 1000000.0],
    ),
    _of(
        "thousands with apostrophes",
        "pay",
        ["1'234", "999", "12'000", "7", "1'000'000"],
        [1234, 999, 12000, 7, 1000000],
    ),
    _of(
        "thousands with narrow spaces",
        "pay",
        ["1\u202f234,5", "999,5", "12\u202f000,5", "7,5", "2\u202f000,5"],
        [1234.5, 999.5, 12000.5, 7.5, 2000.5],
    ),
    _of(
        "dollars",
        "pay",
        ["$1,234.50", "$999", "$12,000", "$7.25", "$1,000,000"],
        [1234.5, 999.0, 12000.0, 7.25, 1000000.0],
    ),
    _of(
        "euros behind",
        "pay",
        ["1.234,50 €", "999,00 €", "12.000,25 €", "7,10 €", "8,00 €"],
        [1234.5, 999.0, 12000.25, 7.1, 8.0],
    ),
    _of("kilograms", "weight", ["72 kg", "81.5 kg", "64 kg", "90 kg", "77 kg"], [72.0, 81.5, 64.0, 90.0, 77.0]),
    _of("percent", "share", ["12 %", "13%", "80 %", "9 %", "100 %"], [12, 13, 80, 9, 100]),
    _of("commas of either kind", "pay", (c := ["1,234", "2,345", "999", "4,111", "5,251"]), Asked(*c)),
    _of("whole numbers as floats", "age", ["30.0", "31.0", "", "33.0", "34.0"], [30, 31, None, 33, 34]),
    _of(
        "codes with leading zeros",
        "zip",
        ["01067", "01069", "80331", "10115", "04109"],
        ["01067", "01069", "80331", "10115", "04109"],
    ),
    _file(
        "no header",
        "".join(f"{p},{j}\n" for p, j in zip(PEOPLE, JOBS, strict=True)),
        {"column_1": PEOPLE, "column_2": JOBS},
    ),
    _file(
        "doubled and empty names",
        "age,age,,sex\n" + "".join(f"{a},1,2,{s}\n" for a, s in zip(AGES, SEX, strict=True)),
        {"age": AGES, "age_2": [1] * 5, "column_3": [2] * 5, "sex": SEX},
    ),
    _file(
        "quotes and spaces in names",
        '\'age\', """sex""" \n'.replace(", ", ",") + "".join(f"{a},{s}\n" for a, s in zip(AGES, SEX, strict=True)),
        {"age": AGES, "sex": SEX},
    ),
    _file(
        "an overlong name",
        f"{'x' * 300},sex\n" + "".join(f"{a},{s}\n" for a, s in zip(AGES, SEX, strict=True)),
        {"x" * 63: AGES, "sex": SEX},
    ),
    _file(
        "lines above the table",
        "Survey of 2024\nmade by the office\n\nage;sex\n"
        + "".join(f"{a};{s}\n" for a, s in zip(AGES, SEX, strict=True)),
        {"age": AGES, "sex": SEX},
    ),
    _file(
        "row names without a name",
        '"age","sex"\n' + "".join(f'"{i}",{a},"{s}"\n' for i, (a, s) in enumerate(zip(AGES, SEX, strict=True), 1)),
        {"column_1": [1, 2, 3, 4, 5], "age": AGES, "sex": SEX},
    ),
    _file(
        "every row ends in a delimiter",
        "age;sex;zip\n" + "".join(f"{a};{s};0{i};\n" for i, (a, s) in enumerate(zip(AGES, SEX, strict=True))),
        {"age": AGES, "sex": SEX, "zip": [f"0{i}" for i in range(5)], "column_4": [None] * 5},
    ),
    UglyFile(
        "a mark of UTF-8 on Latin text",
        codecs.BOM_UTF8 + _column("ort", ["Zürich", "Genève", "Köln", "Bern", "Uster"]).encode("cp1252"),
        {"ort": ["Zürich", "Genève", "Köln", "Bern", "Uster"], "sex": SEX},
    ),
    _file(
        "UTF-16 with tabs",
        _column("ort", ["Zürich", "Łódź", "Köln", "Bern", "Uster"], "\t"),
        {"ort": ["Zürich", "Łódź", "Köln", "Bern", "Uster"], "sex": SEX},
        encoding="utf-16",
    ),
    _file(
        "ends of lines of an old Mac",
        _column("age", [str(a) for a in AGES]).replace("\n", "\r"),
        {"age": AGES, "sex": SEX},
    ),
    UglyFile(
        "packed without a name for it",
        gzip.compress(_column("age", [str(a) for a in AGES]).encode()),
        {"age": AGES, "sex": SEX},
    ),
    _file(
        "line ends in cells",
        "note,sex\n" + "".join(f'"a\n{a}, b",{s}\n' for a, s in zip(AGES, SEX, strict=True)),
        {"note": [f"a\n{a}, b" for a in AGES], "sex": SEX},
    ),
)


def ours(path: Path) -> dict[str, Any]:
    """The columns as tablecloak reads them when its repair is asked for."""
    source = Source(path, repair=True)
    layout, frame = sniff(source), read_frame(source)
    return {n: Asked(*frame[n].to_list()) if layout.column(n).question else frame[n].to_list() for n in frame.columns}


def sniffed(path: Path) -> dict[str, Any]:
    """The columns as DuckDB reads them with what its sniffer found."""
    import duckdb

    with duckdb.connect() as connection:
        rows = connection.sql(f"from read_csv('{path}')")
        names = rows.columns
        cells = rows.fetchall()
    return dict(zip(names, [list(column) for column in zip(*cells, strict=True)] or [[]] * len(names), strict=True))


def right_columns(file: UglyFile, columns: Mapping[str, Any]) -> int:
    """How many columns are as they must be."""
    return sum(name in columns and _is_same(wanted, columns[name]) for name, wanted in file.columns.items())


def _is_same(wanted: Sequence[Any] | Asked, values: Any) -> bool:
    if isinstance(wanted, Asked) or isinstance(values, Asked):
        return isinstance(wanted, Asked) and isinstance(values, Asked) and wanted.texts == values.texts
    plain = [float(v) if isinstance(v, Decimal) else v for v in values]
    return plain == list(wanted) and all(type(a) is type(b) for a, b in zip(plain, wanted, strict=True))


def measured(folder: Path) -> list[tuple[str, int, int, int]]:
    """For every file: its name, how many columns it has, how many DuckDB and how many we read rightly."""
    figures = []
    for number, file in enumerate(FILES):
        path = folder / f"{number}.{file.suffix}"
        path.write_bytes(file.content)
        figures.append((file.name, len(file.columns), _right(file, path, sniffed), _right(file, path, ours)))
    return figures


def _right(file: UglyFile, path: Path, read: Any) -> int:
    try:
        return right_columns(file, read(path))
    except DataError:
        return 0
    except Exception as error:
        if not type(error).__module__.startswith("duckdb") and "duckdb" not in type(error).__module__:
            raise
        return 0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", action="store_true", help="print the table for docs/benchmarks.md")
    markdown = parser.parse_args().markdown
    with tempfile.TemporaryDirectory() as folder:
        figures = measured(Path(folder))
    totals = ("all", *(sum(int(row[i]) for row in figures) for i in (1, 2, 3)))
    rows = [*figures, totals]
    if markdown:
        print("| file | columns | DuckDB's sniffer | tablecloak |\n|---|---|---|---|")
        print("\n".join(f"| {name} | {n} | {theirs} | {own} |" for name, n, theirs, own in rows))
        return
    table = Table("file", "columns", "DuckDB's sniffer", "tablecloak")
    for row in rows:
        table.add_row(*map(str, row))
    Console().print(table)


if __name__ == "__main__":
    main()
