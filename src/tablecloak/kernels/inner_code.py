# mypy: disable-error-code="no-untyped-call,misc"
"""How numba compiles kernels: each loop once, machine code only of what Python calls.

numba makes machine code of every function that it compiles, and of all that it calls, again for each caller. A kernel
is a tree of loops, so most of the time of its compilation would go into machine code that nobody ever runs. Here loops
that only other loops call are lowered and kept; the entry from Python gathers those it reaches, and what they become
together is optimised and emitted once.

Functions of numpy are compiled once for every set of flags in use. All kernels are compiled as if by the same flags, so
they share them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags, _LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

from tablecloak.kernels.dispatch import announce
from tablecloak.kernels.folding import FoldingLower

# What kernels do not use: contexts, closures, literals that unroll, inlined functions, expressions of whole arrays.
SKIPPED = frozenset(
    {
        "WithLifting", "InlineClosureLikes", "RewriteDynamicRaises", "MakeFunctionToJitFunction", "InlineInlinables",
        "FindLiterallyCalls", "LiteralUnroll", "LiteralPropagationSubPipelinePass", "NopythonRewrites",
        "AnnotateTypes", "DumpParforDiagnostics",
    }
)  # fmt: skip


class _InnerLibrary(JITCodeLibrary):
    """Code that waits to be linked into that of an entry."""

    def add_llvm_module(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.linkage = "linkonce_odr"
        self._shared_module = self._final_module
        self._finalize_dynamic_globals()
        self._finalized = True


class _EntryLibrary(JITCodeLibrary):
    """Code of an entry, with all that it reaches."""

    def add_llvm_module(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        self._linking_libraries = list(_reached(self, {self}))
        super().finalize()


def _reached(library: Any, seen: set[Any]) -> Iterator[Any]:
    """Libraries that are to be linked for one; those of numba hold what they call."""
    for other in library._linking_libraries:
        if other not in seen:
            seen.add(other)
            yield other
            if isinstance(other, _InnerLibrary):
                yield from _reached(other, seen)


class _Surroundings(Flags):
    """What functions of numpy that a kernel calls are compiled by: one value for all kernels, found by its address."""

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other)

    def __hash__(self) -> int:
        return 1


class _KernelFlags(Flags):
    """Flags of a loop; what it calls is compiled by those of all."""

    surroundings: Any = None

    def copy(self) -> Any:
        if _KernelFlags.surroundings is None:
            _KernelFlags.surroundings = _Surroundings(self)
            _KernelFlags.surroundings.nrt = True
        return _KernelFlags.surroundings


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerOnly(NativeLowering):
    """Lowering without machine code."""

    _name = "tablecloak_lower_only"
    lowering_class = FoldingLower

    def run_pass(self, state: Any) -> bool:
        state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        nobody_calls_it = list[Any]().append  # a key of its own, where others have their address
        state.targetctx.insert_user_function(nobody_calls_it, lowered.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = _LowerResult(lowered.fndesc, lowered.call_helper, cfunc=nobody_calls_it, env=lowered.env)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerEntry(NativeLowering):
    """Lowering of a loop that Python calls."""

    _name = "tablecloak_lower_entry"
    lowering_class = FoldingLower

    def run_pass(self, state: Any) -> bool:
        state.library = _EntryLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


class _KernelCompiler(CompilerBase):
    """The pipeline of numba, but for what kernels do not use."""

    lowering: type[NativeLowering]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.state.flags = _KernelFlags(self.state.flags)

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (self.lowering if p is NativeLowering else p, text)
            for p, text in passes.passes
            if p.__name__ not in SKIPPED
        ]
        passes.finalize()
        return [passes]


class InnerCompiler(_KernelCompiler):
    """For loops that only other loops call."""

    lowering = _LowerOnly


class EntryCompiler(_KernelCompiler):
    """For loops that Python calls."""

    lowering = _LowerEntry

    def compile_extra(self, func: Any) -> Any:
        announce(func)
        return super().compile_extra(func)
