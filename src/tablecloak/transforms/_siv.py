"""AES-SIV of many texts at once: what a library does text by text, with each step over all of them.

Reference: RFC 5297, for texts of whole blocks with one piece of associated data. Opening is left to the library.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_BYTES = 16
Blocks = NDArray[np.uint8]  # (n, 16)
_POLYNOMIAL = 0x87  # what doubling adds where a bit is lost
_COUNTED = 0xFFFFFFFF_FFFFFFFF_7FFFFFFF_7FFFFFFF  # bits of a seal that the counter begins with


def sealed(key: bytes, about: bytes, texts: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(n, 16 + length) the seal and the encrypted text of every row, for texts of one length, of whole blocks.

    Args:
        key: of the seal and of encryption, one after the other.
        about: the associated data.
    """
    mac, cipher = _encryptor(key[: len(key) // 2]), _encryptor(key[len(key) // 2 :])
    parts = np.split(texts, texts.shape[1] // BLOCK_BYTES, axis=1)
    whole = _doubled(_one(mac, bytes(BLOCK_BYTES)))  # K1 of CMAC: all texts are of whole blocks
    begun = _doubled(_cmac(key, bytes(BLOCK_BYTES))) ^ _cmac(key, about)
    last = parts[-1] ^ _block(begun ^ whole)
    seal = reduce(lambda before, part: _encrypted(mac, before ^ part), [*parts[:-1], last], _block(0)[None])
    counters = seal & _block(_COUNTED)
    encrypted = [part ^ _encrypted(cipher, _counted(counters, i)) for i, part in enumerate(parts)]
    return np.hstack([seal, *encrypted])


def _counted(counters: Blocks, number: int) -> Blocks:
    """Counters further on; the last of four words has room for as many as a text has blocks."""
    words = np.ascontiguousarray(counters).view(">u4").copy()
    words[:, 3] += number
    return words.view(np.uint8)


def _encryptor(key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(key), modes.ECB()).encryptor()


def _encrypted(encryptor: Any, blocks: Blocks) -> Blocks:
    return np.frombuffer(encryptor.update(np.ascontiguousarray(blocks).data), np.uint8).reshape(-1, BLOCK_BYTES)


def _one(encryptor: Any, block: bytes) -> int:
    return int.from_bytes(encryptor.update(block), "big")


def _cmac(key: bytes, text: bytes) -> int:
    from cryptography.hazmat.primitives.ciphers import algorithms
    from cryptography.hazmat.primitives.cmac import CMAC

    mac = CMAC(algorithms.AES(key[: len(key) // 2]))
    mac.update(text)
    return int.from_bytes(mac.finalize(), "big")


def _doubled(block: int) -> int:
    """A block times two, in the field of 2**128."""
    lost, kept = divmod(block << 1, 1 << 128)
    return kept ^ (_POLYNOMIAL * lost)


def _block(number: int) -> NDArray[np.uint8]:
    return np.frombuffer(number.to_bytes(BLOCK_BYTES, "big"), np.uint8)
