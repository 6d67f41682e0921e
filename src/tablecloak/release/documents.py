"""Report and certificate of a run: from what the pipeline knows to the two documents, and from a certificate back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tablecloak import looks
from tablecloak.data.table import Role
from tablecloak.errors import PolicyError
from tablecloak.findings.base import Status
from tablecloak.io.atomic import home_of
from tablecloak.io.database import digest_of_table
from tablecloak.io.places import DatabaseTable, Place
from tablecloak.policy.load import dump_policy, parse_policy
from tablecloak.policy.schema import Policy
from tablecloak.policy.secrets import secret_of
from tablecloak.release.certificate import (
    CertificateCheck,
    check_counts,
    check_hash,
    keyed,
    make_certificate,
    read_certificate,
    sha256_of,
    sha256_text,
    stored_key,
)
from tablecloak.release.facts.subject import Subject
from tablecloak.release.plan import Plan
from tablecloak.release.recount import Verification
from tablecloak.rng import Secret


@dataclass(frozen=True, slots=True)
class Documents:
    """Files of a run: where to write documents, and the files that they vouch for."""

    release: Place  # as it lies there now
    name: str  # as it will be called
    report: Path | None = None
    certificate: Path | None = None
    recoding: Path | None = None
    source: Path | None = None
    side: Path | None = None  # the sensitive columns, where they have a table of their own
    source_digest: str | None = field(default=None, kw_only=True)  # of a table in a database, as it was read
    kind: str | None = field(default=None, kw_only=True)  # format of the release; None: by its name
    delimiter: str | None = field(default=None, kw_only=True)
    rows_per_file: int | None = field(default=None, kw_only=True)
    is_of_run: bool = field(default=False, kw_only=True)  # from file to file: values are spelled as the input does

    @property
    def are_wanted(self) -> bool:
        return self.report is not None or self.certificate is not None


def write_documents(
    files: Documents, run: Mapping[str, Any], plan: Plan, subject_for: Callable[[Mapping[str, Any]], Subject]
) -> Subject:
    """Write what is wanted, and say what it is about.

    Args:
        subject_for: what the documents are about, given the certificate.
    """
    subject = subject_for(certificate_of(files, run, plan.policy, plan.algorithm, secret=plan.secret))
    if files.certificate is not None:
        text = json.dumps(subject.certificate, indent=2, ensure_ascii=False) + "\n"
        files.certificate.write_text(text, encoding="utf-8")
    if files.report is not None:
        files.report.write_text(looks.page(subject), encoding="utf-8")
    return subject


def certificate_of(
    files: Documents, run: Mapping[str, Any], policy: Policy, algorithm: Any, *, secret: Secret
) -> dict[str, Any]:
    """The certificate of a run as plain data, with the hashes of its files as they lie there now."""
    beside = files.certificate or files.report
    assert beside is not None
    hashed = {"output": files.release, "recoding": files.recoding}
    if files.side is not None:
        hashed["side_output"] = files.side
    source = files.source_digest or _hash_of(files.source)
    return make_certificate(
        run,
        policy=dump_policy(policy.rebased(home_of(beside))),
        seed=policy.seed,
        hashes={name: _hash_of(path) for name, path in hashed.items()},
        keyed={"input": None if source is None else keyed(source, secret.certificate_key)},
        algorithm={"kind": algorithm.name, **settings_of(algorithm)},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _hash_of(place: Place | None) -> str | None:
    """SHA-256 of a file, of a folder or of the rows of a table in a database."""
    if isinstance(place, DatabaseTable):
        return digest_of_table(place)
    return None if place is None else sha256_of(place)


def settings_of(algorithm: Any) -> dict[str, Any]:
    """The parameters of an algorithm."""
    return {f.name: getattr(algorithm, f.name) for f in fields(algorithm)}


@dataclass(frozen=True, slots=True)
class Certified:
    """What holding a release against its certificate found."""

    verification: Verification
    checks: list[CertificateCheck]

    @property
    def holds(self) -> bool:
        """Every goal was looked at and holds, and no claim that could be checked is wrong."""
        return self.verification.holds and all(c.ok is not False for c in self.checks)

    @property
    def status(self) -> Status:
        """That of the recount, or `fails` where a claim is wrong."""
        return Status.FAILS if any(c.ok is False for c in self.checks) else self.verification.status

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak verify --certificate --json`."""
        return {
            **self.verification.to_dict(),
            "holds": self.holds,
            "status": str(self.status),
            "checks": [check.to_dict() for check in self.checks],
            "summary": self.summary,
        }

    @property
    def summary(self) -> str:
        """How many claims hold, do not hold and could not be checked, and what no file can show."""
        n_right, n_wrong, n_open = (sum(check.ok is ok for check in self.checks) for ok in (True, False, None))
        parts = [f"{n_right} claims hold", f"{n_wrong} do not", f"{n_open} could not be checked"]
        return f"{', '.join(parts)}. A certificate is not signed: it says what was counted, not by whom."


