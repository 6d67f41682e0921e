"""A slow, independent judge of releases: plain dictionaries and exact fractions, nothing from the package.

Rows are dictionaries. Numbers given as floats are taken as the decimals they are written with (0.1 is 1/10).
Trees are dictionaries from child label to parent label; leaves are the labels that are nobody's parent.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise

INFINITE = math.inf


# --- privacy models -------------------------------------------------------------------------------------------------


def classes_of(rows, quasi):
    """Rows by their published quasi-identifiers."""
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in quasi)].append(row)
    return dict(groups)


def check(rows, quasi, goals, *, sensitive=(), orders=None, trees=None, original=None):
    """[(holds, achieved)] of every goal, a dictionary as in a policy: {"model": "l-diversity", "l": 3, ...}.

    Args:
        sensitive: columns that a goal without `sensitive` speaks of.
        orders: values of a sensitive column in order, for the ordered distance.
        trees: parent by child of a sensitive column, for the hierarchical distance.
        original: rows that define the table's distribution; default the rows themselves.
    """
    groups = list(classes_of(rows, quasi).values())
    return [_judge(groups, goal, sensitive, orders or {}, trees or {}, original or rows) for goal in goals]


def _judge(groups, goal, sensitive, orders, trees, original):
    if not groups:
        return True, math.nan
    if goal["model"] == "k-anonymity":
        smallest = min(map(len, groups))
        return smallest >= goal["k"], smallest
    names = goal.get("sensitive") or sensitive
    results = []
    for name in [names] if isinstance(names, str) else names:
        table = Counter(row[name] for row in original)
        for group in groups:
            counts = Counter(row[name] for row in group)
            if goal["model"] == "l-diversity":
                if not goal.get("missing_counts"):
                    counts.pop(None, None)  # an empty cell adds to no diversity
                results.append(_diversity(counts, goal, len(group)))
            elif goal["model"] == "t-closeness":
                results.append(_closeness(counts, table, goal, orders.get(name), trees.get(name)))
            else:
                raise ValueError(goal["model"])
    at_least = goal["model"] == "l-diversity" and goal.get("variant", "distinct") in ("distinct", "entropy")
    achieved = (min if at_least else max)(level for _, level in results)
    return all(holds for holds, _ in results), achieved


def _diversity(counts, goal, size):
    variant = goal.get("variant", "distinct")
    if not counts:
        return False, INFINITE if "c" in goal else 0
    if variant == "distinct":
        return len(counts) >= goal["l"], len(counts)
    if variant == "entropy":
        return entropy_holds(counts, goal["l"]), math.exp(entropy(counts))
    level = least_c(counts, int(goal["l"]), set(goal.get("allowed") or ()))
    if any(Fraction(counts[s], size) < exact(goal["c2"]) for s in goal.get("forbidden") or ()):
        level = INFINITE
    return level < exact(goal["c"]), level


def entropy(counts):
    """Shannon entropy in nats."""
    size = sum(counts.values())
    return -math.fsum(n / size * math.log(n / size) for n in counts.values())


def entropy_holds(counts, l):  # noqa: E741
    """entropy >= ln l, decided in whole numbers: n^n >= l^n * prod(r^r)."""
    size = sum(counts.values())
    bound = exact(l) ** size * math.prod(n**n for n in counts.values())
    return size**size >= bound


def least_c(counts, l, allowed=frozenset()):  # noqa: E741
    """Infimum of the c of (positive-disclosure) recursive (c, l)-diversity, by the ranks of the definition."""
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    r = [None] + [n for _, n in ranked]  # r[1] >= r[2] >= ...
    m = len(ranked)
    open_ranks = [rank for rank, (value, _) in enumerate(ranked, start=1) if value not in allowed]
    if not open_ranks:
        return Fraction(0)
    y = open_ranks[0]
    tail = sum(r[l:]) if y <= l - 1 else sum(r[j] for j in range(l - 1, m + 1) if j != y)
    return Fraction(r[y], tail) if tail else INFINITE


def _closeness(counts, table, goal, order, tree):
    distance = goal.get("distance", "equal")
    p, q = shares(counts), shares(table)
    if distance == "equal":
        level = equal_emd(p, q)
    elif distance == "ordered":
        level = ordered_emd(p, q, order or sorted(table))
    else:
        level = tree_emd(p, q, tree)
    return level <= exact(goal["t"]), level


def shares(counts):
    """Exact distribution of counts."""
    size = sum(counts.values())
    return {value: Fraction(n, size) for value, n in counts.items()}


def equal_emd(p, q):
    """Half the absolute differences."""
    return sum(abs(p.get(v, 0) - q.get(v, 0)) for v in p.keys() | q.keys()) / Fraction(2)


def ordered_emd(p, q, order):
    """Sum of absolute cumulative differences over m - 1."""
    total, running = Fraction(0), Fraction(0)
    for value in order:
        running += p.get(value, 0) - q.get(value, 0)
        total += abs(running)
    return total / (len(order) - 1) if len(order) > 1 else Fraction(0)


def tree_emd(p, q, tree):
    """Sum over inner nodes of height / tree height * min(positive, negative extra of the direct children)."""
    children = children_of(tree)
    root = root_of(tree)

    def walk(node):  # -> (height, extra, cost not yet divided by the height of the tree)
        if node not in children:
            return 0, p.get(node, 0) - q.get(node, 0), Fraction(0)
        parts = [walk(child) for child in children[node]]
        height = 1 + max(part[0] for part in parts)
        surplus = sum(part[1] for part in parts if part[1] > 0)
        deficit = -sum(part[1] for part in parts if part[1] < 0)
        cost = sum(part[2] for part in parts) + height * min(surplus, deficit)
        return height, surplus - deficit, cost

    height, _, cost = walk(root)
    return cost / height if height else Fraction(0)


def transport_emd(p, q, ground):
    """Earth mover's distance by successive shortest paths, for any ground distance: the definition itself."""
    supply = {("p", v): s for v, s in p.items() if s}
    demand = {("q", v): s for v, s in q.items() if s}
    flow = dict.fromkeys(((a, b) for a in supply for b in demand), Fraction(0))
    total = Fraction(0)
    while any(supply.values()):
        cost, path = _cheapest_path(supply, demand, flow, ground)
        amount = min([supply[path[0]], demand[path[-1]], *(flow[b, a] for a, b in _steps(path) if a[0] == "q")])
        for a, b in _steps(path):
            if a[0] == "p":
                flow[a, b] += amount
            else:
                flow[b, a] -= amount
        supply[path[0]] -= amount
        demand[path[-1]] -= amount
        total += amount * cost
    return total


