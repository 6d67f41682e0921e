"""Results as lines and tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from tablecloak.report.parts import number

if TYPE_CHECKING:
    from tablecloak.hierarchy.hierarchy import Hierarchy

__all__ = [
    "certificate_lines",
    "check_lines",
    "explain_lines",
    "finding_lines",
    "hierarchy_tree",
    "lint_lines",
    "list_lines",
    "next_steps",
    "risk_lines",
    "rows_table",
    "run_lines",
    "show_bytes",
    "status_line",
    "verify_lines",
]

MOST_CHILDREN = 12
COVERED = "every cell covers its original"
COVERED_ITEMS = "every published item covers an item of its record"
HELD = "every column holds the values of its original"

# What the level of a model is called.
LEVELS = {
    "k-anonymity": "smallest class",
    "l-diversity": "least diverse class",
    "t-closeness": "largest distance",
    "km-anonymity": "rarest itemset",
}


def status_line(report: Mapping[str, Any]) -> Text:
    """The one word that decides, and green only where the release can be handed over."""
    status, findings = report["status"], report.get("findings", ())
    if status == "ready":
        return Text("ready to hand over", "bold green")
    if status == "accepted":
        return Text(f"ready, with {_counted(len(findings), 'accepted finding')}", "bold green")
    if status == "findings":
        n_open = sum(found["accepted"] is None for found in findings)
        return Text(f"not ready: {_counted(n_open, 'finding')}", "bold yellow")
    if status == "unchecked":
        return Text("not ready: something could not be checked", "bold yellow")
    return Text("not ready: not everything is as it must be", "bold red")


def finding_lines(findings: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    """What besides the goals singles people out, each with the change that ends it or the reason why it stays."""
    for found in findings:
        if found["accepted"] is not None:
            yield Text("· ", "green") + Text(f"{found['kind']}: {found['what']}")
            yield Text(f"  accepted: {found['accepted']}", "dim")
            continue
        yield Text("! ", "yellow") + Text(f"{found['kind']}: {found['what']}")
        yield Text(f"  fix  {found['fix']['text']}", "yellow")


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")


def verify_lines(report: Mapping[str, Any]) -> Iterator[Text]:
    """What a recount says: one line per goal, then findings, the totals and the risk."""
    if report.get("status") is not None:
        yield _labelled("status", status_line(report))
    rows = [_verdict(verdict) for verdict in report["verdicts"]]
    if report["covers"] is not None:
        rows.append(_judged(report["covers"], _covering(report)))
    rows += [_failure(failure) for failure in report.get("failures", ())]
    rows += [Text("– ", "yellow") + Text(f"not checked: {reason}") for reason in report.get("unchecked", ())]
    for place, row in enumerate(rows):
        yield _labelled("" if place else "verify", row)
    for note in report.get("notes", ()):
        yield _labelled("", Text(f"  {note}"))
    for place, line in enumerate(finding_lines(report.get("findings", ()))):
        yield _labelled("" if place else "findings", line)
    yield _labelled("counted", Text(_totals(report)))
    for place, risk in enumerate(risk_lines(report.get("risk"))):
        yield _labelled("" if place else "risk", Text(risk))


WHO = {"quasi": "knowing the quasi-identifiers", "published": "knowing everything published"}


def risk_lines(risk: Mapping[str, Mapping[str, Any]] | None) -> Iterator[str]:
    """The risk for both attackers, before and after where both are known."""
    for who, name in WHO.items():
        sides = (risk or {}).get(who)
        if sides and sides["after"]:
            yield f"{name:<30} {_risk(sides['before'], sides['after'])}"


def _failure(failure: Mapping[str, Any]) -> Text:
    """Where something is wrong: column, class and rows, never a cell."""
    column = "" if failure["column"] is None else f"column '{failure['column']}': "
    count = f", {failure['count']:,} rows" if failure["count"] else ""
    rows = f": {', '.join(map(str, failure['rows']))}{' …' if failure['count'] > len(failure['rows']) else ''}"
    number_ = "" if failure["class"] is None else f", first in class {failure['class']}"
    return Text("✗ ", "bold red") + Text(f"{column}{failure['what']}{count}{rows if failure['rows'] else ''}{number_}")


def _covering(report: Mapping[str, Any]) -> str:
    if report.get("itemsets"):
        return COVERED_ITEMS
    return HELD if report.get("grouped") else COVERED


def certificate_lines(report: Mapping[str, Any]) -> Iterator[Text]:
    """What holding a release against its certificate found, after the recount itself."""
    yield from verify_lines(report)
    for place, check in enumerate(report["checks"]):
        yield _labelled("" if place else "checked", _checked(check))
    yield _labelled("", Text(report["summary"], "dim"))


def _checked(check: Mapping[str, Any]) -> Text:
    remark = f": {check['remark']}" if check["remark"] else ""
    if check["ok"] is None:
        return Text("– ", "yellow") + Text(f"{check['claim']} (not checked{remark})")
    if check["ok"]:
        return Text("✓ ", "green") + Text(check["claim"])
    return Text("✗ ", "bold red") + Text(f"{check['claim']}{remark}")


def _verdict(verdict: Mapping[str, Any]) -> Text:
    if verdict.get("unchecked"):
        return Text("– ", "yellow") + Text(f"{verdict['model']:<14} could not be checked")
    level = LEVELS.get(verdict["model"], "worst class")
    reached, needed = number(verdict["achieved"]), number(verdict["required"])
    return _judged(verdict["holds"], f"{verdict['model']:<14} {level} {reached} (need {needed})")


def _judged(holds: bool, text: str) -> Text:
    return Text("✓ ", "green") + Text(text) if holds else Text("✗ ", "bold red") + Text(f"{text}: not met")


def _totals(report: Mapping[str, Any]) -> str:
    parts = [f"{report['rows']:,} records in {report['classes']:,} classes"]
    if report.get("itemsets"):
        parts = [f"{report['rows']:,} sets, {report['classes']:,} different", _items(report["itemsets"])]
    if report["suppressed"]:
        parts.append(f"{report['suppressed']:,} suppressed")
    if report.get("dropped_for_missing"):
        parts.append(f"{report['dropped_for_missing']:,} left out for empty cells")
    return ", ".join(parts)


def _items(counted: Mapping[str, Any]) -> str:
    before = f"{counted['items']:,} items published as " if "items" in counted else ""
    return f"{before}{counted['published_items']:,} different {'ones' if before else 'items'}"


def run_lines(report: Mapping[str, Any]) -> Iterator[Text]:
    """What a run did: status, verdicts, findings, risk before and after, loss, files."""
    yield from verify_lines(report)
    if report["loss"] is not None:
        yield _labelled("utility", Text(f"loss {report['loss']:.3f} (0 nothing lost, 1 everything)"))
    if report.get("engine_reason") and report["engine"] != "local":
        yield _labelled("engine", Text(f"{report['engine']}: {report['engine_reason']}"))
    files = [
        str(report[key]) for key in ("output", "side_output", "report", "certificate", "recoding") if report.get(key)
    ]
    spent = f"{sum(report['seconds'].values()):.1f} s, {show_bytes(report['peak_memory_bytes'])}"
    yield _labelled("wrote", Text("   ".join([*(files or ["nothing"]), spent])))


def _risk(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> str:
    def shown(key: str, form: str) -> str:
        return f"{format(before[key], form)} → {format(after[key], form)}" if before else format(after[key], form)

    measures = (("unique", "unique_share", ".1%"), ("highest", "highest", ".2f"), ("average", "average", ".2f"))
    said = "    ".join(f"{name} {shown(key, form)}" for name, key, form in measures)
    return f"{said}    of persons" if after.get("counted") == "persons" else said


def check_lines(report: Mapping[str, Any]) -> Iterator[Text]:
    """Whether a policy is sound and its goals can be reached."""
    chosen = f"goals {', '.join(report['goals'])}   algorithm {report['algorithm']}   engine {report['engine']}"
    yield Text("ok  ", "green") + Text(chosen)
    if report["rows"] is None:
        yield Text("    checked without data")
        for note in report["notes"]:
            yield Text(f"    {note}")
        return
    quasi = ", ".join(report["quasi"])
    yield Text(f"    {report['rows']:,} rows, {report['tuples']:,} different on {quasi}")
    loss = "" if report["loss"] is None else f"; expected loss {report['loss']:.3f}"
    unknown = "    not known whether it is feasible: the search found no release"
    yield Text(f"    feasible{loss}" if report["feasible"] else unknown)
    for note in report["notes"]:
        yield Text(f"    {note}")
    for line in finding_lines(report["findings"]):
        yield Text("    ") + line


def list_lines(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[Table]:
    """What there is to choose from, one table per kind."""
    for kind, entries in found.items():
        table = _table(kind, "name", "parameters", "what it is")
        for entry in entries:
            table.add_row(entry["name"], ", ".join(entry["parameters"]), entry["summary"])
        yield table


def explain_lines(found: Mapping[str, Any]) -> Iterator[Text | Table]:
    """What a model, algorithm or metric means."""
    yield Text(found["name"], "bold") + Text(f"  {found['kind']}", "dim")
    yield Text(found["definition"])
    if found["detail"]:
        yield Text(f"\n{found['detail']}")
    rows = (("protects from", "protects_from"), ("not from", "not_from"), ("reference", "reference"))
    if found["parameters"]:
        table = _table("\nparameters", "name", "default", "what it is")
        for entry in found["parameters"]:
            default = "required" if entry["is_required"] else "" if entry["default"] is None else str(entry["default"])
            table.add_row(entry["name"], default, Text(entry["description"], overflow="fold"))
        yield table
    for label, key in rows:
        if found[key]:
            yield Text(f"\n{label}  ", "bold") + Text(found[key])


def lint_lines(found: Mapping[str, Any]) -> Iterator[Text]:
    """What is wrong with a hierarchy file."""
    if found["ok"]:
        yield Text("ok  ", "green") + Text(found["file"])
    for problem in found["problems"]:
        place = f"{found['file']}:{problem['line']}" if problem["line"] else found["file"]
        hint = f"\n  try  {problem['hint']}" if problem["hint"] else ""
        yield Text(f"{place}  {problem['severity']}: {problem['message']}{hint}")


def hierarchy_tree(hierarchy: Hierarchy, *, depth: int) -> Tree:
    """A hierarchy as a tree, large branches cut short."""
    tree = Tree(_node(hierarchy, hierarchy.root))
    _grow(tree, hierarchy, hierarchy.root, depth)
    return tree


def _grow(tree: Tree, hierarchy: Hierarchy, node: int, depth: int) -> None:
    children = hierarchy.children(node)
    if depth == 0 or not children:
        return
    for child in children[:MOST_CHILDREN]:
        _grow(tree.add(_node(hierarchy, child)), hierarchy, child, depth - 1)
    if len(children) > MOST_CHILDREN:
        tree.add(Text(f"… {len(children) - MOST_CHILDREN:,} more", "dim"))


def _node(hierarchy: Hierarchy, node: int) -> Text:
    label = Text(hierarchy.labels[node] or "(missing)")
    if not hierarchy.children(node):
        return label
    return label + Text(f"  {hierarchy.leaf_count(node):,} values, loss {hierarchy.losses[node]:.3g}", "dim")


def rows_table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """A few rows of the made-up sample."""
    table = _table(f"\n{title}", *rows[0])
    for row in rows:
        table.add_row(*("" if cell is None else Text(str(cell)) for cell in row.values()))
    return table


def next_steps(policy: Path, report: Mapping[str, Any]) -> Iterator[Text]:
    """How to go on after the demo."""
    yield Text("\nOpen ") + Text(str(report["report"]), "bold") + Text(" in a browser: the report of this release.")
    release, certificate = report["output"], report["certificate"]
    yield Text(f"Next: tablecloak verify {release} --certificate {certificate}")
    yield Text(f"      tablecloak run {policy} --set goals.0.k=20 --force")


def show_bytes(count: float) -> str:
    """An amount of memory in a readable unit."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def _labelled(label: str, text: Text) -> Text:
    return Text(f" {label:<9} ", "bold") + text


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold", title_style="bold")
    for column in columns:
        table.add_column(column, overflow="ellipsis")
    return table
