"""Places a table can come from or go to: a file, a folder or pattern of files, or a table of a database.

Credentials are known by reference: what a policy or a command says is where a secret is, never the secret itself.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from tablecloak.errors import DataError, PolicyError

REFERENCE_HINT = "say where the password is: password: env:NAME, or password: file:PATH"
_reference = re.compile(r"(env|file):(.+)").fullmatch
SCHEMES = ("postgresql", "sqlite", "spark")
_OWN_KEYS = ("table", "query", "password")
_scheme = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/").match


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """A table of a database, or what a query finds there; holds no secret, only where one is."""

    uri: str  # without credentials and without the keys below
    table: str | None = None
    query: str | None = None
    password: str | None = None  # env:NAME or file:PATH
    base: Path = field(default_factory=Path)  # relative files start here
    session: Any = field(default=None, compare=False, repr=False)  # an open transaction that a release is written in

    @property
    def scheme(self) -> str:
        return urlsplit(self.uri).scheme

    @property
    def name(self) -> str:
        """The table as messages call it."""
        return self.table or "a query"

    @property
    def file(self) -> Path:
        """The file of an SQLite database."""
        return self.base / self._path

    @property
    def _path(self) -> str:
        return unquote(urlsplit(self.uri).path.removeprefix("/"))

    def __str__(self) -> str:
        address, _, keys = self.uri.partition("?")
        added = urlencode({"table": self.table} if self.table else {"query": "..."}, safe=".")
        return f"{address}?{'&'.join(filter(None, (keys, added)))}"

    def rebased(self, base: Path) -> DatabaseTable:
        """The same table named from another folder; what is absolute stays so."""
        return self._with_files(lambda path: os.path.relpath(self.base / path, base), base)

    def absolute(self) -> DatabaseTable:
        """The same table, named so that it is found from any folder."""
        return self._with_files(lambda path: str((self.base / path).absolute()), Path())

    def _with_files(self, move: Callable[[str], str], base: Path) -> DatabaseTable:
        def moved(path: str) -> str:
            return path if Path(path).is_absolute() else move(path)

        uri, password = self.uri, self.password
        if self.scheme == "sqlite":
            uri = f"sqlite:///{quote(moved(self._path))}"
        if password and password.startswith("file:"):
            password = f"file:{moved(password[5:])}"
        return replace(self, uri=uri, password=password, base=base)


Place: TypeAlias = Path | DatabaseTable


def is_uri(text: str) -> bool:
    """Whether a text names a database rather than a file."""
    match = _scheme(text)
    return match is not None and len(match[1]) > 1  # one letter is a drive


def place_of(text: str | Place, base: Path | None = None) -> Place:
    """The place that a text of a policy or of the command line names."""
    if isinstance(text, DatabaseTable):
        return text
    if isinstance(text, str) and is_uri(text):
        return database_table(text, base=base)
    return named((base or Path()) / text)


def named(path: Path) -> Path:
    """The path itself, if it is text: what reads tables, policies and certificates know no other names of files.

    Raises: DataError for bytes that are no text, and for letters that the locale does not let this process name.
    """
    try:
        str(path).encode("utf-8")
        os.fsencode(path)
    except UnicodeEncodeError:
        encoding = sys.getfilesystemencoding()
        if encoding == "utf-8":
            why, hint = "the name of the file is not UTF-8", "rename it, or the folder that it lies in"
        else:
            why = f"the locale has file names in {encoding}, which this one is not"
            hint = "set PYTHONUTF8=1, or LC_ALL=C.UTF-8"
        shown = str(path).encode("utf-8", "replace").decode()
        raise DataError(why, hint=hint, location=shown) from None
    return path


def database_table(
    uri: str,
    *,
    table: str | None = None,
    query: str | None = None,
    password: str | None = None,
    base: Path | None = None,
) -> DatabaseTable:
    """The table that a URI names, as in `postgresql://user@host/db?table=people` or `sqlite:///file.db?table=people`.

    Raises: PolicyError for a password in the URI, which no message shows, and for what names no table.
    """
    parts = urlsplit(uri)
    if parts.scheme not in SCHEMES:
        raise PolicyError(f"no database is known as {parts.scheme}:", hint=f"known: {', '.join(SCHEMES)}")
    if parts.username is not None and parts.password is not None:
        raise PolicyError("a password must not be written in a URI", hint=REFERENCE_HINT)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    options = {key: value for key, value in pairs if key in _OWN_KEYS}
    others = [(key, value) for key, value in pairs if key not in _OWN_KEYS]
    password = password or options.get("password")
    if any("password" in key.lower() for key, _ in others) or (password and not is_reference(password)):
        raise PolicyError("a password must not be written here", hint=REFERENCE_HINT)
    table, query = table or options.get("table"), query or options.get("query")
    if (table is None) == (query is None):
        raise PolicyError("name a table of the database, or a query", hint="add ?table=NAME to the URI, or table: NAME")
    if parts.scheme == "sqlite" and (parts.netloc or not parts.path.strip("/")):
        raise PolicyError("an SQLite database is a file", hint="sqlite:///file.db, or sqlite:////folder/file.db")
    address = f"{parts.scheme}://{parts.netloc}{parts.path}"
    plain = f"{address}?{urlencode(others)}" if others else address
    return DatabaseTable(plain, table, query, password, base or Path())


# Credentials ---------------------------------------------------------------------------------------------------------


def is_reference(text: str) -> bool:
    """Whether a text says where a secret is, as in `env:NAME` or `file:PATH`."""
    return _reference(text) is not None


def redacted(text: str) -> str:
    """The text with `***` in place of what may be a password, for messages that repeat what was typed."""
    text = re.sub(r"(://[^:/@\s]*):[^@\s]*@", r"\1:***@", text)
    return re.sub(r"(?i)(password\w*\s*[=:]\s*)(?!env:|file:)[^\s&,}]+", r"\1***", text)


def read_secret(reference: str, base: Path) -> str:
    """The secret that a reference names, without a line end after it; paths are relative to `base`.

    Raises: PolicyError that shows the reference, never a secret.
    """
    match = _reference(reference)
    if match is None:
        raise PolicyError("a password must not be written here", hint=REFERENCE_HINT)
    kind, name = match.groups()
    if kind == "env":
        secret = os.environ.get(name)
        if secret is None:
            raise PolicyError(f"the variable {name} is not set", hint=f"export {name}=... before the command")
        return secret
    try:
        return (base / name).expanduser().read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8 text"
        raise PolicyError(
            f"the file of the password cannot be read: {reason}",
            hint="check the path after file:",
            location=str(base / name),
        ) from None


def password_file(place: Place | None) -> Path | None:
    """The file that holds the password of a database, if that is where it is."""
    if not isinstance(place, DatabaseTable) or not (place.password or "").startswith("file:"):
        return None
    return (place.base / str(place.password)[5:]).expanduser()
