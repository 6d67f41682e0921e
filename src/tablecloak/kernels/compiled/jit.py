"""How kernels are compiled: cached on disk, and without the interpreter lock so that threads run side by side.

numba notices a change in the file of a kernel, but not in the files of kernels that it calls. The cache therefore lies
in a folder named by the text of all of them: another version of any kernel never finds it.

Compiling is what a first run waits for, so kernels are written for the compiler too: one entry from Python for each
task, whole numbers begin as `np.int64(-1)` (a bare -1 compiles what it is passed to once more), and arrays are copied
by loops (`a[:] = b` compiles the message about shapes that differ).
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from numba import config as _config
from numba import njit
from numba.np import linalg as _linalg

__all__ = ["inner_jit", "jit", "leaf_jit", "was_kept"]


def _load_without_scipy() -> None:
    """numba loads scipy to find out whether there is a BLAS, which takes as long as numba itself; no kernel needs one.

    Functions of others do not notice: those that call a BLAS look for it when they are compiled.
    """
    if "numba.np.arraymath" in sys.modules or not hasattr(_linalg, "ensure_blas"):
        return
    ensure = _linalg.ensure_blas
    _linalg.ensure_blas = lambda: None
    try:
        arraymath: Any = importlib.import_module("numba.np.arraymath")
    finally:
        _linalg.ensure_blas = ensure
    arraymath.ensure_blas = ensure
    arraymath._HAVE_BLAS = importlib.util.find_spec("scipy") is not None


def _sources() -> bytes:
    folder = Path(__file__).parents[1]
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*.py")))


def _cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "tablecloak" / f"kernels-{hashlib.sha256(_sources()).hexdigest()[:16]}"


def was_kept(kernel: Any) -> bool:
    """Whether a kernel is in the cache of this installation, for this version of Python."""
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    return any(Path(kernel.stats.cache_path).glob(f"*.{kernel.__name__}-*.{version}*.nbi"))


_load_without_scipy()
config: Any = _config
if not config.CACHE_DIR:  # set by NUMBA_CACHE_DIR
    config.CACHE_DIR = str(_cache_folder())

jit: Any = njit(cache=True, nogil=True)
# Called by other kernels only: what Python would need to call it is not compiled.
_any_njit: Any = njit  # its type hints leave these options out
inner_jit: Any = _any_njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
# The same, for kernels that allocate no array: references to arrays are then not counted.
leaf_jit: Any = _any_njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)
