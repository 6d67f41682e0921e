"""Files of a run, other formats, its policy and a script that repeats it; the recount of a table somebody brings."""

from __future__ import annotations

import contextlib
import json
import secrets
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from tablecloak.errors import PolicyError
from tablecloak.io.formats import writable_formats
from tablecloak.policy.load import parse_policy
from tablecloak.release.certificate import read_certificate
from tablecloak.server.state import ServerState
from tablecloak.server.steps.export import task as export_task
from tablecloak.server.steps.export.task import ConvertRequest, ImagesRequest, VerifyAnswer, VerifyRequest
from tablecloak.server.steps.home import service as home_service
from tablecloak.server.steps.home import task as home_task
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.steps.run import service as run_service
from tablecloak.server.store import Run, Unknown, new_id
from tablecloak.server.tables import PolicyTable

WHAT = {
    "release": "the table to hand over",
    "side": "the sensitive columns, in a table of their own",
    "report": "one page for everybody who may see the release; it needs nothing else",
    "certificate": "what holds, by what recount, for exactly which bytes",
    "recoding": "publishes new rows in the same way later",
}
# What a ledger says of a release: enough to tell which files it was, and what was promised.
ENTRY = ("created", "rows", "suppressed", "classes", "goals", "verdicts", "algorithm", "sha256")
TEXTS = ("policy", "script", "ledger")
WRITERS = {"xlsx": "xlsxwriter", "sav": "pyreadstat", "dta": "pyreadstat"}  # packages that some formats need


@dataclass(frozen=True, slots=True)
class ReleaseFile:
    """A file that a run wrote."""

    document: str
    path: Path
    what: str

    @property
    def n_bytes(self) -> int:
        return self.path.stat().st_size


def files_of(state: ServerState, run: Run) -> list[ReleaseFile]:
    """The files that a run wrote."""
    files = []
    for document, what in WHAT.items():
        with contextlib.suppress(Unknown):
            files.append(ReleaseFile(document, run_service.file_of(state, run, document), what))
    return files


def formats_of(state: ServerState, run: Run) -> list[str]:
    """Formats that the release can be had in besides its own."""
    own = run_service.file_of(state, run, "release").suffix.lstrip(".")
    is_apart = run.result.get("side_output") is not None
    text = ("csv", "tsv") if run.result.get("itemsets") else ()  # a file of sets has no header, those have
    missing = [kind for kind, package in WRITERS.items() if not find_spec(package)]
    return [] if is_apart else [f for f in writable_formats() if f not in (own, *text, *missing)]


def path_of(state: ServerState, run: Run, document: str) -> Path:
    """A file to save; `release.parquet` is the release in that format."""
    name, _, extension = document.partition(".")
    if document == "bundle":
        return bundle(state, run)
    if document == "images":
        return images(state, run)
    if name == "release" and extension:
        if extension not in formats_of(state, run):
            raise Unknown
        return converted(state, run, extension)
    return run_service.file_of(state, run, document)


def has_images(state: ServerState, run: Run) -> bool:
    """Whether the rows of a run are images."""
    return home_task.is_image_table(_table(state, run))


def _table(state: ServerState, run: Run) -> Path:
    dataset = state.store.dataset(state.store.project(run.project).dataset)
    return state.files.dataset(dataset.id) / dataset.file


def images(state: ServerState, run: Run) -> Path:
    """The images of the published rows with the published values, made when first asked for."""
    if not has_images(state, run):
        raise Unknown
    release = run_service.file_of(state, run, "release")
    target = release.with_name("images.zip")
    if not target.exists():
        folder = _table(state, run).parent / home_task.FOLDER
        state.fetch(export_task.images_as_zip, ImagesRequest(folder, release, target))
    return target


def text_of(state: ServerState, run: Run, document: str) -> tuple[str, str]:
    """The policy, the script or the ledger of a run, and the name to save it under."""
    if document == "ledger":
        return ledger(state, run), "releases.jsonl"
    return (run.policy, "policy.yaml") if document == "policy" else (script(state, run), "anonymize.py")


