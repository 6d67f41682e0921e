"""Write docs/reference from docstrings and fields: models, algorithms, metrics, attacks and findings of tablecloak."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tablecloak import registry
from tablecloak.report.reference import Description, Parameter, describe

REFERENCE = Path(__file__).parent / "reference"
SINGULAR = {
    "models": "model",
    "algorithms": "algorithm",
    "metrics": "metric",
    "attacks": "attack",
    "findings": "finding",
}
TITLES = {
    "models": "Privacy models",
    "algorithms": "Algorithms",
    "metrics": "Information metrics",
    "attacks": "Attacks",
    "findings": "Findings",
}
USE = {
    "models": "goals:\n  - {{model: {inside}}}",
    "algorithms": "algorithm: {{kind: {inside}}}",
    "findings": 'accepted:\n  - {{finding: {inside}, because: "..."}}',
}
MADE = "<!-- Made by `make docs` from the docstring in {module}; change it there. -->"


def pages() -> dict[str, str]:
    """The text of every page by file name."""
    found = {"index.md": _index()}
    for kind in TITLES:
        for name, thing in _ours(kind).items():
            found[f"{SINGULAR[kind]}-{name}.md"] = _page(kind, describe(name, thing), thing.__module__)
    return found


def _ours(kind: str) -> dict[str, Any]:
    """What tablecloak itself offers; plug-ins have docs of their own."""
    return {n: t for n, t in registry.known(kind).items() if t.__module__.startswith("tablecloak.")}


def _index() -> str:
    lines = ["# Reference", "", "`tablecloak list` prints the same names; `tablecloak schema` the same parameters."]
    for kind, title in TITLES.items():
        lines += ["", f"## {title}", "", "| name | what it is |", "|---|---|"]
        for name, thing in _ours(kind).items():
            lines.append(f"| [{name}]({SINGULAR[kind]}-{name}.md) | {_cell(describe(name, thing).summary)} |")
    return "\n".join(lines) + "\n"


def _page(kind: str, about: Description, module: str) -> str:
    lines = [MADE.format(module=module), f"# {about.name}", "", about.summary, *_body(about.body)]
    for part, text in about.parts.items():
        lines += ["", f"**{part}:** {text}"]
    if about.parameters:
        lines += ["", "## Parameters", "", "| name | what it is | values | default |", "|---|---|---|---|"]
        lines += [_row(p) for p in about.parameters]
    if kind in USE:
        lines += ["", "## In a policy", "", "```yaml", USE[kind].format(inside=_inside(about)), "```"]
    lines += ["", "[All models, algorithms, metrics and attacks](index.md)"]
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
    default = "must be given" if parameter.default is None else f"`{parameter.default}`"
    return f"| `{parameter.name}` | {_cell(parameter.description)} | {_cell(parameter.choices)} | {default} |"


def _inside(about: Description) -> str:
    given = [f"{p.name}: ..." for p in about.parameters if p.default is None]
    return ", ".join([about.name, *given])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write every page and remove pages of what is gone."""
    REFERENCE.mkdir(exist_ok=True)
    wanted = pages()
    for old in REFERENCE.glob("*.md"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        (REFERENCE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
