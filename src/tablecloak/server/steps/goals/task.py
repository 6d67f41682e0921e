"""Whether the goals of a policy can be reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tablecloak import pipeline
from tablecloak.errors import CloakError
from tablecloak.progress import Progress
from tablecloak.server.tables import PolicyTable


@dataclass(frozen=True, slots=True)
class CheckAnswer:
    """Whether the goals can be reached; an error is part of the answer."""

    ok: bool
    document: Mapping[str, Any]  # as `tablecloak check --json` prints it, errors included

    @classmethod
    def failed(cls, error: Mapping[str, Any]) -> CheckAnswer:
        return cls(False, error)

    def to_dict(self) -> dict[str, Any]:
        return {"ok": self.ok, **self.document}


def check(request: PolicyTable, progress: Progress) -> CheckAnswer:
    """Whether the goals of a policy can be reached."""
    try:
        means = request.means
        feasibility = pipeline.check(
            request.read_policy(), engine=means.engine or "auto", memory=means.memory, progress=progress
        )
        return CheckAnswer(True, feasibility.to_dict())
    except CloakError as error:
        return CheckAnswer.failed(error.to_dict())
