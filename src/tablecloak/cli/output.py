"""Results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from rich.console import Console

    from tablecloak.cli.settings import Settings
    from tablecloak.io.places import Place
    from tablecloak.progress import Progress
    from tablecloak.report.blocks import Block, Document

# What a command found, and the page about it.
PagedResult: TypeAlias = "tuple[dict[str, Any], Document]"


def emit(
    settings: Settings,
    data: Any,
    blocks: Iterable[Block | str],
    *,
    is_stdout_taken: bool = False,
    is_failure: bool = False,
) -> None:
    """Print a result: as JSON if asked, otherwise what is said about it to people; a text is a paragraph.

    Args:
        is_stdout_taken: the release went there, so what is said about it goes to stderr.
        is_failure: the command ends with an exit code that asks why, so that it is also said to the quiet.
    """
    if settings.json:
        emit_json(data)
        return
    if settings.quiet and not is_failure:
        return
    from rich.table import Table

    from tablecloak.report.blocks import Paragraph
    from tablecloak.report.render.terminal import lines

    console = _console(sys.stdout)
    shown = lines(Paragraph(block) if isinstance(block, str) else block for block in blocks)
    if is_stdout_taken:
        for line in shown:
            remark(settings, line)
        return

    def write() -> None:
        for line in shown:
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


def remark(settings: Settings, text: Any) -> None:
    """Say something on stderr unless asked to be quiet."""
    if not settings.quiet:
        stderr().print(text, soft_wrap=True, markup=False, highlight=False)


def emit_page(
    settings: Settings,
    work: Callable[[], PagedResult],
    *,
    page: Path | None,
    reads: Iterable[Place | None],
    force: bool,
) -> None:
    """Do the work, print its result and write it as a page, where one is asked for.

    A place where the page must not or cannot be is refused before the work.
    """
    if page is None:
        data, document = work()
        emit(settings, data, document.blocks)
        return
    from tablecloak.io.atomic import replace_when_done, writing
    from tablecloak.report.render.html import page as rendered

    with replace_when_done(page, reads=reads, force=force) as target:
        data, document = work()
        with writing(target):
            target.write_text(rendered(document), encoding="utf-8")
    emit(settings, data, document.blocks)
    remark(settings, f"Wrote {page}.")


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
