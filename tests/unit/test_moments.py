"""What transforms do to means, deviations, totals and correlations: counted, told to owners, told to everybody."""

from __future__ import annotations

import json
import math
import random
import re
import statistics
from collections import Counter
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from tablecloak.measure.perturbed import changed_moments
from tablecloak.release.facts.public import public_moments
from tablecloak.release.moments import round_up, steps_of
from tablecloak.stats.moments import MomentSums, changes_of

N = 6000


def people(n=N, seed=1):
    draw = random.Random(seed)
    ages = [draw.randint(18, 94) for _ in range(n)]
    return pl.DataFrame({
        "age": ages,
        "sex": [draw.choice("fm") for _ in range(n)],
        "cost": [round(draw.uniform(100, 900) + 20 * age, 2) for age in ages],
        "visit": [date(2024, 1, 1) + timedelta(days=draw.randrange(700)) for _ in range(n)],
        "stay": [draw.choice([None, 1, 2, 3, 8]) for _ in range(n)],
    })  # fmt: skip


def policy(**columns):
    usual = {"age": {"role": "quasi", "transform": {"kind": "round", "base": 10}}, "sex": "quasi"}
    return tc.Policy(columns={**usual, **columns}, goals=[tc.KAnonymity(k=3)])


NOISY = {
    "cost": {"role": "keep", "transform": {"kind": "noise", "scale": 200}},
    "visit": {"role": "keep", "transform": {"kind": "truncate", "to": "month"}},
    "stay": "keep",
}


def run_to_files(frame, folder, chosen):
    frame.write_csv(folder / "people.csv")
    files = {"path": str(folder / "out.csv"), "report": str(folder / "r.html"), "certificate": str(folder / "c.json")}
    update = {"input": str(folder / "people.csv"), "output": files}
    return tc.run(
        tc.Policy.model_validate({**chosen.model_dump(exclude_unset=True, by_alias=True), **update}), force=True
    )


# --- counting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_merged", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_sums_in_batches_are_those_of_plain_python(offset, is_merged):
    for seed in range(20):
        draw = random.Random(seed)
        n = draw.randrange(2, 60)
        cells = {name: [None if draw.random() < 0.2 else offset + draw.gauss(5, 2) for _ in range(n)] for name in "abc"}
        frame, sums = pl.DataFrame(cells, schema=dict.fromkeys("abc", pl.Float64)), MomentSums(3)
        for start in range(0, n, 7):
            part = MomentSums(3) if is_merged else sums
            part.add(frame.slice(start, 7), ["a", "b", "c"])
            if is_merged:
                sums.merge(part)
        for i, name in enumerate("abc"):
            present = [value for value in cells[name] if value is not None]
            found = sums.moments(i)
            assert found.n == len(present)
            assert found.total == pytest.approx(math.fsum(present), rel=1e-12)
            if len(present) > 1:
                assert found.deviation == pytest.approx(statistics.stdev(present), rel=1e-7)
                assert (found.low, found.high) == (min(present), max(present))
        both = [(x, y) for x, y in zip(cells["a"], cells["c"], strict=True) if x is not None and y is not None]
        if len(both) > 2:
            expected = statistics.correlation(*zip(*both, strict=True))
            assert sums.correlation(0, 2) == pytest.approx(expected, abs=1e-6)


def test_a_column_of_one_value_has_no_correlation():
    sums = MomentSums(2)
    sums.add(pl.DataFrame({"a": [0.1] * 9, "b": list(range(9))}), ["a", "b"])
    assert sums.correlation(0, 1) is None
    assert sums.moments(0).variance == 0


def test_only_correlations_with_a_changed_column_are_told():
    sums = MomentSums(3)
    assert list(changes_of(["a", "b", "c"], sums, sums, ["b"]).correlations) == [("a", "b"), ("b", "c")]


