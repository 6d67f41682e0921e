"""Which techniques fit a table, and what there is to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tablecloak.report.blocks import Block, Entry, Heading, Labelled, Paragraph, Section, Text, Tone, Words, table

TONES: dict[str, Tone] = {"fine": "good", "better": "warning", "unsafe": "bad"}
NOTHING = "nothing to hide"


def advised(report: Mapping[str, Any]) -> list[Block]:
    """What `tablecloak advise` says of a table: its columns, then the table as a whole."""
    return [
        Section("Data", (Paragraph(_data(report)),)),
        *(Section(column["name"], tuple(_column(column))) for column in report["columns"]),
        Section("The table as a whole", tuple(_table(report))),
    ]


def _data(report: Mapping[str, Any]) -> str:
    n_columns = f"{len(report['columns'])} columns"
    if report["rows"] is None:
        return f"{n_columns} of the policy; no data was looked at, so roles and names decide"
    size = f"{report['rows']:,} rows × {n_columns}"
    return f"{report['file']}  {size}" if report["file"] else size


def _column(column: Mapping[str, Any]) -> Iterator[Block]:
    yield Paragraph(_title(column))
    is_fine = column["status"] == "fine"
    entries = [
        *([Entry("now", (_judged(column),))] if column["now"] else []),
        Entry("why", (f"{column['why']} (rule: {column['rule']})",)),
        *([] if is_fine and column["now"] != "role: drop" else [Entry("policy", (Words(column["line"], "code"),))]),
        Entry("publishes", (column["publishes"],)),
        Entry("not from", (column["not_from"],)),
        *(Entry("or", (f"{other['when'] or 'instead'}: {other['line']}",)) for other in column["otherwise"]),
    ]
    yield Labelled(tuple(entries))


def _title(column: Mapping[str, Any]) -> Text:
    looks = f"  {column['looks_like']}" if column["looks_like"] else ""
    return (Words(column["name"], is_strong=True), Words(looks, "faint"), f"  {column['technique'] or NOTHING}")


def _judged(advice: Mapping[str, Any]) -> Text:
    return (f"{advice['now']}  ", Words(advice["status"], TONES.get(advice["status"], "")))


def _table(report: Mapping[str, Any]) -> Iterator[Block]:
    yield Heading("The table as a whole")
    for advice in report["table"]:
        tone = TONES.get(advice["status"], "")
        status = () if advice["status"] == "advised" else (Words(f"  {advice['status']}", tone),)
        yield Paragraph((advice["situation"], *status))
        yield Labelled(
            (
                Entry("why", (f"{advice['why']} (rule: {advice['rule']})",)),
                *(Entry("policy", (Words(line, "code"),)) for line in advice["lines"]),
                Entry("not from", (advice["not_from"],)),
            )
        )
    yield Paragraph("Rules, techniques and where they come from: tablecloak advise --techniques", "caption")


def techniques(catalogue: Mapping[str, Any]) -> Iterator[Block]:
    """The catalogue: techniques as their sources print them, rules of choice, properties and measures."""
    heads = ("technique", "family", "complete", "confidential", "accurate", "privacy", "utility", "here")
    rows = [
        [each["name"], each["family"], each["completeness"] or "", _conditional(each, "confidentiality"),
         _conditional(each, "accuracy"), each["privacy"] or "", each["utility"] or "", _here(each)]
        for each in catalogue["techniques"]
    ]  # fmt: skip
    yield table(heads, rows, title="Techniques, as their sources print them")
    yield Paragraph("* the text around the table makes it conditional", "caption")
    what = [(each["name"], each["what"], each["weakness"]) for each in catalogue["techniques"]]
    yield table(("technique", "what it does", "weakness"), what, title="\nWhat they do, and do not")
    rules = [
        (rule["name"], rule["situation"], ", ".join(rule["techniques"]), _why(rule)) for rule in catalogue["rules"]
    ]
    yield table(("rule", "situation", "techniques", "why"), rules, title="\nRules of choice")
    properties = [(p["name"], ", ".join(p["ticks"]), p["model"] or p["not_offered"]) for p in catalogue["properties"]]
    yield table(("property", "protects (as printed)", "model here"), properties, title="\nPrivacy properties")
    measures = [(m["name"], m["category"] or "", m["metric"] or m["not_offered"]) for m in catalogue["measures"]]
    yield table(("measure", "kind", "metric here"), measures, title="\nMeasures of what is lost")
    sources = [*dict.fromkeys(each["source"] for each in (*catalogue["techniques"], *catalogue["rules"]))]
    yield Labelled(tuple(Entry("source", (source,)) for source in sources))


def _conditional(technique: Mapping[str, Any], value: str) -> str:
    """A printed value, marked where the condition of a technique is about it."""
    printed = technique[value] or ""
    return f"{printed} *" if technique["conditional_value"] == value else printed


def _here(technique: Mapping[str, Any]) -> str:
    if technique["not_offered"]:
        return f"no: {technique['not_offered']}"
    kinds = ("transforms", "models", "algorithms", "hierarchies")
    return "; ".join(f"{kind}: {', '.join(technique[kind])}" for kind in kinds if technique[kind])


def _why(rule: Mapping[str, Any]) -> str:
    printed = f" (printed: '{rule['printed']}', read the other way round)" if rule["printed"] else ""
    return f"{rule['why']}{printed}"
