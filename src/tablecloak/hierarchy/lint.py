"""What is wrong or odd about a hierarchy, by itself and against the values of a column."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from tablecloak.errors import DataError
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.hierarchy.hierarchy_files import HierarchyProblem, Line, parse_file

MAX_COMPARED = 2000  # labels a missing value is compared with
MAX_NEAREST = 5  # near labels named in a hint


def lint(hierarchy: str | Path | Hierarchy, values: Sequence[str] | None = None) -> list[HierarchyProblem]:
    """Problems of a hierarchy, errors before warnings, each with its line where there is one.

    Args:
        values: texts of the distinct values of the column, if it should be checked against one. They never appear in
            a message: labels of the hierarchy do.
    """
    lines, problems = _own_problems(hierarchy)
    if values is not None and all(problem.severity == "warning" for problem in problems):
        problems = [*problems, *_column_problems(lines, values)]
    return sorted(problems, key=lambda problem: problem.severity)


def _own_problems(hierarchy: str | Path | Hierarchy) -> tuple[Sequence[Line], list[HierarchyProblem]]:
    if isinstance(hierarchy, Hierarchy):
        return [Line(None, tuple(path)) for path in hierarchy.to_paths()], []
    parsed = parse_file(hierarchy)
    problems = list(parsed.problems)
    if not parsed.errors:
        try:
            Hierarchy.from_paths(line.path for line in parsed.lines)
        except DataError as exc:
            problems.append(HierarchyProblem(None, exc.message, exc.hint))
    return parsed.lines, problems


def _column_problems(lines: Sequence[Line], values: Sequence[str]) -> list[HierarchyProblem]:
    leaves = {line.path[0]: line.number for line in lines}
    distinct = set(values)
    missing = sorted(distinct - leaves.keys())
    problems = []
    if missing:
        message = f"{len(missing)} of {len(distinct)} values of the column are not in the hierarchy"
        problems.append(HierarchyProblem(None, message, _hint(missing, leaves, lines)))
    unused = len(leaves.keys() - distinct)
    if unused:
        message = f"{unused} of {len(leaves)} leaves do not occur in the column"
        problems.append(HierarchyProblem(None, message, "keep them if other data has them", "warning"))
    return problems


def _hint(missing: Sequence[str], leaves: dict[str, int | None], lines: Sequence[Line]) -> str:
    groups = {label for line in lines for label in line.path[1:]}
    n_groups = sum(value in groups for value in missing)
    if n_groups:
        return f"{n_groups} of them are groups of the hierarchy: give each group a value of its own name"
    compared = list(leaves)[:MAX_COMPARED]
    near = [m for value in missing[:MAX_NEAREST] for m in difflib.get_close_matches(value, compared, n=1, cutoff=0.6)]
    named = ", ".join(f"'{label}'{_at(leaves[label])}" for label in dict.fromkeys(near))
    return f"did you mean {named}?" if named else "add one path per value, like value;group;*"


def _at(line: int | None) -> str:
    return "" if line is None else f" (line {line})"
