"""Write the pages of docs/reference that follow from the code: the catalogue, and a page for everything registered.

`make docs` runs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tablecloak
from tablecloak import registry
from tablecloak.cli.list import ListedKind, summary_of, things_of
from tablecloak.report.explain import Explanation, Parameter, describe

REFERENCE = Path(__file__).parent / "reference"
# Kinds in the order of the catalogue, with their titles; the folder of their pages is called like the kind.
TITLES = {
    ListedKind.MODELS: "Privacy models",
    ListedKind.ALGORITHMS: "Algorithms",
    ListedKind.METRICS: "Information metrics",
    ListedKind.ATTACKS: "Attacks",
    ListedKind.FINDINGS: "Findings",
    ListedKind.TRANSFORMS: "Transforms",
    ListedKind.HIERARCHIES: "Hierarchies",
    ListedKind.DETECTORS: "Detectors",
    ListedKind.PRESETS: "Presets",
    ListedKind.FORMATS: "Formats of files",
    ListedKind.ENGINES: "Engines",
}
INTRO = """Everything there is to choose from, with one sentence about it. Names lead to a page: formula, protection,
parameters and source; `tablecloak explain NAME` prints it. `tablecloak list` prints the names, `tablecloak schema` the
parameters of policies. [Python](python.md) has the names of their classes."""
ABOUT = {
    ListedKind.MODELS: "What must hold. Models combine: a release satisfies all that its policy names. "
    "[Models in one page](../concepts/models.md) says which one to take.",
    ListedKind.ALGORITHMS: "How to get there. `auto` is what runs if a policy names none.",
    ListedKind.METRICS: "What was lost, and what is still of use. A run measures `gcp`, `ncp`, `discernibility`, "
    "`average-class-size` and `suppressed-records`; `tablecloak compare` and `release.measure()` measure all. "
    "A metric that does not apply, because a column has no hierarchy or nothing is sensitive, says why.",
    ListedKind.ATTACKS: "What attackers reach, before and after: [attacks](../concepts/attacks.md).",
    ListedKind.FINDINGS: "What besides the goals singles people out: [ready to hand over](../concepts/ready.md).",
    ListedKind.TRANSFORMS: "What single columns become, whatever their role: [transforms](../concepts/transforms.md).",
    ListedKind.HIERARCHIES: "How values become coarser: [hierarchy](policy.md#hierarchy) has their parameters. "
    "Or a file: CSV from leaf to root, `parent: child` lists, JSON.",
    ListedKind.DETECTORS: "What `inspect` and `init` recognize in a column. A suggestion, not a verdict.",
    ListedKind.PRESETS: "Goals and roles that `tablecloak init --preset NAME` starts from.",
    ListedKind.FORMATS: "What can be read, and mostly written: [sources](sources.md).",
    ListedKind.ENGINES: "What does the work: [engines](../concepts/engines.md).",
}
# Kinds whose things have a page each.
WITH_PAGES = (
    ListedKind.MODELS, ListedKind.ALGORITHMS, ListedKind.METRICS, ListedKind.ATTACKS, ListedKind.FINDINGS,
    ListedKind.TRANSFORMS,
)  # fmt: skip
USE = {
    ListedKind.MODELS: "goals:\n  - {{model: {inside}}}",
    ListedKind.ALGORITHMS: "algorithm: {{kind: {inside}}}",
    ListedKind.TRANSFORMS: "columns:\n  a_column: {{role: keep, transform: {{kind: {inside}}}}}",
    ListedKind.FINDINGS: 'accepted:\n  - {{finding: {inside}, because: "..."}}',
}
# Kinds whose things are imported by name: classes, and functions in modules of their name.
FUNCTIONS = (ListedKind.ATTACKS,)
IN_PYTHON = (ListedKind.MODELS, ListedKind.ALGORITHMS, ListedKind.TRANSFORMS, *FUNCTIONS)
HEAD = ("| name | what it is |", "|---|---|")
PYTHON = """`import tablecloak as tc`; `help(tc.anonymize)` says what each of these takes. Data is a polars, pandas or
Arrow frame, or a place such as the path of a file. What comes back has `to_dict()`, which is what `--json` prints, one
line as its `repr`, and tables and charts in a [notebook](../notebook.md)."""
MADE = "<!-- Made by `make docs` from the docstring in {module}; change it there. -->"


def pages() -> dict[str, str]:
    """The text of every page by its path below docs/reference."""
    of_things = {
        f"{kind}/{name}.md": _page(kind, describe(registry.noun(kind), name, thing), thing.__module__)
        for kind in WITH_PAGES
        for name, thing in _ours(kind).items()
    }
    return {"index.md": _index(), "python.md": _python(), **of_things}


def _ours(kind: ListedKind) -> dict[str, Any]:
    """What tablecloak itself offers; plug-ins have docs of their own."""
    things = things_of(kind)
    if kind not in registry.KINDS:
        return things
    return {n: t for n, t in things.items() if t.__module__.startswith("tablecloak.")}


def _index() -> str:
    lines = ["<!-- Made by `make docs` from what is registered. -->", "# Catalogue", "", INTRO]
    for kind, title in TITLES.items():
        lines += ["", f"## {title}", "", ABOUT[kind], "", "| name | what it is |", "|---|---|"]
        for name, thing in _ours(kind).items():
            lines.append(f"| {_linked(kind, name)} | {_cell(summary_of(thing))} |")
    return "\n".join(lines) + "\n"


def _python() -> str:
    """The public names of the package, and what everything registered is called there."""
    lines = ["<!-- Made by `make docs` from the public names. -->", "# Python", "", PYTHON, "", *HEAD]
    for name in dir(tablecloak):
        thing = getattr(tablecloak, name)
        if not name.startswith("_"):
            lines.append(f"| `tc.{name}` | {_cell(summary_of(thing))} |")
    for kind in IN_PYTHON:
        lines += ["", f"## {TITLES[kind]}", "", *HEAD]
        for name, thing in _ours(kind).items():
            called = f"tablecloak.{kind}.{thing.__name__}" + (f".{thing.__name__}" if kind in FUNCTIONS else "")
            lines.append(f"| `{called}` | [`{name}`]({kind}/{name}.md): {_cell(summary_of(thing))} |")
    return "\n".join(lines) + "\n"


def _linked(kind: ListedKind, name: str) -> str:
    return f"[`{name}`]({kind}/{name}.md)" if kind in WITH_PAGES else f"`{name}`"


def _page(kind: ListedKind, about: Explanation, module: str) -> str:
    lines = [MADE.format(module=module), f"# {about.name}", "", about.definition, *_body(about.body)]
    for part, text in about.parts.items():
        lines += ["", f"**{part}:** {text}"]
    if about.parameters:
        lines += ["", "## Parameters", "", "| name | what it is | values | default |", "|---|---|---|---|"]
        lines += [_row(p) for p in about.parameters]
    if kind in USE:
        lines += ["", "## In a policy", "", "```yaml", USE[kind].format(inside=_inside(about)), "```"]
    lines += ["", f"[All {kind}](../index.md#{_anchor(TITLES[kind])})"]
    return "\n".join(lines) + "\n"


def _body(body: str) -> Iterator[str]:
    """Paragraphs as they are; indented lines are formulas and keep their places."""
    if not body:
        return
    yield ""
    is_formula = False
    for line in body.splitlines():
        if line.startswith("  ") != is_formula:
            is_formula = not is_formula
            yield "```text" if is_formula else "```"
        yield line.removeprefix("  ") if is_formula else line
    if is_formula:
        yield "```"


def _row(parameter: Parameter) -> str:
    default = "must be given" if parameter.written_default is None else f"`{parameter.written_default}`"
    return f"| `{parameter.name}` | {_cell(parameter.plain_description)} | {_cell(parameter.choices)} | {default} |"


def _inside(about: Explanation) -> str:
    given = [f"{p.name}: ..." for p in about.parameters if p.written_default is None]
    return ", ".join([about.name, *given])


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write every page and remove pages of what is gone."""
    wanted = pages()
    for kind in WITH_PAGES:
        for old in (REFERENCE / kind).glob("*.md"):
            if f"{kind}/{old.name}" not in wanted:
                old.unlink()
    for name, text in wanted.items():
        (REFERENCE / name).parent.mkdir(parents=True, exist_ok=True)
        (REFERENCE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