# --- the owner -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_file", [False, True])
def test_a_run_tells_the_moments_of_what_it_changed(tmp_path, as_file):
    frame = people(500)
    if as_file:
        report = run_to_files(frame, tmp_path, policy(**NOISY)).to_dict()
        release = pl.read_csv(tmp_path / "out.csv")
    else:
        made = tc.anonymize(frame, policy(**NOISY))
        report, release = made.report.to_dict(), made.frame
    assert report["suppressed"] == 0  # else the file would hold fewer
    columns = {column["column"]: column for column in report["moments"]["columns"]}
    assert list(columns) == ["age", "cost"]  # months of visits are no days any more
    for side, cells in (("before", frame["cost"]), ("after", release["cost"])):
        told = columns["cost"][side]
        assert told["n"] == 500
        assert told["mean"] == pytest.approx(statistics.mean(cells))
        assert told["deviation"] == pytest.approx(statistics.stdev(cells))
        assert told["total"] == pytest.approx(math.fsum(cells))
    assert columns["age"]["after"]["mean"] == pytest.approx(
        statistics.mean([math.floor(a / 10 + 0.5) * 10 for a in frame["age"]]), abs=0.6
    )
    pairs = {tuple(pair["columns"]): pair for pair in report["moments"]["correlations"]}
    assert set(pairs) == {("age", "cost"), ("age", "stay"), ("cost", "stay")}
    was = statistics.correlation(frame["age"], frame["cost"])
    assert pairs["age", "cost"]["before"] == pytest.approx(was)
    rows = [(c, s) for c, s in zip(release["cost"], release["stay"], strict=True) if s is not None]
    assert pairs["cost", "stay"]["after"] == pytest.approx(statistics.correlation(*zip(*rows, strict=True)))
    largest = max(pairs.values(), key=lambda pair: abs(pair["after"] - pair["before"]))
    assert report["moments"]["largest_change"] == largest


def test_dates_have_a_mean_and_a_deviation_in_days():
    frame = people(300)
    chosen = policy(visit={"role": "keep", "transform": {"kind": "noise", "scale": 5}})
    (_, visit) = tc.anonymize(frame, chosen).report.to_dict()["moments"]["columns"]
    days = [(day - date(1970, 1, 1)).days for day in frame["visit"]]
    assert visit["before"]["mean"] == (date(1970, 1, 1) + timedelta(days=math.floor(statistics.mean(days)))).isoformat()
    assert visit["before"]["deviation"] == pytest.approx(statistics.stdev(days))
    assert visit["before"]["total"] is visit["steps"]["total"] is None


def test_covers_and_pseudonyms_have_no_moments():
    chosen = policy(
        age="quasi", cost={"role": "keep", "transform": "counter"}, stay={"role": "keep", "transform": "null"}
    )
    assert "moments" not in tc.anonymize(people(60), chosen).report.to_dict()


def test_a_comparison_tells_what_differs_and_what_the_policy_changes():
    frame = people(400)
    chosen = policy(age="quasi", cost=NOISY["cost"], stay={"role": "keep", "transform": "shuffle"}, visit="keep")
    release = tc.anonymize(frame, chosen).frame
    moments = tc.compare(frame, release, policy=chosen).to_dict()["moments"]
    columns = {column["column"]: column for column in moments["columns"]}
    assert set(columns) == {"cost", "stay"}
    assert columns["stay"]["before"]["mean"] == pytest.approx(columns["stay"]["after"]["mean"])
    assert columns["cost"]["after"]["total"] == pytest.approx(math.fsum(release["cost"]))
    assert [c["column"] for c in tc.compare(frame, release, quasi=["age", "sex"]).to_dict()["moments"]["columns"]] == [
        "cost"
    ]
    assert "moments" not in tc.compare(frame, frame, quasi=["age", "sex"]).to_dict()


# --- everybody -------------------------------------------------------------------------------------------------------


def test_the_page_tells_rounded_moments_and_the_certificate_none(tmp_path):
    frame = people()
    report = run_to_files(frame, tmp_path, policy(**NOISY)).to_dict()
    page = re.sub(r"<[^>]+>", " ", (tmp_path / "r.html").read_text())
    assert "Statistics of changed columns" in page
    (_, cost) = report["moments"]["columns"]
    assert cost["steps"]["mean"] == 50  # a range of some 3,000, of which 1 %
    exact = statistics.mean(frame["cost"])
    told = round(exact / 50) * 50
    assert f"{told:,}" in page
    for text in (
        f"{exact:,.0f}",
        f"{exact:,.1f}",
        f"{math.fsum(frame['cost']):,.0f}",
        f"{statistics.stdev(frame['cost']):.1f}",
    ):
        assert text not in page
    assert "moments" not in json.loads((tmp_path / "c.json").read_text())


def test_small_tables_tell_everybody_nothing(tmp_path):
    run_to_files(people(150), tmp_path, policy(**NOISY))
    assert "too few records to tell everybody what became of age and cost" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("n", [1000, 6000])
