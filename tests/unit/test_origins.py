"""Which original each published row can come from, against comparing each with each."""

import numpy as np
import pytest

from effort import often
from tablecloak.data import row_origins
from tablecloak.data.coverage import Coverage
from tablecloak.data.row_origins import Equal, Generalized, assigned, candidates_of


def fits(generalized, equal, row, original):
    if any(e.published[row] != e.originals[original] for e in equal):
        return False
    for side in generalized:
        label, code = int(side.labels[row]), int(side.codes[original])
        listed = side.coverage.sets.get(label)
        if not side.coverage.lo[label] <= code <= side.coverage.hi[label] or (listed and code not in listed):
            return False
    return True


def most_rows(generalized, equal, n_rows, n_originals):
    """How many rows can have an original of their own, by augmenting paths."""
    row_of = {}

    def place(row, seen):
        for original in range(n_originals):
            if original in seen or not fits(generalized, equal, row, original):
                continue
            seen.add(original)
            if original not in row_of or place(row_of[original], seen):
                row_of[original] = row
                return True
        return False

    return sum(place(row, set()) for row in range(n_rows))


def random_case(rng):
    n_originals = int(rng.integers(1, 12))
    n_rows = int(rng.integers(1, n_originals + 2))
    generalized = []
    for name in range(int(rng.integers(1, 4))):
        n_codes, n_labels = int(rng.integers(1, 12)), int(rng.integers(1, 6))
        lo = rng.integers(0, n_codes, n_labels)
        hi = np.minimum(n_codes - 1, lo + rng.integers(-1, 5, n_labels))
        ends = {i: frozenset([int(lo[i]), int(hi[i])]) for i in range(n_labels) if hi[i] - lo[i] >= 2}
        sets = {i: members for i, members in ends.items() if rng.random() < 0.3}
        labels, codes = rng.integers(0, n_labels, n_rows), rng.integers(0, n_codes, n_originals)
        generalized.append(Generalized(str(name), Coverage(lo, hi, sets), labels, codes))
    equal = [Equal("e", rng.integers(0, 2, n_rows), rng.integers(0, 2, n_originals)) for _ in range(rng.integers(0, 3))]
    return generalized, equal, n_rows, n_originals


@pytest.mark.parametrize("seed", range(often(100)))
def test_as_many_rows_as_possible_get_an_original_that_fits(seed, monkeypatch):
    monkeypatch.setattr(row_origins, "LEAF_PAIRS", 4)  # so that small tables are cut apart, too
    generalized, equal, n_rows, n_originals = random_case(np.random.default_rng(seed))
    found = assigned(candidates_of(generalized, n_rows, n_originals), equal).row_of
    pairs = [(row, int(original)) for row, original in enumerate(found) if original >= 0]
    assert len({original for _, original in pairs}) == len(pairs)
    assert all(fits(generalized, equal, row, original) for row, original in pairs)
    assert len(pairs) == most_rows(generalized, equal, n_rows, n_originals)


def originals_of_classes(generalized, equal, n_rows, n_originals):
    """Every way to give all rows originals, as the set of originals that each class has."""
    classes = list(zip(*(side.labels.tolist() for side in generalized), strict=True))
    ways = set()

    def place(row, used):
        if row == n_rows:
            ways.add(frozenset((classes[r], original) for r, original in enumerate(used)))
            return
        for original in range(n_originals):
            if original not in used and fits(generalized, equal, row, original):
                place(row + 1, (*used, original))

    place(0, ())
    return ways


def test_what_is_called_certain_is_the_only_way():
    rng = np.random.default_rng(3)
    n_certain = 0
    for _ in range(200):  # every row is made from an original; labels overlap, and other cells tell some apart
        n = int(rng.integers(2, 6))
        lo, codes = np.array([0, 1, 2]), rng.integers(0, 5, n)
        coverage = Coverage(lo, lo + 2, {})
        labels = np.array([rng.choice([i for i in range(3) if lo[i] <= c <= lo[i] + 2]) for c in codes], np.int64)
        cells = rng.integers(0, 8, n)
        n_rows = int(rng.integers(1, n + 1))
        generalized = [Generalized("age", coverage, labels[:n_rows], codes)]
        equal = [Equal("e", cells[:n_rows], cells)]
        if assigned(candidates_of(generalized, n_rows, n), equal).is_certain:
            n_certain += 1
            assert len(originals_of_classes(generalized, equal, n_rows, n)) == 1
    assert n_certain > 20


def test_labels_that_overlap_too_much_are_refused(monkeypatch):
    monkeypatch.setattr(row_origins, "MOST_PAIRS", 3)
    coverage = Coverage(np.array([0]), np.array([3]), {})
    side = Generalized("age", coverage, np.zeros(4, np.int64), np.arange(4))
    with pytest.raises(row_origins.TooManyPairsError):
        candidates_of([side], 4, 4)
