"""The wheel works where nothing of this repository is."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tablecloak.kernels import kept
from tablecloak.kernels.dispatch import COMPILED_FROM
from tablecloak.kernels.kept import KernelLocator
from tablecloak.kernels.loading import STEPS, warm_up
from tablecloak.sample import census_policy, census_to_file

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling", reason="building offline needs hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    warm_up(STEPS)  # found where they are kept, if anything was tested before
    shutil.copytree(KernelLocator.folder, folder / "kernels" / kept.current().name)
    words = ["pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder), str(ROOT)]
    environment = {**os.environ, "TABLECLOAK_KERNELS": str(folder / "kernels")}
    subprocess.run([sys.executable, "-m", *words], check=True, capture_output=True, env=environment)
    (found,) = folder.glob("tablecloak-*.whl")
    return found


def test_the_wheel_holds_types_and_samples(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "tablecloak/py.typed" in names
    assert "tablecloak/sample/policies/patients.yaml" in names
    assert not [name for name in names if name.startswith("tests")]


@pytest.fixture(scope="module")
def elsewhere(wheel, tmp_path_factory):
    """The wheel unpacked by pip into a folder of its own; dependencies come from the packages installed here."""
    folder = tmp_path_factory.mktemp("elsewhere")
    words = ["pip", "install", "--no-deps", "--no-index", "--target", str(folder / "site"), str(wheel)]
    subprocess.run([sys.executable, "-m", *words], check=True, capture_output=True)
    return folder


def python(folder, *words, **more):
    # -S leaves out .pth files, through which an editable install would be found
    paths = [folder / "site", *site.getsitepackages()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "COLUMNS": "120", **more}
    return subprocess.run(
        [sys.executable, "-S", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_it_imports_from_another_folder(elsewhere):
    code = "import tablecloak; print(tablecloak.__file__, tablecloak.sample.patients(5).height)"
    found = python(elsewhere, "-c", code)
    assert found.returncode == 0, found.stderr
    assert found.stdout.split() == [str(elsewhere / "site/tablecloak/__init__.py"), "5"]


def test_its_demo_runs(elsewhere):
    found = python(elsewhere, "-m", "tablecloak.cli.main", "demo")
    assert found.returncode == 0, found.stderr
    assert "✓ k-anonymity" in found.stdout


def test_its_first_run_compiles_nothing(elsewhere):
    """With an empty home; numba says what it loads from its cache and what it writes there."""
    census_to_file(elsewhere / "census.csv", COMPILED_FROM)
    policy = census_policy().replace("algorithm: mondrian", "algorithm: {kind: auto, effort: fast}")
    (elsewhere / "policy.yaml").write_text(policy)
    home = elsewhere / "home"
    home.mkdir()
    given = {"HOME": str(home), "XDG_CACHE_HOME": str(home), "NUMBA_CACHE_DIR": "", "NUMBA_DEBUG_CACHE": "1"}
    found = python(elsewhere, "-m", "tablecloak.cli.main", "run", "policy.yaml", **given)
    assert found.returncode == 0, found.stderr
    assert found.stdout.count("[cache] data loaded") > 10
    assert "[cache] data saved" not in found.stdout
    assert "Compiling" not in found.stderr
