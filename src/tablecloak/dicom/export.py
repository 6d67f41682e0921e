"""Images that carry what was published of their metadata, and nothing else of it."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from tablecloak.dicom.image_table import IMAGE, Images, pydicom
from tablecloak.dicom.tags import EMPTIED, NEW_UIDS, TECHNICAL
from tablecloak.errors import DataError
from tablecloak.io.atomic import Outputs, writing
from tablecloak.progress import Progress, silent
from tablecloak.values.cell_grammar import format_value

METHOD = "tablecloak: allow-list after DICOM PS3.15 Annex E"
ADDED = ("SpecificCharacterSet", "ImageComments", "PatientIdentityRemoved", "DeidentificationMethod",
         "LongitudinalTemporalInformationModified")  # fmt: skip
PIXELS = "pixel data are as they were: text that is burned into them, and faces, were not looked for"


@dataclass(frozen=True, slots=True)
class Exported:
    """What became of a folder of images."""

    n_images: int
    n_left_out: int  # images whose rows were not published
    n_burned_in: int  # images that say of themselves that text is burned into them
    tags: tuple[str, ...]  # published with values of the release

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever hands them over has to know."""
        burned_in = f"{self.n_burned_in:,} images say that text is burned into them: look at every one"
        return (PIXELS, *((burned_in,) if self.n_burned_in else ()))

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak dicom export --json`."""
        return {"images": self.n_images, "left_out": self.n_left_out, "burned_in": self.n_burned_in,
                "tags": list(self.tags), "warnings": list(self.warnings)}  # fmt: skip


def export_images(
    images: Images,
    release: pl.DataFrame,
    target: Path,
    *,
    key: bytes | None = None,
    reads: Sequence[Path] = (),
    force: bool = False,
    progress: Progress = silent,
) -> Exported:
    """Write the images of the published rows to a folder, which appears complete or not at all.

    Guarantee: an image keeps technical tags (`imaging.tags`), gets the values of its row, and loses everything else:
    names, dates, descriptions, private tags, sequences, overlays. UIDs become others, the same for the same.
    Every file is read again before the folder gets its name.

    Args:
        reads: files besides the images that must not be written over.
        key: of the new UIDs, for exports whose UIDs must agree; by default a new one that is thrown away.

    Raises: DataError if a row names no image.
    """
    _refuse_strangers(images, release)
    tags = _tags(release)
    new_uid = _renaming(key or secrets.token_bytes(32))
    n_burned_in = 0
    with Outputs(reads=[*images.paths.values(), *reads], force=force) as outputs:
        folder = outputs.add_folder(target, is_ours=is_image, is_private=True)
        progress.start("write images", release.height)
        for done, row in enumerate(release.iter_rows(named=True)):
            original = pydicom().dcmread(images.paths[row[IMAGE]])
            n_burned_in += str(original.get("BurnedInAnnotation", "")).upper() == "YES"
            _write(_cleaned(original, {tag: row[tag] for tag in tags}, new_uid), folder / row[IMAGE])
            progress.advance(done + 1)
        progress.finish(f"{release.height:,} images")
    return Exported(release.height, len(images.paths) - release.height, n_burned_in, tags)


def is_image(file: Path) -> bool:
    """Whether a file is a DICOM image, by the four letters behind its preamble."""
    with file.open("rb") as opened:
        return opened.read(132)[128:] == b"DICM"


def _refuse_strangers(images: Images, release: pl.DataFrame) -> None:
    if IMAGE not in release.columns:
        raise DataError(f"the release has no column '{IMAGE}'", hint=f"give {IMAGE} the role keep")
    names = release[IMAGE].to_list()
    if len(set(names)) != len(names) or not set(names) <= set(images.paths):
        raise DataError("the rows of the release are not those of these images", hint="choose the folder they are from")


def _tags(release: pl.DataFrame) -> tuple[str, ...]:
    """Columns of the release that are tags."""
    tag_of = pydicom().datadict.tag_for_keyword
    return tuple(name for name in release.columns if tag_of(name) is not None and name not in NEW_UIDS)


def _renaming(key: bytes) -> Callable[[str], str]:
    """A new UID for every old one; whoever has no key cannot tell which it was."""

    def renamed(uid: str) -> str:
        digest = hmac.new(key, uid.encode(), sha256).digest()
        return f"2.25.{int.from_bytes(digest[:16], 'big')}"

    return renamed


def _cleaned(original: Any, published: Mapping[str, Any], new_uid: Callable[[str], str]) -> Any:
    """A new image from what may stay of an old one and the values of its row."""
    dicom = pydicom()
    new = dicom.Dataset()
    for name in TECHNICAL:
        if name in original:
            new.add(original[name])
    for name in NEW_UIDS:
        if original.get(name):
            setattr(new, name, new_uid(str(original[name].value)))
    for name in EMPTIED:
        setattr(new, name, "")
    _publish(new, published)
    new.SpecificCharacterSet = "ISO_IR 192"
    new.PatientIdentityRemoved = "YES"
    new.DeidentificationMethod = METHOD
    has_dates = any(element.VR == "DA" and element.value for element in new)
    new.LongitudinalTemporalInformationModified = "MODIFIED" if has_dates else "REMOVED"
    new.file_meta = dicom.dataset.FileMetaDataset()
    new.file_meta.TransferSyntaxUID = original.file_meta.TransferSyntaxUID
    return new


def _publish(new: Any, published: Mapping[str, Any]) -> None:
    """Put the values of a row where they fit; what fits no tag is said in words, as `PatientAge: [30, 39]`."""
    comments = []
    for name, cell in published.items():
        label = format_value(cell)
        kind = pydicom().datadict.dictionary_VR(name)
        value = "" if label is None else fitting(kind, label)
        if value or name in EMPTIED:
            setattr(new, name, value or "")
        elif name in new:
            delattr(new, name)
        if value is None and label not in (None, "*"):
            comments.append(f"{name}: {label}")
    if comments:
        new.ImageComments = "\n".join(comments)[:10_240]


_plain = re.compile(r"[^\x00-\x1f\\]*").fullmatch
_LENGTHS = {"SH": 16, "LO": 64, "PN": 64, "ST": 1024, "LT": 10_240, "UC": 10_240, "UT": 10_240}


def fitting(kind: str, label: str) -> str | None:
    """A published label as a value representation takes it; None if it does not."""
    if label == "*":
        return None
    if kind == "CS":
        return label if re.fullmatch(r"[A-Z0-9 _]{1,16}", label) else None
    if kind == "DA":
        return _as_date(label)
    if kind == "AS":
        return f"{int(label):03d}Y" if re.fullmatch(r"\d{1,3}", label) else None
    if kind in ("DS", "IS"):
        pattern = r"-?\d{1,11}" if kind == "IS" else r"(?=.{1,16}$)-?\d+(\.\d+)?(e-?\d+)?"
        return label if re.fullmatch(pattern, label, re.I) else None
    longest = _LENGTHS.get(kind)
    return label if longest is not None and len(label) <= longest and _plain(label) else None


def _as_date(label: str) -> str | None:
    try:
        return date.fromisoformat(label).strftime("%Y%m%d") if len(label) == 10 else None
    except ValueError:
        return None


def _write(image: Any, path: Path) -> None:
    with writing(path):
        image.save_as(path, enforce_file_format=True)
    path.chmod(0o600)
    _refuse_residue(path, image)


def _refuse_residue(path: Path, intended: Any) -> None:
    """Read an image back: it has the tags that were meant, and no others."""
    written = pydicom().dcmread(path)
    names = {element.keyword for element in written}
    if any(element.tag.is_private for element in written) or names != {element.keyword for element in intended}:
        raise DataError("an image that was written has tags that were not meant to be there", location=str(path))
    if written.get("PixelData") != intended.get("PixelData"):
        raise DataError("the pixels of an image changed while it was written", location=str(path))
