"""Engines: where tables live and how they are counted and recoded."""

from tablecloak.engines.base import Coding, Engine, QuasiColumn, Recount, SensitiveColumn, Table

__all__ = ["Coding", "Engine", "QuasiColumn", "Recount", "SensitiveColumn", "Table"]
