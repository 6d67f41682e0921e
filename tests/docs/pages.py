"""The pages of the documentation, their sections, tables and examples."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FRONT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
EVERY_PAGE = [*FRONT, *sorted(DOCS.rglob("*.md"))]
# Pages that somebody wrote; those made from the code say so in their first line.
PAGES = [p for p in EVERY_PAGE if "<!-- Made by" not in p.read_text(encoding="utf-8").partition("\n")[0]]
HOW_TO, TUTORIAL = DOCS / "how-to", DOCS / "tutorial.md"

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"\s+# exit (\d+)$")
_FILE = re.compile(r"# ([\w.-]+\.yaml)\n")


def script(name: str) -> ModuleType:
    """A script of the docs as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Block:
    """A fenced example."""

    language: str
    text: str
    line: int  # of its first line in the page


@dataclass(frozen=True)
class Command:
    """A command of a console example, the code it ends with and the output shown for it."""

    text: str
    code: int
    shown: tuple[str, ...]


def file_name(block: Block) -> str | None:
    """The file that a reader saves an example as: its first line says so."""
    named = _FILE.match(block.text)
    return named[1] if named else None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(m[1], m[2], text.count("\n", 0, m.start()) + 2) for m in _FENCE.finditer(text)]


def commands(block: Block) -> list[Command]:
    """Lines after `$ ` are commands, `# exit N` at their end says the code; other lines are output of the last one."""
    found: list[Command] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            code = _EXIT.search(line)
            found.append(Command(_EXIT.sub("", line[2:]).strip(), int(code[1]) if code else 0, ()))
        elif line.strip():
            last = found.pop()
            found.append(Command(last.text, last.code, (*last.shown, line)))
    return found


def is_shown(shown: tuple[str, ...], output: str) -> bool:
    """The lines occur in the output one after the other; `...` stands for any text or any lines, spaces are alike."""
    parts = [re.escape(" ".join(line.split())).replace(r"\.\.\.", ".*") for line in shown if line.strip() != "..."]
    lines = iter([" ".join(line.split()) for line in output.splitlines()])
    return all(any(re.fullmatch(part, line) for line in lines) for part in parts)


def section(page: Path, *titles: str) -> str:
    """The text below a heading, up to the next heading of the same or a higher level; titles go inwards."""
    text = page.read_text(encoding="utf-8")
    for title in titles:
        found = re.search(rf"^(#+) {re.escape(title)}\n(.*?)(?=^#{{1,6}} |\Z)", text, re.MULTILINE | re.DOTALL)
        assert found, f"{page.name} has no section '{' / '.join(titles)}'"
        level = len(found[1])
        rest = text[found.start(2) :]
        end = re.search(rf"^#{{1,{level}}} ", rest, re.MULTILINE)
        text = rest[: end.start()] if end else rest
    return text


def rows(text: str) -> dict[str, list[str]]:
    """The rows of the tables of a text by their first cell without quotes; `a`, `b` in it counts as two."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("| "):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            for name in re.findall(r"`([^`]+)`", cells[0]) or [cells[0]]:
                found.setdefault(name, cells)
    return found
