"""A source is opened once, however often it is read."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import tablecloak as tc
from tablecloak.data.table import ColumnType
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.errors import DataError
from tablecloak.io.formats import _text
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import HeaderUnclear, Source, open_source
from tablecloak.io.tabular import read_frame


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each delimited file was looked into, by name."""
    counts: Counter[str] = Counter()
    take: Callable[..., object] = _text.take_sample

    def counted(path: Path, *more: object) -> object:
        counts[path.name] += 1
        return take(path, *more)

    monkeypatch.setattr(_text, "take_sample", counted)
    return counts


def policy_in(folder: Path) -> tc.Policy:
    tc.sample.patients(300).write_csv(folder / "patients.csv")
    columns = tc.roles(quasi=["birth_date", "sex", "zip"], sensitive=["diagnosis"], identifier=["name", "ssn"])
    plain = {"input": "patients.csv", "output": {"path": "release.csv", "certificate": "certificate.json"}}
    return tc.Policy.model_validate({**plain, "columns": columns, "goals": [tc.KAnonymity(k=5)]}).at(folder)


@pytest.mark.parametrize("engine", ["local", "duckdb"])
def test_a_run_opens_its_input_once_and_its_release_once(engine: str, openings: Counter[str], tmp_path: Path) -> None:
    tc.run(policy_in(tmp_path), engine=engine)
    assert openings == {"patients.csv": 1, "release.csv": 1}


def test_sources_that_differ_in_types_share_one_opening(openings: Counter[str], tmp_path: Path) -> None:
    file = tmp_path / "numbers.csv"
    file.write_text("name,n\na,1\nb,2\n")
    source = Source(file)
    assert sniff(source).types == {"name": ColumnType.TEXT, "n": ColumnType.INTEGER}
    assert sniff(replace(source, types={"n": ColumnType.TEXT})).type_of("n") is ColumnType.TEXT
    assert read_frame(source, columns=["n"])["n"].to_list() == [1, 2]
    assert LocalEngine().read(source, columns=None, categorical=()).n_rows == 2
    assert openings == {"numbers.csv": 1}


def test_every_file_of_a_folder_is_opened_once(openings: Counter[str], tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"part-{number}.csv").write_text("name,n\na,1\n")
    source = Source(tmp_path)
    sniff(source)
    assert read_frame(source).height == 3
    assert set(openings.values()) == {1}


def test_a_file_that_changed_is_opened_again(openings: Counter[str], tmp_path: Path) -> None:
    file = tmp_path / "numbers.csv"
    file.write_text("name,n\na,1\n")
    source = Source(file)
    sniff(source)
    file.write_text("name;other\na;1\n")
    assert sniff(source).names == ("name", "other")
    assert openings == {"numbers.csv": 2}


def test_names_that_nobody_knew_of_may_tell_a_header(tmp_path: Path) -> None:
    file = tmp_path / "names.csv"
    file.write_text("Anna\nBerta\nClara\nDora\nAnna\n")
    source = Source(file)
    with pytest.raises(HeaderUnclear):
        sniff(source)
    assert sniff(replace(source, expected=frozenset({"Anna"}))).names == ("Anna",)


def test_a_column_that_is_not_there_is_missed_after_an_opening_too(tmp_path: Path) -> None:
    file = tmp_path / "numbers.csv"
    file.write_text("name,n\na,1\n")
    source = Source(file)
    sniff(source)
    with pytest.raises(DataError, match="there is no column 'm'"):
        read_frame(source, columns=["m"])


# One door ----------------------------------------------------------------------------------------------------------


def test_every_verb_takes_a_frame_or_the_path_of_a_file(tmp_path: Path) -> None:
    policy = policy_in(tmp_path)
    path, frame = tmp_path / "patients.csv", read_frame(tmp_path / "patients.csv")
    assert tc.risk(path, policy) == tc.risk(str(path), policy) == tc.risk(frame, policy)
    assert [c.name for c in tc.inspect(path).columns] == [c.name for c in tc.inspect(frame).columns]
    release = tc.anonymize(path, policy)
    assert isinstance(release.frame, pl.DataFrame)
    release.write(tmp_path / "made.csv")
    made = tmp_path / "made.csv"
    assert tc.verify(made, policy, original=path).covers
    assert tc.is_valid_generalisation(frame, release.frame, policy)
    one, other = tc.compare(path, made, policy=policy), tc.compare(frame, made, policy=policy)
    assert one.before == other.before
    assert one.after == other.after


def test_a_stream_is_a_source(tmp_path: Path) -> None:
    policy = policy_in(tmp_path)
    with (tmp_path / "patients.csv").open("rb") as stream:
        assert tc.risk(stream, policy) == tc.risk(tmp_path / "patients.csv", policy)
    with open_source(io.BytesIO(b"a,b\n1,x\n")) as source:
        path = source.path
        assert sniff(source).names == ("a", "b")
    assert not path.exists()


def test_a_source_knows_names_types_size_and_rows_of_a_frame() -> None:
    layout = sniff(Source.of(pl.DataFrame({"n": [1, 2], "t": ["a", "b"]})))
    assert layout.types == {"n": ColumnType.INTEGER, "t": ColumnType.TEXT}
    assert layout.n_rows_hint == 2
    assert layout.n_bytes > 0


@pytest.mark.parametrize("columns", [None, ["t"]])
def test_engines_read_frames_as_sources(columns: list[str] | None) -> None:
    frame = pl.DataFrame({"n": [1, 2], "t": ["a", "b"]})
    table = LocalEngine().read(Source.of(frame), columns=columns, categorical=["t"])
    assert list(table.types) == (columns or ["n", "t"])
    assert table.n_rows == 2


def test_a_release_does_not_hold_its_originals(tmp_path: Path) -> None:
    release = tc.anonymize(read_frame(tmp_path / policy_in(tmp_path).input.path), policy_in(tmp_path))  # type: ignore[union-attr]
    assert release._plan.source is None
