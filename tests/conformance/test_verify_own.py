"""Own releases beside their originals: yes, or an honest unknown, never no."""

import polars as pl
import pytest

import tablecloak as tc

TABLE = pl.DataFrame({
    "age": [20 + i * 7 % 40 if i % 9 else None for i in range(60)], "zip": [f"{130 + i * 11 % 37}" for i in range(60)],
    "sex": ["fm"[i * 5 % 3 % 2] for i in range(60)], "dx": ["abcd"[i * 7 % 4] for i in range(60)],
})  # fmt: skip
OPTIONS = [{}, {"missing": "drop"}, {"output": {"path": "release.csv", "suppressed": "star"}}]


@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "drop", "star"])
@pytest.mark.parametrize(
    "algorithm", ["mondrian", "flash", "datafly", "k-member", "mdav", "ring", "anatomy", "slicing"]
)
def test_own_releases_do_not_fail(algorithm, options):
    goals = {"ring": [{"model": "k-concealment", "k": 3}], "anatomy": [tc.LDiversity(l=2)]}
    columns = tc.roles(quasi=["age", "zip", "sex"], sensitive=["dx"])
    wanted = goals.get(algorithm, goals["anatomy"] if algorithm == "slicing" else [tc.KAnonymity(k=3)])
    policy = tc.Policy(columns=columns, goals=wanted, algorithm=algorithm, **options)
    release = tc.anonymize(TABLE, policy)
    assert not tc.verify(release.frame, policy, side=release.side).fails
    found = tc.verify(release.frame, policy, original=TABLE, side=release.side)
    assert not found.fails
    assert found.holds or (algorithm == "mdav" and "centers" in found.unchecked[0])
