"""The screen export."""
