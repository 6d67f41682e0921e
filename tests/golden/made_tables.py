"""Tables about made-up people, the same on every machine: only `Random.random` is drawn from, whose numbers are fixed.

Every table is a list of rows with None for missing cells; `write_csv` writes it without a library that could change.
"""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

Row = dict[str, Any]

PLACES = {"north": {"coast": ["Kiel", "Husum"], "inland": ["Celle"]}, "south": {"alps": ["Chur"], "lake": ["Genf"]}}
ILLS = {"lung": ["flu", "asthma"], "gut": {"stomach": ["ulcer", "gastritis"], "liver": ["cirrhosis"]}, "skin": ["acne"]}
JOBS = ["baker", "cook", "driver", "judge", "nurse", "smith", "tailor", "writer"]
GOODS = {
    "drink": ["beer", "gin", "milk", "tea"],
    "food": {"sweet": ["cake", "jam"], "salt": ["bread", "cheese", "ham"]},
    "care": ["soap", "towel"],
}
ODD = ["A*02:01", "10-20", "[1, 5]", "{a}", "*", "a, b", 'say "hi"', "=1+1", "-7", "'x", "日本", "x y"]


def leaves(tree: Any) -> list[str]:
    """The values at the bottom of a tree of dictionaries and lists, from left to right."""
    return [leaf for child in tree.values() for leaf in leaves(child)] if isinstance(tree, dict) else list(tree)


def paths(tree: Any, above: tuple[str, ...] = ("*",)) -> list[tuple[str, ...]]:
    """Every leaf with what stands above it, up to the root."""
    if not isinstance(tree, dict):
        return [(leaf, *above) for leaf in tree]
    return [path for name, child in tree.items() for path in paths(child, (name, *above))]


class Dice:
    """Draws from one stream of numbers in [0, 1)."""

    def __init__(self, name: str) -> None:
        self._random = random.Random(name).random

    def under(self, chance: float) -> bool:
        return self._random() < chance

    def whole(self, low: int, high: int) -> int:
        return low + int(self._random() * (high - low + 1))

    def one(self, values: list[Any], *, skew: float = 1.0) -> Any:
        """One of the values; the larger the skew, the more often an early one."""
        return values[int(self._random() ** skew * len(values))]

    def number(self, low: float, high: float, digits: int) -> float:
        return round(low + self._random() * (high - low), digits)


def person(dice: Dice, number: int) -> Row:
    age = dice.whole(20, 59)
    sex = dice.one(["female", "male"])
    town = dice.one(leaves(PLACES), skew=1.3)
    born = date(2020 - age, 1, 1) + timedelta(days=dice.whole(0, 364))
    return {
        "name": f"Person {number}",
        "age": age,
        "sex": sex,
        "zip": f"{dice.one(['130', '131', '148'])}{dice.whole(0, 1)}{dice.whole(0, 3)}",
        "born": born,
        "town": town,
        "job": dice.one(JOBS, skew=1.5),
        "income": dice.number(900, 7000, 2),
        "ill": dice.one(leaves(ILLS)[: 6 if sex == "female" else 5], skew=1.2),  # no man has acne
        "pay": dice.whole(1, 30),
        "guard": dice.one([None, None, None, "lung", "gut", "ulcer"]),
        "weight": dice.number(0.5, 3, 1),
        "bucket": f"b{number // 8}",
    }


def people(n: int = 96, name: str = "people") -> list[Row]:
    """One row for everybody, no cell empty but those of `guard`."""
    dice = Dice(name)
    return [person(dice, i) for i in range(n)]


def with_gaps(n: int = 80) -> list[Row]:
    """People of whom something is missing: one cell in twelve, `sex` and `pay` excepted."""
    dice = Dice("gaps")
    rows = [person(dice, i) for i in range(n)]
    for row in rows:
        for name in ("age", "zip", "born", "town", "job", "income", "ill"):
            if dice.under(0.08):
                row[name] = None
    return rows


def visits(n: int = 110, n_people: int = 45) -> list[Row]:
    """Several rows of many persons: who they are stays, where and why they came does not."""
    dice = Dice("visits")
    known = [person(dice, i) for i in range(n_people)]
    rows = []
    for _ in range(n):
        number = dice.whole(0, n_people - 1)
        visit = person(dice, number)
        zip_code = (visit if dice.under(0.2) else known[number])["zip"]
        changing = {name: visit[name] for name in ("town", "ill", "pay")}
        rows.append({**known[number], "who": f"p{number:02}", "zip": zip_code, **changing})
    return rows


def register() -> list[Row]:
    """Everybody of the other tables, each with up to four others who are just like them, and some who are not."""
    dice = Dice("register")
    known = [row for row in [*people(), *with_gaps(), *visits()] for _ in range(dice.whole(1, 5))]
    others = [person(dice, i) for i in range(60)]
    return [{key: row[key] for key in ("age", "sex", "zip", "town", "born")} for row in [*known, *others]]


def numbers(n: int = 60) -> list[Row]:
    """Measurements: two that go together, their sum, one by itself, and a category."""
    dice = Dice("numbers")
    rows = []
    for _ in range(n):
        x = dice.number(0, 100, 1)
        y = round(x / 2 + dice.number(-5, 5, 1), 1)
        rows.append({"x": x, "y": y, "sum": round(x + y, 1), "z": dice.whole(0, 9), "kind": dice.one(JOBS[:3]),
                     "ill": dice.one(leaves(ILLS))})  # fmt: skip
    return rows


def oddities(n: int = 48) -> list[Row]:
    """Cells that are hard to write, read or compare."""
    dice = Dice("odd")
    start = datetime(2019, 12, 31, 23, 50)
    return [
        {
            "odd": dice.one(ODD),
            "huge": dice.one([2**63 - 1, -(2**63), 2**62 + 1, 3]),
            "wide": dice.one([1e300, -1e300, 5e-324, 0.0, 1.5]),
            "flag": dice.under(0.4),
            "at": start + timedelta(minutes=dice.whole(0, 40), seconds=dice.whole(0, 59)),
            "empty": None,
            "same": "same",
            "ill": dice.one(leaves(ILLS)),
        }
        for _ in range(n)
    ]


def tiny() -> list[Row]:
    """Five people, too few for most goals."""
    return people(5, "tiny")


def nobody() -> list[Row]:
    """A table that has columns and no row."""
    return []


def baskets(n: int = 90) -> list[list[str]]:
    """Sets of goods, a few of them empty."""
    dice = Dice("baskets")
    goods = leaves(GOODS)
    sets = []
    for _ in range(n):
        chosen = [dice.one(goods, skew=1.4) for _ in range(dice.whole(0, 4))]
        sets.append(list(dict.fromkeys(chosen)))
    return sets


def cell(value: Any) -> str:
    """A cell of a CSV file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    text = value.isoformat() if isinstance(value, date) else repr(value) if isinstance(value, float) else str(value)
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n;') else text


def csv_of(rows: list[Row], names: list[str] | None = None, *, delimiter: str = ",") -> str:
    names = names or list(rows[0])
    lines = [names, *([cell(row[name]) for name in names] for row in rows)]
    return "".join(delimiter.join(line) + "\n" for line in lines)


def write_csv(path: Path, rows: list[Row], names: list[str] | None = None) -> Path:
    path.write_text(csv_of(rows, names), encoding="utf-8", newline="")
    return path
