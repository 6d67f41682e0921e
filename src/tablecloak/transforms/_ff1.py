"""FF1: numerals of one length, permuted among themselves by a key.

Reference: NIST SP 800-38G (2016), algorithms 7 and 8. FF3 of the same publication was broken and withdrawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import IntArray

ROUNDS = 10
BLOCK_BYTES = 16
FEWEST_NUMERALS = 1_000_000  # SP 800-38G revision 1 (2025): fewer can be told by trying
# Halves up to here are 64-bit words, with room for the next byte of a number that is reduced; others are Python's.
MOST_OF_WORDS = 1 << 56
Bytes = NDArray[np.uint8]
Halves = NDArray[Any]  # (n,) numbers, words or Python's


def shortest(radix: int) -> int:
    """The fewest digits with which there are enough numerals to hide one among."""
    length = 2
    while radix**length < FEWEST_NUMERALS:
        length += 1
    return length


@dataclass(frozen=True, slots=True)
class FF1:
    """The permutations of one key and tweak, of numerals in one radix."""

    radix: int
    key: bytes = field(repr=False)
    tweak: bytes = b""

    def encrypted(self, digits: IntArray) -> IntArray:
        """(n, length) digits of other numerals, one for every row."""
        feistel = _Feistel(self, digits.shape[1])
        left, right = feistel.halves(digits)
        for number in range(ROUNDS):
            space = feistel.spaces[number % 2]
            left, right = right, _modulo(left + feistel.drawn(number, right, space), space)
        return feistel.digits(left, right)

    def decrypted(self, digits: IntArray) -> IntArray:
        """(n, length) digits of the numerals that were encrypted."""
        feistel = _Feistel(self, digits.shape[1])
        left, right = feistel.halves(digits)
        for number in reversed(range(ROUNDS)):
            space = feistel.spaces[number % 2]
            left, right = _modulo(right + (space - feistel.drawn(number, left, space)), space), left
        return feistel.digits(left, right)


class _Feistel:
    """The rounds for numerals of one length, whose two halves take turns in changing each other."""

    def __init__(self, of: FF1, length: int) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self.radix, self.length, self.n_left = of.radix, length, length // 2
        self.spaces = (of.radix**self.n_left, of.radix ** (length - self.n_left))  # of what even and odd rounds change
        self._n_bytes = -(-(self.spaces[1] - 1).bit_length() // 8)  # b of the standard
        self._n_drawn = 4 * -(-self._n_bytes // 4) + 4  # d
        self._is_wide = self.spaces[1] > MOST_OF_WORDS
        self._encryptor = Cipher(algorithms.AES(of.key), modes.ECB()).encryptor()
        fixed = self._fixed(of.tweak)
        n_whole = len(fixed) // BLOCK_BYTES * BLOCK_BYTES
        # what comes before number of the round and half is the same for all: its mac is made once
        self._begun = self._mac(np.zeros((1, BLOCK_BYTES), np.uint8), np.frombuffer(fixed[:n_whole], np.uint8)[None])
        self._rest = np.frombuffer(fixed[n_whole:], np.uint8)

    def _fixed(self, tweak: bytes) -> bytes:
        """P, and Q up to the number of the round."""
        head = bytes([1, 2, 1]) + self.radix.to_bytes(3, "big") + bytes([ROUNDS, self.n_left % 256])
        head += self.length.to_bytes(4, "big") + len(tweak).to_bytes(4, "big")
        return head + tweak + bytes((-len(tweak) - self._n_bytes - 1) % BLOCK_BYTES)

    def halves(self, digits: IntArray) -> tuple[Halves, Halves]:
        """Numerals as two numbers each."""
        return self._number(digits[:, : self.n_left]), self._number(digits[:, self.n_left :])

    def _number(self, digits: IntArray) -> Halves:
        kind = object if self._is_wide else np.uint64
        number: Halves = np.zeros(len(digits), kind)
        for column in digits.astype(kind).T:
            number = number * self.radix + column
        return number

    def digits(self, left: Halves, right: Halves) -> IntArray:
        """Two numbers each as numerals."""
        digits = np.empty((self.length, len(left)), np.int64)
        for half, places in ((left, range(self.n_left)), (right, range(self.n_left, self.length))):
            rest = half
            for place in reversed(places):
                shorter = rest // self.radix
                digits[place] = rest - shorter * self.radix
                rest = shorter
        return np.ascontiguousarray(digits.T)

    def drawn(self, number: int, half: Halves, space: int) -> Halves:
        """What a round adds to the other half: a number that key, tweak, round and this half decide."""
        return (self._drawn_wide if self._is_wide else self._drawn_words)(number, half, space)

    def _drawn_words(self, number: int, half: Halves, space: int) -> Halves:
        """The same with halves of at most seven bytes: number of the round and half are in the last of two words."""
        fixed = np.zeros(BLOCK_BYTES, np.uint8)
        fixed[: len(self._rest)] = self._rest
        blocks = np.empty((len(half), 2), np.uint64)
        blocks[:] = (self._begun[0] ^ fixed).view(np.uint64)
        blocks[:, 1] ^= (half + np.uint64(number << 8 * self._n_bytes)).astype(">u8").view(np.uint64)
        drawn = self._aes(blocks.view(np.uint8)).view(">u8").astype(np.uint64)
        reduced = _modulo(drawn[:, 0], space)
        if self._n_drawn == 8:
            return reduced
        bits = next(bits for bits in (32, 16, 8) if space <= 1 << (64 - bits))  # taken at once without overflow
        for shift in range(64 - bits, 31, -bits):
            taken = (drawn[:, 1] >> np.uint64(shift)) & np.uint64((1 << bits) - 1)
            reduced = _modulo((reduced << np.uint64(bits)) + taken, space)
        return reduced

    def _drawn_wide(self, number: int, half: Halves, space: int) -> Halves:
        blocks = np.empty((len(half), len(self._rest) + 1 + self._n_bytes), np.uint8)
        blocks[:, : len(self._rest)] = self._rest
        blocks[:, len(self._rest)] = number
        joined = b"".join(int(number).to_bytes(self._n_bytes, "big") for number in half)
        blocks[:, -self._n_bytes :] = np.frombuffer(joined, np.uint8).reshape(-1, self._n_bytes)
        first = self._mac(self._begun, blocks)
        counters = range(1, -(-self._n_drawn // BLOCK_BYTES))
        more = [self._aes(first ^ np.frombuffer(c.to_bytes(BLOCK_BYTES, "big"), np.uint8)) for c in counters]
        drawn = np.hstack([first, *more])[:, : self._n_drawn]
        return np.array([int.from_bytes(row.tobytes(), "big") % space for row in drawn] or [], object)

    def _mac(self, begun: Bytes, blocks: Bytes) -> Bytes:
        """(n, 16) the mac of every row, cipher block chaining, going on from that of what came before."""
        mac = begun
        for start in range(0, blocks.shape[1], BLOCK_BYTES):
            mac = self._aes(mac ^ blocks[:, start : start + BLOCK_BYTES])
        return mac

    def _aes(self, blocks: Bytes) -> Bytes:
        encrypted = self._encryptor.update(np.ascontiguousarray(blocks).data)
        return np.frombuffer(encrypted, np.uint8).reshape(-1, BLOCK_BYTES)


def _modulo(numbers: Halves, space: int) -> Halves:
    """What is left of numbers; division by one number is quick, its remainder is not."""
    rest: Halves = numbers - numbers // space * space
    return rest
