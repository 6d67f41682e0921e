"""What a search tells about groups and nodes while it goes on."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.progress import Silent
from tablecloak.sample import patients
from tablecloak.server.workers import MOST_GROUPS, LineProgress


class Watching(Silent):
    def __init__(self):
        self.sizes, self.rows = [], []

    def groups(self, sizes):
        self.sizes.append(sizes())

    def nodes(self, rows):
        self.rows.append(rows())


def policy(kind, goals):
    columns = {name: {"role": "quasi"} for name in ("birth_date", "sex", "zip")}
    columns["birth_date"]["hierarchy"] = {"kind": "dates", "levels": ["year", "decade"]}
    columns["zip"]["hierarchy"] = {"kind": "mask"}
    columns |= {"diagnosis": {"role": "sensitive"}}
    return tc.Policy.model_validate(
        {"version": 1, "columns": columns, "others": "drop", "goals": goals, "algorithm": {"kind": kind}}
    )


@pytest.mark.parametrize("kind", ["mondrian", "auto"])
def test_groups_always_hold_every_record_and_become_more(kind):
    watching = Watching()
    goals = [{"model": "k-anonymity", "k": 5}, {"model": "l-diversity", "l": 2, "sensitive": "diagnosis"}]
    tc.anonymize(patients(300), policy(kind, goals), progress=watching)
    assert len(watching.sizes) > 3
    assert {int(sizes.sum()) for sizes in watching.sizes} == {300}
    assert min(int(sizes.min()) for sizes in watching.sizes) >= 5
    cuts = [len(sizes) for sizes in watching.sizes][: -1 if kind == "auto" else None]
    assert cuts == sorted(cuts)
    assert cuts[0] == 2


def test_rows_of_a_lattice_become_known():
    watching = Watching()
    tc.anonymize(patients(400), policy("flash", [{"model": "k-anonymity", "k": 5}]), progress=watching)
    rows = [np.array(found) for found in watching.rows]
    assert len({int(found.sum()) for found in rows}) == 1  # every node is in one of its row
    unknown = [int(found[:, 2].sum()) for found in rows]
    assert unknown == sorted(unknown, reverse=True)
    # one node is all exact, one all hidden
    assert rows[-1][0].sum() == rows[-1][-1].sum() == 1


class Line:
    def __init__(self):
        self.sent = []

    def send(self, message):
        self.sent.append(message[1])

    def poll(self):
        return False


def test_pictures_are_small_and_come_ever_more_seldom():
    line = Line()
    telling = LineProgress(line, 1)
    asked = []
    sizes = np.arange(1, 201)
    telling.groups(lambda: asked.append(1) or sizes)
    telling._next_picture = float("inf")  # not yet
    telling.groups(lambda: asked.append(2) or sizes)
    telling.nodes(lambda: asked.append(3))
    assert asked == [1]
    told = line.sent[0]
    assert (told["groups"], len(told["sizes"]), told["sizes"][0]) == (200, MOST_GROUPS, 200)
    assert sum(told["sizes"]) + told["rest"] == int(sizes.sum())
    pause = telling._pause
    telling._next_picture = 0.0
    telling.nodes(lambda: [[1, 2, 3]])
    assert line.sent[1] == {"kind": "nodes", "rows": [[1, 2, 3]]}
    assert telling._pause > pause
