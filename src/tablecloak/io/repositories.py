"""Records of repositories for research data: Zenodo, and servers that run Dataverse.

Files come only from servers that were named beforehand: https, public addresses, no more than so many bytes.
"""

from __future__ import annotations

import hashlib
import http.client
import ipaddress
import json
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import parse_qs, quote, urlencode, urljoin, urlsplit

from tablecloak.errors import DataError, PolicyError, did_you_mean
from tablecloak.io.formats import format_and_compression
from tablecloak.io.places import read_secret

ZENODO = "zenodo.org"
LONGEST_LIST = 20_000_000
HINT = "https://zenodo.org/records/NUMBER, or https://SERVER/dataset.xhtml?persistentId=doi:..."
_doi = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:)?(10\.\d{4,9}/\S+)", re.I).fullmatch
_zenodo_doi = re.compile(r"10\.5281/zenodo\.(\d+)", re.I).fullmatch
_zenodo_path = re.compile(r"/(?:api/)?records?/(\d+)(?:/.*)?").fullmatch


@dataclass(frozen=True, slots=True)
class RecordFile:
    """One file of a record."""

    name: str
    n_bytes: int | None
    url: str
    md5: str | None = None
    is_restricted: bool = False

    @property
    def is_table(self) -> bool:
        """Whether it is of a kind that can be read."""
        try:
            format_and_compression(Path(self.name), None, None)
        except DataError:
            return False
        return True

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "bytes": self.n_bytes, "table": self.is_table, "restricted": self.is_restricted}


