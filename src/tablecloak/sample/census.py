"""A census of any size: eight quasi-identifiers, a disease and a salary, skewed and correlated as real ones are."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from tablecloak.rng import child
from tablecloak.sample.draw import Codes, Floats, choose, choose_by_row, enum_series, zipf

Tree: TypeAlias = dict[str, Any] | list[str]

BLOCK = 250_000  # rows drawn from one random stream, whatever the size of the table
N_AREAS = 250  # three-digit zip prefixes
N_ZIPS = 6000

TREES: dict[str, Tree] = {
    "education": {
        "No degree": {
            "Primary": ["None", "Grades 1-4", "Grades 5-6", "Grades 7-8"],
            "Secondary": ["Grade 9", "Grade 10", "Grade 11", "Grade 12"],
        },
        "Degree": {
            "School": ["High school", "Some college"],
            "Vocational": ["Vocational associate", "Academic associate"],
            "University": ["Bachelor", "Master", "Professional", "Doctorate"],
        },
    },
    "marital": {
        "Partner": ["Married", "Registered partner"],
        "No partner": ["Never married", "Separated", "Divorced", "Widowed", "Spouse absent"],
    },
    "occupation": {
        "Office": ["Administration", "Management", "Sales", "Science", "Technical support"],
        "Manual": ["Craft", "Machines", "Transport", "Cleaning", "Farming"],
        "Service": ["Care", "Household", "Protection", "Armed forces"],
    },
    "race": ["White", "Black", "Asian", "Native American", "Other"],
    "sex": ["Female", "Male"],
    "country": {
        "America": {
            "North America": ["United States", "Canada", "Mexico", "Puerto Rico", "Guam"],
            "Caribbean": ["Cuba", "Jamaica", "Haiti", "Dominican Republic", "Trinidad and Tobago"],
            "Central America": ["Guatemala", "El Salvador", "Honduras", "Nicaragua"],
            "South America": ["Colombia", "Ecuador", "Peru", "Brazil"],
        },
        "Asia": {
            "East Asia": ["China", "Japan", "Taiwan", "Hong Kong", "South Korea"],
            "South-East Asia": ["Philippines", "Vietnam", "Thailand", "Laos", "Cambodia"],
            "West and South Asia": ["India", "Iran"],
        },
        "Europe": {
            "Western Europe": ["Germany", "France", "Netherlands", "England", "Scotland", "Ireland"],
            "Southern Europe": ["Italy", "Greece", "Portugal"],
            "Eastern Europe": ["Poland", "Hungary"],
        },
    },
}
# fmt: off
DISEASES = [
    "Hypertension", "Back pain", "Diabetes", "Depression", "Influenza", "Asthma", "Arthritis", "Migraine",
    "Bronchitis", "Anxiety", "Obesity", "Gastritis", "Allergy", "Anemia", "Pneumonia", "Angina", "Heart failure",
    "Stroke", "Cataract", "Osteoporosis", "Eczema", "Psoriasis", "Gout", "Epilepsy", "Hepatitis", "Breast cancer",
    "Colon cancer", "Lung cancer", "Tuberculosis", "HIV",
]
# fmt: on

# Shares by age group (up to 24, 34, 49, 64, older), in the order of the leaves of `marital`.
_MARITAL = np.array(
    [
        [0.08, 0.02, 0.86, 0.01, 0.01, 0.01, 0.01],
        [0.42, 0.05, 0.40, 0.03, 0.07, 0.01, 0.02],
        [0.56, 0.04, 0.17, 0.04, 0.16, 0.01, 0.02],
        [0.57, 0.02, 0.08, 0.03, 0.19, 0.09, 0.02],
        [0.48, 0.01, 0.05, 0.01, 0.12, 0.32, 0.01],
    ]
)
_EDUCATION = np.array([0.2, 0.5, 1, 2, 1.6, 2.9, 3.7, 1.4, 32, 22, 4.3, 3.4, 16.5, 5.5, 1.8, 1.2])
_BORN_HERE = np.array([0.95, 0.85, 0.30, 0.93, 0.45])  # by race


@dataclass(frozen=True)
class _World:
    """What all blocks share: the places and who lives there."""

    zips: list[str]
    zip_weights: Floats  # (n_zips,)
    area: Codes  # (n_zips,) area of each zip
    race_by_area: Floats  # (n_areas, 5)
    job_by_degree: Floats  # (2 sexes * 16 degrees, 14)
    country_by_race: Floats  # (5, 40) countries other than the first
    disease_by_group: Floats  # (5 age groups * 2 sexes, 30)


def census(n: int, seed: int = 0) -> pl.DataFrame:
    """`n` people: age, zip, education, marital, occupation, race, sex, country, disease, salary.

    Text columns are Enum. The same seed gives the same people.
    """
    blocks = list(_blocks(n, seed))
    return pl.concat(blocks, rechunk=True) if blocks else pl.DataFrame(schema=_schema())


def census_to_file(path: Path, n: int, seed: int = 0) -> Path:
    """Write `census(n, seed)` to a CSV or Parquet file with memory for a few blocks only."""

    def batches(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        del predicate, batch_size
        for block in _blocks(n if n_rows is None else min(n, n_rows), seed):
            yield block.select(with_columns) if with_columns else block

    people = register_io_source(batches, schema=_schema())
    if Path(path).suffix == ".parquet":
        people.sink_parquet(path)
    else:
        people.sink_csv(path, check_extension=False)
    return Path(path)


def leaves(tree: Tree) -> list[str]:
    """The leaves of a nested tree, depth first."""
    if isinstance(tree, list):
        return tree
    return [leaf for below in tree.values() for leaf in leaves(below)]


def _blocks(n: int, seed: int) -> Iterator[pl.DataFrame]:
    for index, start in enumerate(range(0, n, BLOCK)):
        yield _block(min(BLOCK, n - start), child(seed, f"census/{index}"))


@functools.cache
def _schema() -> pl.Schema:
    return _block(1, child(0, "census/schema")).schema


@functools.cache
def _world() -> _World:
    """The same places for every seed, so that hierarchies fit every census."""
    rng = child(0, "census/world")
    prefixes = np.sort(rng.choice(np.arange(10, 999), N_AREAS, replace=False))
    area_weights = rng.permutation(zipf(N_AREAS, 0.7))
    counts = np.clip(np.round(area_weights * N_ZIPS * 1.05), 4, 100).astype(int)
    endings = [np.sort(rng.choice(100, count, replace=False)) for count in counts]
    weights = [w * rng.permutation(zipf(c, 0.8)) for w, c in zip(area_weights, counts, strict=True)]
    jobs = zipf(14, 0.6)
    return _World(
        zips=[f"{prefix:03d}{end:02d}" for prefix, ends in zip(prefixes, endings, strict=True) for end in ends],
        zip_weights=np.concatenate(weights),
        area=np.repeat(np.arange(N_AREAS), counts),
        race_by_area=rng.dirichlet([7.0, 1.4, 0.6, 0.15, 0.3], N_AREAS),
        job_by_degree=np.array([jobs[rng.permutation(14)] + 0.3 * jobs for _ in range(32)]),
        country_by_race=np.array([zipf(40, 0.9)[rng.permutation(40)] for _ in range(5)]),
        disease_by_group=zipf(30, 0.9) * rng.gamma(2.0, 0.5, (10, 30)),
    )


def _block(n: int, rng: np.random.Generator) -> pl.DataFrame:
    world = _world()
    age = _ages(n, rng)
    group = np.digitize(age, [25, 35, 50, 65])
    sex = (rng.random(n) < 0.49).astype(np.intp)
    place = choose(rng.random(n), world.zip_weights)
    race = choose_by_row(rng.random(n), world.race_by_area, world.area[place])
    degree = choose(_shift(rng.random(n), age), _EDUCATION)
    foreign = 1 + choose_by_row(rng.random(n), world.country_by_race, race)
    codes = {
        "zip": place,
        "education": degree,
        "marital": choose_by_row(rng.random(n), _MARITAL, group),
        "occupation": choose_by_row(rng.random(n), world.job_by_degree, degree * 2 + sex),
        "race": race,
        "sex": sex,
        "country": np.where(rng.random(n) < _BORN_HERE[race], 0, foreign),
        "disease": choose_by_row(rng.random(n), world.disease_by_group, group * 2 + sex),
    }
    columns = [enum_series(name, column, _labels()[name]) for name, column in codes.items()]
    return pl.DataFrame([pl.Series("age", age), *columns, pl.Series("salary", _salaries(age, degree, rng))])


@functools.cache
def _labels() -> dict[str, list[str]]:
    return {"zip": _world().zips, "disease": DISEASES, **{name: leaves(tree) for name, tree in TREES.items()}}


def _ages(n: int, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.int64]]:
    working = rng.gamma(9.0, 4.3, n) + 8
    anyone = rng.uniform(17, 85, n)
    return np.clip(np.where(rng.random(n) < 0.6, working, anyone), 17, 90).astype(np.int64)


def _shift(uniform: Floats, age: np.ndarray[Any, np.dtype[np.int64]]) -> Floats:
    """The very young have not finished their education yet."""
    return np.where(age < 22, uniform * 0.7, uniform)


def _salaries(age: np.ndarray[Any, np.dtype[np.int64]], degree: Codes, rng: np.random.Generator) -> Floats:
    log = rng.normal(9.9, 0.45, len(age)) + 0.05 * degree + 0.012 * (np.minimum(age, 55) - 17)
    salaries: Floats = np.round(np.exp(log), 2)
    return salaries


def census_policy(k: int = 10, *, source: str = "census.csv", target: str = "release.csv") -> str:
    """A policy for a census file, as YAML: k-anonymity on the eight quasi-identifiers."""
    trees = "\n".join(
        f"  {name}: {{role: quasi, hierarchy: {{kind: tree, tree: {_yaml(tree)}}}}}" for name, tree in TREES.items()
    )
    return f"""version: 1
input: {_quoted(source)}
columns:
  age: {{role: quasi, type: integer}}
  zip: {{role: quasi, type: text, hierarchy: {{kind: mask, from: right}}}}
{trees}
  disease: {{role: sensitive}}
  salary: {{role: keep}}
goals:
  - {{model: k-anonymity, k: {k}}}
algorithm: mondrian
output: {_quoted(target)}
"""


def _yaml(tree: Tree) -> str:
    if isinstance(tree, list):
        return f"[{', '.join(map(_quoted, tree))}]"
    return f"{{{', '.join(f'{_quoted(label)}: {_yaml(below)}' for label, below in tree.items())}}}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
