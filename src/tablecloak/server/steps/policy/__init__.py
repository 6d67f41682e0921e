"""The screen policy."""
