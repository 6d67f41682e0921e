"""What metrics, attacks, detectors, hierarchy kinds, formats, engines, shapes and findings promise.

Every check is a plain function that raises AssertionError, so that it can be asked of a toy with a planted bug, too.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from checks_algorithms import coded, frame_of, made
from pydantic import TypeAdapter

import oracle
from tablecloak import pipeline, registry
from tablecloak.algorithms.base import Solution
from tablecloak.algorithms.solution_metrics import counts_of
from tablecloak.attacks.case import Case, ItemSets
from tablecloak.data.coded import CodedTable
from tablecloak.data.coded_baskets import Baskets
from tablecloak.engines.base import Engine, QuasiColumn, SensitiveColumn, Table
from tablecloak.errors import CloakError, DataError, IncompatibleChoice
from tablecloak.findings.base import Finding, Shown
from tablecloak.hierarchy.kinds.base import EVERY_TYPE, HierarchySpec, build
from tablecloak.io.formats import Format, Reading
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, write_frame
from tablecloak.measure.attack.cases import build_case
from tablecloak.metrics.base import Measurement, ReleaseCounts
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import AnyHierarchy
from tablecloak.profile.column import Column, column_of
from tablecloak.profile.detector import Match
from tablecloak.release.recount import Verification
from tablecloak.stats.classes import ClassStats

# Metrics ------------------------------------------------------------------------------------------------------------


def exact(table: CodedTable) -> Solution:
    """Every tuple as it is, in a class of its own."""
    codes = np.stack([table.quasi_codes(d) for d in range(table.space.n_dims)], axis=1).astype(np.int64)
    boxes, classes = np.unique(codes, axis=0, return_inverse=True)
    return Solution(classes.reshape(-1), boxes, boxes)


def in_parts(table: CodedTable, n_parts: int) -> Solution:
    """Classes cut at even places of the first column; the others are wide open."""
    widths = [d.n_codes for d in table.domains]
    step = -(-widths[0] // n_parts)
    classes = table.quasi_codes(0).astype(np.int64) // step
    occurring, classes = np.unique(classes, return_inverse=True)
    first = [(c * step, min((c + 1) * step, widths[0]) - 1) for c in occurring]
    lo = np.array([[begin, *[0] * (len(widths) - 1)] for begin, _ in first])
    hi = np.array([[end, *(w - 1 for w in widths[1:])] for _, end in first])
    return Solution(classes.reshape(-1), lo, hi)


def check_metric(metric: Callable[[ReleaseCounts], Measurement], *, is_bounded: bool = True) -> None:
    """Exact cells lose least, one class loses most; the order of rows does not matter; a number, or a reason.

    Args:
        is_bounded: it measures what a release loses, so that a finer one never loses more.
    """
    for seed in (1, 2):
        frame = frame_of(seed, 60)
        table, shuffled = (coded(f, made("optimal")) for f in (frame, frame.sample(fraction=1, shuffle=True, seed=3)))
        values = []
        for solve in (exact, lambda t: in_parts(t, 6), lambda t: in_parts(t, 1)):
            found = metric(counts_of(table, solve(table), 3))
            assert found.description.endswith("."), f"{found.name} has no description"
            assert bool(found.reason) != bool(np.isfinite(found.value)), f"{found.name}: neither a number nor a reason"
            json.dumps(found.to_dict())
            again = metric(counts_of(shuffled, solve(shuffled), 3))
            if found.reason is None:
                assert np.isclose(again.value, found.value), f"{found.name}: the order of rows matters"
                values.append(-found.value if found.higher_is_better else found.value)
        if is_bounded and len(values) == 3:
            assert values[0] <= values[1] + 1e-9, f"{values}: exact cells lose more than generalised ones"
            assert values[0] <= values[2] + 1e-9
            assert values[1] <= values[2] + 1e-9, f"{values}: a part of the table loses more than all of it"


# Attacks ------------------------------------------------------------------------------------------------------------

BANDS = {age: f"[{age // 10 * 10}, {age // 10 * 10 + 9}]" for age in range(20, 60)}


def case_of(seed: int, *, shuffled: bool = False) -> Case:
    """A release whose ages became intervals, beside its original and a population."""
    original = frame_of(seed, 60)
    if shuffled:
        original = original.sample(fraction=1, shuffle=True, seed=9)
    release = original.with_columns(pl.col("age").replace_strict(BANDS, return_dtype=pl.String))
    population = pl.concat([original, frame_of(seed + 50, 90)]).select("age", "job")
    return build_case(release, quasi=["age", "job"], sensitive=["ill"], original=original, population=population)


def case_of_sets(seed: int, *, shuffled: bool = False) -> Case:
    """A release of sets with some items generalised, beside its original."""
    rng = random.Random(seed)
    sets = [rng.sample(range(8), rng.randint(0, 4)) for _ in range(60)]
    if shuffled:
        rng.shuffle(sets)
    people = Baskets.from_lists([[item // 2 for item in items] for items in sets], 4)
    classes = people.distinct()[1]
    sizes = ClassStats(np.bincount(classes))
    return Case((), (), classes, sizes, classes, sizes, n_originals=60, items=ItemSets(people, people))


def check_attack(
    attack: Callable[[Case], Any], *, is_sampled: bool = False, case_of: Callable[..., Case] = case_of
) -> None:
    """Chances are chances, victims are targets, rows exist; the order of rows does not matter; else it says why.

    Args:
        is_sampled: it draws or learns, so that another order of rows may lead it elsewhere.
        case_of: what is attacked, by seed.
    """
    for seed in (1, 2):
        case = case_of(seed)
        exposure = attack(case)
        assert exposure.description.endswith("."), f"{exposure.attack} has no description"
        assert exposure.stopped_by, f"{exposure.attack} does not say what stops it"
        assert (exposure.finding is None) == bool(exposure.reason), f"{exposure.attack}: neither a finding nor a reason"
        json.dumps(exposure.to_dict())
        found = exposure.finding
        if found is None:
            assert len(exposure.reason) > 10
            continue
        chances = [found.average, found.baseline, *([found.highest] if found.highest is not None else [])]
        assert all(-1e-9 <= chance <= 1 + 1e-9 for chance in chances), f"{exposure.attack}: {chances} are no chances"
        assert found.highest is None or found.highest >= found.average - 1e-9
        assert 0 <= found.n_victims <= found.n_targets, f"{exposure.attack}: more victims than targets"
        n_rows = {"release": case.n_rows, "original": case.n_originals, "population": case.n_population}[found.rows_of]
        assert all(1 <= number <= (n_rows or 0) for number in found.worst), f"{exposure.attack}: there is no such row"
        if not is_sampled:
            other = attack(case_of(seed, shuffled=True)).finding
            assert other is not None
            assert np.isclose(other.average, found.average), f"{exposure.attack}: the order of rows matters"
            assert other.n_victims == found.n_victims


# Detectors ----------------------------------------------------------------------------------------------------------


def check_detector(look: Callable[[Column], Match | None], example: tuple[str, list[Any]]) -> None:
    """It knows its own values, also among empty cells, is silent about nothing at all, and tells no value."""
    assert (look.__doc__ or "").partition("\n")[0].endswith("."), "it does not say what it looks for"
    name, values = example
    match = look(column_of(pl.Series(name, values))[0])
    assert match is not None, "it does not know its own example"
    assert 0 < match.certainty <= 1
    gaps = look(column_of(pl.Series(name, [value for one in values for value in (one, None)]))[0])
    assert gaps is not None, "empty cells hide what it looks for"
    assert (gaps.role, gaps.certainty) == (match.role, match.certainty)
    for dtype in (pl.String, pl.Int64, pl.Date):
        for length in (0, 5):
            empty = column_of(pl.Series("x", [None] * length, dtype=dtype))[0]
            assert look(empty) is None, "it finds something where nothing is"
    assert look(column_of(pl.Series("x", ["same"] * 9))[0]) is None, "it knows a constant"
    texts = [str(value) for value in values if len(str(value)) > 4]
    told = f"{match.looks_like} {match.reason}"
    assert not any(text in told for text in texts), "it tells a value"


# Hierarchy kinds ----------------------------------------------------------------------------------------------------


def stands_for(label: str, value: Any, tree: Any = None) -> bool:
    """Whether a label is true of a value, read as people read it."""
    if isinstance(value, date) and not label.startswith(("[", "(", "*")):
        year, _, part = label.partition("-")
        quarter = f"Q{(value.month + 2) // 3}"
        return int(year) == value.year and part in ("", quarter, f"{value:%m}", f"{value:%m-%d}")
    if isinstance(value, date) and "-" not in label and label.startswith("["):
        first, last = (int(year) for year in label.strip("[]()").split(","))
        return first <= value.year <= last
    return bool(oracle.covers(label, value, tree=tree))


def check_hierarchy(spec: HierarchySpec, values: list[Any], column_type: str, *, tree: Any = None) -> None:
    """A spec can be written in a policy, and keeps what its tree promises."""
    kind = registry.find("hierarchies", spec.name)
    assert kind is type(spec)
    assert kind.__doc__, "it has no words"
    adapter: TypeAdapter[Any] = TypeAdapter(AnyHierarchy)
    assert adapter.validate_python(adapter.dump_python(spec)) == spec, "a policy does not keep its parameters"
    assert set(spec.offered) <= set(spec.types) <= set(EVERY_TYPE), "it is offered where it is refused"
    for type_ in set(EVERY_TYPE) - set(spec.types):
        with pytest.raises(IncompatibleChoice):
            build(spec, values, type_)
    _check_tree(spec, values, column_type, tree=tree)


def _check_tree(spec: HierarchySpec, values: list[Any], column_type: str, *, tree: Any) -> None:
    """Every value has a path to the root, labels are true of all that is below them, and levels nest."""
    built, shuffled = build(spec, values, column_type), build(spec, values[::-1], column_type)
    assert sorted(built.labels) == sorted(shuffled.labels), "the order of values decides"
    codes = built.codes([oracle.text_of(value) for value in values])
    assert (codes >= 0).all(), "a value has no place"
    leaves = np.arange(built.n_leaves)
    below = leaves
    for level in range(built.height + 1):
        nodes = built.level_map(level)
        assert len(nodes) == built.n_leaves
        assert ((built.first[nodes] <= leaves) & (leaves <= built.last[nodes])).all(), "a node does not hold its leaf"
        united = [len(set(nodes[below == b].tolist())) for b in set(below.tolist())]
        assert max(united) == 1, "a level parts what a finer one unites"
        below = nodes
        for value, code in zip(values, codes.tolist(), strict=True):
            label = built.labels[int(nodes[code])]
            assert stands_for(label, value, tree), "a label is not true of a value below it"
    assert len(set(below.tolist())) == 1, "there is no root"


# Formats ------------------------------------------------------------------------------------------------------------


def odd_table() -> pl.DataFrame:
    """Types, gaps, alphabets, formulas and quotes."""
    return pl.DataFrame(
        {
            "number": [1, None, -3, 2**53],
            "rate": [0.1, -2.5, None, 1e15],
            "day": [date(2020, 2, 29), None, date(1899, 12, 31), date(2100, 1, 1)],
            "text": ["Zürich, 東京", "=1+1", 'say "hi"', None],
            "flag": [True, False, None, True],
        }
    )


def check_format(kind: Format, folder: Path, frame: pl.DataFrame) -> None:
    """What is written is what is read, at once and in batches."""
    path, again = folder / f"table.{kind.name}", folder / f"again.{kind.name}"
    write_frame(frame, path, format=kind.name)
    source = Source(path, format=kind.name)
    back = read_frame(source)
    assert back.columns == frame.columns, "columns are lost"
    for name in frame.columns:
        assert back[name].to_list() == frame[name].to_list(), f"cells of {name} changed"
    write_frame(back, again, format=kind.name)
    assert read_frame(Source(again, format=kind.name)).equals(back), "a second writing changes something"
    if kind.stream is not None:
        layout = sniff(source)
        batches = list(kind.stream(Reading(source, layout, list(layout.names)), 2))
        assert sum(batch.height for batch in batches) == frame.height, "batches lose rows"


def check_bad_bytes(kind: Format, folder: Path) -> None:
    """A file that is no table of the format is refused by its name, and the message shows nothing of what is in it."""
    path = folder / f"bad.{kind.name}"
    path.write_bytes(b"\x00\xff\xfe secret-cell \x80\x81" * 40)
    with pytest.raises(DataError) as refused:
        read_frame(Source(path, format=kind.name))
    assert "secret" not in f"{refused.value} {refused.value.hint}", "the message shows what is in the file"
    assert path.name in str(refused.value.location), "the message does not name the file"


# Engines ------------------------------------------------------------------------------------------------------------


def _rows(engine: Engine, table: Table) -> pl.DataFrame:
    """All rows of a small table; an engine may keep them elsewhere and in another order."""
    return engine.some_rows(table, list(table.types), most=1_000).sort(pl.all(), nulls_last=True)


def check_engine(engine: Engine, local: Engine, path: Path) -> None:
    """Every method that counts says what the local engine says."""
    source = Source(path)
    names = ["age", "job", "ill"]
    one, other = (e.read(source, columns=names, categorical=()) for e in (local, engine))
    assert one.n_rows == other.n_rows
    assert dict(one.types) == dict(other.types)
    assert _rows(engine, other).equals(_rows(local, one)), "rows are others"
    summaries = [e.summarize(t, names, distinct=True) for e, t in ((local, one), (engine, other))]
    assert summaries[0] == summaries[1], "summaries differ"
    kept = [e.select(t, ["age", "ill"], without_missing=["age"]) for e, t in ((local, one), (engine, other))]
    assert _rows(engine, kept[1]).equals(_rows(local, kept[0])), "other rows are kept"
    assert engine.alike(other, [["age"], ["age", "job"]]) == local.alike(one, [["age"], ["age", "job"]])
    quasi, sensitive = [QuasiColumn("age"), QuasiColumn("job")], [SensitiveColumn("ill")]
    codings = [e.contingency(t, quasi, sensitive, by_row=False) for e, t in ((local, one), (engine, other))]
    assert codings[0].n_rows == codings[1].n_rows
    assert codings[0].n_tuples == codings[1].n_tuples, "other tuples were counted"
    assert {n: t.tolist() for n, t in codings[0].totals.items()} == {
        n: t.tolist() for n, t in codings[1].totals.items()
    }
    recounts = [
        e.class_stats(t, ["age", "job"], sensitive, stars_are_suppressed=False)
        for e, t in ((local, one), (engine, other))
    ]
    sizes = [sorted(int(s) for part in recount.parts for s in part.size) for recount in recounts]
    assert sizes[0] == sizes[1], "classes have other sizes"


# Shapes -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """How something of a shape is released and recounted."""

    run: Callable[[Policy], Verification]
    verify: Callable[[Path, Policy, Path], Verification]


ROAD = Shape(
    lambda policy: pipeline.run(policy, engine="local", force=True).verification,
    lambda release, policy, original: pipeline.verify(release, policy, original=original),
)


def check_shape(shape: Shape, policy: Policy, tamper: Callable[[Path], None]) -> None:
    """A run recounts what it wrote, a second recount agrees, and one of a release that was tampered with fails."""
    own = shape.run(policy)
    assert own.holds
    place, source = policy.output_place, policy.input_place
    assert isinstance(place, Path)
    assert isinstance(source, Path)
    again = shape.verify(place, policy, source)
    assert again.holds, f"a recount fails what the run passed: {again.failures or again.unchecked}"
    assert [v.achieved for v in again.verdicts] == [v.achieved for v in own.verdicts]
    tamper(place)
    try:
        spoilt = shape.verify(place, policy, source)
    except CloakError:
        return
    assert not spoilt.holds, "a release that was tampered with holds"


# Findings -----------------------------------------------------------------------------------------------------------


def check_finding(
    look: Callable[[Shown], Iterable[Finding]], planted: Shown, clean: Shown, cells: Mapping[str, Any] | None = None
) -> None:
    """It finds what was planted and nothing where nothing is; its words show no cell, and its fix is a change."""
    assert (look.__doc__ or "").partition("\n")[0].endswith("."), "it does not say what it finds"
    findings = list(look(planted))
    assert findings, "it does not find what was planted"
    assert not list(look(clean)), "it finds something where nothing is"
    for found in findings:
        assert found.fix.text
        assert found.share is None or 0 <= found.share <= 1
        json.dumps(found.to_dict())
        assert not any(str(cell) in found.what for cell in (cells or {}).values()), "its words show a cell"
