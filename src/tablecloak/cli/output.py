"""Results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from tablecloak.cli.settings import Settings
    from tablecloak.io.places import Place
    from tablecloak.progress import Progress
    from tablecloak.report.blocks import Block, Document


def emit(settings: Settings, data: Any, blocks: Iterable[Block | str]) -> None:
    """Print a result: as JSON if asked, otherwise what is said about it to people; a text is a paragraph."""
    if settings.json:
        emit_json(data)
        return
    from rich.table import Table

    from tablecloak.report.blocks import Paragraph
    from tablecloak.report.render.terminal import lines

    console = _console(sys.stdout)

    def write() -> None:
        for line in lines(Paragraph(block) if isinstance(block, str) else block for block in blocks):
            console.print(line, soft_wrap=not isinstance(line, Table))

    _guarded(write)


def emit_json(data: Any) -> None:
    """Print plain data as JSON on stdout."""
    is_unicode = "utf" in (sys.stdout.encoding or "").lower()
    emit_text(json.dumps(data, indent=2, ensure_ascii=not is_unicode, default=str) + "\n")


def emit_text(text: str) -> None:
    """Write text to stdout as it is."""

    def write() -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    _guarded(write)


def emit_bytes(chunks: Iterable[bytes]) -> None:
    """Write bytes to stdout as they are."""

    def write() -> None:
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()

    _guarded(write)


def remark_all(settings: Settings, blocks: Iterable[Block]) -> None:
    """Say something on stderr, where stdout is taken by the release."""
    from tablecloak.report.render.terminal import lines

    if not settings.quiet:
        for line in lines(blocks):
            stderr().print(line, soft_wrap=True, markup=False, highlight=False)


def remark(settings: Settings, text: str) -> None:
    """Say something on stderr unless asked to be quiet."""
    if not settings.quiet:
        stderr().print(text, soft_wrap=True, markup=False, highlight=False)


@contextmanager
def page_at(path: Path | None, reads: Iterable[Place | None], *, force: bool) -> Iterator[Callable[[Document], None]]:
    """What writes a page, put in place at the end; a place where it must not or cannot be is refused before the work.

    Args:
        path: None: no page is asked for.
    """
    if path is None:
        yield lambda _: None
        return
    from tablecloak.io.atomic import Outputs, writing
    from tablecloak.report.render.html import page

    with Outputs(reads=reads, force=force) as outputs:
        target = outputs.add(path)

        def write(document: Document) -> None:
            with writing(target):
                target.write_text(page(document), encoding="utf-8")

        yield write


def stderr() -> Console:
    """The console for progress and messages."""
    return _console(sys.stderr)


@contextmanager
def progress_for(settings: Settings) -> Iterator[Progress]:
    """Bars on a terminal, nothing for machines or when asked to be quiet."""
    if settings.quiet or settings.json:
        from tablecloak.cli.interrupts import Quiet

        yield Quiet()
        return
    from tablecloak.cli.progress import RichProgress

    bars = RichProgress(stderr())
    try:
        yield bars
    finally:
        bars.stop()


def _console(stream: Any) -> Console:
    from rich.console import Console

    return Console(file=stream, highlight=False, emoji=False)


def _guarded(write: Callable[[], None]) -> None:
    """Write; if the reader has gone (`| head`), the work goes on in silence."""
    try:
        write()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
