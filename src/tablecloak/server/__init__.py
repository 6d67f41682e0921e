"""The web app: one process on this machine with everything inside; only this package knows HTTP."""
