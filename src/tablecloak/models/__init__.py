"""Privacy models: each file holds one definition, as a level per class and the level required."""

from tablecloak.models.base import Goal, Monotone, PrivacyModel, Sense, Verdict, model

__all__ = ["Goal", "Monotone", "PrivacyModel", "Sense", "Verdict", "model"]
