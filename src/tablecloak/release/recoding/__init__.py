"""Recodings: the answer of a search as a value, stored so that new rows are published as the first ones were."""
