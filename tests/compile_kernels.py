"""Compile the kernels once, side by side, before tests in several processes would each compile them.

`python tests/compile_kernels.py`; where they are compiled already it takes two seconds.
"""

from __future__ import annotations

from tablecloak.kernels import dispatch
from tablecloak.kernels.compiling import compile_kernels, missing
from tablecloak.kernels.loading import STEPS
from tablecloak.progress import silent


def main() -> None:
    if dispatch.has_compiler():
        compile_kernels(missing(STEPS), silent)


if __name__ == "__main__":
    main()
