"""What the first run of a version waits for is said, is done side by side, and does not depend on other processes."""

from __future__ import annotations

import os
import subprocess
from types import SimpleNamespace

import pytest

import tablecloak as tc
from notes import Notes
from tablecloak.algorithms.topdown.auto import Auto
from tablecloak.algorithms.topdown.mondrian import Mondrian
from tablecloak.kernels import compiling, dispatch, kept, loading
from tablecloak.kernels.loading import AUCTION, BOXES, REFINE, SETS, STEPS, Step
from tablecloak.models.base import Goal
from tablecloak.progress import Silent
from tablecloak.sample import patients

BY_NAME = {step.name: step for step in STEPS}
# One that a process compiles in a second or two.
QUICK = BY_NAME["counts records"]
SIZE = Goal((tc.KAnonymity(k=3),))
DISTANCE = Goal((tc.KAnonymity(k=3), tc.TCloseness(t=0.3)))


def phases_of(kind):
    roles = {"birth_date": {"role": "quasi"}, "sex": {"role": "quasi"}}
    policy = tc.Policy.model_validate(
        {"version": 1, "columns": roles, "others": "drop", "goals": [{"model": "k-anonymity", "k": 3}],
         "algorithm": {"kind": kind}}
    )  # fmt: skip
    seen = Notes()
    tc.anonymize(patients(200), policy, progress=seen)
    return seen.notes


class Bar(Silent):
    """Progress that keeps what a bar would show."""

    def __init__(self):
        self.totals, self.counts, self.names = [], [], []

    def start(self, phase, total=None):
        if phase == "compile":
            self.totals.append(total)

    def advance(self, done):
        self.counts.append(done)

    def doing(self, what):
        self.names.append(what)


def steps_named(*names, used=None):
    return [Step(name, (), lambda name=name: used is not None and used.append(name)) for name in names]


@pytest.fixture
def no_processes(monkeypatch):
    def start(*_, **__):
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", start)


@pytest.fixture
def nothing_kept(monkeypatch):
    monkeypatch.setattr(Step, "is_kept", False)


@pytest.mark.usefixtures("no_processes", "nothing_kept")
def test_compiling_is_a_phase_of_its_own(monkeypatch):
    used = []
    monkeypatch.setattr(Auto, "kernels", lambda self, n, goal: steps_named("a", "b", used=used))
    assert phases_of("auto")["compile"] == "2 kernels, once for this version"
    assert used == ["a", "b"]


@pytest.mark.usefixtures("no_processes")
def test_kernels_that_are_kept_start_no_process_and_no_phase(monkeypatch):
    monkeypatch.setattr(Step, "is_kept", True)
    monkeypatch.setattr(Auto, "kernels", lambda self, n, goal: STEPS)
    assert "compile" not in phases_of("auto")


@pytest.mark.parametrize("kind", ["auto", "mondrian"])
def test_small_tables_wait_for_no_compiler(kind):
    assert "compile" not in phases_of(kind)


@pytest.mark.usefixtures("no_processes")
def test_the_bar_counts_kernels_and_names_each():
    bar = Bar()
    compiling.compile_kernels(steps_named("a", "b", "c"), bar)
    assert bar.names == ["a", "b", "c"]
    assert bar.counts == [1, 2, 3]


def test_a_run_compiles_what_it_needs_and_no_more():
    pytest.importorskip("numba")
    n = dispatch.REFINED_FROM
    special = {REFINE, BOXES, SETS, AUCTION}

    def asked(algorithm, goal):
        return special & set(algorithm.kernels(n, goal))

    assert asked(Mondrian(), SIZE) == set()
    assert asked(Auto(), SIZE) == {REFINE, BOXES, AUCTION}
    assert asked(Auto(), DISTANCE) == {REFINE}
    assert asked(Auto(labels="set"), SIZE) == {REFINE, BOXES, SETS}
    assert Auto().kernels(n - 1, SIZE) == ()
    assert Mondrian().kernels(dispatch.COMPILED_FROM - 1, SIZE) == ()


def test_every_kernel_of_a_search_by_cuts_is_kept_under_its_own_name():
    pytest.importorskip("numba")
    loops = [loop for step in STEPS for loop in step.loops]
    assert len({loop.__name__ for loop in loops}) == len(loops)
    assert len(BY_NAME) == len(STEPS)


