"""Generalising items of sets: cuts through a hierarchy of items, and how they are searched."""
