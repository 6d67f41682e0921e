"""What clusters of records cost."""

from __future__ import annotations


def total_loss(points, clusters):
    """Sum over clusters of size times cost of the box that holds their records."""
    total = 0
    for rows in clusters:
        lo, hi = points.codes[:, rows].min(axis=1), points.codes[:, rows].max(axis=1)
        total += len(rows) * int(points.unions(lo[:, None], hi[:, None], lo, hi)[0])
    return total / points.unit
