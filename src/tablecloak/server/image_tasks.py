"""DICOM images: brought as a zip or a folder, read as a table, and taken along with what was published."""

from __future__ import annotations

import secrets
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from tablecloak.errors import DataError
from tablecloak.imaging import export_images, read_images
from tablecloak.io.atomic import writing
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, write_frame
from tablecloak.progress import Progress

__all__ = ["FOLDER", "TABLE", "export", "images", "is_image_table"]

Arguments = Mapping[str, Any]
FOLDER, TABLE = "images", "images.parquet"
CHUNK = 1 << 20
MOST_IMAGES = 200_000
TOO_MUCH = "the images are more than is allowed"
# What reading raises: a zip that is cut off, none at all, has a password or is packed in an unknown way (both are a
# RuntimeError); a file that may not be read.
DAMAGED = (OSError, EOFError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile)


def is_image_table(path: Path) -> bool:
    """Whether a table was made of images, which lie beside it."""
    return path.name == TABLE and (path.parent / FOLDER).is_dir()


def images(arguments: Arguments, progress: Progress) -> dict[str, Any]:
    """Copy images out of a zip or a folder, under numbers instead of names, and write the table of their metadata."""
    source, path = Path(arguments["source"]), Path(arguments["path"])
    folder = path.parent / FOLDER
    folder.mkdir(mode=0o700)
    is_zip = source.is_file()
    try:
        _copy(_unpacked(source) if is_zip else _found(source), folder, arguments["limit_bytes"])
    except DAMAGED:
        if is_zip:
            hint = "zip the folder of images again, without a password"
            raise DataError("the zip is damaged or locked", hint=hint) from None
        raise DataError("a file of the folder cannot be read", hint="look at who may read it") from None
    found = read_images(folder, progress=progress)
    write_frame(found.frame, path)
    return {"images": found.frame.height, "others": found.n_others}


def _unpacked(source: Path) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(source) as archive:
        for entry in archive.infolist():
            if not entry.is_dir():
                with archive.open(entry) as file:
                    yield file


def _found(source: Path) -> Iterator[IO[bytes]]:
    root = source.resolve()
    for path in sorted(source.rglob("*")):
        if path.is_file() and path.resolve().is_relative_to(root):  # a link may lead anywhere
            with path.open("rb") as file:
                yield file


def _copy(files: Iterator[IO[bytes]], folder: Path, limit: int) -> None:
    n_bytes = 0
    for number, file in enumerate(files):
        if number >= MOST_IMAGES:
            raise DataError(TOO_MUCH, hint=f"at most {MOST_IMAGES:,} files")
        place = folder / f"{number:06d}"
        with writing(place):  # a full disk is no damaged zip
            target = place.open("xb")
        with target:
            while chunk := file.read(CHUNK):
                n_bytes += len(chunk)
                if n_bytes > limit:
                    raise DataError(TOO_MUCH, hint="tablecloak serve --upload-limit")
                with writing(place):
                    target.write(chunk)
                    target.flush()


def export(arguments: Arguments, progress: Progress) -> dict[str, Any]:
    """The images of a release as a zip, which gets its name when it is whole."""
    target = Path(arguments["target"])
    own = secrets.token_hex(4)  # another tab may make the same now
    folder, partial = target.with_suffix(f".{own}"), target.with_suffix(f".{own}.partial")
    try:
        release = read_frame(Source(Path(arguments["release"])))
        found = export_images(read_images(Path(arguments["images"])), release, folder, force=True, progress=progress)
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
            for path in sorted(folder.iterdir()):
                archive.write(path, path.name)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
    return found.to_dict()
