"""Combinations of sensitive values: one counted attribute that stands for several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import IntArray
from tablecloak.errors import IncompatibleChoice
from tablecloak.stats.classes import ClassStats, Counted, Histogram, SensitiveDomain, number_rows
from tablecloak.stats.persons import Held, HeldByRecords, held_by_persons, is_by_person, part_of_holdings

JOINT_NAME = "*"  # no column can be called so and be counted twice


def combine(
    counted: Sequence[tuple[SensitiveDomain, NDArray[np.integer]]],
    name: str = JOINT_NAME,
    kind: Counted = Counted.JOINT,
) -> tuple[SensitiveDomain, NDArray[np.uint32]]:
    """The domain of the combinations that occur, and the combination of every row."""
    columns = [codes.astype(np.int64) for _, codes in counted]
    group, n = number_rows(columns, len(columns[0]))
    first = np.zeros(n, np.int64)
    first[group] = np.arange(len(group))
    parts = {d.name: codes[first] for (d, _), codes in zip(counted, columns, strict=True)}
    return SensitiveDomain(name, (None,) * n, kind=kind, parts=parts), group.astype(np.uint32)


def joint_histogram(stats: ClassStats, names: Sequence[str]) -> Histogram:
    """Combinations of the named sensitive attributes in every class; `domain.parts` says what each consists of."""
    if len(names) == 1:
        hist = stats.hist[names[0]]
        parts = {names[0]: np.arange(hist.domain.n_values)}
        return hist.recoded(parts[names[0]], _domain(parts, hist.domain.n_values))
    joint = next(iter(stats.hist_of(Counted.JOINT).values()), None)
    if joint is None or joint.domain.parts is None:
        raise IncompatibleChoice("combinations of sensitive values were not counted here", hint="use `tablecloak run`")
    chosen = [joint.domain.parts[name] for name in names]
    codes, n = number_rows(chosen, joint.domain.n_values)
    first = np.zeros(n, np.int64)
    first[codes] = np.arange(len(codes))
    return joint.recoded(codes, _domain({name: part[first] for name, part in zip(names, chosen, strict=True)}, n))


def combinations_held(stats: ClassStats, names: Sequence[str], *, missing_counts: bool) -> Held:
    """Who holds which combination of the named sensitive attributes; those with a missing part only where it counts."""
    if is_by_person(stats):
        parts = [part_of_holdings(stats, name) for name in names]
        codes, n = number_rows([part + 1 for part in parts], len(parts[0]))  # -1: what the release does not show
        codes = np.where(np.min(parts, axis=0) >= 0, codes, -1)
        held: Held = held_by_persons(stats, codes, SensitiveDomain(JOINT_NAME, (None,) * n))
    else:
        joint = joint_histogram(stats, names)
        assert joint.domain.parts is not None
        parts, codes = [joint.domain.parts[name] for name in names], np.arange(joint.domain.n_values)
        held = HeldByRecords(joint)
    if missing_counts:
        return held
    is_missing = np.zeros(len(parts[0]), bool)
    for name, part in zip(names, parts, strict=True):
        is_missing |= np.array([label is None for label in stats.hist[name].domain.labels], dtype=bool)[part]
    present_codes = np.arange(held.domain.n_values)
    present_codes[codes[is_missing & (codes >= 0)]] = -1
    return held.recoded(present_codes, held.domain)


def _domain(parts: Mapping[str, IntArray], n_values: int) -> SensitiveDomain:
    return SensitiveDomain(JOINT_NAME, (None,) * n_values, kind=Counted.JOINT, parts=parts)
