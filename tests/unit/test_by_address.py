"""Named tuples that loops hand each other by address: what they hold is right, is freed, and is freed once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from tablecloak.kernels import dispatch, kept
from tablecloak.kernels.dispatch import inner_jit, jit, leaf_jit


class Inner(NamedTuple):
    numbers: np.ndarray
    scale: float


class Outer(NamedTuple):
    inner: Inner
    counts: np.ndarray


class Made(NamedTuple):
    evens: np.ndarray
    odds: np.ndarray


@leaf_jit
def _scaled(outer, i):
    return outer.inner.numbers[i] * outer.inner.scale + outer.counts[0]


@leaf_jit
def _count(outer):
    outer.counts[0] += 1


@inner_jit
def _make(n):
    made = Made(np.zeros(n, np.int64), np.zeros(n, np.int64))
    for i in range(n):
        made.evens[i], made.odds[i] = 2 * i, 2 * i + 1
    return made


@inner_jit
def _make_some(n):
    made = _make(n)
    return made, n % 3 > 0


@leaf_jit
def _sum(made):
    total = np.int64(0)
    for i in range(made.evens.size):
        total += made.evens[i] * made.odds[i]
    return total


@inner_jit
def _larger(one, other):
    if one.evens.size > other.evens.size:
        return one
    return other


@inner_jit
def _sum_of_some(n, is_other):
    total, most = np.int64(0), _make(1)
    for i in range(1, n):
        if is_other:
            part, is_done = _make_some(i)
        else:
            part, is_done = _make(n - i), i != 2
        if not is_done:
            continue
        most = _larger(most, part)
        total += _sum(part)
    return total * _sum(most)


@jit
def work(outer, n):
    total = 0.0
    for i in range(n):
        _count(outer)
        total += _scaled(outer, i)
    state = _make(n)
    return total, _sum(state), _sum_of_some(n, True), _sum_of_some(n, False), state.odds


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(kept.KernelLocator, "folder", tmp_path)
    monkeypatch.setattr(dispatch, "_machine_code", {})
    monkeypatch.setattr(dispatch, "_namespaces", {})
    return dispatch.machine_code(work)


def outer():
    return Outer(Inner(np.arange(9.0), 0.5), np.zeros(1, np.int64))


@pytest.fixture
def allocated():
    _nrt = pytest.importorskip("numba.core.runtime._nrt_python")
    _nrt.memsys_enable_stats()
    yield lambda: _nrt.memsys_get_stats_alloc() - _nrt.memsys_get_stats_free()
    _nrt.memsys_disable_stats()


@pytest.mark.slow
def test_compiled_loops_hold_what_plain_ones_hold(compiled):
    for n in (1, 2, 5, 9):
        ours, theirs = compiled(outer(), n), work(outer(), n)
        assert ours[:4] == theirs[:4]
        assert ours[4].tolist() == theirs[4].tolist()


@pytest.mark.slow
def test_nothing_stays_allocated(compiled, allocated):
    compiled(outer(), 9)
    before = allocated()
    for _ in range(100):
        compiled(outer(), 9)
    assert allocated() == before
