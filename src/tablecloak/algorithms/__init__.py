"""Algorithms: each searches a coded table for a recoding that satisfies any goal it accepts."""

from tablecloak.algorithms.base import Algorithm, Problem, Solution

__all__ = ["Algorithm", "Problem", "Solution"]