def certified_policy(path: Path) -> tuple[Policy, dict[str, Any], list[CertificateCheck]]:
    """The policy of a certificate as far as its files are at hand, the certificate, and what is missing."""
    certificate = read_certificate(path)
    policy = parse_policy(certificate["policy"], name=str(path), base=path.parent)
    missing = [
        name
        for name in policy.columns_with(Role.SENSITIVE)
        if isinstance(file := policy.hierarchy_of(name), Path) and not file.exists()
    ]
    columns = {n: c.model_copy(update={"hierarchy": None}) if n in missing else c for n, c in policy.columns.items()}
    checks = [
        CertificateCheck(f"hierarchy of {n}", None, "its file is not here, so goals were counted without it")
        for n in missing
    ]
    return policy.model_copy(update={"columns": columns}), certificate, checks


def check_certificate(
    certificate: Mapping[str, Any],
    policy: Policy,
    verification: Verification,
    release: Place,
    original: Place | None,
    side: Path | None = None,
    *,
    recoding: Path | None = None,
) -> list[CertificateCheck]:
    """What a certificate claims, one by one: hashes, then counts, then what only the original can show.

    Args:
        recoding: that of the run; None: where the policy says it was written.
    """
    is_grouped = policy.algorithm.publishes.is_bucketing
    covering = "every column holds the values of its original" if is_grouped else "every cell covers its original"
    hashes = certificate["sha256"]
    stored = recoding or policy.recoding_path
    recoded = _check_file("recoding is the certified file", hashes.get("recoding"), stored)
    covers = verification.covers
    return [
        check_hash("release is the certified file", hashes.get("output"), _hash_of(release), without=""),
        *([_check_file("table beside it is the certified file", hashes.get("side_output"), side)] if side else ()),
        check_hash(
            "policy is the certified text", hashes.get("policy"), sha256_text(certificate["policy"]), without=""
        ),
        recoded,
        *check_counts(certificate, verification.to_dict()),
        _check_input(certificate, policy, original, stored if recoded.ok else None),
        CertificateCheck(covering, covers, "needs the original: --original FILE" if original is None else ""),
    ]


def _check_input(
    certificate: Mapping[str, Any], policy: Policy, original: Place | None, recoding: Path | None
) -> CertificateCheck:
    """Whether the original is the file that the run read: known to whoever has its recoding or its secret.

    Args:
        recoding: that of the run, if it is the certified one.
    """
    claim, without = "input is the certified file", "needs the original: --original FILE"
    hashes = certificate["sha256"]
    if "input" in hashes:  # as older versions wrote it
        return check_hash(claim, hashes["input"], _hash_of(original), without=without)
    expected = certificate.get("keyed", {}).get("input")
    digest = None if original is None or expected is None else _hash_of(original)
    if digest is None:
        return check_hash(claim, expected, None, without=without if original is None else "it has no hash")
    if recoding is not None and (key := stored_key(recoding)) is not None:
        return check_hash(claim, expected, keyed(digest, key), without="")
    if (key := _named_key(policy)) is None:
        return CertificateCheck(claim, None, "needs the recoding, --recoding FILE, or the secret of the run")
    otherwise = "its bytes differ from those certified, or the secret is another"
    return CertificateCheck.of(claim, expected == keyed(digest, key), otherwise)


def _named_key(policy: Policy) -> bytes | None:
    """The key of a certificate, where the secret that its policy names is here."""
    try:
        return secret_of(policy).certificate_key if policy.secret else None
    except PolicyError:
        return None


def _check_file(claim: str, expected: str | None, path: Path | None) -> CertificateCheck:
    """Whether a file that may be elsewhere is the one that was certified."""
    digest = sha256_of(path) if path is not None and path.exists() else None
    return check_hash(claim, expected, digest, without="its file is not here")
