"""Information metrics once more, slowly: plain Python over rows, written from the definitions.

A release is a list of rows, None for a suppressed one; `covers[name][cell]` is the set of values that a cell may stand
for, `levels[name][cell]` its steps up the hierarchy and `heights[name]` the steps to the root.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction


class Release:
    """A table beside what was published of it, row by row."""

    def __init__(self, originals, published, columns, covers, levels=None, heights=None, weights=None):
        self.originals, self.published, self.columns = originals, published, columns
        self.covers, self.levels, self.heights = covers, levels, heights
        weights = weights or dict.fromkeys(columns, 1)
        self.weight = {name: Fraction(weights[name]) * len(columns) / sum(weights.values()) for name in columns}
        self.values = {name: set().union(*covers[name].values()) for name in columns}

    @property
    def n(self):
        return len(self.originals)

    def classes(self):
        found = defaultdict(list)
        for original, row in zip(self.originals, self.published, strict=True):
            if row is not None:
                found[tuple(row[name] for name in self.columns)].append(original)
        return list(found.values())

    def suppressed(self):
        return [original for original, row in zip(self.originals, self.published, strict=True) if row is None]

    def over_cells(self, price, of_suppressed):
        """Weighted prices of all cells added up."""
        total = 0
        for row in self.published:
            for name in self.columns:
                total += self.weight[name] * (of_suppressed(name) if row is None else price(name, row[name]))
        return total

    def candidates(self, name, row):
        return self.values[name] if row is None else self.covers[name][row[name]]


def minimal_distortion(r):
    return r.over_cells(lambda name, cell: r.levels[name][cell], lambda name: r.heights[name])


def height(r):
    rows = [row for row in r.published if row is not None]
    return sum(r.weight[name] * max((r.levels[name][row[name]] for row in rows), default=0) for name in r.columns)


def total(r):
    lost = r.over_cells(lambda name, cell: Fraction(r.levels[name][cell], r.heights[name]), lambda name: 1)
    return lost / (r.n * len(r.columns))


def precision(r):
    return 1 - total(r)


def total_il(r, ncp, ordered):
    """`ncp[name][cell]` are the widths of cells of ordered columns."""

    def price(name, cell):
        return ncp[name][cell] if name in ordered else Fraction(r.levels[name][cell], r.heights[name])

    return r.over_cells(price, lambda name: 1)


def star_count(r):
    def is_star(name, cell):
        return len(r.covers[name][cell]) == len(r.values[name]) > 1

    return r.over_cells(is_star, lambda name: len(r.values[name]) > 1)


def iloss(r, less=1):
    def price(name, n_covered):
        return Fraction(n_covered - 1, max(1, len(r.values[name]) - less))

    return r.over_cells(
        lambda name, cell: price(name, len(r.covers[name][cell])), lambda name: price(name, len(r.values[name]))
    )


def ambiguity(r):
    return Fraction(sum(math.prod(len(r.candidates(name, row)) for name in r.columns) for row in r.published), r.n)


def ambiguity_data(r):
    def is_consistent(original, row):
        return all(original[name] in r.candidates(name, row) for name in r.columns)

    return Fraction(sum(is_consistent(original, row) for row in r.published for original in r.originals), r.n)


def classification(r, target):
    wrong = len(r.suppressed())
    for rows in r.classes():
        wrong += len(rows) - max(Counter(row[target] for row in rows).values())
    return Fraction(wrong, r.n)


def entropy(values, base):
    counts = Counter(values)
    return -sum(c / len(values) * math.log(c / len(values), base) for c in counts.values())


def hce_tdr(r, target, base=math.e):
    groups = [*r.classes(), *([r.suppressed()] if r.suppressed() else [])]
    return sum(len(rows) / r.n * entropy([row[target] for row in rows], base) for rows in groups)


def igpl(r, target):
    whole = entropy([row[target] for row in r.originals], 2)
    gain = sum(len(rows) / r.n * (whole - entropy([row[target] for row in rows], 2)) for rows in r.classes())
    return max(0.0, gain) / (r.n - min(len(rows) for rows in r.classes()) + 1)


def non_uniform_entropy(r):
    bits = 0.0
    for name in r.columns:
        frequency = Counter(row[name] for row in r.originals)
        for original, row in zip(r.originals, r.published, strict=True):
            could_be = sum(frequency[value] for value in r.candidates(name, row))
            bits -= float(r.weight[name]) * math.log2(frequency[original[name]] / could_be)
    return bits


def mean_distance(r, distance):
    return float(sum(r.weight[name] * Fraction(distance(*shares(r, name))) for name in r.columns)) / len(r.columns)


def shares(r, name):
    before, after = Counter(), Counter()
    for original, row in zip(r.originals, r.published, strict=True):
        before[original[name]] += Fraction(1, r.n)
        candidates = r.candidates(name, row)
        for value in candidates:
            after[value] += Fraction(1, r.n * len(candidates))
    values = sorted(r.values[name])
    return [float(before[v]) for v in values], [float(after[v]) for v in values]


def kl(p, q):
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a)


def lp(p, q, power):
    return sum(abs(a - b) ** power for a, b in zip(p, q, strict=True)) ** (1 / power)


def hellinger(p, q):
    return math.sqrt(sum((math.sqrt(a) - math.sqrt(b)) ** 2 for a, b in zip(p, q, strict=True)) / 2)


def chances(r, name, row):
    """How likely each value is for a published record; `name` may be a column that is published as it is."""
    if row is None:
        candidates = r.values[name] if name in r.values else {original[name] for original in r.originals}
    else:
        candidates = r.covers[name][row[name]] if name in r.covers else {row[name]}
    return dict.fromkeys(candidates, Fraction(1, len(candidates)))


def answers(r, ranges):
    """Records in a range of values of every named column: in the original, and as the release lets one expect."""
    right = sum(all(original[name] in wanted for name, wanted in ranges.items()) for original in r.originals)
    expected = Fraction(0)
    for row in r.published:
        expected += math.prod(
            sum(chance for value, chance in chances(r, name, row).items() if value in wanted)
            for name, wanted in ranges.items()
        )
    return right, expected


def joint(r, a, b):
    """The joint distribution of two columns, before and after."""
    before, after = Counter(), Counter()
    for original, row in zip(r.originals, r.published, strict=True):
        before[original[a], original[b]] += Fraction(1, r.n)
        for x, p in chances(r, a, row).items():
            for y, q in chances(r, b, row).items():
                after[x, y] += p * q / r.n
    return before, after


def total_variation(before, after):
    return sum(abs(before[key] - after[key]) for key in {*before, *after}) / 2


def cramers_v(table):
    rows, columns = Counter(), Counter()
    for (x, y), share in table.items():
        rows[x] += share
        columns[y] += share
    chi = sum((table[x, y] - rows[x] * columns[y]) ** 2 / (rows[x] * columns[y]) for x in rows for y in columns)
    smaller = min(len(rows), len(columns)) - 1
    return math.sqrt(chi / smaller) if smaller else 0.0


def pearson(table):
    """Pearson's r of a joint distribution of numbers; None where one of them does not vary."""
    mean_x = sum(x * share for (x, _), share in table.items())
    mean_y = sum(y * share for (_, y), share in table.items())
    var_x = sum((x - mean_x) ** 2 * share for (x, _), share in table.items())
    var_y = sum((y - mean_y) ** 2 * share for (_, y), share in table.items())
    covariance = sum((x - mean_x) * (y - mean_y) * share for (x, y), share in table.items())
    return None if not var_x or not var_y else float(covariance) / math.sqrt(var_x * var_y)


def emd_of_a_line(p, q, places):
    """Least work on a line, moving what is too much at the lowest place to the next one that lacks something."""
    surplus = [[place, a - b] for place, a, b in sorted(zip(places, p, q, strict=True))]
    width = float(surplus[-1][0] - surplus[0][0]) or 1.0
    work = 0.0
    for (here, amount), following in itertools.pairwise(surplus):
        work += abs(amount) * float(following[0] - here) / width
        following[1] += amount
    return work
