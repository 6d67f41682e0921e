"""What pseudonyms have in common: a key, and a domain that separates uses of it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tablecloak.rng import Secret
from tablecloak.transforms.base import Fitting, Transform


class Pseudonym(Transform):
    """Stands for a value; the same key and domain give the same pseudonyms in other tables and releases."""

    is_drawn = True

    key: Annotated[
        str | None, Field(pattern=r"^(env|file):.+", description="where the key is, as env:NAME or file:PATH")
    ] = None
    domain: Annotated[
        str | None, Field(min_length=1, description="where it and the key are the same, columns join; else its name")
    ] = None


def key_for(fitting: Fitting, domain: str | None) -> bytes:
    """32 bytes for the pseudonyms of one domain."""
    assert fitting.key is not None
    return Secret(fitting.key.material).derived(f"pseudonyms of {domain or fitting.column}")
