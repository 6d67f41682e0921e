"""Small things that numpy does as well, and does in plain kernels; to compile it there takes seconds."""

from __future__ import annotations

from tablecloak.arrays import IntArray
from tablecloak.kernels.dispatch import leaf_jit


def _copy_into_in_numpy(target: IntArray, source: IntArray) -> None:
    target[: len(source)] = source


def _sort_up_in_numpy(numbers: IntArray) -> None:
    numbers.sort()


@leaf_jit(plain=_copy_into_in_numpy)
def copy_into(target, source):
    """Copy the numbers of one array to the beginning of another."""
    for i in range(source.size):
        target[i] = source[i]


@leaf_jit(plain=_sort_up_in_numpy)
def sort_up(numbers):
    """Sort in place, ascending: Shell's method."""
    gap = 1
    while gap < numbers.size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for a in range(gap, numbers.size):
            x = numbers[a]
            b = a
            while b >= gap and numbers[b - gap] > x:
                numbers[b] = numbers[b - gap]
                b -= gap
            numbers[b] = x
        gap //= 3
