"""Facts against a slow count of the same table."""

import random
from collections import Counter

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from tablecloak import pipeline
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.policy.sections import OutputSpec
from tablecloak.release.facts import collect as facts_module
from tablecloak.release.recount import verify_with_facts


def facts_of(frame, policy):
    release = tc.anonymize(frame, policy)
    return release, verify_with_facts(LocalEngine(), table_of(release.frame), release._plan, release._originals)[1]


def frame_of(seed, n=150):
    rng = random.Random(seed)
    return pl.DataFrame(
        {
            "age": [rng.choice([None, *range(20, 60)]) for _ in range(n)],
            "town": [rng.choice(["a", "b", "c", "d", "e"]) for _ in range(n)],
            "illness": [rng.choice("uvw") for _ in range(n)],
        }
    )


POLICY = tc.Policy(columns=tc.roles(quasi=["age", "town"], sensitive=["illness"]), goals=[tc.KAnonymity(k=4)])


@pytest.mark.parametrize("seed", range(4))
def test_exposure_is_that_of_a_slow_count(seed):
    frame = frame_of(seed)
    release, facts = facts_of(frame, POLICY)
    for found, table in ((facts.before, frame), (facts.after, release.frame)):
        sizes = Counter(table.select("age", "town").rows())
        assert found.n_records == table.height
        assert found.n_unique == sum(1 for n in sizes.values() if n == 1)
        assert found.highest == pytest.approx(max(1 / n for n in sizes.values()))
        assert found.average == pytest.approx(
            sum(1 / sizes[row] for row in table.select("age", "town").rows()) / table.height
        )


@pytest.mark.parametrize("seed", range(4))
def test_changed_cells_are_those_that_differ(seed):
    frame = frame_of(seed)
    in_order = POLICY.model_copy(update={"output": OutputSpec(path="out.csv", order="keep")})
    release, facts = facts_of(frame, in_order)
    for found in facts.quasi:
        before = frame[found.name].cast(pl.String).to_list()
        after = release.frame[found.name].cast(pl.String).to_list()
        assert found.changed == pytest.approx(sum(a != b for a, b in zip(before, after, strict=True)) / frame.height)
        assert found.distinct_before == len(set(before))
        assert found.distinct_after == len(set(after))


def test_classes_near_the_limit_and_their_sizes():
    release, facts = facts_of(frame_of(9), POLICY)
    sizes = Counter(Counter(release.frame.select("age", "town").rows()).values())
    assert dict(facts.class_sizes) == dict(sizes)
    assert facts.n_near_limit == sizes[4]  # at most 1.2 times 4
    assert facts.n_records_near_limit == 4 * sizes[4]


def test_skewed_classes_are_counted():
    frame = pl.DataFrame(
        {"age": [1] * 10 + [2] * 10, "town": ["a"] * 20, "illness": ["u"] * 9 + ["v"] + ["u", "v"] * 5}
    )
    _, facts = facts_of(frame, POLICY)
    (found,) = facts.sensitive
    assert found.n_skewed == 1
    assert found.worst_top_share == pytest.approx(0.9)
    assert found.top_share == pytest.approx(14 / 20)


def test_a_sensitive_value_that_only_suppressed_records_have_is_gone():
    ages = [9000, *([20 + i % 10 for i in range(60)])]
    frame = pl.DataFrame({"age": ages, "town": ["a"] * 61, "illness": ["odd", *(["u", "v"] * 30)]})
    policy = POLICY.model_copy(update={"algorithm": tc.Mondrian(suppression_limit=0.1)})
    release, facts = facts_of(frame, policy)
    assert "odd" not in release.frame["illness"].cast(pl.String).to_list()
    assert (facts.sensitive[0].distinct_before, facts.sensitive[0].distinct_after) == (3, 2)


@pytest.mark.parametrize("dense", [0, facts_module.DENSE_KEYS])
def test_sizes_of_the_original_do_not_depend_on_how_they_are_found(monkeypatch, dense):
    monkeypatch.setattr(facts_module, "DENSE_KEYS", dense)
    frame = frame_of(2)
    _, facts = facts_of(frame, POLICY)
    assert facts.before.n_unique == sum(1 for n in Counter(frame.select("age", "town").rows()).values() if n == 1)


def test_keys_of_several_words_are_grouped():
    rng = np.random.default_rng(0)
    columns = {f"c{i}": rng.integers(0, 2**20, 60).tolist() for i in range(14)}
    frame = pl.DataFrame({name: values + values[:20] for name, values in columns.items()})
    policy = tc.Policy(columns=tc.roles(quasi=list(columns)), goals=[tc.KAnonymity(k=4)])
    _, facts = facts_of(frame, policy)
    assert (facts.before.n_unique, facts.before.n_records) == (40, 80)


def test_nothing_is_collected_when_no_report_is_asked_for(monkeypatch, tmp_path):
    def refuse(*_, **__):
        raise AssertionError("collected")

    monkeypatch.setattr("tablecloak.release.recount.collect", refuse)
    frame_of(1).write_csv(tmp_path / "a.csv")
    policy = POLICY.with_files(source=tmp_path / "a.csv", target=tmp_path / "b.csv")
    assert pipeline.run(policy.with_documents(certificate=tmp_path / "c.json")).verification.holds
    with pytest.raises(AssertionError, match="collected"):
        pipeline.run(policy.with_documents(report=tmp_path / "r.html"), force=True)
    assert not (tmp_path / "r.html").exists()
