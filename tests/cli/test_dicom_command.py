"""`tablecloak dicom`: from a folder of images to one that can be handed over."""

from __future__ import annotations

import json

import polars as pl
import pytest

from dicom_images import SECRETS, a_folder
from tablecloak.cli.main import main

pydicom = pytest.importorskip("pydicom", reason="the extra dicom is not installed")


def test_from_a_folder_of_images_to_another(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    a_folder(tmp_path / "in", n_patients=12)
    assert main(["dicom", "table", "in", "-p", "policy.yaml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["images"] == 24
    assert main(["run", "policy.yaml", "--quiet"]) == 0
    monkeypatch.setenv("CLOAK_UIDS", "a key")
    assert main(["dicom", "export", "in", "out/images-release.parquet", "-o", "images", "--key", "env:CLOAK_UIDS"]) == 0
    said = capsys.readouterr().out
    assert "Wrote images: 24 images, 0 left out" in said
    assert "2 images say that text is burned into them" in said
    release = {row["image"]: row for row in pl.read_parquet("out/images-release.parquet").iter_rows(named=True)}
    for path in sorted((tmp_path / "images").iterdir()):
        image = pydicom.dcmread(path)
        assert image.Modality == release[path.name]["Modality"]
        assert f"PatientAge: {release[path.name]['PatientAge']}" in image.ImageComments
    everything = b"".join(path.read_bytes() for path in (tmp_path / "images").iterdir())
    assert not [secret for secret in SECRETS if secret.encode() in everything]
    assert main(["dicom", "export", "in", "out/images-release.parquet", "-o", "images"]) == 2  # it exists
    (tmp_path / "empty").mkdir()
    assert main(["dicom", "table", "empty", "-o", "other.parquet"]) == 5
    assert not (tmp_path / "other.parquet").exists()


def test_files_that_are_passed_by_are_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    a_folder(tmp_path / "in", n_patients=3)  # and a text
    whole = next(path for path in sorted((tmp_path / "in").rglob("*")) if path.is_file())
    whole.with_name("damaged.dcm").write_bytes(whole.read_bytes()[:140])
    assert main(["dicom", "table", "in", "-o", "images.parquet"]) == 0
    assert "2 files were passed by" in capsys.readouterr().out
