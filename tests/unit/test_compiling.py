"""What the first run of a version waits for is said."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import tablecloak as tc
from notes import Notes
from tablecloak import kernels
from tablecloak.algorithms.auto import Auto
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
    compiled = pytest.importorskip("tablecloak.kernels.compiled", reason="needs numba")
    kept = {compiled.search_boxes: labels == "hierarchy", compiled.vary_boxes: labels == "set"}
    monkeypatch.setattr(compiled, "was_kept", kept.get)
    other = {"hierarchy": "set", "set": "hierarchy"}[labels]
    assert not Auto(labels=labels).must_compile(kernels.COMPILED_FROM)
    assert Auto(labels=other).must_compile(kernels.COMPILED_FROM)
    assert not Auto(labels=other).must_compile(kernels.COMPILED_FROM - 1)


def test_a_kernel_is_kept_once_it_was_compiled(tmp_path, monkeypatch):
    jit = pytest.importorskip("tablecloak.kernels.compiled.jit", reason="needs numba")
    monkeypatch.setattr(jit.config, "CACHE_DIR", str(tmp_path))
    kernel = jit.jit(twice)
    assert not jit.was_kept(kernel)
    assert kernel(2) == 4
    assert jit.was_kept(kernel)
    monkeypatch.setattr(jit.sys, "version_info", SimpleNamespace(major=2, minor=0))
    assert not jit.was_kept(kernel)


def twice(x):
    return x + x
