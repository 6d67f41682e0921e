"""Mergeable counts over equivalence classes: all that a privacy model may look at."""

from tablecloak.stats.classes import ClassStats, Counted, Evidence, Histogram, SensitiveDomain, count_classes

__all__ = ["ClassStats", "Counted", "Evidence", "Histogram", "SensitiveDomain", "count_classes"]