@dataclass(frozen=True, slots=True)
class Record:
    """What a repository has under one address."""

    kind: str  # zenodo or dataverse
    host: str
    title: str
    files: tuple[RecordFile, ...]

    def file(self, name: str) -> RecordFile:
        """The file of a name."""
        file = next((f for f in self.files if f.name == name), None)
        if file is None:
            hint = did_you_mean(name, [f.name for f in self.files])
            raise DataError("the record has no file of that name", hint=hint)
        return file

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak fetch --json`."""
        return {"kind": self.kind, "host": self.host, "title": self.title, "files": [f.to_dict() for f in self.files]}


def look_up(record: str, remote: Remote, *, token: str | None = None, base: Path | None = None) -> Record:
    """What a record holds, asked from its server.

    Args:
        record: the address of its page, or a DOI.
        token: where a token is, `env:NAME` or `file:PATH` starting from `base`; never the token itself.

    Raises: DataError for what cannot be asked, is not a record, or is not allowed.
    """
    text = record.strip()
    doi = _doi(text)
    zenodo = _zenodo_doi(doi[1]) if doi else None
    if zenodo is not None:
        return _zenodo(ZENODO, zenodo[1], remote, _headers("zenodo", token, base))
    if doi is not None:
        return _dataverse(_only_server(remote), f"doi:{doi[1]}", remote, _headers("dataverse", token, base))
    host, parts = host_of(text), urlsplit(text)
    named = parse_qs(parts.query).get("persistentId")
    if named:
        return _dataverse(host, named[0], remote, _headers("dataverse", token, base))
    number = _zenodo_path(parts.path)
    if number is None:
        raise DataError("this is not the address of a record", hint=HINT)
    return _zenodo(host, number[1], remote, _headers("zenodo", token, base))


def servers_of(record: str) -> list[str]:
    """The server that has to be asked for a record, where its address says which; none for a DOI of Dataverse."""
    text = record.strip()
    doi = _doi(text)
    if doi is None:
        return [host_of(text)]
    return [ZENODO] if _zenodo_doi(doi[1]) else []


def _only_server(remote: Remote) -> str:
    """The server to ask for a DOI that does not say where it is."""
    servers = sorted(host for host in remote.hosts if not host.endswith(ZENODO))
    if len(servers) != 1:
        raise DataError("a DOI alone does not say which server has it", hint=HINT)
    return servers[0]


def _headers(kind: str, token: str | None, base: Path | None) -> dict[str, str]:
    if not token:
        return {}
    try:
        secret = read_secret(token, base or Path())
    except PolicyError as error:
        raise PolicyError(
            error.message.replace("password", "token"), hint="say where the token is: env:NAME or file:PATH"
        ) from None
    if not secret.isascii() or not secret.isprintable():
        raise PolicyError("the token is not one line of plain characters", hint="check the file or the variable")
    return {"Authorization": f"Bearer {secret}"} if kind == "zenodo" else {"X-Dataverse-key": secret}


def _zenodo(host: str, number: str, remote: Remote, headers: Mapping[str, str]) -> Record:
    answer = _asked(remote, f"https://{host}/api/records/{number}", headers)
    try:
        own = str(answer["id"])  # of the newest version, where all versions were asked for
        files = tuple(_zenodo_file(host, own, file) for file in answer.get("files") or [])
        return Record("zenodo", host, str(answer["metadata"]["title"]), files)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _not_a_record(host) from None


def _zenodo_file(host: str, number: str, file: Mapping[str, Any]) -> RecordFile:
    # the address is made here: what an answer says may lead anywhere
    name = str(file["key"])
    kind, _, value = str(file.get("checksum") or "").partition(":")
    url = f"https://{host}/api/records/{quote(number, safe='')}/files/{quote(name, safe='')}/content"
    return RecordFile(name, _size(file.get("size")), url, value if kind == "md5" else None)


def _dataverse(host: str, identifier: str, remote: Remote, headers: Mapping[str, str]) -> Record:
    address = f"https://{host}/api/datasets/:persistentId/?{urlencode({'persistentId': identifier})}"
    answer = _asked(remote, address, headers)
    try:
        version = answer["data"]["latestVersion"]
        files = tuple(_dataverse_file(host, file) for file in version.get("files") or [])
        return Record("dataverse", host, _title(version) or identifier, files)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _not_a_record(host) from None


def _dataverse_file(host: str, file: Mapping[str, Any]) -> RecordFile:
    """A file as it was handed in: tables that the server has read are kept by it in another form, too."""
    data, url = file["dataFile"], f"https://{host}/api/access/datafile/{int(file['dataFile']['id'])}"
    is_restricted = bool(file.get("restricted"))
    if data.get("originalFileName"):
        name, size = str(data["originalFileName"]), _size(data.get("originalFileSize"))
        return RecordFile(name, size, f"{url}?format=original", is_restricted=is_restricted)
    name = str(data.get("filename") or file["label"])
    return RecordFile(name, _size(data.get("filesize")), url, data.get("md5"), is_restricted)


def _title(version: Mapping[str, Any]) -> str:
    fields = version.get("metadataBlocks", {}).get("citation", {}).get("fields", [])
    return next((str(f["value"]) for f in fields if f.get("typeName") == "title"), "")


def _size(value: Any) -> int | None:
    return None if value is None else int(value)


def _asked(remote: Remote, url: str, headers: Mapping[str, str]) -> Any:
    body = remote.read(url, {"Accept": "application/json", **headers}, limit=LONGEST_LIST)
    try:
        answer = json.loads(body)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise _not_a_record(host_of(url))
    return answer


def _not_a_record(host: str) -> DataError:
    return DataError(f"what {host} answered is not a record", hint=HINT)


def save_file(
    record: Record, name: str, target: Path, remote: Remote, *, token: str | None = None, base: Path | None = None
) -> None:
    """Write a file of a record to a path that does not exist yet, and hold it against the checksum of its record.

    Raises: DataError if it is too large, not whole, or not what the record says; the file is then removed.
    """
    file = record.file(name)
    if file.n_bytes is not None and file.n_bytes > remote.limit_bytes:
        raise DataError(f"the file has {file.n_bytes:,} bytes, at most {remote.limit_bytes:,} are fetched")
    try:
        with target.open("xb") as out:
            target.chmod(0o600)
            remote.save(file.url, _headers(record.kind, token, base), out)
        _refuse_other(target, file)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _refuse_other(path: Path, file: RecordFile) -> None:
    if file.md5 is not None and _md5(path) != file.md5.lower():
        raise DataError("the file is not what its record says: the checksums differ", hint="try again")


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


# Servers -------------------------------------------------------------------------------------------------------------


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
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return ip.is_global and not ip.is_multicast


def public_address(host: str) -> str:
    """An address of a host; DataError if any of its addresses is not public, or if it has none."""
    try:
        addresses = [str(entry[4][0]) for entry in socket.getaddrinfo(host, HTTPS, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):
        raise DataError(f"{host} cannot be found", hint="check the address and the connection") from None
    if not addresses or not all(map(is_public, addresses)):
        raise DataError(f"{host} is not on the internet", hint="files are fetched from public servers only")
    return addresses[0]


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
class ServerAnswer:
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
    def _asked(self, url: str, headers: Mapping[str, str]) -> Iterator[ServerAnswer]:
        deadline = time.monotonic() + self.longest
        first = host = self._allowed(url)
        for _ in range(MOST_REDIRECTS + 1):
            connection = self.connect(host, self.timeout)
            try:
                # a token is for the server it was made for, and for no other
                response = _got(connection, host, url, headers if host == first else {})
                if response.status not in MOVED:
                    yield ServerAnswer(_accepted(response, host), host, deadline)
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
