"""Attacks on columns that transforms change, against slow ones that read the same definitions; and what runs make of
them."""

from __future__ import annotations

import hashlib
import json
import random
import statistics
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from pydantic import Field

import tablecloak as tc
from tablecloak import pipeline, registry
from tablecloak.attacks.base import run_attacks
from tablecloak.attacks.case import Attacker, Changed, How
from tablecloak.data.table import ColumnType
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.io.sources import Source
from tablecloak.measure.attack import attack
from tablecloak.policy.load import parse_policy
from tablecloak.progress import Timed
from tablecloak.release.attack_transforms import case_of_columns
from tablecloak.release.facts.public import _attack as public_attack
from tablecloak.release.prepare import read
from tablecloak.rng import Secret
from tablecloak.transforms.base import LINE, ByValue, Family, Transform, random_of, transform

pytestmark = pytest.mark.slow


def found(name, columns, **attacker):
    case = replace(case_of_columns(columns), attacker=Attacker(**attacker))
    (result,) = run_attacks(case, [name])
    assert result.finding is not None, result.reason
    return result.finding


def moved(seed, n=14, n_columns=2, missing=0.0):
    """Columns of whole numbers, and the same with some noise; some cells are missing in both."""
    draw = random.Random(seed)
    columns = []
    for i in range(n_columns):
        before = [None if draw.random() < missing else draw.randrange(30) for _ in range(n)]
        after = [None if x is None else x + draw.choice([-3, -1, 0, 0, 2, 5]) for x in before]
        columns.append(Changed(f"c{i}", How.PERTURBED, pl.Series(before, dtype=pl.Int64), pl.Series(after)))
    return columns


def cells(columns):
    return [(c.before.to_list(), c.after.to_list()) for c in columns]


# Against slow ones ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_distance_linkage_takes_the_nearest_row(seed):
    columns = moved(seed)
    n, chances = 14, []
    sigma = [statistics.pstdev(before) for before, _ in cells(columns)]
    for i in range(n):
        distance = [
            sum(abs(before[i] - after[j]) / s for (before, after), s in zip(cells(columns), sigma, strict=True))
            for j in range(n)
        ]
        near = [j for j in range(n) if distance[j] <= min(distance) + 1e-9]
        chances.append(1 / len(near) if i in near else 0)
    result = found("distance-linkage", columns)
    assert result.average == pytest.approx(sum(chances) / n)
    assert result.highest == pytest.approx(max(chances))
    assert result.n_victims == sum(c > 0.5 for c in chances)
    assert result.baseline == pytest.approx(1 / n)


def test_missing_cells_are_near_each_other_only():
    columns = [Changed("x", How.PERTURBED, pl.Series([1, None, None, 90]), pl.Series([2.0, None, None, 91.0]))]
    # two people have no value: each is one of two; the others are found
    assert found("distance-linkage", columns).average == pytest.approx((1 + 0.5 + 0.5 + 1) / 4)
    kept = [replace(columns[0], after=columns[0].before)]
    assert found("rank-linkage", kept).average == pytest.approx((1 + 0.5 + 0.5 + 1) / 4)


@pytest.mark.parametrize("seed", range(8))
def test_rank_linkage_keeps_rows_within_the_window_in_every_column(seed):
    columns = moved(seed, missing=0.1)

    def rank(value, published):
        if value is None:
            return None
        return (
            sum(y < value for y in published if y is not None) + sum(y <= value for y in published if y is not None) - 1
        ) / 2

    n, chances = 14, []
    ranks = [([rank(x, after) for x in before], [rank(y, after) for y in after]) for before, after in cells(columns)]
    windows = [max(abs(a - b) for a, b in zip(*pair, strict=True) if a is not None) for pair in ranks]
    for i in range(n):
        fits = [
            j
            for j in range(n)
            if all(
                (known[i] is None and shown[j] is None)
                or (known[i] is not None and shown[j] is not None and abs(known[i] - shown[j]) <= window)
                for (known, shown), window in zip(ranks, windows, strict=True)
            )
        ]
        chances.append(1 / len(fits) if i in fits else 0)
    result = found("rank-linkage", columns)
    assert result.average == pytest.approx(sum(chances) / n)
    assert result.n_victims == sum(c > 0.5 for c in chances)


