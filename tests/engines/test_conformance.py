"""Every engine makes the release that the local one makes, and counts the same."""

import math

import polars as pl
import pytest

import clusters
import tablecloak as tc
from engine_tables import K, L, T, people, policy_of
from oracle_models import individual_risk
from tablecloak import pipeline
from tablecloak.errors import DataError, IncompatibleChoice, Infeasible
from tablecloak.policy.load import parse_policy

pytestmark = pytest.mark.slow

# Full-domain methods need all tuples at once, and groups of exact values all rows: both have room in `duckdb` only.
CASES = {
    "mondrian k": ("mondrian", [K]),
    "mondrian k l t": ("mondrian", [K, L, T]),
    "mondrian leaves rows out": ("{kind: mondrian, suppression_limit: 0.1}", [K, L]),
    "mondrian by width": ("{kind: mondrian, split: width}", [K]),
    "mondrian relaxed": ("{kind: mondrian, mode: relaxed}", [K]),
    "auto": ("auto", [K]),
    "auto k l": ("{kind: auto, effort: fast}", [K, L]),
    "flash": ("{kind: flash, suppression_limit: 0.2}", [K]),
    "mdav": ("mdav", [K]),
    "anatomy": ("anatomy", [L]),
}


def released(folder, text, engine):
    """What a run says, and its release in the order of the row ids."""
    policy = parse_policy(text, name="policy.yaml", base=folder)
    report = pipeline.run(policy, engine=engine, force=True, memory="1GB")
    frame = pl.read_csv(policy.output_path, infer_schema=False) if policy.output_path.suffix == ".csv" else (
        pl.read_parquet(policy.output_path).cast(pl.String)
    )  # fmt: skip
    return report, frame.sort("id")


def figures(report):
    """Everything that a certificate says except who counted and how long it took."""
    plain = report.to_dict()
    for name in ("engine", "engine_reason", "seconds", "peak_memory_bytes"):
        plain.pop(name, None)
    return plain


def wanted_rows(report):
    return report.verification.n_rows + report.verification.n_suppressed


def same_tables(one, other):
    return one.columns == other.columns and one.equals(other)


@pytest.mark.parametrize("case", CASES)
def test_whole_runs_are_the_same(case, engine, tmp_path, request):
    algorithm, goals = CASES[case]
    is_tiny = "tiny" in request.node.callspec.params["engine"]
    if is_tiny and case in ("flash", "mdav", "anatomy"):
        pytest.skip("test_shards.py: methods that take no shards say so")
    people().write_csv(tmp_path / "people.csv")
    text = policy_of(algorithm, goals)
    if getattr(engine, "name", "") == "spark" and case in ("mdav", "anatomy", "mondrian relaxed"):
        with pytest.raises(IncompatibleChoice):
            released(tmp_path, text, engine)
        return
    expected, wanted = released(tmp_path, text, "local")
    report, found = released(tmp_path, text, engine)
    if not is_tiny:
        assert figures(report) == figures(expected)
        assert same_tables(found, wanted)
    assert report.verification.holds
    assert report.verification.covers in (True, expected.verification.covers)
    assert report.verification.n_rows + report.verification.n_suppressed == wanted_rows(expected)


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "jsonl"])
def test_every_input_is_read_alike(kind, engine, tmp_path):
    frame = people(300, seed=2)
    path = tmp_path / f"people.{kind}"
    if kind == "parquet":
        frame.with_columns(pl.col("town").cast(pl.Categorical), pl.col("age").cast(pl.Int16)).write_parquet(path)
    elif kind == "jsonl":
        frame.with_columns(pl.col("born").cast(pl.String)).write_ndjson(path)
    else:
        frame.write_csv(path, separator="\t" if kind == "tsv" else ",")
    text = policy_of("mondrian", [K, L], source=path.name)
    expected, wanted = released(tmp_path, text, "local")
    report, found = released(tmp_path, text, engine)
    assert report.verification.holds
    assert report.verification.covers
    assert found["id"].to_list() == wanted["id"].to_list()
    assert found["note"].to_list() == wanted["note"].to_list()
    if "tiny" not in str(engine) and report.verification.n_classes == expected.verification.n_classes:
        assert same_tables(found, wanted)


