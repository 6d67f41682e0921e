"""The order of published rows says nothing: not who belongs together, not where a row stood in the input."""

from collections import Counter
from itertools import product

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from engine_tables import K, L, people, policy_of
from tablecloak import pipeline
from tablecloak.engines.disk import engine as duck
from tablecloak.engines.disk.external_sort import Sorter
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.errors import GoalNotMet
from tablecloak.policy.load import parse_policy
from tablecloak.registry import known
from tablecloak.rng import child

pytestmark = pytest.mark.slow

GROUPS = ("anatomy", "mbf", "permutation", "pm-hca", "slicing", "swapping", "t-msn", "v-cold", "v-klt")
PAIRS = ("ring",)
OTHERS = ("local", "duckdb-spilled", "duckdb")


def spilled(monkeypatch):
    """DuckDB with memory for everything but the sorting of a release."""
    monkeypatch.setattr(duck, "SORTED_SHARE", 1e-5)
    return "duckdb"


@pytest.fixture(params=[*OTHERS, "spark"])
def any_engine(request, monkeypatch):
    name, _, how = request.param.partition("-")
    if name == "spark":
        return request.getfixturevalue("spark")
    return spilled(monkeypatch) if how else name


def permuted(frame, seed=5):
    return frame[np.random.default_rng(seed).permutation(frame.height)]


def released(folder, frame, engine="local", *, algorithm="mondrian", goals=(K,), output="release.csv", extra=""):
    """The path of the release of a frame."""
    frame.write_parquet(folder / "people.parquet")
    text = policy_of(algorithm, list(goals), source="people.parquet", output=output, extra=extra)
    policy = parse_policy(text, name="policy.yaml", base=folder)
    report = pipeline.run(policy, engine=engine, force=True)
    assert report.verification.covers in (True, None)
    return policy.output_path


# What happened with 0.1.0 ---------------------------------------------------------------------------------------------


def men(n=200, rows=8):
    """Men with several rows each, one after the other, as an export of visits has them."""
    random = np.random.default_rng(1)
    who = np.repeat(np.arange(n), rows)
    return pl.DataFrame(
        {"who": who, "age": random.integers(20, 80, n)[who], "town": random.integers(0, 9, n)[who],
         "visit": random.integers(0, 10**6, n * rows)}
    )  # fmt: skip


def found_again(release, before, rows=8):
    """Men whose visits stand together in the release, at the place where they stood."""
    shown = release["visit"].to_list()
    blocks = [Counter(shown[i : i + rows]) for i in range(0, len(shown), rows)]
    meant = before["visit"].to_list()
    return sum(block == Counter(meant[i * rows : (i + 1) * rows]) for i, block in enumerate(blocks))


@pytest.mark.parametrize("order", ["content", "random"])
def test_rows_of_one_man_do_not_stand_together(order):
    before = men()
    columns = {"who": "person", "age": "quasi", "town": "quasi", "visit": "keep"}
    policy = tc.Policy(columns=columns, goals=[tc.KAnonymity(k=5)], output={"path": "out.csv", "order": order})
    assert found_again(tc.anonymize(before, policy).frame, before) == 0
    unnamed = policy.model_copy(update={"output": None})
    assert found_again(tc.anonymize(before, unnamed).frame, before) == 0


def test_kept_order_shows_every_man():
    before = men()
    columns = {"who": "person", "age": "quasi", "town": "quasi", "visit": "keep"}
    policy = tc.Policy(columns=columns, goals=[tc.KAnonymity(k=5)], output={"path": "out.csv", "order": "keep"})
    assert found_again(tc.anonymize(before, policy).frame, before) == 200


@pytest.mark.fresh_secrets
def test_a_random_order_is_not_undone_by_the_seed():
    before = pl.DataFrame({"age": [30, 40] * 100, "note": np.arange(200)})
    policy = tc.Policy(
        columns={"age": "quasi", "note": "keep"}, goals=[tc.KAnonymity(k=2)], seed=0,
        output={"path": "out.csv", "order": "random"},
    )  # fmt: skip
    one, other = (tc.anonymize(before, policy).frame["note"].to_numpy() for _ in range(2))
    assert sorted(one) == sorted(other) == list(range(200))
    assert not np.array_equal(one, other)
    for guessed in (np.arange(200), one):  # as 0.1.0 drew it, from the seed that a certificate shows
        assert (child(0, "shuffle").permutation(guessed) == other).sum() < 20


# One order for one content --------------------------------------------------------------------------------------------


def slow_order(rows, quasi):
    """Rows as plain Python sorts them: labels first, missing cells before all others."""

    def key(row):
        names = [*(n for n in row if n in quasi), *(n for n in row if n not in quasi)]
        return [(row[n] is not None, row[n] if row[n] is not None else 0) for n in names]

    return sorted(rows, key=key)


CASES = ["mondrian", "{kind: mondrian, suppression_limit: 0.1}", "{kind: mondrian, mode: relaxed}"]
ORDERS = ["content", "random"]


