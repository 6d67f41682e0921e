"""Outputs of every verb are those that were recorded, byte for byte but for seconds, memory, dates and versions.

Where a difference is meant, `make golden` writes the record anew and lists what changed; `tests/golden/write.py --keep`
leaves the texts behind the digests, to be compared with those of another version.
"""

from __future__ import annotations

import json

import pytest
import record
from cases import all_cases
from observing import said
from verbs import BASIC, observe, verbs_of

import effort

pytestmark = pytest.mark.fresh_secrets  # the corpus has a secret of its own
CASES = {case.name: case for case in all_cases()}
EXPECTED = record.load()
WIDE = [name for name, case in CASES.items() if case.is_wide]
OTHERS = [name for name, case in CASES.items() if not case.is_wide]
# `make thorough` asks all cases on both; engines differ in how they read, code, publish and recount, not in a case.
LOCAL = list(CASES) if effort.IS_THOROUGH else WIDE + OTHERS[::2]
ON_DISK = list(CASES) if effort.IS_THOROUGH else WIDE[::2] + OTHERS[1::8]


def asked_of(name, engine):
    """Where not all is asked, every second of the verbs that follow, the others of the next case."""
    verbs = verbs_of(CASES[name], engine)
    if effort.IS_THOROUGH or engine != "local" or name not in WIDE:
        return verbs
    return BASIC + verbs[len(BASIC) + WIDE.index(name) % 2 :: 2]


def changes(name, engine, verbs, folder):
    """What differs from the record, one line a field."""
    answers = observe(CASES[name], engine, folder / "case", verbs)
    keys = [(name, verb, engine) for verb in verbs]
    actual = {(name, verb, engine): answer.fields for verb, answer in answers.items()}
    return [f"{key[1]} {line}" for key in keys for line in record.differences(EXPECTED.get(key), actual.get(key))]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.is_fast][::3])
def test_everyday_outputs_are_those_recorded(name, tmp_path):
    assert changes(name, "local", BASIC, tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "engine"), [*((name, "local") for name in LOCAL), *((name, "duckdb") for name in ON_DISK)]
)
def test_outputs_are_those_recorded(name, engine, tmp_path):
    assert changes(name, engine, asked_of(name, engine), tmp_path) == []


def test_every_model_and_algorithm_is_in_the_corpus():
    policies = [case.policy for case in CASES.values()]
    models = {goal["model"] for policy in policies for goal in policy["goals"]}
    algorithms = {policy["algorithm"]["kind"] for policy in policies if "algorithm" in policy}
    listed = {kind: {entry["name"] for entry in registered(kind)} for kind in ("models", "algorithms")}
    assert (listed["models"] - models, listed["algorithms"] - algorithms) == (set(), set())


def registered(kind):
    return json.loads(said("list", kind, "--json").texts["out"])[kind]


def test_nothing_is_recorded_of_cases_that_are_gone():
    assert {case for case, _, _ in EXPECTED} == set(CASES)


def test_nothing_that_is_recorded_is_a_bug():
    assert [key for key, fields in EXPECTED.items() if fields["exit"] == 1] == []
