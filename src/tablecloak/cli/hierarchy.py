"""`tablecloak hierarchy`: build, look at and check hierarchies."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.cli.options import STREAM, Force, Header, Repair, writable
from tablecloak.cli.output import emit, remark
from tablecloak.cli.settings import Settings, accepting_settings, uses
from tablecloak.errors import DataError, PolicyError

if TYPE_CHECKING:
    from tablecloak.io.sources import Layout

app = typer.Typer(no_args_is_help=True, help="Build, look at and check hierarchies.")

HierarchyFile = Annotated[
    Path, typer.Argument(help="Hierarchy file: CSV from leaf to root, parent: children, or JSON.")
]


@app.command()
@accepting_settings
@uses("threads")
def build(
    data: Annotated[Path, typer.Argument(help="Data with the column.")],
    column: Annotated[str, typer.Argument(help="Name of the column.")],
    *,
    kind: Annotated[str, typer.Option("--kind", "-k", help="Kind; see `tablecloak list hierarchies`.")],
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Parameter, as in width=10. Repeatable.")
    ] = None,
    target: Annotated[Path, typer.Option("--output", "-o", help="File to write; - is stdout.")] = Path(STREAM),
    force: Force = False,
    header: Header = None,
    repair: Repair = False,
    settings: Settings,
) -> None:
    """Build a hierarchy over the values of a column."""
    spec = _spec(kind, changes or [])
    from tablecloak.hierarchy.hierarchy_files import write_hierarchy
    from tablecloak.hierarchy.kinds.base import build as build_hierarchy
    from tablecloak.io.atomic import replace_when_done

    values, column_type = _values(data, column, header, repair)
    hierarchy = build_hierarchy(spec, values, column_type)
    if str(target) == STREAM:
        with writable(STREAM) as file:
            write_hierarchy(hierarchy, file)
        return
    with replace_when_done(target, reads=[data], force=force) as file:
        write_hierarchy(hierarchy, file)
    remark(settings, f"Wrote {target}: {hierarchy.n_leaves:,} values, {hierarchy.height} levels above them.")


@app.command()
@accepting_settings
def show(
    file: HierarchyFile,
    *,
    depth: Annotated[int, typer.Option("--depth", min=1, help="Levels below the top to show.")] = 3,
    settings: Settings,
) -> None:
    """Draw a hierarchy as a tree."""
    from tablecloak.hierarchy.hierarchy_files import read_hierarchy
    from tablecloak.report.about.things import tree

    hierarchy = read_hierarchy(file)
    emit(settings, hierarchy.to_tree(), [tree(hierarchy, depth=depth)])


@app.command()
@accepting_settings
@uses("threads")
def check(
    file: HierarchyFile,
    data: Annotated[Path | None, typer.Argument(help="Data whose column it must fit.")] = None,
    column: Annotated[str | None, typer.Argument(help="Name of the column.")] = None,
    *,
    header: Header = None,
    repair: Repair = False,
    settings: Settings,
) -> None:
    """Find what is wrong or odd in a hierarchy file, line by line. Exit code 5 if something is wrong."""
    if (data is None) != (column is None):
        raise PolicyError("data and column go together", hint="tablecloak hierarchy check FILE DATA COLUMN")
    from tablecloak.data.table import ColumnType
    from tablecloak.hierarchy.hierarchy_files import lint
    from tablecloak.io.cells import canonical_texts
    from tablecloak.report.about.things import linted
    from tablecloak.values.cell_grammar import format_value

    texts, as_column = None, None
    if data is not None and column is not None:
        values, type_ = _values(data, column, header, repair)
        texts = [str(format_value(value)) for value in values]
        as_column = partial(canonical_texts, type_=ColumnType(type_))
    problems = [asdict(problem) for problem in lint(file, texts, as_column=as_column)]
    report = {"file": str(file), "ok": all(p["severity"] == "warning" for p in problems), "problems": problems}
    emit(settings, report, linted(report), is_failure=not report["ok"])
    if not report["ok"]:
        raise typer.Exit(DataError.exit_code)


def _spec(kind: str, changes: list[str]) -> Any:
    """The parameters of a kind, checked as in a policy."""
    from tablecloak.policy.overrides import parse
    from tablecloak.policy.sections import hierarchy_from

    return hierarchy_from({"kind": kind, **{change.steps[0]: change.value for change in map(parse, changes)}})


def _values(data: Path, column: str, header: bool | None, repair: bool) -> tuple[list[Any], str]:
    """The distinct values of a column, without missing ones, and its type."""
    from tablecloak.io.sniff import sniff
    from tablecloak.io.sources import Source
    from tablecloak.io.tabular import read_frame

    source = Source(data, header=header, repair=repair, expected=frozenset([column]))
    cells = read_frame(source, columns=[column])[column]
    layout: Layout = sniff(source)
    return cells.drop_nulls().unique().sort().to_list(), str(layout.type_of(column))
