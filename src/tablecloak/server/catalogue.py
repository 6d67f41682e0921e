"""Models and algorithms in plain words: groups of what they are for, those to start with, and a picture of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from tablecloak.report.render.markup import Html, Node, el

OTHERS = "Others"
# What a goal is for, and the models for it; those to start with come first.
MODEL_GROUPS: Mapping[str, Sequence[str]] = {
    "Nobody stands alone": (
        "k-anonymity", "k-concealment", "kk-anonymity", "one-k-anonymity", "k-one-anonymity", "average-risk",
        "sample-uniqueness", "population-risk", "global-risk",
    ),
    "What must not be learned is mixed": (
        "l-diversity", "t-closeness", "p-sensitive-k-anonymity", "alpha-k-anonymity", "beta-likeness",
        "delta-disclosure", "multi-l-diversity", "l-plus-diversity", "p-plus-sensitive-k-anonymity",
        "p-alpha-sensitive-k-anonymity", "confidence-bounding", "xy-anonymity", "xy-privacy", "lkc-privacy",
        "personalized-privacy",
    ),
    "Numbers that must not be learned lie apart": ("em-anonymity", "ke-anonymity", "wgp"),
    "Who is in the table at all stays open (needs a register)": (
        "k-map", "delta-presence", "c-confident-delta-presence",
    ),
    "It holds against somebody who knows more": ("m-confidentiality", "ck-safety"),
    "Sets of items": ("km-anonymity",),
}  # fmt: skip
# What a method does, by the folder that algorithms of its kind are in.
ALGORITHM_GROUPS = {
    "topdown": "Coarser only where it is needed",
    "fulldomain": "The same coarseness for a whole column",
    "clustering": "Similar records are put together",
    "closeness": "Classes are mixed like the table",
    "micro": "Numbers become the mean of a small group",
    "buckets": "Values stay exact, and the link to what is sensitive is cut",
    "one_pass": "One pass over a table larger than memory",
    "items": "Sets of items",
}
FIRST = ("k-anonymity", "l-diversity", "t-closeness", "auto", "flash", "mondrian", "mdav", "anatomy")


def group_of_model(name: str) -> str:
    """What a model is for."""
    return next((group for group, names in MODEL_GROUPS.items() if name in names), OTHERS)


def group_of_algorithm(kind: type) -> str:
    """What a method does."""
    return ALGORITHM_GROUPS.get(kind.__module__.split(".")[-2] if "." in kind.__module__ else "", OTHERS)


def in_order(names: Sequence[str], group: str) -> list[str]:
    """The things of a group: those to start with, then as they are listed, then by name."""
    listed = list(MODEL_GROUPS.get(group, ()))
    return sorted(names, key=lambda n: (n not in FIRST, listed.index(n) if n in listed else len(listed), n))


# --- pictures: 96 by 48, drawn with the classes one, two, three, line and box ---------------------------------------

WIDE, HIGH = 96, 48
GREY, STRONG, WARM = "one", "two", "three"
Picture = Callable[[], Node]


def _dot(x: float, y: float, kind: str = GREY, r: float = 4.0) -> Html:
    return el("circle", class_=kind, cx=x, cy=y, r=r)


def _box(x: float, y: float, wide: float, high: float, kind: str = "box") -> Html:
    return el("rect", class_=kind, x=x, y=y, width=wide, height=high, rx=4)


def _line(x1: float, y1: float, x2: float, y2: float) -> Html:
    return el("line", class_="line", x1=x1, y1=y1, x2=x2, y2=y2)


def _groups(*kinds: str) -> Node:
    """Two groups of dots that look alike; the second has dots of other kinds."""
    left = [_dot(12 + 13 * (i % 3), 15 + 17 * (i // 3)) for i in range(6)]
    right = [_dot(60 + 13 * (i % 3), 15 + 17 * (i // 3), kind) for i, kind in enumerate(kinds or (GREY,) * 6)]
    return [_box(2, 5, 44, 38), _box(50, 5, 44, 38), left, right]


def _links(n_left: int, n_right: int, *, both: bool = True) -> Node:
    """Persons on the left, rows on the right, and which could be which."""
    left = [8 + 32 * i / max(1, n_left - 1) for i in range(n_left)] if n_left > 1 else [24.0]
    right = [8 + 32 * i / max(1, n_right - 1) for i in range(n_right)] if n_right > 1 else [24.0]
    lines = [_line(22, a, 74, b) for i, a in enumerate(left) for j, b in enumerate(right) if both or abs(i - j) < 2]
    return [lines, [_dot(20, y, STRONG) for y in left], [_box(72, y - 4, 16, 8, GREY) for y in right]]


def _bars(group: Sequence[int], table: Sequence[int], limit: float | None = None) -> Node:
    """Shares in a group beside shares in the table, perhaps under a limit."""
    drawn = [
        _box(x + 12 * i, 42 - value, 9, value, kind)
        for x, values, kind in ((6, group, STRONG), (56, table, GREY))
        for i, value in enumerate(values)
    ]
    return [drawn, _line(2, 42, 94, 42), _line(2, 42 - limit, 46, 42 - limit) if limit else None]


def _meter(share: float) -> Node:
    """A share that stays below a limit."""
    return [_box(6, 18, 84, 12, "box"), _box(6, 18, 84 * share, 12, STRONG), _line(6 + 84 * 0.7, 10, 6 + 84 * 0.7, 38)]


def _ruler(places: Sequence[float], width: float = 0) -> Node:
    """Numbers on a line, and the reach around one of them."""
    reach = _box(places[0] - width, 14, 2 * width, 20) if width else None
    return [_line(4, 24, 92, 24), reach, [_dot(x, 24, STRONG) for x in places]]


def _register(n_in: int) -> Node:
    """A table inside a larger population."""
    crowd = [_dot(10 + 13 * (i % 7), 12 + 12 * (i // 7), r=3) for i in range(21)]
    inside = [_dot(36 + 13 * (i % 3), 12 + 12 * (i // 3), STRONG, r=3) for i in range(n_in)]
    return [_box(28, 4, 42, 40), crowd, inside]


def _knowing() -> Node:
    """Somebody who rules out a value, and still does not know."""
    return [_groups(STRONG, WARM, GREY, STRONG, WARM, GREY), _line(54, 10, 66, 22), _line(66, 10, 54, 22)]


def _baskets() -> Node:
    """Sets that share items."""
    rows = ((STRONG, WARM, GREY), (STRONG, WARM), (STRONG, WARM, GREY))
    return [
        [_box(4 + 31 * i, 6, 26, 36), [_dot(17 + 31 * i, 14 + 10 * j, kind) for j, kind in enumerate(kinds)]]
        for i, kinds in enumerate(rows)
    ]


SCATTER = ((10, 12), (18, 30), (26, 16), (36, 38), (44, 10), (52, 28), (62, 14), (70, 36), (80, 20), (88, 40))


def _cuts(*lines: tuple[float, float, float, float]) -> Node:
    """Records on a plane that is cut."""
    return [_box(2, 4, 92, 40), [_line(*line) for line in lines], [_dot(x, y, STRONG, 3) for x, y in SCATTER]]


def _clusters(*circles: tuple[float, float, float]) -> Node:
    """Records on a plane with circles around those that are alike."""
    return [[el("circle", class_="box", cx=x, cy=y, r=r) for x, y, r in circles],
            [_dot(x, y, STRONG, 3) for x, y in SCATTER]]  # fmt: skip


LATTICE = ((48, 43), (26, 31), (70, 31), (26, 17), (48, 24), (70, 17), (48, 5))
EDGES = ((0, 1), (0, 2), (1, 3), (1, 4), (2, 4), (2, 5), (3, 6), (4, 6), (5, 6))


def _lattice(*strong: int) -> Node:
    """Levels of all columns together, and the nodes that a search looks at."""
    edges = [_line(*LATTICE[a], *LATTICE[b]) for a, b in EDGES]
    return [edges, [_dot(x, y, STRONG if i in strong else GREY) for i, (x, y) in enumerate(LATTICE)]]


def _tables(*links: tuple[int, int]) -> Node:
    """Two tables side by side and which rows of them are linked."""
    rows = [_box(x, 6 + 13 * i, 34, 9, kind) for i in range(3) for x, kind in ((4, GREY), (58, STRONG))]
    return [rows, [_line(38, 10 + 13 * a, 58, 10 + 13 * b) for a, b in links]]


def _grid(*hidden: int) -> Node:
    """A table of cells, some of which are hidden."""
    return [_box(6 + 22 * (i % 4), 5 + 13 * (i // 4), 18, 10, "box" if i in hidden else GREY) for i in range(12)]


def _circle() -> Node:
    spots = ((48, 6), (66, 12), (72, 27), (62, 40), (42, 42), (27, 34), (26, 18), (34, 9))
    return [el("circle", class_="box", cx=48, cy=24, r=20), [_dot(x, y, STRONG, 3.5) for x, y in spots]]


def _tree() -> Node:
    edges = ((48, 8, 24, 24), (48, 8, 72, 24), (24, 24, 12, 40), (24, 24, 36, 40), (72, 24, 60, 40), (72, 24, 84, 40))
    ends = {(x2, y2) for _, _, x2, y2 in edges}
    return [[_line(*edge) for edge in edges], [_dot(x, y, GREY if y > 30 else STRONG) for x, y in sorted(ends)],
            _dot(48, 8, STRONG)]  # fmt: skip


MIXED = (STRONG, WARM, GREY, WARM, GREY, STRONG)
MODEL_PICTURES: Mapping[str, Picture] = {
    "k-anonymity": _groups,
    "k-concealment": partial(_links, 3, 3),
    "kk-anonymity": partial(_links, 3, 3, both=False),
    "one-k-anonymity": partial(_links, 1, 3),
    "k-one-anonymity": partial(_links, 3, 1),
    "average-risk": partial(_meter, 0.5),
    "sample-uniqueness": partial(_meter, 0.2),
    "l-diversity": partial(_groups, *MIXED),
    "t-closeness": partial(_bars, (28, 17, 9), (26, 18, 10)),
    "p-sensitive-k-anonymity": partial(_groups, STRONG, WARM, STRONG, STRONG, WARM, STRONG),
    "alpha-k-anonymity": partial(_bars, (16, 14, 12), (30, 8, 6), 20),
    "beta-likeness": partial(_bars, (20, 17, 9), (16, 18, 10), 24),
    "delta-disclosure": partial(_bars, (24, 20, 12), (26, 18, 10)),
    "multi-l-diversity": partial(_groups, STRONG, WARM, GREY, STRONG, WARM, GREY),
    "l-plus-diversity": partial(_bars, (14, 20, 8), (12, 22, 10), 24),
    "p-plus-sensitive-k-anonymity": partial(_groups, STRONG, STRONG, WARM, WARM, GREY, GREY),
    "p-alpha-sensitive-k-anonymity": partial(_groups, WARM, STRONG, GREY, GREY, STRONG, GREY),
    "confidence-bounding": partial(_bars, (15, 12, 12), (20, 12, 9), 18),
    "xy-anonymity": partial(_links, 1, 4),
    "xy-privacy": partial(_bars, (12, 12, 12), (24, 10, 6), 16),
    "lkc-privacy": partial(_groups, GREY, STRONG, GREY, WARM, GREY, GREY),
    "personalized-privacy": _tree,
    "em-anonymity": partial(_ruler, (20, 38, 58, 80), 10),
    "ke-anonymity": partial(_ruler, (10, 34, 62, 86)),
    "wgp": partial(_ruler, (24, 30, 66, 84), 16),
    "k-map": partial(_register, 3),
    "delta-presence": partial(_register, 5),
    "c-confident-delta-presence": partial(_register, 6),
    "m-confidentiality": _knowing,
    "ck-safety": _knowing,
    "km-anonymity": _baskets,
    "population-risk": partial(_register, 4),
    "global-risk": partial(_meter, 0.4),
}
CUT_IN_TWO = (48, 4, 48, 44)
ALGORITHM_PICTURES: Mapping[str, Picture] = {
    "auto": partial(_cuts, (30, 4, 30, 44), (58, 4, 58, 44), (2, 24, 30, 24), (58, 26, 94, 26)),
    "mondrian": partial(_cuts, CUT_IN_TWO, (2, 24, 48, 24), (48, 24, 94, 24)),
    "single-dimensional": partial(_cuts, CUT_IN_TWO, (2, 24, 94, 24)),
    "bins": partial(_cuts, (30, 4, 30, 44), (62, 4, 62, 44), (2, 24, 94, 24)),
    "tds": _tree,
    "ring": _circle,
    "suppression": partial(_grid, 1, 6, 7, 8),
    "flash": partial(_lattice, 0, 1, 4),
    "optimal": partial(_lattice, 4),
    "ola": partial(_lattice, 1, 2, 4),
    "incognito": partial(_lattice, 0, 1, 2),
    "best-first": partial(_lattice, 0, 2, 5),
    "datafly": partial(_lattice, 0, 1, 3, 6),
    "levels": partial(_lattice, 5),
    "mdav": partial(_clusters, (17, 19, 16), (78, 30, 18)),
    "v-mdav": partial(_clusters, (17, 19, 16), (72, 27, 23)),
    "univariate": partial(_ruler, (10, 16, 22, 48, 54, 60, 84, 90), 12),
    "disk-clustering": partial(_clusters, (20, 20, 16), (48, 24, 18), (78, 28, 17)),
    "apriori": _baskets,
    "anatomy": partial(_tables, (0, 0), (0, 1), (1, 0), (1, 1), (2, 2)),
    "slicing": partial(_tables, (0, 1), (1, 0), (2, 2)),
    "permutation": partial(_tables, (0, 2), (1, 0), (2, 1)),
    "swapping": partial(_tables, (0, 1), (1, 0), (2, 2)),
}
# Methods of a family whose members differ in how they search, not in what comes out.
FAMILY_PICTURES: Mapping[str, Picture] = {
    "topdown": partial(_cuts, CUT_IN_TWO),
    "fulldomain": partial(_lattice, 4),
    "clustering": partial(_clusters, (17, 19, 16), (48, 24, 18), (78, 28, 18)),
    "closeness": partial(_clusters, (17, 19, 16), (48, 24, 16), (79, 28, 16)),
    "micro": partial(_clusters, (17, 19, 16), (78, 30, 18)),
    "buckets": partial(_tables, (0, 1), (1, 2), (2, 0)),
}


@cache
def picture_of(name: str, family: str = "") -> Html:
    """What a model or method does, as a picture; the sentence beside it says it in words."""
    draw = MODEL_PICTURES.get(name) or ALGORITHM_PICTURES.get(name) or FAMILY_PICTURES.get(family) or _groups
    return el("svg", draw(), class_="what", viewBox=f"0 0 {WIDE} {HIGH}", aria_hidden="true", focusable="false")


@dataclass(frozen=True, slots=True)
class Offer:
    """A model or algorithm that could be chosen, or the reason why it cannot."""

    name: str
    definition: str
    reason: str | None
    group: str
    picture: Html

    @property
    def is_recommended(self) -> bool:
        return self.name in FIRST


def grouped(offers: Sequence[Offer], order: Sequence[str]) -> dict[str, list[Offer]]:
    """Offers by group, in an order of groups, those to start with first; empty groups are left out."""
    groups: dict[str, list[Offer]] = {}
    for group in (*order, OTHERS):
        of_group = {offer.name: offer for offer in offers if offer.group == group}
        if of_group:
            groups[group] = [of_group[name] for name in in_order(list(of_group), group)]
    return groups
