"""One source, two forms: kernels run plain on small tables and as machine code on large ones.

A loop is written once and marked by `jit`, `inner_jit` or `leaf_jit`. Plain, it is the function that stands there, and
calls the functions that stand beside it. Compiled, it is a copy that sees its module with every marked function in
machine code. Where a loop over tuples is too slow without a compiler, `plain=` names what plain callers get instead,
in numpy; `benchmarks/kernels.py` says where that is so. numba is not imported before something is compiled.

What Python calls is a `Kernel`: `group_keys.sized(n)(keys)` takes the form for `n` tuples; both have one type.

Compiling is what a first run waits for, so kernels are written for the compiler too: one entry from Python for each
task, whole numbers begin as `np.int64(-1)` (a bare -1 compiles what it is passed to once more), and arrays are copied
by loops (`a[:] = b` compiles the message about shapes that differ). Loops index slices that begin at 0, which lets the
compiler drop wrap-around checks and use SIMD.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import FunctionType
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from tablecloak.kernels import kept

P = ParamSpec("P")
R = TypeVar("R")
Loop = Callable[..., Any]

# Below this many tuples plain kernels finish before compiled ones are even loaded.
COMPILED_FROM = 12_000
# A search that refines looks at every tuple so often that loading pays for all but the smallest.
REFINED_FROM = 30
_least: ContextVar[int] = ContextVar("least", default=0)
# Threads that load compiled kernels while something else happens.
LOADING: list[threading.Thread] = []


class Kernel(Generic[P, R]):
    """A function that Python calls, in two forms of equal arguments and results (groups may be numbered otherwise)."""

    def __init__(self, plain: Callable[P, R], source: Callable[P, R], compiled_from: int | None) -> None:
        self.plain = plain
        self._source = cast(FunctionType, source)
        self._compiled_from = compiled_from
        self.name = f"{source.__module__.rpartition('.')[2]}.{source.__name__}"
        self.__doc__ = source.__doc__
        TABLE[self.name] = self

    @cached_property
    def compiled(self) -> Callable[P, R]:
        """The form whose loops are machine code; they are compiled, or found in the cache, when they are called."""
        with _lock:
            is_loop = self._source in _loops
            return cast("Callable[P, R]", machine_code(self._source) if is_loop else _in_machine_code(self._source))

    def form(self, *, compiled: bool) -> Callable[P, R]:
        """One of the two."""
        return self.compiled if compiled else self.plain

    def sized(self, n: int) -> Callable[P, R]:
        """The form for a table of so many tuples."""
        return self.form(compiled=pays(n, self._compiled_from))

    def at_hand(self, n: int) -> Callable[P, R]:
        """The same, but while compiled kernels are being loaded the form that need not be waited for."""
        LOADING[:] = [thread for thread in LOADING if thread.is_alive()]
        return self.plain if LOADING else self.sized(n)


# Every kernel by topic and name.
TABLE: dict[str, Kernel[..., Any]] = {}


def pays(n: int, compiled_from: int | None = None) -> bool:
    """Whether compiled kernels pay for a table of so many tuples."""
    least = max(COMPILED_FROM if compiled_from is None else compiled_from, _least.get())
    return n >= least and has_compiler()


@contextmanager
def compiled_from(n: int) -> Iterator[None]:
    """Within, kernels are compiled for tables of at least so many tuples only: quick answers wait for no compiler."""
    before = _least.set(n)
    try:
        yield
    finally:
        _least.reset(before)


def has_compiler() -> bool:
    """Whether numba is installed."""
    return importlib.util.find_spec("numba") is not None


class _Entry(Protocol):
    def __call__(self, source: Callable[P, R], /) -> Kernel[P, R]: ...


@overload
def kernel(*, compiled_from: int | None = None, is_loop: bool = False) -> _Entry: ...
@overload
def kernel(
    *, plain: Callable[P, R], compiled_from: int | None = None, is_loop: bool = False
) -> Callable[[Callable[P, R]], Kernel[P, R]]: ...
def kernel(*, plain: Any = None, compiled_from: int | None = None, is_loop: bool = False) -> Any:
    """Make a function an entry from Python.

    Args:
        plain: what small tables use, where it is not the function itself.
        compiled_from: tuples from which on compiled loops pay, where that is not `COMPILED_FROM`.
        is_loop: the function is compiled itself; others call loops.
    """

    def entry(source: Any) -> Any:
        if is_loop:
            jit(source)
        return Kernel(plain or source, source, compiled_from)

    return entry


@dataclass(frozen=True, slots=True)
class _Loop:
    source: FunctionType
    options: dict[str, bool]


_lock = threading.RLock()
_loops: dict[Loop, _Loop] = {}  # by the plain form
_machine_code: dict[Loop, Any] = {}
_namespaces: dict[str, dict[str, Any]] = {}


def _mark(loop: Any = None, *, plain: Any = None, options: dict[str, bool]) -> Any:
    if loop is None:
        return partial(_mark, plain=plain, options=options)
    stands_for = plain or loop
    _loops[stands_for] = _Loop(loop, options)
    return stands_for


# A loop that Python calls: kept on disk, and without the interpreter lock so that threads run side by side; what C
# would need to call it is not compiled.
jit: Any = partial(_mark, options={"cache": True, "nogil": True, "no_cfunc_wrapper": True})
# Called by other loops only: what Python would need to call it is not compiled.
_inner = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
inner_jit: Any = partial(_mark, options=_inner)
# The same, for loops that allocate no array: references to arrays are then not counted.
leaf_jit: Any = partial(_mark, options={**_inner, "_nrt": False})


def machine_code(loop: Loop) -> Any:
    """What numba makes of a marked loop."""
    with _lock:
        if loop not in _machine_code:
            marked = _loops[loop]
            copy = _in_machine_code(marked.source)
            if loop not in _machine_code:  # its namespace may have asked for it
                _machine_code[loop] = _compiled(copy, marked.options)
        return _machine_code[loop]


def _in_machine_code(function: FunctionType) -> FunctionType:
    """The same function, calling machine code where it calls loops."""
    name = function.__module__
    if name not in _namespaces:
        namespace = _namespaces[name] = dict(vars(sys.modules[name]))
        for key, value in list(namespace.items()):
            if isinstance(value, FunctionType) and value in _loops:
                namespace[key] = machine_code(value)
    copy = FunctionType(function.__code__, _namespaces[name], function.__name__, function.__defaults__)
    copy.__kwdefaults__, copy.__module__, copy.__qualname__ = function.__kwdefaults__, name, function.__qualname__
    return copy


def folder() -> Path:
    """Where this process keeps what it compiles."""
    kept.KernelLocator.folder = kept.KernelLocator.folder or kept.use()
    return kept.KernelLocator.folder


# Told the topic of a kernel that has to be compiled.
_listeners: list[Callable[[str], None]] = []


@contextmanager
def announced(tell: Callable[[str], None]) -> Iterator[None]:
    """Within, somebody is told of every kernel that has to be compiled before work goes on."""
    _listeners.append(tell)
    try:
        yield
    finally:
        _listeners.remove(tell)


def announce(loop: FunctionType) -> None:
    """Say that a loop is being compiled."""
    for tell in tuple(_listeners):
        tell(loop.__module__.rpartition(".")[2].replace("_", " "))


def was_kept(loop: Loop) -> bool:
    """Whether a loop is in the cache of this installation, for this version of Python and this kind of processor."""
    compiled = machine_code(loop)
    target = compiled.targetctx.codegen().magic_tuple()
    return any(kept_for == target for _, kept_for, _ in compiled._cache._cache_file._load_index())


def _compiled(loop: FunctionType, options: dict[str, bool]) -> Any:
    """What numba makes of a function, kept where ours are."""
    _load_without_scipy()
    numba = importlib.import_module("numba")
    _choose_processor(numba.config)
    before = numba.config.CACHE_LOCATOR_CLASSES
    numba.config.CACHE_LOCATOR_CLASSES = f"{kept.KernelLocator.__module__}.{kept.KernelLocator.__name__}"
    try:
        inner: Any = importlib.import_module("tablecloak.kernels.inner_code")
        pipeline = inner.EntryCompiler if options.get("cache") else inner.InnerCompiler
        return numba.njit(pipeline_class=pipeline, **options)(loop)
    finally:
        numba.config.CACHE_LOCATOR_CLASSES = before


def _choose_processor(config: Any) -> None:
    """Compile for a kind of processor, unless somebody chose another or numba already compiles for this very one."""
    target: Any = importlib.import_module("numba.core.registry").cpu_target
    if config.CPU_NAME is None and "_toplevel_target_context" not in vars(target):
        config.CPU_NAME, config.CPU_FEATURES = kept.processor(), ""


def _load_without_scipy() -> None:
    """numba loads scipy to find out whether there is a BLAS, which takes as long as numba itself; no kernel needs one.

    Functions of others do not notice: those that call a BLAS look for it when they are compiled.
    """
    linalg: Any = importlib.import_module("numba.np.linalg")
    if "numba.np.arraymath" in sys.modules or not hasattr(linalg, "ensure_blas"):
        return
    ensure = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        arraymath: Any = importlib.import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = ensure
    arraymath.ensure_blas = ensure
    arraymath._HAVE_BLAS = importlib.util.find_spec("scipy") is not None
