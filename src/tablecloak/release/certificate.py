"""Certificates: what was guaranteed about a release, by what recount, for exactly which bytes.

A certificate holds no value of the data. It is not signed: it says what was counted, not who counted. It is public, so
what is not published has no plain hash in it, and no count of its own: whoever knows all records but one could try
values until they fit.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tablecloak.errors import DataError
from tablecloak.io.parts import is_many, parts_of
from tablecloak.release.facts.public import level, public_run

FORMAT = "tablecloak-certificate-1"
PACKAGES = ("tablecloak", "polars", "numpy", "numba")
COUNTED = (
    "status", "holds", "findings", "classes", "rows", "suppressed", "dropped_for_missing", "covers", "verdicts",
    "goals",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CertificateCheck:
    """One claim of a certificate; `ok` is None where it could not be checked."""

    claim: str
    ok: bool | None
    remark: str = ""

    @classmethod
    def of(cls, claim: str, is_right: bool, otherwise: str) -> CertificateCheck:
        """A claim that was checked, and what there is to say where it is wrong."""
        return cls(claim, is_right, "" if is_right else otherwise)

    def to_dict(self) -> dict[str, Any]:
        return {"claim": self.claim, "ok": self.ok, "remark": self.remark}


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, as hexadecimal text; of a folder or pattern, that of the names and hashes of its files."""
    if is_many(path):
        root = path if path.is_dir() else path.parent
        names = {part.path: os.path.relpath(part.path, root) for part in parts_of(path)}
        return sha256_text("".join(f"{sha256_of(file)}  {name}\n" for file, name in names.items()))
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_text(text: str) -> str:
    """SHA-256 of a text in UTF-8, as hexadecimal text."""
    return hashlib.sha256(text.encode()).hexdigest()


def keyed(digest: str, key: bytes) -> str:
    """HMAC-SHA-256 of a SHA-256, both as hexadecimal text; without the key nobody can compute it for a guess."""
    return hmac.new(key, digest.encode(), "sha256").hexdigest()


def stored_key(recoding: Path) -> bytes | None:
    """The key of a certificate as the recoding of its run holds it; None in files that older versions wrote."""
    try:
        return bytes.fromhex(json.loads(recoding.read_text(encoding="utf-8"))["certificate_key"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def versions() -> dict[str, str | None]:
    """What made the release: Python and the packages whose arithmetic it rests on."""
    return {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def make_certificate(
    run: Mapping[str, Any],
    *,
    policy: str,
    seed: int,
    hashes: Mapping[str, str | None],
    keyed: Mapping[str, str | None],
    algorithm: Mapping[str, Any],
    created: str,
) -> dict[str, Any]:
    """The certificate of a run as plain data.

    Args:
        run: the keys of `tablecloak run --json`.
        policy: the policy as YAML, as it was carried out.
        hashes: SHA-256 of the recoding, which holds a random key, and of what is published; None: no such file.
        keyed: HMAC-SHA-256 of the input, with a key that is not published; None: no such file.
        created: time of the run, ISO 8601 in UTC.
    """
    public = public_run(run)
    return {
        "format": FORMAT,
        "created": created,
        **{key: public[key] for key in COUNTED},
        **({"risk": _risk_after(run["risk"])} if run.get("risk") else {}),
        **({"transforms": public["transforms"]} if public.get("transforms") else {}),
        "algorithm": dict(algorithm),
        "engine": run["engine"],
        **({"engine_reason": run["engine_reason"]} if run.get("engine_reason") else {}),
        "seed": seed,
        "versions": versions(),
        "sha256": {**hashes, "policy": sha256_text(policy)},
        "keyed": dict(keyed),
        "policy": policy,
    }


def _risk_after(risk: Mapping[str, Any]) -> dict[str, Any]:
    """The risk of what is published; that of the original would confirm guesses at its records."""
    return {attacker: {"after": sides["after"]} for attacker, sides in risk.items()}


def read_certificate(path: Path) -> dict[str, Any]:
    """A certificate written by an earlier run; DataError if the file is none."""
    try:
        certificate = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as exc:
        raise DataError(
            "cannot be read as a certificate", hint="use the file that `run` wrote", location=str(path)
        ) from exc
    needed = {"policy": str, "sha256": dict, "verdicts": list, "classes": int, "rows": int}
    is_whole = isinstance(certificate, dict) and all(isinstance(certificate.get(k), kind) for k, kind in needed.items())
    is_whole = is_whole and isinstance(certificate.get("keyed", {}), dict)  # older versions wrote none
    is_whole = is_whole and all(isinstance(verdict, dict) for verdict in certificate["verdicts"])
    if not is_whole or certificate.get("format") != FORMAT:
        raise DataError(
            f"not a certificate of the format {FORMAT}", hint="use the file that `run` wrote", location=str(path)
        )
    return dict(certificate)


def check_hash(claim: str, expected: str | None, actual: str | None, *, without: str) -> CertificateCheck:
    """Whether a file is the one that was certified; `without` says why it could not be compared."""
    if expected is None:
        return CertificateCheck(claim, None, "the certificate names none")
    if actual is None:
        return CertificateCheck(claim, None, without)
    return CertificateCheck.of(claim, expected == actual, "its bytes differ from those certified")


def check_counts(certificate: Mapping[str, Any], recount: Mapping[str, Any]) -> Iterator[CertificateCheck]:
    """Whether a recount of the release finds what the certificate says."""
    if len(certificate["verdicts"]) != len(recount["verdicts"]):
        yield CertificateCheck(
            "a verdict for every goal", False, "the certificate has another number of verdicts than goals"
        )
    for verdict, counted in zip(certificate["verdicts"], recount["verdicts"], strict=False):
        if counted.get("unchecked"):
            yield CertificateCheck(f"{counted['model']}: level as certified", None, counted["unchecked"])
            continue
        # older versions wrote all digits
        certified = verdict.get("achieved")
        certified = level(certified) if isinstance(certified, int | float) else certified
        is_same = verdict.get("holds") == counted["holds"] and certified == level(counted["achieved"])
        yield CertificateCheck.of(f"{counted['model']}: level as certified", is_same, "recounted differently")
    for key in ("classes", "rows"):
        is_same = certificate[key] == recount[key]
        yield CertificateCheck.of(f"number of {key} as certified", is_same, f"recounted {recount[key]:,}")
