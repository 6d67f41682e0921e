"""`--effort` and `--budget`: parameters of the algorithm, for one run."""

import pytest

from tablecloak.cli.options import EffortName, read_policy
from tablecloak.cli.settings import Settings
from tablecloak.errors import PolicyError
from tablecloak.values.amounts import parse_seconds

POLICY = """\
columns: {age: quasi}
goals: [{model: k-anonymity, k: 3}]
algorithm: {kind: %s}
"""


@pytest.fixture
def policy_file(tmp_path):
    def write(algorithm):
        path = tmp_path / "policy.yaml"
        path.write_text(POLICY % algorithm)
        return path

    return write


def test_effort_and_budget_are_parameters_of_the_algorithm(policy_file):
    policy = read_policy(policy_file("auto"), None, Settings(), effort=EffortName("best"), budget="2min")
    assert (policy.algorithm.effort, policy.algorithm.time_limit) == ("best", 120.0)


def test_effort_and_budget_stand_beside_set(policy_file):
    changes = ["algorithm.labels=set", "algorithm.time_limit=7"]
    policy = read_policy(policy_file("auto"), changes, Settings(), budget="500ms")
    assert (policy.algorithm.labels, policy.algorithm.time_limit) == ("set", 0.5)


@pytest.mark.parametrize(
    ("asked", "able"), [({"effort": EffortName("best")}, "auto"), ({"budget": "3s"}, "auto, best-first")]
)
def test_an_algorithm_without_the_parameter_refuses_and_names_those_that_have_it(policy_file, asked, able):
    with pytest.raises(PolicyError, match="mondrian has no") as caught:
        read_policy(policy_file("mondrian"), None, Settings(), **asked)
    assert caught.value.hint.endswith(f": {able}")


@pytest.mark.parametrize("command", ["run", "check"])
def test_commands_refuse_what_their_algorithm_lacks(cloak, policy_file, command):
    outcome = cloak(command, policy_file("mondrian"), "--effort", "best")
    assert outcome.code == 2
    assert "--effort: mondrian has no effort" in outcome.err


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("2min", 120), ("500ms", 0.5), ("1.5 H", 5400)])
def test_times_are_read_as_people_write_them(text, seconds):
    assert parse_seconds(text, "--budget") == seconds


@pytest.mark.parametrize("text", ["30", "s", "0s", "-3s", "2m", "1e3s", ""])
def test_other_texts_are_no_times(text):
    with pytest.raises(PolicyError, match="is not a time") as caught:
        parse_seconds(text, "--budget")
    assert "30s" in caught.value.hint
