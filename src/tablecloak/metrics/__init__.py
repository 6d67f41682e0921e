"""Metrics: what a release lost, as registered functions over its counts."""

from tablecloak.metrics.base import Amount, Measurement, ReleaseCounts, every, measure, metric
from tablecloak.metrics.release_details import Details

__all__ = ["Amount", "Details", "Measurement", "ReleaseCounts", "every", "measure", "metric"]
