"""Risks: what an attacker can still learn from a release, and who stands out in a table.

One file per attack; each is a function from a `Case` to an `Exposure` that registers under a name.
"""
