"""Categories and codes without a hierarchy publish the values of their class, read back by a checker of its own."""

import itertools
import json
import random
from collections import defaultdict

import polars as pl
import pytest

import tablecloak as tc
from tablecloak.data.code_sets import CodeSets
from tablecloak.data.domain import domain_of
from tablecloak.data.nominal_codes import are_codes
from tablecloak.data.table import ColumnType
from tablecloak.registry import find
from tablecloak.release.recoding.classes import read_recoding
from tablecloak.values.cell_grammar import covers, parse, reads_like_label

CITIES = [f"town {i:02d}" for i in range(37)]
ALGORITHMS = ["auto", "mondrian", "k-member", "density"]


def people(n: int = 400, seed: int = 1) -> pl.DataFrame:
    draw = random.Random(seed)
    rows = [(draw.choice(CITIES), draw.randint(1, 7), draw.randint(18, 80), draw.choice("abc")) for _ in range(n)]
    return pl.DataFrame(rows, schema=["city", "region", "age", "ill"], orient="row")


def policy(algorithm: str = "mondrian", **settings) -> tc.Policy:
    chosen = find("algorithms", algorithm)(**settings)
    return tc.Policy(
        columns=tc.roles(quasi=["city", "region", "age"], sensitive=["ill"]),
        goals=[tc.KAnonymity(k=4)],
        algorithm=chosen,
        output={"path": "release.csv", "order": "keep"},
    )


def stands_for(cell: str, every: set[str]) -> set[str]:
    """The values that a cell stands for, read without our reader."""
    if cell == "*":
        return every
    if cell.startswith("all but {"):
        return every - set(cell[len("all but {") : -1].split(", "))
    return set(cell[1:-1].split(", ")) if cell.startswith("{") else {cell}


def assert_values_of_records(frame: pl.DataFrame, release: pl.DataFrame) -> None:
    classes = defaultdict(list)
    for row, cells in enumerate(release.select("city", "region", "age").cast(pl.String).iter_rows()):
        classes[cells].append(row)
    assert min(map(len, classes.values())) >= 4
    for (city, region, _), rows in classes.items():
        for name, cell in (("city", city), ("region", region)):
            texts = frame[name].cast(pl.String)
            assert stands_for(cell, set(texts)) == {texts[row] for row in rows}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_class_publishes_the_values_of_its_records(algorithm):
    frame = people()
    release = tc.anonymize(frame, policy(algorithm)).frame
    assert_values_of_records(frame, release)


def test_the_loss_counts_the_values_that_are_published():
    frame = people()
    made = tc.anonymize(frame, policy())
    ages = frame["age"].max() - frame["age"].min()
    lost = 0.0
    for city, region, age in made.frame.select("city", "region", "age").cast(pl.String).iter_rows():
        for cell, n in ((city, frame["city"].n_unique()), (region, 7)):
            size = len(stands_for(cell, {str(i) for i in range(n)})) if cell == "*" else len(stands_for(cell, set()))
            if cell.startswith("all but"):
                size = n - cell.count(",") - 1
            lost += size / n if size > 1 else 0
        low, high = json.loads(age) if age.startswith("[") else (0, 0)
        lost += (high - low) / ages
    assert made.report.loss == pytest.approx(lost / (3 * frame.height))


def test_a_release_of_sets_is_verified_with_its_original():
    frame = people()
    chosen = policy()
    release = tc.anonymize(frame, chosen).frame
    assert not tc.verify(release, chosen, original=frame).failures
    texts = release["city"].cast(pl.String)
    row = next(i for i, text in enumerate(texts) if text.startswith("{"))
    wrong = [t.replace(frame["city"][row], "town 99") if t == texts[row] else t for t in texts]
    assert tc.verify(release.with_columns(pl.Series("city", wrong)), chosen, original=frame).failures


def test_a_recoding_takes_new_rows_only_where_the_set_holds_them(tmp_path):
    frame = people()
    made = tc.anonymize(frame, policy())
    made.recoding.write(tmp_path / "recoding.json")
    recoding = read_recoding(tmp_path / "recoding.json")
    assert (recoding.classes_of(frame) >= 0).all()
    swapped = frame.with_columns(city=frame["city"].shuffle(seed=5))
    for row, number in enumerate(recoding.classes_of(swapped).tolist()):
        if number >= 0:
            column = recoding.columns[0]
            label = column.labels.names[column.labels.of_class[number]]
            assert swapped["city"][row] in stands_for(label, set(CITIES))


