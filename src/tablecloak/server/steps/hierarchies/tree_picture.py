"""A hierarchy as a picture: the root on the left, values on the right, lines between them."""

from __future__ import annotations

from collections.abc import Sequence

from tablecloak.report.render.markup import Html, el
from tablecloak.report.render.svg import picture
from tablecloak.server.steps.hierarchies.task import TreeNode

MOST_DRAWN = 90  # nodes of a picture; a larger tree is drawn as far as whole levels fit
LINE, STEP, LONGEST = 22.0, 190.0, 22


def tree_picture(tree: TreeNode) -> Html:
    """The upper levels of a tree, as many as fit; the radius of a node grows with its share of the records."""
    depth = _fitting_depth(tree)
    lines: list[Html] = []
    dots: list[Html] = []
    total = max(1, tree.records)

    def place(node: TreeNode, level: int, top: float) -> tuple[float, float]:
        """Draw what is below a node and then the node; its height, and where the next may begin."""
        shown = node.children if level < depth else ()
        at, ends = top, []
        for child in shown:
            y, at = place(child, level + 1, at)
            ends.append(y)
        y = (ends[0] + ends[-1]) / 2 if ends else top + LINE / 2
        lines.extend(_line(level, y, end) for end in ends)
        dots.append(_dot(node, level, y, total, n_below=0 if shown else _n_below(node)))
        return y, at if ends else top + LINE

    _, bottom = place(tree, 0, 0.0)
    title = f"Tree of {tree.label}: {depth} levels below the root are drawn"
    wide, high = round(STEP * (depth + 1)), round(bottom)
    return picture(title, [lines, dots], (wide, high), kind="chart tree-picture", width=wide, height=high)


def _fitting_depth(tree: TreeNode) -> int:
    """How many levels below the root have together no more nodes than a picture can show."""
    level: Sequence[TreeNode] = [tree]
    n_drawn, depth = 1, 0
    while below := [child for node in level for child in node.children]:
        n_drawn += len(below)
        if n_drawn > MOST_DRAWN and depth:
            break
        level, depth = below, depth + 1
    return depth


def _n_below(node: TreeNode) -> int:
    return len(node.children) or node.hidden


def _line(level: int, start: float, end: float) -> Html:
    x = level * STEP + 12
    middle = x + STEP / 2
    return el(
        "path",
        class_="branch",
        d=f"M{x:.0f} {start:.1f}C{middle:.0f} {start:.1f} {middle:.0f} {end:.1f} {x + STEP:.0f} {end:.1f}",
    )


def _dot(node: TreeNode, level: int, y: float, total: int, *, n_below: int) -> Html:
    label = str(node.label)
    text = label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"
    more = f" +{n_below:,}" if n_below else ""
    title = f"{label}: {node.records:,} records" + (f", {n_below:,} below" if n_below else "")
    radius = 3 + 5 * (node.records / total) ** 0.5
    x = level * STEP + 12
    return el("g", el("title", title), el("circle", class_="dot leaf" if node.leaf else "dot", cx=x, cy=y, r=radius),
              el("text", text + more, x=x + radius + 4, y=y + 4, class_="start"))  # fmt: skip
