"""Two kinds of randomness: a public seed steers searches, a secret hides people.

Search randomness only decides which of several equally allowed answers is found. Hiding randomness decides who is
linked to what: groups of exact values, permutations, swaps, rings, the order of rows. Whoever could compute it again
from policy, program and certificate would undo the protection, so it comes from a secret that stands in none of them.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import FloatArray, IntArray

SECRET_BYTES = 32
BLOCK = 1 << 16  # rows whose random words are drawn at once, so that those of any rows can be drawn alone
_SALT = b"tablecloak hiding randomness"


def child(seed: int, name: str) -> np.random.Generator:
    """The search randomness of a named use: the same seed and name give the same numbers on every engine."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


@dataclass(frozen=True, slots=True)
class Secret:
    """256 bits that nobody outside knows; hiding randomness is derived from them by name.

    Reference: HKDF with SHA-256, Krawczyk, Eronen, RFC 5869.
    """

    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.key) != SECRET_BYTES:
            raise ValueError(f"a secret has {SECRET_BYTES} bytes")

    @classmethod
    def fresh(cls) -> Secret:
        """A secret of the operating system's own randomness."""
        return cls(secrets.token_bytes(SECRET_BYTES))

    @classmethod
    def of(cls, material: bytes) -> Secret:
        """The secret that given material stands for, however long it is; extraction makes its bits even."""
        return cls(hmac.digest(_SALT, material, "sha256"))

    def derived(self, name: str) -> bytes:
        """32 bytes for one named use; they tell nothing about those of another."""
        return hmac.digest(self.key, name.encode() + b"\x01", "sha256")

    def child(self, name: str) -> Secret:
        """A secret for one named use, from which others are derived."""
        return Secret(self.derived(name))

    @property
    def certificate_key(self) -> bytes:
        """The key behind digests that a certificate states about files that are not published."""
        return self.derived("certificate")

    def generator(self, name: str) -> np.random.Generator:
        """Numbers for a search that must not be done again by others; they must never be published themselves."""
        return np.random.default_rng(int.from_bytes(self.derived(name), "big"))

    def order(self, name: str, n: int) -> IntArray:
        """A permutation of n rows, by words that are drawn block by block."""
        blocks = [drawn_words(self.derived(name), block) for block in range(-(-n // BLOCK))]
        return np.argsort(np.concatenate([np.zeros(0, np.uint64), *blocks])[:n], kind="stable")

    def stream(self, name: str) -> Stream:
        """The hiding randomness of one named use."""
        return Stream(self.derived(name))


def drawn_words(key: bytes, block: int) -> NDArray[np.uint64]:
    """The random words of the rows of one block; a row with a smaller word comes earlier."""
    return Secret(key).stream(f"block {block}").words(BLOCK)


class Stream:
    """Random numbers from a key: SHAKE-256 output, which shows neither the key nor what comes next.

    The generators of numpy are quick, but who sees enough of their output can compute the rest.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._calls = 0

    def words(self, n: int) -> NDArray[np.uint64]:
        """(n,) independent, evenly spread 64-bit words."""
        block = self._key + self._calls.to_bytes(8, "big")
        self._calls += 1
        return np.frombuffer(hashlib.shake_256(block).digest(8 * n), "<u8").astype(np.uint64)

    def random(self, n: int) -> FloatArray:
        """(n,) numbers from 0 to below 1."""
        return (self.words(n) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def integers(self, low: int, high: int, n: int) -> IntArray:
        """(n,) whole numbers from `low` to below `high`, each exactly equally likely."""
        span = high - low
        if span < 1:
            raise ValueError("there is no number to draw")
        most = (1 << 64) - (1 << 64) % span  # words from here on would favour small numbers
        drawn = self.words(n)
        while most < 1 << 64 and (too_large := drawn >= np.uint64(most)).any():
            drawn[too_large] = self.words(int(too_large.sum()))
        return (drawn % np.uint64(span)).astype(np.int64) + low

    def permutation(self, n: int) -> IntArray:
        """0 to n - 1 in random order, each order equally likely."""
        while True:
            keys = self.words(n)
            order = np.argsort(keys, kind="stable")
            ranked = keys[order]
            if not (ranked[1:] == ranked[:-1]).any():  # equal keys, once in a million years, would keep their order
                return order
