"""How exposed records are on the quasi-identifiers."""

from __future__ import annotations

from dataclasses import dataclass

from tablecloak.attacks.risk_by_columns import Risk, risk_of_sizes
from tablecloak.attacks.row_classes import class_sizes
from tablecloak.data.table import Role
from tablecloak.profile.column import column_of
from tablecloak.profile.uniqueness import ColumnSet, singling_sets
from tablecloak.progress import Progress
from tablecloak.release.plan import source_of
from tablecloak.server.tables import PolicyTable, looked_at


@dataclass(frozen=True, slots=True)
class Uniqueness:
    """How exposed records are, together and in small sets of columns."""

    risk: Risk | None  # None where there is no quasi-identifier
    sets: tuple[ColumnSet, ...] = ()
    quasi: tuple[str, ...] = ()
    sampled: int | None = None  # records that were looked at, where not all were


def uniqueness(request: PolicyTable, _progress: Progress) -> Uniqueness:
    """How exposed records are on the quasi-identifiers of a policy."""
    policy = request.read_policy()
    frame, n_rows = looked_at(source_of(policy), request.means)
    quasi = tuple(name for name in policy.columns_with(Role.QUASI) if name in frame.columns)
    codes = {name: column_of(frame[name])[1] for name in quasi}
    if not codes:
        return Uniqueness(None)
    risk = risk_of_sizes(class_sizes(list(codes.values())))
    return Uniqueness(risk, tuple(singling_sets(codes)), quasi, frame.height if frame.height < n_rows else None)
