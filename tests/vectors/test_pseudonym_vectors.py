"""Samples of NIST and the RFCs: for our ciphers, and for slow ones written here, which ours must agree with."""

from __future__ import annotations

import base64
import hashlib
import hmac
import random

import numpy as np
import polars as pl
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from effort import often
from tablecloak.data.changed_columns import CellRows
from tablecloak.transforms._ff1 import FF1, shortest
from tablecloak.transforms._siv import sealed
from tablecloak.transforms.aes_siv import AesSiv, _Sealed, base32
from tablecloak.transforms.base import Key
from tablecloak.transforms.ff1 import Ff1, check_digits
from tablecloak.transforms.hmac import _Digest

ROWS = CellRows(np.arange(0), pl.DataFrame())
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
KEY_128 = "2B7E151628AED2A6ABF7158809CF4F3C"
KEY_192 = KEY_128 + "EF4359D8D580AA4F"
KEY_256 = KEY_192 + "7F036D6F04FC6A94"
DIGITS, WORDS = "0123456789", "0123456789abcdefghi"
TWEAK_10, TWEAK_36 = "39383736353433323130", "3737373770717273373737"
# The nine samples that NIST published with SP 800-38G.
FF1_SAMPLES = [
    (KEY_128, 10, "", DIGITS, "2433477484"),
    (KEY_128, 10, TWEAK_10, DIGITS, "6124200773"),
    (KEY_128, 36, TWEAK_36, WORDS, "a9tv40mll9kdu509eum"),
    (KEY_192, 10, "", DIGITS, "2830668132"),
    (KEY_192, 10, TWEAK_10, DIGITS, "2496655549"),
    (KEY_192, 36, TWEAK_36, WORDS, "xbj3kv35jrawxv32ysr"),
    (KEY_256, 10, "", DIGITS, "6657667009"),
    (KEY_256, 10, TWEAK_10, DIGITS, "1001623463"),
    (KEY_256, 36, TWEAK_36, WORDS, "xs8a0azh2avyalyzuwd"),
]


def aes(key, block):
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)


def xor(one, other):
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


# FF1 ---------------------------------------------------------------------------------------------------------------


def number(digits, radix):
    value = 0
    for digit in digits:
        value = value * radix + digit
    return value


def numeral(value, radix, length):
    digits = []
    for _ in range(length):
        value, digit = divmod(value, radix)
        digits.append(digit)
    return digits[::-1]


