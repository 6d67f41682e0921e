"""Slow, independent attackers, written from the definitions of attacks: dictionaries, loops and exact fractions.

Nothing here comes from the package. Tables are lists of dictionaries; a published row is one with texts.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import NamedTuple

import oracle


def is_candidate(row, person, quasi):
    return all(oracle.covers(row[q], person[q]) for q in quasi)


def rows_of(person, release, quasi):
    """Published rows that could be a person's."""
    return [row for row in release if is_candidate(row, person, quasi)]


def link_chances(originals, release, quasi):
    """1 / (rows that cover the person), for everybody."""
    return [Fraction(1, len(found)) if (found := rows_of(p, release, quasi)) else Fraction(0) for p in originals]


def chances_with_value(originals, release, quasi, sensitive):
    """1 / (rows that cover the person and show their value), for everybody."""
    shown = [[r for r in rows_of(p, release, quasi) if r[sensitive] == p[sensitive]] for p in originals]
    return [Fraction(1, len(rows)) if rows else Fraction(0) for rows in shown]


def matching_chances(originals, release, quasi):
    """Over all ways to match people with rows that cover them: how often each person has the row they have most."""
    had, n_ways = [Counter() for _ in originals], 0
    for order in permutations(range(len(release))):
        if all(is_candidate(release[g], originals[i], quasi) for i, g in enumerate(order)):
            n_ways += 1
            for i, g in enumerate(order):
                had[i][g] += 1
    return [Fraction(max(c.values()), n_ways) if n_ways else Fraction(0) for c in had]


def classes(release, quasi):
    found = {}
    for row in release:
        found.setdefault(tuple(row[q] for q in quasi), []).append(row)
    return list(found.values())


def homogeneous(release, quasi, sensitive):
    """People in classes with one sensitive value."""
    return sum(len(c) for c in classes(release, quasi) if len({row[sensitive] for row in c}) == 1)


def attribute_linkage(release, quasi, sensitive, original):
    """(highest, average, victims) of guessing the most frequent value of a class."""
    table = Counter(row[sensitive] for row in original)
    highest, total, victims = Fraction(0), Fraction(0), 0
    for group in classes(release, quasi):
        counts = Counter(row[sensitive] for row in group)
        top = Fraction(max(counts.values()), len(group))
        highest, total = max(highest, top), total + top * len(group)
        for value, n in counts.items():
            share = Fraction(n, len(group))
            if share > Fraction(1, 2) and share > Fraction(table[value], len(original)):
                victims += n
    return highest, total / len(release), victims


def skewness(release, quasi, sensitive, original):
    """(largest factor, average share of the own value, people whose value becomes twice as likely)."""
    table = Counter(row[sensitive] for row in original)
    factor, own, victims = Fraction(0), Fraction(0), 0
    for group in classes(release, quasi):
        counts = Counter(row[sensitive] for row in group)
        for value, n in counts.items():
            share = Fraction(n, len(group))
            ratio = share / Fraction(table[value], len(original))
            factor, own = max(factor, ratio), own + share * n
            victims += n if ratio >= 2 else 0
    return factor, own / len(release), victims


def proximity(release, quasi, sensitive, radius):
    """(highest and average share of a class near one of its numbers, people with more than half of it near them).

    Cells may be empty: they are near nothing, and whoever has one has no number to be near to.
    """
    highest, total, victims = Fraction(0), Fraction(0), 0
    for group in classes(release, quasi):
        top = Fraction(0)
        for row in group:
            near = sum(_is_near(other[sensitive], row[sensitive], radius) for other in group)
            top = max(top, Fraction(near, len(group)))
            victims += 2 * near > len(group)
        highest, total = max(highest, top), total + top * len(group)
    return highest, total / len(release), victims


def _is_near(a, b, radius):
    return a is not None and b is not None and abs(a - b) <= radius


def range_disclosure(release, quasi, sensitive, width):
    """(highest and average share of a class inside one range, people with a number in classes mostly inside one)."""
    highest, total, victims = Fraction(0), Fraction(0), 0
    for group in classes(release, quasi):
        numbers = [row[sensitive] for row in group if row[sensitive] is not None]
        most = max((sum(low <= x <= low + width for x in numbers) for low in numbers), default=0)
        highest, total = max(highest, Fraction(most, len(group))), total + most
        victims += len(numbers) if 2 * most > len(group) else 0
    return highest, total / len(release), victims


def membership(population, release, quasi):
    """The chance of every person: rows of a class over people it covers, the largest over classes that cover them."""
    groups = classes(release, quasi)
    covered = [[x for x in population if is_candidate(g[0], x, quasi)] for g in groups]
    found = []
    for person in population:
        chances = [
            min(Fraction(1), Fraction(len(g), len(people)))
            for g, people in zip(groups, covered, strict=True)
            if is_candidate(g[0], person, quasi)
        ]
        found.append(max(chances, default=Fraction(0)))
    return found


