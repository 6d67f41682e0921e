"""The algorithm of a policy that names none."""

from __future__ import annotations

import pytest

from tablecloak.errors import IncompatibleChoice
from tablecloak.policy.load import dump_policy, parse_policy
from tablecloak.release.plan import make_plan

K = "{model: k-anonymity, k: 2}"
EM = "{model: em-anonymity, epsilon: 1, m: 2}"  # a class of two admitted ones may fail it


def policy_of(tmp_path, goal, *, algorithm=""):
    text = f"columns: {{age: quasi, pay: sensitive}}\ngoals: [{goal}]\n{algorithm}"
    return parse_policy(text, name="policy", base=tmp_path)


@pytest.mark.parametrize(("goal", "name"), [(K, "auto"), (EM, "mondrian")])
def test_it_is_auto_unless_auto_cannot_enforce_the_goal(tmp_path, goal, name):
    policy = policy_of(tmp_path, goal)
    assert make_plan(policy, ["age", "pay"]).algorithm.name == name
    assert "algorithm" not in dump_policy(policy)


def test_auto_asked_for_by_name_is_not_replaced(tmp_path):
    policy = policy_of(tmp_path, EM, algorithm="algorithm: auto\n")
    with pytest.raises(IncompatibleChoice, match="em-anonymity"):
        make_plan(policy, ["age", "pay"])
