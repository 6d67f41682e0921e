"""The screen ready."""
