"""What a report is about: a run, the facts counted on the way, and how the release came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tablecloak.report.facts import Facts
from tablecloak.report.reference import Description

__all__ = ["Step", "Subject"]


@dataclass(frozen=True, slots=True)
class Step:
    """A model or algorithm of a run with the parameters it had."""

    about: Description
    parameters: Mapping[str, Any]
    sense: str = ""  # how levels compare with what is required

    @property
    def sentence(self) -> str:
        """The name with its parameters."""
        return f"{self.about.name}({', '.join(f'{k}={v}' for k, v in self.parameters.items())})"


@dataclass(frozen=True, slots=True)
class Subject:
    """Everything a report says, as plain values."""

    name: str  # of the release
    run: Mapping[str, Any]  # the keys of `tablecloak run --json`
    facts: Facts
    certificate: Mapping[str, Any]
    models: Sequence[Step]
    algorithm: Step
    kept: Sequence[str] = ()  # published as they are, judged by no model
    starred: Sequence[str] = ()
    left_out: Sequence[str] = ()  # named in the policy and not published
    blocks: Sequence[Sequence[str]] = ()  # of releases in groups: columns whose cells still belong together
