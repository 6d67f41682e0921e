"""Findings: what besides the goals singles people out in a published table. One file per kind, registered by name."""