def test_rank_linkage_on_files_in_order():
    """A worked one: neighbours in rank were exchanged, so the window is 1 in both columns."""
    original = pl.DataFrame({"a": [10, 20, 30, 40, 50, 60], "b": [3, 1, 2, 6, 4, 5], "key": list("uvwxyz")})
    release = original.with_columns(a=pl.Series([20, 10, 40, 30, 60, 50]), b=pl.Series([4, 2, 1, 5, 3, 6]))
    (result,) = attack(original, release, quasi=["key"], kinds=["rank-linkage"], with_before=False).after
    # ranks of people (0..5, b by value) and of rows; |difference| <= 1 in a: rows by published a
    a_person, a_row = [0, 1, 2, 3, 4, 5], [1, 0, 3, 2, 5, 4]
    b_person, b_row = [2, 0, 1, 5, 3, 4], [3, 1, 0, 4, 2, 5]
    chances = []
    for i in range(6):
        fits = [j for j in range(6) if abs(a_person[i] - a_row[j]) <= 1 and abs(b_person[i] - b_row[j]) <= 1]
        chances.append(1 / len(fits))
    assert result.finding.average == pytest.approx(sum(chances) / 6)
    assert result.finding.average > 0.5


@pytest.mark.parametrize("seed", range(4))
def test_probabilistic_linkage_weighs_which_columns_agree(seed):
    """With the weights that expectation maximisation finds, written out for two columns and four patterns."""
    columns = moved(seed, n=30)
    n = 30
    agrees = []
    for before, after in cells(columns):
        sigma = statistics.pstdev(before)
        reach = max(0.05, (sum((a - b) ** 2 for a, b in zip(before, after, strict=True)) / n) ** 0.5 / sigma)
        agrees.append([[abs(x - y) / sigma <= reach + 1e-12 for y in after] for x in before])
    pattern = [[agrees[0][i][j] + 2 * agrees[1][i][j] for j in range(n)] for i in range(n)]
    counts = [sum(row.count(p) for row in pattern) for p in range(4)]
    total = n * n
    u = [sum(counts[p] for p in range(4) if p >> c & 1) / total for c in (0, 1)]
    m, share = [0.9, 0.9], n / total

    def likely(rates, p):
        return (rates[0] if p & 1 else 1 - rates[0]) * (rates[1] if p & 2 else 1 - rates[1])

    for _ in range(100):
        own = [share * likely(m, p) for p in range(4)]
        other = [(1 - share) * likely(u, p) for p in range(4)]
        belief = [own[p] / (own[p] + other[p]) * counts[p] for p in range(4)]
        rest = [counts[p] - belief[p] for p in range(4)]
        m = [min(max(sum(belief[p] for p in range(4) if p >> c & 1) / sum(belief), 1e-6), 1 - 1e-6) for c in (0, 1)]
        u = [min(max(sum(rest[p] for p in range(4) if p >> c & 1) / sum(rest), 1e-6), 1 - 1e-6) for c in (0, 1)]
    m = [max(a, b) for a, b in zip(m, u, strict=True)]
    weight = [np.log(likely(m, p) / likely(u, p)) for p in range(4)]
    chances = []
    for i in range(n):
        best = max(weight[p] for p in pattern[i])
        near = [j for j in range(n) if weight[pattern[i][j]] >= best - 1e-9]
        chances.append(1 / len(near) if i in near else 0)
    assert found("probabilistic-linkage", columns).average == pytest.approx(sum(chances) / n)


def test_noise_of_columns_that_go_together_is_filtered_beyond_what_each_gives():
    rng = np.random.default_rng(0)
    hidden = rng.normal(0, 10, 3000)
    alike = [
        Changed(f"c{i}", How.PERTURBED, pl.Series(hidden), pl.Series(hidden + rng.normal(0, 5, 3000))) for i in range(8)
    ]
    result = found("noise-filtering", alike)
    # one column: 25 / (100 + 25) of the noise goes; eight: the mean has 25 / 8, and 100 * 3.125 / 103.125 of 25 is left
    assert result.baseline == pytest.approx(0.2, abs=0.02)
    assert result.average == pytest.approx(1 - (100 * 3.125 / 103.125) / 25, abs=0.02)


def stands_for(before, after, how=How.STANDS_FOR):
    return [Changed("id", how, pl.Series(before), pl.Series(after))]


