"""Finished releases in groups beside their originals: what groups show must come from the same records."""

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from tablecloak.algorithms.base import ColumnBlock
from tablecloak.algorithms.buckets import swapping
from tablecloak.algorithms.buckets.swapping import Swapping
from tablecloak.pipeline import verify
from tablecloak.release.plan import side_path

GROUPED, SEPARATED = ["slicing", "swapping"], ["anatomy", "permutation", "v-cold"]
EVERY = [*GROUPED, *SEPARATED]
TABLE = pl.DataFrame({
    "age": [20 + i * 7 % 53 for i in range(48)], "zip": [f"{13000 + i * 11 % 47}" for i in range(48)],
    "sex": ["fm"[i % 2] for i in range(48)], "dx": ["abcdef"[i * 7 % 6] for i in range(48)],
    "pay": [i * 5 % 8 for i in range(48)], "ward": [f"w{i}" for i in range(48)],
})  # fmt: skip


def policy(kind, **more):
    columns = {**tc.roles(quasi=["age", "zip", "sex"], sensitive=["dx", "pay"], keep=["ward"])}
    return tc.Policy(columns=columns, goals=[tc.LDiversity(l=2)], algorithm={"kind": kind}, **more)


def sensitive_of(release):
    return "side" if release.side is not None else "frame"


def exchanged(frame, column, *, same_group=False):
    """The cells of a column exchanged between two rows of different groups (or the same) that differ in it."""
    groups, values = frame["group_id"].to_list(), frame[column].to_list()
    counts = frame["count"].to_list() if "count" in frame.columns else [1] * frame.height
    for a in range(frame.height):
        for b in range(a):
            if (groups[a] == groups[b]) is same_group and values[a] != values[b] and counts[a] == counts[b]:
                values[a], values[b] = values[b], values[a]
                return frame.with_columns(pl.Series(column, values, dtype=frame[column].dtype))
    raise AssertionError("no two such rows")


def checked(kind, release, **changed):
    parts = {"frame": release.frame, "side": release.side} | changed
    return tc.verify(parts["frame"], policy(kind), original=TABLE, side=parts["side"])


@pytest.mark.parametrize("kind", EVERY)
def test_own_groups_are_those_of_the_original(kind):
    release = tc.anonymize(TABLE, policy(kind))
    found = checked(kind, release)
    assert found.holds
    assert found.covers


@pytest.mark.parametrize("column", ["dx", "pay"])
@pytest.mark.parametrize("kind", EVERY)
def test_a_diagnosis_moved_to_another_group_is_found(kind, column):
    release = tc.anonymize(TABLE, policy(kind))
    part = sensitive_of(release)
    found = checked(kind, release, **{part: exchanged(getattr(release, part), column)})
    assert found.fails
    assert found.covers is False
    assert found.failures
    assert all(f.class_number is not None for f in found.failures if f.count)


@pytest.mark.parametrize("column", ["age", "zip", "ward"])
@pytest.mark.parametrize("kind", EVERY)
def test_an_exact_cell_moved_to_another_group_is_found(kind, column):
    release = tc.anonymize(TABLE, policy(kind))
    assert checked(kind, release, frame=exchanged(release.frame, column)).fails


@pytest.mark.parametrize("kind", ["anatomy", "swapping", "v-cold"])
def test_cells_of_rows_that_stay_whole_are_linked_as_in_the_original(kind):
    release = tc.anonymize(TABLE, policy(kind))
    assert checked(kind, release, frame=exchanged(release.frame, "age", same_group=True)).fails


def test_links_inside_slices_that_are_not_the_original_ones_are_no_yes():
    release = tc.anonymize(TABLE, policy("slicing"))
    results = [checked("slicing", release, frame=exchanged(release.frame, n, same_group=True)) for n in ("age", "zip")]
    assert any(not found.holds and not found.fails and "one by one" in found.unchecked[0] for found in results)


