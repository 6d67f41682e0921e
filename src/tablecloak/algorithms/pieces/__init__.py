"""Global recoding by pieces: each column is divided on its own, classes are the cross product of the pieces."""

from tablecloak.algorithms.pieces import single_dimensional, tds

__all__ = ["single_dimensional", "tds"]
