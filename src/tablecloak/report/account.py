"""What every report says alike: the verdict, the goals, alerts, the method and how to reproduce a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tablecloak.report.alerts import Alert
from tablecloak.report.html import Html, Node, el, join
from tablecloak.report.parts import caption, number, section, table
from tablecloak.report.subject import Step

__all__ = [
    "GOAL_HEADS",
    "alert_section",
    "banner",
    "figure",
    "finding_list",
    "goal_row",
    "goal_section",
    "method_section",
    "reproduction_section",
    "verdict_class",
    "verdict_word",
]


def verdict_word(run: Mapping[str, Any]) -> str:
    """Whether the release can be handed over."""
    findings = run.get("findings", ())
    n = len(findings)
    n_open = sum(found["accepted"] is None for found in findings)
    open_ = "one finding is" if n_open == 1 else f"{n_open} findings are"
    words = {
        "ready": "✓ Ready to hand over: every goal holds, and nothing else singles people out.",
        "accepted": f"✓ Ready, with {n} accepted finding{'s' if n != 1 else ''}. Every goal holds.",
        "findings": f"! Not ready: every goal holds, and {open_} open.",
        "unchecked": "! Not ready: something could not be checked.",
        "fails": "✗ Not ready: not everything is as it must be.",
    }
    return words.get(str(run.get("status")), "✓ Every goal holds." if run["holds"] else "✗ A goal does not hold.")


def verdict_class(run: Mapping[str, Any]) -> str:
    """How the verdict looks: green only where the release can be handed over."""
    if run.get("status") in ("findings", "unchecked"):
        return "warn"
    return "pass" if run["holds"] else "fail"


def finding_list(findings: Sequence[Mapping[str, Any]]) -> Html | None:
    """What besides the goals singles people out, with the change that ends it or the reason why it stays."""
    if not findings:
        return None
    return el("ul", [_finding(found) for found in findings], class_="alerts findings")


def _finding(found: Mapping[str, Any]) -> Html:
    reason = found["accepted"]
    after = f"Accepted: {reason}" if reason is not None else f"To end it: {found['fix']['text']}."
    what = found["what"][:1].upper() + found["what"][1:] + "."
    mark = el("span", "Accepted" if reason is not None else "Finding", class_="mark")
    body = el("div", el("strong", found["kind"]), el("p", what), el("p", after))
    return el("li", mark, body, class_="note" if reason is not None else "warning")


def banner(name: str, run: Mapping[str, Any], lead: str, *figures: Html) -> Html:
    """What a report begins with: the release, the verdict, a paragraph in plain words and some numbers."""
    return el(
        "header",
        el("p", "Privacy report", class_="kicker"),
        el("h1", name),
        el("p", verdict_word(run), class_=f"verdict {verdict_class(run)}"),
        finding_list(run.get("findings", ())),
        el("p", lead, class_="lead"),
        el("dl", *figures, class_="figures"),
    )


def figure(value: str, label: str) -> Html:
    """One number of the banner."""
    return el("div", el("dt", label), el("dd", value))


def alert_section(found: Sequence[Alert]) -> Html:
    """What to look at first."""
    if not found:
        return section("Alerts", el("p", "Nothing to look at."))
    return section("Alerts", el("ul", [_alert(a) for a in found], class_="alerts"))


def _alert(alert: Alert) -> Html:
    mark = "Check" if alert.level == "warning" else "Note"
    text = el("p", alert.text) if alert.text else None
    return el("li", el("span", mark, class_="mark"), el("div", el("strong", alert.title), text), class_=alert.level)


GOAL_HEADS = ("goal", "holds", "required", "observed", "margin", "worst class")


OBSERVED = (
    "Observed is the level of the worst class of the published table, counted again from its own cells. "
    "The margin is its distance to what is required: 0 is just enough, below 0 is too little. "
    "Worst class is the number of records in it."
)


def goal_section(
    run: Mapping[str, Any], models: Sequence[Step], *, heads: Sequence[str] = GOAL_HEADS, how: str = OBSERVED
) -> Html:
    """Every goal: what was required and what was observed."""
    verdicts = zip(run["verdicts"], models, strict=True)
    rows = [goal_row(verdict, model.sense) for verdict, model in verdicts]
    return section("Goals", table(heads, rows), caption(how))


def goal_row(verdict: Mapping[str, Any], sense: str) -> list[Node]:
    """One goal as the cells of a row."""
    params = ", ".join(f"{k}={v}" for k, v in verdict["params"].items())
    return [
        f"{verdict['model']} ({params})",
        el("span", "✓ yes" if verdict["holds"] else "✗ no", class_="pass" if verdict["holds"] else "fail"),
        f"{sense} {number(verdict['required'])}".strip(),
        number(verdict["achieved"]),
        number(verdict["margin"]),
        f"{verdict['worst_class_size']:,} records",
    ]


def method_section(certificate: Mapping[str, Any], algorithm: Step, models: Sequence[Step]) -> Html:
    """How the release came about."""
    return section(
        "Method",
        el("dl", _step("algorithm", algorithm), [_step("goal", model) for model in models],
           class_="method"),
        el("p", f"Choices of the search follow from seed {certificate['seed']}, those that hide people from a secret "
                "that is not published; the same input, policy, secret and versions give the same release."),
    )  # fmt: skip


def _step(kind: str, step: Step) -> Html:
    reference = el("p", f"Reference: {step.about.reference}", class_="reference") if step.about.reference else None
    return join(el("dt", kind), el("dd", el("strong", step.sentence), el("p", _prose(step.about.summary)), reference))


def _prose(text: str) -> Html:
    """Text of a docstring, with what stands between backticks as code."""
    return join([el("code", part) if i % 2 else part for i, part in enumerate(text.split("`"))])


def reproduction_section(certificate: Mapping[str, Any], run: Mapping[str, Any]) -> Html:
    """Policy, hashes, versions and times."""
    hashes: list[list[Node]] = [[k, el("code", v or "none")] for k, v in certificate["sha256"].items()]
    secret: list[list[Node]] = [[k, el("code", v or "none")] for k, v in certificate["keyed"].items()]
    versions: list[list[Node]] = [[k, v or "not installed"] for k, v in certificate["versions"].items()]
    seconds: list[list[Node]] = [[k, f"{v:.2f} s"] for k, v in run["seconds"].items()]
    return section(
        "Reproduction",
        el("h3", "Policy"),
        el("pre", certificate["policy"].strip()),
        el("h3", "SHA-256"),
        table(("file", "hash"), hashes, class_="hashes"),
        el("h3", "HMAC-SHA-256"),
        table(("file", "keyed digest"), secret, class_="hashes"),
        caption("A plain hash of a file that is not published would confirm guesses at its records. The key of this "
                "digest is in the recoding."),
        el("div",
           el("div", el("h3", "Versions"), table(("what", "version"), versions)),
           el("div", el("h3", "Time"), table(("phase", "seconds"), seconds)), class_="pair"),
        el("p", f"Engine {certificate['engine']}."),
    )  # fmt: skip
