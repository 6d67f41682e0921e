"""Random tables with random policies, described so that both the package and the oracle can read them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

import polars as pl
from hypothesis import strategies as st

import oracle
from tablecloak.data.table import ColumnType
from tablecloak.hierarchy.kinds.base import build
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import hierarchy_from

DTYPES = {
    "integer": pl.Int64,
    "float": pl.Float64,
    "boolean": pl.Boolean,
    "date": pl.Date,
    "datetime": pl.Datetime("us"),
    "text": pl.String,
}
WORDS = [
    "a",
    "b",
    "Ünïcødé",
    "日本",
    "a, b",
    'say "hi"',
    "{x}",
    " pad ",
    "=1+1",
    "-7",
    "'quoted",
    "🙂",
    "[1, 2]",
    "x-y",
]
PLAIN = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "koi", "lynx", "mole", "newt"]
JOBS = {"care": ["nurse", "doctor"], "safety": {"street": ["police"], "fire": ["fire"]}, "school": ["teacher"]}
ILLNESS = {
    "lung": ["flu", "asthma"],
    "gut": {"stomach": ["gastritis", "ulcer"], "liver": ["cirrhosis"]},
    "other": ["acne"],
}
FIRST_DAY = date(1999, 12, 25)


def _leaves(tree):
    children = tree.values() if isinstance(tree, dict) else [[]]
    own = [] if isinstance(tree, dict) else list(tree)
    return own + [leaf for child in children for leaf in (_leaves(child) if child else [])]


# how to draw a cell of each kind of column: type, cell, hierarchies that fit
KINDS: dict[str, tuple[str, Any, list[dict[str, Any] | None]]] = {
    "age": (
        "integer",
        lambda r: r.randint(-20, 60),
        [None, None, {"kind": "intervals", "width": 5}, {"kind": "intervals", "width": 7, "closed": True, "start": 3},
         {"kind": "quantiles", "groups": 4}, {"kind": "order", "fanout": 3}, {"kind": "auto"},
         {"kind": "auto", "method": "range", "fanout": 4}],
    ),
    "big": ("integer", lambda r: 2**53 + r.randint(-5, 5), [None, {"kind": "order", "fanout": 3}]),
    "rate": (
        "float",
        lambda r: round(r.uniform(-2, 2), 1),
        [None, None, {"kind": "intervals", "width": 0.5}, {"kind": "quantiles", "groups": 3}],
    ),
    "tiny": ("float", lambda r: r.choice([1e-7, 2.5e-7, 3e22, 1.0]), [None]),
    "flag": ("boolean", lambda r: r.random() < 0.3, [None, None, {"kind": "order", "fanout": 2}]),
    "born": (
        "date",
        lambda r: FIRST_DAY + timedelta(days=r.randint(0, 900)),
        [None, None, {"kind": "dates"}, {"kind": "dates", "levels": ["day", "quarter", "year"]},
         {"kind": "order", "fanout": 4}, {"kind": "auto", "method": "range"}],
    ),
    "seen": (
        "datetime",
        lambda r: datetime(2020, 1, 1) + timedelta(minutes=r.randint(0, 10**6)),
        [None, None, {"kind": "dates", "levels": ["month", "year"]}],
    ),
    "word": ("text", lambda r: r.choice(WORDS), [None, None]),
    "pet": (
        "text",
        lambda r: r.choice(PLAIN),
        [None, {"kind": "order", "fanout": 3}, {"kind": "order", "fanout": 12}, {"kind": "auto", "method": "group"},
         {"kind": "mask"}],
    ),
    "job": ("text", lambda r: r.choice(_leaves(JOBS)), [None, {"kind": "tree", "tree": JOBS}]),
    "zip": (
        "text",
        lambda r: f"{r.choice([13, 14, 99])}{r.randint(0, 9)}{r.randint(0, 9)}",
        [None, None, {"kind": "mask"}, {"kind": "mask", "from": "left"}, {"kind": "auto", "method": "mask"}],
    ),
    "constant": ("text", lambda r: "same", [None, {"kind": "mask"}]),
    "one": ("integer", lambda r: 7, [None, {"kind": "intervals", "width": 2}]),
}  # fmt: skip
SENSITIVE = {
    "illness": ("text", lambda r: r.choice(_leaves(ILLNESS)[: r.randint(1, 6)]), {"kind": "tree", "tree": ILLNESS}),
    "pay": ("integer", lambda r: r.choice([1, 2, 2, 3, 5, 8, 13]), None),
}


@dataclass
class Case:
    """A table, the policy for it, and what the oracle must know."""

    rows: list[dict[str, Any]]
    types: dict[str, str]
    quasi: list[str]
    sensitive: list[str]
    specs: dict[str, dict[str, Any] | None]
    goals: list[dict[str, Any]]
    algorithm: dict[str, Any]
    output: dict[str, Any]
    missing: str
    weights: dict[str, float]
    trees: dict[str, dict[Any, str]] = field(default_factory=dict)

    @property
    def frame(self) -> pl.DataFrame:
        return pl.DataFrame(
            {name: pl.Series([row[name] for row in self.rows], dtype=DTYPES[t]) for name, t in self.types.items()}
        )

    def policy(self, goals=None) -> Policy:
        columns: dict[str, Any] = {"row": {"role": "keep"}}
        for name in self.quasi:
            columns[name] = {"role": "quasi", "hierarchy": self.specs[name], "weight": self.weights[name]}
        for name in self.sensitive:
            columns[name] = {"role": "sensitive", "hierarchy": self.specs[name]}
        return Policy(
            columns=columns,
            goals=self.goals if goals is None else goals,
            algorithm=self.algorithm,
            output={"path": "unused.csv", **self.output},
            missing=self.missing,
        )

    def has_missing(self, row) -> bool:
        return any(row[name] is None for name in [*self.quasi, *self.sensitive])

    @property
    def used(self) -> list[dict[str, Any]]:
        """The rows that are published or suppressed: those the policy does not leave out for empty cells."""
        return [row for row in self.rows if not (self.missing == "drop" and self.has_missing(row))]

    def tree_of(self, name):
        """Parent by child of the text hierarchy of a column, from its paths; None where cells explain themselves."""
        spec = self.specs.get(name)
        if spec is None or self.types[name] not in ("text", "boolean"):
            return None
        if name not in self.trees:
            values = [v for v in {row[name] for row in self.used} if v is not None]
            paths = build(hierarchy_from(spec), values, ColumnType(self.types[name]).value).to_paths()
            self.trees[name] = {a: b for path in paths for a, b in pairwise(path) if a != b}
        return self.trees[name] or None

    def covers(self, name, cell, original) -> bool:
        tree = self.tree_of(name)
        if tree and cell == oracle.root_of(tree):
            return True
        if self.types[name] in ("date", "datetime") and cell is not None and (days := period(cell)):
            return original is not None and days[0] <= day_of(original) <= days[1]
        return oracle.covers(cell, original, tree=tree)

    def loss(self, name, cell) -> float:
        column = [row[name] for row in self.used]
        tree = self.tree_of(name)
        if tree and cell == oracle.root_of(tree):
            return 1.0
        if self.types[name] in ("date", "datetime") and cell is not None and (days := period(cell)):
            known = [day_of(v) for v in column if v is not None]
            months = 12 * (days[1].year - days[0].year) + days[1].month - days[0].month + 1
            return min(1.0, months * 30.436875 / max(1, (max(known) - min(known)).days))
        return float(oracle.ncp(cell, column, tree=tree))

    def judged(self, rows, quasi=None, goals=None):
        """[(holds, achieved)] of the goals by the oracle; the table's distribution is that of all records in use."""
        orders = {"pay": [None, *range(100)]}
        present = {row["pay"] for row in self.used} if "pay" in self.sensitive else set()
        orders["pay"] = [v for v in orders["pay"] if v in present]
        tree = {**parents(ILLNESS), None: "*"}
        return oracle.check(
            rows, self.quasi if quasi is None else quasi, self.goals if goals is None else goals,
            sensitive=self.sensitive, orders=orders, trees={"illness": tree}, original=self.used,
        )  # fmt: skip


