"""DICOM images as a table, and back."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest

from dicom_images import BODY, SECRETS, a_folder, an_image, save, uid
from tablecloak.data.table import Role
from tablecloak.dicom import IMAGE, export_images, image_profile, read_images
from tablecloak.dicom.export import fitting
from tablecloak.dicom.tags import EMPTIED, NEW_UIDS, TECHNICAL
from tablecloak.errors import DataError

pydicom = pytest.importorskip("pydicom", reason="the extra dicom is not installed")


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return read_images(a_folder(tmp_path_factory.mktemp("dicom"), n_patients=6))


def exported(images, release, target, **given):
    found = export_images(images, release, target, **given)
    return found, {path.name: pydicom.dcmread(path) for path in sorted(target.iterdir())}


def test_every_image_is_a_row_and_every_tag_a_column(images):
    frame = images.frame
    assert frame.height == 12
    assert images.n_others == 1
    assert frame[IMAGE].to_list() == [f"image-{n:06d}.dcm" for n in range(1, 13)]
    assert sorted(frame["PatientAge"].to_list()) == [20, 20, 21, 21, 22, 22, 23, 23, 24, 24, 25, 25]
    assert set(frame["StudyDate"]) == {date(2024, 1, 5)}
    assert set(frame["BodyPartExamined"]) == set(BODY)
    for path, age in zip(frame[IMAGE], frame["PatientAge"], strict=True):
        assert pydicom.dcmread(images.paths[path]).PatientAge == f"{age:03d}Y"
    # neither pixels, UIDs, private tags nor sequences
    assert not set(frame.columns) & {
        "PixelData",
        "Rows",
        "SOPInstanceUID",
        "StudyInstanceUID",
        "ReferencedImageSequence",
    }


def test_names_of_images_do_not_follow_those_of_files(images):
    order = [images.paths[name] for name in sorted(images.paths)]
    assert order != sorted(order)


def test_roles_of_tags(images):
    roles = {column.name: column.role for column in image_profile(images.frame).columns}
    assert roles["PatientID"] is Role.PERSON
    assert roles[IMAGE] is Role.KEEP
    assert roles["PatientAge"] is roles["PatientSex"] is roles["StudyDate"] is Role.QUASI
    assert roles["BodyPartExamined"] is Role.SENSITIVE
    assert roles["PatientName"] is roles["InstitutionName"] is roles["DeviceSerialNumber"] is Role.IDENTIFIER
    assert roles["StudyDescription"] is roles["ImageComments"] is roles["PatientBirthDate"] is Role.DROP


def test_what_is_not_published_is_gone(images, tmp_path):
    release = images.frame.select(IMAGE, PatientAge=pl.lit("[20, 29]"), PatientSex=pl.col("PatientSex"))
    found, written = exported(images, release, tmp_path / "out")
    assert (found.n_images, found.n_left_out, found.n_burned_in) == (12, 0, 2)
    assert any("burned into them" in warning for warning in found.warnings)
    allowed = TECHNICAL | NEW_UIDS | set(EMPTIED) | {
        "SpecificCharacterSet", "ImageComments", "PatientIdentityRemoved", "DeidentificationMethod",
        "LongitudinalTemporalInformationModified",
    }  # fmt: skip
    for name, image in written.items():
        assert {element.keyword for element in image} <= allowed
        original = pydicom.dcmread(images.paths[name])
        assert image.PatientSex == original.PatientSex
        assert "PatientAge" not in image
        assert image.ImageComments == "PatientAge: [20, 29]"
        assert image.PatientName == image.PatientID == image.StudyDate == image.AccessionNumber == ""
        assert image.PixelData == original.PixelData
        assert image.PixelSpacing == original.PixelSpacing
        assert image.PatientIdentityRemoved == "YES"
        assert image.preamble == b"\0" * 128
    everything = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert not [secret for secret in SECRETS if secret.encode() in everything]
    assert not [p for p in range(6) if uid(p).encode() in everything or f"PAT-{p:04d}".encode() in everything]


def test_uids_change_and_still_fit_together(images, tmp_path):
    release = images.frame.select(IMAGE)
    _, first = exported(images, release, tmp_path / "first")
    _, second = exported(images, release, tmp_path / "second")
    _, third = exported(images, release, tmp_path / "third", key=b"a key")
    _, fourth = exported(images, release, tmp_path / "fourth", key=b"a key")
    for tag in ("StudyInstanceUID", "SeriesInstanceUID", "SOPInstanceUID"):
        before = {name: str(pydicom.dcmread(path)[tag].value) for name, path in images.paths.items()}
        after = {name: str(image[tag].value) for name, image in first.items()}
        assert all(len(new) <= 64 and new.startswith("2.25.") for new in after.values())
        pairs = {(before[name], after[name]) for name in after}
        assert len(pairs) == len({old for old, _ in pairs}) == len({new for _, new in pairs})
        assert not set(after.values()) & set(before.values())
        assert not set(after.values()) & {str(image[tag].value) for image in second.values()}
        assert [str(i[tag].value) for i in third.values()] == [str(i[tag].value) for i in fourth.values()]
    for image in first.values():
        assert image.file_meta.MediaStorageSOPInstanceUID == image.SOPInstanceUID


def test_published_values_stand_in_their_tags(images, tmp_path):
    release = images.frame.select(
        IMAGE, "Modality", PatientAge=pl.col("PatientAge"), StudyDate=pl.lit("2024"), PatientWeight=pl.lit(60.5),
        PatientSex=pl.lit("*"), EthnicGroup=pl.lit(None, pl.String), other=pl.lit("no tag"),
    )  # fmt: skip
    found, written = exported(images, release, tmp_path / "out")
    assert found.tags == ("Modality", "PatientAge", "StudyDate", "PatientWeight", "PatientSex", "EthnicGroup")
    for name, image in written.items():
        assert image.PatientAge == pydicom.dcmread(images.paths[name]).PatientAge
        assert (image.Modality, image.PatientWeight, image.PatientSex, image.StudyDate) == ("CT", 60.5, "", "")
        assert image.ImageComments == "StudyDate: 2024"
        assert "EthnicGroup" not in image


def test_images_of_rows_that_were_left_out_are_left_out(images, tmp_path):
    found, written = exported(images, images.frame.select(IMAGE).head(5), tmp_path / "out")
    assert (found.n_images, found.n_left_out) == (5, 7)
    assert list(written) == images.frame[IMAGE].head(5).to_list()


@pytest.mark.parametrize(
    ("release", "words"),
    [
        (pl.DataFrame({"PatientSex": ["F"]}), "no column 'image'"),
        (pl.DataFrame({IMAGE: ["image-000001.dcm", "image-000001.dcm"]}), "not those of these images"),
        (pl.DataFrame({IMAGE: ["../../etc/passwd"]}), "not those of these images"),
    ],
)
def test_releases_of_something_else_are_refused(images, tmp_path, release, words):
    with pytest.raises(DataError, match=words):
        export_images(images, release, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_images_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    document = an_image(1, 1)
    del document.Rows
    save(document, tmp_path / "document.dcm")
    with pytest.raises(DataError, match="no DICOM image"):
        read_images(tmp_path)


@pytest.mark.parametrize(
    ("kind", "label", "expected"),
    [
        ("CS", "F", "F"),
        ("CS", "{F, M}", None),
        ("AS", "34", "034Y"),
        ("AS", "[30, 39]", None),
        ("DA", "2024-01-05", "20240105"),
        ("DA", "2024-01", None),
        ("DA", "2024-13-05", None),
        ("DS", "60.5", "60.5"),
        ("DS", "[60, 70]", None),
        ("IS", "7", "7"),
        ("IS", "7.5", None),
        ("LO", "Europe", "Europe"),
        ("LO", "a\\b", None),
        ("LO", "x" * 65, None),
        ("SH", "x" * 17, None),
        ("UI", "1.2.3", None),
        ("LO", "*", None),
    ],
)
def test_labels_that_fit_a_value_representation(kind, label, expected):
    assert fitting(kind, label) == expected


def test_a_file_that_cannot_be_read_is_an_error_not_another_kind_of_file(tmp_path, monkeypatch):
    folder = a_folder(tmp_path / "in", n_patients=2)

    def broken(path, **_):
        raise OSError(5, "Input/output error", str(path))

    monkeypatch.setattr(pydicom, "dcmread", broken)
    with pytest.raises(DataError, match="cannot be read") as caught:
        read_images(folder)
    assert str(folder) not in str(caught.value)
