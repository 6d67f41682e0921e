"""What Ctrl-C asks for: the best answer so far while a search is refining one, otherwise the end of the run."""

from __future__ import annotations

from dataclasses import dataclass

from tablecloak.progress import HAVE_ANSWER, Silent


@dataclass(slots=True)
class Wish:
    """Flags that a signal handler may set at any moment; nothing here waits or allocates."""

    can_keep: bool = False
    is_stopping: bool = False

    def enter(self, phase: str) -> None:
        """A phase begins or, with no name, ends."""
        self.can_keep = phase in HAVE_ANSWER

    def stop(self) -> bool:
        """Ask to keep the best answer; False if there is none yet or it was asked before."""
        if not self.can_keep or self.is_stopping:
            return False
        self.is_stopping = True
        return True


wish = Wish()


class Quiet(Silent):
    """Says nothing, but can be asked to keep the best answer so far."""

    def start(self, phase: str, total: int | None = None) -> None:  # noqa: ARG002
        wish.enter(phase)

    def finish(self, note: str = "") -> None:  # noqa: ARG002
        wish.enter("")

    def stopping(self) -> bool:
        return wish.is_stopping
