"""What a report is about: a run, the facts counted on the way, and how the release came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tablecloak.release.facts.collect import Facts


@dataclass(frozen=True, slots=True)
class Method:
    """A model or algorithm of a run with the parameters it had."""

    name: str
    kind: type  # whose docstring says what it is
    parameters: Mapping[str, Any]
    sense: str = ""  # how levels compare with what is required

    @property
    def sentence(self) -> str:
        """The name with its parameters."""
        return f"{self.name}({', '.join(f'{k}={v}' for k, v in self.parameters.items())})"


@dataclass(frozen=True, slots=True)
class Subject:
    """Everything a report says, as plain values."""

    name: str  # of the release
    run: Mapping[str, Any]  # the keys of `tablecloak run --json`
    certificate: Mapping[str, Any]
    models: Sequence[Method]
    algorithm: Method
    facts: Facts | None  # None: of sets, whose counts are in the run
    kept: Sequence[str] = ()  # published as they are, judged by no model
    starred: Sequence[str] = ()
    changed: Mapping[str, str] = field(default_factory=dict)  # published as transforms make them, by column
    left_out: Sequence[str] = ()  # named in the policy and not published
    blocks: Sequence[Sequence[str]] = ()  # of releases in groups: columns whose cells still belong together
