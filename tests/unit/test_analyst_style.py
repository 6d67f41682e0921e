"""output.style: analyst: few labels for every column, which do not overlap, and what they cost."""

import datetime as dt
import itertools
import json
import random
from collections import Counter, defaultdict

import polars as pl
import pytest

import tablecloak as tc
from notes import Notes
from tablecloak.algorithms.topdown.auto import Auto
from tablecloak.kernels.loading import Step

TOWNS = [f"town {i:02d}" for i in range(20)]
QUASI = ["city", "region", "age"]


def people(n: int = 600, seed: int = 2) -> pl.DataFrame:
    draw = random.Random(seed)
    rows = [
        (draw.choice(TOWNS[: draw.randint(1, 20)]), draw.randint(1, 7), draw.randint(18, 80), draw.choice("abcd"))
        for _ in range(n)
    ]
    return pl.DataFrame(rows, schema=[*QUASI, "ill"], orient="row")


def policy(style: str = "analyst", **more) -> tc.Policy:
    goals = [tc.KAnonymity(k=5), tc.LDiversity(l=2, sensitive="ill")]
    output = {"path": "release.csv", "style": style, "order": "keep"}
    columns = tc.roles(quasi=QUASI, sensitive=["ill"])
    return tc.Policy(columns=columns, goals=goals, output=output, **more)


def texts(release: pl.DataFrame) -> pl.DataFrame:
    return release.cast(pl.String)


def values_of(cell: str) -> set[str]:
    if cell.startswith("["):
        low, high = json.loads(cell)
        return {str(number) for number in range(low, high + 1)}
    if cell.startswith("all but {"):
        return set(TOWNS) - values_of(cell.removeprefix("all but "))
    return set(cell[1:-1].split(", ")) if cell.startswith("{") else {cell}


def test_labels_of_a_column_are_few_and_do_not_overlap():
    release = texts(tc.anonymize(people(), policy()).frame)
    for name in QUASI:
        labels = set(release[name]) - {"*"}
        assert 1 < len(labels) <= 12
        counts = Counter(value for label in labels for value in values_of(label))
        assert max(counts.values()) == 1


