"""`tablecloak inspect|init|risk|compare` for real."""

import json
import os
from pathlib import Path

import polars as pl
import pytest

from tablecloak.profile.starter import policy_name, release_name
from tablecloak.sample import census_to_file, patients

pytestmark = pytest.mark.slow
N = 60
SECRETS = ("Canary", "7713", "98765")


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A small table in which every value can be recognized."""
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame(
        {
            "name": [f"Canary{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(N)],
            "age": [20 + i * 7 % 50 for i in range(N)],
            "zip": [f"7713{i % 9}" for i in range(N)],
            "sex": ["f", "m"] * (N // 2),
            "illness": [f"Canary{i % 5}" for i in range(N)],
            "amount": [98765.25 + i for i in range(N)],
        }
    )
    frame.write_csv("people.csv")
    return frame


def is_silent(outcome):
    return not any(secret in outcome.out + outcome.err for secret in SECRETS)


def test_inspect_says_what_columns_mean(cloak, data):
    outcome = cloak("inspect", "people.csv")
    assert outcome.code == 0
    assert "60 rows × 6 columns" in outcome.out
    assert "utf-8 ,-separated" in outcome.out
    assert "Next: tablecloak init people.csv" in outcome.out


def test_inspect_json(cloak, data):
    found = cloak("inspect", "people.csv", "--json").data
    roles = {column["name"]: column["role"] for column in found["columns"]}
    assert roles == {
        "name": "identifier", "age": "quasi", "zip": "quasi", "sex": "quasi", "illness": "sensitive",
        "amount": "sensitive",
    }  # fmt: skip
    classes = data.group_by("age", "zip", "sex").len()["len"]
    assert found["risk"]["unique"] == classes.to_list().count(1)
    assert found["risk"]["average"] == pytest.approx(len(classes) / N)
    assert found["file"]["delimiter"] == ","


def test_inspect_and_compare_and_risk_show_no_value(cloak, data):
    cloak("init", "people.csv")
    assert cloak("run", "people-policy.yaml", "-q").code == 0
    for words in (
        ("inspect", "people.csv"),
        ("compare", "people.csv", "out/people-release.csv"),
        ("compare", "people.csv", "out/people-release.csv", "--policy", "people-policy.yaml"),
        ("risk", "people.csv", "--quasi", "age,zip"),
        ("init", "people.csv", "--force"),
    ):
        for options in ((), ("--json",)):
            outcome = cloak(*words, *options)
            assert outcome.code == 0
            assert is_silent(outcome)
    assert not any(secret in Path("people-policy.yaml").read_text() for secret in SECRETS)


def test_init_writes_the_policy_and_its_schema(cloak, data):
    outcome = cloak("init", "people.csv", "-o", "sub/policy.yaml", "--json")
    assert outcome.code == 0
    assert (
        Path("sub/policy.yaml").read_text().startswith("# yaml-language-server: $schema=./tablecloak-policy-1.json\n")
    )
    assert json.loads(Path("sub/tablecloak-policy-1.json").read_text())["title"] == "tablecloak policy"
    assert outcome.data["hierarchies"] == 1
    assert cloak("check", "sub/policy.yaml").code == 0


def test_init_keeps_files_that_exist(cloak, data):
    Path("people-policy.yaml").write_text("mine")
    assert cloak("init", "people.csv").code == 2
    assert Path("people-policy.yaml").read_text() == "mine"
    assert cloak("init", "people.csv", "--force").code == 0


def test_init_with_an_unknown_preset(cloak, data):
    outcome = cloak("init", "people.csv", "--preset", "hippa-safe-harbor")
    assert outcome.code == 2
    assert "did you mean 'hipaa-safe-harbor'" in outcome.err
    assert not list(Path().glob("*.yaml"))


def write_patients_file(path):
    patients().write_csv(path)


def write_census_file(path):
    census_to_file(path, 3000)


def write_adult_file(path):
    root = Path(os.environ.get("TABLECLOAK_DATA", Path(__file__).parents[3] / "shared" / "data"))
    source = root / "adult" / "adult.csv"
    if not source.exists():
        pytest.skip(f"the Adult table is not at {source}")
    path.write_bytes(source.read_bytes())


@pytest.mark.parametrize("write", [write_patients_file, write_census_file, write_adult_file])
def test_what_init_writes_can_be_run_unchanged(cloak, tmp_path, monkeypatch, write):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "data.csv")
    assert cloak("init", "data.csv").code == 0
    outcome = cloak("run", "data-policy.yaml", "--json")
    assert outcome.code == 0
    assert outcome.data["holds"]
    compared = cloak("compare", "data.csv", "out/data-release.csv", "-p", "data-policy.yaml", "--json").data
    assert compared["loss"] == pytest.approx(outcome.data["loss"])
    assert compared["after"]["highest"] <= 1 / 5


def test_risk_of_any_table(cloak, data):
    found = cloak("risk", "people.csv", "--quasi", "sex, zip", "--json").data
    sizes = data.group_by("sex", "zip").len()["len"].to_list()
    assert (found["classes"], found["unique"]) == (len(sizes), sizes.count(1))
    assert found["highest"] == 1 / min(sizes)


def test_risk_of_an_unknown_column(cloak, data):
    outcome = cloak("risk", "people.csv", "--quasi", "sexx")
    assert outcome.code == 5
    assert "did you mean 'sex'" in outcome.err


def test_risk_of_no_column(cloak, data):
    assert cloak("risk", "people.csv", "--quasi", ",").code == 2


def test_compare_shows_both_sides(cloak, data):
    release = data.select(pl.lit("[20, 69]").alias("age"), pl.lit("7713*").alias("zip"), "sex", "illness")
    release.write_csv("release.csv")
    outcome = cloak("compare", "people.csv", "release.csv", "--quasi", "age,zip,sex")
    assert outcome.code == 0
    rows = [line.split() for line in outcome.out.splitlines()]
    assert ["classes", str(data.n_unique(["age", "zip", "sex"])), "2"] in rows
    # age repeats after 50 rows, zip after 9 and sex after 2, so no two of 60 rows agree in all three
    assert ["unique", "records", "100.0%", "0.0%"] in rows


def test_list_shows_detectors_presets_and_hierarchies(cloak):
    found = cloak("list", "--json").data
    assert {"email", "iban", "postcode"} <= {entry["name"] for entry in found["detectors"]}
    assert {entry["name"] for entry in found["presets"]} == {
        "standard", "strict", "k-only", "hipaa-safe-harbor", "gdpr-pseudonymised", "public-use-file",
        "scientific-use-file",
    }  # fmt: skip
    assert {"mask", "dates", "intervals"} <= {entry["name"] for entry in found["hierarchies"]}
    assert all(entry["summary"] for entries in found.values() for entry in entries)


def test_an_excel_file_goes_all_the_way(cloak, tmp_path, monkeypatch):
    pytest.importorskip("fastexcel")
    monkeypatch.chdir(tmp_path)
    patients(300).write_excel("people.xlsx")
    assert cloak("init", "people.xlsx").code == 0
    assert cloak("run", "people-policy.yaml", "-q").code == 0
    assert cloak("verify", "out/people-release.xlsx", "--policy", "people-policy.yaml").code == 0


def test_policies_and_releases_of_several_tables_live_in_one_folder(cloak, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        patients(200).write_csv(f"{name}.csv")
        assert cloak("init", f"{name}.csv").code == 0
        assert cloak("run", f"{name}-policy.yaml").code == 0
    released = ["one-recoding.json", "one-release.csv", "two-recoding.json", "two-release.csv"]
    assert sorted(path.name for path in Path("out").iterdir()) == released


def test_a_second_policy_for_a_table_releases_elsewhere_and_the_first_is_kept(cloak, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    patients(200).write_csv("one.csv")
    assert cloak("init", "one.csv").code == 0
    assert cloak("run", "one-policy.yaml").code == 0
    refused = cloak("init", "one.csv")
    assert refused.code == 2
    assert "one-policy.yaml" in refused.err
    assert cloak("init", "one.csv", "-o", "other.yaml").code == 0
    assert cloak("run", "other.yaml").code == 0
    assert Path("out/one-release-2.csv").exists()
    assert Path("out/one-recoding-2.json").exists()


@pytest.mark.parametrize(
    ("data", "policy", "release"),
    [
        ("adult.csv", "adult-policy.yaml", "adult-release.csv"),
        ("a/adult.csv.gz", "adult-policy.yaml", "adult-release.csv"),
        ("old-release.parquet", "old-release-policy.yaml", "old-release-release.parquet"),
        ("parts/part-*.csv", "part-policy.yaml", "part-release.csv"),
        ("parts/*.csv", "table-policy.yaml", "table-release.csv"),
    ],
)
def test_names_follow_from_the_table(data, policy, release):
    assert (policy_name(Path(data)), release_name(Path(data))) == (policy, release)


def test_quiet_commands_say_nothing_where_all_is_well(cloak, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    patients(300).write_csv("one.csv")
    for words in (
        ["inspect", "one.csv"],
        ["init", "one.csv"],
        ["check", "one-policy.yaml"],
        ["run", "one-policy.yaml"],
        ["verify", "out/one-release.csv", "--policy", "one-policy.yaml", "--original", "one.csv"],
        ["compare", "one.csv", "out/one-release.csv", "--policy", "one-policy.yaml", "--html", "compared.html"],
        ["apply", "out/one-recoding.json", "one.csv", "-o", "again.csv"],
        ["risk", "one.csv", "--quasi", "zip"],
        ["list"],
    ):
        outcome = cloak(*words, "-q")
        assert (words, outcome.code, outcome.out, outcome.err) == (words, 0, "", "")


def test_quiet_commands_say_what_is_not_met(cloak, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    patients(300).write_csv("one.csv")
    cloak("init", "one.csv")
    outcome = cloak("verify", "one.csv", "--policy", "one-policy.yaml", "-q")
    assert outcome.code == 3
    assert "k-anonymity" in outcome.out


SPOILT = "age,age,'sex'\n" + "".join(f"{20 + i % 9},{i % 4},{'fm'[i % 2]}\n" for i in range(40))


@pytest.mark.parametrize(
    "verb",
    [
        ("inspect", "spoilt.csv"),
        ("init", "spoilt.csv"),
        ("advise", "spoilt.csv"),
        ("risk", "spoilt.csv", "--quasi", "age,age_2,sex"),
        ("hierarchy", "build", "spoilt.csv", "age_2", "--kind", "order"),
        ("hierarchy", "check", "sex.csv", "spoilt.csv", "sex"),
    ],
    ids=" ".join,
)
def test_every_verb_that_takes_a_table_repairs_its_header_where_asked(cloak, tmp_path, monkeypatch, verb):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spoilt.csv").write_text(SPOILT)
    (tmp_path / "sex.csv").write_text("f;*\nm;*\n")
    refused = cloak(*verb)
    assert refused.code == 5
    assert "--repair" in refused.err
    assert cloak(*verb, "--repair").code == 0


def test_repair_is_for_tables_not_for_policies(cloak, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spoilt.csv").write_text(SPOILT)
    assert cloak("init", "spoilt.csv", "--repair").code == 0
    assert cloak("advise", "spoilt-policy.yaml").code == 0
    refused = cloak("advise", "spoilt-policy.yaml", "--repair")
    assert refused.code == 2
    assert "repair: true" in refused.err
