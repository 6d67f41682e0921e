"""The secret that a policy names: read from its place, and whether others can read it there, too."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from tablecloak.errors import PolicyError
from tablecloak.policy.schema import Policy
from tablecloak.rng import SECRET_BYTES, Secret

HINT = (
    'draw one: python -c "import secrets; print(secrets.token_hex(32))", or head -c 32 /dev/urandom | base64; '
    "or leave secret out, and every run draws its own"
)
FEWEST_BYTES = 8  # different ones; 32 random bytes in any spelling have more in all but one of 10^12 cases
_is_hexadecimal = re.compile(rb"[0-9a-fA-F]+").fullmatch


def secret_of(policy: Policy) -> Secret:
    """The secret that a policy names, or a fresh one.

    Raises: PolicyError that shows the place, never what is there.
    """
    if policy.secret is None:
        return Secret.fresh()
    return Secret.of(checked_material(_material(policy), str(policy.secret)))


def checked_material(material: bytes, place: str) -> bytes:
    """What was found in the place of a secret, if it can be one.

    Raises: PolicyError that shows the place, never what is there.
    """
    material = material.strip() if material.isascii() else material  # a line end of text; raw bytes may look like one
    n_bytes = len(material) // 2 if _is_hexadecimal(material) else len(material)
    if n_bytes < SECRET_BYTES:
        raise PolicyError(f"the secret in {place} has {n_bytes} bytes, {SECRET_BYTES} are needed", hint=HINT)
    if len(set(material)) < FEWEST_BYTES:
        raise PolicyError(f"the secret in {place} is not random: few characters over and over", hint=HINT)
    return material


def is_public(policy: Policy) -> bool:
    """Whether others than its owner may read the file that holds the secret."""
    path = _path(policy)
    return path is not None and others_may_read(path)


def public_keys(policy: Policy) -> list[str]:
    """The files of pseudonyms' keys that others than their owner may read, as the policy names them."""
    places = [each.key_place for column in policy.columns.values() for each in column.transform]
    return [place for place in dict.fromkeys(places) if place is not None and is_public_place(place, policy.base)]


def is_public_place(place: str, base: Path) -> bool:
    """Whether others than its owner may read what lies in a place that is named as env:NAME or file:PATH."""
    kind, _, name = split_place(place)[0].partition(":")
    return kind == "file" and others_may_read((base / name).expanduser())


def others_may_read(path: Path) -> bool:
    """Whether a file is there that others than its owner may read."""
    try:
        return bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
    except OSError:
        return False


def split_place(place: str) -> tuple[str, str | None]:
    """Where keys are, and which of them is meant: file:PATH#ID."""
    where, mark, id_ = place.rpartition("#")
    return (where, id_) if mark else (place, None)


def _path(policy: Policy) -> Path | None:
    named = policy.secret.file if policy.secret else None
    return None if named is None else policy.resolve(named).expanduser()


def _material(policy: Policy) -> bytes:
    assert policy.secret is not None
    path = _path(policy)
    return read_material(f"env:{policy.secret.env}" if path is None else f"file:{path}", Path())


def read_material(place: str, base: Path, *, noun: str = "secret", hint: str = HINT) -> bytes:
    """What lies in a place that is named as env:NAME or file:PATH.

    Raises: PolicyError that shows the place, never what is there.
    """
    kind, _, name = place.partition(":")
    if kind == "file":
        path = (base / name).expanduser()
        try:
            return path.read_bytes()
        except OSError as exc:
            raise PolicyError(
                f"the file of the {noun} cannot be read: {exc.strerror}",
                hint=f"check its path; {hint}",
                location=str(path),
            ) from None
    value = os.environ.get(name)
    if value is None:
        raise PolicyError(f"the variable {name} is not set", hint=f"export {name}=... before the command; {hint}")
    return os.fsencode(value)
