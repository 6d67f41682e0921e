"""Finished releases that are no columns of records: the module that their shape names compares and attacks them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from tablecloak.attacks.case import Attacker
from tablecloak.errors import IncompatibleChoice
from tablecloak.policy.schema import Policy
from tablecloak.release.shapes.base import shape_of

if TYPE_CHECKING:
    from tablecloak.measure.attack.report import AttackReport
    from tablecloak.measure.compare import Compared


class Finished(Protocol):
    """A finished release beside its original, whoever made it; what `finished` of the named module returns."""

    def compare(self) -> Compared:
        """The release beside its original."""

    def attack(
        self, *, kinds: Iterable[str] | None = None, attacker: Attacker | None = None, with_before: bool = True
    ) -> AttackReport:
        """What attackers reach on it, and on the original itself."""


def finished_of(policy: Policy | None, release: Any, *, original: Any = None, **asked: Any) -> Finished | None:
    """A finished release as its shape reads it; None where it has columns of records, which nearly all have.

    Args:
        asked: what was said about columns of records; column names, files, frames.

    Raises: IncompatibleChoice where something was said about them, and there are none.
    """
    shape = None if policy is None else shape_of(policy)
    if policy is None or shape is None or shape.measured_by is None:
        return None
    for name, value in asked.items():
        if not (value is None or (isinstance(value, Sequence) and not value)):
            raise IncompatibleChoice(
                f"`{name}` speaks of columns of records, and this policy publishes {shape.name}", hint="leave it out"
            )
    original = None if original is None else shape.frame_of(original, policy)
    finished: Finished = import_module(shape.measured_by).finished(release, policy, original=original)
    return finished
