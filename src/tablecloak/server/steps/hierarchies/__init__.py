"""The screen hierarchies."""
