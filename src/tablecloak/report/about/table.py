"""What a table looks like before anything is done to it: its profile, its risk, the policy that it starts with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tablecloak.attacks.risk_by_columns import weighted_sentence
from tablecloak.report.about.check_run_verify import engine_blocks
from tablecloak.report.blocks import Block, Heading, Items, Paragraph, Section, Words, table
from tablecloak.values.amounts import show_size

MOST_SETS = 5


def inspected(profile: Mapping[str, Any]) -> list[Block]:
    """What `tablecloak inspect` found: the file, its columns, who stands alone."""
    heads = ("column", "type", "distinct", "null", "looks like", "suggested role", "why")
    rows = [
        [column["name"], column["type"], f"{column['distinct']:,}", _share(column["missing_share"]),
         column["looks_like"], column["role"], column["reason"]]
        for column in profile["columns"]
    ]  # fmt: skip
    return [
        Section("File", (Paragraph(_file(profile)), *_repairs(profile))),
        Section("Columns", (table(heads, rows, right=(2, 3)),)),
        Section("Published", tuple(_published(profile))),
        Section("Exposure", tuple(_exposure(profile))),
    ]


def _published(profile: Mapping[str, Any]) -> Iterator[Block]:
    """A line for every column: what a policy of `init` would publish of it, and why."""
    width = max(len(column["name"]) for column in profile["columns"])
    yield Heading("What tablecloak init would publish:")
    yield Items(
        tuple(f"{c['name']:<{width}}  {c['role']}: {c['publishes']} ({c['reason']})" for c in profile["columns"])
    )


def _exposure(profile: Mapping[str, Any]) -> Iterator[Block]:
    if profile["sets"]:
        yield Heading("Columns that single people out:")
        yield _unique_on(profile["sets"])
    if profile["keys"]:
        keys = "; ".join(", ".join(key) for key in profile["keys"][:MOST_SETS])
        yield Paragraph((Words("Keys, on which every record is unique: ", is_strong=True), keys))
    if dependencies := profile["dependencies"][:MOST_SETS]:
        text = "; ".join(f"{', '.join(d['columns'])} decides {d['decides']}" for d in dependencies)
        yield Paragraph((Words("Dependencies: ", is_strong=True), text))
    for estimate in profile["population"]:
        yield Paragraph(
            f"In the population ({estimate['method']}): {estimate['given_sample_unique']:.1%} of the unique records "
            "are unique there too"
        )
    if profile["risk"] is None:
        yield Paragraph("No column looks like something others know about a person.")
    else:
        yield Paragraph(f"Risk as it stands: {_risk(profile['risk'], profile['quasi'])}")
    if profile["file"]:
        option = "--repair " if profile["file"].get("repairs") else ""
        yield Paragraph(f"Next: tablecloak init {option}{profile['file']['path']}")


def _unique_on(sets: list[Mapping[str, Any]]) -> Items:
    return Items(tuple(f"{s['unique_share']:>6.1%} unique on {', '.join(s['columns'])}" for s in sets[:MOST_SETS]))


def _file(profile: Mapping[str, Any]) -> str:
    size = f"{profile['rows']:,} rows × {len(profile['columns'])} columns"
    file = profile["file"]
    if not file:
        return size
    parts = [file["path"], size, show_size(file["n_bytes"])]
    if file["delimiter"]:
        delimiter = "tab" if file["delimiter"] == "\t" else file["delimiter"]
        parts.append(f"{file['encoding']} {delimiter}-separated")
    else:
        parts.append(file["format"])
    return "  ".join([*parts, *([file["compression"]] if file["compression"] else [])])


def _repairs(profile: Mapping[str, Any]) -> Iterator[Block]:
    """What a repair of the header does, and how to ask for it."""
    repairs = (profile["file"] or {}).get("repairs") or ()
    if not repairs:
        return
    yield Heading("Repaired, where the policy says input.repair: true:")
    yield Items(tuple(r["reason"] for r in repairs if r["column"] is None))
    rows = [[str(r["column"]), r["name"], r["reason"]] for r in repairs if r["column"] is not None]
    if rows:
        yield table(("column", "name", "why"), rows, right=(0,))


def _risk(risk: Mapping[str, Any], quasi: list[str]) -> str:
    return (
        f"{risk['unique']:,} of {risk['records']:,} records ({risk['unique_share']:.1%}) are unique on "
        f"{', '.join(quasi)}.  Prosecutor max {risk['highest']:.2f}, average {risk['average']:.2f}"
    )


def _share(value: float) -> str:
    return "0%" if value == 0 else f"{value:.1%}" if value < 0.1 else f"{value:.0%}"


def exposed(risk: Mapping[str, Any]) -> Iterator[Block]:
    """How exposed the records of a table are."""
    yield Paragraph(_risk(risk, risk["quasi"]))
    yield Paragraph(f"{risk['classes']:,} classes of records that look alike")
    if published := risk.get("published"):
        yield Paragraph(
            f"Knowing all {published['columns']:,} columns: {published['unique']:,} records "
            f"({published['unique_share']:.1%}) are unique. Prosecutor max {published['highest']:.2f}, "
            f"average {published['average']:.2f}"
        )
    if "subsets" in risk:
        yield from _subsets(risk)
    for estimate in risk.get("population", ()):
        yield Paragraph(
            f"In the population: {estimate['population_uniques']:,.0f} people ({estimate['unique_share']:.1%}) are "
            f"unique; a record that is unique here is so with a chance of {estimate['given_sample_unique']:.2f} "
            f"({estimate['method']})"
        )
    if weighted := risk.get("weighted"):
        yield Paragraph(weighted_sentence(weighted))
    yield from engine_blocks(risk)


def _subsets(risk: Mapping[str, Any]) -> Iterator[Block]:
    """Sets of columns that single people out, keys, and columns that add nothing."""
    yield _unique_on(risk["subsets"])
    for key in risk["keys"]:
        yield Paragraph(f"Key: {', '.join(key)}")
    for dependency in risk["dependencies"]:
        yield Paragraph(f"{', '.join(dependency['columns']) or 'nothing'} decides {dependency['decides']}")
    special = risk["minimal_uniques"]
    if special["records"]:
        rows = ", ".join(str(row) for row in special["worst_rows"])
        yield Paragraph(f"{special['records']:,} records are unique on few columns already; most exposed rows: {rows}")


def started(report: Mapping[str, Any]) -> list[Block]:
    """What `tablecloak init` wrote."""
    hierarchies = f"{report['hierarchies']} hierarch{'y' if report['hierarchies'] == 1 else 'ies'}"
    return [
        Paragraph(
            f"Wrote {report['policy']} ({report['lines']} lines, {hierarchies}). "
            "Schema line added: editors will complete and check it."
        ),
        Paragraph("Next: read its roles, then tablecloak run " + report["policy"]),
    ]


def first_rows(title: str, rows: Sequence[Mapping[str, Any]]) -> Block:
    """A few rows of the made-up sample."""
    cells = [["" if cell is None else str(cell) for cell in row.values()] for row in rows]
    return table(rows[0], cells, title=f"\n{title}")
