"""A loss that an algorithm cannot minimise is refused with a reason."""

from __future__ import annotations

from dataclasses import fields

import polars as pl
import pytest

import tablecloak as tc
from tablecloak import registry
from tablecloak.algorithms.fulldomain.optimal import Optimal
from tablecloak.errors import DataError, PolicyError


def policy(**algorithm):
    columns = {"a": {"role": "quasi"}, "s": {"role": "sensitive"}}
    return tc.Policy(columns=columns, goals=[{"model": "k-anonymity", "k": 2}], algorithm=algorithm)


FIXED = [n for n, cls in registry.known("algorithms").items() if all(f.name != "loss" for f in fields(cls))]


@pytest.mark.parametrize("kind", FIXED)
def test_algorithms_with_a_loss_of_their_own_name_it_and_those_that_have_a_choice(kind):
    with pytest.raises(PolicyError, match=f"{kind} has no choice of loss") as caught:
        policy(kind=kind, loss="iloss")
    assert "mondrian, ola, optimal" in str(caught.value)
    stated = registry.find("algorithms", kind).minimizes
    assert stated is None or f"it minimises {stated}" in str(caught.value)


def test_clustering_says_that_it_minimises_ncp():
    with pytest.raises(PolicyError, match="it minimises NCP"):
        policy(kind="k-member", loss="discernibility")


@pytest.mark.parametrize("loss", ["kl", "lp-norm", "hellinger"])
@pytest.mark.parametrize("kind", ["mondrian", "optimal"])
def test_metrics_of_distributions_are_no_losses(kind, loss):
    with pytest.raises(PolicyError, match=f"{loss} compares the distributions of whole columns"):
        policy(kind=kind, loss=loss)


def test_other_names_are_answered_with_the_list():
    with pytest.raises(PolicyError, match="must be 'ncp', 'gcp'"):
        policy(kind="optimal", loss="nothing")


@pytest.mark.parametrize("kind", ["mondrian", "optimal"])
def test_a_target_must_be_a_sensitive_column(kind):
    frame = {"a": [1, 1, 2, 2], "s": ["x", "y", "x", "y"]}
    with pytest.raises(DataError, match="no sensitive column 'a' to be the target"):
        tc.anonymize(pl.DataFrame(frame), policy(kind=kind, loss="igpl", target="a"))
    assert Optimal(loss="igpl").needs_sensitive
    assert not Optimal(loss="gcp").needs_sensitive
