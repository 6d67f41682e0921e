"""DICOM images made by pydicom itself, full of things that must not be published."""

from __future__ import annotations

from hashlib import sha256

import pytest

pydicom = pytest.importorskip("pydicom", reason="the extra dicom is not installed")
from pydicom.dataset import Dataset, FileMetaDataset  # noqa: E402
from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, generate_uid  # noqa: E402

SECRETS = ("Doe^Jane", "Mercy", "Dr^Who", "call her sister", "Room 12", "SN-4711", "overlay", "hidden in a sequence")
BODY = ("CHEST", "HEAD", "KNEE")


def uid(*parts):
    return generate_uid(entropy_srcs=[str(p) for p in parts])


def an_image(patient, number, *, age="034Y", sex="F", part="CHEST", burned=False):
    """Image `number` of a patient; two images are one series, every patient one study."""
    image = Dataset()
    image.SpecificCharacterSet = "ISO_IR 192"
    image.SOPClassUID = CTImageStorage
    image.SOPInstanceUID = uid(patient, number)
    image.StudyInstanceUID = uid(patient)
    image.SeriesInstanceUID = uid(patient, "series", number // 2)
    image.FrameOfReferenceUID = uid(patient, "frame")
    image.PatientName = f"Doe^Jane{patient}"
    image.PatientID = f"PAT-{patient:04d}"
    image.PatientBirthDate = "19870312"
    image.PatientSex = sex
    image.PatientAge = age
    image.PatientWeight = 60 + patient % 7
    image.StudyDate = "20240105"
    image.StudyTime = "101500"
    image.AccessionNumber = f"ACC{patient}"
    image.InstitutionName = "Mercy Hospital"
    image.ReferringPhysicianName = "Dr^Who"
    image.StudyDescription = "call her sister"
    image.DeviceSerialNumber = "SN-4711"
    image.ImageComments = "Room 12"
    image.Modality = "CT"
    image.BodyPartExamined = part
    image.ImageType = ["ORIGINAL", "PRIMARY", "AXIAL"]
    image.InstanceNumber = number
    image.SliceThickness = 2.5
    image.PixelSpacing = [0.5, 0.5]
    image.ImagePositionPatient = [0, 0, number]
    if burned:
        image.BurnedInAnnotation = "YES"
    item = Dataset()
    item.ReferencedSOPInstanceUID = uid(patient, "other")
    item.TextValue = "hidden in a sequence"
    image.ReferencedImageSequence = [item]
    block = image.private_block(0x0011, "MAKER", create=True)
    block.add_new(0x01, "LO", "Doe^Jane again")
    image.add_new(0x60003000, "OW", b"overlay!")
    image.SamplesPerPixel, image.PhotometricInterpretation = 1, "MONOCHROME2"
    image.Rows = image.Columns = 4
    image.BitsAllocated, image.BitsStored, image.HighBit, image.PixelRepresentation = 16, 12, 11, 0
    image.PixelData = sha256(f"{patient}/{number}".encode()).digest()
    return image


def save(image, path):
    image.file_meta = FileMetaDataset()
    image.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    path.parent.mkdir(parents=True, exist_ok=True)
    image.preamble = b"Doe^Jane".ljust(128, b"\0")
    image.save_as(path, enforce_file_format=True)
    return path


def a_folder(folder, n_patients=40, n_each=2):
    """Images of many patients, a file that is no image and a document."""
    for patient in range(n_patients):
        for number in range(n_each):
            image = an_image(
                patient, number, age=f"{20 + patient:03d}Y", sex="FM"[patient % 2], part=BODY[patient % 3],
                burned=patient == 0,
            )  # fmt: skip
            save(image, folder / f"Doe_Jane_{patient}" / f"{number}.dcm")
    (folder / "readme.txt").write_text("not an image")
    return folder
