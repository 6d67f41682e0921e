"""What attackers achieve on a release, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tablecloak.risks.base import Exposure

__all__ = ["AttackReport"]


@dataclass(frozen=True, slots=True)
class AttackReport:
    """What attackers achieve on a release and, where there is an original, would achieve on the original itself."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    after: tuple[Exposure, ...]
    before: tuple[Exposure, ...] | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak attack --json`."""
        attacks = [e.to_dict() for e in self.after]
        for found, earlier in zip(attacks, self.before or (), strict=False):
            found["before"] = _shortened(earlier.to_dict())
        return {
            "quasi": list(self.quasi),
            "sensitive": list(self.sensitive),
            "attacks": attacks,
            "notes": list(self.notes),
        }


def _shortened(exposure: Mapping[str, Any]) -> dict[str, Any] | None:
    if not exposure["applies"]:
        return None
    return {key: exposure[key] for key in ("highest", "average", "victims", "targets")}
