"""A table, parameters with which every registered kind of transform is tried, and the column it is tried on."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import polars as pl

import tablecloak as tc
from tablecloak import registry

KINDS = registry.known("transforms")
# kind: [(column, parameters), ..]; a kind of several ways gets an example of each
EXAMPLES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "aes-siv": [("name", {}), ("pay", {"domain": "money"}), ("born", {}), ("height", {})],
    "bin": [
        ("pay", {"width": 1000}),
        ("height", {"width": 0.25, "origin": 0.125}),
        ("hours", {"edges": [5, 20, 35]}),
        ("hours", {"n": 4}),
        ("born", {"n": 3, "k": 5}),
        ("born", {"width": 365, "origin": "1900-01-01"}),
        ("seen", {"width": 0.5}),
    ],
    "blur": [("hours", {}), ("height", {"percent": 20}), ("born", {}), ("seen", {"days": 30})],
    "bottom-code": [("hours", {"at": 10}), ("height", {"k": 3}), ("born", {"at": "1950-01-01", "label": False})],
    "constant": [("note", {"value": "withheld"})],
    "counter": [("name", {}), ("who", {"width": 6, "prefix": "P-"}), ("name", {"with": ["born", "pay"]})],
    "derive": [
        ("born", {"what": "age", "at": "2024-02-28", "future": "missing"}),
        ("seen", {"what": "weekday"}),
        ("seen", {"what": "days-since-first"}),
        ("seen", {"what": "days-between", "at": "born"}),
        ("years", {"what": "age", "from": "born", "at": "seen", "future": "missing"}),
        ("day", {"what": "days-since-first", "from": "seen", "per": "name"}),
    ],
    "drop": [("name", {})],
    "ff1": [
        ("card", {}),
        ("card", {"alphabet": "alphanumeric", "domain": "cards"}),
        ("card", {"alphabet": "9876543210 "}),
    ],
    "hmac": [
        ("name", {}),
        ("card", {"length": 12, "domain": "cards"}),
        ("born", {}),
        ("pay", {}),
        ("name", {"with": ["born", "height", "seen"]}),
    ],
    "mask": [
        ("card", {"format": "card", "keep_first": 6, "char": "X"}),
        ("name", {"keep_first": 1, "length": "fixed"}),
        ("name", {"keep_last": 2, "keep_separators": True}),
        ("card", {"pattern": "####-XXXX-####"}),
        ("note", {"format": "email"}),
        ("pay", {"keep_first": 1}),
    ],
    "microaggregate": [
        ("pay", {"k": 3}),
        ("height", {"value": "median"}),
        ("born", {"k": 7}),
        ("seen", {"k": 2, "value": "median"}),
    ],
    "noise": [
        ("hours", {}),
        ("pay", {"relative": 0.5}),
        ("height", {"distribution": "laplace", "scale": 0.1, "zero_sum": True}),
        ("hours", {"mode": "multiplicative", "scale": 0.2, "clip": [1, 60]}),
        (
            "born",
            {"distribution": "uniform", "scale": 90, "clip": ["1880-01-01", "2020-12-31"], "at_bounds": "reflect"},
        ),
        ("seen", {"scale": 30, "zero_sum": True}),
        ("pay", {"distribution": "discrete", "share": 0.5}),
    ],
    "null": [("pay", {})],
    "pram": [
        ("name", {"invariant": True}),
        ("smokes", {"matrix": {"true": {"true": 0.8, "false": 0.2}, "false": {"true": 0.3, "false": 0.7}}}),
        ("hours", {"invariant": True, "keep": 0.5}),
    ],
    "random": [("name", {}), ("pay", {"length": 32}), ("card", {"with": ["smokes"]})],
    "rank-swap": [("hours", {}), ("pay", {"window": 10}), ("born", {}), ("height", {"window": 1})],
    "recompute": [("pay", {"expression": "hours * 12.5"}), ("height", {"expression": "1.2 + `hours` / 100"})],
    "redact": [("note", {}), ("note", {"dates": "year", "extra": ["met"]}), ("name", {"dates": "keep"})],
    "round": [
        ("pay", {"base": 100}),
        ("height", {"base": 0.5}),
        ("pay", {"k": "auto"}),
        ("height", {"k": 5}),
        ("hours", {"base": 7, "random": True}),
        ("pay", {"base": 2.5, "towards": "down"}),
        ("height", {"base": 0.2, "random": True}),
    ],
    "shift-dates": [("born", {}), ("seen", {"weeks": True, "days": 90}), ("born", {"per": "name", "domain": "names"})],
    "shuffle": [("name", {}), ("pay", {"within": "smokes"}), ("born", {"within": ["smokes", "note"]})],
    "star": [("name", {})],
    "substitute": [
        ("name", {"values": ["Ana", "Bo", "Cy", "*"]}),
        ("card", {"fake": "name", "unique": True}),
        ("note", {"fake": "city", "locale": "de_DE", "domain": "towns"}),
    ],
    "swap": [
        ("name", {}),
        ("note", {"share": 0.3, "forbidden": [[{"note": "ana@x.org"}, {"smokes": True}]]}),
        ("pay", {"share": 1.0}),
    ],
    "top-code": [
        ("hours", {"at": 35}),
        ("pay", {"k": 20, "label": False, "value": "mean"}),
        ("seen", {"k": 9}),
        ("height", {"at": 2, "label": False}),
    ],
    "truncate": [
        ("born", {"to": "year"}),
        ("born", {"to": "quarter"}),
        ("seen", {"to": "month"}),
        ("born", {"to": "week"}),
        ("seen", {"to": "day"}),
        ("seen", {"to": "hour"}),
    ],
    "zip3": [("card", {}), ("pay", {})],
}


def people(n=120, seed=0):
    """Odd cells of every type: missing ones, other alphabets, large numbers, days long ago."""
    draw = random.Random(seed)
    names = ["Zoë", "Łukasz", "王芳", "O'Neil, Pat", " ", "a" * 300, "Ana", "Bo", "Ωmega", "*"]
    return pl.DataFrame(
        {
            "who": [f"p{draw.randrange(n // 3)}" for _ in range(n)],
            "name": [draw.choice([*names, None]) for _ in range(n)],
            "card": ["".join(draw.choice("0123456789") for _ in range(16)) for _ in range(n)],
            "note": [
                draw.choice(["met Ana on 3 May 2021", "call 030 1234567", "", None, "ana@x.org"]) for _ in range(n)
            ],
            "born": [
                draw.choice([dt.date(1888, 2, 29), None, dt.date(1900, 1, 1) + dt.timedelta(draw.randrange(40000))])
                for _ in range(n)
            ],
            "seen": [dt.datetime(2020, 1, 1) + dt.timedelta(seconds=draw.randrange(10**8)) for _ in range(n)],
            "pay": [draw.choice([None, 0, -5, 10**18, draw.randrange(1000, 9000)]) for _ in range(n)],
            "hours": [draw.randrange(1, 40) for _ in range(n)],
            "height": [draw.choice([None, 0.0, -0.25, 1e-9, draw.uniform(1.4, 2.1)]) for _ in range(n)],
            "smokes": [draw.choice([True, False, None]) for _ in range(n)],
            "age": [draw.randrange(20, 90) for _ in range(n)],
        },
        schema_overrides={"pay": pl.Int64},
    ).with_columns(pl.col("note").replace("", None))


def policy_of(kind, column, params, role="keep"):
    chosen = {"kind": kind, **params}
    role = "identifier" if kind in ("drop", "star") else role
    columns = {"age": "quasi", column: {"role": role, "transform": chosen}}
    if column != "who":
        columns["who"] = "person"
    for need in KINDS[kind].model_validate(params).needs("who"):
        columns.setdefault(need, "keep")
    return tc.Policy.model_validate({"columns": columns, "goals": [{"model": "k-anonymity", "k": 2}]})
