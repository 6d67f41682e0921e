"""Figures of worked examples that no other file holds; each test names the vector it was computed from."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from test_attack_vectors import T6A, T6B, T7B, T7C, reached, with_tree
from test_lattice_vectors import six
from test_model_vectors import DISEASES, SIM_1

import tablecloak as tc
from counted import hierarchy_of, stats_of_classes
from lattice_tables import coded
from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.clustering.base import Points
from tablecloak.algorithms.topdown.single_dimensional import SingleDimensional
from tablecloak.data.domain import fit_domain
from tablecloak.data.table import ColumnType
from tablecloak.models import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.k_one_anonymity import KOneAnonymity
from tablecloak.models.l_diversity import LDiversity
from tablecloak.models.one_k_anonymity import OneKAnonymity
from tablecloak.models.t_closeness import TCloseness
from tablecloak.progress import silent
from tablecloak.values.cell_grammar import covers, parse


def verified(release, quasi, *goals, sensitive=(), original=None):
    policy = tc.Policy(columns=tc.roles(quasi=quasi, sensitive=sensitive), goals=list(goals))
    return tc.verify(release, policy, original=original)


# --- models ----------------------------------------------------------------------------------------------------------


def test_v_global_1_one_class_of_twelve():
    ages = [28, 29, 21, 23, 50, 55, 47, 49, 31, 37, 36, 35]
    zips = [13053, 13068, 13068, 13053, 14853, 14853, 14850, 14850, 13053, 13053, 13222, 13068]
    original = pl.DataFrame({"age": ages, "zipcode": list(map(str, zips))})
    release = pl.DataFrame({"age": ["[0-100]"] * 12, "zipcode": ["****"] * 12})
    found = verified(release, ["age", "zipcode"], KAnonymity(k=12), original=original)
    assert (found.holds, found.verdicts[0].achieved, found.n_classes) == (True, 12, 1)
    assert found.covers


def test_v_tclose_hierarchy_ground_distances():
    tree = hierarchy_of(DISEASES)
    pairs = {("flu", "bronchitis"): 1 / 3, ("flu", "pulmonary embolism"): 2 / 3, ("flu", "stomach cancer"): 1}
    found = {(a, b): tree.distance(tree.find(a), tree.find(b)) for a, b in pairs}
    assert found == pytest.approx(pairs)


@pytest.mark.parametrize(
    "members",
    [("gastritis", "flu", "bronchitis"), ("bronchitis", "pneumonia", "stomach cancer"),
     ("gastritis", "bronchitis", "stomach cancer")],
)  # fmt: skip
def test_v_tclose_2_other_classes_with_uniform_baseline(members):
    uniform = dict.fromkeys(("gastric ulcer", "gastritis", "stomach cancer", "flu", "bronchitis", "pneumonia"), 1)
    stats = stats_of_classes([dict.fromkeys(members, 1)], tree=DISEASES, totals=uniform)
    assert TCloseness(t=0.3, distance="hierarchical").levels(stats) == pytest.approx([5 / 18], abs=1e-12)


def test_v_ldiv_3_entropy_in_nats():
    stats = stats_of_classes([{"Cancer": 100, "Anaemia": 100, "Covid-19": 800}])
    assert np.log(LDiversity(l=2, variant="entropy").levels(stats)) == pytest.approx([0.639032], abs=1e-6)


def test_a1_classes_diversity_of_both_sensitive_columns():
    quasi = ["c1", "c2", "c1", "c3", "c2", "c3", "c1"]
    release = pl.DataFrame(
        {"q": quasi, "lspw": [100, 200, 150, 170, 195, 200, 150], "ds": ["C", "F", "C", "T", "F", "T", "C"]}
    )
    for column, least in (("ds", 1), ("lspw", 2)):
        found = verified(release.select("q", column), ["q"], LDiversity(l=2), sensitive=[column])
        assert found.verdicts[0].achieved == least


def test_v02_everybody_is_alone():
    rows = pl.DataFrame({
        "Gender": ["M", "M", "F", "F"], "Age": [31, 35, 37, 39], "Zip": ["12000", "12500", "12500", "15400"],
        "Disease": ["Flu", "HIV", "Cancer", "HIV"],
    })  # fmt: skip
    found = verified(rows, ["Gender", "Age", "Zip"], KAnonymity(k=2), LDiversity(l=2), sensitive=["Disease"])
    assert [v.achieved for v in found.verdicts] == [1, 1]
    assert found.n_classes == 4


@pytest.mark.parametrize("model", [OneKAnonymity, KOneAnonymity])
def test_v06_degrees_of_the_graph(model):
    columns = ["Zip", "Age", "Nationality"]
    for k, holds in ((4, True), (5, False)):
        found = verified(T6B.select(columns), columns, model(k=k), original=T6A.select(columns))
        assert (found.verdicts[0].achieved, found.holds) == (4, holds)


def test_v_anatomy_generalised_form():
    """The generalised table beside which the groups of Anatomy are shown: k = 4 and two illnesses in a class."""
    original = pl.DataFrame({
        "age": [23, 27, 35, 59, 61, 65, 65, 70], "sex": list("MMMMFFFF"),
        "zipcode": [11000, 13000, 59000, 12000, 54000, 25000, 25000, 30000],
    })  # fmt: skip
    release = pl.DataFrame({
        "age": ["[21,60]"] * 4 + ["[61,70]"] * 4, "sex": list("MMMMFFFF"), "zipcode": ["[10001,60000]"] * 8,
        "disease": ["pneumonia", "dyspepsia", "dyspepsia", "pneumonia", "flu", "gastritis", "flu", "bronchitis"],
    })  # fmt: skip
    goals = KAnonymity(k=4), LDiversity(l=2)
    found = verified(release, ["age", "sex", "zipcode"], *goals, sensitive=["disease"], original=original)
    assert [v.achieved for v in found.verdicts] == [4, 2]
    assert found.covers


# --- attacks ---------------------------------------------------------------------------------------------------------


def test_v_sim_1_diseases_of_the_lung():
    """The class of the target holds three diseases, all of the lung; the other classes hold Anaemia too."""
    release = pl.DataFrame({"q": [r["age"] for r in SIM_1], "s": [r["disease"] for r in SIM_1]})
    assert set(release["s"][:3]) == {"Lung Cancer", "Pneumonia", "Pulmonary Edema"}
    tree = {"lung": ["Lung Cancer", "Pneumonia", "Pulmonary Edema", "Bronchitis"], "blood": ["Anaemia"]}
    found = reached("similarity", None, release, ["q"], ["s"], policy=with_tree(tree))
    assert (found.n_victims, found.worst[:3]) == (3, (1, 2, 3))


# --- cells and metrics -----------------------------------------------------------------------------------------------


def test_b1_suppressed_names():
    """Every value of the two columns becomes a star, or they are left out; all other cells stay."""
    people = pl.DataFrame({
        "first_name": ["John", "Maria", "Peter", "Meredith", "Hans", "Martin"],
        "last_name": ["Roe", "Garcia", "Martinez", "Malone", "Pedersen", "Jørgensen"],
        "profession": ["Police officer", "Teacher", "Firefighter", "Nurse", "Teacher", "Doctor"],
        "disease": list("ABBAAB"), "country": ["DK"] * 6,
    })  # fmt: skip
    for transform in ("star", "drop"):
        names = {n: {"role": "identifier", "transform": transform} for n in ("first_name", "last_name")}
        columns = {**names, "profession": "keep", "disease": "keep", "country": "quasi"}
        found = tc.anonymize(people, tc.Policy(columns=columns, goals=[tc.KAnonymity(k=6)])).frame
        assert found.select("profession", "disease").rows() == sorted(people.select("profession", "disease").rows())
        stars = [("*", "*")] * 6
        assert transform == "drop" or found.select("first_name", "last_name").rows() == stars
        assert ("first_name" in found.columns) == (transform == "star")


def test_b2_ranges_that_overlap_leave_rows_alone():
    original = pl.DataFrame({"age": [24, 35, 30, 57, 50, 62]})
    published = {
        1: ["20-30", "25-35", "25-35", "55-65", "40-50", "55-65"],
        2: ["24-30", "35-50", "24-30", "57-62", "35-50", "57-62"],
    }
    for k, labels in published.items():
        found = verified(pl.DataFrame({"age": labels}), ["age"], KAnonymity(k=2), original=original)
        assert (found.verdicts[0].achieved, found.covers) == (k, True)


def test_v07c_cells_are_not_wider_than_those_of_t7b():
    values = {"Age": range(10, 60), "Gender": "MF", "Zip": [f"10{i:03d}" for i in range(1000)]}
    narrower = {}
    for name, domain in values.items():
        kind = "integer" if name == "Age" else "text"
        for fine, coarse in zip(T7C[name], T7B[name], strict=True):
            within, around = ({v for v in domain if covers(parse(cell, kind), v)} for cell in (fine, coarse))
            assert within <= around
            narrower[name] = narrower.get(name, 0) + (within < around)
    assert narrower == {"Age": 2, "Gender": 1, "Zip": 1}


def test_b9_a_constant_column_loses_nothing_and_nodes_their_share_of_the_values():
    constant = tc.compare(pl.DataFrame({"x": [5, 5]}), pl.DataFrame({"x": ["[5, 5]", "5"]}), quasi=["x"])
    assert constant.loss == 0
    tree = {"Public safety": ["p", "f"], "Health service": ["n", "d"], "Education": ["t"]}
    column = {"role": "quasi", "hierarchy": {"kind": "tree", "tree": tree}}
    policy = tc.Policy(columns={"job": column}, goals=[tc.KAnonymity(k=2)])
    jobs = pl.DataFrame({"job": ["p", "f", "n", "d", "t"]})
    for label, loss in (("Public safety", 0.4), ("p", 0.0)):
        after = jobs.with_columns(job=pl.Series([label, "f", "n", "d", "t"]))
        assert tc.compare(jobs, after, policy=policy).loss == pytest.approx(loss / 5)


# --- widths of the single-dimensional partitioner --------------------------------------------------------------------


def width_of(values):
    problem = Problem(coded([{"x": v} for v in values], {"x": None}), Goal((KAnonymity(k=len(values)),)))
    run = SingleDimensional(width="maximum").run(problem, silent)
    return run.width(run.closed[0])


@pytest.mark.parametrize(
    ("least", "most", "width"),
    [(17, 90, 0.811111), (13492, 1490400, 0.990947), (1, 16, 0.9375), (0, 99999, 1.0), (0, 4356, 1.0),
     (1, 99, 0.989899)],
)  # fmt: skip
def test_b10_numeric_widths_of_the_adult_table(least, most, width):
    assert width_of([least, most]) == pytest.approx(width, abs=1e-6)


@pytest.mark.parametrize(
    ("n_values", "width"),
    [(8, 0.875), (16, 0.9375), (7, 0.857143), (14, 0.928571), (6, 0.833333), (5, 0.8), (2, 0.5), (41, 0.97561)],
)
def test_b10_categorical_widths_of_the_adult_table(n_values, width):
    assert width_of([f"v{i:02d}" for i in range(n_values)]) == pytest.approx(width, abs=1e-6)


@pytest.mark.parametrize(("values", "width"), [([0, 0, 0], 0), ([-5, -3, -1], 1)])
def test_b7_widths_are_never_undefined_or_negative(values, width):
    """The printed width divides by the maximum, which is 0 / 0 or negative here; the range of the table is not."""
    assert width_of(values) == width


def test_b7_all_candidates_are_tried():
    """Of B1, the median of the ages fails K = 2 beside what was split before; the first quartile does not."""
    for candidates, step in (("median", "age:closed"), ("quartiles", "age:split")):
        run = SingleDimensional(width="maximum", candidates=candidates).run(six(2, 0), silent)
        assert run.steps[:2] == ["profession:split", step]


# --- distances -------------------------------------------------------------------------------------------------------


def test_v_dist_d1_numeric_parts():
    ages, salaries = [89, 43, 28, 76, 30, 4, 59, 22], [5422, 1280, 7785, 2374, 4214, 3012, 895, 1624]
    pairs = {
        (3, 5): (0.023529, 0.518287), (1, 2): (0.541176, 0.601161), (2, 6): (0.458824, 0.251379),
        (4, 7): (0.2, 0.214659), (6, 8): (0.211765, 0.201451),
    }  # fmt: skip
    for place, values in enumerate((ages, salaries)):
        domain, codes = fit_domain(pl.Series("x", values), ColumnType.INTEGER)
        points = Points([domain], [codes.astype(np.int64)], compiled=False)
        for (r, s), parts in pairs.items():
            lo, hi = np.sort(points.codes[:, [r - 1, s - 1]], axis=1).T
            cost = points.interval_costs(0, lo[:1], hi[:1])[0] / points.lines.full[0]
            assert cost == pytest.approx(parts[place], abs=1e-6)
