"""Published columns that name or number people."""

from __future__ import annotations

from collections.abc import Iterator

from tablecloak.data.table import Role
from tablecloak.findings.base import Finding, Shown, finding
from tablecloak.profile.column import column_of
from tablecloak.profile.detector import detect

# Below this a header alone decided, which says little about columns that someone chose to publish.
CERTAIN = 0.6
# Roles of what leads to a person by itself.
IDENTIFYING = (Role.IDENTIFIER, Role.DROP)


@finding("identifying-column")
def identifying_column(shown: Shown) -> Iterator[Finding]:
    """A published column looks like an identifier to one of the detectors, by its name or by what it holds.

    Names, numbers of persons, cards and accounts, addresses of mail and of devices, places to the metre and text that
    people wrote: each says who a record is about, whatever else is generalised.
    """
    # what stands for a name may look like one
    columns = [name for name in (*shown.outside, *shown.protected) if name not in shown.covered]
    if not columns:
        return
    rows = shown.sample(columns, None)
    for name in columns:
        detection = detect(column_of(rows[name])[0]) if name in rows.columns else None
        if detection is None or detection.match.role not in IDENTIFYING or detection.match.certainty < CERTAIN:
            continue
        yield Finding(
            "identifying-column",
            f"'{name}' looks like an identifier to the detector {detection.detector} ({detection.match.looks_like})",
            shown.drop(name),
            column=name,
        )
