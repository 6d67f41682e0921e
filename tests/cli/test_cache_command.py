"""Compiled kernels can be seen, deleted and prepared; old versions go by themselves."""

from __future__ import annotations

import os
import time

import pytest

from tablecloak.kernels import kept
from tablecloak.kernels.loading import STEPS


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    return tmp_path / "tablecloak"


def keep(folder, *, unused_days=0, n_bytes=100):
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "kernel.nbi").write_bytes(b"x" * n_bytes)
    then = time.time() - unused_days * 86_400
    os.utime(folder, (then, then))


def test_info_shows_what_is_kept(cloak, home):
    keep(kept.current(), n_bytes=300)
    keep(home / "kernels-00", unused_days=3)
    report = cloak("cache", "info", "--json").data
    assert report["folder"] == str(home)
    assert report["bytes"] == 400
    assert [(v["is_current"], v["bytes"], v["unused_days"]) for v in report["versions"]] == [
        (True, 300, 0.0), (False, 100, 3.0)]  # fmt: skip


def test_info_of_nothing_names_the_next_step(cloak, home):
    assert "Next: tablecloak cache warm" in cloak("cache", "info").out


def test_clear_deletes_kernels_and_nothing_else(cloak, home):
    keep(kept.current())
    keep(home / "kernels-00")
    (home / "other").mkdir()
    assert cloak("cache", "clear", "--old").code == 0
    assert [folder.is_current for folder in kept.versions()] == [True]
    assert "Deleted 1 version" in cloak("cache", "clear").out
    assert [path.name for path in home.iterdir()] == ["other"]


def test_versions_that_nobody_used_for_long_are_removed(home):
    keep(kept.current(), unused_days=kept.OLD_DAYS + 1)
    keep(home / "kernels-old", unused_days=kept.OLD_DAYS + 1)
    keep(home / "kernels-recent", unused_days=kept.OLD_DAYS - 1)
    folder = kept.use()
    assert {path.name for path in home.iterdir()} == {folder.name, "kernels-recent"}
    assert time.time() - folder.stat().st_mtime < 60


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files; the home is a file, so that nothing can be kept there."""
    (tmp_path / "home").touch()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(kept.tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path / "tmp"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="users have folders of their own for temporary files")
def test_where_the_home_cannot_be_written_all_processes_share_a_private_folder(temporary):
    folder = kept.use()
    assert folder == kept.use() == temporary / f"tablecloak-{os.getuid()}" / kept.current().name
    assert folder.parent.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="users have folders of their own for temporary files")
def test_a_folder_that_others_can_write_is_not_trusted(temporary):
    planted = temporary / f"tablecloak-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    assert planted not in kept.use().parents
    planted.rmdir()
    (temporary / "elsewhere").mkdir(mode=0o700)
    planted.symlink_to(temporary / "elsewhere")
    assert planted not in kept.use().parents


def test_kernels_that_came_along_are_found_where_the_home_cannot_be_written(temporary, tmp_path, monkeypatch):
    brought = tmp_path / "package" / kept.current().name
    brought.mkdir(parents=True)
    for name in ("loop-1.py.nbi", "loop-1.py.1.nbc"):
        (brought / name).write_text("machine code")
    monkeypatch.setattr(kept, "BROUGHT", brought.parent)
    assert {path.name for path in kept.use().iterdir()} == {"loop-1.py.nbi", "loop-1.py.1.nbc"}


def test_a_user_without_a_home_has_kernels_among_temporary_files(temporary, monkeypatch):
    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    for name in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(kept.Path, "home", nowhere)
    assert kept.versions() == []
    assert temporary in kept.use().parents


def test_warm_compiles_by_using_the_kernels(cloak, home, monkeypatch):
    pytest.importorskip("numba")
    asked = []
    monkeypatch.setattr("tablecloak.kernels.dispatch.was_kept", lambda loop: False)
    monkeypatch.setattr("tablecloak.kernels.compiling.compile_kernels", lambda steps, _: asked.extend(steps))
    outcome = cloak("cache", "warm", "--json")
    assert outcome.data["folder"] == str(kept.current())
    assert tuple(asked) == STEPS
