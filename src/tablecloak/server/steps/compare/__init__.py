"""The screen compare."""
