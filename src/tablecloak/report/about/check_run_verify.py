"""What is said of a policy that was checked, of a run and of a recount."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tablecloak.registry import named
from tablecloak.report import blocks
from tablecloak.report.about import quality
from tablecloak.report.blocks import Block, Text, Words
from tablecloak.report.words import counted, number
from tablecloak.values.amounts import show_amount, show_size

COVERED = "every cell covers its original"
COVERED_ITEMS = "every published item covers an item of its record"
HELD = "every column holds the values of its original"
WHO = {"quasi": "knowing the quasi-identifiers", "published": "knowing everything published"}
MEASURES = (("unique", "unique_share", ".1%"), ("highest", "highest", ".2f"), ("average", "average", ".2f"))
FILES = ("output", "side_output", "report", "certificate", "recoding")


def status_words(report: Mapping[str, Any]) -> Words:
    """The one word that decides, and green only where the release can be handed over."""
    findings = report.get("findings", ())
    n_open = sum(finding["accepted"] is None for finding in findings)
    said: dict[str, tuple[str, blocks.Tone]] = {
        "ready": ("ready to hand over", "good"),
        "accepted": (f"ready, with {counted(len(findings), 'accepted finding')}", "good"),
        "findings": (f"not ready: {counted(n_open, 'finding')}", "warning"),
        "unchecked": ("not ready: something could not be checked", "warning"),
    }
    text, tone = said.get(report["status"], ("not ready: not everything is as it must be", "bad"))
    return Words(text, tone, is_strong=True)


def verdict_sentence(run: Mapping[str, Any]) -> Words:
    """Whether the release can be handed over, as a page begins."""
    findings = run.get("findings", ())
    n = len(findings)
    n_open = sum(finding["accepted"] is None for finding in findings)
    open_ = "one finding is" if n_open == 1 else f"{n_open} findings are"
    sentences = {
        "ready": "✓ Ready to hand over: every goal holds, and nothing else singles people out.",
        "accepted": f"✓ Ready, with {n} accepted finding{'s' if n != 1 else ''}. Every goal holds.",
        "findings": f"! Not ready: every goal holds, and {open_} open.",
        "unchecked": "! Not ready: something could not be checked.",
        "fails": "✗ Not ready: not everything is as it must be.",
    }
    otherwise = "✓ Every goal holds." if run["holds"] else "✗ A goal does not hold."
    text = sentences.get(str(run.get("status")), otherwise)
    if run.get("status") in ("findings", "unchecked"):
        return Words(text, "warning", is_strong=True)
    return Words(text, "good" if run["holds"] else "bad", is_strong=True)


def findings_block(findings: Sequence[Mapping[str, Any]]) -> blocks.Findings:
    """What besides the goals singles people out, each with the change that ends it or the reason why it stays."""
    return blocks.Findings(
        tuple(blocks.FindingRow(f["kind"], f["what"], f["fix"]["text"], f["accepted"]) for f in findings)
    )


def verdicts_block(
    verdicts: Sequence[Mapping[str, Any]], senses: Sequence[str] = (), *, worst: str = "worst class"
) -> blocks.Verdicts:
    """Every goal: what was required and what was counted."""
    rows = [
        blocks.VerdictRow(
            model=verdict["model"],
            parameters=", ".join(f"{k}={v}" for k, v in verdict.get("params", {}).items()),
            holds=None if verdict.get("unchecked") else verdict["holds"],
            required=number(verdict["required"]),
            achieved=number(verdict["achieved"]),
            margin=number(verdict["margin"]),
            worst=f"{verdict['worst_class_size']:,} records",
            sense=sense,
            level=named("models")[verdict["model"]].level_name,
        )
        for verdict, sense in zip(verdicts, senses or [""] * len(verdicts), strict=True)
    ]
    return blocks.Verdicts(tuple(rows), worst)


def verified(report: Mapping[str, Any]) -> list[Block]:
    """What a recount says: status, goals, findings, the totals and the risk; the certificate where it was held up."""
    entries = list(_verified(report))
    if "checks" in report:
        checks = tuple(_check(check) for check in report["checks"])
        entries += [blocks.Entry("checked", checks), blocks.Entry("", (Words(report["summary"], "faint"),))]
    return [blocks.Labelled(tuple(entries))]


def ran(report: Mapping[str, Any]) -> list[Block]:
    """What a run did: the recount, loss, engine, files."""
    entries = list(_verified(report))
    if report.get("transforms"):
        entries.append(blocks.Entry("columns", tuple(_transformed(report))))
    if report["loss"] is not None:
        entries.append(blocks.Entry("utility", _losses(report)))
    if weights := tuple(_population(report)):
        entries.append(blocks.Entry("weights", weights))
    if report.get("engine_reason") and report["engine"] != "local":
        entries.append(blocks.Entry("engine", (f"{report['engine']}: {report['engine_reason']}",)))
    files = [str(report[key]) for key in FILES if report.get(key)]
    spent = f"{sum(report['seconds'].values()):.1f} s, {show_size(report['peak_memory_bytes'])}"
    entries.append(blocks.Entry("wrote", ("   ".join([*(files or ["nothing"]), spent]),)))
    return [blocks.Labelled(tuple(entries))]


# What weights of a survey say of a release, in words.
POPULATION = {
    "individual-risk": "highest individual risk",
    "reidentification-rate": "share of records linked right in expectation",
    "expected-population-uniques": "expected population uniques",
}


def _population(report: Mapping[str, Any]) -> Iterator[str]:
    """The risk of being linked with the population, where weights tell it."""
    for name, words in POPULATION.items():
        value = _value(report, name)
        if value is not None:
            yield f"{words} {show_amount(value)} ({report['metrics'][name]['note']})"


def _value(report: Mapping[str, Any], metric: str) -> float | None:
    value: float | None = (report.get("metrics", {}).get(metric) or {}).get("value")
    return value


def engine_blocks(report: Mapping[str, Any]) -> list[Block]:
    """Which engine did the work and why, unless it was done in memory."""
    if report["engine"] == "local":
        return []
    return [blocks.Paragraph(f"Engine {report['engine']}: {report['engine_reason']}")]


def _losses(report: Mapping[str, Any]) -> tuple[str, ...]:
    """What is lost, beside what detailed labels would lose where few were asked for."""
    weighed = _value(report, "weighted-loss")
    scale = "(0 nothing lost, 1 everything)" + ("" if weighed is None else f"; {weighed:.3f} by the weights of records")
    if "detailed_loss" not in report:
        return (f"loss {report['loss']:.3f} {scale}",)
    detailed = f"detailed labels would lose {report['detailed_loss']:.3f}: output.style: detailed"
    return (f"loss {report['loss']:.3f} with few labels that do not overlap {scale}", detailed)


def summary(run: Mapping[str, Any]) -> list[Block]:
    """A short account of a run for notebooks: verdict, goals, loss."""
    totals = f"{run['rows']:,} records in {run['classes']:,} classes, {run['suppressed']:,} suppressed"
    loss = "" if run["loss"] is None else f", loss {run['loss']:.3f}"
    sentence = Words(verdict_sentence(run).text, is_strong=True)
    return [blocks.Paragraph((sentence, f" {totals}{loss}")), verdicts_block(run["verdicts"])]


def _verified(report: Mapping[str, Any]) -> Iterator[blocks.Entry]:
    if report.get("status") is not None:
        yield blocks.Entry("status", (status_words(report),))
    covering = [_judged(report["covers"], _covering(report))] if report["covers"] is not None else []
    failures = [_failure(failure) for failure in report.get("failures", ())]
    unchecked = [(Words("– ", "warning"), f"not checked: {reason}") for reason in report.get("unchecked", ())]
    yield blocks.Entry("verify", (verdicts_block(report["verdicts"]), *covering, *failures, *unchecked))
    yield blocks.Entry("", tuple(f"  {note}" for note in report.get("notes", ())))
    yield blocks.Entry("findings", (findings_block(report.get("findings", ())),))
    yield blocks.Entry("counted", (_totals(report),))
    yield blocks.Entry("risk", tuple(_risks(report.get("risk"))))


def _judged(holds: bool, text: str) -> Text:
    return (Words("✓ ", "good"), text) if holds else (Words("✗ ", "bad", is_strong=True), f"{text}: not met")


def _covering(report: Mapping[str, Any]) -> str:
    if report.get("itemsets"):
        return COVERED_ITEMS
    return HELD if report.get("grouped") else COVERED


def _failure(failure: Mapping[str, Any]) -> Text:
    """Where something is wrong: column, class and rows, never a cell."""
    column = "" if failure["column"] is None else f"column '{failure['column']}': "
    count = f", {failure['count']:,} rows" if failure["count"] else ""
    rows = f": {', '.join(map(str, failure['rows']))}{' …' if failure['count'] > len(failure['rows']) else ''}"
    place = "" if failure["class"] is None else f", first in class {failure['class']}"
    text = f"{column}{failure['what']}{count}{rows if failure['rows'] else ''}{place}"
    return (Words("✗ ", "bad", is_strong=True), text)


def _check(check: Mapping[str, Any]) -> Text:
    remark = f": {check['remark']}" if check["remark"] else ""
    if check["ok"] is None:
        return (Words("– ", "warning"), f"{check['claim']} (not checked{remark})")
    if check["ok"]:
        return (Words("✓ ", "good"), check["claim"])
    return (Words("✗ ", "bad", is_strong=True), f"{check['claim']}{remark}")


def _totals(report: Mapping[str, Any]) -> str:
    parts = [f"{report['rows']:,} records in {report['classes']:,} classes"]
    if report.get("itemsets"):
        parts = [f"{report['rows']:,} sets, {report['classes']:,} different", _items(report["itemsets"])]
    if report["suppressed"]:
        parts.append(f"{report['suppressed']:,} suppressed")
    if report.get("dropped_for_missing"):
        parts.append(f"{report['dropped_for_missing']:,} left out for empty cells")
    return ", ".join(parts)


def _items(itemsets: Mapping[str, Any]) -> str:
    before = f"{itemsets['items']:,} items published as " if "items" in itemsets else ""
    return f"{before}{itemsets['published_items']:,} different {'ones' if before else 'items'}"


def _risks(risk: Mapping[str, Mapping[str, Any]] | None) -> Iterator[str]:
    """The risk for both attackers, before and after where both are known; the same measures stand below each other."""
    known = {name: sides for who, name in WHO.items() if (sides := (risk or {}).get(who)) and sides["after"]}
    rows = [[_measured(sides, *measure) for measure in MEASURES] for sides in known.values()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for (name, sides), row in zip(known.items(), rows, strict=True):
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
        of_whom = ["of persons"] if sides["after"].get("counted") == "persons" else []
        yield f"{name:<30} {'    '.join([*cells, *of_whom])}".rstrip()


def _measured(sides: Mapping[str, Any], name: str, key: str, form: str) -> str:
    values = [format(side[key], form) for side in (sides["before"], sides["after"]) if side]
    return f"{name} {' → '.join(values)}"


def _transformed(report: Mapping[str, Any]) -> Iterator[str]:
    """What transforms make of columns, what that means for the goals and statistics, and what may be a mistake."""
    moments = report.get("moments") or {"columns": (), "largest_change": None}
    figures = {column["column"]: ", ".join(quality.moment_texts(column)) for column in moments["columns"]}
    for made in report.get("transforms", ()):
        key = f" (key {made['key']})" if made.get("key") else ""
        yield f"{made['column']}: {', '.join(made['kinds'])}{key} {made['stage']}; {made['means']}"
        if figures.get(made["column"]):
            yield f"  {figures[made['column']]}"
        yield from (f"  {made['column']}: {warning}" for warning in made.get("warnings", ()))
    if correlation := quality.correlation_text(moments["largest_change"]):
        yield correlation[0].lower() + correlation[1:].rstrip(".")


def checked(report: Mapping[str, Any]) -> list[Block]:
    """Whether a policy is sound and its goals can be reached."""
    chosen = f"goals {', '.join(report['goals'])}   algorithm {report['algorithm']}   engine {report['engine']}"
    lines: list[Text] = [chosen]
    if report["rows"] is None:
        lines.append("checked without data")
    else:
        quasi = ", ".join(report["quasi"])
        lines.append(f"{report['rows']:,} rows, {report['tuples']:,} different on {quasi}")
        reason = report.get("not_shown", "the search found no release")
        feasible = "feasible" if report["feasible"] else f"not known whether it is feasible: {reason}"
        lines.append(f"{feasible}{_expected(report)}")
    lines += [*_transformed(report), *report["notes"]]
    findings = () if report["rows"] is None else report["findings"]
    return [blocks.Labelled((blocks.Entry("ok", (*lines, findings_block(findings))),), "ok")]


def _expected(report: Mapping[str, Any]) -> str:
    """The loss that a release would have, and whether that is an estimate."""
    if report["loss"] is None:
        return "; --exact searches for one" if report.get("not_shown") else "; --exact tells the loss"
    if not report.get("sampled_rows"):
        return f"; expected loss {report['loss']:.3f}" if report["feasible"] else ""
    return f"; loss about {report['loss']:.2f}, estimated from {report['sampled_rows']:,} rows (--exact searches all)"


def demonstrated(report: Mapping[str, Any], careless: Mapping[str, Any] | None = None) -> Iterator[Block]:
    """What a finding looks like: the same release with a column in which everybody differs; and how to go on.

    Args:
        careless: what the run with the column would say; None: it was not tried.
    """
    if careless is not None:
        text = "\nWith the column cost kept as it is (cost: {role: keep}), the same release would be "
        yield blocks.Paragraph((text, status_words(careless)))
        yield blocks.Labelled((blocks.Entry("", (findings_block(careless["findings"]),)),), "indented")
    link = Words(str(report["report"]), is_strong=True)
    yield blocks.Paragraph(("\nOpen ", link, " in a browser: the report of this release."))
    yield blocks.Paragraph(f"Next: tablecloak verify {report['output']} --certificate {report['certificate']}")
    yield blocks.Paragraph(f"      tablecloak run {report['policy']} --set goals.0.k=20 --force")
