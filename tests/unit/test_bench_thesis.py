"""The grid of the thesis: which runs it has, what is not measured twice, and what is said of the figures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are not part of the installed package

from benchmarks import claims, scale_spark, thesis
from benchmarks.thesis import DISK, Cell

from tablecloak.policy.load import load_policy


def result(quasi: str, k: int, method: str = DISK, **figures: Any) -> dict[str, Any]:
    known = {"mode": None, "solve_cpu": 1.0, "cpu_seconds": 2.0, "seconds": 3.0, "ncp": 0.25, "total": 0.5}
    known |= {"classes": 7, "peak_bytes": 10**9, "holds": True}
    return {"rows": 9, "quasi": quasi, "k": k, "method": method, **known, **figures}


def asked(*given: str) -> Any:
    return thesis.arguments(["--rows", "9", *given])


def test_all_methods_see_all_attributes_and_the_disk_based_one_more_k():
    cells = list(thesis.cells_of(9, asked()))
    assert len(cells) == len(set(cells)) == 6 * 9 * 3 - 2 * 3 + 4 * 4
    assert {c.k for c in cells if c.method == DISK and c.quasi == "date"} == {2, 4, 5, 10, 20, 50, 100}
    assert not [c for c in cells if c.quasi == "salary as a range" and c.method in ("auto", "flash")]


def test_cells_are_policies(tmp_path: Path):
    (tmp_path / "icd.csv").write_text("a;*\n")
    policy = load_policy(Cell(9, "age, icd", 4, "classic").policy(tmp_path))
    assert policy.algorithm.name == DISK
    assert policy.algorithm.mode == "classic"
    assert [name for name, column in policy.columns.items() if column.hierarchy] == ["age", "icd"]
    alone = load_policy(Cell(9, "salary as a range", 4, DISK).policy(tmp_path))
    assert alone.columns["salary"].hierarchy is None


def test_a_mode_that_was_chosen_by_itself_is_not_measured_again(tmp_path: Path):
    path = tmp_path / "figures.jsonl"
    told = [result("date", 4), result("date", 100, mode="classic"), result("icd", 4, failed="not within 1 CPU s")]
    path.write_text("".join(json.dumps({"bench": "thesis", **r}) + "\n" for r in told) + '{"bench": "scale"}\n')
    before = thesis.known(path)
    assert len(before) == 3

    def mode_of(quasi: str, k: int, method: str) -> Any:
        found = thesis.same_as(Cell(9, quasi, k, method), before)
        return found and (found["mode"] or "none")

    assert mode_of("date", 4, DISK) == "none"
    assert (mode_of("date", 4, "classic"), mode_of("date", 4, "optimized")) == ("none", "none")  # nothing was dealt
    assert (mode_of("date", 100, "classic"), mode_of("date", 100, "optimized")) == ("classic", None)
    assert mode_of("date", 4, "auto") is None
    assert mode_of("icd", 4, "classic") is None
    results = list(thesis.results_of(tmp_path, asked("--only", "date", "--k", "4", "--more-k", "--methods", DISK,
                                                     "optimized", "--output", str(path))))  # fmt: skip
    assert [(r["method"], r["ncp"]) for r in results] == [(DISK, 0.25), ("optimized", 0.25)]
    shown = thesis.results_of(tmp_path, asked("--known", "--output", str(path)))
    assert [(r["quasi"], r["k"], r["method"]) for r in shown] == [
        ("date", 4, DISK), ("date", 100, DISK), ("icd", 4, DISK), ("date", 4, "classic"), ("date", 100, "classic"),
        ("date", 4, "optimized"),
    ]  # fmt: skip


def test_a_direction_is_so_not_so_or_not_measured_at_every_k():
    assert claims.verdict({4: True, 10: False, 100: True}.__getitem__, [4, 10, 50, 100]) == (
        "so here at k = 4, 100; **not** so here at k = 10; not measured at k = 50"
    )


def test_directions_compare_measured_figures():
    results = [result("date", 100, ncp=0.01, total=0.2), result("age, icd", 10, "flash", total=0.503)]
    results += [result("age, icd", 4, "flash", ncp=0.5), result("age", 10), result("age", 4, mode="classic")]
    results += [result("date", 10, "flash", failed="not within 1 CPU s"), result("salary", 4, ncp=0.0009)]
    said = {line.split(" | ")[0]: line.split(" | ")[1] for line in claims.directions(results).splitlines()[2:]}
    assert said["| age needs no clustering"] == (
        "so here at k = 10; **not** so here at k = 4; not measured at k = 100 |"
    )
    assert said["| Flash on age and ICD leaves age and sends ICD to the root (Total and NCP 0.5)"] == (
        "so here at k = 4; **not** so here at k = 10; not measured at k = 100 |"
    )
    assert said["| salary is nearly k-anonymous by itself (NCP below 0.001)"].startswith("so here at k = 4; not mea")
    assert said["| Total of the date of death is far above its NCP (five times)"] == "so here at k = 100 |"
    assert said["| of single attributes, salary has the lowest NCP (age aside)"] == "not measured at k = 100 |"
    assert sum(answer.startswith("not measured") for answer in said.values()) == len(said) - 4


def test_tables_show_the_other_mode_and_runs_that_were_given_up():
    results = [result("date", 100, "auto"), result("date", 4, failed="not within 1 CPU s")]
    results += [result("age, icd", 4, m, mode=m if m in claims.MODES else "classic", ncp=n, total=None)
                for m, n in ((DISK, 0.1), ("classic", 0.1), ("optimized", 0.3), ("source", 0.4))]  # fmt: skip
    low = "1.0 / 0.1000 / –"
    assert claims.tables(results).splitlines()[2:] == [
        "| date | 4 | not within 1 CPU s | – | – | – | – |",
        "| date | 100 | – | – | – | 1.0 / 0.2500 / 0.500 | – |",
        f"| age, icd | 4 | classic: {low} | optimized: 1.0 / 0.3000 / – | classic: 1.0 / 0.4000 / – | – | – |",
        "",
        "Processor seconds of the search / NCP / Total. 4 of 5 runs finished; the largest peak memory was 1.00 GB.",
    ]


@pytest.mark.slow
def test_a_run_that_takes_too_long_is_given_up(tmp_path: Path):
    cell = Cell(300, "age, icd", 4, DISK)
    found = thesis.measured(cell, tmp_path, "1GB", 300)
    assert found["holds"]
    assert found["mode"] == "classic"
    assert 0 < found["ncp"] < 1
    assert 0 < found["solve_cpu"] < found["cpu_seconds"]
    assert thesis.measured(cell, tmp_path, "1GB", 0) == {"failed": "not within 0 s"}


@pytest.mark.slow
def test_processes_count_as_long_as_they_run_and_their_work_beyond():
    watch, here = scale_spark.Watch(), sum(scale_spark.tree_bytes().values())
    work = "import sys, time; held = bytearray(200_000_000)\nwhile time.process_time() < 0.3: pass\nprint(flush=True)"
    child = subprocess.Popen(
        [sys.executable, "-S", "-c", f"{work}\nsys.stdin.read()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    child.stdout.readline()
    watch.look()
    assert child.pid in scale_spark.tree()
    assert watch.peak_bytes - here > 100_000_000
    child.communicate(b"")
    watch.look()
    assert child.pid not in scale_spark.tree()
    assert watch.peak_bytes - here > 100_000_000
    assert sum(watch.cpu_of.values()) > 0.25
