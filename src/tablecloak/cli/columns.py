"""Lists of columns on the command line."""

from __future__ import annotations

import csv

from tablecloak.errors import PolicyError


def column_names(text: str) -> list[str]:
    """The columns of a list such as `age,sex,zip`; a name with a comma is written in double quotes."""
    names = [name.strip() for row in csv.reader([text], skipinitialspace=True) for name in row]
    if not names or not all(names):
        raise PolicyError(f"--quasi '{text}' is not a list of columns", hint="write --quasi age,sex,zip")
    return list(dict.fromkeys(names))
