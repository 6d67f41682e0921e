"""Models in persons, from file to file on every engine: releases are read back and judged by the oracle."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import clusters
import oracle_persons
import tablecloak as tc
from tablecloak.pipeline import check, verify

pytestmark = pytest.mark.slow

QUASI = ["age", "town"]
GOALS = [
    {"model": "alpha-k-anonymity", "alpha": 0.6, "k": 3, "sensitive": "illness"},
    {"model": "l-diversity", "l": 3, "sensitive": "illness"},
    {"model": "l-diversity", "l": 2.5, "variant": "entropy", "sensitive": "illness"},
    {"model": "l-diversity", "l": 2, "c": 4, "variant": "recursive", "sensitive": "illness"},
    {"model": "t-closeness", "t": 0.4, "sensitive": "illness"},
    {"model": "beta-likeness", "beta": 2, "sensitive": "illness"},
    {"model": "p-sensitive-k-anonymity", "p": 3, "k": 4, "sensitive": "illness"},
    {"model": "multi-l-diversity", "l": 2, "mode": "per_sa"},
    {"model": "confidence-bounding", "s": "i1", "h": 0.7, "sensitive": "illness"},
    {"model": "average-risk", "limit": 0.2},
    {"model": "sample-uniqueness", "limit": 0.05},
]


def visits(n=360, n_persons=120, seed=0):
    """Visits of patients: town and age change little, illnesses repeat, some are not recorded."""
    random = np.random.default_rng(seed)
    who = random.integers(0, n_persons, n)
    age, usual = random.integers(18, 80, n_persons), random.integers(0, 5, n_persons)
    illness = np.where(random.random(n) < 0.4, usual[who], random.integers(0, 5, n))
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "who": [f"p{w}" for w in who],
            "age": age[who] + random.integers(0, 2, n),
            "town": [f"t{t}" for t in random.integers(0, 4, n)],
            "illness": [None if random.random() < 0.05 else f"i{v}" for v in illness],
            "drug": [f"d{v}" for v in random.integers(0, 3, n)],
        }
    )


def released(folder, goal, engine, algorithm="mondrian", extra=None, *, others=()):
    roles = {
        "id": "keep",
        "who": "person",
        **dict.fromkeys(QUASI, "quasi"),
        "illness": "sensitive",
        "drug": "sensitive",
    }
    policy = tc.Policy(
        columns={name: {"role": role} for name, role in roles.items()},
        input={"path": str(folder / "visits.csv")},
        output={"path": str(folder / f"{engine if isinstance(engine, str) else 'spark'}.csv"), **(extra or {})},
        goals=[{"model": "k-anonymity", "k": 2}, goal, *others],
        algorithm={"kind": algorithm} if isinstance(algorithm, str) else algorithm,
    )
    report = tc.run(policy, force=True, engine=engine)
    return report, pl.read_csv(policy.output.path, infer_schema=False)


def judged(frame, published, goal):
    """(level, holds) of every condition: the worst over the classes of what was published."""
    original = {row["id"]: row for row in frame.iter_rows(named=True)}
    rows = [
        {"q": tuple(row[q] for q in QUASI), "who": original[int(row["id"])]["who"],
         **{s: row[s] or None for s in ("illness", "drug")}}
        for row in published.iter_rows(named=True)
        if row["id"] not in (None, "", "*")
    ]  # fmt: skip
    table = oracle_persons.Table(rows, person="who")
    if goal["model"] in oracle_persons.OF_TABLE:
        return [oracle_persons.OF_TABLE[goal["model"]](goal, table)]
    names = [goal["sensitive"]] if "sensitive" in goal else ["illness", "drug"]
    original_table = oracle_persons.Table(list(original.values()), person="who")
    return [oracle_persons.judge(goal, group, original_table, names) for group in table.classes().values()]


def agrees(verdict, frame, published, goal):
    """What a run says of a goal is what the oracle finds; distances are those from the original table."""
    classes = judged(frame, published, goal)
    assert all(holds for conditions in classes for _, holds in conditions)
    assert verdict.model == goal["model"]
    assert verdict.holds
    levels = [float(conditions[0][0]) for conditions in classes]
    least_is_worst = goal["model"].startswith(("l-", "p-", "multi")) and "c" not in goal
    assert verdict.achieved == pytest.approx(min(levels) if least_is_worst else max(levels))


def of_goal(report):
    """The verdict on the goal that is asked beside k-anonymity."""
    _, verdict = report.verification.verdicts
    return verdict


@pytest.mark.parametrize("name", ["local", "duckdb"])
@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: "-".join(str(v) for v in list(goal.values())[:4]))
def test_what_is_published_holds_for_persons(goal, name, tmp_path):
    frame = visits()
    frame.write_csv(tmp_path / "visits.csv")
    report, published = released(tmp_path, goal, name)
    assert published.height == frame.height
    agrees(of_goal(report), frame, published, goal)
    assert report.verification.n_classes > 1


def test_all_goals_at_once_hold_for_persons_on_spark(spark, tmp_path):
    frame = visits()
    frame.write_csv(tmp_path / "visits.csv")
    report, published = released(tmp_path, GOALS[0], spark, others=GOALS[1:])
    assert published.height == frame.height
    for goal, verdict in zip(GOALS, report.verification.verdicts[1:], strict=True):
        agrees(verdict, frame, published, goal)
    assert report.verification.n_classes > 1


@pytest.mark.parametrize("name", ["local", "duckdb"])
@pytest.mark.parametrize("goal", GOALS[:6], ids=lambda goal: "-".join(str(v) for v in list(goal.values())[:3]))
def test_stars_for_suppressed_rows_change_nothing_about_persons(goal, name, tmp_path):
    frame = visits()
    frame.write_csv(tmp_path / "visits.csv")
    limited = {"kind": "mondrian", "suppression_limit": 0.2}
    report, published = released(tmp_path, goal, name, limited, {"suppressed": "star"})
    agrees(of_goal(report), frame, published, goal)


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: "-".join(str(v) for v in list(goal.values())[:4]))
def test_auto_keeps_the_promise_for_persons(goal, tmp_path):
    frame = visits(seed=3)
    frame.write_csv(tmp_path / "visits.csv")
    report, published = released(tmp_path, goal, "local", "auto")
    agrees(of_goal(report), frame, published, goal)


def test_where_nobody_has_two_rows_persons_are_rows(tmp_path):
    frame = visits().with_columns(who=pl.format("p{}", pl.col("id")))
    frame.write_csv(tmp_path / "visits.csv")
    for goal in GOALS[:4]:
        report, published = released(tmp_path, goal, "local", "auto")
        agrees(of_goal(report), frame, published, goal)


def test_ck_safety_refuses_persons_with_several_rows(tmp_path):
    visits().write_csv(tmp_path / "visits.csv")
    with pytest.raises(tc.IncompatibleChoice, match="persons have several records"):
        released(tmp_path, {"model": "ck-safety", "c": 0.9, "k": 1, "sensitive": "illness"}, "local")


def test_algorithms_that_unite_classes_refuse_what_a_union_may_break(tmp_path):
    visits().write_csv(tmp_path / "visits.csv")
    with pytest.raises(tc.IncompatibleChoice, match="where persons have several rows"):
        released(tmp_path, GOALS[0], "local", "k-member")
    released(tmp_path, GOALS[1], "local", "k-member")  # a union keeps everybody's values


def stays(n_persons=60, n_rows=3):
    """Every person comes three times, with one number that nobody else has; no row stands alone."""
    who = np.repeat(np.arange(n_persons), n_rows)
    return pl.DataFrame(
        {"who": [f"p{w}" for w in who], "age": 20 + who % 6, "number": 1000 + who, "ward": who % 2}
    ).sample(fraction=1.0, shuffle=True, seed=1)


def stays_policy(folder, name, algorithm="mondrian", **more):
    roles = {"who": "person", "age": "quasi", "number": "keep", "ward": "keep"}
    return tc.Policy(
        columns={n: {"role": role} for n, role in roles.items()},
        input={"path": str(folder / "stays.csv")},
        output={"path": str(folder / f"{name}.csv"), **more},
        goals=[{"model": "k-anonymity", "k": 4}],
        algorithm=algorithm,
    )


def numbers(handover):
    found = [f for f in handover.findings if f.kind == "standing-alone"]
    return [(f.column, f.count, f.share) for f in found], handover.risk()


@pytest.mark.parametrize("name", ["local", "duckdb", pytest.param("spark", marks=clusters.ON_SPARK)])
def test_persons_whose_records_look_like_nobody_elses_stand_alone(name, tmp_path, request):
    stays().write_csv(tmp_path / "stays.csv")
    policy = stays_policy(tmp_path, name)
    engine = request.getfixturevalue("spark") if name == "spark" else name
    report = tc.run(policy, engine=engine)
    found, risk = numbers(report.verification.handover)
    assert found == [("number", 60, 1.0)]
    assert [f.what for f in report.verification.findings if f.column == "number"][-1].startswith("60 of 60 persons")
    assert risk["published"]["after"] == {
        "records": 60, "unique": 60, "unique_share": 1.0, "highest": 1.0, "average": 1.0, "classes": 60,
        "counted": "persons",
    }  # fmt: skip
    assert risk["published"]["before"] == risk["published"]["after"]
    assert risk["quasi"]["before"] == {
        "records": 60, "unique": 0, "unique_share": 0.0, "highest": 0.1, "average": 0.1, "classes": 6,
        "counted": "persons",
    }  # fmt: skip


def test_suppressed_rows_are_nobodys(tmp_path):
    extra = pl.DataFrame({"who": ["p99"] * 3, "age": [90] * 3, "number": [1] * 3, "ward": [0] * 3})
    pl.concat([stays(), extra]).write_csv(tmp_path / "stays.csv")
    risks = []
    for name in ("local", "duckdb"):
        limited = {"kind": "flash", "suppression_limit": 0.1}
        policy = stays_policy(tmp_path, name, limited, suppressed="star")
        report = tc.run(policy, engine=name)
        assert report.verification.n_suppressed == 3
        risks.append(numbers(report.verification.handover))
    assert risks[0] == risks[1]
    assert risks[0][1]["published"]["after"]["records"] == 60


def test_verify_counts_persons_where_the_original_says_whose_rows_they_are(tmp_path):
    stays().write_csv(tmp_path / "stays.csv")
    policy = stays_policy(tmp_path, "local")
    run = numbers(tc.run(policy).verification.handover)
    beside = verify(policy.output_place, policy, original=tmp_path / "stays.csv")
    assert numbers(beside.handover)[0] == run[0]
    assert numbers(beside.handover)[1]["published"]["after"] == run[1]["published"]["after"]
    alone = numbers(verify(policy.output_place, policy).handover)
    assert alone[0] == []
    assert alone[1]["published"]["after"]["counted"] == "records"
    (found,) = [f for f in check(policy).findings if f.kind == "standing-alone"]
    assert found.what.startswith("60 of 60 persons (100.0%) would stand alone on 'number'")
