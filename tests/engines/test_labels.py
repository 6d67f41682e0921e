"""Published labels on every engine, read by a checker of its own: CSV goes in, CSV comes out, cells are held together.

The checker shares no code with the package: it parses quotes, sets, intervals and masks itself.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
import random
from collections import Counter
from datetime import date, datetime, timedelta
from fractions import Fraction

import polars as pl
import pytest

import clusters
import tablecloak as tc
from tablecloak.cli.main import main
from tablecloak.pipeline import run, verify
from tablecloak.policy.load import parse_policy

pytestmark = pytest.mark.slow
ENGINES = ["local", "duckdb"]
ODD = [
    "A*02:01", "A*02:02", "10-20", "20-30", "[1, 5]", "{a}", "{a, b}", "*", "**", '"q"', 'x"y', '"', "a, b", "a", "b",
    "Biel-Bienne", "<30", "(1, 2)", "[Ann, Zoe]", "1..5", "2020-01-01..2020-02-01", "{", "}", "{}", "-5", "=1+1", "@x",
    " outer ", "'quoted'", "a;b", "a|b", "Zürich", "null", "NA", "true", "[20, 29]", "…", "~", "1e5-2e5", "[", "]",
]  # fmt: skip


def members(cell):
    """The texts that a cell of a text column stands for; None: every one."""
    if cell == "*":
        return None
    if cell.startswith('"') and cell.endswith('"') and len(cell) > 1 and '"' not in cell[1:-1].replace('""', ""):
        return {cell[1:-1].replace('""', '"')}
    if not (cell.startswith("{") and cell.endswith("}")):
        return {cell}
    found, rest = set(), cell[1:-1]
    while rest:
        if rest.startswith('"'):
            end = 1
            while rest[end : end + 2] == '""' or rest[end] != '"':
                end += 2 if rest[end] == '"' else 1
            found.add(rest[1:end].replace('""', '"'))
            rest = rest[end + 1 :]
        else:
            plain, comma, after = rest.partition(",")
            found.add(plain)
            rest = comma + after
        assert not rest or rest.startswith(", "), cell
        rest = rest[2:]
    return found


def published(tmp_path, rows, policy, engine, **more):
    """The cells of a release by the number of the original row, which is published beside them."""
    with (tmp_path / "in.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(list(rows[0]))
        writer.writerows([row.values() for row in rows])
    output = f"{{path: {tmp_path / 'out.csv'}, recoding: {tmp_path / 'recoding.json'}}}"
    text = f"input: {tmp_path / 'in.csv'}\noutput: {output}\n"
    (tmp_path / "policy.yaml").write_text(text + policy, encoding="utf-8")
    report = run(parse_policy(text + policy, name="policy", base=tmp_path), engine=engine, force=True, **more)
    assert report.verification.holds
    assert report.verification.covers is True
    return {int(row["id"]): row for row in cells_of(tmp_path / "out.csv")}


def cells_of(path):
    """Rows of a CSV file, without the apostrophe that keeps spreadsheets from running a text."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            {k: v[1:] if v[:1] == "'" and v[1:2] in "'=+-@\t\r" else v for k, v in row.items()}
            for row in csv.DictReader(file)
        ]


TEXTS = "columns:\n  id: {role: keep}\n  t: {role: quasi, type: text%s}\n  s: {role: sensitive, type: text}\n"
GOAL = "goals: [{model: k-anonymity, k: %d}]\n"


def odd_rows(n, seed):
    rng = random.Random(seed)
    return [{"id": i, "t": rng.choice(ODD), "s": rng.choice(ODD)} for i in range(n)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("k", "algorithm"), [(2, "mondrian"), (3, "auto"), (5, "mondrian"), (3, "k-member")])
@pytest.mark.parametrize("hierarchy", ["", ", hierarchy: {kind: order, fanout: 3}", ", hierarchy: {kind: mask}"])
def test_texts_that_read_like_labels_are_published_as_themselves(tmp_path, engine, k, algorithm, hierarchy):
    rows = odd_rows(120, k)
    found = published(tmp_path, rows, TEXTS % hierarchy + GOAL % k + f"algorithm: {algorithm}\n", engine)
    assert len(found) == len(rows)
    assert min(Counter(row["t"] for row in found.values()).values()) >= k
    for row in rows:
        cell = found[row["id"]]
        assert cell["s"] == row["s"]  # letter by letter
        if "mask" in hierarchy and not cell["t"].startswith('"'):
            is_root = set(cell["t"]) == {"*"}
            assert is_root or len(cell["t"]) == len(row["t"])
            assert is_root or all(c in ("*", o) for c, o in zip(cell["t"], row["t"], strict=True))
        elif cell["t"].startswith("[") and "order" in hierarchy:
            continue  # a group of many texts is named by its first and last
        else:
            stands_for = members(cell["t"])
            assert stands_for is None or row["t"] in stands_for


