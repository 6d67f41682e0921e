"""Replay: run the program again on everything that people may have, and see when this very release comes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.attacks.base import AttackSuccess, attack
from tablecloak.attacks.case import Case, Program, Quasi, Rerun
from tablecloak.errors import DoesNotApplyError
from tablecloak.rng import Secret, child

MOST_PEOPLE = 12
MOST_WORLDS = 5_000
MOST_STEPS = 300_000  # of the search for worlds
DRAWS = 3_000  # runs with a secret of the attacker's own
ENOUGH = 500  # of them that gave the release; more are not needed
FEWEST = 30  # below this many, nothing can be said
BY_VALUES = "sensitive values decided who is in a class: what that tells of them is measured here; no goal bounds it"
ERRORS = 4.0  # standard errors that a chance must lie above what is promised


@attack("replay", on_request=True)
def replay(case: Case) -> AttackSuccess:
    """The chance of a person's own value for someone who runs the program again on whatever people may have.

    Policy, program, release and the tables beside it are known, and who is in the table with which quasi-identifiers
    in which order; the secret is not, nor anybody's sensitive value. Every way to give the published values to the
    people that the release allows is tried: what the program makes of it either is this release, or rules that way out.
    Where the secret decides who is with whom, 3,000 runs draw a way and a secret of their own, and the chances are
    those of the runs that gave the release. A victim's own value, or own row, is believed with more than the goal
    allows and the release itself says. Tried up to 12 people.
    What is promised: where sensitive values do not decide who is with whom, or only together with the secret, nobody's
    value is believed with more than its largest share in a class; where they do, the chance is measured, not bounded.
    By guessing: reads the release, and does not run the program.
    Stopped by: a secret that is kept, and classes formed without a look at sensitive values (m-confidentiality, or
    goals that speak of none).
    Reference: Wong, Fu, Wang, Pei, Minimality attack in privacy preserving data publishing, VLDB 2007; Cormode, Li, Li,
    Srivastava, Minimizing minimality and maximizing utility, VLDB 2010.
    """
    n = case.n_originals
    if n is not None and n > MOST_PEOPLE:
        raise DoesNotApplyError(f"too large: replay is tried up to {MOST_PEOPLE} people")
    if n is None or case.program is None:
        raise DoesNotApplyError("needs the original, and the policy that the release was made by")
    if n != case.n_rows:
        raise DoesNotApplyError("needs a release that leaves nobody out")
    shown = _Shown(case)
    worlds = shown.worlds()
    replayed = _drawn(case, shown, worlds) if case.program.is_drawn else _listed(case, shown, worlds)
    return _finding(case, shown, worlds, replayed, case.program)


@dataclass(frozen=True, slots=True, eq=False)
class _Replayed:
    """The runs that gave the release: the world of each, and the class that everybody was in."""

    worlds: IntArray  # (n_hits,)
    classes: IntArray  # (n_hits, n_people) published classes
    n_runs: int
    is_by_values: bool = False  # in some of them, sensitive values decided where groups part


class _Shown:
    """What a release shows of each class: labels or exact cells of quasi-identifiers, and its sensitive values."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.n_people = case.n_rows
        self.class_of_row = case.groups if case.is_grouped else case.classes
        self.n_classes = int(self.class_of_row.max()) + 1
        self.columns = [s for s in case.sensitive if s.originals is not None and s.name in case.group_stats.hist]
        values = np.stack([np.zeros(self.n_people, np.int64), *(_originals(s.originals) for s in self.columns)], axis=1)
        self.kinds, self.first, kind_of = np.unique(values, axis=0, return_index=True, return_inverse=True)
        self._contents: dict[tuple[tuple[str, ...], ...], list[object]] = {}
        self.truth: IntArray = kind_of.reshape(-1)  # (n_people,) what everybody has, as one of the kinds

    @cached_property
    def values(self) -> list[tuple[tuple[int, ...], ...]]:
        """The sensitive codes of every class, sorted, by column."""
        values = []
        for number in range(self.n_classes):
            columns = []
            for column in self.columns:
                hist = self.case.group_stats.hist[column.name]
                part = slice(int(hist.indptr[number]), int(hist.indptr[number + 1]))
                columns.append(tuple(np.repeat(hist.codes[part], hist.counts[part]).tolist()))
            values.append(tuple(tuple(sorted(codes)) for codes in columns))
        return values

    def content(self, blocks: tuple[tuple[str, ...], ...]) -> list[object]:
        """What identifies every published class to a reader."""
        if blocks not in self._contents:
            members = [np.flatnonzero(self.class_of_row == number) for number in range(self.n_classes)]
            cells = [self._cells(rows, blocks) for rows in members]
            self._contents[blocks] = list(zip(cells, self.values, strict=True))
        return self._contents[blocks]

    def _cells(self, rows: IntArray, blocks: tuple[tuple[str, ...], ...]) -> object:
        if not self.case.is_grouped:
            return tuple(_plain(column.texts[column.labels[rows[0]]]) for column in self.case.quasi)
        exact = {column.name: _exact(column)[rows] for column in self.case.quasi}
        return _sorted_blocks(exact, blocks)

    def content_of(self, rerun: Rerun, world: IntArray) -> tuple[list[object], list[IntArray]]:
        """The same of what the program would publish, and the people of every class."""
        contents: list[object] = []
        members: dict[object, list[int]] = {}
        labels = [rerun.labels[column.name] for column in self.case.quasi] if rerun.labels else []
        for person, number in enumerate(rerun.classes.tolist()):
            # classes with equal labels are one to a reader; groups are told apart by their numbers
            key = tuple(_plain(texts[number]) for texts in labels) if labels else number
            members.setdefault(key, []).append(person)
        people = [np.array(rows, np.int64) for rows in members.values()]
        for key, rows in zip(members, people, strict=True):
            codes = self.kinds[world[rows]]  # (n_members, 1 + n_columns)
            values = tuple(tuple(sorted(codes[:, 1 + i].tolist())) for i in range(len(self.columns)))
            cells = key
            if not labels:
                exact = {column.name: _codes(column)[rows] for column in self.case.quasi}
                cells = _sorted_blocks(exact, rerun.blocks)
            contents.append((cells, values))
        return contents, people

    def classes_in(self, rerun: Rerun | None, world: IntArray) -> IntArray | None:
        """The published class of everybody, where the program publishes this very release; else None."""
        if rerun is None or (rerun.classes < 0).any():
            return None
        shown = self.content(rerun.blocks)
        contents, people = self.content_of(rerun, world)
        if Counter(shown) != Counter(contents):
            return None
        places: dict[object, list[int]] = {}
        for number, content in enumerate(shown):
            places.setdefault(content, []).append(number)
        classes = np.empty(self.n_people, np.int64)
        for content, rows in zip(contents, people, strict=True):
            classes[rows] = places[content].pop()
        return classes

    def may_be_in(self) -> BoolArray:
        """Whether a class, as published, may hold a person, (n_people, n_classes)."""
        may = np.ones((self.n_people, self.n_classes), bool)
        if not self.case.is_grouped and not self.case.is_covering:
            return may  # cells that cover nothing exclude nobody
        for column in self.case.quasi:
            codes = _codes(column)
            for number in range(self.n_classes):
                labels = np.unique(column.labels[self.class_of_row == number])
                may[:, number] &= np.logical_or.reduce([_covered(column, int(label), codes) for label in labels])
        return may

    def worlds(self) -> IntArray:
        """Every way to give the published values to people that the release allows, (n_worlds, n_people) kinds."""
        may = self.may_be_in()
        left = [[Counter(codes) for codes in columns] for columns in self.values]
        kinds = Counter(self.truth.tolist())
        room = np.bincount(self.class_of_row, minlength=self.n_classes).tolist()
        worlds: set[tuple[int, ...]] = set()
        steps = 0

        def options(person: int) -> Iterator[tuple[int, int]]:
            for number in np.flatnonzero(may[person]).tolist():
                for kind in [k for k, n in kinds.items() if n]:
                    codes = self.kinds[kind, 1:].tolist()
                    if room[number] and all(c[code] for c, code in zip(left[number], codes, strict=True)):
                        yield number, kind

        def place(number: int, kind: int, by: int) -> None:
            room[number] += by
            kinds[kind] += by
            for counts, code in zip(left[number], self.kinds[kind, 1:].tolist(), strict=True):
                counts[code] += by

        def extend(chosen: list[int]) -> None:
            nonlocal steps
            steps += 1
            if steps > MOST_STEPS or len(worlds) > MOST_WORLDS:
                raise DoesNotApplyError("too many ways to give the published values to these people")
            if len(chosen) == self.n_people:
                worlds.add(tuple(chosen))
                return
            for number, kind in list(options(len(chosen))):
                place(number, kind, -1)
                extend([*chosen, kind])
                place(number, kind, 1)

        extend([])
        return np.array(sorted(worlds), np.int64).reshape(len(worlds), self.n_people)


