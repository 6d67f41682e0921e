"""What attackers achieve on a release, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tablecloak.attacks.base import AttackResult
from tablecloak.engines.choose import Choice
from tablecloak.looks import ShowsItself


@dataclass(frozen=True, slots=True, repr=False)
class AttackReport(ShowsItself):
    """What attackers achieve on a release and, where there is an original, would achieve on the original itself."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    after: tuple[AttackResult, ...]
    before: tuple[AttackResult, ...] | None
    notes: tuple[str, ...] = ()
    items: int | None = None  # of a release of sets: how many items of somebody are known
    choice: Choice | None = None  # the engine that did the work; None: tables were in memory already

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak attack --json`."""
        attacks = [e.to_dict() for e in self.after]
        for attack, earlier in zip(attacks, self.before or (), strict=False):
            attack["before"] = _shortened(earlier.to_dict())
        return {
            "quasi": list(self.quasi),
            "sensitive": list(self.sensitive),
            **({} if self.items is None else {"known_items": self.items}),
            "attacks": attacks,
            "notes": list(self.notes),
            **(self.choice.to_dict() if self.choice else {}),
        }


def _shortened(exposure: Mapping[str, Any]) -> dict[str, Any] | None:
    if not exposure["applies"]:
        return None
    return {key: exposure[key] for key in ("highest", "average", "victims", "targets")}
