"""What `ring` makes of (k,1)- and (k,k)-anonymity: held against a slow count of pairs, and against classes."""

from __future__ import annotations

import random

import polars as pl
import pytest

import tablecloak as tc

GOALS = ("one-k-anonymity", "k-one-anonymity", "kk-anonymity", "k-concealment")
CARE = {"nurse": "care", "doctor": "care", "cook": "craft", "baker": "craft", "smith": "craft"}


def table_of(seed: int) -> pl.DataFrame:
    r = random.Random(seed)
    n = r.randint(8, 60)
    ages = range(20, 20 + r.choice([3, 40]))
    return pl.DataFrame(
        {"age": r.choices(ages, k=n), "job": r.choices(list(CARE), [9, 1, 4, 1, 2], k=n), "row": range(n)}
    )


def policy_of(model: str, k: int, algorithm: str) -> tc.Policy:
    tree = {"care": ["nurse", "doctor"], "craft": ["cook", "baker", "smith"]}
    columns = {"age": "quasi", "job": {"role": "quasi", "hierarchy": {"kind": "tree", "tree": {"*": tree}}}}
    return tc.Policy(
        columns={**columns, "row": "keep"}, goals=[{"model": model, "k": k}], algorithm={"kind": algorithm}
    )


def covers(published: dict[str, object], original: dict[str, object]) -> bool:
    job, age = published["job"], str(published["age"])
    low, high = (int(part) for part in (age.strip("[]").split(", ") * 2)[:2]) if age[0] == "[" else (int(age), int(age))
    return job in ("*", original["job"], CARE[str(original["job"])]) and low <= int(str(original["age"])) <= high


@pytest.mark.parametrize("model", GOALS[:3])
@pytest.mark.parametrize("seed", range(10))
def test_rows_and_persons_have_as_many_counterparts_as_were_asked(model, seed):
    frame, k = table_of(seed), 2 + seed % 3
    release = tc.anonymize(frame, policy_of(model, k, "ring"))
    published, originals = release.frame.to_dicts(), frame.to_dicts()
    of_rows = [sum(covers(row, o) for o in originals) for row in published]
    of_persons = [sum(covers(row, o) for row in published) for o in originals]
    by_number = {o["row"]: o for o in originals}
    assert all(covers(row, by_number[row["row"]]) for row in published)
    assert model == "one-k-anonymity" or min(of_rows) >= k
    assert model == "k-one-anonymity" or min(of_persons) >= k


@pytest.mark.parametrize("model", GOALS)
@pytest.mark.parametrize("seed", range(10))
def test_it_never_loses_more_than_the_classes_of_auto(model, seed):
    frame, k = table_of(seed), 2 + seed % 3
    ring, classes = (
        tc.anonymize(frame, policy_of(goal, k, algorithm)).report.loss
        for goal, algorithm in ((model, "ring"), ("k-anonymity", "auto"))
    )
    assert ring <= classes + 1e-9
