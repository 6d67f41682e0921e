"""Keys of pseudonyms: where they are, and what they are called in public.

A place holds one key a line, as `ID: HEX` or as HEX alone; the last one is in use. Who wants a new key adds a line:
what was published before is restored with the old one, by its ID.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from tablecloak.errors import PolicyError, did_you_mean
from tablecloak.policy.schema import Policy
from tablecloak.policy.secrets import FEWEST_BYTES, others_may_read, read_material, split_place
from tablecloak.rng import SECRET_BYTES, Secret
from tablecloak.transforms.base import Family, Key, Transform

HINT = "draw one: tablecloak key new FILE"
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"  # of a key
_LINE = re.compile(rf"(?:({NAME})\s*:)?\s*([0-9a-fA-F]+)")


def key_of(policy: Policy, chosen: Transform, secret: Secret) -> Key | None:
    """The key of a transform: from its own place, or from the secret of the run.

    Raises: PolicyError that shows the place, never what is there.
    """
    if chosen.family is not Family.PSEUDONYM and "key" not in type(chosen).model_fields:
        return None
    place = chosen.key_place
    if place is not None:
        return read_key(place, policy.base)
    material = secret.derived("pseudonyms")
    return Key(material, key_id(material))


def key_id(material: bytes) -> str:
    """What a key is called in public unless it was given a name; it tells nothing about the key."""
    return hmac.digest(material, b"tablecloak key id", "sha256").hex()[:8]


def read_key(place: str, base: Path) -> Key:
    """The key that is named as env:NAME or file:PATH, the last one there; with #ID behind it, the one of that name.

    Raises: PolicyError that shows the place, never what is there.
    """
    where, wanted = split_place(place)
    keys = read_keys(where, base)
    if wanted is None:
        return keys[-1]
    for key in keys:
        if key.id == wanted:
            return key
    ids = [key.id for key in keys]
    hint = did_you_mean(wanted, ids) or f"it has: {', '.join(ids)}"
    raise PolicyError(f"no key in {where} is called '{wanted}'", hint=hint)


def read_keys(place: str, base: Path) -> list[Key]:
    """All keys in a place, in the order of its lines.

    Raises: PolicyError that shows the place, never what is there.
    """
    if not place.startswith(("env:", "file:")):  # it may be a key, so it is not shown
        raise PolicyError("this is no place of a key", hint="name it as env:NAME or file:PATH")
    try:
        text = read_material(place, base, noun="key", hint=HINT).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PolicyError(f"{place} holds no keys: it is no text", hint=HINT) from None
    keys = list(_keys_in(text, place))
    if not keys:
        raise PolicyError(f"there is no key in {place}", hint=HINT)
    for index, key in enumerate(keys):
        if key.id in [other.id for other in keys[:index]]:
            raise PolicyError(f"two keys in {place} are called '{key.id}'", hint="give one of them another name")
    return keys


def _keys_in(text: str, place: str) -> Iterator[Key]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where = f"line {number} of {place}"
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise PolicyError(f"{where} is no key", hint="a line is ID: HEX, or HEX alone, with 64 hexadecimal digits")
        name, digits = match.groups()
        if len(digits) != 2 * SECRET_BYTES:
            n_bytes = f"{len(digits) / 2:g}"
            raise PolicyError(f"the key in {where} has {n_bytes} bytes, {SECRET_BYTES} are needed", hint=HINT)
        material = bytes.fromhex(digits)
        if len(set(material)) < FEWEST_BYTES:
            raise PolicyError(f"the key in {where} is not random: few bytes over and over", hint=HINT)
        yield Key(material, name or key_id(material))


def add_key(path: Path, name: str | None = None) -> Key:
    """A new key in a file that only its owner may read, behind those that are there.

    Raises: PolicyError for a file that others may read, that holds something else, or a key of this name.
    """
    if name is not None and not re.fullmatch(NAME, name):
        raise PolicyError("this cannot be the name of a key", hint="letters, digits, dots and dashes, up to 64")
    if "#" in path.name:
        raise PolicyError("a file of keys has no # in its name", hint="what comes behind # names a key")
    is_new = not path.exists() or path.stat().st_size == 0
    if others_may_read(path):
        raise PolicyError("others may read the file of keys", hint=f"chmod 600 {path}", location=str(path))
    known = [] if is_new else read_keys(f"file:{path}", Path())
    material = secrets.token_bytes(SECRET_BYTES)
    key = Key(material, name or key_id(material))
    if key.id in [other.id for other in known]:
        raise PolicyError(
            f"a key is called '{key.id}' already", hint="give the new one another name", location=str(path)
        )
    try:
        _append(path, f"{key.id}: {material.hex()}")
    except OSError as exc:
        raise PolicyError(
            f"the key cannot be written: {exc.strerror}", hint="check the path", location=str(path)
        ) from None
    return key


def _append(path: Path, line: str) -> None:
    """Write a line behind those of a file, which is for its owner only if it is new."""
    before = path.read_bytes() if path.exists() else b""
    separator = "\n" if before and not before.endswith(b"\n") else ""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "a", encoding="ascii") as file:
        file.write(f"{separator}{line}\n")
        file.flush()
        os.fsync(file.fileno())
