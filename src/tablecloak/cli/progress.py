"""Progress bars for a terminal; plain lines where there is none."""

from __future__ import annotations

import time

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tablecloak.cli.interrupts import wish

BAR_WIDTH = 12


class RichProgress:
    """One line per phase: name, bar, note and seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._phase = ""
        self._total: int | None = None
        self._begin = 0.0
        self._done, self._doing = 0, ""

    def start(self, phase: str, total: int | None = None) -> None:
        wish.enter(phase)
        self._phase, self._total, self._begin = phase, total, time.perf_counter()
        self._done, self._doing = 0, ""
        if self._console.is_terminal:
            self._live = Live(self._line(), console=self._console, refresh_per_second=8, transient=True)
            self._live.start()

    def advance(self, done: int) -> None:
        self._done = done
        self._show()

    def doing(self, what: str) -> None:
        """Show what is being done, beside the bar."""
        self._doing = what
        self._show()

    def stopping(self) -> bool:
        return wish.is_stopping

    def finish(self, note: str = "") -> None:
        wish.enter("")
        self.stop()
        seconds = f"{time.perf_counter() - self._begin:.1f} s"
        bar = "█" * BAR_WIDTH
        self._console.print(Text(f" {self._phase:<9} {bar} {note:<48} {seconds:>8}"), soft_wrap=True)

    def stop(self) -> None:
        """Take the moving bar off the screen, also after an error."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _show(self) -> None:
        if self._live is not None:
            self._live.update(self._line())

    def _line(self) -> Table:
        line, done = Table.grid(padding=(0, 1)), self._done
        count = f"{done:,}/{self._total:,}" if self._total else f"{done:,}" if done else ""
        bar = ProgressBar(total=self._total or 1, completed=done, width=BAR_WIDTH, pulse=self._total is None)
        line.add_row(Text(f" {self._phase:<9}"), bar, Text(count), Text(self._doing))
        return line
