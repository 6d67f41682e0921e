"""Policies as values: what is accepted, what is refused, and in which words."""

import pytest

from tablecloak import registry
from tablecloak.data.table import ColumnType, Role
from tablecloak.errors import PolicyError
from tablecloak.hierarchy.kinds.mask import MaskSpec
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.policy.problems import InvalidPolicyError, show_path
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import InputSpec, Missing

K5 = {"model": "k-anonymity", "k": 5}


def problems(**data):
    with pytest.raises(InvalidPolicyError) as caught:
        Policy.model_validate(data)
    return {show_path(p.path): (p.message, p.hint) for p in caught.value.problems}


def minimal(**more):
    return {"columns": {"age": "quasi"}, "goals": [K5], **more}


def test_a_bare_role_means_a_column_with_that_role():
    policy = Policy(columns={"age": "quasi", "zip": {"role": "quasi", "type": "text"}}, goals=[K5])
    assert policy.columns["age"].role is Role.QUASI
    assert policy.columns["zip"].type is ColumnType.TEXT


def test_goals_become_models():
    assert Policy(**minimal()).goals == (KAnonymity(k=5),)


def test_model_instances_are_goals():
    assert Policy(**minimal(goals=[KAnonymity(k=7)])).goals == (KAnonymity(k=7),)


def test_defaults_deny():
    policy = Policy(**minimal())
    assert (policy.others, policy.missing, policy.seed, policy.output) == ("drop", Missing.VALUE, 0, None)
    assert type(policy.algorithm).__name__ == "Auto"


def test_a_bare_algorithm_name_means_its_defaults():
    assert Policy(**minimal(algorithm="auto")).algorithm == Policy(**minimal()).algorithm


def test_a_bare_input_is_its_path():
    assert Policy(**minimal(input="a.csv")).input == InputSpec(path="a.csv")


def test_a_policy_is_frozen():
    with pytest.raises(ValueError, match="frozen"):
        Policy(**minimal()).seed = 1


def test_a_bad_parameter_is_named():
    found = problems(columns={"age": "quasi"}, goals=[{"model": "k-anonymity", "k": 1}])
    assert found == {"goals[0].k": ("goals[0].k must be >= 2, got 1", None)}


def test_a_missing_parameter_is_named():
    found = problems(columns={"age": "quasi"}, goals=[{"model": "k-anonymity"}])
    assert found == {"goals[0].k": ("goals[0].k is missing", None)}


def test_an_unknown_model_has_a_nearest_name():
    found = problems(columns={"age": "quasi"}, goals=[{"model": "k-anonimity", "k": 3}])
    assert found["goals[0].model"] == ("goals[0].model: unknown model 'k-anonimity'", "did you mean 'k-anonymity'?")


def test_a_goal_without_model_lists_the_models():
    message, hint = problems(columns={"age": "quasi"}, goals=[{"k": 3}])["goals[0]"]
    assert message == "goals[0]: the key 'model' is missing"
    assert {"k-anonymity", "l-diversity"} <= set(hint.removeprefix("one of ").split(", "))


@pytest.mark.parametrize("goal", ["k-anonymity", 5, None, ["k-anonymity"]])
def test_a_goal_is_a_mapping(goal):
    assert problems(columns={"age": "quasi"}, goals=[goal])["goals[0]"][0].startswith("goals[0]: must be a mapping")


@pytest.mark.parametrize("value", [True, False])
def test_shuffle_is_gone_and_says_what_there_is_instead(value):
    message, hint = problems(**minimal(output={"path": "o.csv", "shuffle": value}))["output.shuffle"]
    assert "rows never stay in the order of the input unless asked for" in message
    assert hint == "order: random"


@pytest.mark.parametrize(
    ("data", "path", "hint"),
    [
        (minimal(colums={}), "colums", "did you mean 'columns'?"),
        (minimal(columns={"age": {"role": "quasi", "wieght": 1}}), "columns.age.wieght", "did you mean 'weight'?"),
        (minimal(goals=[{**K5, "kk": 1}]), "goals[0].kk", "did you mean 'k'?"),
        (minimal(output={"path": "o.csv", "ordre": "keep"}), "output.ordre", "did you mean 'order'?"),
        (minimal(input={"path": "o.csv", "delimeter": ","}), "input.delimeter", "did you mean 'delimiter'?"),
        (
            minimal(algorithm={"kind": "mondrian", "supression_limit": 0}),
            "algorithm.supression_limit",
            "did you mean 'suppression_limit'?",
        ),
    ],
)
def test_an_unknown_key_has_a_nearest_name(data, path, hint):
    message, found = problems(**data)[path]
    assert "unknown key" in message
    assert found == hint


