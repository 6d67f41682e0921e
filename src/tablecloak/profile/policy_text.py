"""Parts of a policy as YAML writes them on one line."""

from __future__ import annotations

import json
import re
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*").fullmatch
_YAML_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"})


def flow(value: Any) -> str:
    """A value in the flow style of YAML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(str(key))}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    return scalar(value) if isinstance(value, str) else json.dumps(value)


def scalar(text: str) -> str:
    """A text as YAML reads it back; quoted unless it is a plain word."""
    return text if _PLAIN(text) and text.lower() not in _YAML_WORDS else json.dumps(text)
