"""delta_min of delta-presence: classes grow until nobody of the population is nearly certain to be absent."""

import numpy as np
import polars as pl
import pytest

import oracle_attacks
import tablecloak as tc
from tablecloak import pipeline
from tablecloak.errors import Infeasible
from tablecloak.models.delta_presence import DeltaPresence

HIERARCHIES = {
    "age": {"role": "quasi", "hierarchy": {"kind": "intervals", "width": 5, "factors": [2]}},
    "sex": {"role": "quasi", "hierarchy": {"kind": "tree", "tree": {"*": ["f", "m"]}}},
}


@pytest.fixture
def city(tmp_path):
    """A population of which the young are mostly in the table and the old rarely."""
    rng = np.random.default_rng(5)
    people = pl.DataFrame({"age": rng.integers(20, 60, 240), "sex": rng.choice(["f", "m"], 240)})
    people.write_csv(tmp_path / "city.csv")
    is_in = rng.random(240) < np.where(people["age"].to_numpy() < 40, 0.7, 0.2)
    return people, people.filter(pl.Series(is_in)), str(tmp_path / "city.csv")


def policy(path, low, high=0.9, columns=HIERARCHIES, algorithm="mondrian"):
    goals = [tc.KAnonymity(k=3), DeltaPresence(delta_min=low, delta_max=high)]
    return tc.Policy(columns=columns, goals=goals, population={"path": path}, algorithm={"kind": algorithm})


@pytest.mark.parametrize("low", [0.2, 0.4])
@pytest.mark.parametrize("algorithm", ["mondrian", "flash", "auto"])
def test_everybody_may_be_in_the_table(city, low, algorithm):
    people, table, path = city
    wanted = policy(path, low, algorithm=algorithm)
    release = tc.anonymize(table, wanted)
    chances = oracle_attacks.membership(people.to_dicts(), release.frame.to_dicts(), ["age", "sex"])
    assert min(chances) >= low
    assert max(chances) <= 0.9
    assert tc.verify(release.frame, wanted).holds


def test_without_delta_min_somebody_is_nearly_certain_to_be_absent(city):
    """So the search above had something to do."""
    people, table, path = city
    release = tc.anonymize(table, policy(path, 0.0))
    chances = oracle_attacks.membership(people.to_dicts(), release.frame.to_dicts(), ["age", "sex"])
    assert min(chances) < 0.2


def test_the_share_of_the_table_in_the_population_is_the_most_that_can_be_asked(city):
    people, table, path = city
    share = table.height / people.height
    with pytest.raises(Infeasible, match="in the table, a chance of") as caught:
        tc.anonymize(table, policy(path, share + 0.02))
    assert "delta_min: 0." in caught.value.relaxations[0]["change"]


def test_check_says_whether_everybody_can_be_left_in_doubt(city, tmp_path):
    people, table, path = city
    table.write_csv(tmp_path / "table.csv")

    def check(low):
        return pipeline.check(policy(path, low).with_files(source=tmp_path / "table.csv"))

    assert check(0.3).feasible
    with pytest.raises(Infeasible, match="in the table, a chance of"):
        check(table.height / people.height + 0.02)


def test_people_beyond_every_value_of_the_table_are_named_as_the_reason(city):
    """Without hierarchies the widest interval ends where the table does."""
    _, table, path = city
    young = table.filter(pl.col("age") < 50)
    plain = tc.roles(quasi=["age", "sex"])
    with pytest.raises(Infeasible, match=r"\d+ of 240 people of the population are covered by no class"):
        tc.anonymize(young, policy(path, 0.2, columns=plain))


def test_overlapping_classes_do_not_hide_somebody_who_is_outside(tmp_path):
    """Two classes cover the same two people and none covers the third: three are counted, one of them twice."""
    pl.DataFrame({"age": [30, 31, 90], "sex": ["f", "f", "f"]}).write_csv(tmp_path / "city.csv")
    released = pl.DataFrame({"age": ["[30, 31]", "[30, 32]"], "sex": ["f", "f"]})
    wanted = tc.Policy(
        columns=tc.roles(quasi=["age", "sex"]), goals=[DeltaPresence(delta_min=0.1, delta_max=1.0)],
        population={"path": str(tmp_path / "city.csv")},
    )  # fmt: skip
    assert not tc.verify(released, wanted).holds
