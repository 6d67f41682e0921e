"""Results as lines for people."""

import io
from collections import Counter

import pytest
from rich.console import Console

from tablecloak.report.about import check_run_verify
from tablecloak.report.about.attack import attacked
from tablecloak.report.blocks import table
from tablecloak.report.render.terminal import lines
from tablecloak.values.amounts import show_size

VERDICT = {"model": "k-anonymity", "params": {"k": 5}, "achieved": 5, "required": 5, "margin": 0, "worst_class_size": 5}
VERIFICATION = {
    "holds": True,
    "classes": 12,
    "rows": 5000,
    "suppressed": 0,
    "covers": None,
    "verdicts": [{**VERDICT, "holds": True}],
}
RUN = {**VERIFICATION, "loss": 0.2714, "seconds": {"read": 0.5, "solve": 0.8}, "peak_memory_bytes": 41_500_000}


def text(blocks):
    return [line.plain.strip() for line in lines(blocks)]


def test_a_goal_that_holds():
    assert text(check_run_verify.verified(VERIFICATION)) == [
        "verify    ✓ k-anonymity    smallest class 5 (need 5)",
        "counted   5,000 records in 12 classes",
    ]


def test_a_goal_that_fails_says_so_in_words():
    failed = {**VERIFICATION, "verdicts": [{**VERDICT, "holds": False, "achieved": 2}]}
    assert text(check_run_verify.verified(failed))[0] == "verify    ✗ k-anonymity    smallest class 2 (need 5): not met"


@pytest.mark.parametrize(("covers", "line"), [(True, "✓ every cell covers its original"), (False, "not met")])
def test_coverage_is_shown_where_it_was_checked(covers, line):
    shown = text(check_run_verify.verified({**VERIFICATION, "covers": covers, "notes": ["matched in any order"]}))
    assert line in shown[1]
    assert shown[2] == "matched in any order"


def test_records_left_out_are_counted():
    shown = text(check_run_verify.verified({**VERIFICATION, "suppressed": 1200, "dropped_for_missing": 3}))
    assert shown[-1].endswith("12 classes, 1,200 suppressed, 3 left out for empty cells")


def test_an_infinite_level_is_shown_as_none():
    verdict = {**VERDICT, "model": "l-diversity", "achieved": None, "required": 2.5, "holds": False}
    assert (
        "least diverse class none (need 2.5)"
        in text(check_run_verify.verified({**VERIFICATION, "verdicts": [verdict]}))[0]
    )


def test_a_run_ends_with_its_files():
    shown = text(check_run_verify.ran({**RUN, "output": "out/a.csv", "recoding": "out/r.json"}))
    assert shown[-2] == "utility   loss 0.271 (0 nothing lost, 1 everything)"
    assert shown[-1] == "wrote     out/a.csv   out/r.json   1.3 s, 42 MB"


def test_risk_before_and_after():
    before = {"unique_share": 0.922, "highest": 1.0, "average": 0.95}
    after = {"unique_share": 0.0, "highest": 0.2, "average": 0.04}
    risk = {"quasi": {"before": before, "after": after}, "published": {"before": None, "after": before}}
    shown = text(check_run_verify.ran({**RUN, "output": None, "risk": risk}))
    first = shown.index(
        "risk      knowing the quasi-identifiers  unique 92.2% → 0.0%    highest 1.00 → 0.20    average 0.95 → 0.04"
    )
    second = "knowing everything published   unique 92.2%           highest 1.00           average 0.95"
    assert shown[first + 1] == second


FINDING = {"kind": "standing-alone", "what": "all stand alone on 'cost'", "fix": {"text": "leave it out"}}


@pytest.mark.parametrize(
    ("status", "accepted", "color", "says"),
    [
        ("ready", None, "green", "ready to hand over"),
        ("accepted", "known anyway", "green", "ready, with 1 accepted finding"),
        ("findings", None, "yellow", "not ready: 1 finding"),
        ("unchecked", None, "yellow", "not ready: something could not be checked"),
        ("fails", None, "red", "not ready: not everything is as it must be"),
    ],
)
def test_the_status_comes_first_and_only_ready_is_green(status, accepted, color, says):
    findings = [] if status in ("ready", "unchecked", "fails") else [{**FINDING, "accepted": accepted}]
    first = next(lines(check_run_verify.verified({**VERIFICATION, "status": status, "findings": findings})))
    assert first.plain.strip() == f"status    {says}"
    assert str(first.spans[-1].style) == f"bold {color}"


def test_findings_are_shown_with_their_fix_or_their_reason():
    findings = [{**FINDING, "accepted": None}, {**FINDING, "accepted": "known anyway"}]
    assert text([check_run_verify.findings_block(findings)]) == [
        "! standing-alone: all stand alone on 'cost'",
        "fix  leave it out",
        "· standing-alone: all stand alone on 'cost'",
        "accepted: known anyway",
    ]


def test_a_loss_that_was_not_measured_is_not_shown():
    assert not any("loss" in line for line in text(check_run_verify.ran({**RUN, "loss": None, "output": None})))


@pytest.mark.parametrize(
    ("count", "shown"), [(999, "999 B"), (12_000, "12 kB"), (41_500_000, "42 MB"), (2_500_000_000, "2.5 GB")]
)
def test_amounts_of_memory(count, shown):
    assert show_size(count) == shown


def test_the_way_on_from_the_demo(tmp_path):
    files = {"output": "out/a.csv", "report": "out/r.html", "certificate": "out/c.json"}
    shown = text(check_run_verify.demonstrated({**files, "policy": tmp_path / "policy.yaml"}))
    assert "Open out/r.html" in shown[0]
    assert shown[1] == "Next: tablecloak verify out/a.csv --certificate out/c.json"
    assert shown[2].strip() == f"tablecloak run {tmp_path}/policy.yaml --set goals.0.k=20 --force"


def test_chances_of_an_attack_are_percentages():
    chances = {"highest": 2 / 3, "average": 0.25, "interval": [0.2, 0.3], "before": {"average": 1.0}, "baseline": None}
    words = {"description": "", "by_guessing": "", "stopped_by": "", "reference": "", "notes": [], "worst_rows": []}
    attack = {"attack": "prosecutor", "applies": True, "victims": 3, "targets": 1200, **chances, **words}
    report = {"attacks": [attack], "quasi": ["age"], "sensitive": [], "notes": []}
    reached = attacked(report, "release.csv").sections["What attackers reach"][1]
    assert reached.rows == (("prosecutor", "66.7%", "25.0% ± 5.0%", "100.0%", "–", "3", "1,200"),)


@pytest.mark.parametrize("width", [24, 40, 80])
def test_no_digit_is_cut_however_narrow_the_terminal(width):
    shown = table(
        ("attack", "on the original", "victims"), [["known-sensitive", "100.0%", "1,234,567"]], kind="numbers"
    )
    console = Console(width=width, file=io.StringIO())
    console.print(*lines([shown]))
    words = "".join(console.file.getvalue().split())
    assert Counter(words) >= Counter("known-sensitive100.0%1,234,567")
    if width > 24:
        assert "1,234,567" in console.file.getvalue()
