"""The report of a release: of classes, of groups with exact values, of sets. What in it is public: `release.facts`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tablecloak.release.facts.bins import BinShares
from tablecloak.release.facts.collect import NEAR, SKEWED, Facts
from tablecloak.release.facts.public import LEARNED_STEP, LOSS_STEP, public_run, public_subject, rounded, step_of
from tablecloak.release.facts.subject import Method, Subject
from tablecloak.report import blocks
from tablecloak.report.about import quality
from tablecloak.report.about.check_run_verify import findings_block, verdict_sentence, verdicts_block
from tablecloak.report.blocks import Block, Text, Words, shown, table
from tablecloak.report.explain import describe
from tablecloak.report.words import NONE, capitalized, listed, number, percent

BEFORE_AFTER = ("before", "after")
MOST_SIZES = 10
MANY_SUPPRESSED = 0.02
COMMON = 0.5
COVERED = {
    True: "Every published cell covers its original.",
    False: "A published cell does not cover its original.",
    None: "Whether cells cover their originals was not checked.",
}
OBSERVED = (
    "Observed is the level of the worst class of the published table, counted again from its own cells. "
    "The margin is its distance to what is required: 0 is just enough, below 0 is too little. "
    "Worst class is the number of records in it."
)
RISKS = {"highest": "highest risk", "average": "average risk", "unique_share": "unique records"}
HOW_RISK = (
    "The prosecutor knows that a person is in the table, and all quasi-identifiers of that person. "
    "The risk of a record is the chance of picking it from its class: 1 divided by the size of the class. "
    "A record is unique if no other shares its quasi-identifiers. Who knows everything that is published about "
    "a person, protected sensitive values too, finds the record if no other is the same in all columns."
)
OWNERS = (
    "Whoever knows nearly all records could test guesses by exact figures, so this page rounds what needs the "
    f"original (loss to {LOSS_STEP:.0%}, accuracies to {LEARNED_STEP:.0%}) and leaves out what one record can move "
    "far. Errors of queries, distances and correlations are told to the owner, by tablecloak run --json."
)
ROUNDED_MOMENTS = (
    "Figures are in steps of what 50 records make that go from one end of the column to the other, at least 1% of "
    f"its range, and left out ({NONE}) where that is too coarse to say anything. The owner sees all of them, by "
    "tablecloak run --json."
)
HOW_SIZES = "Number of classes by size. Bars far to the right are classes with more generalization than needed."
HOW_GENERALIZED = (
    "The closer the two, the better analyses of this column keep their results. A generalized value counts evenly for "
    "all it covers."
)
HOW_SENSITIVE = "Values are published as they are, so only suppressed records can make a difference."


def report_of(subject: Subject) -> blocks.Document:
    """The whole report, as everybody may read it."""
    if subject.facts is None:
        return _of_sets(replace(subject, run=public_run(subject.run)))
    subject = public_subject(subject)
    facts = subject.facts
    assert facts is not None
    contents = (
        _banner(subject, facts),
        _alert_section(_alerts(subject, facts)),
        _goal_section(subject, OBSERVED),
        blocks.Section("Risk", tuple(_risk(subject, facts))),
        blocks.Section("Attacks", tuple(_attacks(facts))),
        blocks.Section("Utility", tuple(_utility(subject, facts))),
        blocks.Section("What changed", tuple(_changes(subject, facts))),
        _method_section(subject),
        _reproduction_section(subject),
        blocks.Footer(_ending(subject, facts)),
    )
    return blocks.Document(f"{subject.name}: privacy report", contents)


# --- what all reports say alike -------------------------------------------------------------------------------------


def _alert_section(alerts: Iterator[blocks.Alert]) -> blocks.Section:
    ordered = tuple(sorted(alerts, key=lambda alert: alert.level != "warning"))
    return blocks.Section("Alerts", (blocks.Alerts(ordered) if ordered else blocks.Paragraph("Nothing to look at."),))


def _goal_section(subject: Subject, how: str, *, worst: str = "worst class") -> blocks.Section:
    senses = [model.sense for model in subject.models]
    return blocks.Section("Goals", (verdicts_block(subject.run["verdicts"], senses, worst=worst), quality.caption(how)))


def _method_section(subject: Subject) -> blocks.Section:
    """How the release came about."""
    methods = [("algorithm", subject.algorithm), *(("goal", model) for model in subject.models)]
    text = (
        f"Choices of the search follow from seed {subject.certificate['seed']}, those that hide people from a secret "
        "that is not published; the same input, policy, secret and versions give the same release."
    )
    entries = tuple(blocks.Entry(kind, tuple(_method(kind, method))) for kind, method in methods)
    return blocks.Section("Method", (blocks.Labelled(entries, "method"), blocks.Paragraph(text)))


def _method(kind: str, method: Method) -> Iterator[Text | Block]:
    described = describe(kind, method.name, method.kind)
    yield Words(method.sentence, is_strong=True)
    yield blocks.Paragraph(_prose(described.definition))
    if reference := described.parts.get("Reference"):
        yield blocks.Paragraph(f"Reference: {reference}", "reference")


def _prose(text: str) -> Text:
    """Text of a docstring, with what stands between backticks as code."""
    return tuple(Words(part, "code") if i % 2 else part for i, part in enumerate(text.split("`")))


def _reproduction_section(subject: Subject) -> blocks.Section:
    """Policy, hashes, versions and times."""
    certificate = subject.certificate
    hashes, keyed = (
        [[name, Words(digest or "none", "code")] for name, digest in certificate[key].items()]
        for key in ("sha256", "keyed")
    )
    versions = [[name, version or "not installed"] for name, version in certificate["versions"].items()]
    seconds = [[phase, f"{s:.2f} s"] for phase, s in subject.run["seconds"].items()]
    return blocks.Section("Reproduction", (
        blocks.Heading("Policy"),
        blocks.Preformatted(certificate["policy"].strip()),
        blocks.Heading("SHA-256"),
        table(("file", "hash"), hashes, kind="hashes"),
        blocks.Heading("HMAC-SHA-256"),
        table(("file", "keyed digest"), keyed, kind="hashes"),
        quality.caption("A plain hash of a file that is not published would confirm guesses at its records. "
                        "The key of this digest is in the recoding."),
        blocks.SideBySide((
            (blocks.Heading("Versions"), table(("what", "version"), versions)),
            (blocks.Heading("Time"), table(("phase", "seconds"), seconds)),
        )),
        blocks.Paragraph(f"Engine {certificate['engine']}."),
    ))  # fmt: skip


def _made(subject: Subject) -> str:
    return f"Made by tablecloak {subject.certificate['versions']['tablecloak']} on {subject.certificate['created']}."


def _other_columns(subject: Subject) -> Iterator[tuple[str, str]]:
    """Columns that no goal looks at, and what became of them."""
    yield from ((name, f"changed by {kinds}") for name, kinds in subject.changed.items())
    for names, what in ((subject.kept, "kept as it is"), (subject.starred, "starred"), (subject.left_out, "left out")):
        yield from ((name, what) for name in names)


# --- rows -----------------------------------------------------------------------------------------------------------


def _banner(subject: Subject, facts: Facts) -> blocks.Banner:
    run = subject.run
    surest = (f"{_highest_guess(facts):.1%}", "surest guess")
    return blocks.Banner(
        "Privacy report",
        subject.name,
        (_groups_summary(subject, facts) if subject.blocks else _summary(subject, facts),),
        verdict_sentence(run),
        findings_block(run.get("findings", ())),
        (
            (f"{facts.after.n_records:,}", "records published"),
            (f"{run['classes']:,}", "groups" if subject.blocks else "classes"),
            surest if subject.blocks else (f"{facts.after.highest:.1%}", "highest risk"),
            (NONE if run["loss"] is None else percent(run["loss"]), "detail lost"),
        ),
    )


def _summary(subject: Subject, facts: Facts) -> str:
    run = subject.run
    smallest = facts.class_sizes[0][0] if facts.class_sizes else 0
    before, after = (percent(side.unique_share) for side in (facts.before, facts.after))
    parts = [
        f"Of {facts.before.n_records:,} records, {facts.after.n_records:,} are published. "
        f"Each of them looks like at least {smallest - 1:,} others in {listed([q.name for q in facts.quasi])}."
        if smallest
        else "Nothing is published.",
        f"Before, about {before} of the records could be singled out by these columns; now {after} can.",
        COVERED[run["covers"]],
    ]
    if run["loss"] is not None:
        parts.append(f"The price is {percent(run['loss'])} of the detail in these columns.")
    return " ".join(parts)


def _alerts(subject: Subject, facts: Facts) -> Iterator[blocks.Alert]:
    """What a reader should look at before handing a release over."""
    if subject.kept:
        yield blocks.Alert(
            "warning",
            f"Published as they are: {', '.join(subject.kept)}",
            "No goal looks at these columns. If someone may know their values, give them the role quasi; "
            "if nobody may learn them, the role sensitive.",
        )
    yield from _left_out_alerts(subject.run, facts)
    yield from _skew_alerts(facts)
    if facts.n_near_limit:
        near = facts.n_records_near_limit / max(1, facts.after.n_records)
        yield blocks.Alert(
            "note",
            f"{facts.n_near_limit:,} classes are near the smallest size allowed",
            f"They hold {near:.0%} of the records and have at most {NEAR:g} times the smallest size. "
            "That is what a release without waste looks like; ask for a larger k if you want a reserve.",
        )
    if subject.starred:
        names = ", ".join(subject.starred)
        yield blocks.Alert("note", f"Identifiers starred: {names}", "These columns are published with * in every cell.")
    if coarse := [q.name for q in facts.quasi if q.is_coarse]:
        yield blocks.Alert(
            "note",
            f"Never published exactly: {', '.join(coarse)}",
            "The policy names the finest detail that may be shown. Risk before is counted in that "
            "detail: the original itself is more exposed.",
        )
    # what algorithm and recount had to say, such as what a published variant leaves unprotected
    yield from (blocks.Alert("note", capitalized(note)) for note in subject.run.get("notes", ()))


def _left_out_alerts(run: Mapping[str, Any], facts: Facts) -> Iterator[blocks.Alert]:
    n, total = run["suppressed"], facts.before.n_records
    if n:
        yield blocks.Alert(
            "warning" if n > MANY_SUPPRESSED * total else "note",
            f"{n:,} of {total:,} records suppressed ({n / max(1, total):.1%})",
            "Suppressed records are missing from every count; rare groups are hit more often than common ones.",
        )
    dropped = run["dropped_for_missing"]
    if dropped:
        yield blocks.Alert(
            "note", f"{dropped:,} records left out for empty cells", "The policy asks for this: missing: drop."
        )


def _skew_alerts(facts: Facts) -> Iterator[blocks.Alert]:
    for column in facts.sensitive:
        if column.n_skewed:
            yield blocks.Alert(
                "warning",
                f"{column.name}: {column.n_skewed:,} classes are nearly of one value",
                f"In these classes one value has a share of {SKEWED:.0%} or more (at most "
                f"{column.worst_top_share:.0%}). "
                "Someone who knows a person's class can guess it; l-diversity or t-closeness limits this.",
            )
        elif column.top_share >= COMMON:
            yield blocks.Alert(
                "note",
                f"{column.name}: one value has {column.top_share:.0%} of the records",
                "A skewed column lets people guess well without any table; judge the goals with that in mind.",
            )


def _risk(subject: Subject, facts: Facts) -> Iterator[Block]:
    before, after = facts.before, facts.after
    rows = [
        # the most exposed record of the original is one person
        [name, NONE if key == "highest" else percent(getattr(before, key)), f"{getattr(after, key):.1%}"]
        for key, name in RISKS.items()
    ]
    published = (subject.run.get("risk") or {}).get("published") or {}
    sides = [published.get(side) for side in BEFORE_AFTER]
    if sides[1]:
        rows += [
            [
                f"{name.replace('records', sides[1].get('counted', 'records'))}, knowing everything published",
                *(NONE if s is None or key not in s else percent(s[key]) for s in sides),
            ]
            for key, name in RISKS.items()
        ]
    drawn = list(RISKS)[1:]
    one, two = (tuple(getattr(exposure, key) for key in drawn) for exposure in (before, after))
    chart = blocks.PairedBars("Risk before and after", tuple(RISKS[key] for key in drawn), one, two, axis="share")
    numbers = table(("risk", *BEFORE_AFTER), rows, kind="numbers")
    yield blocks.SideBySide(((blocks.Figure(chart, names=BEFORE_AFTER),), (numbers,)))
    if subject.blocks:
        yield table(GUESS_HEADS, [[s.name, f"{s.top_share:.1%}", f"{s.worst_top_share:.1%}"] for s in facts.sensitive])
    yield quality.caption(HOW_GROUPS_RISK if subject.blocks else HOW_RISK)


def _attacks(facts: Facts) -> Iterator[Block]:
    exposures = [exposure.to_dict() for exposure in facts.attacks]
    yield from quality.attack_blocks(exposures, dict.fromkeys(("prosecutor", "marketer"), facts.before.average))
    drawn = [e.finding.n_sampled for e in facts.attacks if e.finding is not None and e.finding.n_sampled is not None]
    step, coarsest = step_of(facts.before.n_records), step_of(min(drawn, default=facts.before.n_records))
    coarser = f", and to {percent(coarsest)} at most where records were drawn" if coarsest > step else ""
    yield quality.caption(f"Chances are rounded to {percent(step)}{coarser}.")


def _utility(subject: Subject, facts: Facts) -> Iterator[Block]:
    metrics = subject.run["metrics"]
    learning = quality.learning_block(subject.run)
    if subject.blocks:
        metrics = {name: m for name, m in metrics.items() if m["value"] is not None and name != "gcp"}
        sizes = blocks.Charts((_sizes_figure(facts, "group", HOW_GROUP_SIZES),))
        yield from shown(
            blocks.Paragraph(GROUPS_UTILITY), learning, sizes, *_moments(subject.run), _further_metrics(metrics),
            quality.caption(OWNERS),
        )  # fmt: skip
        return
    lost = (metrics.get("gcp") or {}).get("per_column") or {}
    figures: list[Block] = [quality.loss_figure(lost), _sizes_figure(facts, "class", HOW_SIZES)]
    for q in facts.quasi:
        figures += _bins_figure(f"{q.name}, before and after", q.bins, facts.floor, HOW_GENERALIZED)
    for s in facts.sensitive:
        figures += _bins_figure(f"{s.name} (sensitive)", s.bins, facts.floor, HOW_SENSITIVE)
    yield from quality.utility_blocks(metrics)
    yield from shown(
        learning, blocks.Charts(tuple(figures)), *_moments(subject.run), _further_metrics(metrics),
        quality.caption(OWNERS),
    )  # fmt: skip


def _moments(run: Mapping[str, Any]) -> Iterator[Block]:
    """What transforms did to means, deviations, totals and correlations."""
    moments = run.get("moments")
    if not moments:
        return
    yield blocks.Heading("Statistics of changed columns")
    told, correlation = quality.moments_table(moments), quality.correlation_text(moments["largest_change"])
    if told is None and correlation is None:
        names = listed([column["column"] for column in moments["columns"]])
        yield blocks.Paragraph(f"There are too few records to tell everybody what became of {names}.")
        yield quality.caption(ROUNDED_MOMENTS)
        return
    yield from shown(told, None if correlation is None else blocks.Paragraph(correlation))
    yield quality.caption(f"{quality.HOW_MOMENTS} {ROUNDED_MOMENTS}")


def _further_metrics(metrics: Mapping[str, Mapping[str, Any]]) -> blocks.PageOnly | None:
    """The other information metrics that apply, each with a line that says how to read it."""
    rows = [
        [name, number(m["value"]), "higher" if m.get("higher_is_better") else "lower", m["description"]]
        for name, m in metrics.items()
        if name not in quality.READ and m["value"] is not None
    ]
    if not rows:
        return None
    heads = ("metric", "value", "better", "how to read it")
    how = quality.caption("Only releases of the same table can be compared by these numbers.")
    return blocks.PageOnly((blocks.Heading("Information metrics"), table(heads, rows, kind="measures"), how))


def _sizes_figure(facts: Facts, unit: str, how: str) -> blocks.Figure:
    labels, counts = size_bands(facts.class_sizes)
    return blocks.Figure(blocks.UprightBars(f"{unit.title()} sizes", labels, counts, axis=f"records in a {unit}"), how)


def size_bands(sizes: Sequence[tuple[int, int]]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """At most ten bands of equal width from the smallest class on; the last takes all that are larger."""
    if not sizes:
        return (), ()
    first = sizes[0][0]
    total, n_counted, bulk = sum(n for _, n in sizes), 0, first
    for size, n in sizes:
        n_counted += n
        bulk = size
        if n_counted >= 0.95 * total:
            break
    width = max(1, -(-(bulk - first + 1) // (MOST_SIZES - 1)))
    n_bands = min(MOST_SIZES, (sizes[-1][0] - first) // width + 1)
    counts = [0.0] * n_bands
    for size, n in sizes:
        counts[min((size - first) // width, n_bands - 1)] += n
    starts = [first + i * width for i in range(n_bands)]
    labels = [str(a) if width == 1 else f"{a}–{a + width - 1}" for a in starts]
    is_open = sizes[-1][0] > starts[-1] + width - 1
    return (*labels[:-1], f"{starts[-1]}+" if is_open else labels[-1]), tuple(counts)


def _bins_figure(title: str, bins: BinShares | None, floor: int, how: str) -> Iterator[Block]:
    if bins is None:
        text = "Nothing to compare: values are published only in groups, and a report names no others."
        yield blocks.Figure(None, text, title=title)
        return
    kind = blocks.SteppedLines if bins.edges else blocks.PairedBars
    chart = kind(title, bins.edges or bins.labels, bins.before, bins.after, axis="share of records")
    how = f"{how} Groups of fewer than {floor} records are joined, and shares are rounded."
    yield blocks.Figure(chart, how, names=BEFORE_AFTER, title=title)


def _changes(subject: Subject, facts: Facts) -> Iterator[Block]:
    loss = (subject.run["metrics"].get("gcp") or {}).get("per_column") or {}
    rows = [
        [q.name, _happened(subject, q.name, "generalized"), f"{q.distinct_after:,}", percent(q.changed),
         percent(loss[q.name]) if q.name in loss else NONE]
        for q in facts.quasi
    ]  # fmt: skip
    rows += [
        [s.name, _happened(subject, s.name, "sensitive, as it is"), f"{s.distinct_after:,}", "0%", NONE]
        for s in facts.sensitive
    ]
    rows += [
        [name, what, NONE, "0%" if what == "kept as it is" else "100%", NONE] for name, what in _other_columns(subject)
    ]
    yield table(("column", "what happened", "different values", "cells changed", "detail lost"), rows)
    yield quality.caption(
        "Suppressed records count as changed in every quasi-identifier. Columns that the policy does not name "
        "are left out unless it says others: keep."
    )


def _ending(subject: Subject, facts: Facts) -> str:
    step = percent(step_of(facts.before.n_records))
    return (
        f"{_made(subject)} No value of the original is named; charts show groups of at least {facts.floor} of its "
        f"records, in steps of {step}."
    )


# --- groups: exact values, with the link between blocks of columns cut ----------------------------------------------

HELD = {
    True: "Every column holds the values of its original, each as often.",
    False: "A column does not hold the values of its original.",
    None: "Whether columns hold the values of their originals was not checked.",
}
HOW_GROUPS_RISK = (
    "Quasi-identifiers are published exactly, so the chance of picking a person's record is what it was, unless "
    "their columns were shuffled apart. What groups limit is what is learned from a record that was found: its "
    "sensitive values are among those of its group, and the best guess is right as often as the most frequent value "
    "occurs there. Who is in the table is not hidden at all."
)
HOW_GROUP_SIZES = "Number of groups by size. A guess at a value of a group is right once in so many records at best."
GROUPS_UTILITY = "Every column is published exactly; what is lost is which of its values belong to which record."
GUESS_HEADS = ("sensitive column", "best guess without the table's groups", "best guess in the worst group")


def _groups_summary(subject: Subject, facts: Facts) -> str:
    smallest = facts.class_sizes[0][0] if facts.class_sizes else 0
    hidden = (
        f"Of {facts.before.n_records:,} records, {facts.after.n_records:,} are published with exact values, in "
        f"groups of at least {smallest:,}. Inside a group, what belongs to whom is hidden: whoever finds a person "
        f"learns the group, and guesses a sensitive value of it with a certainty of {_highest_guess(facts):.1%} "
        "at most."
    )
    exposure = (
        f"{facts.after.unique_share:.1%} of the records can still be singled out by their quasi-identifiers "
        f"(before: about {facts.before.unique_share:.0%}): that a person is in the table is not hidden."
    )
    return f"{hidden} {exposure} {HELD[subject.run['covers']]}"


def _highest_guess(facts: Facts) -> float:
    """The largest share that one sensitive value has in a group."""
    return max((s.worst_top_share for s in facts.sensitive), default=0.0)


def _happened(subject: Subject, column: str, otherwise: str) -> str:
    """What became of a column: in groups, which others its cells still belong to."""
    if not subject.blocks:
        return otherwise
    block = next((b for b in subject.blocks if column in b), (column,))
    others = [name for name in block if name != column]
    return f"exact, linked to {', '.join(others)}" if others else "exact, linked to its group only"


# --- sets -----------------------------------------------------------------------------------------------------------

COVERED_ITEMS = {
    True: "Every published item covers an item of its record.",
    False: "A published item covers nothing.",
    None: "Whether items cover their originals was not checked.",
}
OBSERVED_SETS = (
    "Observed is the number of records that hold the rarest combination of items, counted again from the published "
    "cells. The margin is its distance to what is required."
)


def _of_sets(subject: Subject) -> blocks.Document:
    ending = f"{_made(subject)} Items are named only as they are published, in at least {_k(subject)} records."
    contents = (
        _sets_banner(subject),
        _alert_section(_sets_alerts(subject)),
        _goal_section(subject, OBSERVED_SETS, worst="rarest itemset"),
        blocks.Section("Risk", tuple(_sets_risk(subject))),
        blocks.Section("Utility", tuple(_sets_utility(subject))),
        blocks.Section("What changed", tuple(_sets_changes(subject))),
        _method_section(subject),
        _reproduction_section(subject),
        blocks.Footer(ending),
    )
    return blocks.Document(f"{subject.name}: privacy report", contents)


def _k(subject: Subject) -> Any:
    return subject.models[0].parameters["k"]


def _sets_banner(subject: Subject) -> blocks.Banner:
    run, itemsets = subject.run, subject.run["itemsets"]
    rarest = run["verdicts"][0]["achieved"]
    holders = "no items at all" if rarest is None else f"at least {int(rarest):,} records that hold them"
    m = subject.models[0].parameters["m"]
    lead = (
        f"{run['rows']:,} sets are published. Whoever knows up to {m} items of somebody finds {holders}. "
        f"{itemsets['published_items']:,} different items are published. {COVERED_ITEMS[run['covers']]} "
        f"The price is {percent(run['loss'])} of the detail in the items."
    )
    numbers = (
        (f"{run['rows']:,}", "sets published"),
        (f"{itemsets['published_items']:,}", "different items"),
        (f"{1 / rarest:.1%}" if rarest else NONE, "highest risk"),
        (percent(run["loss"]), "detail lost"),
    )
    findings = findings_block(run.get("findings", ()))
    return blocks.Banner("Privacy report", subject.name, (lead,), verdict_sentence(run), findings, numbers)


def _sets_alerts(subject: Subject) -> Iterator[blocks.Alert]:
    if subject.kept:
        text = "No goal looks at these columns. If someone may know their values, leave them out."
        yield blocks.Alert("warning", f"Published as they are: {', '.join(subject.kept)}", text)
    for note in subject.run.get("notes", ()):
        if not note.startswith("published as they are"):
            yield blocks.Alert("note", capitalized(note))


def _sets_risk(subject: Subject) -> Iterator[Block]:
    after = subject.run["itemsets"]["after"]
    rows = [
        [f"{size + 1}", *(f"{after[key][size]:,}" for key in ("itemsets", "lowest", "rare"))]
        for size in range(len(after["itemsets"]))
    ]
    yield table(("items known", "combinations", "rarest", f"below {_k(subject)}"), rows)
    yield quality.caption(
        "Somebody who knows that many items of a person looks for the records that hold them all. Combinations are "
        "the different ones that are published; rarest is the number of records that hold the rarest of them, and "
        "the risk is 1 divided by that."
    )


def _sets_utility(subject: Subject) -> Iterator[Block]:
    yield blocks.Paragraph(
        f"{percent(subject.run['loss'])} of the detail in the items is lost. 0% means that every item "
        "is published as it is, 100% that nothing is said about any."
    )
    frequent = subject.run["itemsets"]["frequent"]
    if frequent:
        labels, counts = tuple(label for label, _ in frequent), tuple(float(n) for _, n in frequent)
        how = (
            "The most frequent items as they are published; an item that stands for several counts where one of them "
            "is."
        )
        yield blocks.Charts(
            (blocks.Figure(blocks.Bars("Records with a published item", labels, counts, unit="count"), how),)
        )


def _sets_changes(subject: Subject) -> Iterator[Block]:
    levels = subject.run["itemsets"]["levels"]
    total = max(1, sum(level["occurrences"] for level in levels))
    step = step_of(subject.run["rows"])
    rows = [[_level_name(level["height"]), percent(rounded(level["occurrences"] / total, step))] for level in levels]
    yield table(("items", "share"), rows)
    if others := list(_other_columns(subject)):
        yield table(("column", "what happened"), others)
    yield quality.caption(
        "An item is published the same way in all sets. A level is how far up its hierarchy it went. "
        f"Shares of what sets held are rounded to {percent(step)}."
    )


def _level_name(height: int) -> str:
    if height < 0:
        return "left out"
    return "as they are" if height == 0 else f"{height} level{'s' if height > 1 else ''} up"
