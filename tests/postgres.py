"""A real PostgreSQL server for tests, in a temporary folder, owned by a user that is not root."""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

USER = "cloak"
FOLDERS = "/usr/lib/postgresql"  # where Debian puts programs that are not on the path


class NoServerError(Exception):
    """There is no PostgreSQL on this machine, and why it could not be started."""


@dataclass(frozen=True)
class Server:
    """A running server; the password is not in its address."""

    port: int
    password: str

    @property
    def address(self) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/postgres"

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement of its own and return what it finds."""
        import adbc_driver_postgresql.dbapi as driver

        address = self.address.replace(f"{USER}@", f"{USER}:{self.password}@")
        with driver.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def tables(self) -> set[str]:
        return {str(name) for (name,) in self.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}


@contextmanager
def running() -> Iterator[Server]:
    """A server that is stopped and removed at the end."""
    programs = _programs()
    user = _user()
    folder = Path(tempfile.mkdtemp(prefix="tablecloak-pg-"))
    server = Server(_free_port(), secrets.token_hex(8))
    try:
        secret = folder / "password"
        secret.write_text(server.password)
        if user is not None:
            for path in (folder, secret):
                os.chown(path, pwd.getpwnam(user).pw_uid, -1)
        _call(user, programs / "initdb", "-D", folder / "data", "-U", USER, "-A", "scram-sha-256", "--no-sync",
              f"--pwfile={secret}")  # fmt: skip
        options = f"-p {server.port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        _call(user, programs / "pg_ctl", "-D", folder / "data", "-o", options, "-l", folder / "log", "-w", "start")
        yield server
    finally:
        with contextlib.suppress(NoServerError):
            _call(user, programs / "pg_ctl", "-D", folder / "data", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path:
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path(FOLDERS).glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]))
    if not versions:
        raise NoServerError("PostgreSQL is not installed; as root, `make test` installs it with apt-get")
    return versions[-1].parent


def _user() -> str | None:
    """Who runs the server: PostgreSQL refuses root."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise NoServerError("PostgreSQL refuses to run as root, and there is no user postgres or nobody")


def _call(user: str | None, *command: object) -> None:
    done = subprocess.run(
        list(map(str, command)), user=user, cwd="/", check=False, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    if done.returncode:
        raise NoServerError(f"{Path(str(command[0])).name} failed: {done.stderr.strip()[-300:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