def test_most_guesses_at_a_cell_give_the_same_figures(n):
    """Whoever knows every other record tries values for the last one; the release is the same for all of them."""
    frame = people(n)
    skewed = np.random.default_rng(3).lognormal(8, 1, n).round(2)
    frame = frame.with_columns(pl.Series("cost", skewed))
    after = frame.with_columns(pl.col("cost").clip(upper_bound=5000), (pl.col("age") // 10) * 10)
    draw = random.Random(4)
    own = public_moments(changed_moments(frame, after).to_dict())
    alike = 0
    for _ in range(100):
        row, name = draw.randrange(n), draw.choice(["age", "cost"])
        other = frame[name][draw.randrange(n)]
        is_it = pl.int_range(pl.len()) == row
        guess = frame.with_columns(pl.when(is_it).then(pl.lit(other)).otherwise(pl.col(name)).alias(name))
        alike += public_moments(changed_moments(guess, after).to_dict()) == own
    assert alike >= 90
    assert own["columns"][0]["before"]["mean"] is not None  # the test would notice


def test_what_50_records_make_is_a_step():
    """Moving 50 cells from one end to the other moves mean, total and deviation by about a step, not by several."""
    cells = [float(x) for x in np.linspace(0, 1, N)]
    moved = [1.0 if i < 50 else cell for i, cell in enumerate(cells)]
    sums = [MomentSums(1), MomentSums(1)]
    for each, values in zip(sums, (cells, moved), strict=True):
        each.add(pl.DataFrame({"x": values}), ["x"])
    old, new = (each.moments(0) for each in sums)
    steps = steps_of(old, old)
    assert 0 < new.mean - old.mean <= steps["mean"] == round_up(0.01)
    assert abs(new.total - old.total) <= steps["total"]
    assert abs(new.deviation - old.deviation) <= steps["deviation"]


# --- risk before -----------------------------------------------------------------------------------------------------


def share_alone(rows):
    counts = Counter(rows)
    return sum(counts[row] == 1 for row in rows) / len(rows)


def test_risk_before_is_that_of_the_columns_as_they_were(tmp_path):
    frame = people(400)
    chosen = policy(cost={"role": "keep", "transform": {"kind": "round", "base": 1000}})
    report = run_to_files(frame, tmp_path, chosen)
    risk = report.to_dict()["risk"]
    assert risk["quasi"]["before"]["unique_share"] == share_alone(frame.select("age", "sex").rows())
    assert risk["published"]["before"]["unique_share"] == share_alone(frame.select("age", "sex", "cost").rows())
    coarse = frame.with_columns(pl.col("age") // 10)
    assert share_alone(frame.select("age", "sex").rows()) > share_alone(coarse.select("age", "sex").rows())
    facts = report.subject.facts
    assert facts.before.unique_share == share_alone(frame.select("age", "sex").rows())
    assert facts.before.average == len(set(frame.select("age", "sex").rows())) / 400
    assert list(pl.read_csv(tmp_path / "out.csv").columns) == ["age", "sex", "cost"]


def test_explore_tells_the_same_risk_before():
    frame = people(400)
    before = tc.explore(frame, policy(), k=[2, 3]).before
    assert before.unique_share == share_alone(frame.select("age", "sex").rows())


def test_rows_that_are_left_out_for_empty_cells_are_not_counted():
    frame = people(200).with_columns(pl.when(pl.int_range(pl.len()) % 4 > 0).then("sex").alias("sex"))
    chosen = {**policy().model_dump(exclude_unset=True, by_alias=True), "missing": "drop"}
    risk = tc.anonymize(frame, tc.Policy.model_validate(chosen)).report.to_dict()["risk"]
    kept = frame.drop_nulls("sex")
    assert risk["quasi"]["before"]["records"] == 150
    assert risk["quasi"]["before"]["unique_share"] == share_alone(kept.select("age", "sex").rows())


# --- keys that nobody keeps ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["aes-siv", "ff1"])
def test_a_key_that_is_thrown_away_is_told(kind, monkeypatch, tmp_path):
    frame = people(60).with_columns(pl.int_range(1_000_000, 1_000_060).cast(pl.String).alias("card"))
    chosen = policy(card={"role": "identifier", "type": "text", "transform": kind})

    def warnings(one):
        (card,) = [m for m in tc.anonymize(frame, one).report.to_dict()["transforms"] if m["column"] == "card"]
        return " ".join(card.get("warnings", ()))

    assert "nobody can restore it later; name one: columns.card.transform.key: file:PATH" in warnings(chosen)
    monkeypatch.setenv("HIDING", "5f" * 8 + "0123456789abcdef" * 3)
    named = {**chosen.model_dump(exclude_unset=True, by_alias=True), "secret": {"env": "HIDING"}}
    assert warnings(tc.Policy.model_validate(named)) == ""
