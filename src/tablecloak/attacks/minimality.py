"""Minimality: knowing how the algorithm decides says why a class was not made smaller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, factorial, prod, sqrt

import numpy as np

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.attacks._sensitive_values import histograms, worst_column
from tablecloak.attacks.base import AttackSuccess, Z, attack, worst_rows
from tablecloak.attacks.case import Case, Quasi
from tablecloak.data.domain import DomainKind
from tablecloak.errors import DoesNotApplyError
from tablecloak.rng import child
from tablecloak.stats.classes import Histogram

# Worlds of a class are counted in at most so many steps, and drawn beyond.
STEPS_UP_TO = 30_000
DRAWN, ROUNDS = 4_000, 8
# Fewer drawn worlds than these, as weighted ones count, say nothing: a share of them is off by 0.05 and more.
EFFECTIVE_FROM = 400.0
MOST_CLASSES = 400
LARGEST_CLASS = 200


@dataclass(frozen=True, slots=True, eq=False)
class Credibility:
    """What an attacker who knows the algorithm believes about the people of one class."""

    chances: FloatArray | None  # (n_people, n_values); None: no world is possible, or it cannot be told
    n_worlds: int
    n_consistent: int | None  # worlds in which the algorithm would have published this class; None: not counted
    errors: FloatArray | None = None  # (n_people, n_values) standard errors of chances; None: they are exact


def credibility(
    values: IntArray,
    cuts: Sequence[IntArray],
    *,
    m: int,
    k: int = 1,
    protected: BoolArray | None = None,
    rng: np.random.Generator | None = None,
) -> Credibility | None:
    """The chance of every value for every person, over the worlds in which none of the cuts was allowed.

    Worlds are counted, not listed: people whom no cut tells apart are one cell, and all that matters is how many of a
    cell have each value. Where even these numbers are too many, worlds are drawn.

    Args:
        values: the sensitive codes of the people of a class, 0 ... n_values - 1, in any order.
        cuts: ways to divide the class, each as the part of every person. A cut is allowed if all its parts have at
            least k people and no protected value makes up more than 1/m of a part.
        protected: which values are; all unless given.

    Returns: None where no cut says anything, because every one has a part that is too small whatever its values.
    """
    telling = [cut for cut in cuts if len(np.unique(cut)) > 1 and np.bincount(cut)[np.unique(cut)].min() >= k]
    if not telling:
        return None
    counts = np.bincount(values)
    limited = np.ones(len(counts), bool) if protected is None else protected
    world = _ClassWorlds(counts, limited, m)
    n_worlds = factorial(len(values)) // prod(factorial(int(c)) for c in counts)
    open_cuts = [cut for cut in telling if not world.is_always_refused(cut)]
    if not open_cuts:
        return Credibility(np.tile(counts / len(values), (len(values), 1)), n_worlds, n_worlds)
    counted = _counted(world, open_cuts)
    if counted is not None:
        return Credibility(counted[1], n_worlds, counted[0])
    drawn = _drawn(world, open_cuts, rng or np.random.default_rng(0))
    return Credibility(None, n_worlds, None) if drawn is None else Credibility(drawn[0], n_worlds, None, drawn[1])


@dataclass(frozen=True, slots=True, eq=False)
class _ClassWorlds:
    """What all worlds of a class share: how often each value occurs, and when a part has too much of one."""

    counts: IntArray  # (n_values,)
    is_limited: BoolArray  # (n_values,)
    m: int

    def most(self, size: int) -> int:
        """How often a limited value may occur in a part."""
        return size // self.m

    def is_always_refused(self, cut: IntArray) -> bool:
        """Whether the values that a part may have are fewer than its people, however they are dealt."""
        for size in np.bincount(cut)[np.unique(cut)].tolist():
            room = np.where(self.is_limited, np.minimum(self.counts, self.most(size)), self.counts)
            if int(room.sum()) < size:
                return True
        return False

    def can_refuse(self, value: int, cuts: Sequence[IntArray]) -> bool:
        """Whether the value can make up too much of some part."""
        least = min(int(np.bincount(cut)[np.unique(cut)].min()) for cut in cuts)
        return bool(self.is_limited[value]) and int(self.counts[value]) > self.most(least)


# Exactly: value by value, over how many people of each cell have it --------------------------------------------------

# How many people of each cell are still without a value, and which cuts nothing has refused yet (as bits).
_State = tuple[tuple[int, ...], int]


@dataclass(frozen=True, slots=True)
class _Choice:
    """One way to give a value to people."""

    taken: tuple[int, ...]  # by cell
    left: tuple[int, ...]  # by cell
    ways: int  # choices of people
    refused: int  # cuts that this refuses, as bits


class _TooManyError(Exception):
    pass


class _Counter:
    """Sums over all worlds of a class, one value after the other."""

    def __init__(self, world: _ClassWorlds, cuts: Sequence[IntArray]) -> None:
        together, self.cell_of_person = np.unique(np.stack(cuts), axis=1, return_inverse=True)
        self.cell_of_person = self.cell_of_person.reshape(-1)
        self.sizes = np.bincount(self.cell_of_person)
        self.world = world
        self.parts = [  # by cut: people of a part, and the cells it is made of
            [(int(self.sizes[cells].sum()), np.flatnonzero(cells).tolist()) for part in np.unique(row).tolist()
             if (cells := row == part) is not None]
            for row in together
        ]  # fmt: skip
        self.n_steps = 0
        self.choices_of: dict[tuple[tuple[int, ...], int], list[_Choice]] = {}

    def choices(self, free: tuple[int, ...], value: int) -> list[_Choice]:
        """All ways to give a value to as many people as have it."""
        if (free, value) not in self.choices_of:
            choices: list[_Choice] = []
            for taken in self._dealt(free, int(self.world.counts[value])):
                left = tuple(f - t for f, t in zip(free, taken, strict=True))
                ways = prod(comb(f, t) for f, t in zip(free, taken, strict=True))
                choices.append(_Choice(taken, left, ways, self._refused(taken, value)))
            self.choices_of[free, value] = choices
        self._count(len(self.choices_of[free, value]))
        return self.choices_of[free, value]

    def _dealt(self, free: tuple[int, ...], n: int) -> Iterator[tuple[int, ...]]:
        self._count(1)
        if not free:
            if n == 0:
                yield ()
            return
        rest = sum(free[1:])
        for taken in range(max(0, n - rest), min(n, free[0]) + 1):
            for others in self._dealt(free[1:], n - taken):
                yield (taken, *others)

    def _count(self, n: int) -> None:
        self.n_steps += n
        if self.n_steps > STEPS_UP_TO:
            raise _TooManyError

    def _refused(self, taken: tuple[int, ...], value: int) -> int:
        if not self.world.is_limited[value]:
            return 0
        bits = 0
        for number, parts in enumerate(self.parts):
            if any(sum(taken[cell] for cell in cells) > self.world.most(size) for size, cells in parts):
                bits |= 1 << number
        return bits


def _counted(world: _ClassWorlds, cuts: Sequence[IntArray]) -> tuple[int, FloatArray | None] | None:
    """Consistent worlds and the chance of every value for every person, (n_people, n_values); None: too many steps.

    Values that can refuse nothing are dealt last and together: given who is left, all ways to deal them are alike.
    """
    values = sorted(np.flatnonzero(world.counts).tolist(), key=lambda v: -int(world.counts[v]))
    mattering = [v for v in values if world.can_refuse(v, cuts)]
    rest = [v for v in values if v not in mattering]
    counter = _Counter(world, cuts)
    begin: _State = (tuple(counter.sizes.tolist()), (1 << len(cuts)) - 1)
    try:
        forward: list[dict[_State, int]] = [{begin: 1}]
        for value in mattering:
            forward.append(_step(counter, forward[-1], value))
        backward = {state: int(state[1] == 0) for state in forward[-1]}
        n_dealt = sum(ways * backward[state] for state, ways in forward[-1].items())
        mass = [[0] * len(world.counts) for _ in counter.sizes]  # people of a cell with a value, over all worlds
        for (left, open_), ways in forward[-1].items():
            for cell, n in enumerate(left):
                for value in rest if open_ == 0 else ():
                    mass[cell][value] += ways * n * int(world.counts[value])
        n_rest = max(1, sum(int(world.counts[v]) for v in rest))
        shares = [[Fraction(x, n_rest) for x in row] for row in mass]
        for number in range(len(mattering) - 1, -1, -1):
            backward = _step_back(counter, forward[number], mattering[number], backward, shares)
    except _TooManyError:
        return None
    if n_dealt == 0:
        return 0, None
    people = counter.cell_of_person.tolist()
    of_cell = [[float(x / (n_dealt * int(n))) for x in row] for row, n in zip(shares, counter.sizes, strict=True)]
    ways_of_rest = factorial(sum(int(world.counts[v]) for v in rest)) // prod(
        factorial(int(world.counts[v])) for v in rest
    )
    return n_dealt * ways_of_rest, np.array([of_cell[cell] for cell in people])


def _step(counter: _Counter, states: Mapping[_State, int], value: int) -> dict[_State, int]:
    reached: dict[_State, int] = {}
    for (free, open_), ways in states.items():
        for choice in counter.choices(free, value):
            after = (choice.left, open_ & ~choice.refused)
            reached[after] = reached.get(after, 0) + ways * choice.ways
    return reached


def _step_back(
    counter: _Counter, states: Mapping[_State, int], value: int, after: Mapping[_State, int],
    mass: list[list[Fraction]],
) -> dict[_State, int]:  # fmt: skip
    """Ways to go on from every state; adds to `mass` the people of each cell who have the value."""
    before: dict[_State, int] = {}
    for (free, open_), ways in states.items():
        total = 0
        for choice in counter.choices(free, value):
            onward = choice.ways * after[choice.left, open_ & ~choice.refused]
            total += onward
            for cell, n in enumerate(choice.taken):
                if n and onward:
                    mass[cell][value] += ways * onward * n
        before[free, open_] = total
    return before


# By lot: worlds in which the cut that is hardest to refuse is refused, weighted back to all worlds -------------------


def _drawn(
    world: _ClassWorlds, cuts: Sequence[IntArray], rng: np.random.Generator
) -> tuple[FloatArray, FloatArray] | None:
    """Estimated chances and their standard errors, both (n_people, n_values); None where too few worlds fit.

    Every consistent world has, in the cut that is hardest to refuse, a part with too much of a value. Such an event is
    drawn as often as it happens, then a world in which it does; a world with several such events is that many times as
    likely to be drawn, and counts that much less.
    """
    hardest, events = min(((cut, _events(world, cut)) for cut in cuts), key=lambda hard: sum(e[3] for e in hard[1]))
    total = sum(event[3] for event in events)
    if total <= 0:
        return None
    fitting, weights = np.zeros((0, len(hardest)), np.int64), np.zeros(0)
    for _ in range(ROUNDS):
        times = rng.multinomial(DRAWN, [event[3] / total for event in events])
        worlds = np.concatenate([_worlds_with(world, e, int(n), rng) for e, n in zip(events, times, strict=True)])
        fits = np.all([_n_events(world, worlds, cut) > 0 for cut in cuts], axis=0)
        fitting = np.concatenate([fitting, worlds[fits]])
        weights = np.concatenate([weights, 1.0 / _n_events(world, worlds[fits], hardest)])
        if _effective(weights) >= EFFECTIVE_FROM:
            return _estimated(fitting, weights / weights.sum(), len(world.counts))
    return None


def _effective(weights: FloatArray) -> float:
    """How many equally likely worlds say as much as these."""
    return float(weights.sum()) ** 2 / float(np.square(weights).sum()) if len(weights) else 0.0


def _estimated(worlds: IntArray, shares: FloatArray, n_values: int) -> tuple[FloatArray, FloatArray]:
    chances, errors = np.zeros((worlds.shape[1], n_values)), np.zeros((worlds.shape[1], n_values))
    for value in range(n_values):
        has = (worlds == value).astype(np.float64)
        chances[:, value] = shares @ has
        errors[:, value] = np.sqrt(np.square(shares) @ np.square(has - chances[:, value]))
    return chances, errors


# The members of a part, the value that it has too much of, how often at least, and the chance of that.
_Event = tuple[IntArray, int, int, float]


def _events(world: _ClassWorlds, cut: IntArray) -> list[_Event]:
    events: list[_Event] = []
    n = len(cut)
    for part in np.unique(cut).tolist():
        members = np.flatnonzero(cut == part)
        for value in np.flatnonzero(world.is_limited).tolist():
            least = world.most(len(members)) + 1
            chance = sum(_tail(n, int(world.counts[value]), len(members), least))
            if chance > 0:
                events.append((members, value, least, chance))
    return events


def _tail(n: int, n_with: int, size: int, least: int) -> list[float]:
    """The chances that `least` and more of `size` people are among the `n_with` out of n."""
    whole = comb(n, size)
    most = min(n_with, size)
    return [comb(n_with, x) * comb(n - n_with, size - x) / whole for x in range(least, most + 1)]


def _worlds_with(world: _ClassWorlds, event: _Event, n_worlds: int, rng: np.random.Generator) -> IntArray:
    """Worlds in which the event happens, (n_worlds, n_people), all such being equally likely."""
    members, value, least, _ = event
    n, n_with = int(world.counts.sum()), int(world.counts[value])
    tail = np.array(_tail(n, n_with, len(members), least))
    n_inside = least + rng.choice(len(tail), n_worlds, p=tail / tail.sum())
    outside = np.setdiff1d(np.arange(n), members)
    has = np.zeros((n_worlds, n), bool)
    for people, n_people in ((members, n_inside), (outside, n_with - n_inside)):
        rank = rng.random((n_worlds, len(people))).argsort(axis=1).argsort(axis=1)
        has[:, people] = rank < n_people[:, None]
    others = np.repeat(np.arange(len(world.counts)), np.where(np.arange(len(world.counts)) == value, 0, world.counts))
    made = np.full((n_worlds, n), value, np.int64)
    made[~has] = rng.permuted(np.tile(others, (n_worlds, 1)), axis=1).reshape(-1)
    return made


def _n_events(world: _ClassWorlds, worlds: IntArray, cut: IntArray) -> IntArray:
    """How many pairs of a part and a value are too much in every world, (n_worlds,)."""
    n_events = np.zeros(len(worlds), np.int64)
    for part in np.unique(cut).tolist():
        inside = worlds[:, cut == part]
        for value in np.flatnonzero(world.is_limited).tolist():
            n_events += (inside == value).sum(axis=1) > world.most(inside.shape[1])
    return n_events


# The attack ---------------------------------------------------------------------------------------------------------


@attack("minimality", on_request=True)
def minimality(case: Case) -> AttackSuccess:
    """The chance of a person's own value for someone who knows that the algorithm never generalises without need.

    Such an algorithm would have cut a class further if no value then made up more than 1/m of a part; that it did not
    rules out worlds. Cuts are between the values of one column, or between the children of a hierarchy node, with at
    least k people on every side; all people of a class are equally likely to have its values beforehand. A victim's own
    value is believed with more than 1/m. Worlds are counted exactly where that takes few steps, and drawn elsewhere,
    weighted by importance; people of classes for which neither tells anything are no targets. Up to 400 classes are
    tried, drawn where there are more; the interval tells how far the average may be off by either.
    By guessing: the share of the own value in the whole table.
    Stopped by: m-confidentiality, and algorithms that look at quasi-identifiers only.
    Reference: Wong, Fu, Wang, Pei, Minimality attack in privacy preserving data publishing, VLDB 2007.
    """
    if case.is_grouped or not case.is_covering or case.row_of is None:
        raise DoesNotApplyError("needs the original, and cells that cover it")
    return worst_column(case, histograms(case), _of_column)


def _of_column(case: Case, hist: Histogram) -> AttackSuccess:
    truth = case.truth(next(s for s in case.sensitive if s.name == hist.domain.name))
    assert truth is not None
    rng = child(case.attacker.seed, "minimality")
    chosen = _classes(case, rng)
    order = np.argsort(case.classes, kind="stable")
    begin = np.concatenate([[0], np.cumsum(case.stats.size)])
    members = [order[begin[number] : begin[number + 1]] for number in chosen.tolist()]
    attempts = [_tried(case, rows, truth[rows], rng) for rows in members]
    return _finding(case, hist, truth, members, attempts)


@dataclass(frozen=True, slots=True, eq=False)
class _Tried:
    """Beliefs about the people of one class, with and without knowing the algorithm."""

    own: FloatArray  # (n_people,) belief in the own value
    prior: FloatArray  # (n_people,) share of the own value in the class
    errors: FloatArray | None = None  # (n_people,) standard errors of `own`, where worlds were drawn
    highest: float = 0.0  # the surest belief, right or wrong
    has_cut: bool = False
    is_refuted: bool = False  # the class cannot come from a minimal algorithm, so nothing is learned
    is_told: bool = True


def _tried(case: Case, members: IntArray, values: IntArray, rng: np.random.Generator) -> _Tried:
    local = np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    prior = np.bincount(local) / len(members)
    plain = _Tried(prior[local], prior[local], highest=float(prior.max()))
    if len(members) > LARGEST_CLASS:
        return replace(plain, is_told=False)
    cuts = list(_cuts(case, members))
    if not _is_possible(local, cuts, case):
        return replace(plain, has_cut=True, is_refuted=True)
    chances = credibility(local, cuts, m=case.attacker.m, k=case.attacker.k, rng=rng)
    if chances is None:
        return plain
    if chances.chances is None:
        return replace(plain, has_cut=True, is_told=False)
    people = np.arange(len(members))
    errors = None if chances.errors is None else chances.errors[people, local]
    return _Tried(chances.chances[people, local], prior[local], errors, float(chances.chances.max()), has_cut=True)


def _finding(
    case: Case, hist: Histogram, truth: IntArray, members: Sequence[IntArray], attempts: Sequence[_Tried]
) -> AttackSuccess:
    answered = [(rows, t) for rows, t in zip(members, attempts, strict=True) if t.is_told]
    if not answered:
        raise DoesNotApplyError("cannot be told: classes have too many worlds to count, and too few drawn ones fit")
    own, prior = np.concatenate([t.own for _, t in answered]), np.concatenate([t.prior for _, t in answered])
    errors = np.concatenate([np.zeros(len(t.own)) if t.errors is None else t.errors for _, t in answered])
    rows = np.concatenate([rows for rows, _ in answered]).astype(np.int64)
    n_drawn = sum(t.errors is not None for _, t in answered)
    n_untold = len(attempts) - len(answered)
    # beliefs from drawn worlds make a victim only where twice their error does not explain them
    surely = own - 2 * errors
    is_gain = surely > prior + 1e-9
    worst, rows_of = worst_rows(case, np.where(is_gain, own, 0.0), rows)
    is_sampled = len(attempts) < case.stats.n_classes
    error = _error(answered, own, is_sampled=is_sampled)
    average = float(own.mean())
    notes = (f"{n_untold:,} classes could not be told: their people are left out",) if n_untold else ()
    return AttackSuccess(
        highest=max(t.highest for _, t in answered),
        average=average,
        baseline=float(hist.total_shares()[truth[rows]].mean()),
        n_targets=len(own),
        n_victims=int(np.count_nonzero((surely > 1 / case.attacker.m + 1e-9) & is_gain)),
        worst=worst,
        rows_of=rows_of,
        interval=(max(0.0, average - Z * error), min(1.0, average + Z * error)) if is_sampled or n_drawn else None,
        n_sampled=len(own) if is_sampled else None,
        details={
            "m": case.attacker.m,
            "k": case.attacker.k,
            "by_share_of_the_class": float(prior.mean()),
            "classes_tried": len(attempts),
            "classes_with_a_cut": sum(t.has_cut for t in attempts),
            "classes_by_drawn_worlds": n_drawn,
            "largest_error": float(errors.max(initial=0.0)),
            "classes_not_told": n_untold,
            "classes_another_algorithm_made": sum(t.is_refuted for t in attempts),
        },
        notes=notes,
    )


def _error(answered: Sequence[tuple[IntArray, _Tried]], own: FloatArray, *, is_sampled: bool) -> float:
    """Standard error of the average: by drawing classes, and by drawing worlds, whose errors agree within a class."""
    n = len(own)
    of_worlds = sum(float(t.errors.sum() / n) ** 2 for _, t in answered if t.errors is not None)
    if not is_sampled or len(answered) < 2:
        return sqrt(of_worlds)
    apart = np.array([float((t.own - own.mean()).sum()) for _, t in answered])
    return sqrt(of_worlds + float(np.square(apart).sum()) * len(answered) / (len(answered) - 1) / n**2)


def _is_possible(values: IntArray, cuts: Sequence[IntArray], case: Case) -> bool:
    """Whether a minimal algorithm could have left the class as it is: every cut is refused in the real world."""
    k, m = case.attacker.k, case.attacker.m
    world = _ClassWorlds(np.bincount(values), np.ones(int(values.max()) + 1, bool), m)
    telling = [c for c in cuts if len(np.unique(c)) > 1 and np.bincount(c)[np.unique(c)].min() >= k]
    return all(int(_n_events(world, values[None, :], cut)[0]) > 0 for cut in telling)


def _classes(case: Case, rng: np.random.Generator) -> IntArray:
    n = case.stats.n_classes
    return np.arange(n) if n <= MOST_CLASSES else np.sort(rng.choice(n, MOST_CLASSES, replace=False))


def _cuts(case: Case, members: IntArray) -> Iterator[IntArray]:
    """Ways to divide some rows: between the values of a column, or between the children of a node."""
    assert case.row_of is not None
    for column in case.quasi:
        assert column.codes is not None
        codes = column.codes[case.row_of[members]]
        present = np.unique(codes)
        if len(present) < 2:
            continue
        if column.domain is not None and column.domain.kind is DomainKind.TREE:
            yield _children(column, codes)
        else:
            for last in present[:-1].tolist():
                yield (codes > last).astype(np.int64)


def _children(column: Quasi, codes: IntArray) -> IntArray:
    """The child of the lowest common node that each code is under."""
    assert column.domain is not None
    tree = column.domain.hierarchy
    assert tree is not None
    node = tree.lca_range(int(codes.min()), int(codes.max()))
    starts = np.array([int(tree.first[child_]) for child_ in tree.children(node)], np.int64)
    starts.sort()
    return np.searchsorted(starts, codes, side="right").astype(np.int64) - 1
