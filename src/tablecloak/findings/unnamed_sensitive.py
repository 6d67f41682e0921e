"""Sensitive columns that no goal protects."""

from __future__ import annotations

from collections.abc import Iterator

from tablecloak.findings.base import Change, Finding, Fix, Shown, finding, is_unnamed_sensitive


@finding("unnamed-sensitive")
def unnamed_sensitive(shown: Shown) -> Iterator[Finding]:
    """A sensitive column is published and no goal names it.

    A class in which everybody has the same value of it tells that value to whoever knows a person's quasi-identifiers:
    k-anonymity hides which record is whose, not what all of them have in common.
    """
    for name in shown.outside:
        if is_unnamed_sensitive(shown, name):
            change = Change(f"goals.{len(shown.policy.goals)}", {"model": "l-diversity", "l": 2, "sensitive": name})
            yield Finding(
                "unnamed-sensitive",
                f"'{name}' is sensitive and published, and no goal protects it",
                Fix(f"add a goal for it, such as l-diversity with l: 2; or role: drop for {name}", (change,)),
                column=name,
            )
