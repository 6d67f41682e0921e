"""Small things that numpy does as well, but that take seconds to compile there."""

from __future__ import annotations

from tablecloak.kernels.compiled.jit import leaf_jit

__all__ = ["copy_into", "sort_up"]


@leaf_jit
def copy_into(target, source):  # type: ignore[no-untyped-def]
    """Copy the numbers of one array to the beginning of another."""
    for i in range(source.size):
        target[i] = source[i]


@leaf_jit
def sort_up(numbers):  # type: ignore[no-untyped-def]
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
