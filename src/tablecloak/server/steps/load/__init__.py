"""The screen load."""
