"""Short ways to say common things in Python; data is a frame of any library, or a place where a table is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any, Self

import polars as pl

from tablecloak import pipeline
from tablecloak.attacks.risk_by_columns import Risk
from tablecloak.data import published_columns
from tablecloak.data.table import Role
from tablecloak.errors import IncompatibleChoice, PolicyError, did_you_mean
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.hierarchy.hierarchy_files import read_hierarchy
from tablecloak.io.places import place_of
from tablecloak.io.sources import is_place, open_source
from tablecloak.io.tabular import read_frame
from tablecloak.measure import exposure
from tablecloak.policy.load import load_policy
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import ColumnSpec
from tablecloak.profile.profile import Profile, inspect_frame, inspect_source
from tablecloak.release.apply import apply_frame
from tablecloak.release.outcome import sentence
from tablecloak.release.recount import Verification


def roles(
    *,
    quasi: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    identifier: Iterable[str] = (),
    person: Iterable[str] = (),
    weight: Iterable[str] = (),
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
        Role.WEIGHT: weight,
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


def risk(
    data: Any,
    columns: Mapping[str, ColumnSpec] | Policy,
    *,
    weight: str | None = None,
    header: bool | None = None,
    repair: bool = False,
) -> Risk:
    """The risk of a table as it stands, before or after anonymisation; a frame, a place or a stream of CSV.

    Args:
        columns: roles of columns; quasi-identifiers count.
        weight: the column that says how many people each record of a survey stands for: the result has the risk of
            being linked with the population that they add up to (`weighted`).
        header: whether the first row of a file has the names of columns; None: find out.
        repair: a header that is missing or spoilt gets names.
    """
    specs = columns.columns if isinstance(columns, Policy) else columns
    quasi = [name for name, spec in specs.items() if spec.role is Role.QUASI]
    with open_source(data, header=header, repair=repair) as source:
        return exposure.risk(source, quasi, weight=weight)


def inspect(data: Any, *, population: int | None = None, header: bool | None = None, repair: bool = False) -> Profile:
    """The profile of a table: types, distinct values, suggested roles, uniqueness, risk.

    Args:
        data: a polars, pandas or Arrow frame, a place, or a stream of CSV.
        population: number of people that the table is a sample of; None estimates nothing about them.
        header: whether the first row of a file has the names of columns; None: find out.
        repair: a header that is missing or spoilt gets names.
    """
    with open_source(data, header=header, repair=repair) as source:
        if source.is_frame:
            return inspect_frame(source.frame, population=population)
        return inspect_source(source, population=population)


def verify(release: Any, policy: Policy, *, original: Any = None, side: Any = None) -> Verification:
    """Recount a finished table, whoever made it; with the original, also check that every cell covers its own.

    Args:
        release: a polars, pandas or Arrow frame, or a place, such as the path of a file; so may the others be.
        side: the sensitive columns, where the release has them in a table of their own; beside a file it is found.
    """
    if side is None and is_place(release) and (original is None or is_place(original)):
        return pipeline.verify(place_of(release), policy, original=None if original is None else place_of(original))
    return pipeline.verify(_rows(release), policy, original=_rows(original), side=_rows(side))


class Anonymizer:
    """Learns from a table how to publish its rows, and publishes new rows in the same way.

    `fit` makes the release of a table; `fit_transform` gives its rows. `transform` puts new rows into the classes of
    that release, suppresses those that no class covers or whose class would not satisfy the goal among the new rows,
    and recounts what is left. So every table it gives satisfies the goal by itself. That is no promise about several
    of them together: whoever is in two can be found by what differs (`attack` has `composition` for that). Rows come in
    the order of their published content, not in that of the input, and suppressed ones are left out.

    Args:
        policy: a policy, or the path of one.
        suppression_limit: share of new rows that may be left out because their class is too small among them; None
            takes the limit of the policy.

    >>> import tablecloak as tc
    >>> columns = tc.roles(quasi=["sex", "zip"], sensitive=["diagnosis"])
    >>> january, february = tc.sample.patients(2000), tc.sample.patients(2000, seed=1)
    >>> anonymizer = tc.Anonymizer(tc.Policy(columns=columns, goals=[tc.KAnonymity(k=5)]), suppression_limit=0.5)
    >>> frame = anonymizer.fit(january).transform(february)
    >>> anonymizer.report_.verification.holds
    True
    """

    def __init__(self, policy: Policy | str | Path, *, suppression_limit: float | None = None) -> None:
        self.policy = policy
        self.suppression_limit = suppression_limit

    def fit(self, data: Any, y: object = None) -> Self:  # noqa: ARG002
        """Make the release of a table (`release_`) and keep how it was made (`recoding_`).

        Raises: Infeasible, DataError, IncompatibleChoice.
        """
        policy = self.policy if isinstance(self.policy, Policy) else load_policy(Path(self.policy))
        self.release_ = pipeline.anonymize(data, policy)
        self.recoding_ = self.release_.recoding
        self.report_ = self.release_.report
        return self

    def transform(self, data: Any) -> Any:
        """New rows as the release would publish them, as a frame of the library they came from; see `report_`.

        Raises: GoalNotMet if too many rows would have to be left out, DataError.
        """
        if not hasattr(self, "release_"):
            raise IncompatibleChoice("nothing was learned yet", hint="call fit(data) first")
        if self.recoding_ is None:
            raise IncompatibleChoice(
                "exact values in groups were published, and new rows can join no group",
                hint="fit_transform(data) publishes a table; for new rows take an algorithm that generalizes",
            )
        frame, self.report_ = apply_frame(self.recoding_, data, suppression_limit=self.suppression_limit)
        return frame

    def fit_transform(self, data: Any, y: object = None) -> Any:
        """The rows of the release itself."""
        return self.fit(data, y).release_.frame

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """The parameters, as scikit-learn asks for them."""
        return {"policy": self.policy, "suppression_limit": self.suppression_limit}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; they count from the next `fit` or `transform` on."""
        for name, value in parameters.items():
            if name not in self.get_params():
                raise PolicyError(f"Anonymizer has no parameter '{name}'", hint=did_you_mean(name, self.get_params()))
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        goals = ", ".join(sentence(m) for m in self.policy.goals) if isinstance(self.policy, Policy) else self.policy
        return f"Anonymizer({goals}{', fitted' if hasattr(self, 'release_') else ''})"

    def _repr_html_(self) -> str:
        return self.report_._repr_html_() if hasattr(self, "report_") else f"<code>{escape(repr(self))}</code>"