def ledger(state: ServerState, run: Run) -> str:
    """One line of JSON for each release of the same dataset that has a certificate, oldest first."""
    entries = []
    for made in [*earlier(state, run), run]:
        try:
            certificate = read_certificate(run_service.file_of(state, made, "certificate"))
        except Unknown:
            continue
        entries.append({key: certificate[key] for key in ENTRY})
    entries.sort(key=lambda entry: str(entry["created"]))
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)


def script(state: ServerState, run: Run) -> str:
    """Python that repeats a run, next to the policy and the data."""
    dataset = state.store.dataset(state.store.project(run.project).dataset)
    output = run.result["output"] or "release.csv"
    named = 'report=Path("again/report.html"), certificate=Path("again/certificate.json")'
    documents = f"policy = policy.with_documents({named})\n"
    return (
        '"""Repeats a release: keep policy.yaml and the data beside this file."""\n\n'
        "from pathlib import Path\n\n"
        "import tablecloak as tc\n\n"
        f'policy = tc.load_policy("policy.yaml").with_files(target=Path("again/{output}"))  # reads {dataset.file}\n'
        f"{documents if run.result.get('report') else ''}"
        "print(tc.run(policy, force=True))\n"
    )


def bundle(state: ServerState, run: Run) -> Path:
    """Everything of a run but the original, in one zip: release, documents, policy with its hierarchies, script."""
    target = state.files.run(run.project, run.id) / "everything.zip"
    if target.exists():
        return target
    partial = target.with_suffix(f".{secrets.token_hex(4)}.partial")  # another tab may make the same now
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files_of(state, run):
            archive.write(file.path, file.path.name)
        for document in ("policy", "script"):  # a ledger grows, the zip does not
            text, name = text_of(state, run, document)
            archive.writestr(name, text)
        base = state.files.project(run.project)
        for path in hierarchy_files(run.policy, base):  # where policy and certificate look for them
            archive.write(path, path.relative_to(base))
    return partial.replace(target)


def hierarchy_files(policy: str, base: Path) -> list[Path]:
    """The hierarchy files that a policy names."""
    read = parse_policy(policy, name="policy.yaml", base=base)
    chosen = [read.hierarchy_of(name) for name in read.columns]
    return sorted({path for path in chosen if isinstance(path, Path) and path.is_file()})


def earlier(state: ServerState, run: Run) -> list[Run]:
    """Other releases of the same dataset: whoever gets several may combine them."""
    dataset = state.store.project(run.project).dataset
    projects = [p for p in state.store.projects() if p.dataset == dataset]
    every = [r for p in projects for r in state.store.runs(p.id, "run")]
    return [r for r in every if r.status == "done" and r.id != run.id]


def converted(state: ServerState, run: Run, extension: str) -> Path:
    """The release in another format, made and recounted when first asked for."""
    release = run_service.file_of(state, run, "release")
    if release.suffix == f".{extension}":
        return release
    target = release.with_suffix(f".{extension}")
    if not target.exists():
        state.ask(export_task.convert, ConvertRequest(state.table_of(run), release, target))
    return target


def verify_upload(state: ServerState, tables: Sequence[tuple[BinaryIO, str]], policy: BinaryIO) -> VerifyAnswer:
    """Recount an uploaded table, beside its original if that follows; both are deleted again.

    Args:
        tables: files and their names.
    """
    try:
        text = policy.read(policy_service.LONGEST_POLICY).decode()
    except UnicodeDecodeError:
        raise PolicyError("the policy is not UTF-8 text") from None
    ids = [new_id() for _ in tables]
    settings = state.settings
    paths = []
    try:
        for id_, (file, name) in zip(ids, tables, strict=True):
            paths.append(state.files.receive(file, id_, name, limit=settings.upload_limit_bytes))
            home_service.check_file(state, paths[-1])
        base = paths[0].parent
        policy_service.refuse_outside(parse_policy(text, name="policy.yaml", base=base), base)
        return state.ask(export_task.verify, VerifyRequest(PolicyTable(text, base), *paths))
    finally:
        for id_ in ids:
            state.files.forget(state.files.dataset(id_))
