"""Shopping baskets of customers who do not exist: sets of products, their hierarchy and a policy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tablecloak.rng import child
from tablecloak.sample.draw import choose, zipf

# Departments, their groups and the products of each, frequent ones first.
SHOP: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "fresh food": {
        "fruit": ("apples", "bananas", "grapes", "pears", "mangos"),
        "vegetables": ("tomatoes", "carrots", "onions", "spinach", "artichokes"),
        "dairy": ("milk", "butter", "yogurt", "cheese", "goat cheese"),
    },
    "store cupboard": {
        "bread": ("white bread", "rolls", "rye bread", "crispbread"),
        "grains": ("pasta", "rice", "oats", "couscous"),
        "sweets": ("chocolate", "biscuits", "honey", "marzipan"),
    },
    "drinks": {
        "soft drinks": ("water", "juice", "cola", "tonic"),
        "alcohol": ("beer", "red wine", "white wine", "gin"),
        "hot drinks": ("coffee", "tea", "cocoa"),
    },
    "health and home": {
        "medicine": ("painkillers", "cough syrup", "allergy pills", "blood sugar test", "pregnancy test"),
        "hygiene": ("soap", "toothpaste", "diapers", "razors"),
        "household": ("detergent", "light bulbs", "candles"),
    },
}
_PATHS = tuple(
    (product, group, department, "*")
    for department, groups in SHOP.items()
    for group, products in groups.items()
    for product in products
)
POLICY = """\
version: 1
input: {path: baskets.txt, format: sets, delimiter: ";"}
columns:
  # Every line is a set of products. They are quasi-identifiers and sensitive at once: there is one goal for both.
  items: {role: items, hierarchy: hierarchies/products.csv}
goals:
  # Whoever knows two things that somebody bought finds at least five customers who bought both.
  - {model: km-anonymity, k: 5, m: 2}
# Up to one percent of the products in all baskets may be left out, where that spares others.
algorithm: {kind: apriori, suppression_limit: 0.01}
output:
  path: out/baskets-release.txt
  report: out/report.html
  certificate: out/certificate.json
  recoding: out/recoding.json
"""


def baskets(n: int = 2000, *, seed: int = 0) -> list[list[str]]:
    """Made-up baskets of products, each product at most once; one in fifty is empty.

    A customer has one or two favourite groups, so that products of a group are bought together.
    """
    rng = child(seed, "baskets")
    groups = [products for of_department in SHOP.values() for products in of_department.values()]
    favorite = choose(rng.random(n), zipf(len(groups), 0.6))
    sizes = np.minimum(rng.geometric(0.22, n), 14)
    sizes[rng.random(n) < 0.02] = 0
    return [_basket(groups, int(f), int(size), rng) for f, size in zip(favorite, sizes, strict=True)]


def _basket(groups: list[tuple[str, ...]], favorite: int, size: int, rng: np.random.Generator) -> list[str]:
    items: dict[str, None] = {}
    for _ in range(size):
        group = groups[favorite if rng.random() < 0.35 else int(rng.integers(len(groups)))]
        items[group[int(choose(rng.random(1), zipf(len(group), 1.2))[0])]] = None
    return list(items)


def baskets_policy() -> str:
    """The policy for the baskets, as YAML."""
    return POLICY


def write_baskets(directory: Path) -> Path:
    """Write baskets.txt, the hierarchy of products and a policy into a directory; returns the path of the policy."""
    folder = Path(directory) / "hierarchies"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "products.csv").write_text("".join(f"{';'.join(path)}\n" for path in _PATHS), encoding="utf-8")
    lines = "".join(f"{';'.join(basket)}\n" for basket in baskets())
    (Path(directory) / "baskets.txt").write_text(lines, encoding="utf-8")
    policy = Path(directory) / "policy.yaml"
    policy.write_bytes(baskets_policy().encode())
    return policy
