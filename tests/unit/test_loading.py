"""What is loaded only when it is asked for, and what is read only once."""

import gc
import subprocess
import sys
from itertools import product

import numpy as np
import polars as pl
import pytest

from tablecloak.data.class_labels import labels_of_column
from tablecloak.data.domain import domain_of
from tablecloak.data.table import ColumnType
from tablecloak.engines.disk.stream import open_parquet
from tablecloak.errors import DataError, MissingExtra
from tablecloak.garbage import keep_what_was_loaded
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.io.extras import require_installed
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.kernels import dispatch, loading

NAMES = """
import sys
from tablecloak import registry

models = registry.named("models")
assert models["k-anonymity"].__module__ == "tablecloak.models.k_anonymity"
assert "tablecloak.models.t_closeness" not in sys.modules
assert models["kk-anonymity"].__module__ == "tablecloak.models.kk_anonymity"
assert "tablecloak.models.t_closeness" not in sys.modules
assert "no such model" not in models
assert "tablecloak.models.t_closeness" in sys.modules
assert list(models) == sorted(models)
"""


@pytest.mark.slow
def test_a_name_loads_its_own_module_and_other_names_load_all():
    subprocess.run([sys.executable, "-c", NAMES], check=True)


@pytest.mark.parametrize("is_on", [True, False])
def test_garbage_is_collected_as_before_once_kernels_are_loaded(is_on, monkeypatch):
    monkeypatch.setattr(dispatch, "COMPILED_FROM", 1)
    monkeypatch.setattr(loading, "warm_up", list)
    was_on = gc.isenabled()
    (gc.enable if is_on else gc.disable)()
    try:
        loading.preload(10)
        for thread in dispatch.LOADING:
            thread.join()
        assert gc.isenabled() is is_on
    finally:
        (gc.enable if was_on else gc.disable)()


AT_END = """
import os
from tablecloak.garbage import never_collected_at_end
class Loop:
    def __init__(self): self.itself = self
    def __del__(self, say=os.write): say(1, b"looked for garbage")
Loop()
{call}
"""


@pytest.mark.parametrize(("call", "says"), [("", "looked for garbage"), ("never_collected_at_end()", "")])
def test_the_end_of_a_command_looks_for_no_garbage(call, says):
    ended = subprocess.run([sys.executable, "-c", AT_END.format(call=call)], check=True, capture_output=True, text=True)
    assert ended.stdout == says


def test_what_was_loaded_is_not_looked_at_as_if_it_were_new():
    loaded = [[] for _ in range(100)]
    keep_what_was_loaded()
    old = {id(each) for each in gc.get_objects(generation=2)}
    assert all(id(each) in old for each in loaded)
    assert gc.get_freeze_count() == 0


def test_what_somebody_froze_stays_frozen():
    frozen: list[object] = []
    gc.freeze()
    try:
        keep_what_was_loaded()
        assert all(each is not frozen for each in gc.get_objects())
    finally:
        gc.unfreeze()


def test_a_package_that_is_not_installed_is_named_with_its_extra():
    require_installed("polars", extra="none", purpose="every table")
    with pytest.raises(MissingExtra, match="magic needs the package no_such_package"):
        require_installed("no_such_package", extra="magic", purpose="magic")


def table(folder, hold):
    path = folder / "a.parquet"
    pl.DataFrame({"x": range(100), "y": range(100, 200), "z": range(100)}).write_parquet(path)
    source = Source(path)
    return open_parquet(source, sniff(source), ["x", "y", "z"], 30, hold), path


def rows(opened, columns):
    return pl.concat(opened.batches(columns)).rows()


def test_a_small_table_is_decoded_once(tmp_path):
    opened, path = table(tmp_path, hold=10_000)
    assert rows(opened, ["x", "y"]) == [(i, 100 + i) for i in range(100)]
    path.unlink()
    assert rows(opened, ["y"]) == [(100 + i,) for i in range(100)]
    assert rows(opened, ["y", "x"]) == [(100 + i, i) for i in range(100)]
    with pytest.raises(DataError):
        rows(opened, ["x", "z"])


def test_a_table_that_is_too_large_to_hold_is_decoded_again(tmp_path):
    opened, path = table(tmp_path, hold=1_000)  # of 1,600 bytes
    assert len(rows(opened, ["x", "y"])) == 100
    path.unlink()
    with pytest.raises(DataError):
        rows(opened, ["x", "y"])


def test_an_unfinished_pass_holds_nothing(tmp_path):
    opened, path = table(tmp_path, hold=10_000)
    unfinished = opened.batches(["x"])
    next(unfinished)
    path.unlink()
    with pytest.raises(DataError):
        rows(opened, ["x"])


def test_labels_of_a_tree_are_listed_in_the_order_of_their_intervals():
    tree = Hierarchy.from_tree({"*": {"n": {"x": ["a", "b"], "y": ["c"]}, "s": ["d", "e"]}})
    domain = domain_of(pl.Series("place", list("abcde")), ColumnType.TEXT, make_hierarchy=lambda _: tree)
    boxes = [(lo, hi) for lo, hi in product(range(5), repeat=2) if lo <= hi]
    above = {(0, 1): "x", (3, 4): "s", (0, 2): "n", (1, 2): "n"}
    expected = ["abcde"[lo] if lo == hi else above.get((lo, hi), "*") for lo, hi in boxes]
    lo, hi = np.array(boxes[::-1]).T
    found = labels_of_column(domain, lo, hi, None, None)
    assert [found.names[i] for i in found.of_class] == expected[::-1]
    assert list(found.names) == list(dict.fromkeys(expected))
