"""A secret that is none."""

from __future__ import annotations

from collections.abc import Iterator

from tablecloak.findings.base import Change, Finding, Fix, Shown, finding


@finding("public-secret")
def public_secret(shown: Shown) -> Iterator[Finding]:
    """The secret behind randomness that hides people can be read by others.

    Whoever has it replays the run: which rows form a group, which values were exchanged, in which order rows stood.
    """
    if shown.has_public_secret:
        yield Finding(
            "public-secret",
            "the file of the secret can be read by others than its owner",
            Fix(
                "make a new secret that only its owner may read (chmod 600), or name none, so that every run draws one",
                (Change("secret", None),),
            ),
        )
