"""The screen roles."""
