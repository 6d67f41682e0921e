"""Wheels that bring compiled kernels along: the folder that TABLECLOAK_KERNELS names, as `make wheel` fills it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelHook(BuildHookInterface):
    """Adds compiled kernels, which are for one version of Python on one kind of machine."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get("TABLECLOAK_KERNELS")
        if folder and version != "editable":
            build_data["force_include"][str(Path(folder).resolve())] = "tablecloak/kernels/compiled"
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
