"""Pages that are the same for everybody who waits: answered from memory until something is written."""

from __future__ import annotations

import re
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tablecloak.server.services.workshop import Workshop

__all__ = ["Remembered"]

# Steps whose pages show what is stored and no cell; those that show what is told of a run change with every event.
PLAIN = ("load", "roles", "goals", "policy", "run", "ready", "export")
LIVE = ("run",)
LIVE_SECONDS = 0.5  # such a page may be so old: what is told since comes by events
MOST_PAGES = 500
_step = re.compile(rf"/projects/[0-9a-f]+/({'|'.join(PLAIN)})").fullmatch


class Remembered:
    """Answers a page again as long as nothing was written or told since; behind the guard, by session.

    Twenty tabs that wait for a run then cost little more than one.
    """

    def __init__(self, app: ASGIApp, workshop: Workshop) -> None:
        self._app = app
        self._workshop = workshop
        self._generation = -1
        self._pages: dict[tuple[str, str], tuple[tuple[int, int], float, list[Message]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = _step(scope["path"]) if scope["type"] == "http" and scope["method"] == "GET" else None
        if found is None or scope["query_string"]:
            await self._app(scope, receive, send)
            return
        jobs = self._workshop.jobs
        told = (jobs.n_told, jobs.n_asked) if found[1] in LIVE else (0, 0)
        key, generation = (scope["path"], str(_asker(scope))), self._refreshed()
        known = self._pages.get(key)
        is_young = known is not None and known[0][1] == told[1] and time.monotonic() < known[1]
        if known is not None and (known[0] == told or is_young):
            messages = known[2]
        else:
            messages = await self._heard(scope, receive)
            if messages and messages[0].get("status") == 200 and generation == self._workshop.store.generation:
                self._pages[key] = (told, time.monotonic() + LIVE_SECONDS, messages)
        for message in messages:
            await send(_copied(message))

    def _refreshed(self) -> int:
        """The generation of the store; pages of an earlier one are forgotten."""
        generation = self._workshop.store.generation
        if generation != self._generation or len(self._pages) > MOST_PAGES:
            self._pages.clear()
            self._generation = generation
        return generation

    async def _heard(self, scope: Scope, receive: Receive) -> list[Message]:
        messages: list[Message] = []

        async def hear(message: Message) -> None:
            messages.append(message)

        await self._app(scope, receive, hear)
        return messages


def _asker(scope: Scope) -> Any:
    """Whose page it is: forms carry a proof of their session."""
    state = scope.get("state", {})
    return state.get("is_bearer"), state.get("session")


def _copied(message: Message) -> Message:
    """A message of its own: the guard adds headers."""
    return {**message, "headers": list(message["headers"])} if "headers" in message else message