def _steps(path):
    return list(pairwise(path))


def _cheapest_path(supply, demand, flow, ground):
    best = {a: (Fraction(0), [a]) for a, left in supply.items() if left}
    changed = True
    while changed:  # Bellman-Ford on the residual graph
        changed = False
        for (a, b), moved in flow.items():
            d = ground(a[1], b[1])
            for x, y, cost, usable in ((a, b, d, True), (b, a, -d, moved > 0)):
                if usable and x in best and (y not in best or best[x][0] + cost < best[y][0]):
                    best[y] = (best[x][0] + cost, [*best[x][1], y])
                    changed = True
    return min((best[b] for b, left in demand.items() if left and b in best), key=lambda found: found[0])


def exact(number):
    """The decimal a number is written as."""
    return number if isinstance(number, Fraction) else Fraction(repr(number))


# --- trees ----------------------------------------------------------------------------------------------------------


def children_of(tree):
    """Children by parent."""
    children = defaultdict(list)
    for child, parent in tree.items():
        children[parent].append(child)
    return dict(children)


def root_of(tree):
    """The label that has no parent."""
    (root,) = set(tree.values()) - set(tree)
    return root


def leaves_under(tree, label):
    """Leaves below a label; the label itself if it is a leaf."""
    children = children_of(tree)
    if label not in children:
        return {label}
    return set().union(*(leaves_under(tree, child) for child in children[label]))


# --- published cells ------------------------------------------------------------------------------------------------

NUMBER = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
MOMENT = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?"


def covers(published, original, *, tree=None):
    """Whether a published cell stands for the original value, among others or alone."""
    if published is not None and re.fullmatch(r"\*+", str(published)):
        return True
    if published is None or original is None:
        return published is None and original is None
    text = str(published)
    if tree is not None and text in set(tree) | set(tree.values()):
        return text_of(original) in leaves_under(tree, text)
    if isinstance(original, str) and re.fullmatch(r'"(?:[^"]|"")*"', text, re.DOTALL):
        return text[1:-1].replace('""', '"') == original
    if text.startswith(("{", "all but {")) and text.endswith("}"):
        return (text_of(original) in members(text.removeprefix("all but "))) == text.startswith("{")
    return text == text_of(original) or _in_interval(text, original) or _matches_mask(text, text_of(original))


