"""Hierarchy files: leaf-to-root CSV, `parent : child, child` text and nested JSON.

csv       Italy;Europe;*                 one line per value, from the value up to the root
parents   Root: Europe, America          one line per group; '#' starts a comment line
json      {"*": {"Europe": ["Italy"]}}   nested groups
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from tablecloak.arrays import BoolArray
from tablecloak.errors import CloakError, DataError, did_you_mean
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.hierarchy.tree_nodes import ROOT_LABEL, Paths, columns_of, first_places

if TYPE_CHECKING:
    import _csv

FileFormat: TypeAlias = Literal["csv", "parents", "json"]
FORMATS: tuple[FileFormat, ...] = ("csv", "parents", "json")
DELIMITERS = ";\t|,"
SNIFFED = 1000  # rows at the beginning of a file that show its delimiter
MAX_COMPARED = 2000  # labels a missing value is compared with
MAX_NEAREST = 5  # near labels named in a hint


@dataclass(frozen=True, slots=True)
class HierarchyProblem:
    """Something wrong, or with severity "warning" something odd, in a hierarchy."""

    line: int | None
    message: str
    hint: str | None = None
    severity: Literal["error", "warning"] = "error"


@dataclass(frozen=True, slots=True, eq=False)
class FileLines:
    """The paths of a file, and the lines where they stand."""

    paths: Paths
    numbers: pl.Series  # (n_paths,), null where lines mean nothing

    @classmethod
    def of(cls, paths: Sequence[Sequence[str]], numbers: Sequence[int | None] | None = None) -> FileLines:
        """Paths written as lists of labels, and the lines where they stand, if they do."""
        return cls(Paths.of(paths), pl.Series(numbers or [None] * len(paths), dtype=pl.Int64))

    def __len__(self) -> int:
        return len(self.paths)

    def kept(self, is_kept: BoolArray) -> FileLines:
        """Some of the lines, (n_paths,)."""
        if is_kept.all():
            return self
        return FileLines(self.paths.kept(is_kept), self.numbers.filter(pl.Series(is_kept)))


@dataclass(frozen=True, slots=True, eq=False)
class Parsed:
    """What a file says, and what is wrong with it."""

    lines: FileLines
    problems: tuple[HierarchyProblem, ...]

    @property
    def errors(self) -> list[HierarchyProblem]:
        return [problem for problem in self.problems if problem.severity == "error"]


# Texts of values as the column that a hierarchy is for writes them.
AsColumn: TypeAlias = Callable[[Sequence[str]], list[str]]


def read_hierarchy(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    as_column: AsColumn | None = None,
) -> Hierarchy:
    """The hierarchy in a file; the format is told by the extension and the content unless given.

    Args:
        as_column: writes the values of the file as the column has them, so that 32.60 is the number 32.6.

    Raises:
        DataError: at `file:line`, for the first thing that is wrong.
    """
    parsed = parse_file(path, format=format, as_column=as_column)
    for problem in parsed.errors[:1]:
        where = str(path) if problem.line is None else f"{path}:{problem.line}"
        more = f" (and {len(parsed.errors) - 1} more)" if len(parsed.errors) > 1 else ""
        raise DataError(problem.message + more, hint=problem.hint, location=where)
    try:
        return Hierarchy.from_paths(parsed.lines.paths)
    except DataError as exc:
        raise DataError(exc.message, hint=exc.hint, location=str(path)) from exc


def parse_file(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    as_column: AsColumn | None = None,
) -> Parsed:
    """Paths and problems of a hierarchy file; only an unreadable file raises."""
    text = _read_text(Path(path))
    if not text.strip():
        return Parsed(FileLines.of([]), (_EMPTY,))
    try:
        lines, problems = _PARSERS[_format_of(Path(path), text, format)](text)
    except csv.Error as exc:
        return Parsed(FileLines.of([]), (HierarchyProblem(None, f"not CSV: {exc}", "is a quotation mark left open?"),))
    lines = _with_values(lines, as_column) if as_column else lines
    if not problems:
        problems = _check(lines) if len(lines) else [_EMPTY]
    return Parsed(lines, tuple(problems))


def _with_values(lines: FileLines, as_column: AsColumn) -> FileLines:
    """Lines whose values are written as in the column, also where groups of one value repeat them."""
    levels, codes = lines.paths.levels, lines.paths.codes
    values = pl.Series(as_column(levels[0].to_list()), dtype=pl.String)
    if values.equals(levels[0]):
        return lines
    written = [values.zip_with(pl.Series(codes[i] == codes[0]), labels) for i, labels in enumerate(levels)]
    return FileLines(Paths.of_levels(written), lines.numbers)


_EMPTY = HierarchyProblem(None, "the hierarchy file has no values", "write one line per value, like Italy;Europe;*")


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as exc:
        raise DataError(
            f"the hierarchy file is not UTF-8 (byte {exc.start})", hint="save it as UTF-8", location=str(path)
        ) from exc
    except OSError as exc:
        raise DataError(
            f"cannot read the hierarchy file: {exc.strerror}", hint=_nearest_file(path), location=str(path)
        ) from exc


def _nearest_file(path: Path) -> str | None:
    try:
        return did_you_mean(path.name, [other.name for other in path.parent.iterdir()])
    except OSError:
        return "check the path"


def _format_of(path: Path, text: str, name: str | None) -> FileFormat:
    if name is not None:
        return _known_format(name)
    suffix = path.suffix.lower()
    if suffix == ".json" or (suffix not in (".csv", ".tsv") and text.lstrip()[0] in "{["):
        return "json"
    return "parents" if suffix not in (".csv", ".tsv") and _looks_like_parents(text) else "csv"


def _known_format(name: str) -> FileFormat:
    for file_format in FORMATS:
        if name == file_format:
            return file_format
    raise DataError(f"unknown hierarchy format '{name}'", hint=f"use {', '.join(FORMATS)}")


def _looks_like_parents(text: str) -> bool:
    lines = [line for line in _beginning(text).splitlines() if line.strip() and not line.startswith("#")]
    # codes such as ICD9:7048 also hold a colon, but there every line ends in the root
    same_root = max(_ends_in_root(_first_rows("\n".join(lines), delimiter)) for delimiter in DELIMITERS)
    return all(":" in line for line in lines) and (len(lines) == 1 or not same_root)


Outcome: TypeAlias = tuple[FileLines, list[HierarchyProblem]]


def _parse_csv(text: str) -> Outcome:
    cells, numbers = _table(text, _sniff_delimiter(text))
    ended = pl.repeat(True, len(numbers), eager=True)  # no label in this cell or above it
    levels: list[pl.Series] = []
    for column in reversed(cells):  # trailing empty cells are no labels
        ended = ended & (column.fill_null("") == "")
        levels.insert(0, column.set(ended, None))
    lines = FileLines(Paths.of_levels(levels), numbers).kept(~ended.to_numpy())
    is_empty = np.array([(labels == "").fill_null(value=False).to_numpy() for labels in lines.paths.levels])
    has_empty: BoolArray = np.asarray(is_empty.any(axis=0))
    if not has_empty.any():
        return lines, []
    places = zip(lines.numbers.filter(pl.Series(has_empty)), is_empty[:, has_empty].argmax(axis=0), strict=True)
    return lines.kept(~has_empty), [_empty_cell(number, int(level)) for number, level in places]


def _empty_cell(number: int, level: int) -> HierarchyProblem:
    if level == 0:
        hint = "remove the line: missing values are handled by the policy, not by the hierarchy"
        return HierarchyProblem(number, "the value is empty", hint)
    return HierarchyProblem(number, f"level {level} is empty", "repeat the label of the level below it")


def _table(text: str, delimiter: str) -> tuple[list[pl.Series], pl.Series]:
    """The cells of CSV as columns, null beyond the end of a row, and the line on which each row ends."""
    if '"' in text:
        reader = _reader(text, delimiter)
        numbered = [(reader.line_num, row) for row in reader]
        rows = pl.Series([row for _, row in numbered], dtype=pl.List(pl.String))
        return columns_of(rows), pl.Series([number for number, _ in numbered], dtype=pl.Int64)
    # without quotes a line is a row and a delimiter ends a cell
    lines = pl.Series([text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")]).str.split("\n").explode()
    return columns_of(lines.str.split(delimiter)), pl.int_range(1, len(lines) + 1, eager=True)


def _reader(text: str, delimiter: str) -> _csv.Reader:
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


def _beginning(text: str) -> str:
    """The first lines of a text, none of them cut."""
    return "".join(islice(io.StringIO(text, newline=""), SNIFFED))


def _first_rows(text: str, delimiter: str) -> list[list[str]]:
    return [row for row in islice(_reader(text, delimiter), SNIFFED) if any(row)]


def _sniff_delimiter(text: str) -> str:
    """The delimiter that splits most lines, best of all so that they end in the same root."""
    beginning = _beginning(text)

    def score(delimiter: str) -> tuple[bool, int, int]:
        rows = _first_rows(beginning, delimiter)
        return _ends_in_root(rows), sum(len(row) > 1 for row in rows), -DELIMITERS.index(delimiter)

    return max(DELIMITERS, key=score)


def _ends_in_root(rows: Sequence[Sequence[str]]) -> bool:
    return min((len(row) for row in rows), default=0) > 1 and len({row[-1] for row in rows}) == 1


_PARENT = re.compile(r'\s*("(?:[^"]|"")*"|.*?\S)\s*:(?:\s+|$)(.*)')
_TIGHT_PARENT = re.compile(r"\s*([^:]*\S)\s*:(.*)")


def _parse_parents(text: str) -> Outcome:
    edges: list[tuple[int, str, str]] = []  # line, parent, child
    problems = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _PARENT.fullmatch(line) or _TIGHT_PARENT.fullmatch(line)
        children = _list(match[2]) if match else []
        if match and children and all(children):
            edges.extend((number, _unquoted(match[1]), child) for child in children)
        else:
            problems.append(HierarchyProblem(number, "not of the form 'parent : child, child'", "one group per line"))
    return (FileLines.of([]), problems) if problems else _paths_of_edges(edges)


def _list(text: str) -> list[str]:
    return [cell.strip() for row in csv.reader([text], skipinitialspace=True) for cell in row]


def _unquoted(label: str) -> str:
    return label[1:-1].replace('""', '"') if label.startswith('"') else label


def _paths_of_edges(edges: Sequence[tuple[int | None, str, str]]) -> Outcome:
    parent: dict[str, tuple[str, int | None]] = {}
    problems = []
    for number, above, child in edges:
        first_parent, first_line = parent.setdefault(child, (above, number))
        if first_parent != above:
            message = f"'{child}' has two parents: '{first_parent}' (line {first_line}) and '{above}'"
            problems.append(HierarchyProblem(number, message, "keep one of them"))
    inner = {above for _, above, _ in edges}
    roots = [label for label in dict.fromkeys(above for _, above, _ in edges) if label not in parent]
    if len(roots) > 1:
        message = f"{len(roots)} groups have no parent: {', '.join(map(repr, roots[:5]))}"
        problems.append(HierarchyProblem(None, message, "list all but the root as children of a group"))
    if problems:
        return FileLines.of([]), problems
    paths, numbers, problems = [], [], []
    for child, (above, number) in parent.items():
        path = _climb(child, parent)
        if path is None:
            problems.append(
                HierarchyProblem(number, f"'{child}' contains itself, by way of '{above}'", "remove the cycle")
            )
        elif child not in inner:
            paths.append(path)
            numbers.append(number)
    return FileLines.of(paths, numbers), problems


def _climb(label: str, parent: dict[str, tuple[str, int | None]]) -> tuple[str, ...] | None:
    path = {label: None}  # an ordered set
    while label in parent:
        label = parent[label][0]
        if label in path:
            return None
        path[label] = None
    return tuple(path)


def _parse_json(text: str) -> Outcome:
    try:
        tree = json.loads(text, object_pairs_hook=_unique_keys)
        if _is_adjacency(tree):
            return _paths_of_edges([(None, above, child) for above, children in tree.items() for child in children])
        return FileLines.of(Hierarchy.from_tree(tree).to_paths()), []
    except json.JSONDecodeError as exc:
        return FileLines.of([]), [HierarchyProblem(exc.lineno, f"not JSON: {exc.msg} (column {exc.colno})")]
    except RecursionError:
        return FileLines.of([]), [HierarchyProblem(None, "nested too deeply", "a hierarchy has a few levels")]
    except CloakError as exc:
        return FileLines.of([]), [HierarchyProblem(None, exc.message, exc.hint)]


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise DataError(f"the key '{key}' occurs twice in one group", hint="unite the two")
    return dict(pairs)


def _is_adjacency(tree: Any) -> bool:
    """Groups side by side that name each other as children: {"all": ["x", "y"], "x": ["a", "b"]}."""
    if not isinstance(tree, dict) or len(tree) < 2:
        return False
    if not all(isinstance(c, list) and all(isinstance(m, str) for m in c) for c in tree.values()):
        return False
    return any(member in tree for children in tree.values() for member in children)


_PARSERS = {"csv": _parse_csv, "parents": _parse_parents, "json": _parse_json}


def _check(lines: FileLines) -> list[HierarchyProblem]:
    problems = [*_root_problems(lines), *_value_problems(lines), *_group_problems(lines), *_loop_problems(lines)]
    lengths = lines.paths.lengths
    if lengths.min() < lengths.max():
        message = f"paths have between {lengths.min()} and {lengths.max()} levels"
        hint = "repeat labels to give all values the same number of levels, if levels should compare"
        problems.append(HierarchyProblem(None, message, hint, "warning"))
    return problems


def _root_problems(lines: FileLines) -> Iterable[HierarchyProblem]:
    paths, lengths, roots = lines.paths, lines.paths.lengths, lines.paths.roots
    codes, first_rows, counts = np.unique(roots, return_index=True, return_counts=True)
    most = np.flatnonzero(counts == counts.max())
    root, of_root = min((paths.path(int(first_rows[i]))[-1], int(codes[i])) for i in most)
    if lengths[0] < 2 and counts.max() == 1:
        number = lines.numbers[0]
        yield HierarchyProblem(number, "only one column: no levels above the values", "end every line with ;*")
        return
    if len(codes) == len(lines) > 1:
        yield HierarchyProblem(
            None, "no root: every line ends in another label", "end every line with the same label, such as *"
        )
        return
    for row in np.flatnonzero((roots != of_root) | (lengths < 2)):
        hint = "is it a header? remove it" if row == 0 and root == ROOT_LABEL else f"end the line with {root}"
        yield HierarchyProblem(lines.numbers[int(row)], f"the path does not end in the root '{root}'", hint)


def _value_problems(lines: FileLines) -> Iterable[HierarchyProblem]:
    codes, first = lines.paths.codes, first_places(lines.paths.codes[0])
    again = np.flatnonzero(first != np.arange(len(lines)))
    is_repeat = (codes[:, again] == codes[:, first[again]]).all(axis=0)
    for row, first_row, same in zip(again.tolist(), first[again].tolist(), is_repeat.tolist(), strict=True):
        number, first_number = lines.numbers[row], lines.numbers[first_row]
        if same:
            yield HierarchyProblem(number, f"repeats line {first_number}", "remove it", "warning")
        else:
            message = f"'{lines.paths.levels[0][row]}' has a second path, another one is on line {first_number}"
            yield HierarchyProblem(number, message, "keep one line per value")


def _group_problems(lines: FileLines) -> Iterable[HierarchyProblem]:
    """A label on one level must always have the same parent."""
    levels, codes = lines.paths.levels, lines.paths.codes
    clashes: list[tuple[int, int, int]] = []  # row, level, first row with the label on the level
    for level in range(1, len(levels) - 1):
        rows = np.flatnonzero(codes[level + 1] >= 0)
        first = rows[first_places(codes[level, rows])]
        is_other = codes[level + 1, rows] != codes[level + 1, first]
        clashes += [(row, level, at) for row, at in zip(rows[is_other].tolist(), first[is_other].tolist(), strict=True)]
    for row, level, first_row in sorted(clashes):
        label, above, first_parent = levels[level][row], levels[level + 1][row], levels[level + 1][first_row]
        where = f"'{first_parent}' (line {lines.numbers[first_row]}) and '{above}'"
        message = f"'{label}' on level {level} has two parents: {where}"
        yield HierarchyProblem(lines.numbers[row], message, "use two labels, or one parent")


def _loop_problems(lines: FileLines) -> Iterable[HierarchyProblem]:
    codes = lines.paths.codes
    comes_again: BoolArray = np.zeros(len(lines), dtype=bool)
    for level in range(2, len(codes)):
        begins = (codes[level] != codes[level - 1]) & (codes[level] >= 0)
        for below in range(level - 1):
            comes_again |= begins & (codes[below] == codes[level])
    for row in np.flatnonzero(comes_again).tolist():
        path = lines.paths.path(row)
        steps = [label for i, label in enumerate(path) if i == 0 or label != path[i - 1]]
        label = next(label for label in steps if steps.count(label) > 1)
        message = f"'{label}' stands on two levels with another group between; published, it means the wider one"
        yield HierarchyProblem(lines.numbers[row], message, "give the groups different labels", "warning")


# Against a column ----------------------------------------------------------------------------------------------------


def lint(
    hierarchy: str | Path | Hierarchy, values: Sequence[str] | None = None, *, as_column: AsColumn | None = None
) -> list[HierarchyProblem]:
    """Problems of a hierarchy, errors before warnings, each with its line where there is one.

    Args:
        values: texts of the distinct values of the column, if it should be checked against one. They never appear in
            a message: labels of the hierarchy do.
        as_column: writes the values of a file as the column has them.
    """
    lines, problems = _own_problems(hierarchy, as_column)
    if values is not None and all(problem.severity == "warning" for problem in problems):
        problems = [*problems, *_column_problems(lines, values)]
    return sorted(problems, key=lambda problem: problem.severity)


def _own_problems(
    hierarchy: str | Path | Hierarchy, as_column: AsColumn | None
) -> tuple[FileLines, list[HierarchyProblem]]:
    if isinstance(hierarchy, Hierarchy):
        return FileLines.of(hierarchy.to_paths()), []
    parsed = parse_file(hierarchy, as_column=as_column)
    problems = list(parsed.problems)
    if not parsed.errors:
        try:
            Hierarchy.from_paths(parsed.lines.paths)
        except DataError as exc:
            problems.append(HierarchyProblem(None, exc.message, exc.hint))
    return parsed.lines, problems


def _column_problems(lines: FileLines, values: Sequence[str]) -> list[HierarchyProblem]:
    leaves = dict(zip(lines.paths.levels[0].to_list(), lines.numbers.to_list(), strict=True))
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


def _hint(missing: Sequence[str], leaves: dict[str, int | None], lines: FileLines) -> str:
    groups = {label for labels in lines.paths.levels[1:] for label in labels.unique()}
    n_groups = sum(value in groups for value in missing)
    if n_groups:
        return f"{n_groups} of them are groups of the hierarchy: give each group a value of its own name"
    compared = list(leaves)[:MAX_COMPARED]
    near = [m for value in missing[:MAX_NEAREST] for m in difflib.get_close_matches(value, compared, n=1, cutoff=0.6)]
    named = ", ".join(f"'{label}'{_at(leaves[label])}" for label in dict.fromkeys(near))
    return f"did you mean {named}?" if named else "add one path per value, like value;group;*"


def _at(line: int | None) -> str:
    return "" if line is None else f" (line {line})"


# Writing -------------------------------------------------------------------------------------------------------------


def write_hierarchy(hierarchy: Hierarchy, path: str | Path, *, format: str | None = None) -> None:  # noqa: A002
    """Write a file that `read_hierarchy` reads back; by extension .json, .txt (parents) or leaf-to-root CSV."""
    path = Path(path)
    chosen = _known_format(format or {".json": "json", ".txt": "parents"}.get(path.suffix.lower(), "csv"))
    if chosen == "json":
        text = json.dumps(hierarchy.to_tree(), indent=2, ensure_ascii=False) + "\n"
    elif chosen == "parents":
        text = _parents_text(hierarchy)
    else:
        text = _csv_text(hierarchy.to_paths(), "\t" if path.suffix.lower() == ".tsv" else ";")
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as exc:
        raise DataError(f"cannot write the hierarchy file: {exc.strerror}", location=str(path)) from exc


def _csv_text(rows: Iterable[Sequence[str]], delimiter: str) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _parents_text(hierarchy: Hierarchy) -> str:
    named = [label for label in hierarchy.labels if label is not None]
    if len(set(named)) < len(named):
        raise DataError("a label occurs on several levels, which parent lists cannot say", hint="write csv or json")
    inner = range(hierarchy.n_nodes - 1, hierarchy.n_leaves - 1, -1)
    return "".join(_parent_line(hierarchy, node) for node in inner)


def _parent_line(hierarchy: Hierarchy, node: int) -> str:
    children = [hierarchy.labels[child] for child in hierarchy.children(node)]
    listed = ", ".join(_quoted(child) for child in children if child is not None)
    return f"{_quoted(str(hierarchy.labels[node]))}: {listed}\n"


def _quoted(label: str) -> str:
    if label == label.strip() and not re.search(r'[,:"#\n]', label):
        return label
    return '"' + label.replace('"', '""') + '"'