def _originals(codes: IntArray | None) -> IntArray:
    assert codes is not None
    return codes


def _codes(column: Quasi) -> IntArray:
    assert column.codes is not None
    return column.codes


def _exact(column: Quasi) -> IntArray:
    """The code of every published row, where cells are exact."""
    assert column.coverage is not None
    codes: IntArray = column.coverage.lo[column.labels]
    return codes


def _covered(column: Quasi, label: int, codes: IntArray) -> BoolArray:
    assert column.coverage is not None
    return column.coverage.holds(label, codes)


def _sorted_blocks(codes: dict[str, IntArray], blocks: tuple[tuple[str, ...], ...]) -> object:
    """The cells of some rows, as far as they belong together."""
    return tuple(tuple(sorted(zip(*(codes[name].tolist() for name in block), strict=True))) for block in blocks)


def _plain(text: str | None) -> str | None:
    """A label, numbers in one spelling."""
    try:
        return None if text is None else f"{float(text):.12g}"
    except ValueError:
        return text


def _listed(case: Case, shown: _Shown, worlds: IntArray) -> _Replayed:
    """Every world in which the program, which draws nothing, gives the release."""
    assert case.program is not None
    secret = Secret.of(b"replay")  # any will do
    hits: list[int] = []
    classes: list[IntArray] = []
    for number, world in enumerate(worlds):
        rerun_classes = shown.classes_in(case.program.run(shown.first[world], secret), world)
        if rerun_classes is not None:
            hits.append(number)
            classes.append(rerun_classes)
    if not hits:
        raise DoesNotApplyError("another program, version or policy made the release: nothing gives it again")
    return _Replayed(np.array(hits), np.stack(classes), len(worlds))