def test_an_unknown_role_has_a_nearest_name():
    message, hint = problems(**minimal(columns={"age": "quasy"}))["columns.age"]
    assert message.startswith("columns.age must be 'identifier', 'quasi'")
    assert message.endswith("got 'quasy'")
    assert hint == "did you mean 'quasi'?"


def test_all_problems_are_reported():
    found = problems(columns={"age": "quasy", "sex": {"weight": 0}}, goals=[{"model": "k-anonymity", "k": 1}], seed=-1)
    assert list(found) == ["columns.age", "columns.sex.role", "columns.sex.weight", "goals[0].k", "seed"]


def test_there_must_be_a_goal():
    assert "goals" in problems(columns={"age": "quasi"}, goals=[])
    assert "goals" in problems(columns={"age": "quasi"})


def test_there_must_be_a_quasi_identifier():
    assert problems(columns={"age": "keep"}, goals=[K5])["columns"][0] == "columns: no column has the role quasi"


def test_a_goal_about_values_needs_a_sensitive_column():
    found = problems(columns={"age": "quasi"}, goals=[{"model": "l-diversity", "l": 2}])
    assert found["goals[0]"][0] == "goals[0]: l-diversity needs a column with the role sensitive"


def test_a_goal_speaks_of_a_sensitive_column():
    columns = {"age": "quasi", "illness": "sensitive"}
    wrong = problems(columns=columns, goals=[{"model": "l-diversity", "l": 2, "sensitive": "ilness"}])
    assert wrong["goals[0].sensitive"][1] == "did you mean 'illness'?"
    quasi = problems(columns=columns, goals=[{"model": "l-diversity", "l": 2, "sensitive": ["illness", "age"]}])
    assert quasi["goals[0].sensitive"][0] == "goals[0].sensitive: column 'age' has the role quasi, not sensitive"


def test_a_parameter_that_a_variant_needs_is_named():
    columns = {"age": "quasi", "illness": "sensitive"}
    found = problems(columns=columns, goals=[{"model": "l-diversity", "variant": "recursive", "l": 2}])
    assert found["goals[0].c"][0] == "goals[0].c is needed by the variant 'recursive'"


def test_files_of_transforms_are_found_from_another_folder(tmp_path):
    chain = [{"kind": "hmac", "key": "file:keys/all.txt#a"}, {"kind": "random", "vault": "vault.csv"}]
    columns = {"age": "quasi", "id": {"role": "identifier", "transform": chain}}
    policy = Policy(**minimal(columns=columns)).at(tmp_path / "here").rebased(tmp_path / "there")
    first, second = policy.columns["id"].transform
    assert first.key == "file:../here/keys/all.txt#a"
    assert second.vault == "../here/vault.csv"
    assert {path.name for path in policy.reads if path} >= {"all.txt", "vault.csv"}


def test_only_identifiers_are_starred():
    found = problems(**minimal(columns={"age": {"role": "quasi", "transform": "star"}}))
    assert "columns.age.transform" in found


def test_only_dates_have_a_format():
    assert "columns.age.format" in problems(
        **minimal(columns={"age": {"role": "quasi", "type": "integer", "format": "%d"}})
    )


def test_a_hierarchy_is_built_from_its_kind():
    policy = Policy(**minimal(columns={"zip": {"role": "quasi", "hierarchy": {"kind": "mask", "from": "left"}}}))
    assert isinstance(policy.hierarchy_of("zip"), MaskSpec)


@pytest.mark.parametrize(
    ("hierarchy", "path", "hint"),
    [
        ({"kind": "musk"}, "kind", "did you mean 'mask'?"),
        ({"kind": "mask", "frm": "left"}, "frm", "did you mean 'from'?"),
    ],
)
def test_a_wrong_hierarchy_is_explained(hierarchy, path, hint):
    found = problems(**minimal(columns={"zip": {"role": "quasi", "hierarchy": hierarchy}}))
    assert found[f"columns.zip.hierarchy.{path}"][1] == hint


