"""Tables and policies that engines are tested with."""

from datetime import date, timedelta

import numpy as np
import polars as pl

K = "{model: k-anonymity, k: 4}"
L = "{model: l-diversity, l: 2, variant: distinct, sensitive: illness}"
T = "{model: t-closeness, t: 0.5, distance: equal, sensitive: illness}"


def people(n=400, seed=0):
    """Numbers, dates, text in several alphabets, and cells that are missing."""
    random = np.random.default_rng(seed)
    towns = ["Zürich", "Oslo", "東京", "Kraków", "=1+1", "Åre"]
    born = [date(1950, 1, 1) + timedelta(days=int(d)) for d in random.integers(0, 18000, n)]
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "age": pl.Series([None if random.random() < 0.03 else int(a) for a in random.integers(18, 80, n)]),
            "born": pl.Series(born),
            "town": [None if random.random() < 0.05 else towns[i] for i in random.integers(0, len(towns), n)],
            "weight": random.normal(70, 10, n).round(1),
            "illness": [f"i{v}" for v in random.integers(0, 5, n)],
            "note": [None if random.random() < 0.2 else f"n{v}" for v in random.integers(0, 50, n)],
        }
    )


def policy_of(algorithm, goals, *, output="release.csv", source="people.csv", extra=""):
    return f"""version: 1
input: {source}
columns:
  id: {{role: keep}}
  age: {{role: quasi}}
  born: {{role: quasi}}
  town: {{role: quasi}}
  weight: {{role: quasi}}
  illness: {{role: sensitive}}
  note: {{role: keep}}
goals: [{", ".join(goals)}]
algorithm: {algorithm}
output: {{path: {output}{extra}}}
"""