def slow_ff1(key, radix, tweak, digits):
    """Algorithm 7 of SP 800-38G, step by step and one numeral at a time."""
    n, t = len(digits), len(tweak)
    u = n // 2
    v = n - u
    a, b_half = list(digits[:u]), list(digits[u:])
    n_bits = 0
    while 2**n_bits < radix**v:
        n_bits += 1
    b = -(-n_bits // 8)
    d = 4 * -(-b // 4) + 4
    p = bytes([1, 2, 1]) + radix.to_bytes(3, "big") + bytes([10, u % 256]) + n.to_bytes(4, "big") + t.to_bytes(4, "big")
    for i in range(10):
        q = tweak + b"\0" * ((-t - b - 1) % 16) + bytes([i]) + number(b_half, radix).to_bytes(b, "big")
        r = bytes(16)
        for start in range(0, len(p + q), 16):
            r = aes(key, xor(r, (p + q)[start : start + 16]))
        s = r
        for j in range(1, -(-d // 16)):
            s += aes(key, xor(r, j.to_bytes(16, "big")))
        y = int.from_bytes(s[:d], "big")
        m = u if i % 2 == 0 else v
        a, b_half = b_half, numeral((number(a, radix) + y) % radix**m, radix, m)
    return a + b_half


@pytest.mark.parametrize(("key", "radix", "tweak", "plain", "cipher"), FF1_SAMPLES)
def test_nist_samples_of_ff1(key, radix, tweak, plain, cipher):
    digits, expected = ([LETTERS.index(c) for c in text] for text in (plain, cipher))
    ff1 = FF1(radix, bytes.fromhex(key), bytes.fromhex(tweak))
    assert ff1.encrypted(np.array([digits])).tolist() == [expected]
    assert ff1.decrypted(np.array([expected])).tolist() == [digits]
    assert slow_ff1(bytes.fromhex(key), radix, bytes.fromhex(tweak), digits) == expected


@pytest.mark.parametrize("seed", range(often(60)))
def test_ff1_agrees_with_a_slow_one(seed):
    """Radixes to the largest, halves of words of each width and of Python's numbers, tweaks over block borders."""
    draw = random.Random(seed)
    radix = draw.choice([2, 3, 10, 10, 16, 26, 36, 62, 256, 1000, 65535, 65536])
    length = shortest(radix) + draw.randrange(draw.choice([6, 25, 50]))
    key, tweak = draw.randbytes(draw.choice([16, 24, 32])), draw.randbytes(draw.randrange(40))
    numerals = [[draw.randrange(radix) for _ in range(length)] for _ in range(3)]
    numerals += [[0] * length, [radix - 1] * length]
    ff1 = FF1(radix, key, tweak)
    made = ff1.encrypted(np.array(numerals))
    assert made.tolist() == [slow_ff1(key, radix, tweak, digits) for digits in numerals]
    assert ff1.decrypted(made).tolist() == numerals


@pytest.mark.parametrize("length", [2, 3, 32, 33, 34, 35, 255, 256, 515])
def test_ff1_agrees_with_a_slow_one_at_lengths_where_something_changes(length):
    """Halves that just fit a word, and those that do not; more bytes of a half than a block has."""
    draw = random.Random(length)
    radix, key = (1000 if length == 2 else 100 if length == 3 else 10), draw.randbytes(32)
    numerals = [[draw.randrange(radix) for _ in range(length)], [radix - 1] * length]
    made = FF1(radix, key, b"tweak").encrypted(np.array(numerals))
    assert made.tolist() == [slow_ff1(key, radix, b"tweak", digits) for digits in numerals]


def test_ff1_permutes_all_numerals_of_six_digits():
    every = np.arange(10**6)[:, None] // 10 ** np.arange(5, -1, -1) % 10
    made = FF1(10, bytes(range(32)), b"t").encrypted(every)
    assert np.array_equal(np.sort(made @ 10 ** np.arange(5, -1, -1)), np.arange(10**6))


def test_the_shortest_numerals_are_the_first_of_which_there_are_a_million():
    for radix in range(2, 2000):
        n = shortest(radix)
        assert radix**n >= 10**6
        assert n == 2 or radix ** (n - 1) < 10**6


def derived(key, name):
    """32 bytes of a key for a named use: HKDF-Expand of RFC 5869, one block."""
    return hmac.new(key, name.encode() + b"\x01", hashlib.sha256).digest()


def test_ff1_of_a_policy_is_that_of_the_slow_one_with_a_key_for_its_domain():
    material = bytes(range(32))
    texts = pl.Series("card", ["0123456789", "4111 1111-1111", None])
    key = derived(material, "ff1 pseudonyms of cards")
    whole = Ff1(domain="cards")
    made = whole._permuted("card", Key(material), is_undone=False)(texts.drop_nulls())
    first, second = ("".join(map(str, slow_ff1(key, 10, b"cards", [int(c) for c in t if c.isdigit()])))
                     for t in texts.drop_nulls())  # fmt: skip
    assert made.to_list() == [first, f"{second[:4]} {second[4:8]}-{second[8:]}"]
    back = whole.undo("card", Key(material))(made, ROWS)
    assert back.to_list() == texts.drop_nulls().to_list()


def test_check_digits_are_those_of_card_numbers():
    """Numbers that card networks publish for testing."""
    for written in ("4111111111111111", "5555555555554444", "378282246310005", "6011111111111117"):
        digits = np.array([[int(c) for c in written]])
        assert check_digits(digits[:, :-1]).tolist() == [int(written[-1])]


# AES-SIV -------------------------------------------------------------------------------------------------------------


def doubled(block):
    value = int.from_bytes(block, "big") << 1
    return ((value & (2**128 - 1)) ^ (0x87 if value >> 128 else 0)).to_bytes(16, "big")


def cmac(key, text):
    k1 = doubled(aes(key, bytes(16)))
    n = max(1, -(-len(text) // 16))
    last = text[16 * (n - 1) :]
    last = xor(last, k1) if len(last) == 16 else xor(last + b"\x80" + bytes(15 - len(last)), doubled(k1))
    mac = bytes(16)
    for start in range(0, 16 * (n - 1), 16):
        mac = aes(key, xor(mac, text[start : start + 16]))
    return aes(key, xor(mac, last))


def slow_siv(key, about, plain):
    """RFC 5297, sections 2.4 and 2.6."""
    mac_key, count_key = key[: len(key) // 2], key[len(key) // 2 :]
    d = cmac(mac_key, bytes(16))
    for each in about:
        d = xor(doubled(d), cmac(mac_key, each))
    if len(plain) >= 16:
        end = plain[:-16] + xor(plain[-16:], d)
    else:
        end = xor(doubled(d), plain + b"\x80" + bytes(15 - len(plain)))
    v = cmac(mac_key, end)
    counter = int.from_bytes(v, "big") & ~((1 << 63) | (1 << 31))
    blocks = [aes(count_key, ((counter + i) % 2**128).to_bytes(16, "big")) for i in range(-(-len(plain) // 16))]
    return v + xor(plain, b"".join(blocks)[: len(plain)])


SIV_SAMPLES = [
    (
        "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
        ["101112131415161718191a1b1c1d1e1f2021222324252627"],
        "112233445566778899aabbccddee",
        "85632d07c6e8f37f950acd320a2ecc9340c02b9690c4dc04daef7f6afe5c",
    ),
    (
        "7f7e7d7c7b7a79787776757473727170404142434445464748494a4b4c4d4e4f",
        [
            "00112233445566778899aabbccddeeffdeaddadadeaddadaffeeddccbbaa99887766554433221100",
            "102030405060708090a0",
            "09f911029d74e35bd84156c5635688c0",
        ],
        "7468697320697320736f6d6520706c61696e7465787420746f20656e6372797074207573696e67205349562d414553",
        (
            "7bdb6e3b432667eb06f4d14bff2fbd0fcb900f2fddbe404326601965c889bf17"
            "dba77ceb094fa663b7a3f748ba8af829ea64ad544a272e9c485b62a3fd5c0d"
        ),
    ),
]


@pytest.mark.parametrize(("key", "about", "plain", "cipher"), SIV_SAMPLES, ids=["A.1", "A.2"])
def test_samples_of_rfc_5297(key, about, plain, cipher):
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    about = [bytes.fromhex(each) for each in about]
    assert slow_siv(bytes.fromhex(key), about, bytes.fromhex(plain)).hex() == cipher
    assert AESSIV(bytes.fromhex(key)).encrypt(bytes.fromhex(plain), about).hex() == cipher


def test_pseudonyms_are_sealed_as_the_slow_one_seals():
    material = bytes(range(32))
    use = derived(material, "aes-siv pseudonyms of people")
    key = derived(use, "mac") + derived(use, "encryption")
    texts = ["", "Ana", "Zoë 王芳", "x" * 15, "x" * 16, "x" * 47, "ends in nothing\0"]
    tokens = _Sealed(*AesSiv(domain="people")._secrets("name", Key(material)))(pl.Series(texts))
    for text, token in zip(texts, tokens, strict=True):
        plain = text.encode() + b"\x80"
        plain += bytes(-len(plain) % 16)
        expected = base64.b32encode(slow_siv(key, [b"people"], plain)).decode().lower().rstrip("=")
        assert token == expected


@pytest.mark.parametrize("seed", range(often(20)))
def test_many_texts_are_sealed_at_once_as_the_library_seals_each(seed):
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    draw = random.Random(seed)
    key, about, n_blocks = draw.randbytes(64), draw.randbytes(draw.randrange(1, 40)), draw.randrange(1, 6)
    texts = [draw.randbytes(16 * n_blocks) for _ in range(draw.randrange(1, 30))]
    made = sealed(key, about, np.frombuffer(b"".join(texts), np.uint8).reshape(len(texts), -1))
    assert [row.tobytes() for row in made] == [AESSIV(key).encrypt(text, [about]) for text in texts]


@pytest.mark.parametrize("n_bytes", range(1, 60))
def test_base32_is_that_of_rfc_4648(n_bytes):
    draw = random.Random(n_bytes)
    values = [draw.randbytes(n_bytes) for _ in range(draw.randrange(1, 50))]
    rows = np.frombuffer(b"".join(values), np.uint8).reshape(len(values), -1)
    assert base32(rows) == [base64.b32encode(value).decode().lower().rstrip("=") for value in values]


# HMAC ----------------------------------------------------------------------------------------------------------------

# Those cases whose data are text; case 5 shows the first 128 bits only.
HMAC_SAMPLES = [
    (b"\x0b" * 20, "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    (b"Jefe", "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
    (b"\x0c" * 20, "Test With Truncation", "a3b6167473100ee06e0c796c2955552b"),
    (b"\xaa" * 131, "Test Using Larger Than Block-Size Key - Hash Key First",
     "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
    (b"\xaa" * 131, ("This is a test using a larger than block-size key and a larger than block-size data. The key "
     "needs to be hashed before being used by the HMAC algorithm."),
     "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "text", "digest"), HMAC_SAMPLES, ids=["1", "2", "5", "6", "7"])
def test_samples_of_rfc_4231(key, text, digest):
    assert _Digest(key, len(digest))(pl.Series([text])).to_list() == [digest]


@pytest.mark.parametrize("n_bytes", [0, 1, 32, 63, 64, 65, 200])
def test_digests_are_those_of_python(n_bytes):
    key = random.Random(n_bytes).randbytes(n_bytes)
    texts = ["", "Zoë", "王芳", "a" * 300]
    expected = [hmac.new(key, text.encode(), hashlib.sha256).hexdigest() for text in texts]
    assert _Digest(key, 64)(pl.Series(texts)).to_list() == expected
