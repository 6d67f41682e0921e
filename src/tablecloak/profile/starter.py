"""A commented policy to start from: every line says why it is there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Any

from tablecloak.data.table import ColumnType, Role
from tablecloak.errors import DataError
from tablecloak.io.formats import format_and_compression, writable_formats
from tablecloak.policy.load import parse_policy
from tablecloak.policy.schema import Policy
from tablecloak.profile.column import Column
from tablecloak.profile.policy_text import flow, scalar
from tablecloak.profile.presets import PUBLISHED, STANDARD, Preset, preset_named
from tablecloak.profile.profile import ColumnProfile, Profile, inspect_frame
from tablecloak.profile.remedies import coarser, is_averaged, other_ways, publication
from tablecloak.profile.roles import UNKNOWN_NUMBER, Advice

SCHEMA_FILE = "tablecloak-policy-1.json"
# With more values than this almost every record has its own, and no small group can be as mixed as the table.
MANY_VALUES = 100


@dataclass(frozen=True, slots=True)
class Starter:
    """The text of a policy and what is in it."""

    text: str
    n_hierarchies: int

    @property
    def n_lines(self) -> int:
        return self.text.count("\n")


@dataclass(frozen=True, slots=True)
class _Line:
    """A column of the policy: what is written and why."""

    column: Column
    advice: Advice
    spec: dict[str, Any]
    why: str


def starter_policy(
    profile: Profile,
    *,
    source: str | None = None,
    output: str | None = None,
    preset: str = STANDARD,
    year: int | None = None,
    about: Mapping[str, Any] | None = None,
) -> Starter:
    """The starter policy of a profiled table.

    Args:
        source: the data, as the policy should name it.
        output: the release, as the policy should name it.
        year: of publication, from which presets count ages; this year unless given.
        about: what somebody said about the data: keys of `input` beside its path.

    Raises: DataError if no column can be generalized.
    """
    chosen = preset_named(preset)
    now = datetime.now(tz=UTC).year if year is None else year
    columns = [
        _line(column.column, advice, chosen.hierarchy(column), chosen.transform(column, now))
        for column, advice in _advised(profile, chosen, now)
    ]
    columns = _with_other_ways(columns, profile)
    lines = [
        f"# yaml-language-server: $schema=./{SCHEMA_FILE}",
        f"# A start, not a verdict: read every role before you trust it. Preset {preset}: {chosen.summary}",
        *([f"# Reference: {chosen.reference}"] if chosen.reference else []),
        "version: 1  # of the policy format",
        *_input(source, about or {}),
        "",
        "columns:  # identifier, person and drop are not published, quasi is generalized, the rest stays as it is",
        *_aligned([(f"  {scalar(line.column.name)}: {flow(line.spec)}", line.why) for line in columns]),
        "others: drop  # columns not named above are not published",
        "",
        "goals:  # what a recount of the release must find",
        *_aligned(list(_goals(profile, chosen, columns))),
        "",
        "algorithm: {kind: auto}  # puts similar records into small groups, and improves them; for every goal above",
        *_output(output),
        *(["strict: true  # nothing is released that has findings which were not accepted"] if chosen.strict else []),
    ]
    return Starter("\n".join(lines) + "\n", sum("hierarchy" in line.spec for line in columns))


def policy_name(data: Path) -> str:
    """A file name for the policy of a data file, so that those of several tables stay apart in one folder."""
    return f"{_table_name(data)}-policy.yaml"


def release_name(data: Path) -> str:
    """A file name for the release of a data file: in the same format where we can write it, else CSV."""
    kind, _ = format_and_compression(data, None, None)
    return f"{_table_name(data)}-release.{kind if kind in writable_formats() else 'csv'}"


def unused_output(data: Path, folder: Path) -> str:
    """A place for the release of a data file, relative to a folder, where neither it nor its recoding exists yet."""
    plain = Path("out") / release_name(data)
    numbered = (plain.with_stem(f"{plain.stem}-{i}") for i in count(2))
    return next(
        path.as_posix()
        for path in chain([plain], numbered)
        if not (folder / path).exists() and not (folder / _recoding_of(path)).exists()
    )


def _table_name(data: Path) -> str:
    """What a table is called: its file without endings, a pattern of files by what they share."""
    name = data.name.partition(".")[0]
    return re.split(r"[*?\[]", name)[0].rstrip("-_ ") or "table"


def _recoding_of(release: Path) -> Path:
    """Where the recoding of a release goes: beside it, under the name of the same table."""
    before, word, after = release.stem.rpartition("-release")
    stem = f"{before}-recoding{after}" if word else f"{release.stem}-recoding"
    return release.with_name(f"{stem}.json")


def suggest_policy(data: Any, *, preset: str = STANDARD) -> Policy:
    """A policy for a polars, pandas or Arrow frame, with suggested roles, hierarchies and goals.

    Look at its roles before you rely on them.
    """
    text = starter_policy(inspect_frame(data), preset=preset).text
    return parse_policy(text, name="the suggested policy", base=Path())


def _advised(profile: Profile, preset: Preset, year: int) -> list[tuple[ColumnProfile, Advice]]:
    """Roles under the preset; if none is quasi, numbers that would be left out are generalised instead."""
    advice = zip(profile.columns, preset.advise(profile.columns, year), strict=True)
    advised = [(c, _with_enough(c.column, each, preset)) for c, each in advice]
    if any(advice.role is Role.QUASI for _, advice in advised):
        return advised
    numbers = [
        column.name
        for column, advice in advised
        if column.column.is_number and advice.looks_like == UNKNOWN_NUMBER and advice.detector in (None, "amount")
    ]
    if not numbers:
        raise DataError(
            "no column looks like something others know about a person, so there is nothing to generalize",
            hint="write a policy by hand and give role: quasi to such columns; tablecloak demo shows one",
            location=profile.file.path if profile.file else None,
        )
    reason = "nothing else could be generalized"
    changed = {name: Advice(Role.QUASI, reason, "number") for name in numbers}
    return [(column, changed.get(column.name, advice)) for column, advice in advised]


def _line(column: Column, advice: Advice, hierarchy: dict[str, Any] | None, transform: list[dict[str, Any]]) -> _Line:
    is_read = advice.role in (Role.QUASI, Role.SENSITIVE) or (transform and advice.role in PUBLISHED)
    spec: dict[str, Any] = {"role": str(advice.role), **(advice.reading if is_read else {})}
    why = " ".join(f"{advice.looks_like}: {advice.reason}".split())
    if transform and advice.role is not Role.DROP:
        spec["transform"] = transform[0] if len(transform) == 1 else transform
        hierarchy = hierarchy if advice.role is Role.QUASI else None
        return _Line(column, advice, {**spec, **({"hierarchy": hierarchy} if hierarchy else {})}, why)
    if advice.role is Role.QUASI and hierarchy is not None:
        typed = {"type": "text"} if hierarchy["kind"] == "mask" and column.type is ColumnType.INTEGER else {}
        return _Line(column, advice, {**spec, **typed, "hierarchy": hierarchy}, why)
    settings, what = publication(column, advice)
    if advice.role is Role.IDENTIFIER:
        why = f"{why}; star shows * instead"
    elif advice.role is Role.QUASI:
        why = f"{why}; {coarser(column, advice)[1]}"
    elif settings:
        why = f"{why}; published as {what}"
    return _Line(column, advice, {**spec, **settings}, why)


def _with_enough(column: Column, advice: Advice, preset: Preset) -> Advice:
    """Numbers of which there are not enough for several groups of k are left out."""
    if not is_averaged(column, advice) or _n_groups(column, preset) >= max(2, preset.l or 0):
        return advice
    return replace(advice, role=Role.DROP, reason=f"too few numbers for groups of {preset.k}, and {advice.reason}")


def _n_groups(column: Column, preset: Preset) -> int:
    return column.n_present // (2 * preset.k)  # groups have up to twice as many records


def _with_other_ways(lines: list[_Line], profile: Profile) -> list[_Line]:
    """Lines that also name transforms which fit, unless the preset has said what must become of the column."""
    person = next(iter(profile.with_role(Role.PERSON)), None)
    told = []
    for line, column in zip(lines, profile.columns, strict=True):
        is_own = line.advice == column.advice and line.spec.get("transform") in (None, "drop")
        ways = other_ways(line.column, line.advice, person=person) if is_own else ""
        told.append(replace(line, why=f"{line.why}; or {ways}") if ways else line)
    return told


def _goals(profile: Profile, preset: Preset, columns: list[_Line]) -> Iterator[tuple[str, str]]:
    k = max(2, min(preset.k, profile.n_rows))
    yield f"  - {{model: k-anonymity, k: {k}}}", f"every record looks like at least {k - 1} others"
    for line in columns:
        if line.advice.role is not Role.SENSITIVE:
            continue
        name, n_values = scalar(line.column.name), line.column.n_distinct
        if is_averaged(line.column, line.advice):
            n_values = _n_groups(line.column, preset)
        level = min(preset.l or 0, n_values)
        if level >= 2:
            why = f"each group has at least {level} different values" + (" (it has no more)" * (n_values == level))
            yield f"  - {{model: l-diversity, l: {level}, sensitive: {name}}}", why
        if preset.t is not None and 1 < n_values <= MANY_VALUES:
            why = "each group is about as mixed as the whole table"
            yield f"  - {{model: t-closeness, t: {preset.t}, sensitive: {name}}}", why


def _input(path: str | None, about: Mapping[str, Any]) -> list[str]:
    if path is None:
        return []
    spec = {"path": path, **{key: value for key, value in about.items() if value is not None}}
    return [f"input: {scalar(path) if len(spec) == 1 else flow(spec)}  # relative to this file"]


def _output(path: str | None) -> list[str]:
    if path is None:
        return []
    spec = {"path": path, "recoding": _recoding_of(Path(path)).as_posix()}
    return [f"output: {flow(spec)}  # the release, and how to treat next month's rows the same way"]


def _aligned(rows: list[tuple[str, str]]) -> list[str]:
    width = min(90, max((len(text) for text, _ in rows), default=0))
    return [f"{text:<{width}}  # {why}" for text, why in rows]
