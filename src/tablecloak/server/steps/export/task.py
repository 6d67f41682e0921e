"""A finished release: recounted, in another format, as images."""

from __future__ import annotations

import secrets
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tablecloak import pipeline
from tablecloak.dicom import export_images, read_images
from tablecloak.errors import CloakError, DataError
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, write_frame
from tablecloak.progress import Progress
from tablecloak.server.tables import PolicyTable, nameless, release_source, whole_frame


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """A finished file, the policy whose goals must hold, and the original if there is one."""

    table: PolicyTable
    release: Path
    original: Path | None = None


@dataclass(frozen=True, slots=True)
class VerifyAnswer:
    """What a recount says."""

    document: Mapping[str, Any]  # as `tablecloak verify --json` prints it


def verify(request: VerifyRequest, progress: Progress) -> VerifyAnswer:
    """Recount a finished file against a policy, beside its original if there is one."""
    policy, original = request.table.read_policy(), request.original
    try:
        recount = pipeline.verify(request.release, policy, original=original, progress=progress)
    except CloakError as error:
        nameless(error, Source(request.release))
        raise (error if original is None else nameless(error, Source(original))) from None
    return VerifyAnswer(recount.to_dict())


@dataclass(frozen=True, slots=True)
class ConvertRequest:
    """A release and the file it becomes, by whose ending its format is known."""

    table: PolicyTable
    release: Path
    target: Path


def convert(request: ConvertRequest, progress: Progress) -> None:
    """The release in another format, recounted from the new file; only then it gets its name."""
    policy, target = request.table.read_policy(), request.target
    partial = target.with_name(f"partial-{secrets.token_hex(4)}{target.suffix}")
    try:
        release = whole_frame(release_source(policy, request.release))
        write_frame(release.with_columns(pl.col(pl.Categorical).cast(pl.String)), partial)
        if pipeline.verify(partial, policy, progress=progress).status == "fails":
            raise DataError(f"the release does not hold its goals as {target.suffix}", hint="choose another format")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class ImagesRequest:
    """The folder of the images, the release that says which of them are published and how, and the zip they become."""

    images: Path
    release: Path
    target: Path


def images_as_zip(request: ImagesRequest, progress: Progress) -> None:
    """The images of a release as a zip, which gets its name when it is whole."""
    target = request.target
    own = secrets.token_hex(4)  # another tab may make the same now
    folder, partial = target.with_suffix(f".{own}"), target.with_suffix(f".{own}.partial")
    try:
        release = read_frame(Source(request.release))
        export_images(read_images(request.images), release, folder, force=True, progress=progress)
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
            for path in sorted(folder.iterdir()):
                archive.write(path, path.name)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
