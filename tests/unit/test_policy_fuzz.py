"""Whatever a policy file holds, the answer is a policy or a PolicyError."""

import io
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

import effort
from tablecloak.errors import PolicyError
from tablecloak.policy.load import dump_policy, parse_policy
from tablecloak.policy.schema import Policy

WORDS = [
    "version",
    "input",
    "columns",
    "others",
    "missing",
    "hierarchies",
    "goals",
    "algorithm",
    "output",
    "seed",
    "path",
    "format",
    "delimiter",
    "header",
    "role",
    "type",
    "hierarchy",
    "transform",
    "weight",
    "kind",
    "model",
    "k",
    "l",
    "t",
    "c",
    "variant",
    "sensitive",
    "distance",
    "mondrian",
    "mode",
    "suppression_limit",
    "k-anonymity",
    "l-diversity",
    "t-closeness",
    "quasi",
    "identifier",
    "keep",
    "drop",
    "star",
    "mask",
    "intervals",
    "dates",
    "order",
    "tree",
    "auto",
    "levels",
    "width",
    "from",
    "tuple",
    "str",
]

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 9), st.floats(), st.sampled_from(WORDS), st.text(max_size=5), st.dates()
)
nodes = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.sampled_from(WORDS), st.integers(0, 3)), inner, max_size=4),
    ),
    max_leaves=12,
)
columns = st.dictionaries(
    st.text(max_size=4),
    st.one_of(
        nodes, st.sampled_from(["quasi", "sensitive"]), st.fixed_dictionaries({"role": nodes, "hierarchy": nodes})
    ),
    max_size=3,
)
goals = st.lists(
    st.one_of(
        nodes,
        st.builds(
            lambda name, more: {"model": name, **more},
            st.sampled_from(WORDS),
            st.dictionaries(st.sampled_from(WORDS), nodes, max_size=2),
        ),
    ),
    max_size=2,
)
policies = st.builds(
    lambda more, cols, gs: {**more, "columns": cols, "goals": gs},
    st.dictionaries(st.sampled_from(WORDS[:10]), nodes, max_size=4),
    columns,
    goals,
)


def parse(text, *overrides):
    return parse_policy(text, name="p.yaml", base=Path(), overrides=overrides)


def answer(document, *overrides):
    """The policy, or None if a PolicyError that can be shown explains why not."""
    try:
        return parse(document, *overrides) if isinstance(document, str) else Policy.model_validate(document)
    except PolicyError as error:
        return None if str(error) and error.to_dict() else error


@given(st.one_of(policies, nodes))
@settings(max_examples=effort.often(40))
def test_any_document_is_a_policy_or_is_explained(data):
    stream = io.StringIO()
    YAML(typ="safe").dump(data, stream)
    policy = answer(stream.getvalue())
    assert policy is None or parse(dump_policy(policy)) == policy


@given(policies)
@settings(max_examples=effort.often(25))
def test_any_mapping_is_a_policy_or_is_explained(data):
    answer(data)


@given(st.text(max_size=40))
@settings(max_examples=effort.often(40))
def test_any_text_is_a_policy_or_is_explained(text):
    answer(text)


steps = st.one_of(st.sampled_from(WORDS), st.sampled_from(["0", "1", "7", "", "age"]))


@given(st.lists(steps, min_size=1, max_size=4), st.text(max_size=6))
@settings(max_examples=effort.often(40))
def test_any_override_works_or_is_explained(path, value):
    text = "input: a.csv\ncolumns: {age: quasi}\ngoals: [{model: k-anonymity, k: 2}]\n"
    answer(text, f"{'.'.join(path)}={value}")
