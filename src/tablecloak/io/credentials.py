"""Credentials by reference: what a policy or a command says is where a secret is, never the secret itself."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tablecloak.errors import PolicyError

__all__ = ["REFERENCE_HINT", "is_reference", "read_secret", "redacted"]

REFERENCE_HINT = "say where the password is: password: env:NAME, or password: file:PATH"
_reference = re.compile(r"(env|file):(.+)").fullmatch


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
        found = os.environ.get(name)
        if found is None:
            raise PolicyError(f"the variable {name} is not set", hint=f"export {name}=... before the command")
        return found
    try:
        return (base / name).expanduser().read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8 text"
        raise PolicyError(
            f"the file of the password cannot be read: {reason}",
            hint="check the path after file:",
            location=str(base / name),
        ) from None
