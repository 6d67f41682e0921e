"""How items were published, as a value: to be stored, read and applied to new sets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tablecloak.algorithms.items.cut_search import LEFT_OUT, Cut
from tablecloak.errors import DataError
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.io.atomic import home_of
from tablecloak.policy.load import dump_policy, parse_policy
from tablecloak.policy.schema import Policy

FORMAT = "tablecloak-item-recoding-1"


@dataclass(frozen=True, slots=True)
class ItemRecoding:
    """What every item is published as; None: it is left out of all sets."""

    items: Mapping[str, str | None]
    policy: Policy
    key: bytes | None = field(default=None, repr=False)  # of the certificate; its random bits hide what a hash confirms

    @classmethod
    def of(cls, cut: Cut, policy: Policy, *, key: bytes | None = None) -> ItemRecoding:
        """The recoding of a cut."""
        labels = cut.hierarchy.labels
        pairs = zip(cut.hierarchy.leaf_labels, cut.node_of.tolist(), strict=True)
        items = {str(leaf).strip(): None if n == LEFT_OUT else str(labels[n]).strip() for leaf, n in pairs}
        return cls(items, policy, key)

    def cut(self, hierarchy: Hierarchy) -> Cut:
        """The recoding as a cut through the hierarchy of its policy; items that it does not know are left out."""
        nodes = {str(label).strip(): node for node, label in enumerate(hierarchy.labels)}
        published = [self.items.get(str(leaf).strip()) for leaf in hierarchy.leaf_labels]
        node_of = [self._node(leaf, label, nodes, hierarchy) for leaf, label in enumerate(published)]
        return Cut(hierarchy, np.array(node_of, np.int64))

    @staticmethod
    def _node(leaf: int, label: str | None, nodes: Mapping[str, int], hierarchy: Hierarchy) -> int:
        node = LEFT_OUT if label is None else nodes.get(label, LEFT_OUT)
        is_above = node != LEFT_OUT and hierarchy.first[node] <= leaf <= hierarchy.last[node]
        return node if is_above else LEFT_OUT

    def explain(self) -> list[str]:
        """One line for each published item, the most general first."""
        below: dict[str, list[str]] = {}
        for item, published in self.items.items():
            below.setdefault(published or "(left out)", []).append(item)
        return [f"{name}: {len(items):,} items" for name, items in sorted(below.items(), key=lambda p: -len(p[1]))]

    def write(self, path: Path) -> None:
        """Store it as JSON, readable by its owner only: it names items of the original."""
        path.touch(mode=0o600)
        content = {
            "format": FORMAT,
            **({} if self.key is None else {"certificate_key": self.key.hex()}),
            "policy": dump_policy(self.policy.rebased(home_of(path))),
            "items": dict(self.items),
        }
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def is_item_recoding(path: Path) -> bool:
    """Whether a file is the recoding of items, judged by its first bytes."""
    try:
        with path.open("rb") as file:
            return FORMAT.encode() in file.read(200)
    except OSError:
        return False


def read_item_recoding(path: Path) -> ItemRecoding:
    """A recoding that was stored; DataError if the file is none."""
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        policy = parse_policy(content["policy"], name=str(path), base=path.parent)
        key = bytes.fromhex(content["certificate_key"]) if "certificate_key" in content else None
        return ItemRecoding(dict(content["items"]), policy, key)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as exc:
        raise DataError(
            "cannot be read as a recoding", hint="use the file that `run` wrote", location=str(path)
        ) from exc
