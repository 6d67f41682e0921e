"""The guard before every route: who asks, from where, how much they send, and what browsers may do with the answer."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import html
import json
import secrets
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tablecloak.server.state import ServerSettings
from tablecloak.server.store import Store

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; "
    "form-action 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)
# A report brings its own style sheet and nothing that runs; it is opened as if it came from nowhere.
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'"
ICON = '<link rel="icon" href="/static/mark.svg" type="image/svg+xml">'
SAFE = ("GET", "HEAD", "OPTIONS")
PLAIN_LIMIT = 2_000_000  # bytes of requests that bring no file
HIERARCHY_LIMIT = 50_000_000
UPLOADS = ("/open/upload", "/api/v1/datasets", "/api/v1/verify")
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


class BodyTooLarge(Exception):  # noqa: N818
    """A request sent more than its limit."""


class Guard:
    """Turns away what is not from our own pages, or from a script that knows the token."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, sessions: Sessions) -> None:
        self._app = app
        self._settings = settings
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        guarded = _with_headers(send)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _say(guarded, *refusal)
            return
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [None])[0]
        if token is not None and scope["method"] == "GET":
            await self._enter(scope, guarded, token)
            return
        session = _cookie(headers, self._sessions.cookie)
        is_bearer = self._sessions.is_bearer(headers.get("authorization"))
        is_public = scope["path"].startswith("/static/")
        if not is_bearer and not is_public and not self._sessions.is_open(session):
            await _say(
                guarded, 401, "unauthorized", "open the link that `tablecloak serve` printed; it works once", scope
            )
            return
        must_prove = scope["method"] not in SAFE and not is_bearer and scope["path"].startswith("/api/")
        if must_prove and not self._sessions.proves(str(session), headers.get("x-csrf-token")):
            await _say(guarded, 403, "forbidden", "the header X-CSRF-Token is missing or wrong", scope)
            return
        scope["state"] = {**scope.get("state", {}), "session": session, "is_bearer": is_bearer}
        await self._limited(scope, receive, guarded, headers)

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str, str, Scope] | None:
        """Why a request is turned away before anybody asks who sends it."""
        if headers.get("host", "") not in self._settings.hosts:
            return 421, "misdirected", "this server answers only under the address it was started with", scope
        origin = headers.get("origin")
        if origin is not None and origin not in self._settings.origins:
            return 403, "forbidden", "the request comes from another origin", scope
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            is_link = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
            if not is_link or headers.get("sec-fetch-dest") not in (None, "document"):
                return 403, "forbidden", "the request comes from another site", scope
        return None

    async def _enter(self, scope: Scope, send: Send, token: str) -> None:
        """Exchange the token for a cookie; a page moves on by itself, because a redirect would not carry the cookie."""
        session = self._sessions.open(token)
        already = self._sessions.is_open(_cookie(Headers(scope=scope), self._sessions.cookie))
        if session is None and not already:
            await _say(
                send, 401, "unauthorized", "this link was used before; `tablecloak serve` prints a new one", scope
            )
            return
        query = {k: v for k, v in parse_qs(scope["query_string"].decode("latin-1")).items() if k != "token"}
        path = "/" + scope["path"].lstrip("/\\")
        target = html.escape(path + (f"?{urlencode(query, doseq=True)}" if query else ""))
        body = (
            '<!doctype html><html lang="en"><meta charset="utf-8">'
            f'<meta http-equiv="refresh" content="0; url={target}"><title>tablecloak</title>'
            f'{ICON}<p><a href="{target}">Continue to tablecloak</a></p></html>'
        )
        extra = [] if session is None else [(b"set-cookie", self._cookie_header(session))]
        await _answer(send, 200, body.encode(), "text/html; charset=utf-8", extra)

    def _cookie_header(self, session: str) -> bytes:
        return f"{self._sessions.cookie}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000".encode()

    def _file_limit(self, path: str) -> int:
        """Bytes of a file that a request may bring."""
        if path in UPLOADS or path.endswith("/again"):
            return self._settings.upload_limit_bytes
        return HIERARCHY_LIMIT if path.endswith("/hierarchies") else 0

    async def _limited(self, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        """Pass on, counting bytes: a body that is too large is refused while it comes in."""
        limit = PLAIN_LIMIT + self._file_limit(scope["path"])
        claimed = headers.get("content-length", "0")
        if not claimed.isdecimal() or int(claimed) > limit:
            await _say(send, 413, "too-large", f"at most {limit:,} bytes can be sent here", scope)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise BodyTooLarge
            return message

        async def unless_refused(message: Message) -> None:
            if received <= limit:  # else the application answers to an error that is ours to explain
                await send(message)

        with contextlib.suppress(BodyTooLarge):
            await self._app(scope, counted, unless_refused)
        if received > limit:
            await _say(send, 413, "too-large", f"at most {limit:,} bytes can be sent here", scope)


def _with_headers(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("content-security-policy", PAGE_POLICY)
        await send(message)

    return guarded


def _cookie(headers: Mapping[str, str], name: str) -> str | None:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return None
    return morsel.value if morsel else None


async def _say(send: Send, status: int, kind: str, message: str, scope: Scope) -> None:
    """A refusal: problem+json for programs, a short page for people."""
    wants_page = not scope["path"].startswith("/api/") and "text/html" in Headers(scope=scope).get("accept", "")
    if wants_page:
        body = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            '<link rel="stylesheet" href="/static/app.css"><title>tablecloak</title>'
            f'{ICON}<main class="plain">'
            f"<h1>Not this way</h1><p>{html.escape(message[:1].upper() + message[1:])}.</p></main></html>"
        )
        await _answer(send, status, body.encode(), "text/html; charset=utf-8", [])
        return
    problem = {"type": "about:blank", "title": kind, "status": status, "detail": message, "error": kind,
               "message": message}  # fmt: skip
    await _answer(send, status, json.dumps(problem).encode(), "application/problem+json", [])


async def _answer(send: Send, status: int, body: bytes, media: str, extra: list[tuple[bytes, bytes]]) -> None:
    headers = [(b"content-type", media.encode()), (b"content-length", str(len(body)).encode()), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


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
        stamp = (self._store.generation, since.date().isoformat())
        if self._open.get(session) == stamp:
            return True
        is_open = self._store.has_session(_hash(session), since.isoformat())
        if is_open:
            self._open = {**dict(list(self._open.items())[-MOST_REMEMBERED:]), session: stamp}
        else:
            self._open.pop(session, None)
        return is_open

    def is_bearer(self, header: str | None) -> bool:
        """Whether a request brings the token that whoever started the server chose."""
        if self._bearer is None or header is None:
            return False
        return hmac.compare_digest(header.encode(), f"Bearer {self._bearer}".encode())

    @staticmethod
    def proof(session: str) -> str:
        """What forms of a session carry; other pages cannot know it."""
        return hmac.new(session.encode(), b"form", hashlib.sha256).hexdigest()

    def proves(self, session: str, proof: str | None) -> bool:
        return proof is not None and hmac.compare_digest(self.proof(session).encode(), proof.encode())


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
