"""The benchmark's own functions, on tables of a few rows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # benchmarks are not part of the installed package

from benchmarks import adult, attacks, growth, measure, run, scale  # noqa: E402

from tablecloak.policy.load import load_policy, parse_policy  # noqa: E402
from tablecloak.sample import census  # noqa: E402

FLOOR = {"seconds": 2.0, "parts": {"read": 1.0, "group": 0.5, "write": 0.5}, "peak_bytes": 70, "tuples": 9}
FLOOR |= {"cpu_seconds": 4.0, "load": 1.0}
RUN = {"seconds": 3.0, "parts": {"solve": 0.5}, "peak_bytes": 120, "classes": 2, "loss": 0.25, "holds": True}
RUN |= {"covers": True, "cpu_seconds": 5.0, "load": 2.5}
TABLE = {"plain": 40, "categorical": 30}


@pytest.fixture
def people(tmp_path):
    measure.generate(str(tmp_path / "people.csv"), "300")
    return tmp_path / "people.csv"


def test_generated_file_holds_the_census(people):
    read = pl.read_csv(people, schema_overrides={"zip": pl.String})
    assert read.rows() == census(300).with_columns(pl.col(pl.Enum).cast(pl.String)).rows()
    assert list(people.parent.iterdir()) == [people]


def test_floor_writes_every_row_and_counts_distinct_tuples(people, tmp_path):
    found = measure.floor(str(people), str(tmp_path / "out.csv"))
    assert (tmp_path / "out.csv").read_bytes().count(b"\n") == 301
    assert found["rows"] == 300
    assert found["tuples"] == len({row[:8] for row in census(300).select(measure.QUASI).rows()})
    assert found["seconds"] == pytest.approx(sum(found["parts"].values()))


def test_categories_take_less_room_than_text(people):
    found = measure.sizes(str(people))
    assert 0 < found["categorical"] < found["plain"]


def test_cases_are_policies_with_one_and_three_goals(people):
    policy = run.write_policy(people.parent, people)
    models = [[goal.name for goal in load_policy(policy, changes).goals] for changes in run.CASES.values()]
    assert models == [["k-anonymity"], ["k-anonymity", "l-diversity", "t-closeness"]]


def test_release_is_verified_and_written(people):
    policy = run.write_policy(people.parent, people)
    found = measure.release(str(policy))
    assert found["holds"]
    assert found["covers"]
    assert found["rows"] == 300
    assert (people.parent / "people-release.csv").read_bytes().count(b"\n") == 301
    assert 0 < found["parts"]["solve"] < found["seconds"]


def test_a_measurement_runs_in_a_process_of_its_own(people):
    found = run.measure("sizes", people)
    assert found.keys() == {"plain", "categorical", "peak_bytes", "load"}
    assert found["peak_bytes"] > found["plain"]


@pytest.mark.slow
def test_memory_of_the_parent_does_not_count(people):
    ballast = "import sys; block = bytearray(b'x') * 400_000_000; sys.path.insert(0, '.'); "
    call = f"from benchmarks.run import measure; print(measure('sizes', {str(people)!r})['peak_bytes'])"
    found = subprocess.run([sys.executable, "-c", ballast + call], capture_output=True, check=True, text=True, cwd=ROOT)
    assert int(found.stdout) < 400_000_000


def test_a_failed_measurement_says_why(tmp_path):
    with pytest.raises(RuntimeError, match="measuring floor failed"):
        run.measure("floor", tmp_path / "absent.csv", tmp_path / "out.csv")


def test_best_is_the_fastest_repeat_with_the_highest_memory():
    slow = {"seconds": 2.0, "cpu_seconds": 3.0, "peak_bytes": 9, "load": 4.0, "loss": 1}
    fast = {"seconds": 1.0, "cpu_seconds": 3.5, "peak_bytes": 5, "load": 2.0, "loss": 2}
    best = {"seconds": 1.0, "cpu_seconds": 3.0, "peak_bytes": 9, "load": 4.0, "loss": 2}
    assert run.best_of([slow, fast]) == best


def test_ratios_compare_with_the_floor_and_the_table():
    result = run.census_result(100, "k=10", FLOOR, RUN, TABLE)
    assert (result.run_ratio, result.solve_ratio, result.cpu_ratio, result.peak_ratio) == (1.5, 0.25, 1.25, 3.0)


def test_what_the_order_costs_is_a_multiple_of_the_floor():
    result = run.census_result(100, "k=10", FLOOR, RUN, TABLE)
    assert result.order_ratio is None
    kept = replace(result, kept_cpu_seconds=result.run_cpu_seconds - result.floor_cpu_seconds / 2)
    assert kept.order_ratio == 0.5


def test_a_machine_with_more_work_than_processors_is_busy(monkeypatch):
    result = run.census_result(100, "k=10", FLOOR, RUN, TABLE)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert not run.is_busy([result])
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    assert run.is_busy([result])


@pytest.mark.parametrize("failure", [{"holds": False}, {"covers": False}, {"covers": None}])
def test_an_unverified_release_is_no_result(failure):
    with pytest.raises(ValueError, match="not verified"):
        run.census_result(100, "k=10", FLOOR, {**RUN, **failure}, TABLE)


def test_figures_are_appended_with_the_machine(tmp_path):
    for number in (1, 2):
        run.append(tmp_path / "figures.jsonl", [{"bench": "census", "number": number}])
    records = [json.loads(line) for line in (tmp_path / "figures.jsonl").read_text().splitlines()]
    assert [r["number"] for r in records] == [1, 2]
    assert all(r["machine"]["cpus"] for r in records)


def test_quick_measures_the_smallest_size_once():
    chosen = run.arguments(["--quick"])
    assert (chosen.rows, chosen.repeat) == ([100_000], 1)


def test_kept_data_stays_and_other_data_goes(tmp_path, monkeypatch):
    monkeypatch.setenv("TABLECLOAK_BENCH_DIR", str(tmp_path / "kept"))
    with run.data_folder() as folder:
        assert folder == tmp_path / "kept"
    assert folder.exists()
    monkeypatch.delenv("TABLECLOAK_BENCH_DIR")
    with run.data_folder() as folder:
        assert folder.exists()
    assert not folder.exists()


def test_adult_policy_names_a_hierarchy_for_every_category(tmp_path):
    policy = tmp_path / "adult.yaml"
    policy.write_text(adult.policy_text(tmp_path, tmp_path / "out.csv", k=5, split="width"))
    loaded = load_policy(policy)
    assert loaded.algorithm.split == "width"
    for name in set(adult.QUASI) - {"age"}:
        assert loaded.hierarchy_of(name) == tmp_path / f"adult_hierarchy_{name}.csv"
    assert loaded.hierarchy_of("age") is None


def test_adult_is_looked_for_where_the_variable_says(tmp_path, monkeypatch):
    monkeypatch.setenv("TABLECLOAK_DATA", str(tmp_path))
    assert adult.find_adult() is None
    (tmp_path / "adult").mkdir()
    (tmp_path / "adult" / "adult.csv").write_text("age\n")
    assert adult.find_adult() == tmp_path / "adult"


def test_tables_list_the_least_loss_first_beside_the_bound():
    from benchmarks.quality import Result, _tables

    rows = [("b", 2, 0.5), ("b", 5, 0.6), ("a", 2, 0.1), ("a", 5, 0.2)]
    text = _tables([Result(m, k, gcp, 7, 1.0, 0, 0.25) for m, k, gcp in rows], {2: 0.08, 5: 0.16}, 100)
    lines = text.splitlines()
    assert lines[4] == "| bound of nodes | 0.0800 | 0.1600 |"
    assert lines[5] == "| `a` | 0.1000 (1.25) / 0.2 | 0.2000 (1.25) / 0.2 |"
    assert lines[6] == "| `b` | 0.5000 (6.25) / 0.2 | 0.6000 (3.75) / 0.2 |"


def test_a_method_that_has_no_result_at_one_k_is_missing_there():
    from benchmarks.quality import Result, _tables

    rows = [("b", 2, 0.5), ("b", 5, 0.6), ("a", 2, 0.1)]
    lines = _tables([Result(m, k, gcp, 7, 1.0, 0, 0.25) for m, k, gcp in rows], {2: 0.1, 5: 0.2}, 100).splitlines()
    assert "| `a` | 0.1000 (1.00) / 0.2 | – |" in lines


def test_tables_stand_between_their_marks(tmp_path):
    from benchmarks.tables import replace_between

    page = tmp_path / "page.md"
    page.write_text("before\n<!-- x -->\nold\n<!-- end of x -->\nafter\n")
    replace_between(page, "x", "new")
    assert page.read_text() == "before\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nafter\n"
    with pytest.raises(ValueError, match="no marks"):
        replace_between(page, "y", "new")


def test_lines_with_the_same_points_are_one_line_of_the_chart():
    from benchmarks.chart import line_chart

    svg = line_chart({"a": [(2, 0.1), (5, 0.2)], "b": [(5, 0.2), (2, 0.1)], "c": [(2, 0.3)]}, x="k", y="loss", bold="c")
    assert svg.count("<polyline") == 2
    assert ">a, b</text>" in svg


def test_the_chart_has_logarithmic_axes_and_room_for_nothing():
    from benchmarks.chart import line_chart

    svg = line_chart({"a": [(1, 0.1), (10, 0.01), (100, 0.0)]}, x="k", y="loss", bold="a")
    (points,) = re.findall(r'<polyline points="([^"]+)"', svg)
    (x1, y1), (x2, y2), (x3, y3) = (map(float, p.split(",")) for p in points.split())
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.2)
    assert y1 < y2 == y3  # 0 lies at the lower edge
    assert 'stroke-width="3.5"' in svg


def test_growth_is_compared_with_n_log_n():
    small, large = growth.Growth("fast", 10, 9, 0.5, 2.0), growth.Growth("fast", 100, 90, 0.25, 80.0)
    # 100 log 100 is 20 times 10 log 10, and 80 seconds are 40 times 2
    assert large.ratio(small) == pytest.approx(2.0)
    assert small.ratio(None) is None
    assert growth.table_of_growth([small, large]).endswith("| `fast` | 100 | 90 | 0.2500 | 80.0 | 2.00 |")


@pytest.mark.slow
def test_growth_searches_the_census():
    found = growth.search("fast", 5, 300)
    assert found.rows == 300
    assert 0 < found.tuples <= 300
    assert 0 < found.gcp < 1


def test_attacks_are_measured_on_what_a_method_publishes():
    frame = pl.DataFrame({"age": [20, 21, 30, 31, 40, 41], "s": ["a", "b", "a", "b", "a", "b"]})
    text = "columns: {age: quasi, s: sensitive}\ngoals: [{model: k-anonymity, k: 2}]\nalgorithm: mondrian\n"
    release, side = attacks.release_of(frame, parse_policy(text, name="p", base=Path()))
    assert side is None
    assert min(Counter(release["age"].to_list()).values()) == 2
    assert release["s"].to_list() == frame["s"].to_list()


@pytest.mark.slow
def test_a_table_of_dates_is_released_and_shown_against_its_floor(tmp_path):
    source = tmp_path / "dates-600.parquet"
    scale.generate(str(source), "600")
    policy, target = scale.write_policy(tmp_path, source), tmp_path / "dates-600-release.parquet"
    floor = scale.floor(str(source), str(target), "1GB", str(tmp_path))
    rows = pl.read_parquet(source).select(scale.DATES_QUASI).rows()
    assert floor["tuples"] == len(set(rows))
    found = scale.release(str(policy), "duckdb", "1GB", str(tmp_path))
    assert found["holds"]
    published = Counter(pl.read_parquet(target).select(scale.DATES_QUASI).rows())
    assert min(published.values()) >= 10
    assert len(published) == found["classes"]
    about = {"table": "dates", "rows": 600, "case": "k=10", "memory": "1GB", "floor": floor}
    run_ = {**found, "seconds": 2 * floor["seconds"], "peak_bytes": measure.tree_peak_bytes(), "load": 0.5}
    recount = scale.verify(str(policy), "1GB", str(tmp_path))
    assert (recount["holds"], recount["classes"]) == (True, len(published))
    verify = {**recount, "cpu_seconds": 3 * floor["cpu_seconds"], "peak_bytes": measure.tree_peak_bytes()}
    shown = scale.shown([{**about, "run": run_, "order_ratio": 0.25, "verify": verify}])
    cells = {str(column.header): list(column.cells) for column in shown.columns}
    assert cells["run/floor"] == ["2.00"]
    assert cells["order/floor"] == ["0.25"]
    assert cells["verify/floor"] == ["3.00"]
    assert list(cells) == list(scale.COLUMNS)


def test_all_sizes_are_measured_unless_it_must_be_quick():
    assert scale.arguments([]).rows == [10**6, 10**7, 10**8]
    assert scale.arguments([]).shards > 0
    quick = scale.arguments(["--quick"])
    assert (quick.rows, quick.dates, quick.shards) == ([10**6], [10**6], 10**6)
