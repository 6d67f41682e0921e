"""Report and certificate are public: whoever knows all other records learns little from their figures."""

from __future__ import annotations

import json
import re
from itertools import islice

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from effort import often
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.release.facts.public import floor_of, step_of
from tablecloak.release.recount import verify_with_facts
from tablecloak.values.cell_grammar import parse

pytestmark = pytest.mark.slow
N, K = 1000, 5
PAIRS, MOST_RUNS = often(20), often(60)
# Decided before anything was measured: so many pairs of tables have the same documents, byte by byte.
SHARE_ALIKE = 0.9
QUASI = {"age": "integer", "income": "float", "visits": "integer"}
ALGORITHMS = {
    "mondrian": {"kind": "mondrian"},
    "optimal": {"kind": "optimal", "suppression_limit": 0.1},
}
TREES = {
    "age": {"kind": "intervals", "width": 5},
    "income": {"kind": "intervals", "width": 10_000},
    "visits": {"kind": "intervals", "width": 2},
}


def people():
    rng = np.random.default_rng(11)
    age = rng.integers(18, 90, N)
    age[0] = 104  # nobody else is nearly as old
    return pl.DataFrame({
        "age": age, "income": np.round(rng.lognormal(10, 0.6, N), -1), "visits": rng.geometric(0.2, N),
        "illness": rng.choice(["flu", "gout", "acne", "burn"], N, p=[0.4, 0.3, 0.2, 0.1]),
    })  # fmt: skip


def policy(algorithm, **files):
    columns = {
        name: {"role": "quasi", **({"hierarchy": TREES[name]} if algorithm == "optimal" else {})} for name in QUASI
    }
    goals = [tc.KAnonymity(k=K), tc.TCloseness(t=0.5)]
    return tc.Policy(columns={**columns, "illness": "sensitive"}, goals=goals, algorithm=ALGORITHMS[algorithm], **files)


def documents(frame, folder, algorithm):
    """The rows of the release, and what report and certificate say but for what a time or the secret decides."""
    frame.write_csv(folder / "people.csv")
    output = {"path": str(folder / "out.csv"), "report": str(folder / "r.html"), "certificate": str(folder / "c.json")}
    tc.run(policy(algorithm, input=str(folder / "people.csv"), output=output), force=True)
    certificate = json.loads((folder / "c.json").read_text())
    for secret in ("created", "keyed"):
        certificate.pop(secret)
    page = re.sub(r"[\d.,]+ s\b|\d{4}-\d\d-\d\dT[\d:+]+|\b[0-9a-f]{64}\b", "", (folder / "r.html").read_text())
    return (folder / "out.csv").read_text(), json.dumps(certificate), page


def guesses(frame, algorithm, seed):
    """Tables in which one person has another of the values that their published cell allows, or any if suppressed."""
    rows = tc.anonymize(
        frame, policy(algorithm, output={"path": "out.csv", "order": "keep", "suppressed": "star"})
    ).frame
    rng = np.random.default_rng(seed)
    while True:
        name, row = str(rng.choice(list(QUASI))), int(rng.integers(N))
        cell = parse(str(rows[name][row]), QUASI[name])
        values = frame[name].unique()
        allowed = values if cell.kind == "any" else values.filter(values.is_between(cell.lo, cell.hi))
        value = allowed[int(rng.integers(len(allowed)))]
        if value != frame[name][row]:
            is_it = pl.int_range(pl.len()) == row
            yield frame.with_columns(pl.when(is_it).then(pl.lit(value)).otherwise(pl.col(name)).alias(name))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_most_guesses_at_a_hidden_cell_give_the_same_documents(algorithm, tmp_path):
    frame = people()
    release, *own = documents(frame, tmp_path, algorithm)
    found = (documents(table, tmp_path, algorithm) for table in guesses(frame, algorithm, 3))
    allowed = (told for rows, *told in islice(found, MOST_RUNS) if rows == release)
    alike = [told == own for told in islice(allowed, PAIRS)]
    assert len(alike) == PAIRS  # the test would notice
    assert sum(alike) >= SHARE_ALIKE * PAIRS, sum(alike)


def test_no_bar_of_the_original_stands_for_few_people():
    """One is much older than all others, one has a far larger income."""
    frame = people()
    release = tc.anonymize(frame, policy("mondrian"))
    _, facts, _ = verify_with_facts(LocalEngine(), table_of(release.frame), release._plan, release._originals)
    shown = [column.bins for column in (*facts.quasi, *facts.sensitive)]
    assert len(shown) == 4
    for bins in shown:
        assert min(bins.before) * N >= 50 - 1e-9  # a step of this table
        named = {word for label in bins.labels for word in re.findall(r"[\d,.]+", label)}
        assert not named & {f"{frame[name].max():,}" for name in QUASI}


@pytest.mark.parametrize(("n", "step", "floor"), [(30, 0.2, 6), (400, 0.2, 80), (1000, 0.05, 50), (10**6, 0.01, 10**4)])
def test_steps_are_those_of_many_records(n, step, floor):
    assert step_of(n) == step
    assert floor_of([tc.KAnonymity(k=5)], n) == floor
    assert floor_of([tc.KAnonymity(k=90)], n) == max(90, floor)
