"""DICOM images through the web app: a zip or a folder comes in, images with published values go out."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from dicom_images import SECRETS, a_folder
from tablecloak.errors import EngineError
from tablecloak.progress import silent
from tablecloak.server.steps.home.task import ImagesToCopy, copy_images

pytestmark = pytest.mark.slow
pydicom = pytest.importorskip("pydicom", reason="the extra dicom is not installed")


def zipped(folder):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, f"../../{path.relative_to(folder)}")
    return held.getvalue()


def test_images_come_in_as_a_zip_and_go_out_with_published_values(app, pages, tmp_path):
    content = zipped(a_folder(tmp_path / "in", n_patients=30))
    file = {"file": ("scans <b>.zip", content, "application/zip")}
    page = pages.send(pages.get("/"), "/open/upload", files=file)
    assert page.status_code == 200, page.text
    assert "60 records" in page.text
    here = re.search(r"/projects/[0-9a-f]+", str(page.url))[0]
    roles = pages.get(f"{here}/roles")
    assert "PS3.15 removes it" in roles.text
    assert "unique on PatientAge, PatientSex, PatientWeight, StudyDate" in pages.get(f"{here}/exposure").text
    pages.send(pages.get(f"{here}/run"), f"{here}/run", action="start")
    run = app.state.server.store.runs(here.rpartition("/")[2])[0]
    assert pages.wait(run.id)["status"] == "done"
    export = pages.get(f"{here}/export")
    assert "Pixels are as they were." in export.text
    saved = pages.get(f"{here}/runs/{run.id}/images")
    assert saved.status_code == 200
    with zipfile.ZipFile(io.BytesIO(saved.content)) as archive:
        assert archive.namelist() == [f"image-{n:06d}.dcm" for n in range(1, 61)]
        images = [pydicom.dcmread(io.BytesIO(archive.read(name))) for name in archive.namelist()]
    assert {str(image.PatientName) for image in images} == {""}
    assert not [secret for secret in SECRETS if secret.encode() in saved.content]
    names = {path.name for path in app.state.server.files.run(run.project, run.id).iterdir()}
    assert not [name for name in names if "partial" in name]


def test_a_folder_of_images_can_be_opened_and_tables_have_no_images(app, api, folder, tmp_path):
    a_folder(tmp_path / "scans", n_patients=10)
    (folder / "scans").symlink_to(tmp_path / "scans")
    assert api.post("/api/v1/datasets/open", json={"source": "scans"}).status_code == 422  # it leads elsewhere
    (folder / "scans").unlink()
    (tmp_path / "scans").rename(folder / "images-of-somebody")
    try:
        made = api.post("/api/v1/datasets/open", json={"source": "images-of-somebody"})
    finally:
        (folder / "images-of-somebody").rename(tmp_path / "scans")
    assert made.status_code == 201, made.text
    profile = api.get(f"/api/v1/datasets/{made.json()['id']}/profile").json()
    assert profile["rows"] == 20
    roles = {column["name"]: column["role"] for column in profile["columns"]}
    assert (roles["PatientID"], roles["PatientName"]) == ("person", "identifier")


def deflated(kind):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", "a" * (3_000_000 if kind == "bomb" else 10))
    content = bytearray(held.getvalue())
    if kind == "flipped":  # the packed bytes begin after a header of 30 bytes and the name
        content[35] ^= 0xFF
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PK\x03\x04 nonsense", "damaged or locked"),
        (b"not a zip at all", "damaged or locked"),
        ("empty", "no DICOM image"),
        ("bomb", "more than is allowed"),
        ("flipped", "damaged or locked"),
    ],
)
def test_bad_archives_are_refused_and_leave_nothing(app, api, folder, monkeypatch, content, words):
    if isinstance(content, str):
        content = deflated(content)
    settings = replace(app.state.server.settings, expanded_limit_bytes=1_000_000)
    monkeypatch.setattr(app.state.server, "settings", settings)
    refused = api.post("/api/v1/datasets", files={"file": ("scans.zip", content)})
    assert refused.status_code == 422
    assert words in refused.json()["message"]
    assert not any((folder / "server/datasets").iterdir())


def test_a_full_disk_is_no_damaged_zip(tmp_path, monkeypatch):
    source = tmp_path / "scans.zip"
    source.write_bytes(deflated("whole"))
    make_open = Path.open

    def full(path, mode="r", **given):
        if mode == "xb":
            return make_open(Path("/dev/full"), "wb", buffering=0)
        return make_open(path, mode, **given)

    monkeypatch.setattr(Path, "open", full)
    request = ImagesToCopy(source, tmp_path / "images.parquet", limit_bytes=1000)
    with pytest.raises(EngineError, match="No space left"):
        copy_images(request, silent)
