"""How results of lower rooms look, which know this module by name only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group

from tablecloak.release.outcome import RunReport
from tablecloak.report.about import check_run_verify, explore, release
from tablecloak.report.blocks import Block
from tablecloak.report.render import html as pages
from tablecloak.report.render import terminal

if TYPE_CHECKING:
    from tablecloak.release.facts.subject import Subject


def page(subject: Subject) -> str:
    """The report of a release as a page."""
    return pages.page(release.report_of(subject))


def text(result: Any) -> str:
    """What a result says, line by line."""
    return terminal.plain(_lines(result))


def rich(result: Any) -> Group:
    """What a result says, as rich prints it."""
    return Group(*terminal.lines(_lines(result)))


def html(result: Any) -> str:
    """What a result says in a notebook."""
    report = result.to_dict()
    return pages.part(
        check_run_verify.summary(report) if isinstance(result, RunReport) else [explore.frontier_figure(report)]
    )


def _lines(result: Any) -> list[Block]:
    report = result.to_dict()
    return check_run_verify.ran(report) if isinstance(result, RunReport) else explore.frontier_lines(report)
