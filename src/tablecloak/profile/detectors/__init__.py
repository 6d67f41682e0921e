"""Detectors, one idea per file; the registry imports them all."""
