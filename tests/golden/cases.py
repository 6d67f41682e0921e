"""The cases of the golden corpus, as data: a table, a policy for it, and what is asked of the two.

Every registered model and algorithm is in at least one of them, and so are persons, populations, missing cells, groups,
sets, databases, formats and refusals. The names of cases are keys of `expected.jsonl`: a case may be added, but what
one says may not change without writing the file anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from made_tables import GOODS, ILLS, PLACES

Policy = dict[str, Any]
Goal = dict[str, Any]

SECRET = {"env": "GOLDEN_SECRET"}

# --- columns --------------------------------------------------------------------------------------------------------

AGE = {"role": "quasi", "type": "integer", "hierarchy": {"kind": "intervals", "width": 5}}
SEX = {"role": "quasi"}
ZIP = {"role": "quasi", "type": "text", "hierarchy": {"kind": "mask"}}
TOWN = {"role": "quasi", "hierarchy": {"kind": "tree", "tree": PLACES}}
BORN = {"role": "quasi", "type": "date", "hierarchy": {"kind": "dates"}}
ILL = {"role": "sensitive", "hierarchy": {"kind": "tree", "tree": ILLS}}
PAY = {"role": "sensitive", "type": "integer"}
NAME = {"role": "identifier"}

ABOUT = {"name": NAME, "age": AGE, "sex": SEX, "zip": ZIP}
COLUMNS = {**ABOUT, "ill": ILL}
PAID = {**ABOUT, "pay": PAY}
BOTH = {**ABOUT, "ill": ILL, "pay": PAY}
PERSONS = {**COLUMNS, "who": {"role": "person"}}
PERSONS_PAID = {**PAID, "who": {"role": "person"}}
MEASURED = {"x": {"role": "quasi"}, "y": {"role": "quasi"}, "ill": {"role": "sensitive"}}
BASKETS = {"items": {"role": "items", "hierarchy": {"kind": "tree", "tree": GOODS}}}

# --- goals, one or more for every model -----------------------------------------------------------------------------

K = {"model": "k-anonymity", "k": 4}
K2 = {"model": "k-anonymity", "k": 2}
L2 = {"model": "l-diversity", "l": 2, "sensitive": "ill"}
L3 = {"model": "l-diversity", "l": 3, "sensitive": "ill"}
T = {"model": "t-closeness", "t": 0.4, "sensitive": "ill"}
CONCEALING = ("k-concealment", "k-one-anonymity", "kk-anonymity", "one-k-anonymity")

GOALS: dict[str, Goal] = {
    "k": K,
    "l-distinct": L3,
    "l-entropy": {**L2, "variant": "entropy", "l": 2.5},
    "l-recursive": {**L2, "variant": "recursive", "c": 3},
    "l-pd": {**L2, "variant": "pd-recursive", "c": 2, "allowed": ["flu"]},
    "l-npd": {**L2, "variant": "npd-recursive", "c": 4, "c2": 0.05, "forbidden": ["flu"]},
    "t-equal": T,
    "t-tree": {**T, "t": 0.3, "distance": "hierarchical"},
    "p": {"model": "p-sensitive-k-anonymity", "p": 2, "k": 3},
    "p-plus": {"model": "p-plus-sensitive-k-anonymity", "p": 2, "k": 3, "level": 1},
    "p-alpha": {"model": "p-alpha-sensitive-k-anonymity", "p": 2, "alpha": 1, "k": 3, "level": 1},
    "alpha-k": {"model": "alpha-k-anonymity", "alpha": 0.5, "k": 3},
    "alpha-k-one": {"model": "alpha-k-anonymity", "alpha": 0.4, "k": 3, "values": ["ulcer"]},
    "confidence": {"model": "confidence-bounding", "s": "flu", "h": 0.6},
    "confidence-two": {"model": "confidence-bounding", "templates": [
        {"x": ["sex"], "s": "flu", "h": 0.5}, {"x": ["age", "zip"], "s": "ulcer", "h": 0.7}]},
    "xy": {"model": "xy-anonymity", "k": 3},
    "xy-ill": {"model": "xy-anonymity", "k": 2, "x": ["age"], "y": "ill"},
    "xy-privacy": {"model": "xy-privacy", "k": 3, "h": 0.7, "y": "ill"},
    "beta": {"model": "beta-likeness", "beta": 2},
    "beta-enhanced": {"model": "beta-likeness", "beta": 2, "enhanced": True},
    "delta": {"model": "delta-disclosure", "delta": 2},
    "l-plus": {"model": "l-plus-diversity", "thresholds": {"flu": 0.6, "acne": 0.4}},
    "ck": {"model": "ck-safety", "c": 0.95, "k": 1},
    "lkc": {"model": "lkc-privacy", "l": 2, "k": 3, "c": 0.7},
    "average": {"model": "average-risk", "limit": 0.3},
    "uniqueness": {"model": "sample-uniqueness", "limit": 0.05},
    "m": {"model": "m-confidentiality", "m": 2, "k": 12},
    **{name: {"model": name, "k": 3} for name in CONCEALING},
}  # fmt: skip
ABOUT_PAY: dict[str, Goal] = {
    "ke": {"model": "ke-anonymity", "k": 3, "e": 4},
    "em": {"model": "em-anonymity", "epsilon": 1, "m": 2},
    "wgp": {"model": "wgp", "protection": 0.4, "width": 2},
    "t-ordered": {"model": "t-closeness", "t": 0.3, "distance": "ordered"},
}
AMONG_OTHERS: dict[str, Goal] = {
    "k-map": {"model": "k-map", "k": 5},
    "presence": {"model": "delta-presence", "delta_max": 0.7},
    "presence-from": {"model": "delta-presence", "delta_max": 0.8, "delta_min": 0.05},
    "confident-presence": {"model": "c-confident-delta-presence", "c": 0.9, "people": 900, "delta_max": 0.7},
}

# --- algorithms -----------------------------------------------------------------------------------------------------

# Those that publish classes, with options beside the defaults.
CLASSES: dict[str, Policy] = {
    "auto": {"kind": "auto"},
    "auto-set": {"kind": "auto", "labels": "set", "suppression_limit": 0.05},
    "mondrian": {"kind": "mondrian"},
    "mondrian-relaxed": {"kind": "mondrian", "mode": "relaxed"},
    "mondrian-width": {"kind": "mondrian", "split": "width", "suppression_limit": 0.1},
    "mondrian-entropy": {"kind": "mondrian", "loss": "non-uniform-entropy"},
    "mondrian-igpl": {"kind": "mondrian", "loss": "igpl"},
    "mondrian-sizes": {"kind": "mondrian", "loss": "discernibility"},
    "optimal": {"kind": "optimal", "suppression_limit": 0.1},
    "optimal-cells": {"kind": "optimal", "suppression_limit": 0.2, "suppress": "cells"},
    "optimal-classification": {"kind": "optimal", "loss": "classification", "target": "ill"},
    "flash": {"kind": "flash"},
    "incognito": {"kind": "incognito", "loss": "precision"},
    "ola": {"kind": "ola", "suppression_limit": 0.1},
    "samarati": {"kind": "samarati", "suppression_limit": 0.1, "prefer": "classes"},
    "mingen": {"kind": "mingen"},
    "best-first": {"kind": "best-first", "checks": 40},
    "datafly": {"kind": "datafly"},
    "tds": {"kind": "tds"},
    "tds-sibling": {"kind": "tds", "scheme": "sibling", "class_column": "ill", "suppression_limit": 0.1},
    "levels": {"kind": "levels", "levels": {"age": 4, "zip": 3}, "suppression_limit": 0.2},
    "suppression": {"kind": "suppression"},
    "suppression-values": {"kind": "suppression", "unit": "values"},
    "suppression-attributes": {"kind": "suppression", "unit": "attributes"},
    "single-dimensional": {"kind": "single-dimensional"},
    "bins": {"kind": "bins"},
    "k-optimize": {"kind": "k-optimize", "checks": 400},
    "k-optimize-ncp": {"kind": "k-optimize", "loss": "ncp", "suppression_limit": 0.1, "checks": 400},
    "hilbert": {"kind": "hilbert"},
    "sabre": {"kind": "sabre"},
    "burel": {"kind": "burel"},
    "t-first": {"kind": "t-first"},
    "t-merge": {"kind": "t-merge", "records": 4},
    "k-member": {"kind": "k-member"},
    "k-member-target": {"kind": "k-member", "target": "ill", "reference": "fixed", "distance": "weighted"},
    "k-member-parallel": {"kind": "k-member-parallel"},
    "k-member-parallel-source": {"kind": "k-member-parallel", "variant": "source"},
    "c-means": {"kind": "c-means"},
    "density": {"kind": "density", "distance": "height"},
    "disk-clustering": {"kind": "disk-clustering"},
    "disk-optimized": {"kind": "disk-clustering", "mode": "optimized"},
    "disk-source": {"kind": "disk-clustering", "mode": "source"},
    "hybrid": {"kind": "hybrid"},
    "loukides-shao": {"kind": "loukides-shao", "suppression_limit": 0.1},
    "oka": {"kind": "oka"},
    "zheng": {"kind": "zheng"},
    "v-kan": {"kind": "v-kan", "levels": {"age": 3, "sex": 0, "zip": 2}},
}
GROUPS: dict[str, Policy] = {
    "anatomy": {"kind": "anatomy"},
    "permutation": {"kind": "permutation"},
    "slicing": {"kind": "slicing"},
    "swapping": {"kind": "swapping"},
    "swapping-never": {"kind": "swapping", "forbidden": [{"sex": "male", "ill": "acne"}]},
    "v-cold": {"kind": "v-cold"},
}
MICRO: dict[str, Policy] = {
    "mdav": {"kind": "mdav"},
    "mdav-raw": {"kind": "mdav", "standardize": False},
    "v-mdav": {"kind": "v-mdav", "gain": 1.1},
}


@dataclass(frozen=True)
class Case:
    """What is run: a policy on a table, with the options of its run and what else is asked of the release."""

    name: str
    table: str
    policy: Policy
    options: tuple[str, ...] = ()
    is_fast: bool = False  # also run where only fast tests are
    is_wide: bool = False  # asked for everything, not only run, checked and verified
    release: str = "out/release.csv"
    source: str = "input.csv"
    tables: dict[str, str] = field(default_factory=dict)  # other files, by name


def policy_of(
    columns: dict[str, Any], *goals: Goal, algorithm: Policy | None = None, output: Policy | None = None, **more: Any
) -> Policy:
    """A policy on `input.csv` that writes everything there is into the folder `out`."""
    documents = {"path": "out/release.csv", "report": "out/report.html", "certificate": "out/certificate.json"}
    is_grouped = algorithm is not None and algorithm["kind"] in NOT_RECODING
    recoding = {} if is_grouped else {"recoding": "out/recoding.json"}
    return {
        "version": 1,
        "input": "input.csv",
        "columns": columns,
        "goals": list(goals),
        **({"algorithm": algorithm} if algorithm else {}),
        "output": {**documents, **recoding, **(output or {})},
        "secret": SECRET,
        **more,
    }


NOT_RECODING = ("anatomy", "permutation", "slicing", "swapping", "v-cold", "ring", "pm-hca", "t-msn", "v-klt")


def model_cases() -> list[Case]:
    """Every model: with the default algorithm, and on the lattice."""
    cases = []
    algorithms = {"default": None, "optimal": {"kind": "optimal"}}
    fast = {"k", "l-distinct", "t-equal", "ck", "lkc", "average", "m", "kk-anonymity", "wgp", "k-map", "presence"}
    kinds = [("people", COLUMNS, GOALS), ("people", PAID, ABOUT_PAY), ("people", COLUMNS, AMONG_OTHERS)]
    for table, columns, goals in kinds:
        for name, goal in goals.items():
            for label, algorithm in algorithms.items():
                among = {"population": "register.csv"} if goals is AMONG_OTHERS else {}
                policy = policy_of(columns, goal, algorithm=algorithm, **among)
                is_fast = name in fast and label == "default"
                cases.append(Case(f"{name}/{label}", table, policy, is_fast=is_fast,
                                  tables={"register.csv": "register"} if among else {}))  # fmt: skip
    guarded = {**COLUMNS, "guard": {"role": "drop"}}
    guard = {"model": "personalized-privacy", "guard": "guard", "limit": 0.6}
    two = {**COLUMNS, "job": {"role": "sensitive"}}
    several = {"model": "multi-l-diversity", "l": 2, "sensitive": ["ill", "job"]}
    for label, algorithm in algorithms.items():
        cases += [
            Case(f"guard/{label}", "people", policy_of(guarded, guard, algorithm=algorithm)),
            Case(f"multi-l/{label}", "people", policy_of(two, several, algorithm=algorithm)),
            Case(f"multi-l-each/{label}", "people",
                 policy_of(two, {**several, "mode": "per_sa", "variant": "entropy"}, algorithm=algorithm)),
        ]  # fmt: skip
    return cases


def algorithm_cases() -> list[Case]:
    """Every algorithm: with a goal of sizes alone, and with one that looks at sensitive values."""
    cases = []
    fast = {"mondrian-relaxed", "flash", "datafly", "tds", "suppression", "k-member", "oka", "single-dimensional"}
    for name, algorithm in CLASSES.items():
        cases += [
            Case(name, "people", policy_of(COLUMNS, K, algorithm=algorithm), is_fast=name in fast),
            Case(f"{name}+l", "people", policy_of(COLUMNS, K2, L2, algorithm=algorithm)),
        ]
    beta = {"model": "beta-likeness", "beta": 1, "sensitive": "ill"}
    for name, goal in (("sabre", T), ("burel", beta), ("t-first", T), ("t-merge", T)):
        cases.append(Case(f"{name}+close", "people", policy_of(COLUMNS, K2, goal, algorithm=CLASSES[name])))
    few = {"sex": SEX, "town": TOWN, "ill": ILL}
    records = {"kind": "suppression", "unit": "records", "suppression_limit": 0.5}
    cases.append(Case("suppression-records", "people", policy_of(few, {**K, "k": 8}, algorithm=records)))
    for name, algorithm in GROUPS.items():
        cases += [
            Case(name, "people", policy_of(COLUMNS, L3, algorithm=algorithm), is_fast=True),
            Case(f"{name}+t", "people", policy_of(COLUMNS, L2, {**T, "t": 0.6}, algorithm=algorithm)),
            Case(f"{name}+pay", "people", policy_of(BOTH, L2, algorithm=algorithm)),
        ]
    for name in ("anatomy", "permutation", "slicing", "swapping"):
        columns = {**COLUMNS, "bucket": {"role": "keep"}}
        algorithm = {"kind": name, "groups": "bucket"}
        cases.append(Case(f"{name}+given", "people", policy_of(columns, L2, algorithm=algorithm)))
    for name, algorithm in MICRO.items():
        cases.append(Case(name, "numbers", policy_of(MEASURED, K, algorithm=algorithm), is_fast=name == "mdav"))
    tied = {**MEASURED, "sum": {"role": "quasi"}}
    one = {"x": {"role": "quasi"}, "ill": {"role": "sensitive"}}
    sorts = {**MEASURED, "kind": {"role": "quasi"}}
    cases += [
        Case("mdav-tied", "numbers", policy_of(tied, K, algorithm={"kind": "mdav", "tie": ["sum = x + y"]})),
        Case("mdav-kinds", "numbers", policy_of(sorts, K, L2, algorithm={"kind": "mdav"})),
        Case("univariate", "numbers", policy_of(one, K, algorithm={"kind": "univariate"}), is_fast=True),
        Case("univariate-two", "numbers", policy_of(MEASURED, K, algorithm={"kind": "univariate"})),
    ]
    for model in CONCEALING:
        goal = {"model": model, "k": 3}
        cases.append(Case(f"ring/{model}", "people", policy_of(COLUMNS, goal, algorithm={"kind": "ring"}),
                          is_fast=model == "k-concealment"))  # fmt: skip
    diverse = {"model": "p-plus-sensitive-k-anonymity", "p": 2, "k": 3, "level": 1, "sensitive": "ill"}
    cases.append(Case("mbf", "people", policy_of(COLUMNS, diverse, algorithm={"kind": "mbf"})))
    levels = {"age": 3, "sex": 0, "zip": 3}
    spread = {"model": "t-closeness", "t": 0.6, "distance": "ordered", "sensitive": "pay"}
    for variant in ("sound", "published"):
        plus = {"model": "p-plus-sensitive-k-anonymity", "p": 2, "k": 2, "level": 1, "sensitive": "ill"}
        klt = {"kind": "v-klt", "variant": variant, "levels": levels, "t": 0.3}
        cases += [
            Case(f"pm-hca-{variant}", "people", policy_of(
                COLUMNS, K2, plus, algorithm={"kind": "pm-hca", "variant": variant})),
            Case(f"pm-hca-{variant}+given", "people", policy_of(
                {**COLUMNS, "bucket": {"role": "keep"}}, K2, L2,
                algorithm={"kind": "pm-hca", "variant": variant, "groups": "bucket"})),
            Case(f"t-msn-{variant}", "people", policy_of(
                PAID, K2, spread, algorithm={"kind": "t-msn", "variant": variant, "t": 0.2})),
            Case(f"v-klt-{variant}", "people", policy_of(BOTH, K2, plus, spread, algorithm=klt)),
            Case(f"v-kan-{variant}", "people", policy_of(
                COLUMNS, K2, algorithm={"kind": "v-kan", "variant": variant, "levels": levels})),
            Case(f"v-cold-{variant}", "people", policy_of(BOTH, L2, algorithm={"kind": "v-cold", "variant": variant})),
        ]  # fmt: skip
    return cases


def person_cases() -> list[Case]:
    """Persons with several rows, under goals that count them each in their own way."""
    names = ("k", "l-distinct", "l-entropy", "l-recursive", "t-equal", "p", "p-plus", "p-alpha", "alpha-k",
             "confidence", "xy", "xy-privacy", "beta", "delta", "l-plus", "ck", "lkc", "average", "uniqueness", "m",
             *CONCEALING)  # fmt: skip
    fast = {"k", "l-distinct", "average"}
    cases = [Case(f"persons/{n}", "visits", policy_of(PERSONS, GOALS[n]), is_fast=n in fast) for n in names]
    cases += [Case(f"persons/{n}", "visits", policy_of(PERSONS_PAID, goal)) for n, goal in ABOUT_PAY.items()]
    for name in ("mondrian", "optimal", "flash", "datafly", "tds", "k-member", "suppression", "mondrian-relaxed",
                 "disk-clustering", "single-dimensional"):  # fmt: skip
        cases.append(Case(f"persons/{name}", "visits", policy_of(PERSONS, K2, L2, algorithm=CLASSES[name])))
    for name in ("anatomy", "slicing", "ring"):
        cases.append(Case(f"persons/{name}", "visits", policy_of(PERSONS, L2, algorithm={"kind": name})))
    alone = {**COLUMNS, "name": {"role": "person"}}
    cases.append(Case("persons/one-row-each", "people", policy_of(alone, K, L2)))
    return cases


def missing_cases() -> list[Case]:
    """Empty cells: taken for a value, dropped, refused; by column; under goals that may or may not count them."""
    cases = []
    for how in ("value", "drop", "error"):
        cases += [
            Case(f"missing/{how}", "gaps", policy_of(COLUMNS, K, L2, missing=how), is_fast=True),
            Case(f"missing/{how}-optimal", "gaps", policy_of(COLUMNS, K, algorithm=CLASSES["optimal"], missing=how)),
        ]
    by_column = {**COLUMNS, "age": {**AGE, "missing": "drop"}, "zip": {**ZIP, "missing": "value"}}
    counting = {**L3, "missing_counts": True}
    cases += [
        Case("missing/by-column", "gaps", policy_of(by_column, K2)),
        Case("missing/counts", "gaps", policy_of(COLUMNS, counting)),
        Case("missing/closeness", "gaps", policy_of(COLUMNS, T, GOALS["beta"])),
        Case("missing/born", "gaps", policy_of({"born": BORN, "town": TOWN, "ill": ILL}, K2, L2)),
        Case("missing/guesses", "gaps", policy_of({"born": {"role": "quasi"}, "town": {"role": "quasi"},
             "income": {"role": "quasi"}, "job": {"role": "quasi"}}, K2)),
    ]  # fmt: skip
    for name in ("mondrian", "flash", "datafly", "tds", "k-member", "suppression"):
        cases.append(Case(f"missing/{name}", "gaps", policy_of(COLUMNS, K2, algorithm=CLASSES[name])))
    for name in ("anatomy", "slicing", "swapping"):
        cases.append(Case(f"missing/{name}", "gaps", policy_of(COLUMNS, L2, algorithm=GROUPS[name])))
    cases.append(Case("missing/anatomy-drop", "gaps", policy_of(COLUMNS, L2, algorithm=GROUPS["anatomy"],
                                                                missing="drop")))  # fmt: skip
    return cases


def among(name: str, columns: dict[str, Any], *goals: Goal, table: str = "people", **more: Any) -> Case:
    """A case beside the register of everybody."""
    more = {"population": "register.csv", **more}
    return Case(name, table, policy_of(columns, *goals, **more), tables={"register.csv": "register"})


def population_cases() -> list[Case]:
    """The people among whom those of the table are."""
    renamed = {"path": "register.csv", "columns": {"age": "years"}}
    k_map, presence = AMONG_OTHERS["k-map"], AMONG_OTHERS["presence"]
    renaming = Case("population/renamed", "people", policy_of(COLUMNS, k_map, population=renamed),
                    tables={"register.csv": "register-years"})  # fmt: skip
    return [
        renaming,
        among("population/unused", COLUMNS, K),
        among("population/two-goals", COLUMNS, k_map, L2),
        among("population/k-member", COLUMNS, presence, K2, algorithm={"kind": "k-member"}),
        among("population/flash", COLUMNS, k_map, algorithm={"kind": "flash"}),
        among("population/persons", PERSONS, presence, table="visits"),
        among("population/persons-k-map", PERSONS, k_map, table="visits"),
        among("population/missing-drop", COLUMNS, k_map, table="gaps", missing="drop"),
        among("population/missing-value", COLUMNS, presence, table="gaps"),
        among("population/towns", {"town": TOWN, "born": BORN, "ill": ILL}, presence),
        among("population/no-column", {**COLUMNS, "job": {"role": "quasi"}}, k_map),
        Case("population/none", "people", policy_of(COLUMNS, k_map)),
    ]


def set_cases() -> list[Case]:
    """Sets of items, in a file of their own and as a column of a table."""
    km = {"model": "km-anonymity", "k": 3, "m": 2}
    file = {"path": "input.sets", "delimiter": ";"}

    def in_file(name: str, *goals: Goal, columns: Any = BASKETS, is_fast: bool = False, **more: Any) -> Case:
        policy = policy_of(columns, *goals, output={"path": "out/release.sets"}, **more)
        policy["input"] = file
        return Case(name, "baskets", policy, is_fast=is_fast, release="out/release.sets", source="input.sets")

    apriori = {"kind": "apriori", "suppression_limit": 0.1}
    flat = {"items": {"role": "items"}}
    ordered = {"items": {"role": "items", "hierarchy": {"kind": "order", "fanout": 3}}}
    beside = {**BASKETS, "age": {"role": "keep"}, "ill": {"role": "sensitive"}, "name": NAME}
    return [
        in_file("sets/file", km, is_fast=True),
        in_file("sets/suppressing", {**km, "k": 5}, algorithm=apriori),
        in_file("sets/three", {**km, "m": 3}, algorithm={"kind": "apriori"}),
        in_file("sets/single", {**km, "m": 1, "k": 8}),
        in_file("sets/multiset", {**km, "multiset": True}),
        in_file("sets/flat", km, columns=flat, algorithm=apriori),
        in_file("sets/ordered", km, columns=ordered),
        in_file("sets/too-much", {**km, "k": 200}),
        in_file("sets/other-goal", K),
        in_file("sets/from-file", km, columns={"items": {"role": "items", "hierarchy": "goods.csv"}}),
        Case("sets/table", "with-baskets", policy_of(beside, km), is_fast=True),
        Case("sets/table-random", "with-baskets", policy_of(beside, km, output={"order": "random"})),
        Case("sets/table-keep", "with-baskets", policy_of(beside, km, output={"order": "keep"})),
        Case("sets/table-quasi", "with-baskets", policy_of({**beside, "age": AGE}, km)),
        Case("sets/table-parquet", "with-baskets", policy_of(beside, km, output={"path": "out/release.parquet"}),
             release="out/release.parquet"),
    ]  # fmt: skip


def source_cases() -> list[Case]:
    """Where tables come from and where releases go."""
    cases = []
    database = {"uri": "sqlite:///input.db", "table": "people"}
    target = {"uri": "sqlite:///out.db", "table": "released"}
    written = "sqlite:///out.db?table=released"
    read = "sqlite:///input.db?table=people"

    def on(name: str, source: Any, *, output: Any = None, release: str = "out/release.csv", place: str = "input.csv",
           columns: Any = COLUMNS, is_fast: bool = False, table: str = "people", goals: Any = (K, L2),
           **more: Any) -> Case:  # fmt: skip
        policy = policy_of(columns, *goals, **more)
        policy["input"] = source
        if output is not None:
            policy["output"] = {key: value for key, value in policy["output"].items() if key != "path"} | output
        return Case(name, table, policy, is_fast=is_fast, release=release, source=place)

    cases += [
        on("source/database", database, place=read, is_fast=True),
        on("source/query", {"uri": "sqlite:///input.db", "query": "SELECT * FROM people WHERE age < 60"}),
        on("source/no-table", {**database, "table": "nobody"}, place=read),
        on("target/database", "input.csv", output=target, release=written, is_fast=True),
        on("both/database", database, output=target, release=written, place=read),
        on("both/database-groups", database, output=target, release=written, place=read, algorithm={"kind": "anatomy"},
           goals=(L2,)),
        on("both/database-persons", {**database, "table": "visits"}, output=target, release=written,
           place="sqlite:///input.db?table=visits", columns=PERSONS, table="visits"),
        on("both/database-missing", {**database, "table": "gaps"}, output=target, release=written,
           place="sqlite:///input.db?table=gaps", table="gaps", missing="drop"),
        on("source/folder", "parts/", place="parts/"),
        on("source/pattern", "parts/*.csv", place="parts/*.csv"),
        on("source/hive", "hive/", place="hive/"),
        on("source/semicolons", {"path": "semicolons.csv", "delimiter": ";"}, place="semicolons.csv"),
        on("source/gz", "input.csv.gz", place="input.csv.gz"),
        on("source/jsonl", "input.jsonl", place="input.jsonl"),
        on("source/parquet", "input.parquet", place="input.parquet"),
        on("source/arrow", "input.arrow", place="input.arrow"),
        on("source/none", "nothing.csv", place="nothing.csv"),
        on("target/folder", "input.csv", output={"path": "new/", "format": "csv", "rows_per_file": 40}, release="new/"),
    ]  # fmt: skip
    for suffix in ("tsv", "parquet", "jsonl", "arrow", "xlsx"):
        release = f"out/release.{suffix}"
        dated = {"report": None, "certificate": None} if suffix == "xlsx" else {}  # the file says when it was written
        cases.append(on(f"target/{suffix}", "input.csv", output={"path": release, **dated}, release=release))
    release = "out/release.parquet"
    cases.append(on("target/parquet-groups", "input.csv", output={"path": release}, release=release,
                    algorithm={"kind": "anatomy"}, goals=(L2,)))  # fmt: skip
    return cases


def column_cases() -> list[Case]:
    """Kinds of columns, of hierarchies and of what is done with them."""

    def on(name: str, columns: Any, *, goals: Any = (K2,), table: str = "people", **more: Any) -> Case:
        return Case(name, table, policy_of(columns, *goals, **more))

    quasi = {"role": "quasi"}
    towns = {"role": "quasi", "hierarchy": "towns.csv"}
    tree = {"role": "quasi", "hierarchy": "towns.json"}
    shared = {"five": {"kind": "intervals", "width": 5, "factors": [2, 2]}}
    hierarchies: dict[str, Any] = {
        "guessed": dict.fromkeys(("age", "sex", "zip", "born", "town", "job", "income"), quasi),
        "files": {"town": towns, "age": AGE, "ill": ILL},
        "json-file": {"town": tree, "age": AGE, "ill": ILL},
        "closed": {"age": {**quasi, "hierarchy": {"kind": "intervals", "width": 10, "closed": True}}, "sex": quasi},
        "quantiles": {"income": {**quasi, "hierarchy": {"kind": "quantiles", "groups": 6}}, "sex": quasi},
        "mask-left": {"zip": {**quasi, "type": "text", "hierarchy": {"kind": "mask", "from": "left", "hide": 1}},
                      "sex": quasi},
        "mask-never": {"zip": {**quasi, "type": "text", "hierarchy": {"kind": "mask", "never": ["148"]}}, "sex": quasi},
        "dates": {"born": {**quasi, "type": "date", "hierarchy": {
            "kind": "dates", "levels": ["quarter", "year", "5 years", "century"], "exact": False}}, "sex": quasi},
        "order": {"job": {**quasi, "hierarchy": {"kind": "order", "fanout": 3}}, "sex": quasi},
        "auto": {"job": {**quasi, "hierarchy": {"kind": "auto", "method": "group", "labels": "numbers"}},
                 "age": {**quasi, "hierarchy": {"kind": "auto", "method": "range", "fanout": 4}}},
    }  # fmt: skip
    cases = []
    for name, columns in hierarchies.items():
        for label, algorithm in {"auto": None, "optimal": CLASSES["optimal"]}.items():
            cases.append(on(f"hierarchy/{name}/{label}", columns, algorithm=algorithm))
    odd = dict.fromkeys(("odd", "flag", "at"), quasi)
    starred = {**COLUMNS, "name": {"role": "identifier", "transform": "star"}}
    weighted = {**COLUMNS, "weight": {"role": "weight"}}
    kept = {**COLUMNS, "job": {"role": "keep"}}
    heavy = {**COLUMNS, "age": {**AGE, "weight": 5.0}}
    accepted = [{"finding": "standing-alone", "column": "job", "because": "everybody knows it"}]
    star = {"suppressed": "star"}
    optimal = CLASSES["optimal"]
    cases += [
        on("hierarchy/shared", {"age": {**quasi, "hierarchy": "five"}, "sex": quasi}, hierarchies=shared),
        on("hierarchy/missing-leaf", {"job": {**quasi, "hierarchy": "towns.csv"}}),
        on("hierarchy/no-file", {"town": {**quasi, "hierarchy": "nowhere.csv"}}),
        on("odd/text", odd, table="odd"),
        on("odd/mondrian", odd, table="odd", algorithm={"kind": "mondrian"}),
        on("odd/suppression", odd, table="odd", algorithm={"kind": "suppression"}),
        on("odd/numbers", {"huge": quasi, "wide": quasi}, table="odd"),
        on("odd/empty", {"empty": quasi, "same": quasi, "odd": quasi, "ill": {"role": "sensitive"}}, table="odd"),
        on("odd/anatomy", {**odd, "ill": {"role": "sensitive"}}, table="odd", goals=(L2,),
           algorithm={"kind": "anatomy"}),
        on("others/keep", {"age": AGE, "sex": SEX, "ill": ILL, "name": NAME}, others="keep"),
        on("role/star", starred),
        on("role/weight", weighted),
        on("role/weight-risk", weighted, goals=(K2, {"model": "population-risk", "threshold": 0.1})),
        on("role/weight-global", weighted, goals=(K2, {"model": "global-risk", "limit": 0.1})),
        on("role/keep", kept),
        on("role/keep-accepted", kept, accepted=accepted),
        on("role/keep-strict", kept, strict=True),
        on("role/quasi-weight", heavy),
        on("order/random", COLUMNS, output={"order": "random"}),
        on("order/keep", COLUMNS, output={"order": "keep"}),
        on("order/anatomy-random", COLUMNS, goals=(L2,), algorithm={"kind": "anatomy"}, output={"order": "random"}),
        on("suppressed/star", COLUMNS, algorithm=optimal, goals=(K,), output=star),
        on("suppressed/star-persons", PERSONS, algorithm=optimal, goals=(K,), output=star, table="visits"),
        on("suppressed/star-cells", COLUMNS, algorithm=CLASSES["optimal-cells"], goals=(K,), output=star),
        on("seed/7", COLUMNS, algorithm={"kind": "oka"}, seed=7),
        on("output/target", COLUMNS, output={"target": "ill"}),
        on("two-goals", COLUMNS, goals=(K, L2, T)),
        on("four-goals", BOTH, goals=(K2, GOALS["alpha-k-one"] | {"sensitive": "ill"}, ABOUT_PAY["ke"] |
                                      {"sensitive": "pay"}, GOALS["average"])),
    ]  # fmt: skip
    return cases


def refused_cases() -> list[Case]:
    """What is refused, and with which words."""

    def on(name: str, *goals: Goal, columns: Any = COLUMNS, table: str = "people", is_fast: bool = False,
           options: tuple[str, ...] = (), **more: Any) -> Case:  # fmt: skip
        return Case(f"refused/{name}", table, policy_of(columns, *goals, **more), is_fast=is_fast, options=options)

    anatomy = {"kind": "anatomy"}
    with_recoding = {"recoding": "out/recoding.json"}
    return [
        on("k-of-all", {**K, "k": 97}, is_fast=True),
        on("k-of-all-persons", {**K, "k": 46}, columns=PERSONS, table="visits"),
        on("l-of-all", {**L2, "l": 7}, is_fast=True),
        on("t-of-nothing", {**T, "t": 0.0}, algorithm={"kind": "k-member"}),
        on("no-value", {**GOALS["confidence"], "s": "plague"}),
        on("misspelled", {"model": "k-anonimity", "k": 3}, is_fast=True),
        on("k-one", {**K, "k": 1}),
        on("no-sensitive", L2, columns={"age": AGE, "sex": SEX}),
        on("no-quasi", K, columns={"ill": ILL}),
        on("no-column", K, columns={**COLUMNS, "shoe": {"role": "quasi"}}),
        on("wrong-type", K, columns={**COLUMNS, "job": {"role": "quasi", "type": "integer"}}),
        on("no-rows", K, table="nobody"),
        on("five-rows", K, L2, table="tiny"),
        on("anatomy-k", K, algorithm=anatomy),
        on("anatomy-recoding", L2, algorithm=anatomy, output=with_recoding),
        on("ring-k", K, algorithm={"kind": "ring"}),
        on("m-beside-l", GOALS["m"], L2),
        on("m-with-auto", {**GOALS["m"], "k": 2}),
        on("flash-non-monotone", ABOUT_PAY["em"], columns=PAID, algorithm={"kind": "flash"}),
        on("levels-too-fine", K, algorithm={"kind": "levels", "levels": {"age": 0}}),
        on("apriori-on-classes", K, algorithm={"kind": "apriori"}),
        on("loss-unknown", K, algorithm={"kind": "mondrian", "loss": "beauty"}),
        on("km-on-classes", {"model": "km-anonymity", "k": 3}),
        on("secret-missing", K, secret={"env": "NO_SUCH_SECRET"}),
        on("secret-short", K, secret={"env": "SHORT_SECRET"}),
        on("over-input", K, output={"path": "input.csv"}),
        on("two-persons", K, columns={**PERSONS, "name": {"role": "person"}}, table="visits"),
        on("ck-persons", GOALS["ck"], columns=PERSONS, table="visits"),
        on("strict-option", K2, columns={**COLUMNS, "job": {"role": "keep"}}, options=("--strict",)),
        on("spare-option", K2, options=("--set", "goals.0.k=5", "--set", "algorithm={kind: mondrian}")),
        on("set-nowhere", K2, options=("--set", "goal.0.k=5")),
        on("seed-option", K2, options=("--seed", "5"), algorithm={"kind": "oka"}),
        on("dry-run", K2, L2, options=("--dry-run",)),
        on("memory-option", K2, options=("--memory", "1GB")),
    ]


def transform_cases() -> list[Case]:
    """Columns that transforms change, before the search and at publishing."""
    named = {"role": "identifier", "transform": {"kind": "hmac", "domain": "people"}}
    changed = {
        **COLUMNS, "name": named,
        "age": {"role": "quasi", "type": "integer", "transform": {"kind": "round", "base": 5}},
        "job": {"role": "keep", "transform": {"kind": "mask", "keep_first": 1}},
        "born": {"role": "keep", "type": "date", "transform": {"kind": "truncate", "to": "year"}},
        "income": {"role": "keep", "transform": {"kind": "top-code", "k": 20, "label": False}},
    }  # fmt: skip
    moved = {**PAID, "pay": {**PAY, "transform": {"kind": "noise", "relative": 0.5}}}
    visits = {**PERSONS, "who": {"role": "person", "transform": "hmac"},
              "born": {"role": "keep", "type": "date", "transform": {"kind": "shift-dates", "days": 30}}}  # fmt: skip
    pay = {"model": "l-diversity", "l": 2, "sensitive": "pay"}
    return [
        Case("transform/many", "people", policy_of(changed, K, L2)),
        Case("transform/judged-before", "people", policy_of(moved, K, pay)),
        Case("transform/persons", "visits", policy_of(visits, K2)),
        Case("transform/groups", "people", policy_of({**COLUMNS, "name": named}, L2, algorithm={"kind": "anatomy"})),
        Case("transform/short", "people", policy_of({**COLUMNS, "zip": {"role": "identifier", "type": "text",
             "transform": "ff1"}}, K)),
    ]  # fmt: skip


def all_cases() -> list[Case]:
    """Every case of the corpus, by kind."""
    makers = (model_cases, algorithm_cases, person_cases, missing_cases, population_cases, set_cases, source_cases,
              column_cases, refused_cases, transform_cases)  # fmt: skip
    return [replace(case, is_wide=is_wide(case)) for make in makers for case in make()]


# Beside every fast case.
WIDE = {
    "t-tree/optimal", "p-plus/default", "alpha-k/optimal", "guard/default", "multi-l/optimal", "xy-ill/default",
    "uniqueness/optimal", "ke/default", "k-map/optimal", "presence-from/optimal", "k-concealment/optimal",
    "auto-set", "mondrian-width+l", "optimal-cells", "optimal-classification", "incognito", "ola+l", "best-first",
    "tds-sibling", "levels", "suppression-values", "k-member-target+l", "c-means", "density", "disk-optimized",
    "hybrid", "loukides-shao", "zheng", "v-kan", "anatomy+pay", "slicing+t", "swapping+given", "mdav-tied",
    "ring/kk-anonymity", "pm-hca-sound", "pm-hca-published", "t-msn-sound", "v-klt-sound", "v-cold-sound",
    "persons/t-equal", "persons/lkc", "persons/flash", "persons/optimal", "persons/k-member", "persons/ck",
    "missing/counts", "missing/born", "missing/flash", "missing/anatomy", "population/persons", "population/flash",
    "population/missing-drop", "sets/suppressing", "sets/table-keep", "sets/too-much", "both/database",
    "source/folder", "target/parquet", "target/tsv", "hierarchy/guessed/optimal", "hierarchy/files/auto",
    "hierarchy/dates/optimal", "odd/text", "odd/numbers", "odd/empty", "role/star", "role/weight", "role/keep",
    "role/keep-accepted", "order/random", "suppressed/star", "suppressed/star-persons", "output/target", "four-goals",
    "refused/no-column", "refused/five-rows", "refused/levels-too-fine", "refused/anatomy-k", "refused/ring-k",
    "transform/many", "transform/persons", "refused/m-with-auto", "refused/t-of-nothing", "refused/k-of-all-persons",
}  # fmt: skip


def is_wide(case: Case) -> bool:
    return case.is_fast or case.name in WIDE
