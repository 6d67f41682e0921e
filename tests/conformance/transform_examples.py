"""Parameters with which every registered kind of transform is tried, and the column of `people` it is tried on."""

from __future__ import annotations

from typing import Any

# kind: [(column, parameters), ..]; a kind of several ways gets an example of each
EXAMPLES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "blur": [("hours", {}), ("height", {"percent": 20}), ("born", {}), ("seen", {"days": 30})],
    "constant": [("note", {"value": "withheld"})],
    "drop": [("name", {})],
    "hmac": [("name", {}), ("card", {"length": 12, "domain": "cards"}), ("born", {}), ("pay", {})],
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
    "rank-swap": [("hours", {}), ("pay", {"window": 10}), ("born", {}), ("height", {"window": 1})],
    "recompute": [("pay", {"expression": "hours * 12.5"}), ("height", {"expression": "1.2 + `hours` / 100"})],
    "round": [("pay", {"base": 100}), ("height", {"base": 0.5})],
    "shift-dates": [("born", {}), ("seen", {"weeks": True, "days": 90}), ("born", {"per": "name", "domain": "names"})],
    "shuffle": [("name", {}), ("pay", {"within": "smokes"}), ("born", {"within": ["smokes", "note"]})],
    "star": [("name", {})],
    "swap": [
        ("name", {}),
        ("note", {"share": 0.3, "forbidden": [[{"note": "ana@x.org"}, {"smokes": True}]]}),
        ("pay", {"share": 1.0}),
    ],
}