@pytest.mark.parametrize("kind", EVERY)
def test_a_changed_age_names_column_and_row(kind):
    release = tc.anonymize(TABLE, policy(kind))
    ages = [99, *release.frame["age"].to_list()[1:]]
    found = checked(kind, release, frame=release.frame.with_columns(pl.Series("age", ages)))
    assert [(f.column, f.rows) for f in found.failures] == [("age", (1,))]


@pytest.mark.parametrize("kind", EVERY)
def test_rows_more_or_less_are_found(kind):
    release = tc.anonymize(TABLE, policy(kind))
    frame = release.frame
    assert checked(kind, release, frame=frame[1:]).fails
    assert checked(kind, release, frame=pl.concat([frame, frame[:1]])).fails


@pytest.mark.parametrize("kind", EVERY)
def test_files_say_the_same_as_frames(kind, tmp_path):
    TABLE.write_csv(tmp_path / "people.csv")
    wanted = policy(kind)
    release = tc.anonymize(TABLE, wanted)
    path = tmp_path / "release.csv"
    changed = {"frame": release.frame, "side": release.side}
    for is_honest in (True, False):
        changed["frame"].write_csv(path)
        if release.side is not None:
            changed["side"].write_csv(side_path(path))
        found = verify(path, wanted, original=tmp_path / "people.csv")
        assert (found.holds, found.fails) == (is_honest, not is_honest)
        part = sensitive_of(release)
        changed[part] = exchanged(changed[part], "dx")