def test_processes_that_die_leave_their_kernels_to_the_run(monkeypatch):
    used, bar = [], Bar()
    monkeypatch.setattr(compiling, "_n_processors", lambda: 2)
    monkeypatch.setattr(compiling, "CHILD", "import os; os._exit(9)")
    parts = [*steps_named("a", used=used), Step("b", (), lambda: used.append("b"), is_refining=True)]
    compiling.compile_kernels(parts, bar)
    assert used == ["a", "b"]
    assert bar.counts[-1] == 2


def test_where_no_process_can_be_started_the_run_compiles(monkeypatch):
    def refuse(*_, **__):
        raise PermissionError

    used = []
    monkeypatch.setattr(compiling, "_n_processors", lambda: 2)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    parts = [*steps_named("a", used=used), Step("b", (), lambda: used.append("b"), is_refining=True)]
    compiling.compile_kernels(parts, Bar())
    assert used == ["a", "b"]


@pytest.mark.usefixtures("no_processes")
@pytest.mark.parametrize("program", [None, "", "/usr/bin/uwsgi"])
def test_only_python_is_started(monkeypatch, program):
    monkeypatch.setattr(compiling, "_n_processors", lambda: 2)
    monkeypatch.setattr(compiling.sys, "executable", program)
    parts = [*steps_named("a"), Step("b", (), lambda: None, is_refining=True)]
    compiling.compile_kernels(parts, Bar())


@pytest.mark.usefixtures("no_processes")
def test_one_processor_compiles_by_itself(monkeypatch):
    monkeypatch.setattr(compiling, "_n_processors", lambda: 1)
    parts = [*steps_named("a"), Step("b", (), lambda: None, is_refining=True)]
    compiling.compile_kernels(parts, Bar())


SLOW_CHILD = """
import os, sys, time
open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
print("begins", sys.argv[2], flush=True)
time.sleep(60)
"""


def test_no_process_is_left_behind_when_somebody_stops(tmp_path, monkeypatch):
    class StopError(Exception):
        pass

    class Impatient(Silent):
        def advance(self, done):
            if len(list(tmp_path.iterdir())) == 2:
                raise StopError

    monkeypatch.setattr(compiling, "_n_processors", lambda: 2)
    monkeypatch.setattr(compiling, "CHILD", SLOW_CHILD)
    monkeypatch.setattr(dispatch, "folder", lambda: tmp_path)
    parts = [*steps_named("a"), Step("b", (), lambda: None, is_refining=True)]
    with pytest.raises(StopError):
        compiling.compile_kernels(parts, Impatient())
    for each in tmp_path.iterdir():
        with pytest.raises(ProcessLookupError):
            os.kill(int(each.name), 0)


@pytest.mark.slow
def test_a_process_compiles_into_the_folder_of_the_run(tmp_path, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(kept.KernelLocator, "folder", tmp_path)
    monkeypatch.setattr(compiling, "_n_processors", lambda: 2)
    bar = Bar()
    done = compiling._in_processes([[QUICK], [BY_NAME["makes cuts"]]], bar)
    assert set(done) == {"counts records", "makes cuts"} == set(bar.names)
    assert len(list(tmp_path.glob("*.nbi"))) == 2


def test_somebody_is_told_what_is_being_compiled(tmp_path, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(kept.KernelLocator, "folder", tmp_path)
    told = []
    loop = dispatch.jit(twice)
    with dispatch.announced(told.append):
        assert dispatch.machine_code(loop)(2) == 4
        assert dispatch.machine_code(loop)(3) == 6
    assert told == ["test compiling"]


@pytest.mark.usefixtures("no_processes")
def test_what_was_never_compiled_is_not_compiled_while_a_file_is_read(monkeypatch, nothing_kept):
    used = []
    monkeypatch.setattr(dispatch, "COMPILED_FROM", 1)
    monkeypatch.setattr(loading, "STEPS", tuple(steps_named("a", used=used)))
    loading.preload(10)
    for thread in dispatch.LOADING:
        thread.join()
    assert used == []


def test_a_kernel_is_kept_once_it_was_compiled(tmp_path, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(kept.KernelLocator, "folder", tmp_path)
    loop = dispatch.jit(thrice)
    assert not dispatch.was_kept(loop)
    assert dispatch.machine_code(loop)(2) == 6
    assert dispatch.was_kept(loop)
    other = SimpleNamespace(magic_tuple=lambda: ("another processor",))
    monkeypatch.setattr(dispatch.machine_code(loop).targetctx, "codegen", lambda: other)
    assert not dispatch.was_kept(loop)


def twice(x):
    return x + x


def thrice(x):
    return 3 * x