@pytest.mark.parametrize("seed", range(8))
def test_frequencies_match_values_and_pseudonyms(seed):
    """All orders of equally frequent values and pseudonyms are tried, and the records counted that are right."""
    draw = random.Random(seed)
    before = [draw.choice("aabcd") for _ in range(9)]
    after = [ord(x) * 7 % 11 if draw.random() < 0.9 else 99 for x in before]

    def orders(cells):
        return [
            list(order)
            for order in permutations(set(cells))
            if [cells.count(x) for x in order] == sorted((cells.count(x) for x in order), reverse=True)
        ]

    rates = [
        sum((x, y) in set(zip(values, pseudonyms, strict=False)) for x, y in zip(before, after, strict=True)) / 9
        for values in orders(before)
        for pseudonyms in orders(after)
    ]
    result = found("pseudonym-reversal", stands_for(before, after))
    most = max(before.count(x) for x in before) / 9
    if result.details["method"] == "frequency":
        assert result.average == pytest.approx(sum(rates) / len(rates))
        assert result.baseline == pytest.approx(most)
    else:  # no gain over guessing, which formats do not have either
        assert sum(rates) / len(rates) <= most + 1e-9


def test_values_of_different_frequencies_are_all_found():
    before = list("aaaabbbc")
    result = found("pseudonym-reversal", stands_for(before, [f"p{ord(x)}" for x in before]))
    assert (result.average, result.baseline, result.details["method"]) == (1.0, 0.5, "frequency")


@pytest.mark.parametrize("kept", [0, 1, 2, 3])
def test_masks_leave_the_values_that_fit(kept):
    draw = random.Random(kept)
    before = [f"{draw.randrange(1000):03d}" for _ in range(60)]
    after = [x[:kept] + "*" * (3 - kept) for x in before]
    chances = []
    for x, y in zip(before, after, strict=True):
        fitting = [v for v in before if v[:kept] == y[:kept]]
        most = max(fitting.count(v) for v in fitting)
        top = {v for v in fitting if fitting.count(v) == most}
        chances.append(1 / len(top) if x in top else 0)
    result = found("pseudonym-reversal", stands_for(before, after, How.COVERED))
    assert result.average == pytest.approx(sum(chances) / 60)
    assert result.baseline == pytest.approx(max(before.count(x) for x in before) / 60)


def test_pseudonyms_that_keep_ends_and_shapes_leave_the_values_that_fit():
    before = ["AB-12", "AB-34", "AC-56", "B-789", "B-012"]
    after = ["AX-90", "AY-11", "AZ-73", "B-555", "B-661"]
    # the first letter and the shape stay: three and two values fit
    result = found("pseudonym-reversal", stands_for(before, after))
    assert result.details["method"] == "format"
    assert result.average == pytest.approx((3 * 1 / 3 + 2 * 1 / 2) / 5)
    assert result.baseline == pytest.approx(1 / 5)


def test_pseudonyms_that_are_the_values_are_found():
    before = [f"k{i}{'x' * (i % 3)}" for i in range(12)]
    after = [x if i < 6 else f"{i:09d}" for i, x in enumerate(before)]
    result = found("pseudonym-reversal", stands_for(before, after))
    assert result.average == pytest.approx(6 / 12)


def test_plain_digests_are_looked_up():
    before = [f"p{i}" for i in range(20)]
    result = found("pseudonym-reversal", stands_for(before, [hashlib.sha1(x.encode()).hexdigest() for x in before]))
    assert (result.average, result.details["method"]) == (1.0, "sha1")


def test_masks_of_files_in_order_are_attacked():
    original = pl.DataFrame({"key": [f"k{i}" for i in range(8)], "card": [f"4{i}{i}123" for i in range(8)]})
    release = original.with_columns(pl.col("card").str.slice(0, 3) + "***")
    (result,) = attack(original, release, quasi=["key"], kinds=["pseudonym-reversal"], with_before=False).after
    assert (result.finding.average, result.finding.details["column"]) == (1.0, "card")


# From a policy to findings --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Noise:
    secret: Secret
    size: float

    def __call__(self, cells, rows):
        drawn = random_of(self.secret, rows.numbers) + random_of(self.secret.child("more"), rows.numbers) - 1
        return (cells.cast(pl.Float64) + pl.Series(drawn * self.size)).alias(cells.name)


@dataclass(frozen=True, slots=True)
class _Hide:
    kept: int

    def __call__(self, values):
        return values.cast(pl.String).str.head(self.kept) + "*"


