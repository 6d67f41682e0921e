"""Blocks as lines of a terminal, as pages and as pictures."""
