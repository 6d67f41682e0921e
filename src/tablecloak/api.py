"""Short ways to say common things in Python; data is a frame of any library, or a place where a table is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tablecloak.data.table import Role
from tablecloak.errors import PolicyError
from tablecloak.io.places import place_of
from tablecloak.io.sources import is_place, open_source
from tablecloak.io.tabular import read_frame
from tablecloak.measure.compare import Compared, compare_files, compare_frames
from tablecloak.pipeline import verify_file, verify_frame
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import ColumnSpec
from tablecloak.profile.profile import Profile, inspect_file, inspect_frame
from tablecloak.profile.uniqueness import Risk, risk_of_frame
from tablecloak.release.recount import Verification


def roles(
    *,
    quasi: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    identifier: Iterable[str] = (),
    person: Iterable[str] = (),
    keep: Iterable[str] = (),
    drop: Iterable[str] = (),
) -> dict[str, ColumnSpec]:
    """Columns by role, ready for `Policy(columns=...)`.

    Raises: PolicyError if a column is given two roles.
    """
    names_by_role = {
        Role.QUASI: quasi,
        Role.SENSITIVE: sensitive,
        Role.IDENTIFIER: identifier,
        Role.PERSON: person,
        Role.KEEP: keep,
        Role.DROP: drop,
    }
    columns: dict[str, ColumnSpec] = {}
    for role, names in names_by_role.items():
        for name in names:
            if name in columns:
                raise PolicyError(f"column '{name}' has two roles", hint=f"keep one of {columns[name].role} and {role}")
            columns[name] = ColumnSpec(role=role)
    return columns


def risk(data: Any, columns: Mapping[str, ColumnSpec] | Policy) -> Risk:
    """The risk of a table as it stands, before or after anonymisation; a frame, a place or a stream of CSV."""
    specs = columns.columns if isinstance(columns, Policy) else columns
    quasi = [name for name, spec in specs.items() if spec.role is Role.QUASI]
    with open_source(data, expected=frozenset(quasi)) as source:
        return risk_of_frame(read_frame(source, columns=quasi), quasi)


def inspect(data: Any, *, population: int | None = None) -> Profile:
    """The profile of a table: types, distinct values, suggested roles, uniqueness, risk.

    Args:
        data: a polars, pandas or Arrow frame, a place, or a stream of CSV.
        population: number of people that the table is a sample of; None estimates nothing about them.
    """
    with open_source(data) as source:
        if source.is_frame:
            return inspect_frame(source.frame, population=population)
        return inspect_file(source.table or source.path, population=population)


def verify(release: Any, policy: Policy, *, original: Any = None, side: Any = None) -> Verification:
    """Recount a finished table, whoever made it; with the original, also check that every cell covers its own.

    Args:
        release: a polars, pandas or Arrow frame, or a place, such as the path of a file; so may the others be.
        side: the sensitive columns, where the release has them in a table of their own; beside a file it is found.
    """
    if side is None and is_place(release) and (original is None or is_place(original)):
        return verify_file(place_of(release), policy, original=None if original is None else place_of(original))
    return verify_frame(_rows(release), policy, original=_rows(original), side=_rows(side))


def compare(
    original: Any,
    release: Any,
    *,
    policy: Policy | None = None,
    quasi: Sequence[str] = (),
    target: str | None = None,
    learner: str = "forest",
    with_pairs: bool = False,
) -> Compared:
    """Compare two tables; quasi-identifiers come from the policy, the list, or else are suggested.

    Of a policy of sets, their items are compared.

    Args:
        original: a polars, pandas or Arrow frame, or a place; so may the release be.
        target: a column that models are trained to predict, on the release and on the original.
        learner: how they learn: forest, logistic, tree or bayes.
        with_pairs: also count records by every two columns.

    Raises: DataError if the tables share no quasi-identifier.
    """
    if is_place(original) and is_place(release):
        return compare_files(
            place_of(original), place_of(release), policy=policy, quasi=quasi, target=target, learner=learner,
            with_pairs=with_pairs,
        )  # fmt: skip
    return compare_frames(
        _rows(original), _rows(release), policy=policy, quasi=quasi, target=target, learner=learner,
        with_pairs=with_pairs,
    )  # fmt: skip


def is_valid_generalisation(original: Any, release: Any, policy: Policy) -> bool | None:
    """Whether every published cell covers its original; None if the rows cannot be told apart."""
    return verify(release, policy, original=original).covers


def _rows(data: Any) -> Any:
    """A frame as it is; what a place holds as a frame."""
    return read_frame(data) if is_place(data) else data
