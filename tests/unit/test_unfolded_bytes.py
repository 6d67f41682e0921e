"""What the cells of a table take once every one is written out."""

from __future__ import annotations

import polars as pl
import pytest

from tablecloak.engines.choose import bytes_in_memory
from tablecloak.io.formats._typed import unfolded_bytes
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source

TEXTS = ["ab", "ab", "", None, "ä", "x" * 100]


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(sorted({t for t in TEXTS if t is not None}))])
def test_texts_take_their_bytes_in_every_row(dtype):
    frame = pl.DataFrame({"a": pl.Series(TEXTS * 1000, dtype=pl.String).cast(dtype)})
    assert unfolded_bytes(frame.lazy(), 10**9) == 1000 * sum(len((text or "").encode()) for text in TEXTS)


def test_counting_stops_beyond_the_limit():
    frame = pl.DataFrame({"a": ["x" * 1000] * 400_000})
    n_bytes = unfolded_bytes(frame.lazy(), 1_000_000)
    assert 1_000_000 < n_bytes < 400_000_000


def test_the_engine_is_chosen_by_what_a_file_unfolds_to(tmp_path):
    pl.DataFrame({"a": ["x" * 10_000] * 50_000}).write_parquet(tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").stat().st_size < 1_000_000
    assert bytes_in_memory(sniff(Source(tmp_path / "x.parquet"))) >= 10_000 * 50_000
