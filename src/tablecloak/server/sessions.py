"""Sessions: a token that works once becomes a cookie; forms and scripts prove that they come from our pages."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from datetime import UTC, datetime, timedelta

from tablecloak.server.store import Store

__all__ = ["Sessions"]

SESSION_DAYS = 30
MOST_REMEMBERED = 100


class Sessions:
    """Who may talk to the server."""

    def __init__(self, store: Store, *, bearer: str | None, port: int) -> None:
        self._store = store
        self._bearer = bearer
        self._tokens: set[str] = set()
        self._open: dict[str, tuple[int, str]] = {}  # sessions seen, with the generation of the store and the day
        self._lock = threading.Lock()
        self.cookie = f"tablecloak-{port}"  # browsers share cookies between ports

    def new_token(self) -> str:
        """A token for a link; it works once."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._tokens.add(_hash(token))
        return token

    def open(self, token: str) -> str | None:
        """A session for a token that was not used before, else None."""
        with self._lock:
            if _hash(token) not in self._tokens:
                return None
            self._tokens.remove(_hash(token))
        session = secrets.token_urlsafe(32)
        self._store.add_session(_hash(session))
        return session

    def is_open(self, session: str | None) -> bool:
        """Whether a session was opened and not closed; asked for every request, so the last answers are remembered."""
        if not session:
            return False
        since = datetime.now(UTC) - timedelta(days=SESSION_DAYS)
        seen = (self._store.generation, since.date().isoformat())
        if self._open.get(session) == seen:
            return True
        is_open = self._store.has_session(_hash(session), since.isoformat())
        if is_open:
            self._open = {**dict(list(self._open.items())[-MOST_REMEMBERED:]), session: seen}
        else:
            self._open.pop(session, None)
        return is_open

    def is_bearer(self, given: str | None) -> bool:
        """Whether a request brings the token that whoever started the server chose."""
        if self._bearer is None or given is None:
            return False
        return hmac.compare_digest(given.encode(), f"Bearer {self._bearer}".encode())

    @staticmethod
    def proof(session: str) -> str:
        """What forms of a session carry; other pages cannot know it."""
        return hmac.new(session.encode(), b"form", hashlib.sha256).hexdigest()

    def proves(self, session: str, given: str | None) -> bool:
        return given is not None and hmac.compare_digest(self.proof(session).encode(), given.encode())


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
