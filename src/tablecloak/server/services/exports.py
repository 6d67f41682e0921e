"""Exports: files of a run, other formats, the policy and a script that repeats it."""

from __future__ import annotations

import json
import secrets
import zipfile
from pathlib import Path
from typing import Any

from tablecloak.io.sources import WRITABLE
from tablecloak.policy.load import parse_policy
from tablecloak.report.certificate import read_certificate
from tablecloak.server import image_tasks
from tablecloak.server.services import runs
from tablecloak.server.services.workshop import Workshop
from tablecloak.server.store import Run, Unknown

__all__ = ["TEXTS", "earlier", "files_of", "formats_of", "has_images", "path_of", "script", "text_of"]

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


def files_of(workshop: Workshop, run: Run) -> list[dict[str, Any]]:
    """The files that a run wrote."""
    found = []
    for document, what in WHAT.items():
        try:
            path = runs.file_of(workshop, run, document)
        except Unknown:
            continue
        found.append({"document": document, "name": path.name, "what": what, "n_bytes": path.stat().st_size})
    return found


def formats_of(workshop: Workshop, run: Run) -> list[str]:
    """Formats that the release can be had in besides its own."""
    own = runs.file_of(workshop, run, "release").suffix.lstrip(".")
    is_apart = run.result.get("side_output") is not None
    text = ("csv", "tsv") if run.result.get("itemsets") else ()  # a file of sets has no header, those have
    return [] if is_apart else [f for f in WRITABLE if f not in (own, *text) and (f != "xlsx" or _has_excel())]


def _has_excel() -> bool:
    from importlib.util import find_spec

    return find_spec("xlsxwriter") is not None


def path_of(workshop: Workshop, run: Run, document: str) -> Path:
    """A file to save; `release.parquet` is the release in that format."""
    name, _, extension = document.partition(".")
    if document == "bundle":
        return bundle(workshop, run)
    if document == "images":
        return images(workshop, run)
    if name == "release" and extension:
        if extension not in formats_of(workshop, run):
            raise Unknown
        return runs.converted(workshop, run, extension)
    return runs.file_of(workshop, run, document)


def has_images(workshop: Workshop, run: Run) -> bool:
    """Whether the rows of a run are images."""
    return image_tasks.is_image_table(_table(workshop, run))


def _table(workshop: Workshop, run: Run) -> Path:
    dataset = workshop.store.dataset(workshop.store.project(run.project).dataset)
    return workshop.files.dataset(dataset.id) / dataset.file


def images(workshop: Workshop, run: Run) -> Path:
    """The images of the published rows with the published values, made when first asked for."""
    if not has_images(workshop, run):
        raise Unknown
    release = runs.file_of(workshop, run, "release")
    target = release.with_name("images.zip")
    if not target.exists():
        folder = _table(workshop, run).parent / image_tasks.FOLDER
        arguments = {"images": str(folder), "release": str(release), "target": str(target)}
        workshop.fetch("export-images", arguments)
    return target


def text_of(workshop: Workshop, run: Run, document: str) -> tuple[str, str]:
    """The policy, the script or the ledger of a run, and the name to save it under."""
    if document == "ledger":
        return ledger(workshop, run), "releases.jsonl"
    return (run.policy, "policy.yaml") if document == "policy" else (script(workshop, run), "anonymize.py")


def ledger(workshop: Workshop, run: Run) -> str:
    """One line of JSON for each release of the same dataset that has a certificate, oldest first."""
    entries = []
    for made in [*earlier(workshop, run), run]:
        try:
            certificate = read_certificate(runs.file_of(workshop, made, "certificate"))
        except Unknown:
            continue
        entries.append({key: certificate[key] for key in ENTRY})
    entries.sort(key=lambda entry: str(entry["created"]))
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)


def script(workshop: Workshop, run: Run) -> str:
    """Python that repeats a run, next to the policy and the data."""
    dataset = workshop.store.dataset(workshop.store.project(run.project).dataset)
    output = run.result["output"] or "release.csv"
    named = 'report=Path("out/report.html"), certificate=Path("out/certificate.json")'
    documents = f"policy = policy.with_documents({named})\n"
    return (
        '"""Repeats a release: keep policy.yaml and the data beside this file."""\n\n'
        "from pathlib import Path\n\n"
        "import tablecloak as tc\n\n"
        f'policy = tc.load_policy("policy.yaml").with_files(target=Path("out/{output}"))  # reads {dataset.file}\n'
        f"{documents if run.result.get('report') else ''}"
        "print(tc.run(policy, force=True))\n"
    )


def bundle(workshop: Workshop, run: Run) -> Path:
    """Everything of a run but the original, in one zip: release, documents, policy with its hierarchies, script."""
    target = workshop.files.run(run.project, run.id) / "everything.zip"
    if target.exists():
        return target
    partial = target.with_suffix(f".{secrets.token_hex(4)}.partial")  # another tab may make the same now
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        for found in files_of(workshop, run):
            archive.write(runs.file_of(workshop, run, found["document"]), f"out/{found['name']}")
        for document in ("policy", "script"):  # a ledger grows, the zip does not
            text, name = text_of(workshop, run, document)
            archive.writestr(name, text)
        base = workshop.files.project(run.project)
        for path in hierarchy_files(run.policy, base):
            archive.write(path, path.relative_to(base))
    return partial.replace(target)


def hierarchy_files(policy: str, base: Path) -> list[Path]:
    """The hierarchy files that a policy names."""
    read = parse_policy(policy, name="policy.yaml", base=base)
    chosen = [read.hierarchy_of(name) for name in read.columns]
    return sorted({path for path in chosen if isinstance(path, Path) and path.is_file()})


def earlier(workshop: Workshop, run: Run) -> list[Run]:
    """Other releases of the same dataset: whoever gets several may combine them."""
    dataset = workshop.store.project(run.project).dataset
    projects = [p for p in workshop.store.projects() if p.dataset == dataset]
    every = [r for p in projects for r in workshop.store.runs(p.id, "run")]
    return [r for r in every if r.status == "done" and r.id != run.id]
