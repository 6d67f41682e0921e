"""What every registered finding promises: it finds what is planted, and nothing in a clean release."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from checks_kinds import check_finding

from tablecloak.attacks.base import AttackResult, AttackSuccess
from tablecloak.engines.equal_rows import Alike, count_alike
from tablecloak.findings.base import RareBounds, Recounted, Shown
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.l_diversity import LDiversity
from tablecloak.models.t_closeness import TCloseness
from tablecloak.policy.schema import Policy
from tablecloak.registry import known
from tablecloak.stats.classes import SensitiveDomain, count_classes

N = 200
ROWS = np.arange(N)
FRAME = pl.DataFrame(
    {
        "age": 20 + ROWS % 5,
        "ill": np.array(list("abcd"))[ROWS // 5 % 4],
        "ward": np.array(["w1", "w2"])[ROWS % 2],
        "serial": ROWS * 7 + 1000,
        "mail": [f"person{i}@example.org" for i in ROWS],
        "family": [f"F{i // 4:03d}" for i in ROWS],
        "region": ROWS // 4 % 3,
        "rooms": ROWS // 4 % 2,
    }
)
POLICY = Policy(
    columns={"age": "quasi", "ill": "sensitive", **dict.fromkeys(FRAME.columns[2:], "keep")},
    goals=[KAnonymity(k=5), LDiversity(l=2)],
)
VALUES = SensitiveDomain("ill", ("a", "b", "c", "d"))
HIST = count_classes(np.zeros(N, np.int64), 1, {"ill": (ROWS // 5 % 4, VALUES)}).hist


def sample(columns, together=None):
    return FRAME.select(columns)


def count(sets) -> list[Alike]:
    return [count_alike(FRAME, [list(names)])[0] for names in sets]


CLEAN = Shown(
    POLICY, Goal(tuple(POLICY.goals)), N, is_released=True, quasi=("age",), outside=("ward",), protected=("ill",),
    count=count, sample=sample, evidence=Recounted(values=HIST),
)  # fmt: skip
SUCCESS = AttackSuccess(highest=1.0, average=0.95, baseline=0.3, n_targets=N, n_victims=190, details={"column": "ill"})
LINKED = AttackSuccess(
    highest=1.0, average=0.6, baseline=1 / N, n_targets=N, n_victims=120,
    details={"columns": ["serial"], "weakest": "serial"},
)  # fmt: skip
# A new kind of finding needs an entry here: what is planted in a clean release.
PLANTED = {
    "exact-bounds": {"evidence": Recounted(values=HIST, rare_bounds={"age": RareBounds(3, 40, 5)})},
    "identifying-column": {"outside": ("ward", "mail")},
    "idle-goal": {"goal": Goal((TCloseness(t=0.9),))},
    "kept-order": {"keeps_order": True},
    "pseudonymised": {"pseudonyms": {"serial": "hmac"}},
    "public-secret": {"has_public_secret": True},
    "repeated-key": {"outside": ("ward", "family", "region", "rooms")},
    "standing-alone": {"outside": ("ward", "serial")},
    "strong-attack": {
        "evidence": Recounted(values=HIST, attacks=[AttackResult("homogeneity", "d.", "s", None, finding=SUCCESS)])
    },
    "weak-transform": {
        "evidence": Recounted(values=HIST, attacks=[AttackResult("rank-linkage", "d.", "s", None, finding=LINKED)])
    },
    "unnamed-sensitive": {"outside": ("ward", "ill"), "protected": (), "goal": Goal((KAnonymity(k=5),))},
}


@pytest.mark.parametrize("name", known("findings"))
def test_it_keeps_what_every_finding_promises(name):
    cells = {"mail": FRAME["mail"][0], "serial": FRAME["serial"][3]}
    check_finding(known("findings")[name], replace(CLEAN, **PLANTED[name]), CLEAN, cells)
