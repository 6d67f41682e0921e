"""shuffle: the cells of a column in random order."""

from __future__ import annotations

import json
from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.data.changed_columns import CellStep
from tablecloak.errors import IncompatibleChoice
from tablecloak.transforms._moves import group_codes, moved
from tablecloak.transforms.base import Family, Fitting, Transform, random_of, transform


@transform("shuffle", Family.PERTURB)
class Shuffle(Transform):
    """The cells of a column in random order, missing ones too: its values are exact, and whose they are is lost."""

    is_drawn = True

    within: Annotated[
        str | tuple[str, ...] | None, Field(description="columns: cells only move between rows that are equal in them")
    ] = None
    with_: Annotated[
        tuple[str, ...],
        Field(alias="with", description="other columns with the same shuffle: their cells move together"),
    ] = ()

    @property
    def inside(self) -> tuple[str, ...]:
        """Columns in which rows are equal that exchange cells."""
        return (self.within,) if isinstance(self.within, str) else self.within or ()

    def needs(self, person: str | None) -> tuple[str, ...]:  # noqa: ARG002
        return tuple(dict.fromkeys([*self.inside, *self.with_]))

    def fit(self, fitting: Fitting) -> CellStep:
        if fitting.column in self.inside:
            raise IncompatibleChoice(
                f"column '{fitting.column}' cannot be shuffled within itself", hint="within: another"
            )
        names = sorted({fitting.column, *self.with_})
        self._refuse_others(fitting, names)
        secret = fitting.secret
        if self.with_:
            secret = fitting.shared.child("shuffle together " + json.dumps([names, *self.inside]))
        frame = fitting.rows([fitting.column, *self.inside])
        groups = group_codes(frame.select(self.inside), frame.height)
        source_of = np.empty(frame.height, np.int64)
        in_order = np.argsort(groups, kind="stable")
        source_of[in_order] = np.lexsort((random_of(secret.child("order"), np.arange(frame.height)), groups))
        return moved(fitting, frame[fitting.column], source_of)

    def warnings(self, fitting: Fitting) -> list[str]:
        if not self.inside:
            few = 10
            return [] if fitting.n_rows >= few else [f"{fitting.n_rows} cells are too few to hide in"]
        sizes = np.bincount(group_codes(fitting.rows(list(self.inside)), fitting.n_rows))
        n_alone = int(np.count_nonzero(sizes == 1))
        return [f"{n_alone} rows stand alone in their group and keep their cells"] if n_alone else []

    def _refuse_others(self, fitting: Fitting, names: list[str]) -> None:
        """Raise IncompatibleChoice where a column that should move with this one does not."""
        for name in self.with_:
            chain = [each for each in fitting.changed.get(name, ()) if isinstance(each, Shuffle)]
            if not any({name, *each.with_} == set(names) and each.inside == self.inside for each in chain):
                others = ", ".join(n for n in names if n != name)
                raise IncompatibleChoice(
                    f"'{fitting.column}' is shuffled with '{name}', which does not have the same shuffle",
                    hint=f"columns.{name}.transform: shuffle with [{others}] and the same within",
                )
