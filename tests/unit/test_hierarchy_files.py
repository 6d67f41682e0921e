"""Hierarchy files, their checks and edits."""

from __future__ import annotations

import pytest

from tablecloak.errors import DataError
from tablecloak.hierarchy import Hierarchy
from tablecloak.hierarchy.edit import add, delete, group, move, rename
from tablecloak.hierarchy.hierarchy_files import lint, read_hierarchy, write_hierarchy

PLACES = [["Italy", "Europe", "*"], ["Spain", "Europe", "*"], ["Brazil", "America", "*"]]


@pytest.fixture
def file(tmp_path):
    def write(text, name="h.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return write


@pytest.fixture
def places():
    return Hierarchy.from_paths(PLACES)


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
def test_delimiter_is_found(file, delimiter):
    path = file("".join(delimiter.join(p) + "\n" for p in PLACES))
    assert read_hierarchy(path).to_paths() == PLACES


def test_byte_order_mark_blank_lines_and_quotes(file):
    path = file('"a;b";G;*\n\n"c ""d""";G;*\r\n', encoding="utf-8-sig")
    assert read_hierarchy(path).leaf_labels == ("a;b", 'c "d"')


def test_trailing_empty_cells_are_ignored(file):
    assert read_hierarchy(file("a;*;;\nb;G;H;*\n")).height == 3


def test_a_quotation_mark_does_not_change_how_lines_are_read(file):
    text = "a;A;*\r\n\rb;;*;\n;;\nc;C;*"
    plain, with_quotes = lint(file(text)), lint(file(text + '\n"d";C;*\n'))
    assert plain == with_quotes
    assert [problem.line for problem in plain] == [3]


def test_the_delimiter_is_told_by_the_beginning_of_a_file(file):
    text = "".join(f"v{i};g{i // 10};*\n" for i in range(2000)) + "a,b;G,H;*\n"
    assert read_hierarchy(file(text)).leaf_labels[-1] == "a,b"


def test_paths_of_unequal_length_keep_the_order_in_which_siblings_appear(file):
    tree = read_hierarchy(file("b;*\nz;Z;Q;*\na;Q;*\ny;Z;Q;*\n"))
    assert tree.to_paths() == [["b", "*"], ["z", "Z", "Q", "*"], ["y", "Z", "Q", "*"], ["a", "Q", "*"]]


def test_parent_lists(file):
    text = '# places\nRoot: Europe, America\nEurope : Italy,Spain\nAmerica: "Trinidad, Tobago"\nEurope: Malta\n'
    tree = read_hierarchy(file(text, "h.txt"))
    assert tree.leaf_labels == ("Italy", "Spain", "Malta", "Trinidad, Tobago")
    assert tree.labels[tree.root] == "Root"


def test_parent_lists_with_colons_in_codes(file):
    tree = read_hierarchy(file("*: ICD9, ICD10\nICD9: ICD9:7048, ICD9:3530\nICD10: ICD10:V983\n", "h.txt"))
    assert tree.leaf_labels == ("ICD9:7048", "ICD9:3530", "ICD10:V983")


def test_codes_with_colons_are_not_parent_lists(file):
    tree = read_hierarchy(file("ICD9:7048,ICD9,*\nICD10:V983,ICD10,*\n", "h.txt"))
    assert tree.leaf_labels == ("ICD9:7048", "ICD10:V983")


def test_nested_and_adjacent_json(file):
    nested = read_hierarchy(file('{"*": {"Europe": ["Italy", "Spain"], "America": ["Brazil"]}}', "h.json"))
    adjacent = read_hierarchy(
        file('{"*": ["Europe", "America"], "Europe": ["Italy", "Spain"], "America": ["Brazil"]}', "h2.json")
    )
    assert nested.to_paths() == adjacent.to_paths() == PLACES


@pytest.mark.parametrize("name", ["h.csv", "h.tsv", "h.txt", "h.json"])
def test_files_read_back(tmp_path, name):
    tree = Hierarchy.from_tree({"*": {"a, b: c": ['x;"y"', "z"], "#2": [" 1", "2\t3"]}})
    write_hierarchy(tree.with_missing(), tmp_path / name)
    again = read_hierarchy(tmp_path / name)
    wanted = tree.to_paths() if name != "h.txt" else [[label.strip() for label in path] for path in tree.to_paths()]
    assert sorted(again.to_paths()) == sorted(wanted)


def test_parent_lists_cannot_hold_repeated_labels(tmp_path):
    tree = Hierarchy.from_paths([["a", "a", "*"], ["b", "a", "*"]])
    with pytest.raises(DataError, match="several levels"):
        write_hierarchy(tree, tmp_path / "h.txt")


@pytest.mark.parametrize(
    ("text", "name", "line", "message"),
    [
        ("", "h.csv", None, "the hierarchy file has no values"),
        (";;\n", "h.csv", None, "the hierarchy file has no values"),
        ("# nothing\n", "h.txt", None, "the hierarchy file has no values"),
        ("a\nb\n", "h.csv", 1, "only one column: no levels above the values"),
        ("a;A\nb;B\n", "h.csv", None, "no root: every line ends in another label"),
        ("a;A;*\nb;B\nc;B;*\n", "h.csv", 2, "the path does not end in the root '*'"),
        ("a;A;*\n;B;*\n", "h.csv", 2, "the value is empty"),
        ("a;A;*\nb;;*\n", "h.csv", 2, "level 1 is empty"),
        ("a;A;*\nb;B;*\na;B;*\n", "h.csv", 3, "'a' has a second path, another one is on line 1"),
        (
            "a;X;P;*\nb;X;Q;*\nc;Y;Q;*\n",
            "h.csv",
            2,
            "'X' on level 1 has two parents: 'P' (line 1) and 'Q'",
        ),
        ("Root: a, b\nnonsense :\n", "h.txt", 2, "not of the form 'parent : child, child'"),
        ("Root: A, B\nA: x\nB: x\n", "h.txt", 3, "'x' has two parents: 'A' (line 2) and 'B'"),
        ("Root: A\nB: x\n", "h.txt", None, "2 groups have no parent: 'Root', 'B'"),
        ("Root: A\nX: Y\nY: X\n", "h.txt", 2, "'Y' contains itself, by way of 'X' (and 1 more)"),
        ('{"a": [1,}', "h.json", 1, "not JSON: Illegal trailing comma before end of array (column 8)"),
        ('{"*": {"a": ["x"], "a": ["y"]}}', "h.json", None, "the key 'a' occurs twice in one group"),
        ('{"*": {"a": ["x"], "b": ["x"]}}', "h.json", None, "'x' stands for unrelated groups"),
        ("X;*\na;X;*\n", "h.csv", None, "'X' stands for unrelated groups"),
    ],
)
def test_bad_files_say_where_and_what(file, text, name, line, message):
    path = file(text, name)
    with pytest.raises(DataError) as caught:
        read_hierarchy(path)
    if "JSON" in message:  # the wording is the parser's
        assert caught.value.message.startswith("not JSON: ")
    else:
        assert caught.value.message == message
    assert caught.value.location == (str(path) if line is None else f"{path}:{line}")
    assert [problem.line for problem in lint(path)][:1] == [line]


def test_header_is_suspected(file):
    with pytest.raises(DataError) as caught:
        read_hierarchy(file("value;level1;level2\na;A;*\nb;A;*\n"))
    assert caught.value.hint == "is it a header? remove it"


def test_missing_file_names_the_nearest(file):
    path = file("a;*\n", "places.csv")
    with pytest.raises(DataError) as caught:
        read_hierarchy(path.with_name("place.csv"))
    assert caught.value.hint == "did you mean 'places.csv'?"


def test_wrong_encoding_and_format_are_explained(file):
    with pytest.raises(DataError, match="not UTF-8"):
        read_hierarchy(file("é;*\n", encoding="latin-1"))
    with pytest.raises(DataError, match="unknown hierarchy format 'xml'"):
        read_hierarchy(file("a;*\n"), format="xml")


def test_lint_warns_of_repeats_and_depths(file):
    problems = lint(file("a;A;*\na;A;*\nb;*\n"))
    assert [(p.line, p.severity) for p in problems] == [(2, "warning"), (None, "warning")]
    assert [p.message for p in lint(file("a;A;*\nb;*\n"))] == ["paths have between 2 and 3 levels"]


def test_lint_warns_of_a_label_around_itself(file):
    path = file("soap;cleaner;soap;*\nbrush;cleaner;soap;*\n")
    assert [(p.line, p.severity) for p in lint(path)] == [(1, "warning")]
    assert read_hierarchy(path).leaves_of_label("soap") == {"soap", "brush"}


def test_lint_compares_with_a_column_without_naming_its_values(file):
    problems = lint(file("Italy;Europe;*\nSpain;Europe;*\n"), ["Itly", "Spain", "Mordor"])
    assert [(p.severity, p.message) for p in problems] == [
        ("error", "2 of 3 values of the column are not in the hierarchy"),
        ("warning", "1 of 2 leaves do not occur in the column"),
    ]
    assert problems[0].hint == "did you mean 'Italy' (line 1)?"
    assert not any(value in str(problems) for value in ("Itly", "Mordor"))


def test_lint_of_a_good_hierarchy_is_empty(places):
    assert lint(places, ["Italy", "Spain", "Brazil"]) == []


def test_lint_knows_values_that_are_groups(places):
    [problem, _] = lint(places, ["Europe", "Italy", "Spain"])
    assert problem.hint == "1 of them are groups of the hierarchy: give each group a value of its own name"


def test_add(places):
    assert add(places, "Europe", "Malta").leaf_labels == ("Italy", "Spain", "Malta", "Brazil")
    assert add(places, "Europe", "Europe").leaf_labels == ("Italy", "Spain", "Europe", "Brazil")


def test_rename(places):
    assert rename(places, "Europe", "EU").to_paths()[0] == ["Italy", "EU", "*"]
    assert rename(places, "Italy", "Italia").leaf_labels[0] == "Italia"
    assert rename(places, "*", "World").labels[-1] == "World"


def test_move_removes_groups_left_empty(places):
    moved = move(places, "Brazil", "Europe")
    assert moved.to_tree() == {"*": {"Europe": ["Italy", "Spain", "Brazil"]}}
    assert move(places, "Italy", "America").leaf_labels == ("Spain", "Brazil", "Italy")
    assert move(places, "Italy", "Europe").to_paths() == PLACES


def test_delete_group_gives_its_members_to_the_parent(places):
    assert delete(places, "Europe").to_tree() == {"*": ["Italy", "Spain", {"America": ["Brazil"]}]}


def test_delete_leaf_removes_groups_left_empty(places):
    assert delete(places, "Brazil").to_tree() == {"*": {"Europe": ["Italy", "Spain"]}}


def test_group(places):
    tree = group(places, "West", ["Europe", "America"])
    assert tree.to_paths()[0] == ["Italy", "Europe", "West", "*"]
    assert group(places, "Iberia", ["Spain"]).to_paths()[1] == ["Spain", "Iberia", "Europe", "*"]


def test_edits_keep_the_missing_leaf(places):
    tree = delete(add(places.with_missing(), "Europe", "Malta"), "America")
    assert tree.labels[0] is None
    assert tree.leaf_labels == (None, "Italy", "Spain", "Malta", "Brazil")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda h: add(h, "Italy", "Rome"), "'Italy' is a value, not a group"),
        (lambda h: add(h, "Europa", "Malta"), "the hierarchy has no 'Europa'"),
        (lambda h: add(h, "Europe", "Brazil"), "the hierarchy already has 'Brazil'"),
        (lambda h: add(h, "Europe", ""), "a label cannot be empty"),
        (lambda h: rename(h, "Italy", "Spain"), "the hierarchy already has 'Spain'"),
        (lambda h: move(h, "*", "Europe"), "'*' cannot be moved below itself"),
        (lambda h: delete(h, "*"), "the root '*' cannot be deleted"),
        (lambda h: delete(h, "Italy", needed=["Italy"]), "'Italy' cannot be deleted: the data has this value"),
        (lambda h: delete(Hierarchy.from_tree(["a"]), "a"), "'a' is the only value"),
        (lambda h: group(h, "G", ["Italy", "Brazil"]), "a new group needs members that have the same parent"),
    ],
)
def test_impossible_edits_are_refused(places, edit, message):
    with pytest.raises(DataError) as caught:
        edit(places)
    assert caught.value.message == message
    assert caught.value.hint