def _drawn(case: Case, shown: _Shown, worlds: IntArray) -> _Replayed:
    """Runs with worlds and secrets drawn at random that gave the release."""
    assert case.program is not None
    rng = child(case.attacker.seed, "replay")
    hits: list[int] = []
    classes: list[IntArray] = []
    n_runs, is_by_values = 0, False
    while n_runs < DRAWS and len(hits) < ENOUGH:
        number = int(rng.integers(len(worlds)))
        secret = Secret.of(f"replay/{case.attacker.seed}/{n_runs}".encode())
        n_runs += 1
        rerun = case.program.run(shown.first[worlds[number]], secret)
        rerun_classes = shown.classes_in(rerun, worlds[number])
        if rerun is not None and rerun_classes is not None:
            is_by_values |= rerun.is_by_values
            hits.append(number)
            classes.append(rerun_classes)
    if len(hits) < FEWEST:
        raise DoesNotApplyError(f"cannot be told: {len(hits)} of {n_runs:,} runs with other secrets gave the release")
    return _Replayed(np.array(hits), np.stack(classes), n_runs, is_by_values)


def _finding(case: Case, shown: _Shown, worlds: IntArray, replayed: _Replayed, program: Program) -> AttackSuccess:
    before, after = (_chances(shown, chosen) for chosen in (worlds, worlds[replayed.worlds]))
    own = np.max([_own(shown, i, c) for i, c in enumerate(after)], axis=0) if after else np.zeros(shown.n_people)
    prior = np.max([_own(shown, i, c) for i, c in enumerate(before)], axis=0) if before else np.zeros(shown.n_people)
    read = max((max(Counter(codes).values()) / len(codes) for v in shown.values for codes in v), default=0.0)
    linked = _linked(shown, replayed)
    allowed = max(read, program.value or 0.0)
    n_hits = len(replayed.worlds)
    is_promised = program.is_promised and not replayed.is_by_values
    is_victim = own > _limit(allowed, n_hits, program)
    own_row = np.zeros(shown.n_people)
    if case.row_of is not None and not case.is_grouped:
        own_row[case.row_of] = linked[case.row_of, case.classes]
    if program.linkage is not None:
        is_victim |= own_row > _limit(program.linkage, n_hits, program)
    order = np.flatnonzero(is_victim)
    return AttackSuccess(
        highest=float(own.max(initial=0.0)),
        average=float(own.mean()),
        baseline=float(prior.mean()),
        n_targets=shown.n_people,
        n_victims=int(is_victim.sum()),
        worst=tuple((order[np.argsort(-own[order], kind="stable")][:10] + 1).tolist()),
        rows_of="original",
        details={
            "worlds": len(worlds),
            "runs": replayed.n_runs,
            "runs_that_gave_the_release": n_hits,
            "is_exact": not program.is_drawn,
            "is_promised": is_promised,
            "allowed_value": allowed if shown.columns else None,
            "allowed_linkage": program.linkage,
            "most_certain_value": max((float(c.max()) for c in after), default=0.0),
            "most_certain_row": None if case.is_grouped else float(linked.max(initial=0.0)),
        },
        notes=() if is_promised or not shown.columns else (BY_VALUES,),
    )


def _limit(allowed: float, n_hits: int, program: Program) -> float:
    """What a chance must pass to be called greater than is allowed; chances from drawn runs have an error."""
    error = ERRORS * float(np.sqrt(max(allowed * (1 - allowed), 0.0) / n_hits)) if program.is_drawn else 0.0
    return allowed + error + 1e-9


def _chances(shown: _Shown, worlds: IntArray) -> list[FloatArray]:
    """The share of worlds in which everybody has each value, (n_people, n_values) by column."""
    chances = []
    for i in range(len(shown.columns)):
        codes = shown.kinds[worlds, 1 + i]  # (n_worlds, n_people)
        chances.append(
            np.stack([(codes == code).mean(axis=0) for code in range(int(shown.kinds[:, 1 + i].max()) + 1)], 1)
        )
    return chances


def _own(shown: _Shown, column: int, chances: FloatArray) -> FloatArray:
    own: FloatArray = chances[np.arange(shown.n_people), shown.kinds[shown.truth, 1 + column]]
    return own


def _linked(shown: _Shown, replayed: _Replayed) -> FloatArray:
    """The chance that a person is one given row of a class, (n_people, n_classes)."""
    sizes = np.bincount(shown.class_of_row, minlength=shown.n_classes)
    shares: Sequence[FloatArray] = [(replayed.classes == c).mean(axis=0) / sizes[c] for c in range(shown.n_classes)]
    return np.stack(shares, axis=1)
