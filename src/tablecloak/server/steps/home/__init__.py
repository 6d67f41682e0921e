"""The screen home."""
