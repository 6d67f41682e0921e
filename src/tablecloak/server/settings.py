"""Settings of a server, and where it keeps its things."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from tablecloak.io.private import PrivateFolder

__all__ = ["DEFAULT_PORT", "ServerSettings", "default_directory"]

DEFAULT_PORT = 8642
MB = 1_000_000
GB = 1_000 * MB


def default_directory() -> Path:
    """Where projects are kept unless another place is named."""
    from platformdirs import user_data_path

    return user_data_path("tablecloak", appauthor=False)


def _roots() -> tuple[Path, ...]:
    return (Path.home().resolve(), Path.cwd().resolve())


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Everything that does not change while a server runs."""

    directory: Path
    port: int = DEFAULT_PORT
    workers: int = 1
    threads: int | None = None  # of each job; None: all there are
    engine: str = "auto"  # of each job
    memory: int | None = None  # bytes of each job; None: that of the machine
    starts_early: bool = True  # workers begin before somebody asks
    is_ephemeral: bool = False  # everything is deleted when the server ends
    upload_limit_bytes: int = 4 * GB
    expanded_limit_bytes: int = 16 * GB  # of a compressed file once it is unpacked
    most_cells: int = 2 * GB  # of a table, whatever its file says
    retention_days: int | None = 30  # projects untouched for longer are deleted; None: never
    roots: tuple[Path, ...] = field(default_factory=_roots)  # folders that files may be opened from
    internet: frozenset[str] = frozenset()  # servers that may be asked for files; empty: nothing leaves this machine
    bearer: str | None = field(default_factory=lambda: os.environ.get("TABLECLOAK_TOKEN") or None, repr=False)

    @classmethod
    def ephemeral(cls, **given: object) -> ServerSettings:
        """Settings of a server that leaves nothing behind."""
        directory = PrivateFolder.temporary("tablecloak-serve-")
        return cls(directory.path, is_ephemeral=True, **given)  # type: ignore[arg-type]

    @property
    def hosts(self) -> frozenset[str]:
        """What a request may call this server; anything else is a page of somebody else that resolves to us."""
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]"))

    @property
    def origins(self) -> frozenset[str]:
        return frozenset(f"http://{host}" for host in self.hosts)
