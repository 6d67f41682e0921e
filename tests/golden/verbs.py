"""What is asked of a case: command lines, and calls of the public names, each under the name it has in the corpus."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from cases import Case, all_cases
from observing import Fields, Spoken, figures_of, lay_out, said, settled, stamps, written

BASIC = ("run", "check", "verify", "verify-original")
WIDE = ("run-json", "check-text", "verify-text", "verify-certificate", "attack", "attack-alone", "risk", "compare",
        "explore", "lattice", "apply")  # fmt: skip


def quasi_of(case: Case) -> str:
    return ",".join(name for name, column in case.policy["columns"].items() if column["role"] == "quasi")


def known_of(case: Case) -> list[str]:
    """What others may know about a person: quasi-identifiers, or some items of a set."""
    items = [name for name, column in case.policy["columns"].items() if column["role"] == "items"]
    return ["--items", items[0]] if items else ["--quasi", quasi_of(case)]


def varied(case: Case) -> str:
    """One setting that the goals or the algorithm of the case have."""
    goal = case.policy["goals"][0]
    for name in ("k", "l", "t", "limit"):
        if isinstance(goal.get(name), int | float):
            return f"goals.0.{name}={goal[name]},{goal[name] + (1 if isinstance(goal[name], int) else 0.1)}"
    return "seed=0,1"


Asked = dict[str, Callable[[Case], list[str]]]
ASKED: Asked = {
    "run": lambda case: ["run", "policy.yaml", *case.options],
    "run-json": lambda case: ["run", "policy.yaml", *case.options, "--json", "--force"],
    "check": lambda case: ["check", "policy.yaml", "--json"],
    "check-text": lambda case: ["check", "policy.yaml"],
    "verify": lambda case: ["verify", case.release, "--policy", "policy.yaml", "--json"],
    "verify-text": lambda case: ["verify", case.release, "--policy", "policy.yaml"],
    "verify-original": lambda case: [
        "verify", case.release, "--policy", "policy.yaml", "--original", case.source, "--json"],
    "verify-certificate": lambda case: [
        "verify", case.release, "--certificate", "out/certificate.json", "--original", case.source],
    "attack": lambda case: ["attack", case.source, case.release, "--policy", "policy.yaml", "--json"],
    "attack-alone": lambda case: ["attack", case.release, "--alone", "--policy", "policy.yaml", "--json"],
    "risk": lambda case: ["risk", case.release, *known_of(case), "--subsets", "2", "--json"],
    "compare": lambda case: ["compare", case.source, case.release, "--policy", "policy.yaml", "--json"],
    "explore": lambda case: ["explore", "policy.yaml", "--vary", varied(case), "--json"],
    "lattice": lambda case: ["lattice", "policy.yaml", "--json"],
    "apply": lambda case: ["apply", "out/recoding.json", "more.csv", "--output", "out/again.csv", "--json"],
}  # fmt: skip


WITHOUT_RELEASE = ("run", "run-json", "check", "check-text", "explore", "lattice")


READING = ("verify", "attack", "risk", "compare")


def verbs_of(case: Case, engine: str) -> tuple[str, ...]:
    """What a case is asked on an engine; tests/engines holds verbs that read a release against those of `local`."""
    asked = BASIC + WIDE if case.is_wide else BASIC
    return asked if engine == "local" else tuple(verb for verb in asked if not verb.startswith(READING))


def observe(case: Case, engine: str, folder: Path, verbs: Iterable[str]) -> dict[str, Spoken]:
    """What every verb says, in the order given; those that need a release only where `run` wrote one."""
    lay_out(case, folder)
    answers: dict[str, Spoken] = {}
    has_release = False
    with settled(folder):
        for verb in verbs:
            if not has_release and verb not in WITHOUT_RELEASE:
                continue
            before = stamps(folder)
            answer = said(*ASKED[verb](case), "--engine", engine)
            files = written(folder, before)
            if verb == "run":
                has_release = bool(files)
                answer.figures |= certified(folder)
            answer.texts.update(files)
            answers[verb] = answer
    return answers


def certified(folder: Path) -> Fields:
    """What the certificate of a run says in numbers."""
    path = folder / "out/certificate.json"
    return figures_of(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def order_of(keys: Iterable[tuple[str, str, str]]) -> list[tuple[str, str]]:
    """Cases and verbs in the order in which they are listed here."""
    cases = {case.name: i for i, case in enumerate(all_cases())}
    verbs = {verb: i for i, verb in enumerate(BASIC + WIDE)}
    pairs = {(case, verb) for case, verb, _ in keys}
    return sorted(pairs, key=lambda pair: (cases[pair[0]], verbs[pair[1]]))
