"""Slow, independent judges of class-based models, written from their definitions: dictionaries and exact fractions.

Nothing here comes from the package. A condition is (name, level, holds); a model may have several.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, permutations

from oracle import entropy, entropy_holds, exact, least_c

INFINITE = math.inf


def check(goal, rows, quasi, *, sensitive, original=None, numbers=None, tree=None, person=None):
    """(holds, level shown) of a goal on published rows: the first condition that fails, or else the first."""
    found = table_conditions(
        goal, rows, quasi, sensitive=sensitive, original=original, numbers=numbers, tree=tree, person=person
    )
    shown = next((c for c in found if not c[2]), found[0])
    return all(holds for _, _, holds in found), shown[1]


def table_conditions(goal, rows, quasi, *, sensitive, original=None, numbers=None, tree=None, person=None):
    """The worst level of every condition over the groups that the model looks at."""
    context = Context(goal, sensitive, original or rows, numbers or {}, tree or {}, person)
    judge = TABLE.get(goal["model"])
    if judge is not None:
        return judge(context, list(group_by(rows, quasi).values()))
    groupings = GROUPINGS.get(goal["model"], lambda context, quasi: [quasi])(context, quasi)
    found = [CLASS[goal["model"]](context, g) for columns in groupings for g in group_by(rows, columns).values()]
    return [_worst([conditions[i] for conditions in found]) for i in range(len(found[0]))]


def _worst(same):
    """The condition that is hardest met: a failing one if any, and there the most extreme level."""
    at_least = same[0][0] in ("p", "k", "weight", "e", "m", "protection", "l", "y", "delta_min", "confidence")
    failing = [c for c in same if not c[2]] or same
    return (min if at_least else max)(failing, key=lambda c: c[1])


def group_by(rows, columns):
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[c] for c in columns)].append(row)
    return dict(groups)


class Context:
    def __init__(self, goal, sensitive, original, numbers, tree, person):
        self.goal, self.original, self.numbers, self.tree, self.person = goal, original, numbers, tree, person
        named = goal.get("sensitive")
        self.sensitive = [named] if isinstance(named, str) else list(named or sensitive)

    def crowd(self, group):
        return len({row[self.person] for row in group}) if self.person else len(group)

    def k(self, group):
        return "k", self.crowd(group), self.crowd(group) >= self.goal["k"]

    def number(self, value):
        return exact(self.numbers[value]) if value in self.numbers else exact(value)


def share(group, column, value):
    return Fraction(sum(row[column] == value for row in group), len(group))


# --- conditions of one class ----------------------------------------------------------------------------------------


def p_sensitive(context, group):
    fewest = min(len({row[s] for row in group}) for s in context.sensitive)
    return [("p", fewest, fewest >= context.goal["p"]), context.k(group)]


def category_of(context, value):
    """(position, number of categories); None for a value that was named in no category."""
    categories = context.goal.get("categories")
    if categories is not None:
        found = [i for i, values in enumerate(categories) if value in values]
        return (found[0] if found else None), len(categories)
    leaves = [x for x in context.tree if x not in context.tree.values()]
    order = list(dict.fromkeys(ancestor(context.tree, leaf, context.goal.get("level", 1)) for leaf in leaves))
    return order.index(ancestor(context.tree, value, context.goal.get("level", 1))), len(order)


def height(tree, node):
    below = [child for child, parent in tree.items() if parent == node]
    return 1 + max(height(tree, child) for child in below) if below else 0


def ancestor(tree, leaf, level):
    node = leaf
    while node in tree and height(tree, tree[node]) <= level:
        node = tree[node]
    return node


def p_plus(context, group):
    (s,) = context.sensitive
    n = len({category_of(context, row[s])[0] for row in group})
    return [("p", n, n >= context.goal["p"]), context.k(group)]


def p_alpha(context, group):
    (s,) = context.sensitive
    weight = Fraction(0)
    for row in group:
        place, n = category_of(context, row[s])
        weight += Fraction(place, n - 1) if place is not None else 0
    distinct = len({row[s] for row in group})
    return [
        ("weight", weight, weight >= exact(context.goal["alpha"])),
        ("p", distinct, distinct >= context.goal["p"]),
        context.k(group),
    ]


def top_share(context, group, columns, values=None):
    return max(
        (share(group, s, v) for s in columns for v in {r[s] for r in group} if values is None or v in values),
        default=Fraction(0),
    )


def alpha_k(context, group):
    top = top_share(context, group, context.sensitive, context.goal.get("values"))
    return [("alpha", top, top <= exact(context.goal["alpha"])), context.k(group)]


def below(level, limit, strict):
    return level < exact(limit) if strict else level <= exact(limit)


def xy_privacy(context, group):
    y = context.goal.get("y")
    columns = [y] if isinstance(y, str) else list(y or context.sensitive)
    top = top_share(context, group, columns)
    return [("h", top, below(top, context.goal["h"], context.goal.get("strict", True))), context.k(group)]


def xy_anonymity(context, group):
    y = context.goal.get("y")
    columns = [y] if isinstance(y, str) else list(y or ())
    n = len({tuple(row[c] for c in columns) for row in group}) if columns else context.crowd(group)
    return [("y", n, n >= context.goal["k"])]


def ke(context, group):
    (s,) = context.sensitive
    values = {context.number(row[s]) for row in group}
    span = max(values) - min(values)
    return [("e", span, span >= exact(context.goal["e"])), ("k", len(values), len(values) >= context.goal["k"])]


def em(context, group):
    (s,) = context.sensitive
    values = [context.number(row[s]) for row in group]
    epsilon = exact(context.goal["epsilon"])
    near = 0
    for x in values:
        reach = epsilon * abs(x) if context.goal.get("relative") else epsilon
        near = max(near, sum(abs(y - x) <= reach for y in values))
    level = Fraction(len(values), near)
    return [("m", level, level >= exact(context.goal["m"]))]


def wgp(context, group):
    (s,) = context.sensitive
    width, known = context.goal.get("width"), context.goal.get("known", 0)
    if width is None:
        places = [ancestor(context.tree, row[s], context.goal.get("level", 0)) for row in group]
        inside = list(Counter(places).values())
    else:
        values = [context.number(row[s]) for row in group]
        inside = [sum(x <= y <= x + exact(width) for y in values) for x in values]
    n = len(group)
    level = 1 - max(Fraction(i, n - min(known, n - i)) for i in inside)
    return [("protection", level, level >= exact(context.goal["protection"]))]


def beta(context, group):
    gain, over = Fraction(0), 0
    for s in context.sensitive:
        for value in {row[s] for row in group}:
            p, q = share(context.original, s, value), share(group, s, value)
            if q > p:
                gain = max(gain, (q - p) / p)
                over += (q - p) / p > -math.log(p) + 1e-12
    found = [("beta", gain, gain <= exact(context.goal["beta"]))]
    return [*found, ("cap", over, over == 0)] if context.goal.get("enhanced") else found


def delta(context, group):
    level = 0.0
    for s in context.sensitive:
        for value in {row[s] for row in context.original}:
            p, q = share(context.original, s, value), share(group, s, value)
            level = max(level, abs(math.log(q / p)) if q else INFINITE)
    return [("delta", level, level < context.goal["delta"] - 1e-12)]


def l_plus(context, group):
    (s,) = context.sensitive
    limits = dict(context.goal["thresholds"])
    level = max((share(group, s, v) / exact(limit) for v, limit in limits.items()), default=Fraction(0))
    return [("threshold", level, level <= 1)]


def multi_l(context, group):
    levels = []
    for s in context.sensitive:
        others = [o for o in context.sensitive if o != s] if context.goal.get("mode", "def8") == "def8" else []
        levels += [_diversity(context.goal, Counter(r[s] for r in part)) for part in group_by(group, others).values()]
    return [_worst([("c" if "c" in context.goal else "l", level, holds) for level, holds in levels])]


def _diversity(goal, counts):
    variant = goal.get("variant", "distinct")
    if variant == "distinct":
        return len(counts), len(counts) >= goal["l"]
    if variant == "entropy":
        return math.exp(entropy(counts)), entropy_holds(counts, goal["l"])
    level = least_c(counts, goal["l"])
    return level, level < exact(goal["c"])


def lkc(context, group):
    top = top_share(context, group, context.sensitive, context.goal.get("values"))
    return [("c", top, top <= exact(context.goal["c"])), context.k(group)]


# --- conditions of a whole table ------------------------------------------------------------------------------------


def average_risk(context, groups):
    n = sum(map(len, groups))
    level = sum(Fraction(1, context.crowd(g)) for g in groups for _ in g) / n
    return [("risk", level, level <= exact(context.goal["limit"]))]


def sample_uniqueness(context, groups):
    n = sum(map(len, groups))
    level = Fraction(sum(len(g) for g in groups if context.crowd(g) == 1), n)
    return [("unique", level, level <= exact(context.goal["limit"]))]


def confidence_bounding(context, groups):
    (s,) = context.sensitive
    goal = context.goal
    found = []
    for rule in goal.get("templates") or [goal]:
        x = rule.get("x")
        parts = group_by([row for g in groups for row in g], x).values() if x else groups
        top = max(share(part, s, rule["s"]) for part in parts)
        found.append(("h", top, below(top, rule["h"], goal.get("strict", True))))
    return found


def ck_safety(context, groups):
    level = max(worst_disclosure([[r[s] for r in g] for g in groups], context.goal["k"]) for s in context.sensitive)
    return [("c", level, level < exact(context.goal["c"]))]


def worlds_of(groups):
    """Every way to hand out the values of each class to its persons, equally likely."""
    found = [()]
    for values in groups:
        found = [(*world, *shuffled) for world in found for shuffled in permutations(values)]
    return found


def atoms_of(groups):
    """(person, value) pairs that are possible."""
    atoms, first = [], 0
    for values in groups:
        atoms += [(first + i, v) for i in range(len(values)) for v in sorted(set(values))]
        first += len(values)
    return atoms


def worst_disclosure(groups, k):
    """The largest Pr(A | A1 -> A, ..., Aj -> A), j <= k, by going through all worlds and all sets of atoms."""
    worlds, atoms = worlds_of(groups), atoms_of(groups)
    best = Fraction(0)
    for a in atoms:
        rest = [x for x in atoms if x != a]
        for others in (chosen for j in range(k + 1) for chosen in combinations(rest, j)):
            true = sum(w[a[0]] == a[1] for w in worlds)
            clear = sum(all(w[p] != v for p, v in (a, *others)) for w in worlds)
            best = max(best, Fraction(true, true + clear))
    return best


def worst_disclosure_of_any_implication(groups):
    """The largest Pr(C | A -> B) over all atoms A, B, C: the definition for k = 1, without any theorem."""
    worlds, atoms = worlds_of(groups), atoms_of(groups)
    best = Fraction(0)
    for a in atoms:
        for b in atoms:
            left = [w for w in worlds if w[a[0]] != a[1] or w[b[0]] == b[1]]
            best = max(best, *(Fraction(sum(w[p] == v for w in left), len(left)) for p, v in atoms if left))
    return best


def people_behind(context, group):
    """People of the population who have exactly what a record has; every record is of a combination of its own."""
    return sum(context.goal["people_of"][row[context.sensitive[0]]] for row in group)


def k_map(context, group):
    people = people_behind(context, group)
    return [("k", people, people >= context.goal["k"])]


def population_risk(context, group):
    risk = individual_risk(len(group), math.fsum(weights_of(context, group)))
    return [("risk", risk, risk <= context.goal["threshold"] + 1e-9)]


def global_risk(context, groups):
    """Links every record once, and counts how many links are right in expectation."""
    right = math.fsum(individual_risk(len(g), math.fsum(weights_of(context, g))) for g in groups for _ in g)
    level = right / sum(map(len, groups))
    return [("risk", level, level <= context.goal["limit"] + 1e-9)]


def weights_of(context, group):
    return [context.goal["weight_of"][row[context.sensitive[0]]] for row in group]


def individual_risk(f, people):
    """Adds up 1/h over every number h that the people may be, by its negative binomial chance."""
    p = min(1.0, f / max(people, 1e-300))
    if p == 1:
        return 1 / f
    chance, total, missing, h = p**f, 0.0, 1.0, f
    while missing > 1e-13 and h < 10_000_000:
        total += chance / h
        missing -= chance
        chance *= (1 - p) * h / (h + 1 - f)
        h += 1
    return total


def delta_presence(context, group):
    goal, people = context.goal, people_behind(context, group)
    chance = min(Fraction(1), Fraction(len(group), people)) if people else Fraction(1)
    found = [("delta_max", chance, chance <= exact(goal["delta_max"]))]
    if goal.get("delta_min"):
        found.append(("delta_min", chance, chance >= exact(goal["delta_min"])))
    return found


def confident_presence(context, group):
    """Sums binomial chances over every number of other people that keeps the chance within its limits."""
    goal, size = context.goal, len(group)
    others = max(0, goal["people"] - len(context.original))
    p = min(1.0, people_behind(context, group) / goal["file"])
    low, high = exact(goal.get("delta_min") or 0), exact(goal["delta_max"])
    kept = [x for x in range(others + 1) if low <= Fraction(size, size + x) <= high]
    inside = math.fsum(binomial(others, x, p) for x in kept)
    return [("confidence", inside, inside >= goal["c"] - 1e-9)]


def binomial(n, x, p):
    if p in (0.0, 1.0):
        return float(x == n * p)
    ways = math.lgamma(n + 1) - math.lgamma(x + 1) - math.lgamma(n - x + 1)
    return math.exp(ways + x * math.log(p) + (n - x) * math.log(1 - p))


def personalized(context, group):
    """Share of the class under the node that each of its people guards."""
    worst = Fraction(0)
    for row in group:
        node = context.goal["guards"][row[context.sensitive[0]]]
        if node is not None:
            under = [r for r in group if is_under(context.tree, r[context.sensitive[0]], node)]
            worst = max(worst, Fraction(len(under), len(group)))
    return [("breach", worst, worst <= exact(context.goal["limit"]))]


def is_under(tree, value, node):
    while value != node and value in tree:
        value = tree[value]
    return value == node


def m_confidential(context, group):
    values = context.goal.get("values") or {row[context.sensitive[0]] for row in group}
    top = max(share(group, context.sensitive[0], v) for v in values)
    return [("share", top, top <= Fraction(1, context.goal["m"])), context.k(group)]


CLASS = {
    "k-map": k_map,
    "population-risk": population_risk,
    "delta-presence": delta_presence,
    "c-confident-delta-presence": confident_presence,
    "personalized-privacy": personalized,
    "m-confidentiality": m_confidential,
    "p-sensitive-k-anonymity": p_sensitive,
    "p-plus-sensitive-k-anonymity": p_plus,
    "p-alpha-sensitive-k-anonymity": p_alpha,
    "alpha-k-anonymity": alpha_k,
    "xy-anonymity": xy_anonymity,
    "xy-privacy": xy_privacy,
    "ke-anonymity": ke,
    "em-anonymity": em,
    "wgp": wgp,
    "beta-likeness": beta,
    "delta-disclosure": delta,
    "l-plus-diversity": l_plus,
    "multi-l-diversity": multi_l,
    "lkc-privacy": lkc,
}
TABLE = {
    "average-risk": average_risk,
    "global-risk": global_risk,
    "sample-uniqueness": sample_uniqueness,
    "confidence-bounding": confidence_bounding,
    "ck-safety": ck_safety,
}


def _x(context, quasi):
    return [context.goal.get("x") or quasi]


def _up_to_l(context, quasi):
    return [c for n in range(1, min(context.goal["l"], len(quasi)) + 1) for c in combinations(quasi, n)]


GROUPINGS = {"xy-anonymity": _x, "xy-privacy": _x, "lkc-privacy": _up_to_l}