@pytest.fixture
def toys():
    """A transform that adds noise, and one that hides ends."""

    @transform("toy-noise", Family.PERTURB, types=LINE)
    class ToyNoise(Transform):
        """Noise is added."""

        is_drawn = True
        size: float = Field(description="of the noise")

        def result(self, type_):
            return ColumnType.FLOAT

        def fit(self, fitting):
            return _Noise(fitting.secret, self.size)

    @transform("toy-mask", Family.COVER)
    class ToyMask(Transform):
        """The end is hidden."""

        kept: int = Field(description="characters that stay")

        def result(self, type_):
            return ColumnType.TEXT

        def fit(self, fitting):
            return ByValue(_Hide(self.kept))

    yield
    for name in ("toy-noise", "toy-mask"):
        del registry._known["transforms"][name]


def people(n=2500, seed=0):
    rng = np.random.default_rng(seed)
    pay = rng.lognormal(8, 0.5, n)
    return pl.DataFrame({
        "age": rng.integers(20, 30, n),
        "illness": rng.choice(list("abcd"), n),
        "pay": np.round(pay, 2),
        "tax": np.round(pay * 0.3 + rng.normal(0, 10, n), 2),
        "town": rng.choice(["x", "y", "z", "w"], n, p=[0.5, 0.3, 0.15, 0.05]),
        "id": [f"{4000_0000_0000_0000 + 7919 * i * i}" for i in range(n)],
    })  # fmt: skip


def policy_of(**changes):
    columns = {"age": "quasi", "illness": "sensitive", **changes}
    return tc.Policy(columns=columns, goals=[tc.KAnonymity(k=5), tc.LDiversity(l=2)])


def noise(size, role="keep"):
    return {"role": role, "transform": {"kind": "toy-noise", "size": size}}


def weak(report):
    return [f for f in report.findings if f.kind == "weak-transform"]


def released(frame, engine="auto", **changes):
    return tc.anonymize(frame, policy_of(**changes), engine=engine).report


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize("engine", ["local", "duckdb"])
def test_weak_noise_is_found_on_every_engine(engine):
    report = released(people(), engine, pay=noise(2))
    (finding,) = weak(report)
    assert finding.column == "pay"
    assert "distance-linkage" in finding.what
    assert {c.place for c in finding.fix.changes} == {"columns.pay.role"}
    tried = {a["attack"]: a for a in report.to_dict()["attacks"]}
    assert tried["distance-linkage"]["average"] > 0.2
    assert tried["distance-linkage"]["worst_rows"] == []


@pytest.mark.usefixtures("toys")
def test_strong_noise_is_not_found():
    report = released(people(), pay=noise(5000), tax=noise(5000))
    assert not weak(report)
    assert {a.attack for a in report.attacks} == {
        "distance-linkage", "probabilistic-linkage", "rank-linkage", "noise-filtering",
    }  # fmt: skip


@pytest.mark.usefixtures("toys")
def test_noise_that_one_column_takes_from_the_other_is_found():
    rng = np.random.default_rng(1)
    hidden = rng.normal(0, 100, 2500)
    frame = people().with_columns(pl.Series(f"c{i}", hidden) for i in range(8))
    report = released(frame, **{f"c{i}": noise(200) for i in range(8)})
    assert any("filtered out" in f.what for f in weak(report))


@pytest.mark.usefixtures("toys")
def test_noise_on_columns_that_a_goal_protects_is_attacked_and_no_finding():
    frame = people()
    policy = policy_of(pay=noise(2, "sensitive"))
    report = tc.anonymize(frame, policy).report
    assert any(a.attack == "distance-linkage" and a.finding.average > 0.2 for a in report.attacks)
    assert not weak(report)


def test_pseudonyms_of_a_skewed_column_are_found_by_frequency_and_of_numbers_not():
    keyed = {"role": "keep", "transform": "hmac"}
    (finding,) = weak(released(people(), town=keyed, id={"role": "identifier", "transform": "hmac"}))
    assert finding.column == "town"
    assert "how often" in finding.what
    assert "100%" in finding.what
    assert "50%" in finding.what


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize(("kept", "is_weak"), [(15, True), (3, False)])
def test_masks_that_hide_little_are_found(kept, is_weak):
    frame = people().with_columns(id=pl.Series([f"{4000_0000_0000_0000 + 7919 * i * 10}" for i in range(2500)]))
    masked = {"role": "identifier", "transform": {"kind": "toy-mask", "kept": kept}}
    findings = weak(released(frame, id=masked))
    assert [f.column for f in findings] == (["id"] if is_weak else [])


