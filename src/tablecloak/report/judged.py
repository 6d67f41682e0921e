"""Attacks and utility as parts of a page: tables and charts, each with how to read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tablecloak.report import charts
from tablecloak.report.html import Html, Node, el
from tablecloak.report.parts import caption, chart_figure, table

__all__ = ["READ", "attack_parts", "distance_charts", "learning_part", "utility_parts"]

# How to read what a report says about utility: the metric, what people call it, and what its value means.
READ = {
    "gcp": ("Detail lost", "0% every value is exact, 100% nothing is said; mean over the quasi-identifiers"),
    "query-error": ("Count-query error", "by how much a random count, such as how many are 30 to 40, is off"),
    "contingency-error": (
        "Two-way table error",
        "share of records in the wrong cell of a table of two columns",
    ),
    "association-error": ("Association change", "difference of Cramér's V (0 to 1) of two columns"),
    "correlation-error": ("Correlation change", "difference of Pearson's r of two numeric columns"),
    "propensity": ("Told apart", "0% a model cannot tell released records from originals, 100% always"),
    "hellinger": ("Hellinger distance", "of the distribution of a column from its original, 0 the same, 1 disjoint"),
    "emd": ("Earth mover's distance", "how far values have to be moved to restore a column, 0 not at all, 1 across it"),
    "lp-norm": ("L1 distance", "sum of the differences of shares, 0 the same, 2 disjoint"),
    "kl": ("KL divergence", "nats lost by taking the rebuilt distribution for the original one, 0 none"),
}
SHARES = frozenset({"gcp", "query-error", "contingency-error", "propensity"})
HOW_ATTACKS = (
    "Highest is the chance of success against the most exposed person, where an attack has one by person; average "
    "that over all; by guessing is what the same attacker reaches on average without the release. Victims are people "
    "against whom the attack succeeds, as each attack counts them. A chance near the one by guessing means that the "
    "release adds little."
)


def attack_parts(attacks: Sequence[Mapping[str, Any]], before: Mapping[str, float]) -> Iterator[Html]:
    """What attackers reach: a chart, a table, what stops each, and what was not tried.

    Args:
        before: the average chance on the original, by attack, where it is known.
    """
    tried = [a for a in attacks if a["applies"]]
    if tried:
        yield el("div", _attack_chart(tried), el("div", _stops(tried)), class_="pair")
        yield table(("attack", "highest", "average", "on the original", "by guessing", "victims", "of"),
                    [_attack_row(a, before) for a in tried], class_="numbers")  # fmt: skip
        yield caption(HOW_ATTACKS)
        for note in dict.fromkeys(note for a in tried for note in a["notes"]):
            yield caption(f"{note[:1].upper()}{note[1:]}.")
    skipped = [a for a in attacks if not a["applies"]]
    if skipped:
        named = "; ".join(f"{a['attack']}: {a['reason']}" for a in skipped)
        yield caption(f"Not tried: {named}.")
    yield caption(
        "Attacks that need other tables, or long on large ones (a register, further releases, learned models, "
        "minimality), are tried by tablecloak attack ORIGINAL RELEASE, which also numbers the most exposed rows."
    )


def _attack_chart(tried: Sequence[Mapping[str, Any]]) -> Html:
    names = [a["attack"] for a in tried]
    guessed, reached = [a["baseline"] for a in tried], [a["average"] or 0.0 for a in tried]
    chart = charts.paired_bars("Average chance of success", names, guessed, reached, names=("by guessing", "attack"))
    how = "The lower bar is the attacker with the release, the upper one without it. The closer the two, the better."
    return chart_figure(chart, how, names=("by guessing", "with the release"))


def _stops(tried: Sequence[Mapping[str, Any]]) -> Html:
    worst = [a for a in tried if a["victims"]]
    if not worst:
        return el("p", "No attack that was tried has a victim.")
    items = [el("li", el("strong", a["attack"]), f": stopped by {_lower(a['stopped_by'])}") for a in worst]
    return el("div", el("h3", "What would stop attacks with victims"), el("ul", items, class_="plain"))


def _lower(text: str) -> str:
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def _attack_row(attack: Mapping[str, Any], before: Mapping[str, float]) -> list[Node]:
    name = attack["attack"]
    return [
        join_named(name, attack["description"]), _share(attack["highest"]), _share(attack["average"]),
        _share(before.get(name)), _share(attack["baseline"]), f"{attack['victims']:,}", f"{attack['targets']:,}",
    ]  # fmt: skip


def join_named(name: str, text: str) -> Html:
    """A name with a smaller explanation below it."""
    return Html(el("span", name) + el("span", text, class_="small"))


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


HOW_UTILITY = (
    "Lower is better. Columns are compared with what a careful reader rebuilds from the release: every cell "
    "spread evenly over the values it covers, suppressed records over all values. ± is the standard error "
    "where queries or records were drawn at random."
)


def utility_parts(metrics: Mapping[str, Mapping[str, Any]], how_read: str = HOW_UTILITY) -> Iterator[Html]:
    """What analysts can still do: a table of metrics with how to read each."""
    rows = [
        [name, shown_value(key, metrics[key]), _how(metrics[key], how)]
        for key, (name, how) in READ.items()
        if key in metrics
    ]
    if rows:
        yield table(("measure", "value", "how to read it"), rows, class_="measures")
        yield caption(how_read)


def _how(found: Mapping[str, Any], how: str) -> str:
    if found["value"] is not None:
        return f"{how}; {found['note']}" if found.get("note") else how
    return f"not measured: {found.get('reason') or 'a value of the original has vanished'}"


def shown_value(name: str, found: Mapping[str, Any]) -> str:
    """The value of a metric with its standard error."""
    if found["value"] is None:
        return "–"
    show = charts.percent if name in SHARES else _decimal
    error = found.get("error")
    return show(found["value"]) + (f" ± {show(error)}" if error is not None else "")


def distance_charts(metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[Html]:
    """By column: how far its distribution moved, and how far queries on it are off."""
    for key, how in (
        (
            "hellinger",
            "Distance of each column from the original: 0 the same distribution, 1 a disjoint one.",
        ),
        ("query-error", "Mean relative error of the random count queries that ask for the column."),
    ):
        parts = (metrics.get(key) or {}).get("per_column") or {}
        if parts:
            top = 1.0 if key == "hellinger" else None
            show = charts.percent if key in SHARES else _decimal
            title = f"{READ[key][0]} by column"
            yield chart_figure(charts.bars(title, list(parts), list(parts.values()), top=top, show=show), how)


def learning_part(report: Mapping[str, Any]) -> Html | None:
    """How well a model learns the target from the release, where there is one."""
    found = report.get("learning")
    if not found:
        return None
    values = [found["majority"], found["release"], found["original"]]
    chart = charts.bars("Accuracy", ["most frequent", "from the release", "from the original"], values, top=1)
    kept = "" if found["kept"] is None else f" The release keeps {found['kept']:.0%} of what can be learned."
    notes = " ".join(["", *(f"Note: {note}." for note in found["notes"])])
    how = (
        f"Share of {found['n_tested']:,} held-out originals whose {found['target']} a model ({found['learner']}) "
        f"predicts rightly, ± {found['error']:.1%}.{kept}{notes}"
    )
    return el("div", chart_figure(chart, how, title=f"Learning to predict {found['target']}"), class_="charts")


def _decimal(value: float) -> str:
    return f"{value:.3f}"
