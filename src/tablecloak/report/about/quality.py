"""What attackers reach and what analysts can still do, as blocks that reports and comparisons share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tablecloak.report import blocks
from tablecloak.report.blocks import Block, Text, Words, table
from tablecloak.report.words import NONE, capitalized, listed, number, percent, share

# How to read what a report says about utility: the metric, what people call it, and what its value means.
READ = {
    "gcp": ("Detail lost", "0% every value is exact, 100% nothing is said; mean over the quasi-identifiers"),
    "query-error": ("Count-query error", "by how much a random count, such as how many are 30 to 40, is off"),
    "contingency-error": ("Two-way table error", "share of records in the wrong cell of a table of two columns"),
    "association-error": ("Association change", "difference of Cramér's V (0 to 1) of two columns"),
    "correlation-error": ("Correlation change", "difference of Pearson's r of two numeric columns"),
    "propensity": ("Told apart", "0% a model cannot tell released records from originals, 100% always"),
    "hellinger": ("Hellinger distance", "of the distribution of a column from its original, 0 the same, 1 disjoint"),
    "emd": ("Earth mover's distance", "how far values have to be moved to restore a column, 0 not at all, 1 across it"),
    "lp-norm": ("L1 distance", "sum of the differences of shares, 0 the same, 2 disjoint"),
    "kl": ("KL divergence", "nats lost by taking the rebuilt distribution for the original one, 0 none"),
}
SHARES = frozenset({"gcp", "query-error", "contingency-error", "propensity"})
ATTACK_HEADS = ("attack", "highest", "average", "on the original", "by guessing", "victims", "of")
HOW_ATTACKS = (
    "Highest is the chance of success against the most exposed person, where an attack has one by person; average "
    "that over all; by guessing is what the same attacker reaches on average without the release. Victims are people "
    "against whom the attack succeeds, as each attack counts them. A chance near the one by guessing means that the "
    "release adds little."
)
HOW_UTILITY = (
    "Lower is better. Columns are compared with what a careful reader rebuilds from the release: every cell "
    "spread evenly over the values it covers, suppressed records over all values. ± is the standard error "
    "where queries or records were drawn at random."
)
MOMENTS = ("mean", "deviation", "total")
HOW_MOMENTS = (
    "Before → after the transforms, over all records that were read: whoever analyses what is published finds what "
    "stands behind the arrow, and the closer both are, the better. Dates have a deviation in days and no total."
)
HOW_LOSS = "0% means every value is published exactly, 100% that nothing is said about the column."


def caption(text: Text) -> blocks.Paragraph:
    """How to read what stands above."""
    return blocks.Paragraph(text, "caption")


def attack_blocks(
    attacks: Sequence[Mapping[str, Any]], before: Mapping[str, float], *, has_more: bool = True
) -> Iterator[Block]:
    """What attackers reach: a chart, a table, what stops each, and what was not tried.

    Args:
        before: the average chance on the original, by attack, where it is known.
        has_more: there are attacks that were not tried here.
    """
    tried = [a for a in attacks if a["applies"]]
    if tried:
        yield blocks.SideBySide(((attack_chart(tried),), tuple(_stops(tried))))
        rows = [[explained(a["attack"], a["description"]), *attack_cells(a, before.get(a["attack"]))] for a in tried]
        yield table(ATTACK_HEADS, rows, kind="numbers")
        yield caption(HOW_ATTACKS)
        for note in dict.fromkeys(note for a in tried for note in a["notes"]):
            yield caption(f"{capitalized(note)}.")
    skipped = [a for a in attacks if not a["applies"]]
    if skipped:
        reasons = "; ".join(f"{a['attack']}: {a['reason']}" for a in skipped)
        yield caption(f"Not tried: {reasons}.")
    if has_more:
        yield caption(
            "Attacks that need other tables, or long on large ones (a register, further releases, learned models, "
            "minimality), are tried by tablecloak attack ORIGINAL RELEASE, which also numbers the most exposed rows."
        )


def attack_chart(tried: Sequence[Mapping[str, Any]]) -> blocks.Figure:
    """What attacks reach, beside what a guess without the release reaches."""
    names = tuple(a["attack"] for a in tried)
    guessed, reached = tuple(a["baseline"] for a in tried), tuple(a["average"] or 0.0 for a in tried)
    chart = blocks.PairedBars("Average chance of success", names, guessed, reached, names=("by guessing", "attack"),
                              axis="chance of success")  # fmt: skip
    how = "The lower bar is the attacker with the release, the upper one without it. The closer the two, the better."
    return blocks.Figure(chart, how, names=("by guessing", "with the release"))


def _stops(tried: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    with_victims = [a for a in tried if a["victims"]]
    if not with_victims:
        yield blocks.Paragraph("No attack that was tried has a victim.")
        return
    entries = tuple(
        (Words(a["attack"], is_strong=True), f": stopped by {_lower(a['stopped_by'])}") for a in with_victims
    )
    yield blocks.PageOnly((blocks.Heading("What would stop attacks with victims"), blocks.Items(entries, "plain")))


def _lower(text: str) -> str:
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def attack_cells(attack: Mapping[str, Any], before: float | None, average: str | None = None) -> list[str]:
    """What an attack reaches, under the heads that follow its name."""
    shown = average or share(attack["average"])
    counts = (f"{attack['victims']:,}", f"{attack['targets']:,}")
    return [share(attack["highest"]), shown, share(before), share(attack["baseline"]), *counts]


def explained(name: str, text: str) -> Text:
    """A name with a smaller explanation, where there is room for it."""
    return (Words(name), Words(text, "small"))


def utility_blocks(metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[Block]:
    """What analysts can still do: a table of metrics with how to read each."""
    rows = [
        [name, metric_value(key, metrics[key]), _how(metrics[key], how)]
        for key, (name, how) in READ.items()
        if key in metrics
    ]
    if rows:
        yield table(("measure", "value", "how to read it"), rows, kind="measures")
        yield caption(HOW_UTILITY)


def _how(measured: Mapping[str, Any], how: str) -> str:
    if measured["value"] is not None:
        return f"{how}; {measured['note']}" if measured.get("note") else how
    return f"not measured: {measured.get('reason') or 'a value of the original has vanished'}"


def metric_value(name: str, measured: Mapping[str, Any]) -> str:
    """The value of a metric with its standard error."""
    if measured["value"] is None:
        return NONE
    show = percent if name in SHARES else "{:.3f}".format
    error = measured.get("error")
    return show(measured["value"]) + (f" ± {show(error)}" if error is not None else "")


def loss_figure(per_column: Mapping[str, float]) -> blocks.Figure:
    """The detail that each column lost."""
    names, values = tuple(per_column), tuple(per_column.values())
    return blocks.Figure(blocks.Bars("Detail lost by column", names, values, top=1.0, axis="detail lost"), HOW_LOSS)


def distance_figures(metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[blocks.Figure]:
    """By column: how far its distribution moved, and how far queries on it are off."""
    for key, how in (
        ("hellinger", "Distance of each column from the original: 0 the same distribution, 1 a disjoint one."),
        ("query-error", "Mean relative error of the random count queries that ask for the column."),
    ):
        parts = (metrics.get(key) or {}).get("per_column") or {}
        if parts:
            top = 1.0 if key == "hellinger" else None
            unit = "share" if key in SHARES else "decimal"
            title = f"{READ[key][0]} by column"
            yield blocks.Figure(blocks.Bars(title, tuple(parts), tuple(parts.values()), top=top, unit=unit), how)  # type: ignore[arg-type]


def learning_block(report: Mapping[str, Any]) -> blocks.Charts | None:
    """How well a model learns the target from the release, where there is one."""
    learned = report.get("learning")
    if not learned:
        return None
    values = (learned["majority"], learned["release"], learned["original"])
    names = ("most frequent", "from the release", "from the original")
    chart = blocks.Bars("Accuracy", names, values, top=1, axis="share that is right")
    keeps = "" if learned["kept"] is None else f" The release keeps {learned['kept']:.0%} of what can be learned."
    notes = " ".join(["", *(f"Note: {note}." for note in learned["notes"])])
    how = (
        f"Share of {learned['n_tested']:,} held-out originals whose {learned['target']} a model ({learned['learner']}) "
        f"predicts rightly, ± {learned['error']:.1%}.{keeps}{notes}"
    )
    return blocks.Charts((blocks.Figure(chart, how, title=f"Learning to predict {learned['target']}"),))


def moments_table(moments: Mapping[str, Any]) -> blocks.TextTable | None:
    """Mean, deviation and total of columns that were changed, before and after; None where nothing is told of any."""
    rows = [[each["column"], *moment_cells(each)] for each in moments["columns"] if moment_texts(each)]
    heads = ("column", "mean", "standard deviation", "total")
    return table(heads, rows, kind="numbers", right=(1, 2, 3)) if rows else None


def moment_cells(column: Mapping[str, Any]) -> list[str]:
    """What a column was and is, figure by figure."""
    return [_arrow(column, key) for key in MOMENTS]


def moment_texts(column: Mapping[str, Any]) -> list[str]:
    """The same in words, without what is not told."""
    named = zip(MOMENTS, moment_cells(column), strict=True)
    return [f"{name} {cell}" for name, cell in named if cell != NONE]


def correlation_text(pair: Mapping[str, Any] | None) -> str | None:
    """The correlation that changed most."""
    if pair is None:
        return None
    names, before, after = listed(pair["columns"]), _correlation(pair["before"]), _correlation(pair["after"])
    if before == after:
        return f"No correlation changed as far as can be told here; that of {names} is {after}."
    return f"Largest change of a correlation: {names}, {before} → {after}."


def _correlation(value: float) -> str:
    return f"{value:.3g}" if value else "0"


def _arrow(column: Mapping[str, Any], key: str) -> str:
    sides = [column[side][key] for side in ("before", "after")]
    if sides == [None, None]:
        return NONE
    return " → ".join(NONE if v is None else v if isinstance(v, str) else number(float(v)) for v in sides)
