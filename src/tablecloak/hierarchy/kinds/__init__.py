"""Kinds of hierarchies that a policy can ask for: one file each, called after its kind."""
