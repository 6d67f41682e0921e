"""Metrics: what a release lost, as registered functions over its counts."""

from tablecloak.metrics.base import Amount, Measurement, ReleaseCounts, measure, metric

__all__ = ["Amount", "Measurement", "ReleaseCounts", "measure", "metric"]
