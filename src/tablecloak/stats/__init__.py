"""Mergeable counts over equivalence classes: all that a privacy model may look at."""

from tablecloak.stats.classes import ClassStats, Counted, Histogram, Needs, SensitiveDomain, count_classes

__all__ = ["ClassStats", "Counted", "Histogram", "Needs", "SensitiveDomain", "count_classes"]