def parents(tree, root="*"):
    """Parent by child of a nested tree."""
    found = {}
    for child in tree:
        found[child] = root
        if isinstance(tree, dict):
            found |= parents(tree[child], child)
    return found


def period(cell):
    """First and last day of a calendar period such as 2020-03, 2020-Q1, 2020 or [2020, 2029]."""
    text = str(cell).strip("[]").split(", ")
    spans = [_span(part) for part in text]
    return None if None in spans else (spans[0][0], spans[-1][1])


def _span(text):
    year, _, rest = text.partition("-")
    if len(year) != 4 or not year.isdigit() or len(rest) > 2:
        return None
    if rest.startswith("Q"):
        begin, end = 3 * int(rest[1]) - 2, 3 * int(rest[1])
    else:
        begin, end = (int(rest), int(rest)) if rest else (1, 12)
    after = date(int(year) + end // 12, end % 12 + 1, 1)
    return date(int(year), begin, 1), after - timedelta(days=1)


def day_of(value):
    return value.date() if isinstance(value, datetime) else value


@st.composite
def goals(draw, sensitive, n_rows):
    """One to three goals that fit the sensitive columns, feasible or not."""
    models = ["k"] + ["distinct", "entropy", "recursive", "equal"] * bool(sensitive)
    models += ["pd", "npd", "hierarchical"] if "illness" in sensitive else []
    models += ["ordered"] if "pay" in sensitive else []
    chosen = draw(st.lists(st.sampled_from(models), min_size=1, max_size=3))
    return [draw(_goal(name, sensitive, n_rows)) for name in chosen]


@st.composite
def _goal(draw, name, sensitive, n_rows):  # noqa: PLR0911
    if name == "k":
        return {"model": "k-anonymity", "k": draw(st.sampled_from([2, 2, 3, 5, 8, max(2, n_rows), n_rows + 3]))}
    named = draw(st.sampled_from([None, *sensitive]))
    about = {} if named is None else {"sensitive": named}
    if name in ("equal", "ordered", "hierarchical"):
        fits = {"equal": about, "ordered": {"sensitive": "pay"}, "hierarchical": {"sensitive": "illness"}}[name]
        t = draw(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9]))
        return {"model": "t-closeness", "t": t, "distance": name, **fits}
    if name == "distinct":
        return {"model": "l-diversity", "l": draw(st.integers(2, 5)), **about}
    if name == "entropy":
        return {"model": "l-diversity", "variant": name, "l": draw(st.sampled_from([1.2, 2.0, 2.5, 4.0])), **about}
    c, l = draw(st.sampled_from([0.5, 1.0, 2.0, 4.0])), draw(st.integers(2, 4))  # noqa: E741
    if name == "recursive":
        return {"model": "l-diversity", "variant": name, "l": l, "c": c, **about}
    pd = {"model": "l-diversity", "variant": "pd-recursive", "l": l, "c": c, "sensitive": "illness"}
    allowed = draw(st.sampled_from([None, ["flu"], ["flu", "acne"]]))
    pd |= {} if allowed is None else {"allowed": allowed}
    if name == "pd":
        return pd
    return {**pd, "variant": "npd-recursive", "c2": draw(st.sampled_from([0.05, 0.2])), "forbidden": ["asthma"]}