@pytest.mark.parametrize("unit", ["days", "hundredths"])
def test_intervals_do_not_overlap_where_values_lie_side_by_side(unit):
    """Bounds are rounded outwards there, which must not lead into the next interval."""
    numbers = [(i * 37 + i * i // 7) % 900 for i in range(3000)]
    made = {
        "days": [dt.date(1988, 1, 1) + dt.timedelta(days=n) for n in numbers],
        "hundredths": [n / 100 for n in numbers],
    }
    frame = pl.DataFrame({"x": made[unit], "sex": [("f", "m")[n % 2] for n in numbers]})
    asked = tc.Policy(columns=tc.roles(quasi=["x", "sex"]), goals=[tc.KAnonymity(k=5)], algorithm={"kind": "bins"})
    read = tc.read_release(tc.anonymize(frame, asked).frame)
    bounds = sorted({(low, high) for low, high in zip(read["x_low"], read["x_high"], strict=True) if low is not None})
    assert len(bounds) > 2
    assert all(high < low for (_, high), (low, _) in itertools.pairwise(bounds))


def test_every_class_satisfies_every_goal_and_covers_its_records():
    frame = people()
    release = texts(tc.anonymize(frame, policy()).frame)
    assert release.height == frame.height
    classes = defaultdict(list)
    for row, cells in enumerate(release.select(QUASI).iter_rows()):
        classes[cells].append(row)
        for name, cell in zip(QUASI, cells, strict=True):
            assert cell == "*" or str(frame[name][row]) in values_of(cell)
    for rows in classes.values():
        assert len(rows) >= 5
        assert len({frame["ill"][row] for row in rows}) >= 2


def test_both_losses_are_told():
    frame = people()
    few, detailed = (tc.anonymize(frame, policy(style)).report for style in ("analyst", "detailed"))
    assert few.to_dict()["detailed_loss"] == pytest.approx(detailed.loss)
    assert few.loss > detailed.loss
    assert f"detailed labels would lose {detailed.loss:.3f}" in str(few)
    assert "detailed_loss" not in detailed.to_dict()


def test_records_are_left_out_only_as_far_as_the_policy_says():
    frame = people(200)
    for limit in (0, 0.1):
        release = tc.anonymize(frame, policy(algorithm={"kind": "auto", "suppression_limit": limit})).frame
        assert frame.height - release.height <= limit * frame.height


def test_missing_values_have_a_label_of_their_own():
    frame = people().with_columns(
        city=pl.when(pl.int_range(pl.len()) % 9 == 0).then(None).otherwise("city"),
        age=pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise("age"),
    )
    chosen = policy()
    release = tc.anonymize(frame, chosen).frame
    assert not tc.verify(release, chosen, original=frame).failures
    assert release["age"].null_count() > 0


def test_the_order_of_rows_changes_nothing():
    frame = people()
    first, second = (
        texts(tc.anonymize(rows, policy(algorithm="bins")).frame).sort(pl.all())
        for rows in (frame, frame.sample(fraction=1, shuffle=True, seed=4))
    )
    assert first.equals(second)


def test_another_algorithm_is_refused():
    with pytest.raises(tc.IncompatibleChoice, match="bins"):
        tc.anonymize(people(), policy(algorithm="mondrian"))


def test_weights_are_published_with_few_labels():
    frame = people().with_columns(weight=pl.int_range(pl.len()) % 3 + 0.5)
    chosen = policy()
    columns = {**chosen.columns, **tc.roles(weight=["weight"])}
    release = tc.anonymize(frame, chosen.model_copy(update={"columns": columns})).frame
    assert release["weight"].sum() == frame["weight"].sum()


def test_a_rare_value_does_not_keep_other_columns_from_being_cut():
    draw = random.Random(5)
    rows = [(draw.choice("mf"), draw.choice(TOWNS[:4]), draw.randint(18, 80), draw.choice("abcd")) for _ in range(800)]
    rows += [("x", TOWNS[5 + i], 20 + i, "a") for i in range(3)]  # three who fit into no class
    frame = pl.DataFrame(rows, schema=["sex", "city", "age", "ill"], orient="row")
    tree = {"kind": "tree", "tree": {"*": sorted(set(frame["city"]))}}
    columns = {**tc.roles(quasi=["sex", "age"], sensitive=["ill"]), "city": {"role": "quasi", "hierarchy": tree}}
    output = {"path": "release.csv", "order": "keep"}
    chosen = tc.Policy(columns=columns, goals=[tc.KAnonymity(k=10)], algorithm="bins", output=output)
    release = texts(tc.anonymize(frame, chosen).frame)
    assert release.height == frame.height
    for name in ("sex", "city", "age"):
        assert release[name].n_unique() > 2
        assert (release[name] == "*").mean() < 0.2
    for cells, n in Counter(release.select("sex", "city", "age").iter_rows()).items():
        assert n >= 10
        assert cells != ("*", "*", "*")


@pytest.mark.parametrize("kind", ["auto", "bins"])
def test_a_column_that_tells_nothing_is_named(kind):
    frame = pl.DataFrame({"age": [20, 30] * 6, "sex": ["f", "m", "m", "f"] * 3})  # three of each pair
    columns = tc.roles(quasi=["age", "sex"])
    released = tc.anonymize(frame, tc.Policy(columns=columns, goals=[tc.KAnonymity(k=4)], algorithm={"kind": kind}))
    (empty,) = [name for name in ("age", "sex") if texts(released.frame)[name].n_unique() == 1]
    assert [note for note in released.report.notes if "any value" in note] == [
        f"{empty}: any value in every record; others may keep more detail with role: drop"
    ]


def test_what_the_comparison_with_detailed_labels_waits_for_is_said(monkeypatch):
    step = Step("does nothing", (), lambda: None)
    monkeypatch.setattr(Step, "is_kept", False)
    monkeypatch.setattr(Auto, "kernels", lambda self, n, goal: (step,))
    seen = Notes()
    tc.anonymize(people(), policy(), progress=seen)
    assert seen.notes["compile"] == "1 kernel, once for this version"
