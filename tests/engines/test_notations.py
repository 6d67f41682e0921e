"""Dates and numbers as people write them are the same values on every engine."""

import random
from datetime import date, timedelta

import polars as pl
import pytest

from tablecloak import pipeline
from tablecloak.policy.load import parse_policy

pytestmark = pytest.mark.slow
POLICY = """
version: 1
input: people.csv
columns:
  born: quasi
  seen: {role: quasi, format: mm/dd/yy, last_year: 2026}
  weight: quasi
  pay: sensitive
  age: quasi
  moved: keep
goals: [{model: k-anonymity, k: 4}, {model: t-closeness, t: 0.6, sensitive: pay}]
algorithm: mondrian
"""
MONTHS = (
    "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober",
    "November", "Dezember",
)  # fmt: skip


def written(folder):
    draw = random.Random(3)
    rows = ["born;seen;weight;pay;age;moved"]
    for _ in range(300):
        born, seen = (date(1930, 1, 1) + timedelta(days=draw.randrange(33_000)) for _ in range(2))
        pay = f"{draw.randrange(1, 10)}.{draw.randrange(1000):03},{draw.randrange(100):02} €"
        day = f"{born.day}. {MONTHS[born.month - 1]} {born.year}"
        rows.append(
            f"{day};{seen:%m/%d/%y};{draw.randrange(50, 90)} kg;{pay};{draw.randrange(20, 90)}.0;{seen:%d.%m.%Y}"
        )
    (folder / "people.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def test_a_release_is_the_same_on_every_engine(engine, tmp_path):
    written(tmp_path)
    policy = parse_policy(POLICY, name="p", base=tmp_path)
    pipeline.run(policy.with_files(target=tmp_path / "local.csv"), engine="local")
    report = pipeline.run(policy.with_files(target=tmp_path / "other.csv"), engine=engine, memory=None)
    assert report.verification.holds
    assert report.verification.covers
    assert (tmp_path / "other.csv").read_bytes() == (tmp_path / "local.csv").read_bytes()


def test_texts_in_a_table_of_spark_are_read_as_the_policy_says(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where Spark keeps its tables
    written(tmp_path)
    said = POLICY.replace("born: quasi", "born: {role: quasi, format: d mmmm yyyy}")
    said = said.replace("weight: quasi", "weight: {role: quasi, type: integer, unit: kg}")
    said = said.replace("age: quasi", "age: {role: quasi, type: integer, decimal: '.'}")
    said = said.replace("  pay: sensitive\n", "").replace(", {model: t-closeness, t: 0.6, sensitive: pay}", "")
    policy = parse_policy(said.replace("  moved: keep\n", ""), name="p", base=tmp_path)
    pipeline.run(policy.with_files(target=tmp_path / "local.csv"), engine="local")
    rows = pl.read_csv(tmp_path / "people.csv", separator=";", infer_schema=False)
    spark.session.createDataFrame(rows.to_dicts()).write.mode("overwrite").saveAsTable("written")
    asked = policy.with_files(source="spark://?table=written", target=tmp_path / "spark.csv")
    try:
        report = pipeline.run(asked, engine=spark)
    finally:
        spark.session.sql("DROP TABLE IF EXISTS written")
    assert report.verification.covers
    here, there = (pl.read_csv(tmp_path / f"{name}.csv", infer_schema=False) for name in ("local", "spark"))
    assert sorted(there.select(here.columns).iter_rows()) == sorted(here.iter_rows())