PAIRS = pl.DataFrame({"age": range(80), "zip": [f"{i * 7 % 80}" for i in range(80)], "dx": list("abcdefgh") * 10})
PAIRED = PAIRS.with_columns(pl.Series("group_id", [1 + i // 2 for i in range(80)]))


def pairs(kind):
    return tc.Policy(
        columns=tc.roles(quasi=["age", "zip"], sensitive=["dx"]), goals=[tc.LDiversity(l=2)], algorithm={"kind": kind}
    )


@pytest.mark.parametrize("kind", GROUPED)
def test_records_with_a_number_of_a_group_are_not_exchanged(kind):
    """Groups are diverse and all cells are those of the original, and yet every row tells all about its person."""
    found = tc.verify(PAIRED, pairs(kind), original=PAIRS)
    assert [f.what for f in found.failures] == [
        "80 of 80 rows link age + zip with dx as the original does: they were not exchanged inside groups"
    ]
    few = PAIRED[:20]  # ten groups of two stay as they are once in a thousand times
    assert tc.verify(few, pairs(kind), original=PAIRS[:20]).holds


def test_slices_exchanged_with_each_other_may_leave_the_sensitive_ones_where_they_were():
    moved = PAIRED.with_columns(PAIRED.sort("group_id", pl.col("zip").cast(int))["zip"])
    found = tc.verify(moved, pairs("slicing"), original=PAIRS)
    assert found.fails


def test_quasi_identifiers_that_permutation_left_together_are_found():
    side = PAIRED.select("group_id", "dx").sort("group_id", "dx")
    found = tc.verify(PAIRED.drop("dx"), pairs("permutation"), original=PAIRS, side=side)
    assert [f.what for f in found.failures] == [
        "80 of 80 rows link age with zip as the original does: they were not exchanged inside groups"
    ]


@pytest.mark.parametrize("kind", EVERY)
def test_what_an_exchange_must_hide_is_no_yes_without_the_original(kind):
    """Where sensitive columns have a table of their own, groups alone are enough."""
    release = tc.anonymize(TABLE, policy(kind))
    found = tc.verify(release.frame, policy(kind), side=release.side)
    assert not found.fails
    assert found.holds is (kind in SEPARATED)
    assert [r[:32] for r in found.unchecked] == ["whether rows were exchanged insi"] * (kind in GROUPED)


def test_forbidden_combinations_leave_fewer_exchanges_and_no_alarm():
    """Only one exchange of every group is allowed: none."""
    table = pl.DataFrame({"sex": ["f", "m", "m"] * 40, "age": range(120), "dx": ["x", "y", "z"] * 40})
    rules = ({"sex": "f", "dx": "y"}, {"sex": "f", "dx": "z"})
    columns = tc.roles(quasi=["sex", "age"], sensitive=["dx"])
    free, ruled = (
        tc.Policy(columns=columns, goals=[tc.LDiversity(l=2)], algorithm=Swapping(forbidden=f)) for f in ((), rules)
    )
    release = table.with_columns(pl.Series("group_id", [1 + i // 3 for i in range(120)]))
    assert not tc.verify(release, ruled, original=table).fails
    assert tc.verify(release, free, original=table).fails


def test_a_run_that_exchanges_nothing_publishes_nothing(monkeypatch):
    def unmoved(problem, groups, columns):
        return ColumnBlock(columns, np.arange(len(groups)))

    monkeypatch.setattr(swapping.base, "shuffled", unmoved)
    with pytest.raises(tc.GoalNotMet, match="not exchanged inside groups"):
        tc.anonymize(PAIRS, pairs("swapping"))


def test_wrong_links_inside_slices_that_stay_together_are_found():
    release = tc.anonymize(PAIRS, pairs("slicing"))
    assert tc.verify(release.frame, pairs("slicing"), original=PAIRS).holds
    found = tc.verify(exchanged(release.frame, "zip", same_group=True), pairs("slicing"), original=PAIRS)
    assert found.fails
    assert "do not come from the same records" in found.failures[0].what


def test_equal_people_in_several_groups_are_no_reason_to_refuse():
    table = pl.DataFrame({"age": [30, 30, 40, 40] * 6, "dx": [f"{i % 8}" for i in range(24)]})
    wanted = tc.Policy(
        columns=tc.roles(quasi=["age"], sensitive=["dx"]), goals=[tc.LDiversity(l=2)], algorithm="anatomy"
    )
    release = tc.anonymize(table, wanted)
    assert tc.verify(release.frame, wanted, original=table, side=release.side).holds


def test_persons_are_counted_only_where_the_original_says_whose_records_they_are():
    table = TABLE.with_columns(pl.Series("who", range(48)))
    columns = tc.roles(quasi=["age", "zip"], sensitive=["dx"], person=["who"])
    wanted = tc.Policy(columns=columns, goals=[tc.LDiversity(l=2)], algorithm="anatomy")
    release = tc.anonymize(table, wanted)
    alone = tc.verify(release.frame, wanted, side=release.side)
    assert not alone.holds
    assert not alone.fails
    assert tc.verify(release.frame, wanted, original=table, side=release.side).holds


@pytest.mark.parametrize("kind", SEPARATED)
def test_a_column_on_both_sides_links_what_must_be_apart(kind):
    release = tc.anonymize(TABLE, policy(kind))
    linked = release.frame.with_columns(pl.Series("dx", ["a"] * 48))
    found = tc.verify(linked, policy(kind), side=release.side)
    assert [(f.column, f.what) for f in found.failures] == [("dx", "it stands in both tables, which links them")]
    linked = release.side.with_columns(pl.Series("ward", ["w1"] * release.side.height))
    found = tc.verify(release.frame.drop("ward"), policy(kind), side=linked)
    assert [f.column for f in found.failures] == ["ward"]


def test_a_count_of_the_main_table_is_no_column_of_the_policy():
    release = tc.anonymize(TABLE, policy("anatomy"))
    found = tc.verify(release.frame.with_columns(pl.lit(1).alias("count")), policy("anatomy"), side=release.side)
    assert [f.column for f in found.failures] == ["count"]


@pytest.mark.parametrize("counts", [["x"], [None], [-1]])
def test_counts_that_are_none_are_refused(counts):
    release = tc.anonymize(TABLE, policy("anatomy"))
    side = release.side.with_columns(pl.Series("count", counts * release.side.height))
    with pytest.raises(tc.DataError, match="how many records"):
        tc.verify(release.frame, policy("anatomy"), side=side)
