"""Parameters with which every registered kind of transform is tried, and the column of `people` it is tried on."""

from __future__ import annotations

from typing import Any

# kind: [(column, parameters), ..]; a kind of several ways gets an example of each
EXAMPLES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "bin": [
        ("pay", {"width": 1000}), ("height", {"width": 0.25, "origin": 0.125}), ("hours", {"edges": [5, 20, 35]}),
        ("hours", {"n": 4}), ("born", {"n": 3, "k": 5}), ("born", {"width": 365, "origin": "1900-01-01"}),
        ("seen", {"width": 0.5}),
    ],
    "bottom-code": [("hours", {"at": 10}), ("height", {"k": 3}), ("born", {"at": "1950-01-01", "label": False})],
    "constant": [("note", {"value": "withheld"})],
    "derive": [
        ("born", {"what": "age", "at": "2024-02-28", "future": "missing"}), ("seen", {"what": "weekday"}),
        ("seen", {"what": "days-since-first"}), ("seen", {"what": "days-between", "at": "born"}),
        ("years", {"what": "age", "from": "born", "at": "seen", "future": "missing"}),
        ("day", {"what": "days-since-first", "from": "seen", "per": "name"}),
    ],
    "drop": [("name", {})],
    "hmac": [("name", {}), ("card", {"length": 12, "domain": "cards"}), ("born", {}), ("pay", {})],
    "mask": [
        ("card", {"format": "card", "keep_first": 6, "char": "X"}), ("name", {"keep_first": 1, "length": "fixed"}),
        ("name", {"keep_last": 2, "keep_separators": True}), ("card", {"pattern": "####-XXXX-####"}),
        ("note", {"format": "email"}), ("pay", {"keep_first": 1}),
    ],
    "microaggregate": [
        ("pay", {"k": 3}), ("height", {"value": "median"}), ("born", {"k": 7}), ("seen", {"k": 2, "value": "median"}),
    ],
    "null": [("pay", {})],
    "redact": [("note", {}), ("note", {"dates": "year", "extra": ["met"]}), ("name", {"dates": "keep"})],
    "round": [
        ("pay", {"base": 100}), ("height", {"base": 0.5}), ("pay", {"k": "auto"}), ("height", {"k": 5}),
        ("hours", {"base": 7, "random": True}), ("pay", {"base": 2.5, "towards": "down"}),
        ("height", {"base": 0.2, "random": True}),
    ],
    "star": [("name", {})],
    "substitute": [
        ("name", {"values": ["Ana", "Bo", "Cy", "*"]}), ("card", {"fake": "name", "unique": True}),
        ("note", {"fake": "city", "locale": "de_DE", "domain": "towns"}),
    ],
    "top-code": [
        ("hours", {"at": 35}), ("pay", {"k": 20, "label": False, "value": "mean"}), ("seen", {"k": 9}),
        ("height", {"at": 2, "label": False}),
    ],
    "truncate": [
        ("born", {"to": "year"}), ("born", {"to": "quarter"}), ("seen", {"to": "month"}), ("born", {"to": "week"}),
        ("seen", {"to": "day"}), ("seen", {"to": "hour"}),
    ],
    "zip3": [("card", {}), ("pay", {})],
}  # fmt: skip