def k_map(population, release, quasi):
    """People that the most exposed row covers."""
    return min(sum(is_candidate(row, x, quasi) for x in population) for row in release)


def composition(originals, releases, quasi, sensitive):
    """Values that remain for everybody after all releases; a release without rows for a person says nothing."""
    remaining = []
    for person in originals:
        lists = [{row[sensitive] for row in rows_of(person, r, quasi)} for r in releases]
        seen = [values for values in lists if values]
        remaining.append((set.intersection(*seen) if seen else set(), len(seen)))
    return remaining


def worst_knowledge(groups, k):
    """The largest chance of an atom over all sets of up to k simple implications, by listing every world.

    An atom says that a person has a value; people are (class, place). Worlds give the values of each class to its
    people in all orders.
    """
    people = [(c, i) for c, values in enumerate(groups) for i in range(len(values))]
    orders = [sorted(set(permutations(values))) for values in groups]
    worlds = [dict(zip(people, [v for part in world for v in part], strict=True)) for world in product(*orders)]
    weights = [Fraction(1)] * len(worlds)
    values = sorted({v for g in groups for v in g})
    atoms = [(p, v) for p in people for v in values]
    implications = [(a, b) for a in atoms for b in atoms if a != b]
    best = Fraction(0)
    for known in (some for size in range(k + 1) for some in combinations(implications, size)):
        left = [
            (w, n) for w, n in zip(worlds, weights, strict=True) if all(not _has(w, a) or _has(w, b) for a, b in known)
        ]
        total = sum(n for _, n in left)
        if total:
            best = max(best, *(Fraction(sum(n for w, n in left if _has(w, a)), total) for a in atoms))
    return best


def _has(world, atom):
    return world[atom[0]] == atom[1]


def minimality(values, cuts, m, k):
    """The chance of every value for every person over the orders of the values in which no cut was allowed."""
    worlds = sorted(set(permutations(values)))
    telling = [cut for cut in cuts if len(set(cut)) > 1 and min(Counter(cut).values()) >= k]
    consistent = [w for w in worlds if not any(_is_allowed(w, cut, m) for cut in telling)]
    if not telling:
        return None
    return len(worlds), len(consistent), [
        {v: Fraction(sum(w[i] == v for w in consistent), len(consistent)) for v in set(values)}
        for i in range(len(values))
        if consistent
    ]  # fmt: skip


def _is_allowed(world, cut, m):
    for part in set(cut):
        inside = [v for v, p in zip(world, cut, strict=True) if p == part]
        if any(n * m > len(inside) for n in Counter(inside).values()):
            return False
    return True


def assignments(weights, counts):
    """The chance of every value for every person, by listing every world that gives each value as often as it must."""
    values = [v for v, n in enumerate(counts) for _ in range(n)]
    total, found = 0.0, [[0.0] * len(counts) for _ in weights]
    for world in set(permutations(values)):
        weight = math.prod(weights[i][v] for i, v in enumerate(world))
        total += weight
        for i, v in enumerate(world):
            found[i][v] += weight
    return [[x / total if total else 0.0 for x in row] for row in found]


def definetti(rows, quasi, groups, counts, rounds, balancing, smoothing):
    """Chances by person and value: naive Bayes learned from groups, shared out again, so many rounds.

    Args:
        groups: group of every row.
        counts: by group how often each value occurs.
    """
    values = sorted({v for c in counts.values() for v in c})
    sizes = Counter(groups)
    chances = [{v: counts[g][v] / sizes[g] for v in counts[g]} for g in groups]
    for _ in range(rounds):
        scores = [dict.fromkeys(c, 0.0) for c in chances]
        weight = {v: sum(c.get(v, 0.0) for c in chances) for v in values}
        for q in quasi:
            n_codes = max(row[q] for row in rows) + 1
            seen = Counter()
            for row, c in zip(rows, chances, strict=True):
                for v, chance in c.items():
                    seen[row[q], v] += chance
            for row, s in zip(rows, scores, strict=True):
                for v in s:
                    s[v] += math.log((seen[row[q], v] + smoothing) / (weight[v] + smoothing * n_codes))
        chances = [
            {v: math.exp(s[v] - max(s.values())) * counts[g][v] / sizes[g] for v in s}
            for s, g in zip(scores, groups, strict=True)
        ]
        chances = balanced(chances, groups, counts, balancing)
    return chances


