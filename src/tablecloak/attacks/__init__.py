"""Attacks: what an attacker can still learn from a release, and who stands out in a table.

One file per attack; each is a function from a `Case` to an `AttackSuccess` that registers under a name.
"""
