"""Published pseudonyms."""

from __future__ import annotations

from collections.abc import Iterator

from tablecloak.findings.base import Finding, Shown, finding


@finding("pseudonymised")
def pseudonymised(shown: Shown) -> Iterator[Finding]:
    """A column is published under pseudonyms, so the release is pseudonymised and not anonymous.

    Whoever has the key, or the table of pseudonyms, finds the people behind them again; whoever has another table with
    the same pseudonyms joins it. Laws treat such data as personal. Where that is meant, accept the finding and say who
    holds the key.
    """
    for name, kind in shown.pseudonyms.items():
        yield Finding(
            "pseudonymised",
            f"'{name}' is published under pseudonyms ({kind}): who has the key finds people again, so the release is "
            "pseudonymised, not anonymous",
            shown.drop(name),
            column=name,
        )