def text_of(value):
    """An original value as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat()
    return value.isoformat() if isinstance(value, date) else str(value)


def members(text):
    """Members of a set such as {a, "b, c"}."""
    found = re.findall(r'(?:^|,)\s*(?:("(?:[^"]|"")*")|([^,"]*))', text[1:-1])
    return {quoted[1:-1].replace('""', '"') if quoted else plain.strip() for quoted, plain in found}


def _matches_mask(mask, text):
    return len(mask) == len(text) and all(m in ("*", t) for m, t in zip(mask, text, strict=True))


def _in_interval(text, original):
    if isinstance(original, (str, bool)):
        return False
    bounds = interval(text, original)
    if bounds is None:
        return False
    low, high, low_open, high_open = bounds
    value = _point(original)
    above = low is None or value > low or (value == low and not low_open)
    below = high is None or value < high or (value == high and not high_open)
    return above and below


def interval(text, like):
    """(low, high, low is open, high is open) of an interval cell in the type of `like`, None if it is none."""
    bound = MOMENT if isinstance(like, date) else NUMBER
    one = re.fullmatch(rf"\s*(<=|>=|<|>)\s*({bound})\s*", text)
    if one:
        x = _parse(one[2], like)
        return {"<": (None, x, 0, True), "<=": (None, x, 0, False), ">": (x, None, True, 0), ">=": (x, None, False, 0)}[
            one[1]
        ]
    two = re.fullmatch(rf"\s*([\[(]?)\s*({bound})\s*(?:,|-|\.\.|~)\s*({bound})\s*([\])\[]?)\s*", text)
    if two:
        return _parse(two[2], like), _parse(two[3], like), two[1] == "(", two[4] in (")", "[")
    exact_value = re.fullmatch(bound, text)
    return None if not exact_value else (_parse(text, like), _parse(text, like), False, False)


def _parse(text, like):
    if isinstance(like, date):
        return _point(datetime.fromisoformat(text))
    return Fraction(text)


def _point(value):
    if isinstance(value, datetime):
        return value
    return datetime(value.year, value.month, value.day) if isinstance(value, date) else Fraction(repr(value))


# --- loss -----------------------------------------------------------------------------------------------------------


def ncp(published, column, *, tree=None):
    """Normalised certainty penalty of a cell, given the original column (without its missing values)."""
    values = [v for v in column if v is not None]
    text = None if published is None else str(published)
    if text is not None and re.fullmatch(r"\*+", text):
        return Fraction(1)
    if text is None:
        return Fraction(0)
    if tree is not None and text in set(tree) | set(tree.values()):
        return _leaf_share(len(leaves_under(tree, text)), len(leaves_under(tree, root_of(tree))))
    if text.startswith("{"):
        return _leaf_share(len(members(text)), len(set(values)))
    bounds = None if isinstance(values[0], (str, bool)) else interval(text, values[0])
    if bounds is None:
        domain = {text_of(v) for v in values}
        is_mask = "*" in text and not text.startswith('"')
        return _leaf_share(sum(_matches_mask(text, v) for v in domain) if is_mask else 1, len(domain))
    points = [_point(v) for v in values]
    low, high = bounds[0], bounds[1]
    width = (max(points) if high is None else high) - (min(points) if low is None else low)
    spread = max(points) - min(points)
    return Fraction(0) if not spread else min(Fraction(1), _ratio(width, spread))


def _ratio(width, spread):
    return width / spread if isinstance(width, Fraction) else Fraction(width.total_seconds() / spread.total_seconds())


def _leaf_share(leaves, total):
    return Fraction(0) if leaves <= 1 else Fraction(leaves, total)


def gcp(published_rows, original_rows, quasi, *, trees=None, weights=None):
    """Weighted mean NCP over records; originals without a published row (suppressed) count 1."""
    weight = {name: exact((weights or {}).get(name, 1)) for name in quasi}
    columns = {name: list(dict.fromkeys(row[name] for row in original_rows)) for name in quasi}
    cells = Counter((name, row[name]) for row in published_rows for name in quasi)
    loss = sum(
        n * weight[name] * ncp(cell, columns[name], tree=(trees or {}).get(name)) for (name, cell), n in cells.items()
    )
    suppressed = len(original_rows) - len(published_rows)
    return (loss / sum(weight.values()) + suppressed) / len(original_rows)


def discernibility(class_sizes, k, n_rows):
    """Classes of at least k pay their square, every other record (small classes, suppressed) pays n_rows."""
    kept = [size for size in class_sizes if size >= k]
    return sum(size * size for size in kept) + (n_rows - sum(kept)) * n_rows


def average_class_size(class_sizes, k):
    """Records per class over k."""
    return Fraction(sum(class_sizes), len(class_sizes) * exact(k))