@pytest.mark.usefixtures("toys")
def test_masked_cells_that_many_share_in_a_large_table_are_not_found(monkeypatch):
    """A sample of 500 rows would show each of 2,000 beginnings once; all rows show it ten times."""
    monkeypatch.setattr("tablecloak.release.attack_transforms.MOST_ROWS", 500)
    n = 20_000
    frame = people(n).with_columns(id=pl.Series([f"{i % 2000:04d}{i // 2000:04d}" for i in range(n)]))
    masked = {"role": "identifier", "transform": {"kind": "toy-mask", "kept": 4}}
    report = released(frame, id=masked)
    (result,) = report.attacks
    assert result.finding.average == pytest.approx(0.1)
    assert not weak(report)


@pytest.mark.usefixtures("toys")
def test_quasi_identifiers_are_published_as_classes_and_not_attacked():
    frame = people().with_columns(pl.col("age").cast(pl.Float64))
    assert not released(frame, age=noise(0.1, "quasi")).attacks


@pytest.mark.usefixtures("toys")
def test_check_finds_it_before_anything_runs_and_documents_round_it(tmp_path):
    people().write_csv(tmp_path / "in.csv")
    text = """
columns:
  age: quasi
  illness: sensitive
  pay: {role: keep, transform: {kind: toy-noise, size: 2}}
  town: {role: keep, transform: hmac}
goals: [{model: k-anonymity, k: 5}, {model: l-diversity, l: 2}]
input: in.csv
output: {path: out.csv, report: out.html, certificate: out.json}
"""
    policy = parse_policy(text, name="policy.yaml", base=tmp_path)
    assert [f.column for f in weak(pipeline.check(policy))] == ["pay", "town"]
    report = pipeline.run(policy)
    assert [f.column for f in weak(report)] == ["pay", "town"]
    page, certificate = (tmp_path / "out.html").read_text(), json.loads((tmp_path / "out.json").read_text())
    assert "pseudonym-reversal" in page
    assert "rank-linkage" in page
    assert "attacks" not in certificate
    (pay, _) = [f for f in certificate["findings"] if f["kind"] == "weak-transform"]
    assert pay["share"] * 50 == pytest.approx(round(pay["share"] * 50))  # 2,500 records: steps of 2 %
    exact = next(a for a in report.attacks if a.attack == "distance-linkage").finding.average
    assert f"{exact:.4f}" not in page


@pytest.mark.usefixtures("toys")
def test_groups_of_exact_values_have_it_in_their_report(tmp_path):
    """Exact quasi-identifiers are attacked, too; sensitive values are cut from their rows, and are not."""
    changes = {
        "age": noise(0.001, "quasi"),
        "pay": noise(2, "sensitive"),
        "town": {"role": "keep", "transform": "hmac"},
    }
    policy = tc.Policy(
        columns={"illness": "drop", **changes}, goals=[tc.LDiversity(l=2)], algorithm={"kind": "anatomy"}
    )
    release = tc.anonymize(people(800), policy)
    moved = next(a for a in release.report.attacks if a.attack == "distance-linkage")
    assert moved.finding.details["columns"] == ["age"]
    release.write(tmp_path / "out.csv", report=tmp_path / "out.html")
    assert "pseudonym-reversal" in (tmp_path / "out.html").read_text()


@pytest.mark.usefixtures("toys")
def test_what_a_sample_says_is_rounded_by_its_size(monkeypatch):
    """Of 6,000 records 600 were drawn: one of them moves a share by 1/600, so steps are 10 % and not 1 %."""
    monkeypatch.setattr("tablecloak.release.attack_transforms.MOST_ROWS", 600)
    report = released(people(6000), pay=noise(30))
    result = next(a for a in report.attacks if a.attack == "distance-linkage")
    assert result.finding.n_sampled == 600
    assert "among 600 of 6,000 records" in result.finding.notes[-1]
    assert public_attack(result, 0.01).finding.average == round(result.finding.average, 1) != result.finding.average
    (finding,) = weak(report)
    assert finding.share == round(result.finding.average, 1)
    assert "among 600 records that were drawn" in finding.what


@pytest.mark.usefixtures("toys")
def test_plans_keep_no_cell_of_the_sample():
    release = tc.anonymize(people(), policy_of(town={"role": "keep", "transform": "hmac"}))
    told = str([a.to_dict() for a in release.report.attacks]) + str(weak(release.report))
    assert not any(f"'{town}'" in told for town in "xyzw")


def test_reading_for_verify_attacks_nothing():
    policy = policy_of(town={"role": "keep", "transform": "hmac"})
    plan, _ = read(LocalEngine(), Source.in_memory(people(50)), policy, Timed())
    assert plan.attacked == ()
