"""Metadata of DICOM images as a table: one row per image, one column per tag."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from tablecloak.dicom.tags import NEW_UIDS, TECHNICAL
from tablecloak.errors import DataError
from tablecloak.io.extras import require_package
from tablecloak.progress import Progress, silent

IMAGE = "image"  # the column that names the image of a row
SHOWN = ("Modality",)  # technical tags that people ask for
HIDDEN = ("SpecificCharacterSet",)  # says how text is written, and nothing about anybody
TEXTS = ("AE", "CS", "LO", "LT", "PN", "SH", "ST", "TM", "UC", "UR", "UT", "DT")
NUMBERS = ("DS", "FD", "FL", "IS", "SL", "SS", "SV", "UL", "US", "UV")
YEARS = {"Y": 1.0, "M": 1 / 12, "W": 7 / 365.25, "D": 1 / 365.25}


@dataclass(frozen=True, slots=True)
class Images:
    """A folder of images: their metadata, and where each of them is."""

    frame: pl.DataFrame
    paths: dict[str, Path]  # by the name that the column `image` has for it
    n_others: int  # files of the folder that are no images


def pydicom() -> Any:
    """The package that reads and writes DICOM."""
    return require_package("pydicom", extra="dicom", purpose="reading DICOM images")


def image_name(number: int) -> str:
    """What an image is called from now on: its own name may be that of a person."""
    return f"image-{number:06d}.dcm"


def read_images(folder: Path, *, progress: Progress = silent) -> Images:
    """The metadata of every image below a folder; other files are counted.

    Names of images are numbers in an order that has nothing to do with their own names or dates.
    Raises: DataError if there is none, or if a file cannot be read at all.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    progress.start("read", len(files))
    images: dict[str, tuple[Path, dict[str, Any]]] = {}
    for done, path in enumerate(files):
        read = _read(path)
        if read is not None:
            images[sha256(f"{read[0]}\0{path.relative_to(folder)}".encode()).hexdigest()] = (path, read[1])
        progress.advance(done + 1)
    progress.finish(f"{len(images):,} images")
    if not images:
        raise DataError("there is no DICOM image in it", hint="a folder or zip of .dcm files; tables come as they are")
    ordered = [images[key] for key in sorted(images)]
    names = [image_name(number) for number in range(1, len(ordered) + 1)]
    paths = {name: path for name, (path, _) in zip(names, ordered, strict=True)}
    return Images(_frame(names, [cells for _, cells in ordered]), paths, len(files) - len(images))


def _read(path: Path) -> tuple[str, dict[str, Any]] | None:
    """The UID and the cells of an image; None for anything else, such as a directory of images or a document."""
    dicom = pydicom()
    try:
        dataset = dicom.dcmread(path, stop_before_pixels=True)
    except (dicom.errors.InvalidDicomError, EOFError, ValueError, NotImplementedError):
        return None  # no DICOM at all, or cut off: counted among the other files
    except OSError as exc:
        raise DataError(
            "a file of the images cannot be read", hint="look at the disk and at who may read the folder"
        ) from exc
    if "SOPInstanceUID" not in dataset or "Rows" not in dataset:
        return None
    return str(dataset.SOPInstanceUID), dict(_cells(dataset))


def _cells(dataset: Any) -> Iterator[tuple[str, Any]]:
    """Public tags at the top that hold text, numbers or dates, without what only describes pixels."""
    for element in dataset:
        name = element.keyword
        is_technical = name in NEW_UIDS or name in HIDDEN or (name in TECHNICAL and name not in SHOWN)
        if not name or element.tag.is_private or is_technical:
            continue
        if element.VR in (*TEXTS, *NUMBERS, "DA", "AS"):
            yield name, _value(element.VR, element.value)


def _value(kind: str, value: Any) -> Any:
    if value is None or value == "":
        return None
    if _is_many(value):
        return "\\".join(str(part) for part in value) or None
    if kind == "DA":
        return _date(str(value))
    if kind == "AS":
        return _years(str(value))
    if kind in NUMBERS:
        return float(value) if kind in ("DS", "FD", "FL") else int(value)
    return str(value)


def _is_many(value: Any) -> bool:
    return not isinstance(value, str | bytes) and hasattr(value, "__iter__") and not hasattr(value, "family_name")


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text.replace(".", "-") if "." in text else f"{text[:4]}-{text[4:6]}-{text[6:8]}")
    except ValueError:
        return None


def _years(text: str) -> int | None:
    """Whole years of an age such as 034Y or 009M."""
    number, unit = text[:-1], text[-1:].upper()
    return int(int(number) * YEARS[unit]) if number.isdecimal() and unit in YEARS else None


def _frame(names: list[str], rows: list[dict[str, Any]]) -> pl.DataFrame:
    columns = sorted({name for row in rows for name in row})
    series = [pl.Series(IMAGE, names)]
    for name in columns:
        cells = [row.get(name) for row in rows]
        is_mixed = len({type(cell) for cell in cells if cell is not None}) > 1
        series.append(pl.Series(name, [None if c is None else str(c) for c in cells] if is_mixed else cells))
    return pl.DataFrame([s.cast(pl.String) if s.dtype == pl.Null else s for s in series])