def test_hierarchies_are_shared_by_name(tmp_path):
    shared = {"digits": {"kind": "mask"}, "places": "h/places.csv"}
    columns = {
        "zip": {"role": "quasi", "hierarchy": "digits"},
        "town": {"role": "quasi", "hierarchy": "places"},
        "sex": {"role": "quasi", "hierarchy": "sex.csv"},
        "age": "quasi",
    }
    policy = Policy(**minimal(columns=columns, hierarchies=shared)).at(tmp_path)
    assert isinstance(policy.hierarchy_of("zip"), MaskSpec)
    assert policy.hierarchy_of("town") == tmp_path / "h/places.csv"
    assert policy.hierarchy_of("sex") == tmp_path / "sex.csv"
    assert policy.hierarchy_of("age") is None


def test_an_unknown_shared_hierarchy_has_a_nearest_name():
    columns = {"zip": {"role": "quasi", "hierarchy": "digit"}}
    found = problems(**minimal(columns=columns, hierarchies={"digits": {"kind": "mask"}}))
    assert found["columns.zip.hierarchy"][1] == "did you mean 'digits'?"


def test_every_kind_of_hierarchy_has_a_name():
    assert {"intervals", "quantiles", "mask", "dates", "order", "tree", "auto"} <= set(registry.known("hierarchies"))


def test_paths_start_from_the_base(tmp_path):
    policy = Policy(**minimal(input="a.csv", output={"path": "out/b.csv", "recoding": "r.json"})).at(tmp_path)
    assert policy.input_path == tmp_path / "a.csv"
    assert policy.output_path == tmp_path / "out/b.csv"
    assert policy.recoding_path == tmp_path / "r.json"


def test_files_of_the_command_line_start_from_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    policy = Policy(**minimal(input={"path": "a.csv", "delimiter": ";"})).at(tmp_path / "elsewhere")
    changed = policy.with_files(source=tmp_path.relative_to(tmp_path) / "x.csv", target=tmp_path / "y.csv")
    assert changed.input_path == tmp_path / "x.csv"
    assert changed.input.delimiter == ";"
    assert changed.output_path == tmp_path / "y.csv"
    assert policy.output is None


def test_missing_is_inherited_unless_said():
    columns = {"age": {"role": "quasi", "missing": "drop"}, "sex": "quasi"}
    policy = Policy(**minimal(columns=columns, missing="error"))
    assert (policy.missing_of("age"), policy.missing_of("sex")) == (Missing.DROP, Missing.ERROR)


def test_problems_are_policy_errors_with_exit_code_2():
    with pytest.raises(PolicyError) as caught:
        Policy(columns={"age": "quasy"}, goals=[K5])
    assert caught.value.exit_code == 2
    assert caught.value.to_dict()["problems"][0]["path"] == "columns.age"


def test_braces_in_a_value_do_not_disturb_the_message():
    found = problems(**minimal(goals=[{"model": "{k}", "k": 3}]))
    assert found["goals[0].model"][0] == "goals[0].model: unknown model '{k}'"


def test_a_value_is_cut_short_in_a_message():
    message, _ = problems(**minimal(columns={"age": "q" * 500}))["columns.age"]
    assert len(message) < 250


@pytest.mark.parametrize(
    ("path", "text"),
    [(("goals", 1, "l"), "goals[1].l"), (("columns", "first name", "role"), 'columns["first name"].role'), ((), "")],
)
def test_paths_are_written_as_people_do(path, text):
    assert show_path(path) == text


def test_a_rebased_policy_finds_the_same_files(tmp_path):
    columns = {
        "zip": {"role": "quasi", "hierarchy": "digits"},
        "town": {"role": "quasi", "hierarchy": "places"},
        "sex": {"role": "quasi", "hierarchy": "h/sex.csv"},
        "age": {"role": "quasi", "hierarchy": str(tmp_path / "age.csv")},
        "born": {"role": "quasi", "hierarchy": {"kind": "dates", "levels": ["month", "year"]}},
    }
    policy = Policy(
        input="a.csv",
        columns=columns,
        hierarchies={"digits": {"kind": "mask"}, "places": "h/places.csv"},
        goals=[K5],
        output={"path": "out/b.csv", "recoding": "out/r.json"},
    ).at(tmp_path / "project")
    moved = policy.rebased(tmp_path / "project" / "out")
    assert moved.columns["sex"].hierarchy == "../h/sex.csv"
    assert moved.output.path == "b.csv"
    for name in columns:
        before, after = policy.hierarchy_of(name), moved.hierarchy_of(name)
        assert after == before or after.resolve() == before.resolve()
    assert moved.input_path.resolve() == policy.input_path.resolve()
    assert moved.recoding_path.resolve() == policy.recoding_path.resolve()
