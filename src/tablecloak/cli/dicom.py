"""`tablecloak dicom`: metadata of DICOM images as a table, and images with what was published of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.options import Force
from tablecloak.cli.output import emit, progress_for
from tablecloak.cli.settings import Settings, accepting_settings, uses

app = typer.Typer(no_args_is_help=True, help="Metadata of DICOM images as a table, and images with what was published.")

Folder = Annotated[
    Path, typer.Argument(help="Folder of images; those below it count, too.", exists=True, file_okay=False)
]


@app.command()
@accepting_settings
@uses("threads")
def table(
    folder: Folder,
    *,
    target: Annotated[Path, typer.Option("--output", "-o", help="Table to write, one row per image.")] = Path(
        "images.parquet"
    ),
    policy: Annotated[
        Path | None, typer.Option("--policy", "-p", help="Policy to write, with the roles of the tags.")
    ] = None,
    preset: Annotated[str, typer.Option("--preset", help="What the policy asks for.")] = "standard",
    force: Force = False,
    settings: Settings,
) -> None:
    """Write the metadata of every image as a row of a table, and perhaps a policy for it."""
    from tablecloak.dicom import image_profile, read_images
    from tablecloak.io.atomic import Outputs
    from tablecloak.io.tabular import write_frame
    from tablecloak.profile.starter import starter_policy, unused_output

    with progress_for(settings) as progress:
        images = read_images(folder, progress=progress)
    with Outputs(reads=images.paths.values(), force=force) as outputs:
        write_frame(images.frame, outputs.add(target))
        if policy is not None:
            source, output = os.path.relpath(target, policy.parent), unused_output(target, policy.parent)
            starter = starter_policy(image_profile(images.frame), source=source, output=output, preset=preset)
            outputs.add(policy).write_text(starter.text, encoding="utf-8")
    written = {"table": str(target), "policy": None if policy is None else str(policy), "images": images.frame.height,
               "tags": images.frame.width - 1, "others": images.n_others}  # fmt: skip
    lines = [f"Wrote {target}: {written['images']:,} images, {written['tags']:,} tags"]
    if images.n_others:
        lines.append(f"Note: {images.n_others:,} files were passed by: they are no images, or damaged")
    emit(settings, written, [*lines, *([f"Wrote {policy}: read every role before you trust it"] if policy else [])])


@app.command()
@accepting_settings
@uses("threads")
def export(
    folder: Folder,
    release: Annotated[Path, typer.Argument(help="The release of their table.")],
    *,
    target: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the images to.")],
    key: Annotated[
        str | None,
        typer.Option("--key", help="Where the key of new UIDs is, env:NAME or file:PATH; thrown away by default."),
    ] = None,
    force: Force = False,
    settings: Settings,
) -> None:
    """Write the images of the published rows, with the published values and without everything else."""
    from tablecloak.dicom import export_images, read_images
    from tablecloak.io.places import read_secret
    from tablecloak.io.sources import Source
    from tablecloak.io.tabular import read_frame

    secret = None if key is None else read_secret(key, Path()).encode()
    reads = [release, *([Path(key[5:]).expanduser()] if key and key.startswith("file:") else [])]
    with progress_for(settings) as progress:
        images = read_images(folder, progress=progress)
        exported = export_images(
            images, read_frame(Source(release)), target, key=secret, reads=reads, force=force, progress=progress
        )
    lines = [f"Wrote {target}: {exported.n_images:,} images, {exported.n_left_out:,} left out"]
    emit(settings, exported.to_dict(), [*lines, *(f"Note: {warning}" for warning in exported.warnings)])
