"""Hiding randomness: named streams of a secret."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter

import numpy as np
import pytest

from tablecloak.rng import Secret

SECRET = Secret(bytes(range(32)))


def test_a_secret_does_not_show_in_its_repr():
    assert "key" not in repr(SECRET)
    assert str(bytes(range(4)))[2:-1] not in repr(SECRET)


@pytest.mark.fresh_secrets
def test_fresh_secrets_differ():
    assert len({Secret.fresh().key for _ in range(20)}) == 20


def test_streams_are_expanded_as_rfc_5869_says():
    assert SECRET.derived("groups") == hmac.new(SECRET.key, b"groups\x01", hashlib.sha256).digest()


def test_material_of_any_length_is_extracted():
    assert len(Secret.of(b"short").key) == 32
    assert Secret.of(b"a") != Secret.of(b"b")


def test_a_secret_of_another_length_is_refused():
    with pytest.raises(ValueError, match="32 bytes"):
        Secret(b"short")


def test_streams_repeat_by_name_and_differ_between_names():
    assert SECRET.stream("a").words(5).tolist() == SECRET.stream("a").words(5).tolist()
    assert SECRET.stream("a").words(5).tolist() != SECRET.stream("b").words(5).tolist()


def test_a_stream_does_not_repeat_itself():
    stream = SECRET.stream("a")
    assert not set(stream.words(50).tolist()) & set(stream.words(50).tolist())


def test_integers_are_even_and_in_range():
    drawn = SECRET.stream("dice").integers(1, 7, 60_000)
    counts = np.bincount(drawn)[1:]
    assert drawn.min() == 1
    assert drawn.max() == 6
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 25  # chi-square, 5 degrees of freedom, p = 0.0001


def test_every_permutation_is_equally_likely():
    stream = SECRET.stream("orders")
    counts = Counter(tuple(stream.permutation(3).tolist()) for _ in range(6_000))
    assert len(counts) == 6
    assert sum((c - 1000) ** 2 / 1000 for c in counts.values()) < 25


def test_random_numbers_lie_between_0_and_1():
    drawn = SECRET.stream("u").random(10_000)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert abs(drawn.mean() - 0.5) < 0.02


def test_none_and_one_can_be_drawn():
    assert SECRET.stream("e").permutation(0).tolist() == []
    assert SECRET.stream("e").permutation(1).tolist() == [0]