@pytest.mark.parametrize(
    ("any_engine", "case", "order"),
    # Spark refuses the last case, and sorts in either order whatever the case is.
    [*product(OTHERS, CASES, ORDERS), *(("spark", *both) for both in zip(CASES, ORDERS, strict=False))],
    indirect=["any_engine"],
)
def test_permuted_inputs_give_the_same_bytes(case, order, any_engine, tmp_path):
    frame = people().with_columns(cost=pl.Series([0.0, -0.0, None, 1.5] * 100))
    extra, goals = f", order: {order}, suppressed: star", [K, L]
    kinds = [released(tmp_path, f, any_engine, algorithm=case, goals=goals, extra=extra).read_bytes()
             for f in (frame, permuted(frame))]  # fmt: skip
    assert kinds[0] == kinds[1]
    assert kinds[0] == released(tmp_path, frame, "local", algorithm=case, goals=goals, extra=extra).read_bytes()


def test_rows_are_sorted_by_what_is_published(any_engine, tmp_path):
    path = released(tmp_path, people(), any_engine, output="release.parquet")
    rows = pl.read_parquet(path).with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)).to_dicts()
    assert rows == slow_order(rows, ("age", "born", "town", "weight"))


@pytest.mark.parametrize("engine", ["local", "duckdb"])
def test_a_folder_of_files_is_sorted_through(engine, tmp_path):
    folder = released(tmp_path, people(), engine, output="parts/", extra=", format: csv, rows_per_file: 64")
    files = sorted(folder.iterdir())
    assert [f.name for f in files] == [f"part-{i:05d}.csv" for i in range(len(files))]
    one = released(tmp_path, people(), "local").read_text(encoding="utf-8").splitlines()[1:]
    assert [line for f in files for line in f.read_text(encoding="utf-8").splitlines()[1:]] == one


def test_no_category_tells_of_rows_that_were_left_out(tmp_path):
    notes = pl.Series(["only-hers", *["n1", "n2"] * 20], dtype=pl.Categorical)
    frame = pl.DataFrame({"age": [None, *[30, 40] * 20], "note": notes})
    columns = {"age": "quasi", "note": "keep"}
    policy = tc.Policy(columns=columns, goals=[tc.KAnonymity(k=4)], missing="drop")
    release = tc.anonymize(frame, policy)
    release.write(tmp_path / "release.parquet")
    assert set(release.frame["note"].cast(pl.String)) == {"n1", "n2"}
    assert release.frame["note"].dtype == pl.Enum(["n1", "n2"])
    assert b"only-hers" not in (tmp_path / "release.parquet").read_bytes()


@pytest.mark.parametrize("name", sorted(set(known("algorithms")) - {"apriori", "levels", "univariate"}))
def test_no_algorithm_looks_at_the_order_of_rows(name):
    random = np.random.default_rng(3)
    n = 120
    frame = pl.DataFrame(
        {"age": random.integers(20, 30, n), "zip": [f"{z:03d}" for z in random.integers(0, 6, n)],
         "sex": random.choice(["m", "f"], n), "weight": random.integers(40, 44, n),
         "dx": random.choice(list("abcdef"), n), "note": random.integers(0, 5, n)}
    )  # fmt: skip
    goal = (
        {"model": "l-diversity", "l": 2}
        if name in GROUPS
        else {"model": "kk-anonymity" if name in PAIRS else "k-anonymity", "k": 4}
    )
    columns = dict(tc.roles(quasi=["age", "zip", "sex", "weight"], sensitive=["dx"], keep=["note"]))
    if name in ("mbf", "pm-hca"):
        columns["dx"] = {
            "role": "sensitive",
            "hierarchy": {"kind": "tree", "tree": {"A": list("abc"), "B": list("def")}},
        }
    if name == "t-msn":
        columns |= {"dx": "keep", "note": "sensitive"}
    policy = tc.Policy(columns=columns, goals=[goal], algorithm={"kind": name}, seed=3)
    releases = [tc.anonymize(permuted(frame, seed), policy) for seed in range(3)]
    assert all(r.frame.cast(pl.String).equals(releases[0].frame.cast(pl.String)) for r in releases)
    if releases[0].side is not None:
        assert all(r.side.cast(pl.String).equals(releases[0].side.cast(pl.String)) for r in releases)


# What goes wrong after the order was given up is found ----------------------------------------------------------------


def test_cells_that_are_exchanged_between_sort_and_file_are_found(any_engine, tmp_path, monkeypatch):
    kind = LocalEngine if any_engine == "local" else duck.DuckEngine if any_engine == "duckdb" else type(any_engine)
    write = kind.write

    def writes_wrongly(self, table, place, **how):
        write(self, table, place, **how)
        lines = place.read_text(encoding="utf-8").splitlines()
        head, first, last = lines[0], lines[1], lines[-1]
        at = head.split(",").index("illness")
        assert first.split(",")[:1] != last.split(",")[:1] or at
        place.write_text("\n".join([head, last, *lines[2:-1], last]) + "\n", encoding="utf-8")  # one row twice

    monkeypatch.setattr(kind, "write", writes_wrongly)
    with pytest.raises(GoalNotMet):
        released(tmp_path, people(), any_engine)
    assert not (tmp_path / "release.csv").exists()


def test_a_sort_that_publishes_one_row_twice_is_found(tmp_path, monkeypatch):
    sort = Sorter._sorted

    def sorts_wrongly(self, *arguments):
        for frame in sort(self, *arguments):
            yield frame[[1, *range(1, frame.height)]]  # row and key of its original

    monkeypatch.setattr(Sorter, "_sorted", sorts_wrongly)
    with pytest.raises(GoalNotMet):
        released(tmp_path, people(), "duckdb")
    assert not (tmp_path / "release.csv").exists()
