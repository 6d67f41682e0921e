"""Profiles, risks and comparisons as lines and tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tablecloak.report.parts import number
from tablecloak.report.terminal import show_bytes

__all__ = ["compare_lines", "init_lines", "inspect_lines", "risk_lines"]

MOST_SETS = 5


def inspect_lines(profile: Mapping[str, Any]) -> Iterator[RenderableType]:
    """What `tablecloak inspect` found: the file, its columns, who stands alone."""
    yield Text(_file_line(profile))
    yield Text()
    table = _table("column", "type", "distinct", "null", "looks like", "suggested role", "why", right=(2, 3))
    for column in profile["columns"]:
        table.add_row(
            Text(column["name"]), column["type"], f"{column['distinct']:,}", _share(column["missing_share"]),
            Text(column["looks_like"]), column["role"], Text(column["reason"]),
        )  # fmt: skip
    yield table
    yield Text()
    if profile["sets"]:
        yield Text("Columns that single people out:", "bold")
        for found in profile["sets"][:MOST_SETS]:
            yield Text(f"  {found['unique_share']:>6.1%} unique on {', '.join(found['columns'])}")
    yield from _structure_lines(profile)
    if profile["risk"] is None:
        yield Text("No column looks like something others know about a person.")
    else:
        yield Text(f"Risk as it stands: {_risk_sentence(profile['risk'], profile['quasi'])}")
    if profile["file"]:
        yield Text(f"Next: tablecloak init {profile['file']['path']}")


def _structure_lines(profile: Mapping[str, Any]) -> Iterator[Text]:
    """Keys, dependencies, and what is estimated for the population."""
    if profile["keys"]:
        shown = "; ".join(", ".join(key) for key in profile["keys"][:MOST_SETS])
        yield Text("Keys, on which every record is unique: ", "bold") + Text(shown)
    decided = profile["dependencies"][:MOST_SETS]
    if decided:
        shown = "; ".join(f"{', '.join(d['columns'])} decides {d['decides']}" for d in decided)
        yield Text("Dependencies: ", "bold") + Text(shown)
    for found in profile["population"]:
        yield Text(
            f"In the population ({found['method']}): {found['given_sample_unique']:.1%} of the unique records are "
            "unique there too"
        )


def _file_line(profile: Mapping[str, Any]) -> str:
    size = f"{profile['rows']:,} rows × {len(profile['columns'])} columns"
    file = profile["file"]
    if not file:
        return size
    parts = [file["path"], size, show_bytes(file["n_bytes"])]
    if file["delimiter"]:
        shown = "tab" if file["delimiter"] == "\t" else file["delimiter"]
        parts.append(f"{file['encoding']} {shown}-separated")
    else:
        parts.append(file["format"])
    return "  ".join([*parts, *([file["compression"]] if file["compression"] else [])])


def _risk_sentence(risk: Mapping[str, Any], quasi: list[str]) -> str:
    return (
        f"{risk['unique']:,} of {risk['records']:,} records ({risk['unique_share']:.1%}) are unique on "
        f"{', '.join(quasi)}.  Prosecutor max {risk['highest']:.2f}, average {risk['average']:.2f}"
    )


def risk_lines(risk: Mapping[str, Any]) -> Iterator[Text]:
    """How exposed the records of a table are."""
    yield Text(_risk_sentence(risk, risk["quasi"]))
    yield Text(f"{risk['classes']:,} classes of records that look alike")
    if "published" in risk:
        everything = risk["published"]
        yield Text(
            f"Knowing all {everything['columns']:,} columns: {everything['unique']:,} records "
            f"({everything['unique_share']:.1%}) are unique. Prosecutor max {everything['highest']:.2f}, "
            f"average {everything['average']:.2f}"
        )
    if "subsets" in risk:
        yield from _subset_lines(risk)
    for found in risk.get("population", ()):
        yield Text(
            f"In the population: {found['population_uniques']:,.0f} people ({found['unique_share']:.1%}) are unique; a "
            f"record that is unique here is so with a chance of {found['given_sample_unique']:.2f} ({found['method']})"
        )


def _subset_lines(risk: Mapping[str, Any]) -> Iterator[Text]:
    """Sets of columns that single people out, keys, and columns that add nothing."""
    for found in risk["subsets"][:MOST_SETS]:
        yield Text(f"  {found['unique_share']:>6.1%} unique on {', '.join(found['columns'])}")
    for key in risk["keys"]:
        yield Text(f"Key: {', '.join(key)}")
    for found in risk["dependencies"]:
        yield Text(f"{', '.join(found['columns']) or 'nothing'} decides {found['decides']}")
    special = risk["minimal_uniques"]
    if special["records"]:
        rows = ", ".join(str(row) for row in special["worst_rows"])
        yield Text(f"{special['records']:,} records are unique on few columns already; most exposed rows: {rows}")


def init_lines(report: Mapping[str, Any]) -> Iterator[Text]:
    """What `tablecloak init` wrote."""
    hierarchies = f"{report['hierarchies']} hierarch{'y' if report['hierarchies'] == 1 else 'ies'}"
    yield Text(
        f"Wrote {report['policy']} ({report['lines']} lines, {hierarchies}). "
        "Schema line added: editors will complete and check it."
    )
    yield Text("Next: read its roles, then tablecloak run " + report["policy"])


def compare_lines(report: Mapping[str, Any]) -> Iterator[RenderableType]:
    """A release beside its original."""
    before, after = report["before"], report["after"]
    table = _table("", "original", "release", right=(1, 2))
    table.add_row("records", f"{before['records']:,}", f"{after['records']:,}")
    table.add_row("suppressed", "", f"{report['suppressed']:,}")
    table.add_row("classes", f"{before['classes']:,}", f"{after['classes']:,}")
    table.add_row("unique records", f"{before['unique_share']:.1%}", f"{after['unique_share']:.1%}")
    table.add_row("prosecutor max", f"{before['highest']:.3f}", f"{after['highest']:.3f}")
    table.add_row("prosecutor average", f"{before['average']:.3f}", f"{after['average']:.3f}")
    if report.get("published"):
        then, now = (report["published"][side] for side in ("before", "after"))
        table.add_row("knowing everything published", "", "")
        table.add_row("  unique records", f"{then['unique_share']:.1%}", f"{now['unique_share']:.1%}")
        table.add_row("  prosecutor max", f"{then['highest']:.3f}", f"{now['highest']:.3f}")
        table.add_row("  prosecutor average", f"{then['average']:.3f}", f"{now['average']:.3f}")
    table.add_row("loss (GCP)", "", f"{report['loss']:.3f}")
    yield table
    yield Text()
    yield _column_table(report["columns"])
    yield Text(
        "L1 (at most 2), Hellinger, EMD (at most 1) and KL: 0 is the same distribution as in the original.", "dim"
    )
    yield Text(
        "Values: exact as published, or spread evenly over what a label covers; without suppressed records.", "dim"
    )
    yield Text()
    yield _metric_table(report["metrics"])
    if report.get("learning"):
        yield Text()
        yield from _learning_lines(report["learning"])
    for note in report["notes"]:
        yield Text(f"Note: {note}")


def _learning_lines(found: Mapping[str, Any]) -> Iterator[Text]:
    yield Text(
        f"Predicting {found['target']} ({found['learner']}, {found['n_tested']:,} originals held out): "
        f"trained on the release {found['release']:.1%}, on the original {found['original']:.1%}, "
        f"most frequent value {found['majority']:.1%} (± {found['error']:.1%})"
    )
    if found["kept"] is not None:
        yield Text(f"The release keeps {found['kept']:.0%} of what can be learned.")
    for note in found["notes"]:
        yield Text(f"Note: {note}")


def _metric_table(metrics: Mapping[str, Mapping[str, Any]]) -> Table:
    """All metrics of the release; one that has no value says why."""
    table = _table("metric", "value", "", right=(1,))
    for name, found in metrics.items():
        value = "" if found["value"] is None else number(found["value"])
        if found.get("error") is not None:
            value += f" ± {found['error']:.2g}"
        table.add_row(name, value, Text(found.get("reason") or found["description"], "dim"))
    return table


def _column_table(columns: list[Mapping[str, Any]]) -> Table:
    table = _table(
        "column",
        "role",
        "distinct",
        "after",
        "loss",
        "L1",
        "Hellinger",
        "KL",
        "EMD",
        "values",
        right=(2, 3, 4, 5, 6, 7, 8),
    )
    for column in columns:
        table.add_row(
            Text(column["name"]), "quasi" if column["quasi"] else "", f"{column['distinct_before']:,}",
            f"{column['distinct_after']:,}", "" if column["loss"] is None else f"{column['loss']:.3f}",
            *_distances(column["distances"]), column["method"] or "",
        )  # fmt: skip
    return table


def _distances(found: Mapping[str, float | None] | None) -> list[str]:
    if found is None:
        return [""] * 4
    return ["infinite" if found[name] is None else f"{found[name]:.3f}" for name in ("l1", "hellinger", "kl", "emd")]


def _share(share: float) -> str:
    return "0%" if share == 0 else f"{share:.1%}" if share < 0.1 else f"{share:.0%}"


def _table(*columns: str, right: tuple[int, ...] = ()) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, column in enumerate(columns):
        table.add_column(column, overflow="fold", justify="right" if place in right else "left")
    return table
