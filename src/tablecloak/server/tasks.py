"""Tasks: what workers do with data. Plain values go in and come out; cells come out only where they are asked for."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tablecloak import pipeline
from tablecloak.baskets import has_sets
from tablecloak.data.table import Role
from tablecloak.engines.choose import bytes_in_memory
from tablecloak.errors import CloakError, DataError
from tablecloak.imaging import image_profile
from tablecloak.io.places import DatabaseTable
from tablecloak.io.sniff import HeaderUnclear, sniff
from tablecloak.io.sources import Layout, Source
from tablecloak.io.tabular import read_frame, write_frame
from tablecloak.plan import source_of
from tablecloak.policy.load import parse_policy
from tablecloak.policy.schema import Policy
from tablecloak.profile.column import column_of
from tablecloak.profile.profile import inspect_frame
from tablecloak.profile.starter import starter_policy
from tablecloak.profile.uniqueness import class_sizes, risk_of_sizes, singling_sets
from tablecloak.progress import Progress
from tablecloak.server import hierarchy_tasks, image_tasks, row_tasks, set_tasks
from tablecloak.server.bombs import refuse_bombs
from tablecloak.server.databases import read_database, read_server
from tablecloak.server.frames import looked_at, nameless
from tablecloak.server.large import is_large
from tablecloak.server.shapes import shape_of

__all__ = ["TASKS", "policy_of"]

Arguments = Mapping[str, Any]
Task = Callable[[Arguments, Progress], Any]
MOST_GROUPS = 400  # whose sizes are kept, for a picture
MOST_PAIRS = 45  # of columns whose tables are kept, for a picture
TABLE_KEYS = ("uri", "table", "query", "password")


def policy_of(arguments: Arguments) -> Policy:
    """The policy of a project, its files starting from the folder of the project."""
    return parse_policy(arguments["policy"], name="policy.yaml", base=Path(arguments["base"]))


def _source(arguments: Arguments) -> Source:
    if "policy" in arguments:
        return source_of(policy_of(arguments))
    given = {k: v for k, v in arguments.get("options", {}).items() if v not in (None, "")}
    return Source(Path(arguments["path"]), **given)


def _with_header(source: Source) -> Source:
    """A file whose first row may be a record is read as if it were one, until somebody says that it has the names."""
    try:
        sniff(source)
    except HeaderUnclear:
        return replace(source, header=False)
    return source


def check_file(arguments: Arguments, _progress: Progress) -> dict[str, Any]:
    """Refuse bombs and files that cannot be read at all."""
    path = Path(arguments["path"])
    refuse_bombs(path, limit_bytes=arguments["limit_bytes"], most_cells=arguments["most_cells"])
    try:
        layout = sniff(_with_header(Source(path)))
    except CloakError as error:
        try:
            layout = sniff(Source(path, format="sets"))
        except CloakError:
            raise nameless(error, Source(path)) from None
    return {"columns": list(layout.names)}


def profile(arguments: Arguments, _progress: Progress) -> dict[str, Any]:
    """What a table looks like, and a policy to start from."""
    source = _source(arguments)
    try:
        source = _with_header(source)
        layout = sniff(source)
        frame, n_rows = looked_at(source, arguments)
        found = image_profile(frame) if image_tasks.is_image_table(source.path) else inspect_frame(frame)
        suggested = starter_policy(found, source=source.path.name, preset=arguments.get("preset", "standard"))
    except CloakError as error:
        raise nameless(error, source) from None
    shapes = {name: shape_of(frame[name]) for name in frame.columns}
    return {
        **found.to_dict(),
        "rows": n_rows,
        "sampled": frame.height if frame.height < n_rows else None,
        "file": _facts(layout),
        "policy": suggested.text,
        "shapes": shapes,
        "memory_bytes": bytes_in_memory(layout),
    }


def _facts(layout: Layout) -> dict[str, Any]:
    is_text = layout.format in ("csv", "tsv", "sets")
    return {
        "format": layout.format,
        "n_bytes": layout.n_bytes,
        "delimiter": layout.delimiter if is_text else None,
        "encoding": layout.encoding if is_text else None,
        "header": layout.header if is_text else None,
        "compression": layout.compression,
    }


def uniqueness(arguments: Arguments, _progress: Progress) -> dict[str, Any]:
    """How exposed records are on the quasi-identifiers of a policy, together and in small sets."""
    policy = policy_of(arguments)
    frame, n_rows = looked_at(source_of(policy), arguments)
    quasi = [name for name in policy.columns_with(Role.QUASI) if name in frame.columns]
    codes = {name: column_of(frame[name])[1] for name in quasi}
    if not codes:
        return {"risk": None, "sets": [], "quasi": []}
    risk = risk_of_sizes(class_sizes(list(codes.values())))
    sampled = frame.height if frame.height < n_rows else None
    sets = [s.to_dict() for s in singling_sets(codes)]
    return {"risk": risk.to_dict(), "sets": sets, "quasi": quasi, "sampled": sampled}


def check(arguments: Arguments, progress: Progress) -> dict[str, Any]:
    """Whether the goals of a policy can be reached; an error is part of the answer."""
    try:
        engine, memory = arguments.get("engine") or "auto", arguments.get("memory")
        found = pipeline.check(policy_of(arguments), engine=engine, memory=memory, progress=progress)
        return {"ok": True, **found.to_dict()}
    except CloakError as error:
        return {"ok": False, **error.to_dict()}


def run(arguments: Arguments, progress: Progress) -> dict[str, Any]:
    """Carry out a policy; all files go to the folder of the run, where an attempt that was ended may have left some."""
    policy = _for_run(policy_of(arguments), Path(arguments["folder"]))
    assert policy.input_path is not None
    try:
        report = pipeline.run(
            policy, progress=progress, threads=arguments.get("threads"), force=True, resume=bool(arguments.get("left")),
            engine=arguments.get("engine", "auto"), memory=arguments.get("memory"),
        ).to_dict()  # fmt: skip
    except CloakError as error:
        raise nameless(error, source_of(policy)) from None
    for key in ("output", "side_output", "recoding", "report", "certificate"):
        report[key] = Path(report[key]).name if report.get(key) else None
    if has_sets(policy):
        before, after = set_tasks.risks_of(report)
        return {**report, "before": before, "after": after, "groups": []}
    after, groups = _risk_after(policy)
    return {**report, "before": uniqueness(arguments, progress)["risk"], "after": after, "groups": groups}


def _for_run(policy: Policy, folder: Path) -> Policy:
    assert policy.input_path is not None
    given_name = policy.output.path if policy.output else None
    name = Path(given_name).name if given_name else _release_name(policy.input_path)
    policy = policy.with_files(source=policy.input_path, target=folder / name)
    is_apart = policy.algorithm.publishes.is_bucketing
    given = {"recoding": folder / "recoding.json", "report": folder / "report.html",
             "certificate": folder / "certificate.json"}  # fmt: skip
    update = {key: None if is_apart and key == "recoding" else str(path) for key, path in given.items()}
    assert policy.output is not None
    return policy.model_copy(update={"output": policy.output.model_copy(update=update)})


def _release_name(data: Path) -> str:
    from tablecloak.profile.starter import release_name

    return release_name(data)


def _risk_after(policy: Policy) -> tuple[dict[str, Any] | None, list[int]]:
    """How exposed records are in the release, and the sizes of its largest groups."""
    assert policy.output_path is not None
    source = row_tasks.release_source(policy, policy.output_path)
    quasi = policy.columns_with(Role.QUASI)
    frame = read_frame(source, columns=quasi, categorical=quasi)
    if not frame.height:
        return None, []
    sizes = class_sizes([column_of(frame[name])[1] for name in quasi])
    return risk_of_sizes(sizes).to_dict(), sorted(sizes.tolist(), reverse=True)[:MOST_GROUPS]


def lattice(arguments: Arguments, progress: Progress) -> dict[str, Any]:
    """The lattice of full-domain generalisations after a search."""
    view, search = pipeline.explore(policy_of(arguments), algorithm=arguments.get("algorithm"), progress=progress)
    return {"algorithm": search.name, **view.to_dict()}


def _in_memory(arguments: Arguments) -> Policy:
    """The policy of a table that may be held in memory, beside its release."""
    policy = policy_of(arguments)
    if is_large(source_of(policy), arguments):
        raise DataError(
            "the table is too large to be held beside its release", hint="take a part of both and compare it"
        )
    return policy


def compare(arguments: Arguments, _progress: Progress) -> dict[str, Any]:
    """A release beside its original: distances of every column, all metrics, records by two columns."""
    from tablecloak.comparison import compare_files

    policy = _in_memory(arguments)
    assert policy.input_path is not None
    found = compare_files(policy.input_path, Path(arguments["release"]), policy=policy, with_pairs=True)
    return {**found.to_dict(), "pairs": [pair.to_dict() for pair in found.pairs[:MOST_PAIRS]]}


def attack(arguments: Arguments, _progress: Progress) -> dict[str, Any]:
    """Every attack there is on a release, beside its original."""
    from tablecloak.attacking import attack_files

    policy = _in_memory(arguments)
    assert policy.input_path is not None
    return attack_files(policy.input_path, Path(arguments["release"]), policy=policy).to_dict()


def verify(arguments: Arguments, progress: Progress) -> dict[str, Any]:
    """Recount a finished file against a policy, beside its original if there is one."""
    policy = parse_policy(arguments["policy"], name="policy.yaml", base=Path(arguments["base"]))
    release = Path(arguments["release"])
    original = Path(arguments["original"]) if "original" in arguments else None
    try:
        return pipeline.verify_file(release, policy, original=original, progress=progress).to_dict()
    except CloakError as error:
        known = nameless(error, Source(release))
        raise (known if original is None else nameless(known, Source(original))) from None


def convert(arguments: Arguments, progress: Progress) -> dict[str, Any]:
    """The release in another format, recounted from the new file; only then it gets its name."""
    policy, source, target = policy_of(arguments), Path(arguments["release"]), Path(arguments["target"])
    partial = target.with_name(f"partial-{secrets.token_hex(4)}{target.suffix}")
    try:
        write_frame(read_frame(row_tasks.release_source(policy, source)), partial)
        found = pipeline.verify_file(partial, policy, progress=progress)
        if found.status == "fails":
            raise DataError(f"the release does not hold its goals as {target.suffix}", hint="choose another format")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return {"file": target.name}


def database(arguments: Arguments, _progress: Progress) -> dict[str, Any]:
    """Copy a table of a database into a file."""
    most = arguments["most_cells"]
    if "uri" in arguments:
        frame = read_server(DatabaseTable(**{k: arguments[k] for k in TABLE_KEYS}), most_cells=most)
    else:
        frame = read_database(Path(arguments["database"]), arguments["table"], most_cells=most)
    write_frame(frame, Path(arguments["path"]))
    return {"rows": frame.height}


def sample(arguments: Arguments, _progress: Progress) -> dict[str, Any]:
    """Made-up patients, or shopping baskets, with their policy and hierarchies."""
    from tablecloak.sample import write_baskets, write_patients

    write = write_baskets if arguments.get("of_sets") else write_patients
    return {"policy": write(Path(arguments["folder"])).read_text(encoding="utf-8")}


TASKS: dict[str, Task] = {
    "check-file": check_file,
    "profile": profile,
    "uniqueness": uniqueness,
    "check": check,
    "run": run,
    "lattice": lattice,
    "compare": compare,
    "attack": attack,
    "verify": verify,
    "convert": convert,
    "database": database,
    "sample": sample,
    "columns-of-sets": set_tasks.columns_of_sets,
    "kind-of-file": set_tasks.kind_of_file,
    "images": image_tasks.images,
    "export-images": image_tasks.export,
    "rows": row_tasks.rows,
    "lines": row_tasks.lines,
    "beside": row_tasks.beside,
    "hierarchy": hierarchy_tasks.hierarchy,
    "edit-hierarchy": hierarchy_tasks.edit_hierarchy,
    "hierarchy-file": hierarchy_tasks.hierarchy_file,
}
