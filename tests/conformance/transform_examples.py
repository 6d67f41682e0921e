"""Parameters with which every registered kind of transform is tried, and the column of `people` it is tried on."""

from __future__ import annotations

from typing import Any

# kind: [(column, parameters), ..]; a kind of several ways gets an example of each
EXAMPLES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "constant": [("note", {"value": "withheld"})],
    "drop": [("name", {})],
    "hmac": [("name", {}), ("card", {"length": 12, "domain": "cards"}), ("born", {}), ("pay", {})],
    "null": [("pay", {})],
    "round": [("pay", {"base": 100}), ("height", {"base": 0.5})],
    "star": [("name", {})],
}
