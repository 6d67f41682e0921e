"""Policy files: places of complaints, overrides, writing, JSON Schema."""

from pathlib import Path

import pytest

from tablecloak import registry
from tablecloak.errors import PolicyError
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.policy.load import dump_policy, json_schema, load_policy, parse_policy
from tablecloak.policy.schema import Policy

TEXT = """\
# a comment
version: 1
input: patients.csv
columns:
  name: {role: identifier, transform: drop}
  birth_date: {role: quasi, hierarchy: {kind: dates, levels: [month, year, decade]}}
  zip: {role: quasi, weight: 2, hierarchy: {kind: mask, from: right}}
  sex: quasi
  "first.name": keep
  diagnosis: {role: sensitive}
goals:
  - {model: k-anonymity, k: 5}
  - model: l-diversity
    l: 3
    sensitive: diagnosis
algorithm: {kind: mondrian, suppression_limit: 0.02}
output: {path: out/patients.parquet}
"""


def parse(text=TEXT, *overrides):
    return parse_policy(text, name="policy.yaml", base=Path("folder"), overrides=overrides)


def complaint(text, *overrides):
    with pytest.raises(PolicyError) as caught:
        parse(text, *overrides)
    return str(caught.value)


def test_a_file_is_read_relative_to_its_folder(tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text(TEXT, encoding="utf-8-sig")
    policy = load_policy(file)
    assert policy.input_path == tmp_path / "patients.csv"
    assert policy.goals[0] == KAnonymity(k=5)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("    l: 3", "    l: 1.5", "policy.yaml:14:8  goals[1].l must be >= 2, got 1.5"),
        ("k: 5", "k: five", "policy.yaml:12:29  goals[0].k must be a whole number, got 'five'"),
        ("k: 5", "k: 2.5", "policy.yaml:12:29  goals[0].k must be a whole number, got 2.5"),
        (
            "weight: 2",
            "wieght: 2",
            "policy.yaml:7:22  columns.zip: unknown key 'wieght'\n  try  did you mean 'weight'?",
        ),
        ("version: 1", "version: 2", "policy.yaml:2:10  version must be 1, got 2"),
        (
            "  sex: quasi",
            "  1: quasi",
            "policy.yaml:8:3  columns[1]: names must be text\n  try  put the name in quotes",
        ),
        ("{role: sensitive}", "{}", "policy.yaml:10:14  columns.diagnosis.role is missing"),
        (
            "kind: mondrian",
            "kind: mondrain",
            "policy.yaml:16:19  algorithm.kind: unknown algorithm 'mondrain'\n  try  did you mean 'mondrian'?",
        ),
    ],
)
def test_a_complaint_has_its_place(old, new, expected):
    assert old in TEXT
    assert complaint(TEXT.replace(old, new)) == expected


def test_complaints_come_in_the_order_of_the_file():
    text = TEXT.replace("k: 5", "k: 1").replace("sex: quasi", "sex: quasy").replace("output:", "outptu:")
    lines = [line for line in complaint(text).splitlines() if not line.startswith("  try")]
    assert [line.split()[0] for line in lines] == ["policy.yaml:8:8", "policy.yaml:12:29", "policy.yaml:17:1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "policy.yaml is empty\n  try  a policy needs at least columns and goals"),
        ("# only a comment\n", "policy.yaml is empty\n  try  a policy needs at least columns and goals"),
        ("- 1\n", "policy.yaml:1:1  a policy is a mapping with the keys columns and goals"),
        ("seed: 1\nseed: 2\n", "policy.yaml:2:1  found duplicate key 'seed'\n  try  remove one"),
        ("columns:\n\tage: quasi\n", "policy.yaml:2:1  a tab cannot indent YAML\n  try  use spaces"),
        ("goals: [1\n", "policy.yaml:2:1  expected ',' or ']', but got '<stream end>'"),
        ("seed: 1\n---\nseed: 2\n", "policy.yaml:2:1  but found another document"),
        ("goals: " + "[" * 600, "policy.yaml is nested too deeply"),
    ],
)
def test_what_is_not_a_policy_is_refused(text, expected):
    assert complaint(text) == expected


def test_control_characters_are_refused():
    assert complaint("seed: \x00").startswith("policy.yaml is not YAML: unacceptable character #x0000")


def test_tags_are_refused():
    assert "is not supported" in complaint("seed: !!python/object:os.system 1")


@pytest.mark.slow
def test_aliases_cannot_explode():
    levels = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    assert complaint("\n".join(["a0: &a0 [1]", *levels])).startswith("policy.yaml is too large")


def test_aliases_and_merges_work():
    text = """\
columns:
  a: &q {role: quasi, weight: 2}
  b: *q
  c: {<<: *q, weight: 3}
goals: [{model: k-anonymity, k: 2}]
"""
    columns = parse(text).columns
    assert columns["b"] == columns["a"]
    assert (columns["c"].role, columns["c"].weight) == ("quasi", 3)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a: \xe9"])
