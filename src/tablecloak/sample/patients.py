"""Hospital patients who do not exist."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from tablecloak.arrays import BoolArray
from tablecloak.rng import child
from tablecloak.sample.draw import Codes, Floats, choose, zipf

Flags: TypeAlias = BoolArray
Texts: TypeAlias = npt.NDArray[np.str_]

# fmt: off
FEMALE = [
    "Mary", "Patricia", "Linda", "Elena", "Susan", "Aisha", "Karen", "Nancy", "Mei", "Sandra", "Ashley", "Donna",
    "Carol", "Ruth", "Sofia", "Laura", "Helen", "Amy", "Anna", "Ines", "Grace", "Julia", "Olivia", "Fatima", "Emma",
    "Rosa", "Hannah", "Clara", "Yuki", "Nora",
]
MALE = [
    "James", "Robert", "Juan", "Michael", "David", "Ahmed", "Thomas", "Charles", "Wei", "Daniel", "Mark", "Paul",
    "Steven", "Andrew", "Luis", "George", "Kevin", "Brian", "Omar", "Jason", "Ryan", "Jacob", "Carlos", "Eric",
    "Peter", "Hiro", "Samuel", "Victor", "Noah", "Leon",
]
LAST = [
    "Smith", "Johnson", "Williams", "Garcia", "Brown", "Jones", "Miller", "Davis", "Martinez", "Lopez", "Wilson",
    "Anderson", "Nguyen", "Taylor", "Moore", "Jackson", "Lee", "Perez", "Thompson", "White", "Harris", "Sanchez",
    "Clark", "Lewis", "Robinson", "Walker", "Young", "Allen", "King", "Wright", "Scott", "Torres", "Hill", "Flores",
    "Green", "Adams", "Nelson", "Baker", "Hall", "Rivera", "Campbell", "Mitchell", "Carter", "Roberts", "Kim",
    "Patel", "Chen", "Khan", "Novak", "Rossi", "Schmidt", "Silva", "Larsen", "Kowalski", "Dubois", "Haddad",
    "Okafor", "Yamamoto", "Singh", "Ivanova",
]
# fmt: on
INSURANCES = ("public", "private", "employer", "none")


@dataclass(frozen=True)
class Diagnosis:
    """Who gets a diagnosis and what it costs."""

    label: str
    weight: float
    age: float  # typical
    spread: float
    female: float  # share of women among the sick if both sexes were equally many
    cost: float  # median


DIAGNOSES = tuple(
    Diagnosis(*row)
    for row in (
        ("Influenza", 4.0, 45, 40, 0.5, 1900),
        ("Tuberculosis", 0.6, 45, 20, 0.4, 9000),
        ("HIV infection", 0.7, 38, 13, 0.25, 11000),
        ("Hepatitis C", 0.9, 50, 14, 0.4, 8500),
        ("Sepsis", 1.6, 72, 16, 0.5, 21000),
        ("Breast cancer", 2.2, 61, 13, 0.99, 17500),
        ("Lung cancer", 1.8, 68, 10, 0.45, 23000),
        ("Colon cancer", 1.7, 69, 12, 0.47, 20500),
        ("Prostate cancer", 2.0, 69, 9, 0.0, 14500),
        ("Leukemia", 0.7, 55, 25, 0.43, 42000),
        ("Type 2 diabetes", 4.6, 62, 14, 0.47, 5200),
        ("Type 1 diabetes", 0.9, 27, 15, 0.5, 5800),
        ("Obesity", 1.9, 45, 14, 0.6, 9500),
        ("Thyroid disorder", 1.6, 50, 16, 0.85, 4300),
        ("Depression", 3.8, 42, 17, 0.64, 6700),
        ("Anxiety disorder", 2.6, 36, 15, 0.65, 4100),
        ("Schizophrenia", 0.9, 34, 13, 0.42, 9800),
        ("Alcohol dependence", 2.1, 48, 13, 0.25, 5600),
        ("Dementia", 1.9, 82, 7, 0.6, 12500),
        ("Epilepsy", 1.2, 33, 24, 0.48, 6100),
        ("Migraine", 1.8, 38, 14, 0.75, 2300),
        ("Stroke", 3.1, 74, 12, 0.5, 18500),
        ("Parkinson disease", 0.9, 75, 9, 0.4, 8900),
        ("Hypertension", 4.9, 66, 15, 0.52, 3100),
        ("Heart failure", 3.9, 77, 11, 0.49, 13500),
        ("Myocardial infarction", 3.0, 68, 13, 0.34, 22500),
        ("Atrial fibrillation", 2.5, 74, 11, 0.47, 7400),
        ("Asthma", 2.4, 28, 21, 0.55, 3300),
        ("COPD", 2.7, 70, 11, 0.46, 7900),
        ("Pneumonia", 4.2, 66, 24, 0.47, 8100),
        ("Gastritis", 2.2, 50, 20, 0.53, 2600),
        ("Appendicitis", 1.8, 26, 15, 0.46, 9100),
        ("Gallstones", 2.3, 55, 17, 0.65, 9900),
        ("Kidney failure", 1.9, 71, 15, 0.45, 15500),
        ("Urinary infection", 2.3, 63, 24, 0.76, 3500),
        ("Childbirth", 7.5, 30, 5.5, 1.0, 7600),
        ("Hip fracture", 2.3, 81, 9, 0.72, 19500),
        ("Knee osteoarthritis", 3.2, 69, 9, 0.6, 14000),
    )
)
_FIRST_DAY, _N_DAYS = np.datetime64("2024-01-01"), 731
_BLOCK = 100_000  # bounds the table of diagnosis weights


def patients(n: int = 5000, seed: int = 0) -> pl.DataFrame:
    """`n` hospital stays: name, ssn, birth_date, sex, zip, admission, diagnosis, insurance, cost.

    Ages, diagnoses and costs depend on each other; no social security number is one that is ever issued.
    """
    sizes = [min(_BLOCK, n - start) for start in range(0, n, _BLOCK)] or [0]
    rngs = [child(seed, f"patients/{index}") for index in range(len(sizes))]
    return pl.concat([_block(size, rng) for size, rng in zip(sizes, rngs, strict=True)])


def write_patients(directory: Path) -> Path:
    """Write patients.csv, its hierarchies and a policy into a directory; returns the path of the policy."""
    target = Path(directory)
    (target / "hierarchies").mkdir(parents=True, exist_ok=True)
    bundled = files("tablecloak.sample")
    for file in bundled.joinpath("hierarchies").iterdir():
        (target / "hierarchies" / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    patients().write_csv(target / "patients.csv")
    policy = target / "policy.yaml"
    policy.write_bytes(patients_policy().encode())
    return policy


def patients_policy() -> str:
    """The bundled policy for patients, as YAML."""
    return files("tablecloak.sample").joinpath("policies", "patients.yaml").read_text(encoding="utf-8")


def _block(n: int, rng: np.random.Generator) -> pl.DataFrame:
    is_male = rng.random(n) < 0.47
    age = np.clip(np.where(rng.random(n) < 0.55, rng.normal(66, 14, n), rng.uniform(0, 80, n)), 0, 99)
    diagnosis = _diagnoses(age, is_male, rng)
    admission = _FIRST_DAY + rng.integers(0, _N_DAYS, n)
    birth = admission - (age * 365.25).astype("timedelta64[D]")
    columns = {
        "name": _names(is_male, rng),
        "ssn": _numbers(n, rng),
        "birth_date": birth.astype("datetime64[D]"),
        "sex": np.where(is_male, "male", "female"),
        "zip": _zips()[choose(rng.random(n), _zip_weights())],
        "admission": admission.astype("datetime64[D]"),
        "diagnosis": np.array([d.label for d in DIAGNOSES])[diagnosis],
        "insurance": _insurances(age, rng),
        "cost": _costs(age, diagnosis, rng),
    }
    frame = pl.DataFrame({name: pl.Series(name, column.tolist()) for name, column in columns.items()}, schema=_SCHEMA)
    return _with_gaps(frame, rng)


_SCHEMA: dict[str, type[pl.DataType]] = {
    "name": pl.String,
    "ssn": pl.String,
    "birth_date": pl.Date,
    "sex": pl.String,
    "zip": pl.String,
    "admission": pl.Date,
    "diagnosis": pl.String,
    "insurance": pl.String,
    "cost": pl.Float64,
}


def _with_gaps(frame: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """A few birth dates are unknown, as in real files."""
    unknown = pl.Series("unknown", rng.random(frame.height) < 0.004)
    return frame.with_columns(pl.when(~unknown).then(pl.col("birth_date")).alias("birth_date"))


def _diagnoses(age: Floats, is_male: Flags, rng: np.random.Generator) -> Codes:
    """One diagnosis per patient by weight, age and sex."""
    weight, typical, spread, female = (
        np.array([getattr(d, key) for d in DIAGNOSES]) for key in ("weight", "age", "spread", "female")
    )
    by_age = np.exp(-0.5 * ((age[:, None] - typical) / spread) ** 2) / spread + 1e-5
    by_sex = np.where(is_male[:, None], 1 - female, female)
    childbirth = [d.label for d in DIAGNOSES].index("Childbirth")
    by_age[(age < 15) | (age > 50), childbirth] = 0
    edges = np.cumsum(weight * by_age * by_sex, axis=1)  # (n, n_diagnoses)
    codes: Codes = (rng.random(len(age))[:, None] * edges[:, -1:] >= edges).sum(axis=1)
    return codes


def _costs(age: Floats, diagnosis: Codes, rng: np.random.Generator) -> Floats:
    median = np.array([d.cost for d in DIAGNOSES])[diagnosis]
    costs: Floats = np.round(median * np.exp(rng.normal(0, 0.45, len(age)) + 0.003 * (age - 50)), 2)
    return costs


def _names(is_male: Flags, rng: np.random.Generator) -> Texts:
    n = len(is_male)
    first = np.array([FEMALE, MALE])[is_male.astype(int), choose(rng.random(n), zipf(30, 0.4))]
    middle = np.array(list("ABCDEFGHJKLMNPRSTVW"))[rng.integers(0, 19, n)]
    last = np.array(LAST)[choose(rng.random(n), zipf(len(LAST), 0.5))]
    return np.array([f"{a} {b}. {c}" for a, b, c in zip(first, middle, last, strict=True)], dtype=np.str_)


def _numbers(n: int, rng: np.random.Generator) -> Texts:
    """Social security numbers from 900 up, which are never issued; different within a block."""
    digits = 900_000_000 + rng.choice(100_000_000, n, replace=False)
    return np.array([f"{d // 10**6}-{d // 10**4 % 100:02d}-{d % 10**4:04d}" for d in digits.tolist()])


def _insurances(age: Floats, rng: np.random.Generator) -> Texts:
    young, old = [0.2, 0.2, 0.5, 0.1], [0.75, 0.2, 0.04, 0.01]
    u = rng.random(len(age))
    return np.array(INSURANCES)[np.where(age < 65, choose(u, young), choose(u, old))]


@functools.cache
def _zips() -> Texts:
    rng = child(0, "patients/zips")
    prefixes = np.sort(rng.choice(np.arange(100, 160), 12, replace=False))
    return np.array([f"{p}{e:02d}" for p in prefixes for e in np.sort(rng.choice(100, 51, replace=False))])


@functools.cache
def _zip_weights() -> Floats:
    rng = child(0, "patients/zip-weights")
    area, place = rng.permutation(zipf(12, 0.8)), zipf(51, 0.7)
    return np.concatenate([weight * rng.permutation(place) for weight in area])