@st.composite
def cases(draw, max_rows=80):
    """A random table with a random policy."""
    n_rows = draw(st.integers(1, max_rows))
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=5, unique=True))
    sensitive = draw(st.sampled_from([[], ["illness"], ["pay"], ["illness", "pay"]]))
    r = random.Random(draw(st.integers(0, 2**32)))
    holes = draw(st.sampled_from([0, 0, 0.05, 0.5]))
    specs = {kind: draw(st.sampled_from(KINDS[kind][2])) for kind in kinds}
    drawn = {kind: _column(r, KINDS[kind][1], n_rows, holes) for kind in kinds}
    drawn |= {name: _column(r, SENSITIVE[name][1], n_rows, holes / 4) for name in sensitive}
    n_copies = draw(st.sampled_from([1, 1, 3]))  # duplicates
    order = [i // n_copies for i in range(n_rows)]
    r.shuffle(order)
    rows = [{"row": i, **{name: drawn[name][at] for name in drawn}} for i, at in enumerate(order)]
    mode = draw(st.sampled_from(["strict", "relaxed"]))
    return Case(
        rows=rows,
        types={"row": "integer", **{k: KINDS[k][0] for k in kinds}, **{s: SENSITIVE[s][0] for s in sensitive}},
        quasi=kinds,
        sensitive=sensitive,
        specs={**specs, **{s: SENSITIVE[s][2] for s in sensitive}},
        goals=draw(goals(sensitive, n_rows)),
        algorithm={
            "kind": "mondrian", "mode": mode, "split": draw(st.sampled_from(["loss", "width"])),
            "suppression_limit": draw(st.sampled_from([0.0, 0.0, 0.05, 0.3])),
        },
        output={
            "suppressed": draw(st.sampled_from(["drop", "star"])),
            "order": draw(st.sampled_from(["content", "random", "keep"])),
        },
        missing=draw(st.sampled_from(["value", "value", "drop", "error"])),
        weights={kind: draw(st.sampled_from([1.0, 1.0, 2.0, 0.5])) for kind in kinds},
    )  # fmt: skip


def _column(r, cell, n, holes):
    return [None if r.random() < holes else cell(r) for _ in range(n)]
