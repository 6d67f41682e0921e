"""The screen run."""
