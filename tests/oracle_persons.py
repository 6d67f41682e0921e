"""What models promise about persons, judged slowly: sets of persons, exact fractions, nothing from the package.

A person may have several rows, in one class or in several; without a person column every row is a person. An empty cell
is None. `judge` says (level, holds) of every condition of a goal for one class of a table.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction

from oracle import equal_emd, exact, ordered_emd, tree_emd
from oracle_models import individual_risk

INFINITE = math.inf


class Table:
    """Rows with what models know beside them."""

    def __init__(self, rows, *, person=None, order=(), numbers=None, tree=None, people=None, n_file=0, guards=None):
        self.rows = [{**row, "#": row[person] if person else i} for i, row in enumerate(rows)]
        self.order, self.numbers, self.tree = list(order), numbers or {}, tree or {}
        self.people, self.n_file, self.guards = people or {}, n_file, guards or {}

    def classes(self, quasi="q"):
        groups = defaultdict(list)
        for row in self.rows:
            groups[row[quasi]].append(row)
        return dict(groups)


def persons(group):
    return {row["#"] for row in group}


def holders(group, column, values):
    """Persons who have one of the values in any of their rows."""
    return {row["#"] for row in group if row[column] in values}


def share(group, column, value):
    return Fraction(len(holders(group, column, {value})), len(persons(group)))


def held(group, column, *, missing=False):
    """The values of every person; those of an empty cell only where it counts."""
    found = defaultdict(set)
    for row in group:
        if row[column] is not None or missing:
            found[row["#"]].add(row[column])
    return dict(found)


def most_different(values_of):
    """The most persons who can each be given another of their values: grow a matching by augmenting paths."""
    owner = {}

    def give(person, tried):
        for value in values_of[person] - tried:
            tried.add(value)
            if value not in owner or give(owner[value], tried):
                owner[value] = person
                return True
        return False

    return sum(give(person, set()) for person in values_of)


def masses(group, column, *, missing=True):
    """A mass of 1 for every person, spread over the rows with their values."""
    rows = [row for row in group if row[column] is not None or missing]
    n = Counter(row["#"] for row in rows)
    found = Counter()
    for row in rows:
        found[row[column]] += Fraction(1, n[row["#"]])
    return found


def shares(counts):
    total = sum(counts.values())
    return {value: n / total for value, n in counts.items()}


def tree_above(tree, value):
    while value is not None:
        yield value
        value = tree.get(value)


def height(tree, node):
    below = [child for child, parent in tree.items() if parent == node]
    return 1 + max(height(tree, child) for child in below) if below else 0


def ancestor(tree, leaf, level):
    node = leaf
    while node in tree and height(tree, tree[node]) <= level:
        node = tree[node]
    return node


# --- diversity --------------------------------------------------------------------------------------------------------


def diversity(goal, group, column):
    """(level, holds) of distinct, entropy and recursive diversity, and its variants."""
    missing, variant = goal.get("missing_counts", False), goal.get("variant", "distinct")
    values_of = held(group, column, missing=missing)
    if variant == "distinct":
        n = most_different(values_of)
        return n, n >= goal["l"]
    if variant == "entropy":
        level = 0.0
        if values_of:
            found = shares(masses(group, column, missing=missing))
            level = min(len(values_of), math.exp(-math.fsum(float(p) * math.log(p) for p in found.values())))
        return level, level >= goal["l"] - 1e-9
    level = recursive(values_of, int(goal["l"]), set(goal.get("allowed") or ()))
    if any(share(group, column, s) < exact(goal["c2"]) for s in goal.get("forbidden") or ()):
        level = INFINITE
    return level, level < exact(goal["c"])


def recursive(values_of, l, allowed):  # noqa: E741
    """The odds of the likeliest value outside `allowed` once the l - 2 likeliest others are out."""
    if not values_of:
        return INFINITE
    n = Counter(value for values in values_of.values() for value in values)
    protected = [value for value in n if value not in allowed]
    if not protected:
        return Fraction(0)
    top = max(protected, key=lambda value: n[value])
    others = sorted((n[value] for value in n if value != top), reverse=True)
    left = len(values_of) - n[top] - sum(others[: l - 2])
    return Fraction(n[top], left) if left > 0 else INFINITE


def l_diversity(goal, group, table, sensitive):
    found = [diversity(goal, group, s) for s in sensitive]
    worst = min if goal.get("variant", "distinct") in ("distinct", "entropy") else max
    return [(worst(level for level, _ in found), all(holds for _, holds in found))]


def multi_l(goal, group, table, sensitive):
    found = []
    for s in sensitive:
        others = [o for o in sensitive if o != s] if goal.get("mode", "def8") == "def8" else []
        parts = defaultdict(list)
        for row in group:
            parts[tuple(row[o] for o in others)].append(row)
        found += [diversity(goal, part, s) for part in parts.values()]
    return [((max if "c" in goal else min)(level for level, _ in found), all(holds for _, holds in found))]


def crowd(goal, group):
    return len(persons(group)), len(persons(group)) >= goal["k"]


def k_anonymity(goal, group, table, sensitive):
    return [crowd(goal, group)]


def p_sensitive(goal, group, table, sensitive):
    n = min(most_different(held(group, s, missing=goal.get("missing_counts", False))) for s in sensitive)
    return [(n, n >= goal["p"]), crowd(goal, group)]


def category(goal, table, value):
    """The place of a value among the categories, most sensitive first; None for a value that is in none."""
    if goal.get("categories"):
        return next((i for i, values in enumerate(goal["categories"]) if value in values), None)
    leaves = [x for x in table.tree if x not in table.tree.values()]
    level = goal.get("level", 1)
    return list(dict.fromkeys(ancestor(table.tree, leaf, level) for leaf in leaves)).index(
        ancestor(table.tree, value, level)
    )


def n_categories(goal, table):
    if goal.get("categories"):
        return len(goal["categories"])
    leaves = [x for x in table.tree if x not in table.tree.values()]
    return len({ancestor(table.tree, leaf, goal.get("level", 1)) for leaf in leaves})


def p_plus(goal, group, table, sensitive):
    (s,) = sensitive
    values_of = {p: {category(goal, table, v) for v in values} for p, values in held(group, s).items()}
    n = most_different(values_of)
    return [(n, n >= goal["p"]), crowd(goal, group)]


def p_alpha(goal, group, table, sensitive):
    (s,) = sensitive
    last, weight = n_categories(goal, table) - 1, Fraction(0)
    for values in held(group, s).values():
        places = [category(goal, table, value) for value in values]
        weight += min(Fraction(place, last) if place is not None else Fraction(0) for place in places)
    n = most_different(held(group, s))
    return [(weight, weight >= exact(goal["alpha"])), (n, n >= goal["p"]), crowd(goal, group)]


def xy_anonymity(goal, group, table, sensitive):
    if goal.get("y") is None:
        return [crowd(goal, group)]
    n = most_different(held(group, goal["y"], missing=goal.get("missing_counts", False)))
    return [(n, n >= goal["k"])]


# --- shares -----------------------------------------------------------------------------------------------------------


def top_share(group, sensitive, values=None):
    named = [(s, v) for s in sensitive for v in {row[s] for row in group} if values is None or v in values]
    return max((share(group, s, v) for s, v in named), default=Fraction(0))


def alpha_k(goal, group, table, sensitive):
    top = top_share(group, sensitive, goal.get("values"))
    return [(top, top <= exact(goal["alpha"])), crowd(goal, group)]


def lkc(goal, group, table, sensitive):
    top = top_share(group, sensitive, goal.get("values"))
    return [(top, top <= exact(goal["c"])), crowd(goal, group)]


def m_confidential(goal, group, table, sensitive):
    top = top_share(group, sensitive, goal.get("values"))
    return [(top, top <= Fraction(1, goal["m"])), crowd(goal, group)]


def below(level, limit, strict):
    return level < exact(limit) if strict else level <= exact(limit)


def xy_privacy(goal, group, table, sensitive):
    top = top_share(group, sensitive)
    return [(top, below(top, goal["h"], goal.get("strict", True))), crowd(goal, group)]


def confidence(goal, group, table, sensitive):
    (s,) = sensitive
    found = [(share(group, s, rule["s"]), rule["h"]) for rule in goal.get("templates") or [goal]]
    return [(top, below(top, h, goal.get("strict", True))) for top, h in found]


def l_plus(goal, group, table, sensitive):
    (s,) = sensitive
    level = max(share(group, s, value) / exact(limit) for value, limit in goal["thresholds"])
    return [(level, level <= 1)]


def beta(goal, group, table, sensitive):
    gain, over = Fraction(0), 0
    for s in sensitive:
        for value in {row[s] for row in group}:
            p, q = share(table.rows, s, value), share(group, s, value)
            if q > p:
                gain = max(gain, (q - p) / p)
                over += (q - p) / p > -math.log(p) + 1e-12
    found = [(gain, gain <= exact(goal["beta"]))]
    return [*found, (over, over == 0)] if goal.get("enhanced") else found


def delta(goal, group, table, sensitive):
    level = 0.0
    for s in sensitive:
        for value in {row[s] for row in table.rows}:
            p, q = share(table.rows, s, value), share(group, s, value)
            level = max(level, abs(math.log(q / p)) if q else INFINITE)
    return [(level, level < goal["delta"] - 1e-12)]


def t_closeness(goal, group, table, sensitive):
    level = Fraction(0)
    for s in sensitive:
        p, q = shares(masses(group, s)), shares(masses(table.rows, s))
        distance = goal.get("distance", "equal")
        if distance == "equal":
            level = max(level, equal_emd(p, q))
        elif distance == "ordered":
            level = max(level, ordered_emd(p, q, table.order))
        else:
            level = max(level, tree_emd(p, q, table.tree))
    return [(level, level <= exact(goal["t"]))]


def personalized(goal, group, table, sensitive):
    (s,) = sensitive
    worst = Fraction(0)
    for row in group:
        node = table.guards.get(row[s])
        if node is not None:
            under = {r["#"] for r in group if node in tree_above(table.tree, r[s])}
            worst = max(worst, Fraction(len(under), len(persons(group))))
    return [(worst, worst <= exact(goal["limit"]))]


# --- numbers ----------------------------------------------------------------------------------------------------------


def numbers_of(group, table, s):
    """The numbers of every person; None for an empty cell."""
    found = defaultdict(set)
    for row in group:
        found[row["#"]].add(None if row[s] is None else exact(table.numbers[row[s]]))
    return found


def ke(goal, group, table, sensitive):
    (s,) = sensitive
    own = numbers_of(group, table, s)
    known = {p: {x for x in numbers if x is not None} for p, numbers in own.items()}
    pairs = [abs(x - y) for p in known for q in known if p != q for x in known[p] for y in known[q]]
    span, n = max(pairs, default=Fraction(0)), most_different(known)
    return [(span, span >= exact(goal["e"])), (n, n >= goal["k"])]


def em(goal, group, table, sensitive):
    (s,) = sensitive
    own = numbers_of(group, table, s)
    near = 0
    for x in {x for numbers in own.values() for x in numbers}:
        if x is None:
            near = max(near, sum(None in numbers for numbers in own.values()))
            continue
        reach = exact(goal["epsilon"]) * (abs(x) if goal.get("relative") else 1)
        near = max(near, sum(any(y is not None and abs(y - x) <= reach for y in ys) for ys in own.values()))
    level = Fraction(len(own), near)
    return [(level, level >= exact(goal["m"]))]


def wgp(goal, group, table, sensitive):
    (s,) = sensitive
    known, n = goal.get("known", 0), len(persons(group))
    if goal.get("width") is None:
        ranges = {ancestor(table.tree, row[s], goal.get("level", 0)) for row in group}
        inside = [
            len({r["#"] for r in group if ancestor(table.tree, r[s], goal.get("level", 0)) == node}) for node in ranges
        ]
    else:
        own = numbers_of(group, table, s)
        inside = []
        for x in {x for numbers in own.values() for x in numbers}:
            low_to_high = (lambda y, x=x: y is None) if x is None else (
                lambda y, x=x: y is not None and x <= y <= x + exact(goal["width"])
            )  # fmt: skip
            inside.append(sum(any(map(low_to_high, ys)) for ys in own.values()))
    level = 1 - max(Fraction(i, n - min(known, n - i)) for i in inside)
    return [(level, level >= exact(goal["protection"]))]


# --- a population -----------------------------------------------------------------------------------------------------


def people_behind(group, table, s):
    return sum(table.people[row[s]] for row in group)


def k_map(goal, group, table, sensitive):
    people = people_behind(group, table, sensitive[0])
    return [(people, people >= goal["k"])]


def population_risk(goal, group, table, sensitive):
    """Persons, each with the mean weight of the rows; weights are what the table knows as people."""
    mean = people_behind(group, table, sensitive[0]) / len(group)
    risk = individual_risk(len(persons(group)), mean * len(persons(group)))
    return [(risk, risk <= goal["threshold"] + 1e-9)]


def global_risk(goal, table):
    """The mean over persons of their risk in the class where it is largest."""
    risk = defaultdict(float)
    for group in table.classes().values():
        ((level, _),) = population_risk({"threshold": 1}, group, table, ["s"])
        for person in persons(group):
            risk[person] = max(risk[person], level)
    level = sum(risk.values()) / len(risk)
    return [(level, level <= goal["limit"] + 1e-9)]


def delta_presence(goal, group, table, sensitive):
    people = people_behind(group, table, sensitive[0])
    chance = min(Fraction(1), Fraction(len(persons(group)), people)) if people else Fraction(1)
    found = [(chance, chance <= exact(goal["delta_max"]))]
    return [*found, (chance, chance >= exact(goal["delta_min"]))] if goal.get("delta_min") else found


def confident_presence(goal, group, table, sensitive):
    size, others = len(persons(group)), max(0, goal["people"] - len(persons(table.rows)))
    p = min(1.0, people_behind(group, table, sensitive[0]) / table.n_file)
    low, high = exact(goal.get("delta_min") or 0), exact(goal["delta_max"])
    kept = [x for x in range(others + 1) if low <= Fraction(size, size + x) <= high]
    inside = math.fsum(_binomial(others, x, p) for x in kept)
    return [(inside, inside >= goal["c"] - 1e-9)]


def _binomial(n, x, p):
    if p in (0.0, 1.0):
        return float(x == n * p)
    ways = math.lgamma(n + 1) - math.lgamma(x + 1) - math.lgamma(n - x + 1)
    return math.exp(ways + x * math.log(p) + (n - x) * math.log(1 - p))


# --- the whole table --------------------------------------------------------------------------------------------------


def average_risk(goal, table):
    """The mean over persons of their chance in the class where it is largest."""
    chance = defaultdict(Fraction)
    for group in table.classes().values():
        for person in persons(group):
            chance[person] = max(chance[person], Fraction(1, len(persons(group))))
    level = sum(chance.values()) / len(chance)
    return [(level, level <= exact(goal["limit"]))]


def sample_uniqueness(goal, table):
    alone = {person for group in table.classes().values() if len(persons(group)) == 1 for person in persons(group)}
    level = Fraction(len(alone), len(persons(table.rows)))
    return [(level, level <= exact(goal["limit"]))]


OF_TABLE = {"average-risk": average_risk, "sample-uniqueness": sample_uniqueness, "global-risk": global_risk}
OF_CLASS = {
    "alpha-k-anonymity": alpha_k,
    "beta-likeness": beta,
    "c-confident-delta-presence": confident_presence,
    "confidence-bounding": confidence,
    "delta-disclosure": delta,
    "delta-presence": delta_presence,
    "em-anonymity": em,
    "k-anonymity": k_anonymity,
    "k-concealment": k_anonymity,  # of these four, classes of k persons are what is known without pairs
    "k-map": k_map,
    "k-one-anonymity": k_anonymity,
    "ke-anonymity": ke,
    "kk-anonymity": k_anonymity,
    "l-diversity": l_diversity,
    "l-plus-diversity": l_plus,
    "lkc-privacy": lkc,
    "m-confidentiality": m_confidential,
    "multi-l-diversity": multi_l,
    "one-k-anonymity": k_anonymity,
    "p-alpha-sensitive-k-anonymity": p_alpha,
    "p-plus-sensitive-k-anonymity": p_plus,
    "p-sensitive-k-anonymity": p_sensitive,
    "personalized-privacy": personalized,
    "population-risk": population_risk,
    "t-closeness": t_closeness,
    "wgp": wgp,
    "xy-anonymity": xy_anonymity,
    "xy-privacy": xy_privacy,
}


def judge(goal, group, table, sensitive):
    """[(level, holds)] of every condition of a goal, for one class of a table."""
    return OF_CLASS[goal["model"]](goal, group, table, sensitive)
