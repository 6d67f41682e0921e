"""Start a server: find a free port, print the link, open a browser, clean up at the end."""

from __future__ import annotations

import logging
import socket
import threading
import time
import webbrowser
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from tablecloak.errors import PolicyError
from tablecloak.server.app import make_app
from tablecloak.server.settings import ServerSettings

__all__ = ["LocalServer"]

START_SECONDS = 30


class LocalServer:
    """A server on 127.0.0.1."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self._socket = _listen(settings.port)
        try:
            self.app: FastAPI = make_app(settings)
        except BaseException:
            self._socket.close()
            raise
        config = uvicorn.Config(
            self.app, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=2,
            timeout_keep_alive=30,
        )  # fmt: skip
        self._server = uvicorn.Server(config)

    def link(self, path: str = "/") -> str:
        """An address that opens the app; it works once."""
        token = self.app.state.sessions.new_token()
        return f"http://127.0.0.1:{self.settings.port}{path}?token={token}"

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until interrupted; `ready` is called once requests are answered."""
        logging.getLogger("tablecloak.server").addHandler(logging.StreamHandler())
        # it logs exceptions with their texts, which might hold a cell; our own log says type and place
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        threading.Thread(target=self._when_started, args=(ready,), daemon=True).start()
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        self._server.should_exit = True

    def _when_started(self, ready: Callable[[], None]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._server.started and time.monotonic() < deadline:
            time.sleep(0.02)
        if self._server.started:
            try:
                ready()
            except Exception:
                if not self._server.should_exit:  # ended while it was getting ready
                    raise


def open_browser(link: str) -> bool:
    """Open the link in a browser, if there is one."""
    try:
        return webbrowser.open(link)
    except webbrowser.Error:
        return False


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError:
        listener.close()
        raise PolicyError(f"port {port} is in use", hint="another tablecloak? choose a port with --port") from None
    return listener