def is_valid_generalisation(original: Any, release: Any, policy: Policy) -> bool | None:
    """Whether every published cell covers its original; None if the rows cannot be told apart."""
    return verify(release, policy, original=original).covers


def read_release(release: Any, policy: Policy | None = None) -> pl.DataFrame:
    """A release with what its cells stand for, as a polars frame.

    A column x of numbers or dates is followed by `x_low`, `x_high` and `x_mid`, a column of sets by the list `x_set`;
    labels become categories in their order. They are missing where a cell says nothing (`*`).

    Args:
        release: a place, such as the path of a file, or a frame.
        policy: that of the release, whose hierarchies in files say what their labels stand for.
    """
    return published_columns.analysed(_released(release), _labels(policy))


def codebook(release: Any, policy: Policy | None = None) -> pl.DataFrame:
    """Every value that the columns of a release show: what it means, and how many records have it.

    Args:
        release, policy: as `read_release` takes them.
    """
    return published_columns.codebook(_released(release), _labels(policy))


def _released(release: Any) -> pl.DataFrame:
    with open_source(release) as source:
        return read_frame(source)


def _labels(policy: Policy | None) -> dict[str, Hierarchy]:
    """The hierarchies that a policy has in files."""
    chosen = {} if policy is None else {name: policy.hierarchy_of(name) for name in policy.columns}
    return {name: read_hierarchy(path) for name, path in chosen.items() if isinstance(path, Path)}


def _rows(data: Any) -> Any:
    """A frame as it is; what a place holds as a frame."""
    return read_frame(data) if is_place(data) else data
