"""`tablecloak hierarchy build|show|check`."""

import pytest

DATA = "age,zip,town\n23,13053,Ulm\n37,13068,Bonn\n51,14850,Ulm\n,14853,Köln\n"
TOWNS = "Ulm;south;*\nBonn;west;*\nKöln;west;*\n"


@pytest.fixture
def data(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text(DATA, encoding="utf-8")
    return file


@pytest.fixture
def towns(tmp_path):
    file = tmp_path / "towns.csv"
    file.write_text(TOWNS, encoding="utf-8")
    return file


def test_build_writes_to_stdout(cloak, data):
    outcome = cloak("hierarchy", "build", data, "age", "--kind", "intervals", "--set", "width=20")
    assert outcome.code == 0
    assert outcome.out.splitlines()[0].startswith("23;[20, 40);")
    assert len(outcome.out.splitlines()) == 3


def test_build_writes_a_file_that_show_reads(cloak, data, tmp_path):
    target = tmp_path / "zip.csv"
    assert cloak("hierarchy", "build", data, "zip", "-k", "mask", "--set", "from=right", "-o", target).code == 0
    shown = cloak("hierarchy", "show", target)
    assert "148**" in shown.out
    assert "4 values" in shown.out


def test_build_never_overwrites_without_force(cloak, data, tmp_path):
    target = tmp_path / "age.csv"
    target.write_text("mine")
    words = ["hierarchy", "build", data, "age", "-k", "intervals", "--set", "width=20", "-o", target]
    assert cloak(*words).code == 2
    assert target.read_text() == "mine"
    assert cloak(*words, "--force").code == 0
    assert target.read_text() != "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-k", "interval"], "did you mean 'intervals'?"),
        (["-k", "intervals"], "width is missing"),
        (["-k", "intervals", "--set", "width=-1"], "width must be > 0, got -1"),
        (["-k", "intervals", "--set", "widht=1"], "did you mean 'width'?"),
    ],
)
def test_build_explains_wrong_parameters(cloak, data, words, message):
    outcome = cloak("hierarchy", "build", data, "age", *words)
    assert outcome.code == 2
    assert message in outcome.err


def test_build_explains_a_wrong_column(cloak, data):
    outcome = cloak("hierarchy", "build", data, "agee", "-k", "intervals", "--set", "width=20")
    assert outcome.code == 5
    assert "did you mean 'age'?" in outcome.err


def test_show_draws_a_tree(cloak, towns):
    out = cloak("hierarchy", "show", towns).out
    assert [line.strip("│├└─ ").split("  ")[0] for line in out.splitlines()] == [
        "*",
        "south",
        "Ulm",
        "west",
        "Bonn",
        "Köln",
    ]


def test_show_as_json(cloak, towns):
    assert "west" in str(cloak("hierarchy", "show", towns, "--json").data)


def test_show_cuts_wide_trees_short(cloak, tmp_path):
    file = tmp_path / "wide.csv"
    file.write_text("".join(f"v{i};*\n" for i in range(50)))
    assert "38 more" in cloak("hierarchy", "show", file).out


def test_check_accepts_a_hierarchy_that_fits(cloak, towns, data):
    outcome = cloak("hierarchy", "check", towns, data, "town")
    assert outcome.code == 0
    assert outcome.out.startswith("ok")


def test_check_finds_missing_values(cloak, towns, data):
    towns.write_text(TOWNS.replace("Köln", "Koln"), encoding="utf-8")
    outcome = cloak("hierarchy", "check", towns, data, "town", "--json")
    assert outcome.code == 5
    assert outcome.data["ok"] is False
    assert "1 of 3 values of the column are not in the hierarchy" in outcome.data["problems"][0]["message"]


def test_check_never_shows_values_of_the_column(cloak, towns, data):
    data.write_text(DATA.replace("Bonn", "CANARY"), encoding="utf-8")
    outcome = cloak("hierarchy", "check", towns, data, "town")
    assert outcome.code == 5
    assert "CANARY" not in outcome.out + outcome.err


def test_a_missing_file_is_a_data_error(cloak, tmp_path):
    assert cloak("hierarchy", "show", tmp_path / "nothing.csv").code == 5
