"""Policies: schema, files and overrides."""
