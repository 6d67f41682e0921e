"""Parameters with which every registered kind of transform is tried, and the column of `people` it is tried on."""

from __future__ import annotations

from typing import Any

# kind: [(column, parameters), ..]; a kind of several ways gets an example of each
EXAMPLES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "aes-siv": [("name", {}), ("pay", {"domain": "money"}), ("born", {}), ("height", {})],
    "constant": [("note", {"value": "withheld"})],
    "counter": [("name", {}), ("who", {"width": 6, "prefix": "P-"}), ("name", {"with": ["born", "pay"]})],
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
    "null": [("pay", {})],
    "random": [("name", {}), ("pay", {"length": 32}), ("card", {"with": ["smokes"]})],
    "round": [("pay", {"base": 100}), ("height", {"base": 0.5})],
    "star": [("name", {})],
}