def balanced(chances, groups, counts, rounds):
    for _ in range(rounds):
        given = Counter()
        for c, g in zip(chances, groups, strict=True):
            for v, x in c.items():
                given[g, v] += x
        chances = [
            {v: x * counts[g][v] / given[g, v] if given[g, v] else 0.0 for v, x in c.items()}
            for c, g in zip(chances, groups, strict=True)
        ]
        chances = [{v: x / sum(c.values()) if sum(c.values()) else 0.0 for v, x in c.items()} for c in chances]
    return chances


def absent(groups, values, stays, newcomers):
    """(people whose signature cannot be kept, counterfeits needed) by pooling those who stay by signature."""
    signature = {g: frozenset(v for h, v in zip(groups, values, strict=True) if h == g) for g in groups}
    before, pools = {}, {}
    for g, v, s in zip(groups, values, stays, strict=True):
        before.setdefault(signature[g], Counter())[v] += 1
        if s:
            pools.setdefault(signature[g], Counter())[v] += 1
    missing = {}
    for s, left in pools.items():
        kept = max(Fraction(left[v], before[s][v]) for v in s)  # the best kept value sets the proportion for all
        missing[s] = {v: math.ceil(before[s][v] * kept) - left[v] for v in s}
    needed = Counter()
    for lacks in missing.values():
        needed.update(lacks)
    short = {v: max(0, n - newcomers.get(v, 0)) for v, n in needed.items()}
    broken = {s for s, lacks in missing.items() if any(n and short[v] for v, n in lacks.items())}
    victims = [s and signature[g] in broken for g, s in zip(groups, stays, strict=True)]
    return victims, sum(short.values())


def minimal_uniques(rows, columns, largest):
    """For every row the minimal sets of columns on which it is unique."""
    found = []
    for row in rows:
        sets = []
        for size in range(1, largest + 1):
            for chosen in combinations(columns, size):
                alike = sum(all(other[c] == row[c] for c in chosen) for other in rows)
                if alike == 1 and not any(set(s) <= set(chosen) for s in sets):
                    sets.append(chosen)
        found.append(sets)
    return found


def zayatz(sizes, population):
    """Chance that a record unique in the sample is so in the population, in exact fractions."""
    n = sum(sizes)
    counts = Counter(sizes)
    drawn = {j: Fraction(j * math.comb(population - j, n - 1), math.comb(population, n)) * c for j, c in counts.items()}
    return drawn.get(1, Fraction(0)) / sum(drawn.values()) if counts[1] else Fraction(0)


class World(NamedTuple):
    """People, a release about them, and what attackers have beside it; rows and people are dictionaries."""

    people: list
    release: list  # row i is about person i
    later: list  # another release, row i about person i
    other: list  # a release that shows other columns beside the quasi-identifiers
    population: list
    fact: tuple  # (column, value) of people who cannot have a sensitive value, and that value
    quasi: list
    sensitive: str
    number: str  # a sensitive column of numbers


def success(chances, baseline, victims=None):
    """(highest, average, victims, baseline) of chances by target; a victim is found with more than one half."""
    found = sum(c > Fraction(1, 2) for c in chances) if victims is None else victims
    return max(chances), sum(chances) / len(chances), found, baseline


def by_linking(w):
    return success(link_chances(w.people, w.release, w.quasi), Fraction(1, len(w.release)))


def by_linking_everybody(w):
    chances = link_chances(w.people, w.release, w.quasi)
    return None, sum(chances) / len(chances), round(sum(chances)), Fraction(1, len(w.release))


def by_linking_with_value(w):
    return success(chances_with_value(w.people, w.release, w.quasi, w.sensitive), Fraction(1, len(w.release)))


def by_matching(w):
    return success(matching_chances(w.people, w.release, w.quasi), Fraction(1, len(w.release)))


def by_register(w):
    covered = [sum(is_candidate(row, x, w.quasi) for x in w.population) for row in w.release]
    return success([Fraction(1, n) if n else Fraction(0) for n in covered], Fraction(1, len(w.population)))


def by_presence(w):
    """The average is over the rows of the table, each with the chance that its own class gives."""
    chances = membership(w.population, w.release, w.quasi)
    prior, average = Fraction(len(w.release), len(w.population)), Fraction(0)
    for group in classes(w.release, w.quasi):
        n_people = sum(is_candidate(group[0], x, w.quasi) for x in w.population)
        average += len(group) * min(Fraction(1), Fraction(len(group), n_people)) / len(w.release)
    victims = sum(c > Fraction(1, 2) and c > prior for c in chances)
    return max(chances), average, victims, min(Fraction(1), prior)


def by_homogeneity(w):
    victims = homogeneous(w.release, w.quasi, w.sensitive)
    whole = Fraction(len({p[w.sensitive] for p in w.people}) == 1)
    return Fraction(victims > 0), Fraction(victims, len(w.release)), victims, whole


