"""Both forms of every kernel by its name: `plain.group_keys(keys)`, `compiled.group_keys(keys)`."""

from __future__ import annotations

import importlib
import pkgutil

import tablecloak.kernels
from tablecloak.kernels import dispatch

for topic in pkgutil.iter_modules(tablecloak.kernels.__path__):
    importlib.import_module(f"tablecloak.kernels.{topic.name}")

BY_NAME = {kernel.name.rpartition(".")[2]: kernel for kernel in dispatch.TABLE.values()}
assert len(BY_NAME) == len(dispatch.TABLE), "two kernels have one name"


class Form:
    """Kernels of one form."""

    def __init__(self, *, is_compiled: bool) -> None:
        self.is_compiled = is_compiled

    def __getattr__(self, name: str):
        if name not in BY_NAME:
            raise AttributeError(name)
        return BY_NAME[name].form(compiled=self.is_compiled)

    def __repr__(self) -> str:
        return "compiled" if self.is_compiled else "plain"


plain, compiled = Form(is_compiled=False), Form(is_compiled=True)
