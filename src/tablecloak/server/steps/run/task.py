"""Carry out a policy, or search the lattice of its full-domain generalisations."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tablecloak import pipeline
from tablecloak.errors import CloakError
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import OutputSpec
from tablecloak.profile.starter import release_name
from tablecloak.progress import Progress
from tablecloak.release.plan import source_of
from tablecloak.report.about.release import report_of
from tablecloak.report.blocks import to_plain
from tablecloak.server.tables import PolicyTable, nameless, publishes_sets

SAID = "report.json"  # what the report says, in blocks
HIERARCHIES = "hierarchies"
MOST_GROUPS = 400  # whose sizes are kept, for a picture


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A policy to carry out, or whose lattice to search, and the folder for all files."""

    table: PolicyTable
    folder: Path
    threads: int | None = None
    phases: tuple[str, ...] = ()  # that an attempt finished which was ended; it goes on after them


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """What became of a run."""

    report: Mapping[str, Any]  # as `tablecloak run --json` prints it, files without their folder
    before: Mapping[str, Any] | None  # risk of who knows the quasi-identifiers, in the original
    after: Mapping[str, Any] | None  # in the release
    groups: tuple[int, ...]  # sizes of the largest groups that look alike

    def to_dict(self) -> dict[str, Any]:
        """What the API says of a run."""
        return {**self.report, "before": self.before, "after": self.after, "groups": list(self.groups)}


def carry_out(request: RunRequest, progress: Progress) -> RunAnswer:
    """Carry out a policy; all files go to the folder of the run, where an attempt that was ended may have left some."""
    policy, means = _for_run(request.table.read_policy(), request.folder), request.table.means
    assert policy.input_path is not None
    try:
        outcome = pipeline.run(
            policy, progress=progress, threads=request.threads, force=True, resume=bool(request.phases),
            engine=means.engine, memory=means.memory,
        )  # fmt: skip
    except CloakError as error:
        raise nameless(error, source_of(policy)) from None
    if outcome.subject is not None:
        blocks = json.dumps(to_plain(report_of(outcome.subject)), ensure_ascii=False)
        (request.folder / SAID).write_text(blocks, encoding="utf-8")
    report = outcome.to_dict()
    for key in ("output", "side_output", "recoding", "report", "certificate"):
        report[key] = Path(report[key]).name if report.get(key) else None
    if publishes_sets(policy):
        return RunAnswer(report, *risks_of(report), groups=())
    # the run has counted both tables already: nothing is read for these again
    risk = (report.get("risk") or {}).get("quasi") or {"before": None, "after": None}
    after = risk["after"] if risk["after"] and risk["after"]["records"] else None
    facts = outcome.subject.facts if outcome.subject else None
    return RunAnswer(report, risk["before"], after, largest_of(facts.class_sizes) if after and facts else ())


def _for_run(policy: Policy, folder: Path) -> Policy:
    """The policy as it is carried out in the folder of a run: it names every file from there, and so does what the
    run certifies, which then says nothing of this machine and holds wherever the files are taken together."""
    data, given = policy.input_path, policy.input
    assert data is not None
    assert given is not None
    written = policy.output.path if policy.output else None
    name = Path(written).name if written and Path(written).name != data.name else release_name(data)
    policy = policy.rebased(folder)
    columns = {
        each: column.model_copy(update={"hierarchy": _brought(policy, column.hierarchy, folder)})
        for each, column in policy.columns.items()
    }
    hierarchies = {each: _brought(policy, chosen, folder) for each, chosen in policy.hierarchies.items()}
    is_apart = policy.algorithm.publishes.is_bucketing
    documents = {"recoding": None if is_apart else "recoding.json", "report": "report.html",
                 "certificate": "certificate.json"}  # fmt: skip
    output = (policy.output or OutputSpec(path=name)).model_copy(update={"path": name, **documents})
    source = given.model_copy(update={"path": _linked(data, folder / data.name).name})
    update = {"columns": columns, "hierarchies": hierarchies, "input": source, "output": output}
    return policy.model_copy(update=update)


def _brought(policy: Policy, chosen: Any, folder: Path) -> Any:
    """A hierarchy as it is named from the folder of a run, where a file of it lies too."""
    if not isinstance(chosen, str) or chosen in policy.hierarchies:
        return chosen
    file = policy.resolve(chosen)
    (folder / HIERARCHIES).mkdir(exist_ok=True)
    return f"{HIERARCHIES}/{_linked(file, folder / HIERARCHIES / file.name).name}"


def _linked(file: Path, target: Path) -> Path:
    """The same file under another name; a copy where the disk has no links."""
    if file.is_file() and not target.exists():  # an attempt before may have made it
        try:
            os.link(file, target)
        except OSError:
            shutil.copyfile(file, target)
    return target


def largest_of(class_sizes: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The sizes of the largest groups, given how many groups have each size, ascending."""
    largest: list[int] = []
    for size, n_groups in reversed(class_sizes):
        largest += [size] * min(n_groups, MOST_GROUPS - len(largest))
    return tuple(largest)


def risks_of(report: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
    """The chance to pick the right one of the records that hold a combination, at its highest: before and after."""
    counted, n_records = report["itemsets"], report["rows"]
    return _risk(counted["before"], n_records), _risk(counted["after"], n_records)


def _risk(counts: Mapping[str, Any] | None, n_records: int) -> Mapping[str, Any] | None:
    lowest = [low for low in (counts or {}).get("lowest", ()) if low]
    return {"records": n_records, "highest": 1 / min(lowest)} if lowest else None


@dataclass(frozen=True, slots=True)
class LatticeAnswer:
    """A lattice after a search."""

    algorithm: str
    view: Mapping[str, Any]  # as `tablecloak lattice --json` prints it

    def to_dict(self) -> dict[str, Any]:
        """What the API says of a search."""
        return {"algorithm": self.algorithm, **self.view}


def search_lattice(request: RunRequest, progress: Progress) -> LatticeAnswer:
    """The lattice of full-domain generalisations after a search."""
    view, search = pipeline.explore(request.table.read_policy(), progress=progress)
    return LatticeAnswer(search.name, view.to_dict())
