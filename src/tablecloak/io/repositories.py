"""Records of repositories for research data: Zenodo, and servers that run Dataverse."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from tablecloak.errors import DataError, PolicyError, did_you_mean
from tablecloak.io.credentials import read_secret
from tablecloak.io.remote import Remote, host_of
from tablecloak.io.sources import format_and_compression

__all__ = ["Record", "RecordFile", "look_up", "save_file", "servers_of"]

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
        found = next((f for f in self.files if f.name == name), None)
        if found is None:
            hint = did_you_mean(name, [f.name for f in self.files])
            raise DataError("the record has no file of that name", hint=hint)
        return found

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
    found = _doi(text)
    zenodo = _zenodo_doi(found[1]) if found else None
    if zenodo is not None:
        return _zenodo(ZENODO, zenodo[1], remote, _headers("zenodo", token, base))
    if found is not None:
        return _dataverse(_only_server(remote), f"doi:{found[1]}", remote, _headers("dataverse", token, base))
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
    found = _doi(text)
    if found is None:
        return [host_of(text)]
    return [ZENODO] if _zenodo_doi(found[1]) else []


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
    asked = f"https://{host}/api/datasets/:persistentId/?{urlencode({'persistentId': identifier})}"
    answer = _asked(remote, asked, headers)
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
