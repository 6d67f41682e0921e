"""What the first run of a version waits for is said."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import tablecloak as tc
from notes import Notes
from tablecloak.algorithms.topdown.auto import Auto
from tablecloak.kernels import dispatch, kept
from tablecloak.kernels.box_search import search_loop
from tablecloak.sample import patients


def phases_of(kind):
    roles = {"birth_date": {"role": "quasi"}, "sex": {"role": "quasi"}}
    policy = tc.Policy.model_validate(
        {"version": 1, "columns": roles, "others": "drop", "goals": [{"model": "k-anonymity", "k": 3}],
         "algorithm": {"kind": kind}}
    )  # fmt: skip
    seen = Notes()
    tc.anonymize(patients(200), policy, progress=seen)
    return seen.notes


def test_compiling_is_a_phase_of_its_own(monkeypatch):
    compiled = []
    monkeypatch.setattr(Auto, "must_compile", lambda self, n: True)
    monkeypatch.setattr(Auto, "compile", lambda self, n: compiled.append(n))
    assert phases_of("auto")["compile"] == "kernels, once for this version"
    assert len(compiled) == 1


@pytest.mark.parametrize("kind", ["auto", "mondrian"])
def test_small_tables_wait_for_no_compiler(kind):
    assert "compile" not in phases_of(kind)


@pytest.mark.parametrize("labels", ["hierarchy", "set"])
def test_kernels_that_were_kept_need_no_compiler(monkeypatch, labels):
    pytest.importorskip("numba")
    kept = search_loop(as_sets=labels == "set")
    monkeypatch.setattr(dispatch, "was_kept", lambda loop: loop is kept)
    other = {"hierarchy": "set", "set": "hierarchy"}[labels]
    assert not Auto(labels=labels).must_compile(dispatch.REFINED_FROM)
    assert Auto(labels=other).must_compile(dispatch.REFINED_FROM)
    assert not Auto(labels=other).must_compile(dispatch.REFINED_FROM - 1)


def test_a_kernel_is_kept_once_it_was_compiled(tmp_path, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(kept.KernelLocator, "folder", tmp_path)
    loop = dispatch.jit(twice)
    assert not dispatch.was_kept(loop)
    assert dispatch.machine_code(loop)(2) == 4
    assert dispatch.was_kept(loop)
    monkeypatch.setattr(dispatch.sys, "version_info", SimpleNamespace(major=2, minor=0))
    assert not dispatch.was_kept(loop)


def twice(x):
    return x + x
