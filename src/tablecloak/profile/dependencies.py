"""Structure of a table: keys, columns that decide others, what columns tell about sensitive ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tablecloak.attacks.risk_by_columns import Dependency, dependencies, keys, subset_risks
from tablecloak.attacks.row_classes import class_sizes
from tablecloak.profile.column import Codes

# Sets are counted on this many rows; what is found in a sample is then checked on all of them.
MOST_ROWS = 100_000
MOST_COLUMNS = 10
MOST_SHOWN = 12
# A column tells of another from this share of its entropy on.
TELLS = 0.2
# A column with more values than this share of the rows tells anything by chance.
FEW_VALUES = 0.05
# Columns that single out more records than this decide everything by chance.
NEARLY_KEY = 0.5


@dataclass(frozen=True, slots=True)
class Structure:
    """Minimal keys of up to three columns, and minimal dependencies of one column on up to two others."""

    keys: tuple[tuple[str, ...], ...]
    dependencies: tuple[Dependency, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"keys": [list(key) for key in self.keys], "dependencies": [d.to_dict() for d in self.dependencies]}


@dataclass(frozen=True, slots=True)
class InformationGain:
    """How much knowing one column says about a sensitive one: the share of its entropy that goes away."""

    column: str
    sensitive: str
    share: float

    @property
    def sentence(self) -> str:
        """The evidence in words."""
        if self.share > 0.999:
            return f"decides {self.sensitive}"
        return f"tells {self.share:.0%} about {self.sensitive}"

    def to_dict(self) -> dict[str, Any]:
        return {"column": self.column, "sensitive": self.sensitive, "share": self.share}


def find_structure(columns: Mapping[str, Codes]) -> Structure:
    """Keys and dependencies among columns that have at least two values.

    Args:
        columns: a code for the value of every row, by column.
    """
    varied = {name: codes for name, codes in columns.items() if len(codes) and int(codes.max()) != int(codes.min())}
    if not varied:
        return Structure((), ())
    n_rows = len(next(iter(varied.values())))
    step = -(-n_rows // MOST_ROWS)
    risks = subset_risks({name: codes[::step] for name, codes in varied.items()}, most_columns=MOST_COLUMNS)
    is_whole = step == 1
    unique = [key for key in keys(risks) if is_whole or _is_key(varied, key)]
    n_classes = {frozenset(r.columns): r.n_classes for r in risks}
    most = NEARLY_KEY * risks[0].n_records
    telling = [d for d in dependencies(risks) if d.columns and n_classes[frozenset(d.columns)] <= most]
    decided = [d for d in telling[: 4 * MOST_SHOWN] if is_whole or _holds(varied, d)]
    return Structure(tuple(unique[:MOST_SHOWN]), tuple(decided[:MOST_SHOWN]))


def _is_key(columns: Mapping[str, Codes], key: Sequence[str]) -> bool:
    sizes = class_sizes([columns[name] for name in key])
    return bool(sizes.max(initial=0) <= 1)


def _holds(columns: Mapping[str, Codes], dependency: Dependency) -> bool:
    chosen = [columns[name] for name in dependency.columns]
    return len(class_sizes(chosen)) == len(class_sizes([*chosen, columns[dependency.decides]])) if chosen else False


def telling_of(columns: Mapping[str, Codes], sensitive: Sequence[str]) -> list[InformationGain]:
    """Columns that tell much about a sensitive one, the most telling first.

    Theil's uncertainty coefficient, (H(sensitive) - H(sensitive | column)) / H(sensitive), less what columns of that
    many values would show by chance.
    """
    gains = []
    for name in sensitive:
        for other, codes in columns.items():
            share = 0.0 if other == name else _told(codes, columns[name])
            if share >= TELLS:
                gains.append(InformationGain(other, name, share))
    return sorted(gains, key=lambda t: -t.share)


def _told(column: Codes, secret: Codes) -> float:
    step = -(-len(column) // MOST_ROWS)
    x, y = column[::step].astype(np.int64), secret[::step].astype(np.int64)
    n, n_x, n_y = len(x), int(x.max(initial=0)) + 1, int(y.max(initial=0)) + 1
    if min(n_x, n_y) < 2 or n_x > FEW_VALUES * n or n_x * n_y > 1 << 24:
        return 0.0
    joint = np.bincount(x * n_y + y, minlength=n_x * n_y).reshape(n_x, n_y) / n
    whole = _entropy(joint.sum(axis=0))
    rest = _entropy(joint.ravel()) - _entropy(joint.sum(axis=1))
    # the expected gain of an unrelated column (Miller, Madow)
    chance = (n_x - 1) * (n_y - 1) / (2 * n)
    return max(0.0, (whole - rest - chance) / whole) if whole > 0 else 0.0


def _entropy(shares: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    positive = shares[shares > 0]
    return float(-(positive * np.log(positive)).sum())
