"""Compile the kernels once, side by side, before tests in several processes would each compile them.

`python tests/compile_kernels.py`; where they are compiled already it takes two seconds.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, wait

from tablecloak.kernels import dispatch
from tablecloak.kernels.loading import warm_up


def main() -> None:
    if dispatch.has_compiler():
        with ProcessPoolExecutor(2) as pool:
            done, _ = wait([pool.submit(warm_up, refines=True), pool.submit(warm_up, as_sets=True)])
            for each in done:
                each.result()


if __name__ == "__main__":
    main()
