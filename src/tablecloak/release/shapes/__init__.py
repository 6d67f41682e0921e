"""Shapes: what is published, as classes of generalised rows, groups of exact values or sets of items."""