def by_guessing_values(w):
    return (*attribute_linkage(w.release, w.quasi, w.sensitive, w.people), _most_frequent(w))


def _most_frequent(w):
    return Fraction(max(Counter(p[w.sensitive] for p in w.people).values()), len(w.people))


def by_skewness(w):
    """The own share of everybody whose value becomes twice as likely, 0 of others."""
    table, gained = Counter(p[w.sensitive] for p in w.people), []
    for group in classes(w.release, w.quasi):
        for row in group:
            share = Fraction(sum(r[w.sensitive] == row[w.sensitive] for r in group), len(group))
            learned = share >= 2 * Fraction(table[row[w.sensitive]], len(w.people))
            gained.append(share if learned else Fraction(0))
    return max(gained), sum(gained) / len(gained), sum(share > 0 for share in gained), Fraction(0)


def _range(w):
    numbers = [p[w.number] for p in w.people]
    return max(numbers) - min(numbers)


def by_proximity(w):
    radius = Fraction(_range(w), 20)
    whole, _, _ = proximity(w.release, [], w.number, radius)
    return (*proximity(w.release, w.quasi, w.number, radius), whole)


def by_range(w):
    width = Fraction(_range(w), 10)
    whole, _, _ = range_disclosure(w.release, [], w.number, width)
    return (*range_disclosure(w.release, w.quasi, w.number, width), whole)


def by_similarity(w):
    """Numbers are alike within less than a quarter of the range."""
    width = Fraction(_range(w), 4)
    groups = [[row[w.number] for row in group] for group in classes(w.release, w.quasi)]
    victims = sum(len(numbers) for numbers in groups if max(numbers) - min(numbers) < width)
    highest, average, _ = range_disclosure(w.release, w.quasi, w.number, width)
    return highest, average, victims, range_disclosure(w.release, [], w.number, width)[0]


def by_composition(w):
    remaining = composition(w.people, [w.release, w.later], w.quasi, w.sensitive)
    chances = [Fraction(1, len(left)) for left, _ in remaining]
    victims = sum(left == {p[w.sensitive]} for p, (left, _) in zip(w.people, remaining, strict=True))
    values = {row[w.sensitive] for row in [*w.release, *w.later]}
    return success(chances, Fraction(1, len(values)), victims)


def by_collusion(w):
    shown, others = ([tuple(row[q] for q in w.quasi) for row in rows] for rows in (w.release, w.other))
    chances = [Fraction(1, others.count(key)) if key in others else Fraction(0) for key in shown]
    return success(chances, Fraction(1, len(others)), sum(others.count(k) == shown.count(k) == 1 for k in shown))


def by_facts(w):
    """Chances of a value by Bayes' rule where one value is ruled out for some people."""
    column, equals, ruled_out = w.fact
    top, guess, victims = [], [], 0
    for person, row in zip(w.people, w.release, strict=True):
        if person[column] != equals:
            continue
        group = [r[w.sensitive] for r in w.release if all(r[q] == row[q] for q in w.quasi)]
        left = [v for v in group if v != ruled_out]
        table = [p[w.sensitive] for p in w.people if p[w.sensitive] != ruled_out]
        top.append(_largest_share(left))
        guess.append(_largest_share(table))
        own = Fraction(left.count(person[w.sensitive]), len(left)) if left else Fraction(0)
        victims += own > Fraction(1, 2) and top[-1] > _largest_share(group)
    return max(top), sum(top) / len(top), victims, sum(guess) / len(guess)


def _largest_share(values):
    return Fraction(max(Counter(values).values()), len(values)) if values else Fraction(0)


def by_worst_knowledge(w):
    """One implication, chosen as badly as possible; a victim's class has two values at most."""
    groups = [[row[w.sensitive] for row in group] for group in classes(w.release, w.quasi)]
    average = sum(_largest_share(values) * len(values) for values in groups) / len(w.release)
    victims = sum(len(values) for values in groups if len(set(values)) <= 2)
    return worst_knowledge(groups, 1), average, victims, _most_frequent(w)


# What attacks that have a plain definition reach on a small world.
PLAIN = {
    "prosecutor": by_linking,
    "marketer": by_linking_everybody,
    "known-sensitive": by_linking_with_value,
    "linkage-knowing-everybody": by_matching,
    "journalist": by_register,
    "membership": by_presence,
    "homogeneity": by_homogeneity,
    "attribute-linkage": by_guessing_values,
    "skewness": by_skewness,
    "proximity": by_proximity,
    "range-disclosure": by_range,
    "similarity": by_similarity,
    "composition": by_composition,
    "collusion": by_collusion,
    "given-facts": by_facts,
    "worst-case-knowledge": by_worst_knowledge,
}
