"""Run docs/notebook.ipynb as a reader would, keep what it shows, and write it as a page of the docs.

`python docs/notebook.py` needs the group `test`: nbclient, nbformat, ipykernel.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent / "notebook.ipynb"
PAGE = NOTEBOOK.with_suffix(".md")
MADE = "<!-- Made by `python docs/notebook.py` from docs/notebook.ipynb; change it there. -->"
STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)


def executed(path: Path = NOTEBOOK) -> Any:
    """The notebook after all its cells ran, in an empty folder; raises CellExecutionError where one fails."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(prefix="tablecloak-notebook-") as folder:
        NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran is of no interest
    return notebook


def page_of(notebook: Any) -> str:
    """The notebook as a page: its text, its code, and what each cell shows."""
    text = "\n\n".join(part for cell in notebook.cells for part in _parts(cell))
    first, *others = STYLE.split(text)
    styles = STYLE.findall(text)[:1]  # one is enough for a page
    return f"{MADE}\n{first}{''.join(styles)}{''.join(others)}\n"


def _parts(cell: Any) -> Iterator[str]:
    if cell.cell_type == "markdown":
        yield cell.source
        return
    yield f"```python\n{cell.source}\n```"
    for output in cell.outputs:
        data = output.get("data", {"text/plain": output.get("text", "")})
        if "text/html" in data:
            yield "\n".join(line for line in data["text/html"].splitlines() if line.strip())  # a blank line ends HTML
        else:
            yield f"```text\n{data['text/plain'].rstrip()}\n```"


def main() -> None:
    """Run the notebook, and write it and its page."""
    notebook = executed()
    nbformat.write(notebook, NOTEBOOK)
    PAGE.write_text(page_of(notebook), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
