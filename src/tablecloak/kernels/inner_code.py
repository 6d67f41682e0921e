# mypy: disable-error-code="no-untyped-call,misc"
"""Loops that only other loops call: what numba makes of them is linked into those, and optimised and emitted there.

numba makes machine code of every function that it compiles, and of all that it calls, again for each caller. A kernel
is a tree of loops, so most of the time of its compilation went into machine code that nobody ever ran.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class _LinkedLibrary(JITCodeLibrary):
    """Code that waits to be linked into that of a caller."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerOnly(NativeLowering):
    """Lowering without machine code."""

    _name = "tablecloak_lower_only"

    def run_pass(self, state: Any) -> bool:
        state.library = _LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        nobody_calls_it = list[Any]().append  # a key of its own, where others have their address
        state.targetctx.insert_user_function(nobody_calls_it, lowered.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = _LowerResult(lowered.fndesc, lowered.call_helper, cfunc=nobody_calls_it, env=lowered.env)
        return True


class InnerCompiler(CompilerBase):
    """The pipeline of numba, but for machine code."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(_LowerOnly if p is NativeLowering else p, text) for p, text in passes.passes]
        passes.finalize()
        return [passes]
