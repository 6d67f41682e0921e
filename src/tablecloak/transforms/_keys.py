"""Keys of pseudonyms: where they are, and what they are called in public."""

from __future__ import annotations

import hmac

from tablecloak.policy.schema import Policy
from tablecloak.policy.secrets import checked_material, read_material
from tablecloak.rng import Secret
from tablecloak.transforms._pseudonyms import Pseudonym
from tablecloak.transforms.base import Family, Key, Transform


def key_of(policy: Policy, chosen: Transform, secret: Secret) -> Key | None:
    """The key of a transform: from its own place, or from the secret of the run.

    Raises: PolicyError that shows the place, never what is there.
    """
    if chosen.family is not Family.PSEUDONYM and "key" not in type(chosen).model_fields:
        return None
    place = chosen.key_place
    if place is None:
        material = secret.derived("pseudonyms")
    else:
        material = Secret.of(checked_material(read_material(place, policy.base), place)).key
    return Key(material, key_id(material))


def key_id(material: bytes) -> str:
    """What a key is called in public; it tells nothing about the key."""
    return hmac.digest(material, b"tablecloak key id", "sha256").hex()[:8]
