"""Whether originals can be dealt out to groups: the answer of trying every way, and never a wrong yes or no."""

import itertools
import random
from collections import Counter

import numpy as np
import pytest

from tablecloak.data.group_origins import BlockRows, dealt


def by_trying(blocks, originals):
    """Whether some way to put originals into the places of groups shows the blocks."""
    places = sorted(group for group, _ in blocks[0])
    wanted = [Counter(block) for block in blocks]
    return any(
        all(Counter(zip(way, (o[j] for o in originals), strict=True)) == wanted[j] for j in range(len(blocks)))
        for way in set(itertools.permutations(places))
    )


def asked(blocks, originals):
    return dealt([
        BlockRows(
            np.array([g for g, _ in block], np.int64), np.array([v for _, v in block], np.int64),
            np.array([o[j] for o in originals], np.int64),
        )
        for j, block in enumerate(blocks)
    ])  # fmt: skip


@pytest.mark.parametrize("n_blocks", [1, 2, 3])
def test_the_answer_is_that_of_trying_every_way(n_blocks):
    rng = random.Random(n_blocks)
    answers = Counter()
    for _ in range(150):
        n, n_values = rng.randint(2, 6), rng.randint(1, 4)
        originals = [tuple(rng.randrange(n_values) for _ in range(n_blocks)) for _ in range(n)]
        groups = [rng.randint(7, 9) for _ in range(n)]
        blocks = [[(g, o[j]) for g, o in zip(groups, originals, strict=True)] for j in range(n_blocks)]
        if rng.random() < 0.7:  # exchange two cells of a block, or change one
            block = rng.choice(blocks)
            a, b = rng.randrange(n), rng.randrange(n)
            block[a], block[b] = (block[a][0], block[b][1]), (block[b][0], block[a][1])
            if rng.random() < 0.2:
                block[a] = (block[a][0], rng.randrange(n_values))
        for block in blocks:
            rng.shuffle(block)
        expected = by_trying(blocks, originals)
        answers[expected] += 1
        assert asked(blocks, originals).is_possible is expected
    assert min(answers[True], answers[False]) > 3


def test_equal_originals_in_several_groups_are_told_apart_by_what_else_groups_show():
    # two equal people (0) with different illnesses (1, 2), in groups that show one illness each
    originals = [(0, 1), (0, 2), (3, 1)]
    assert asked([[(1, 0), (2, 0), (2, 3)], [(1, 2), (2, 1), (2, 1)]], originals).is_possible
    # 3 has 1, so group 1 must show 1 or group 2 cannot show twice 1
    assert asked([[(1, 0), (2, 0), (1, 3)], [(1, 2), (1, 2), (2, 1)]], originals).is_possible is False


def test_what_takes_too_long_to_tell_is_left_open(monkeypatch):
    monkeypatch.setattr("tablecloak.data.group_origins.MOST_TRIALS", 0)
    originals = [(a, b) for a in range(2) for b in range(2)] * 2
    block = [[(g, v) for g in range(2) for v in (0, 0, 1, 1)] for _ in range(2)]
    assert asked(block, originals).is_possible is None


def test_too_many_ways_to_look_at_are_left_open(monkeypatch):
    monkeypatch.setattr("tablecloak.data.group_origins.MOST_PAIRS", 4)
    assert asked([[(g, 0) for g in range(5)]] * 2, [(0, 0)] * 5).is_possible is None


def test_a_record_too_few_is_no():
    assert asked([[(1, 0)]], [(0,), (0,)]).is_possible is False
