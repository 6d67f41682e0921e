"""Published columns that repeat like a key of persons or households."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from tablecloak.engines.equal_rows import Alike, count_alike
from tablecloak.findings.base import Change, Finding, Fix, Shown, finding

# A key has many values, and each of them several rows.
FEWEST_VALUES = 20
FEWEST_ROWS = 1.5
# More rows on average are no household.
HOUSEHOLD = 10
# Rows with one key agree on a column where they do so much more often than by chance.
AGREES = 0.8
# A column on which rows agree this often anyway says nothing.
NEARLY_CONSTANT = 0.9


@finding("repeated-key")
def repeated_key(shown: Shown) -> Iterator[Finding]:
    """A published column has many values with several rows each, and rows with one value agree on other columns.

    That is how numbers of persons, patients and households look. All rows of a person are then known to be one
    person's, so what they say together counts, and classes that were counted in rows hold fewer people than rows.

    Rows with one value agree on a column if, beyond chance, 80 % of those that could differ do not. A column is found
    if rows agree on every other one, or on two or more that are at least half of them; where values have few rows, as
    households have, a third of them is enough.
    """
    candidates = (*shown.linked, *shown.pseudonyms)
    if not candidates:
        return
    counted = dict(zip(candidates, shown.count([(name,) for name in candidates]), strict=True))
    for name in candidates:
        if _repeats(counted[name]) and _is_key(shown, name, counted[name]):
            yield _found(shown, name, counted[name])


def _repeats(alike: Alike) -> bool:
    return alike.n_groups >= FEWEST_VALUES and alike.n_records >= FEWEST_ROWS * alike.n_groups


def _is_key(shown: Shown, name: str, alike: Alike) -> bool:
    others = [c for c in (*shown.quasi, *shown.linked, *shown.protected) if c != name and c not in shown.apart]
    rows = shown.sample([name, *others], name).drop_nulls(name)
    agreement = [a for a in (_agreement(rows, name, other) for other in others) if a is not None]
    n_agreeing, n = sum(a >= AGREES for a in agreement), len(agreement)
    enough = n / 3 if alike.n_records <= HOUSEHOLD * alike.n_groups else n / 2
    return n_agreeing > 0 and (n_agreeing == n or (n_agreeing >= 2 and n_agreeing >= enough))


def _agreement(rows: pl.DataFrame, key: str, other: str) -> float | None:
    """How far rows with one key agree on another column: 0 as by chance, 1 always; None where chance decides."""
    mixed = rows[other].gather(np.random.default_rng(0).permutation(rows.height))
    pairs = [count_alike(frame, [(key, other)])[0].n_groups for frame in (rows, rows.with_columns(mixed))]
    n_keys = count_alike(rows, [(key,)])[0].n_groups
    if rows.height == n_keys:
        return None
    seen, by_chance = ((rows.height - n) / (rows.height - n_keys) for n in pairs)
    return None if by_chance > NEARLY_CONSTANT else (seen - by_chance) / (1 - by_chance)


def _found(shown: Shown, name: str, alike: Alike) -> Finding:
    has_person = any(spec.role == "person" for spec in shown.policy.columns.values())
    role = "drop" if has_person or not shown.quasi else "person"
    count = alike.n_counted - alike.n_alone
    meaning = "its rows are then counted as one person's, and it is not published" if role == "person" else "left out"
    return Finding(
        "repeated-key",
        f"'{name}' repeats like a key of persons or households: {alike.n_groups:,} values in {alike.n_records:,} "
        "records, and those with one value agree on other columns",
        Fix(f"role: {role} for {name} ({meaning})", (Change(f"columns.{name}.role", role),)),
        column=name,
        count=count,
        share=count / max(1, alike.n_counted),
    )