@pytest.mark.parametrize("engine", ENGINES)
def test_finished_releases_of_odd_texts_are_verified_compared_attacked_and_applied(tmp_path, engine, capsys):
    policy = TEXTS % "" + GOAL % 3 + "algorithm: mondrian\n"
    published(tmp_path, odd_rows(90, 1), policy, engine)
    original, release, file, recoding, again = (
        str(tmp_path / name) for name in ("in.csv", "out.csv", "policy.yaml", "recoding.json", "again.csv")
    )

    def said(*words):
        assert main([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    assert said("verify", release, "--policy", file, "--original", original)["covers"] is True
    columns = said("compare", original, release, "--policy", file)["columns"]
    assert [c["unread_labels"] for c in columns if c["name"] == "t"] == [0]
    said("attack", original, release, "--policy", file)
    said("apply", recoding, original, "--output", again)
    assert sorted(map(str, cells_of(tmp_path / "again.csv"))) == sorted(map(str, cells_of(tmp_path / "out.csv")))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_value_is_not_read_as_a_mask_where_values_have_stars(engine):
    original = pl.DataFrame({"t": ["A*02", "A*02", "AB02", "AB02"], "s": ["x", "y", "x", "y"]})
    policy = tc.Policy(columns=tc.roles(quasi=["t"], sensitive=["s"]), goals=[tc.KAnonymity(k=2)])
    release = tc.anonymize(original, policy, engine=engine).frame
    assert sorted(release["t"].cast(pl.String).unique()) == ['"A*02"', "AB02"]
    wrong = original.with_columns(t=pl.Series(["A*02"] * 4))
    assert tc.verify(wrong, policy, original=original).covers is False


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "algorithm",
    [
        "auto",
        "mondrian",
        "optimal",
        "flash",
        "mdav",
        "v-klt",
        "{kind: auto, labels: set}",
        "datafly",
        "tds",
        "k-member",
    ],
)
@pytest.mark.parametrize("hierarchy", ["{kind: mask, hide: 4}", "{kind: mask, never: ['']}", "{kind: mask}"])
@pytest.mark.parametrize("zips", [["8001", "8002", "8003", "8004"], [None] * 4, ["8001", None, "8", ""]])
def test_masks_that_hide_everything_and_empty_masked_columns_are_published(engine, algorithm, hierarchy, zips):
    frame = pl.DataFrame({"zip": zips * 5, "age": list(range(20)), "s": [str(i % 5) for i in range(20)]},
                         schema_overrides={"zip": pl.String})  # fmt: skip
    more = [{"model": "l-diversity", "l": 2}, {"model": "t-closeness", "t": 0.9}] if algorithm == "v-klt" else []
    policy = parse_policy(
        f"columns: {{zip: {{role: quasi, hierarchy: {hierarchy}}}, age: {{role: quasi}}, s: {{role: sensitive}}}}\n"
        f"goals: {json.dumps([{'model': 'k-anonymity', 'k': 2}, *more])}\nalgorithm: {algorithm}\n",
        name="policy", base=None,
    )  # fmt: skip
    release = tc.anonymize(frame, policy, engine=engine).frame
    assert release.height == 20
    if hierarchy != "{kind: mask}":
        assert all(cell is None or set(cell) == {"*"} for cell in release["zip"].cast(pl.String))


# Numbers and dates ----------------------------------------------------------------------------------------------------


def number_of(text, kind):
    """A cell's bound as a number, read by nobody's code but Python's."""
    if kind == "date":
        return date.fromisoformat(text).toordinal()
    if kind == "datetime":
        return round((datetime.fromisoformat(text) - datetime(1970, 1, 1)) / timedelta(microseconds=1))
    return int(text) if kind == "integer" else Fraction(float(text))


def interval_of(cell, kind):
    if not cell.startswith("["):
        return number_of(cell, kind), number_of(cell, kind)
    low, high = cell[1:-1].split(", ")
    return number_of(low, kind), number_of(high, kind)


def has_room(below, above, kind):
    if kind == "float":
        return math.nextafter(float(below), float(above)) < above
    return above - below > 1


def draw(kind, n, seed):
    """Texts of values, written as Python writes them."""
    rng = random.Random(seed)
    if kind == "float":
        scale = rng.choice([1e-3, 1.0, 1e4])
        return [repr(round(rng.lognormvariate(0, 1) * scale - scale, rng.choice([1, 6]))) for _ in range(n)]
    if kind == "integer":
        return [str(int(rng.lognormvariate(10, 0.7))) for _ in range(n)]
    if kind == "date":
        return [(date(1930, 1, 1) + timedelta(days=rng.randrange(25_000))).isoformat() for _ in range(n)]
    return [(datetime(2020, 1, 1) + timedelta(seconds=rng.randrange(10**8))).isoformat() for _ in range(n)]


NUMBERS = (
    "columns:\n  id: {role: keep}\n  x: {role: quasi, type: %s%s}\n  s: {role: sensitive, type: text}\n"
    "goals: [{model: k-anonymity, k: 4}]\nalgorithm: {kind: mondrian}\n"
)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["float", "integer", "date", "datetime"])
@pytest.mark.parametrize(
    "hierarchy", ["", ", hierarchy: {kind: order, fanout: 3}", ", hierarchy: {kind: quantiles, groups: 8}"]
)
def test_bounds_of_intervals_are_nobodys_value_and_the_loss_counts_them(tmp_path, engine, kind, hierarchy):
    texts = draw(kind, 200, len(kind + hierarchy))
    rows = [{"id": i, "x": text, "s": "abc"[i % 3]} for i, text in enumerate(texts)]
    found = published(tmp_path, rows, NUMBERS % (kind, hierarchy), engine)
    values = sorted({number_of(text, kind) for text in texts})
    place = {value: i for i, value in enumerate(values)}
    lost = Fraction(0)
    for i, text in enumerate(texts):
        cell = found[i]["x"]
        low, high = (values[0], values[-1]) if cell == "*" else interval_of(cell, kind)
        assert low <= number_of(text, kind) <= high
        lost += 1 if cell == "*" else min(Fraction(1), Fraction(high - low) / (values[-1] - values[0]))
        if cell.startswith("["):  # a bound is a value only where the gap beside it has no room
            at = place.get(low)
            assert at is None or (at > 0 and not has_room(values[at - 1], low, kind))
            at = place.get(high)
            assert at is None or (at + 1 < len(values) and not has_room(high, values[at + 1], kind))
    shown = sorted({interval_of(row["x"], kind) for row in found.values() if row["x"] != "*"})
    if not hierarchy:  # strict cuts of one column: intervals come one after the other
        for (_, end), (begin, _) in itertools.pairwise(shown):
            assert end < begin or (end == begin and end not in place)
    assert gcp(tmp_path, engine, kind, hierarchy) == pytest.approx(float(lost / len(texts)), abs=1e-9)
    again = tmp_path / "again.csv"
    assert main(["apply", str(tmp_path / "recoding.json"), str(tmp_path / "in.csv"), "--output", str(again)]) == 0
    assert {int(row["id"]): row for row in cells_of(again)} == found


