"""Files from servers that were named beforehand: https only, public addresses only, no more than so many bytes."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO
from urllib.parse import urljoin, urlsplit

from tablecloak.errors import DataError

__all__ = ["Answer", "Remote", "host_of", "is_public", "public_address"]

CHUNK = 1 << 18
MOST_REDIRECTS = 5
MOVED = (301, 302, 303, 307, 308)
HTTPS = 443
Connect = Callable[[str, float], http.client.HTTPConnection]


def host_of(url: str) -> str:
    """The host of an address that may be asked at all.

    Raises: DataError for anything but plain https: no other scheme, no port, no name or password.
    """
    try:
        parts = urlsplit(url)
        is_plain = parts.port in (None, HTTPS) and parts.username is None
    except ValueError:
        raise DataError("the address cannot be read", hint="https://zenodo.org/records/NUMBER") from None
    if parts.scheme != "https" or not parts.hostname or not is_plain:
        raise DataError("only plain https addresses are fetched", hint="https://HOST/..., without port or password")
    return parts.hostname


def is_public(address: str) -> bool:
    """Whether an address is one of the internet: not this machine, not its network, nothing reserved."""
    found = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return found.is_global and not found.is_multicast


def public_address(host: str) -> str:
    """An address of a host; DataError if any of its addresses is not public, or if it has none."""
    try:
        found = [str(entry[4][0]) for entry in socket.getaddrinfo(host, HTTPS, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):
        raise DataError(f"{host} cannot be found", hint="check the address and the connection") from None
    if not found or not all(map(is_public, found)):
        raise DataError(f"{host} is not on the internet", hint="files are fetched from public servers only")
    return found[0]


class _Pinned(http.client.HTTPSConnection):
    """A connection to an address that was looked at; the name is still what the certificate must be for."""

    def __init__(self, host: str, address: str, timeout: float) -> None:
        self._address, self._wrapping = address, ssl.create_default_context()
        super().__init__(host, timeout=timeout, context=self._wrapping)

    def connect(self) -> None:
        plain = socket.create_connection((self._address, HTTPS), self.timeout)
        self.sock = self._wrapping.wrap_socket(plain, server_hostname=self.host)


def _connect(host: str, timeout: float) -> http.client.HTTPConnection:
    return _Pinned(host, public_address(host), timeout)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said, to be read once."""

    response: http.client.HTTPResponse
    host: str
    deadline: float

    def chunks(self, limit: int) -> Iterator[bytes]:
        """The body, as long as it stays within a number of bytes and in time."""
        n_bytes, claimed = 0, self.response.length
        if claimed is not None and claimed > limit:
            raise _too_large(self.host, limit)
        while chunk := self._read():
            n_bytes += len(chunk)
            if n_bytes > limit:
                raise _too_large(self.host, limit)
            yield chunk
        if claimed is not None and n_bytes < claimed:
            raise DataError(f"{self.host} ended in the middle of the file", hint="try again")

    def _read(self) -> bytes:
        if time.monotonic() > self.deadline:
            raise _too_slow(self.host)
        with _explained(self.host):
            return self.response.read1(CHUNK)


@dataclass(frozen=True, slots=True)
class Remote:
    """What may be fetched, and from whom; without hosts, nothing and from nobody."""

    hosts: frozenset[str] = frozenset()
    limit_bytes: int = 4_000_000_000
    timeout: float = 30.0  # seconds that a server may stay silent
    longest: float = 3600.0  # seconds that one file may take
    connect: Connect = _connect

    def read(self, url: str, headers: Mapping[str, str], *, limit: int) -> bytes:
        """A short answer as a whole."""
        with self._asked(url, headers) as answer:
            return b"".join(answer.chunks(limit))

    def save(self, url: str, headers: Mapping[str, str], target: BinaryIO) -> None:
        """Write what an address holds to an open file."""
        with self._asked(url, headers) as answer:
            for chunk in answer.chunks(self.limit_bytes):
                target.write(chunk)

    @contextmanager
    def _asked(self, url: str, headers: Mapping[str, str]) -> Iterator[Answer]:
        deadline = time.monotonic() + self.longest
        first = host = self._allowed(url)
        for _ in range(MOST_REDIRECTS + 1):
            connection = self.connect(host, self.timeout)
            try:
                # a token is for the server it was made for, and for no other
                response = _got(connection, host, url, headers if host == first else {})
                if response.status not in MOVED:
                    yield Answer(_accepted(response, host), host, deadline)
                    return
                url = _moved_to(url, response.headers.get("location", ""))
                host = self._allowed(url)
            finally:
                connection.close()
        raise DataError(f"{host} sends us round in circles", hint="check the address")

    def _allowed(self, url: str) -> str:
        host = host_of(url)
        if host not in self.hosts:
            raise DataError(f"{host} may not be asked", hint=f"whoever starts this can allow it: --internet {host}")
        return host


def _got(
    connection: http.client.HTTPConnection, host: str, url: str, headers: Mapping[str, str]
) -> http.client.HTTPResponse:
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    with _explained(host):
        connection.request("GET", path, headers={"Accept-Encoding": "identity", "User-Agent": "tablecloak", **headers})
        return connection.getresponse()


def _moved_to(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        return location  # which cannot be read, and is refused as such


@contextmanager
def _explained(host: str) -> Iterator[None]:
    """What goes wrong on the way, in words."""
    try:
        yield
    except TimeoutError:
        raise _too_slow(host) from None
    except (OSError, http.client.HTTPException) as error:
        raise DataError(f"{host} could not be asked: {type(error).__name__}", hint="try again later") from None


def _accepted(response: http.client.HTTPResponse, host: str) -> http.client.HTTPResponse:
    """The answer if it is one that brings something."""
    if response.status in (401, 403):
        raise DataError(f"{host} does not give this to everybody", hint="name a token: env:NAME or file:PATH")
    if response.status in (404, 410):
        raise DataError(f"{host} does not know it", hint="check the address")
    if response.status != 200:
        raise DataError(f"{host} answered {response.status}", hint="try again later")
    if response.headers.get("content-encoding", "identity") != "identity":
        raise DataError(f"{host} sent something that was not asked for", hint="fetch the file by hand")
    return response


def _too_large(host: str, limit: int) -> DataError:
    return DataError(f"{host} sends more than {limit:,} bytes", hint="fetch the file by hand, or allow larger files")


def _too_slow(host: str) -> DataError:
    return DataError(f"{host} took too long", hint="try again later")
