"""Files appear complete or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablecloak.errors import PolicyError
from tablecloak.io.atomic import Outputs, home_of, replace_when_done


def test_success_replaces(tmp_path: Path) -> None:
    with replace_when_done(tmp_path / "new" / "out.csv.gz", reads=[], force=False) as partial:
        assert partial.name == "out.csv.gz"
        assert home_of(partial) == tmp_path / "new"
        partial.write_text("x")
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["out.csv.gz"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_failure_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def fail() -> None:
        with replace_when_done(tmp_path / "out.csv", reads=[], force=False) as partial:
            partial.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_existing_target_needs_force(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")
    with pytest.raises(PolicyError, match="exists already") as caught, replace_when_done(target, reads=[], force=False):
        pass
    assert "--force" in str(caught.value.hint)
    with replace_when_done(target, reads=[], force=True) as partial:
        partial.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"


def test_outputs_appear_together(tmp_path: Path) -> None:
    outputs = Outputs(reads=[])
    for name in ("a.csv", "b.json"):
        outputs.add(tmp_path / name).write_text(name)
    assert not (tmp_path / "a.csv").exists()
    outputs.commit()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "b.json"]


def test_nothing_appears_if_one_was_not_written(tmp_path: Path) -> None:
    outputs = Outputs(reads=[])
    outputs.add(tmp_path / "a.csv").write_text("a")
    outputs.add(tmp_path / "b.json")
    with pytest.raises(FileNotFoundError):
        outputs.commit()
    assert list(tmp_path.iterdir()) == []


def test_discard_removes_what_was_written(tmp_path: Path) -> None:
    outputs = Outputs(reads=[])
    outputs.add(tmp_path / "a.csv").write_text("a")
    outputs.discard()
    assert list(tmp_path.iterdir()) == []


def test_same_target_twice_is_refused(tmp_path: Path) -> None:
    outputs = Outputs(reads=[])
    outputs.add(tmp_path / "a.csv")
    with pytest.raises(PolicyError, match="same path"):
        outputs.add(tmp_path / "a.csv")
