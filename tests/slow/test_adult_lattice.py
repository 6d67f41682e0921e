"""Full-domain optima of the Adult table: what ARX 3.9.2 finds with the same hierarchies and limits."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.fulldomain.best_first import BestFirst
from tablecloak.algorithms.fulldomain.optimal import Optimal
from tablecloak.data.coded import code_table
from tablecloak.data.domain import fit_domain, fit_sensitive
from tablecloak.data.table import ColumnType
from tablecloak.hierarchy.hierarchy_files import read_hierarchy
from tablecloak.models import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.l_diversity import LDiversity
from tablecloak.progress import silent

ADULT = Path(os.environ.get("TABLECLOAK_DATA", Path(__file__).parents[3] / "shared/data")) / "adult"
QUASI = ["age", "sex", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not ADULT.exists(), reason="no Adult data; set TABLECLOAK_DATA")]


def adult(quasi, sensitive=()):
    frame = pl.read_csv(ADULT / "adult.csv", separator=";", infer_schema=False)
    columns = [
        fit_domain(
            frame[q], ColumnType.TEXT, make_hierarchy=lambda _, q=q: read_hierarchy(ADULT / f"adult_hierarchy_{q}.csv")
        )
        for q in quasi
    ]
    return code_table(columns, [fit_sensitive(frame[s], ColumnType.TEXT) for s in sensitive])


def test_k_anonymity_with_a_tenth_suppressed():
    table = adult([*QUASI, "occupation"])
    known = Optimal(suppression_limit=0.1).explore(Problem(table, Goal((KAnonymity(k=5),))), silent)
    assert known.lattice.size == 12_960
    assert known.best.n_suppressed == 2_553


def test_entropy_diversity_with_any_number_suppressed():
    table = adult(QUASI, ["occupation"])
    problem = Problem(table, Goal((KAnonymity(k=5), LDiversity(variant="entropy", l=4))))
    for search in (Optimal(suppression_limit=0.999), BestFirst(suppression_limit=0.999, time_limit=600)):
        view = search.view(problem, silent)
        best = next(n for n in view.nodes if n.levels == view.best)
        assert best.suppressed == 3_020
        assert round(best.loss, 4) == 0.2435
