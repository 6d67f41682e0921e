"""What a finished run can be asked: attacks, two columns together, nodes of the lattice, the next table."""

from __future__ import annotations

import re

import polars as pl
import pytest

from tablecloak.sample import patients
from tablecloak.server.steps.hierarchies.task import TreeNode
from tablecloak.server.steps.hierarchies.tree_picture import tree_picture
from tablecloak.server.steps.home import service as home_service
from tablecloak.server.steps.run import service as run_service

pytestmark = pytest.mark.slow


@pytest.fixture
def state(app):
    return app.state.server


@pytest.fixture
def finished(state, pages):
    """The address of the sample with one run done."""
    project = home_service.create_sample(state)
    run = run_service.begin(state, project)
    assert pages.wait(run.id)["status"] == "done"
    return f"/projects/{project.id}"


def searched(state, pages, here):
    pages.send(pages.get(f"{here}/lattice"), f"{here}/lattice", action="search")
    run = state.store.runs(here.rpartition("/")[2], "lattice")[0]
    assert pages.wait(run.id)["status"] == "done"
    return state.store.run(run.id).result


def test_every_attack_is_tried_when_asked_for_and_remembered(state, pages, finished):
    before = pages.get(f"{finished}/attacks")
    assert "Not tried yet" in before.text
    after = pages.send(before, f"{finished}/attacks")
    assert "What attackers reach" in after.text
    for name in ("distance-linkage", "membership", "homogeneity"):
        assert name in after.text, name
    assert "attacks that do not apply" in after.text
    assert "What attackers reach" in pages.get(f"{finished}/attacks").text


def test_two_columns_together(pages, finished):
    page = pages.get(f"{finished}/compare", params={"tab": "pairs"})
    pairs = re.findall(r"<option value=\"(\d+)\"[^>]*>([^<]+)</option>", page.text)
    names = dict(pairs)
    assert "birth_date and sex" in names.values()
    number = next(n for n, name in names.items() if name == "birth_date and sex")
    shown = pages.get(f"{finished}/compare", params={"tab": "pairs", "pair": number})
    # ten groups of days and two sexes, before and after
    assert shown.text.count('class="heat"') == 2 * 10 * 2
    assert "birth_date and sex before" in shown.text
    assert pages.get(f"{finished}/compare", params={"tab": "pairs", "pair": 999}).status_code == 200


def test_nodes_are_pinned_and_unsafe_ones_applied_by_leaving_records_out(state, pages, finished):
    found = searched(state, pages, finished)
    unsafe = min(
        (n for n in found["nodes"] if n["tag"] == "unsafe" and n["how"] == "checked"), key=lambda n: n["suppressed"]
    )
    node = ",".join(map(str, unsafe["levels"]))
    best = ",".join(map(str, found["best"]))
    page = pages.get(f"{finished}/lattice", params={"node": node, "pins": f"{best};{node};9,9,9;x"})
    assert "Pinned nodes" in page.text
    assert page.text.count(f"pins={best};{node}") > 10  # every link keeps them, and only them
    assert "9,9,9" not in page.text.partition("Pinned nodes")[2]
    assert f"Apply and leave out {unsafe['suppressed']:,} records" in page.text
    pages.send(page, f"{finished}/lattice", action="apply-and-leave-out", node=node)
    run = state.store.runs(finished.rpartition("/")[2], "run")[0]
    done = pages.wait(run.id)
    assert done["status"] == "done", done["error"]
    assert done["result"]["suppressed"] == unsafe["suppressed"]
    assert done["result"]["rows"] == found["records"] - unsafe["suppressed"]


def test_the_next_table_gets_the_same_policy(state, pages, finished):
    policy = state.store.project(finished.rpartition("/")[2]).policy
    page = pages.get(f"{finished}/load")
    assert "Open with this policy" in page.text
    file = {"file": ("march.csv", patients(700, seed=3).write_csv(), "text/csv")}
    opened = pages.send(page, f"{finished}/again", files=file)
    assert "700 records" in opened.text
    other = state.store.project(re.search(r"/projects/([0-9a-f]+)/load", str(opened.url))[1])
    assert other.policy == policy.replace("patients.csv", "march.csv", 1)
    run = run_service.begin(state, other)
    assert pages.wait(run.id)["status"] == "done"

    wrong = {"file": ("other.csv", pl.DataFrame({"age": [1, 2], "sex": ["f", "m"]}).write_csv(), "text/csv")}
    refused = pages.send(page, f"{finished}/again", files=wrong)
    assert refused.status_code == 422
    assert "the table has no column" in refused.text
    assert len(state.store.datasets()) == 2


def test_any_character_can_be_the_delimiter(pages):
    text = "age~sex~ill\n" + "".join(f"{20 + i % 9}~{'fm'[i % 2]}~{'abc'[i % 3]}\n" for i in range(60))
    page = pages.send(pages.get("/"), "/open/upload", files={"file": ("odd.csv", text, "text/csv")})
    here = re.search(r"/projects/[0-9a-f]+", str(page.url))[0]
    again = pages.send(page, f"{here}/load", delimiter=",", other_delimiter="~", header="yes", encoding="utf-8")
    assert "60 records, 3 columns" in again.text


def node(label, records, *children):
    return TreeNode(label, records, leaf=not children, children=children)


def test_a_tree_is_drawn_with_a_line_to_every_node_below():
    tree = node("*", 10, node("Europe <b>", 7, node("Italy", 4), node("Spain", 3)), node("America", 3))
    drawn = str(tree_picture(tree))
    assert drawn.count("<circle") == 5
    assert drawn.count('class="branch"') == 4
    assert "Europe &lt;b&gt;: 7 records" in drawn


def test_a_large_tree_is_drawn_as_far_as_whole_levels_fit():
    groups = [node(f"g{i}", 20, *(node(f"v{i}.{j}", 1) for j in range(20))) for i in range(8)]
    drawn = str(tree_picture(node("*", 160, *groups)))
    assert drawn.count("<circle") == 9
    assert drawn.count("+20") == 8
