"""The screen goals."""