def test_stars_stand_for_suppressed_rows(tmp_path):
    people().write_csv(tmp_path / "people.csv")
    text = policy_of("{kind: mondrian, suppression_limit: 0.2}", [K, L, T], extra=", suppressed: star")
    expected, wanted = released(tmp_path, text, "local")
    report, found = released(tmp_path, text, "duckdb")
    assert expected.verification.n_suppressed > 0
    assert figures(report) == figures(expected)
    assert same_tables(found, wanted)


def test_persons_are_counted(tmp_path):
    frame = people(300).with_columns((pl.col("id") // 2).alias("who"))
    frame.write_csv(tmp_path / "people.csv")
    text = policy_of("mondrian", [K]).replace("  id: {role: keep}", "  id: {role: keep}\n  who: {role: person}")
    expected, wanted = released(tmp_path, text, "local")
    report, found = released(tmp_path, text, "duckdb")
    assert figures(report) == figures(expected)
    assert same_tables(found, wanted)


def test_weights_of_a_survey_are_added_up(engine, tmp_path, request):
    people().with_columns(w=pl.col("id") % 4 * 2.5 + 1).write_csv(tmp_path / "people.csv")
    text = policy_of("mondrian", ["{model: population-risk, threshold: 0.05}"])
    text = text.replace("  id: {role: keep}", "  id: {role: keep}\n  w: {role: weight}")
    expected, wanted = released(tmp_path, text, "local")
    report, found = released(tmp_path, text, engine)
    classes = found.group_by("age", "born", "town", "weight").agg(pl.col("w").cast(pl.Float64))
    risks = [individual_risk(len(weights), math.fsum(weights)) for weights in classes["w"]]
    assert report.verification.verdicts[0].achieved == pytest.approx(max(risks))
    assert max(risks) <= 0.05
    if "tiny" not in request.node.callspec.params["engine"]:
        assert figures(report) == figures(expected)
        assert same_tables(found, wanted)


def test_one_row_and_no_rows(engine, tmp_path):
    one = policy_of("mondrian", ["{model: k-anonymity, k: 2}"])
    people(1).write_csv(tmp_path / "people.csv")
    with pytest.raises(Infeasible):
        released(tmp_path, one, engine)
    people(1).head(0).write_csv(tmp_path / "people.csv")
    with pytest.raises(DataError, match="no rows"):
        released(tmp_path, one, engine)
    assert not list(tmp_path.glob(".*"))


def test_a_frame_gives_the_same_release():
    frame = people(500).drop("note")
    roles = tc.roles(quasi=["age", "born", "town", "weight"], sensitive=["illness"], keep=["id"])
    policy = tc.Policy(columns=roles, goals=[tc.KAnonymity(k=5)])
    one, other = (tc.anonymize(frame, policy, engine=name) for name in ("local", "duckdb"))
    assert figures(other.report) == figures(one.report)
    assert other.frame.cast(pl.String).equals(one.frame.cast(pl.String))


@pytest.mark.parametrize("name", ["duckdb", pytest.param("spark", marks=clusters.ON_SPARK)])
def test_reports_say_the_same(name, tmp_path, request):
    people(600).write_csv(tmp_path / "people.csv")
    pages = []
    for one in ("local", name):
        text = policy_of("mondrian", [K, L], extra=f", report: {one}.html, certificate: {one}.json")
        released(tmp_path, text, request.getfixturevalue("spark") if one == "spark" else one)
        pages.append((tmp_path / f"{one}.html").read_text())
    for begin, end in (("<h2>Attacks</h2>", "</section>"), ("<svg", "</section>")):
        shown = [page[page.index(begin) : page.index(end, page.index(begin))] for page in pages]
        assert shown[0] == shown[1]
        assert len(shown[0]) > 1000