def test_other_encodings_are_refused(tmp_path, content):
    file = tmp_path / "p.yaml"
    file.write_bytes(content)
    with pytest.raises(PolicyError, match="is not UTF-8 text"):
        load_policy(file)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(PolicyError, match="there is no policy file"):
        load_policy(tmp_path / "nothing.yaml")
    with pytest.raises(PolicyError, match="is a folder"):
        load_policy(tmp_path)


def test_overrides_change_values():
    policy = parse(
        TEXT, "goals.0.k=10", "columns.sex.weight=3", "input=/data/x.csv", "algorithm.mode=relaxed", "seed=4"
    )
    assert policy.goals[0].k == 10
    assert (policy.columns["sex"].role, policy.columns["sex"].weight) == ("quasi", 3)
    assert policy.input_path == Path("/data/x.csv")
    assert (policy.algorithm.mode, policy.algorithm.suppression_limit) == ("relaxed", 0.02)
    assert policy.seed == 4


def test_overrides_add_columns_goals_and_sections():
    text = "columns: {age: quasi}\ngoals: [{model: k-anonymity, k: 2}]\n"
    overrides = [
        "columns.zip=quasi",
        "goals.1={model: k-anonymity, k: 3}",
        "algorithm.mode=relaxed",
        "output.path=o.csv",
    ]
    policy = parse(text, *overrides)
    assert list(policy.columns) == ["age", "zip"]
    assert policy.goals[1] == KAnonymity(k=3)
    assert policy.algorithm.mode == "relaxed"
    assert policy.output_path == Path("folder/o.csv")


def test_an_override_reaches_names_with_dots():
    assert parse(TEXT, "columns.first.name.role=drop").columns["first.name"].role == "drop"


def test_a_value_may_contain_an_equals_sign():
    assert parse(TEXT, "output.path=a=b.csv").output.path == "a=b.csv"


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("goals.0.k=1", "--set goals.0.k=1  goals[0].k must be >= 2, got 1"),
        ("goals.7.k=3", "--set goals.7.k=3: goals has 2 entries, numbered from 0"),
        ("goals.first.k=3", "--set goals.first.k=3: goals has 2 entries, numbered from 0"),
        ("colums.age.role=keep", "--set colums.age.role=keep: there is no colums\n  try  did you mean 'columns'?"),
        ("columns.zp.role=keep", "--set columns.zp.role=keep: there is no columns.zp\n  try  did you mean 'zip'?"),
        ("goals.0.k.x=3", "--set goals.0.k.x=3: goals[0].k has no parts"),
        ("goals.0.k", "--set goals.0.k has no value\n  try  write --set goals.0.k=10"),
        ("=3", "--set =3 has no value\n  try  write --set goals.0.k=10"),
        ("seed=[1", "--set seed=[1: the value is not YAML\n  try  put it in quotes"),
        ("sed=3", "--set sed=3  unknown key 'sed'\n  try  did you mean 'seed'?"),
    ],
)
def test_a_wrong_override_is_explained(override, expected):
    assert complaint(TEXT, override) == expected


def test_a_written_policy_reads_back_equal():
    policy = parse()
    assert parse(dump_policy(policy)) == policy


def test_defaults_are_not_written():
    policy = Policy(columns={"age": "quasi"}, goals=[KAnonymity(k=5)])
    assert dump_policy(policy) == "version: 1\ncolumns:\n  age: {role: quasi}\ngoals:\n- {model: k-anonymity, k: 5}\n"


def branches(node, schema):
    for branch in node["anyOf"]:
        yield schema["$defs"][branch["$ref"].rpartition("/")[2]] if "$ref" in branch else branch


def test_the_schema_has_every_model():
    schema = json_schema()
    items = schema["properties"]["goals"]["items"]
    by_name = {b["properties"]["model"]["const"]: b for b in branches(items, schema)}
    assert set(by_name) == set(registry.known("models"))
    k = by_name["k-anonymity"]
    assert k["required"] == ["model", "k"]
    assert k["properties"]["k"]["minimum"] == 2
    assert k["additionalProperties"] is False


def test_a_newly_registered_model_appears_in_the_schema(monkeypatch):
    registry.known("models")
    monkeypatch.setitem(registry._known["models"], "my-model", KAnonymity)
    assert '"my-model"' in str(json_schema()).replace("'", '"')


def test_every_reference_of_the_schema_resolves():
    schema = json_schema()

    def references(node):
        if isinstance(node, dict):
            yield from [node["$ref"]] if isinstance(node.get("$ref"), str) else []
            for value in node.values():
                yield from references(value)
        elif isinstance(node, list):
            for value in node:
                yield from references(value)

    assert {r.rpartition("/")[2] for r in references(schema)} <= set(schema["$defs"])