def domain(n: int, *, missing: bool = False):
    values = [f"v{i:03d}" for i in range(n)] + [None] * missing
    return domain_of(pl.Series("x", values), ColumnType.TEXT)


@pytest.mark.parametrize(
    ("n", "members", "label", "loss"),
    [
        (8, [2], "v002", 0),
        (8, [2, 5], "{v002, v005}", 2 / 8),
        (8, [0, 1, 2, 3, 4, 6, 7], "all but {v005}", 7 / 8),
        (8, list(range(8)), "*", 1),
        (300, list(range(295)), "all but {v295, v296, v297, v298, v299}", 295 / 300),
        (300, list(range(280)), "*", 1),  # nobody reads a list of 280 values, or of the 20 others
    ],
)
def test_sets_are_named_so_that_people_can_read_them(n, members, label, loss):
    sets = CodeSets(pl.Series([0, len(members)]).to_numpy(), pl.Series(members).to_numpy())
    assert domain(n).set_labels(sets) == [label]
    assert domain(n).set_loss(sets).tolist() == pytest.approx([loss])


def test_a_set_with_the_missing_value_is_anything():
    sets = CodeSets(pl.Series([0, 2]).to_numpy(), pl.Series([0, 3]).to_numpy())
    assert domain(8, missing=True).set_labels(sets) == ["*"]


def test_all_but_some_values_is_read_back():
    cell = parse("all but {Bern, Thun}", "text")
    assert [covers(cell, value) for value in ("Basel", "Bern", None)] == [True, False, False]
    assert reads_like_label("all but {Bern}")
    assert not reads_like_label("all but Bern")


def test_different_sets_are_told_apart():
    draw = random.Random(3)
    lists = [sorted(draw.sample(range(9), draw.randint(1, 4))) for _ in range(200)]
    owners = list(itertools.chain.from_iterable([i] * len(members) for i, members in enumerate(lists)))
    sets = CodeSets.of(
        pl.Series(owners).to_numpy(), pl.Series(list(itertools.chain.from_iterable(lists))).to_numpy(), len(lists)
    )
    distinct, place = sets.distinct()
    assert sets.lists() == lists
    assert [distinct.lists()[p] for p in place.tolist()] == lists
    assert len(distinct) == len({tuple(members) for members in lists})


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("region", range(1, 8), True),
        ("Kanton", range(1, 27), True),
        ("dept", range(1, 16), True),
        ("birthCountry", [4, 8, 156], True),
        ("q17", [1, 2, 3, 4, 9], True),
        ("q18", [0, 1, 97, 98, 99], True),
        ("age", range(18, 90), False),
        ("children", range(7), False),
        ("score", [1, 2, 3, 4, 5], False),
        ("schooling", [1, 2, 3, 9, 12], False),
        ("region", range(1000), False),
    ],
)
def test_codes_are_recognised(name, values, expected):
    assert are_codes(pl.Series(name, list(values)), ColumnType.INTEGER) is expected


def test_whole_numbers_are_intervals_where_the_policy_says_so():
    frame = people()
    chosen = policy()
    columns = {**chosen.columns, "region": chosen.columns["region"].model_copy(update={"type": ColumnType.INTEGER})}
    cells = tc.anonymize(frame, chosen.model_copy(update={"columns": columns})).frame["region"].cast(pl.String)
    assert not cells.str.contains(r"[{]").any()
    assert tc.anonymize(frame, chosen).frame["region"].cast(pl.String).str.contains(r"[\[]").sum() == 0


def test_full_domain_searches_make_no_ranges_of_codes():
    cells = tc.anonymize(people(), policy("flash")).frame["region"].cast(pl.String)
    assert set(cells) <= {"*", *map(str, range(1, 8))}


def test_rows_that_were_exchanged_publish_the_values_of_their_class():
    frame = people().with_columns(pay=pl.int_range(400) % 90)
    chosen = policy("t-msn").model_copy(
        update={
            "columns": tc.roles(quasi=["city", "region", "age"], sensitive=["pay"]),
            "goals": [tc.KAnonymity(k=4), tc.LDiversity(l=2, sensitive="pay")],
        }
    )
    release = tc.anonymize(frame, chosen).frame
    assert_values_of_records(frame, release)