def gcp(tmp_path, engine, kind, hierarchy):
    """The loss that the release reports of itself, and `compare` of its file."""
    frame = pl.read_csv(tmp_path / "in.csv", infer_schema=False)
    typed = {
        "float": pl.col("x").cast(pl.Float64),
        "integer": pl.col("x").cast(pl.Int64),
        "date": pl.col("x").str.to_date("%Y-%m-%d"),
        "datetime": pl.col("x").str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us"),
    }
    frame = frame.with_columns(typed[kind])
    policy = parse_policy(NUMBERS % (kind, hierarchy), name="policy", base=tmp_path)
    release = tc.anonymize(frame, policy, engine=engine)
    compared = tc.compare(frame, release.frame, policy=policy)
    assert compared.loss == pytest.approx(release.report.loss, abs=1e-9)
    return release.report.loss


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("integer", ["9223372036854775807", "9223372036854775806", "-9223372036854775808", "-9223372036854775807"]),
        ("integer", [str(2**63 - 1 - i * i * 1000) for i in range(40)]),
        ("integer", [str(-(2**63) + i * i * 10**12) for i in range(40)]),
        ("float", ["1e300", "1.1e300", "-1e300", "5e-324", "0.0", "1.7976931348623157e308", "-1.7976931348623157e308"]),
        ("float", ["5e-324", "1e-323", "1.5e-323", "2e-323", "2.5e-323", "3e-323"]),
        ("float", ["-0.0", "0.0", "1.0", "2.0", "3.0", "4.0"]),
        ("date", ["0001-01-01", "0001-01-02", "9999-12-31", "9999-12-30", "2000-02-29", "1970-01-01"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("algorithm", ["mondrian", "auto", "k-member", "optimal"])
def test_values_at_the_ends_of_their_range_are_published_and_covered(tmp_path, engine, kind, texts, algorithm):
    rows = [{"id": i, "x": text, "s": "abc"[i % 3]} for i, text in enumerate(texts * 2)]
    policy = (NUMBERS % (kind, "")).replace("k: 4", "k: 3").replace("{kind: mondrian}", algorithm)
    found = published(tmp_path, rows, policy, engine)
    for row in rows:
        cell = found[row["id"]]["x"]
        low, high = (-math.inf, math.inf) if cell == "*" else interval_of(cell, kind)
        assert low <= number_of(row["x"], kind) <= high
        assert "inf" not in cell
        assert "nan" not in cell


# Letter by letter -----------------------------------------------------------------------------------------------------

SPELLED = {  # every value written in one way, which is not how a typed value would be written
    "price": ["1.10", "2.50", "1e3", "10.00", ".5", "7."],
    "code": ["007", "+5", "12", "0012345", "-3", "+0"],
    "born": ["09.02.1933", "01.12.1950", "31.10.2001", "05.05.1999", "06.06.1966", "29.02.2000"],
    "seen": ["2020-01-01 10:00:00", "2020-01-02 00:00:00", "2021-05-05 23:59:59.5", "2020-02-02T02:02:02",
             "2020-01-05 10:00:00", "2020-01-06 10:00:00"],
    "well": ["True", "FALSE", "True", "True", "FALSE", "True"],
    "note": ["a", "b ", "007", "1.10", "=x", "'y'"],
}  # fmt: skip
TYPES = {"price": "float", "code": "integer", "born": "date, format: '%d.%m.%Y'", "seen": "datetime", "well": "boolean"}


@pytest.mark.parametrize("engine", [*ENGINES, pytest.param("spark", marks=clusters.ON_SPARK)])
@pytest.mark.parametrize("role", ["keep", "sensitive"])
def test_kept_and_sensitive_cells_are_published_letter_by_letter(tmp_path, engine, role, request):
    rows = [{"id": i, "age": 20 + i // 3} | {n: texts[i % 6] for n, texts in SPELLED.items()} for i in range(24)]
    columns = "".join(f"  {name}: {{role: {role}, type: {TYPES.get(name, 'text')}}}\n" for name in SPELLED)
    policy = f"columns:\n  id: {{role: keep}}\n  age: {{role: quasi}}\n{columns}" + GOAL % 3
    engine = request.getfixturevalue("spark") if engine == "spark" else engine
    found = published(tmp_path, rows, policy, engine)
    for row in rows:
        assert {name: found[row["id"]][name] for name in SPELLED} == {name: row[name] for name in SPELLED}
    verified = verify(
        tmp_path / "out.csv", parse_policy(policy, name="policy", base=tmp_path), original=tmp_path / "in.csv"
    )
    assert verified.holds


@pytest.mark.parametrize("engine", ENGINES)
def test_a_quasi_identifier_on_which_a_class_agrees_is_published_letter_by_letter(tmp_path, engine):
    texts = ["1.10", "2.50", "1e3", "10.00", ".5", "7.", "3.0", "-0.0"]
    rows = [{"id": i, "x": texts[i % 8], "s": "abc"[i % 3]} for i in range(32)]
    found = published(tmp_path, rows, NUMBERS % ("float", ""), engine)
    assert [found[i]["x"] for i in range(32)] == [row["x"] for row in rows]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_value_that_is_written_in_two_ways_is_one_value(tmp_path, engine):
    rows = [{"id": i, "x": ["1.1", "1.10", "2.20"][i % 3], "s": ["5.0", "5.00", "6.50"][i % 3]} for i in range(30)]
    policy = (NUMBERS % ("float", "")).replace("type: text", "type: float")
    found = published(tmp_path, rows, policy, engine)
    assert {row["x"] for row in found.values()} == {"1.1", "2.20"}  # one class of 1.1, canonically
    assert {row["s"] for row in found.values()} == {"5.0", "6.50"}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_kept_value_that_is_written_in_two_ways_stays_as_it_was(tmp_path, engine):
    rows = [{"id": i, "x": i // 4, "s": "a", "kept": ["1.1", "1.10"][i % 2]} for i in range(24)]
    policy = (NUMBERS % ("integer", "")).replace("goals:", "  kept: {role: keep}\ngoals:")
    found = published(tmp_path, rows, policy, engine)
    assert [found[i]["kept"] for i in range(24)] == [row["kept"] for row in rows]
