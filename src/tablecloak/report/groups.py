"""What a report says of releases in groups: exact values, with the link between blocks of columns cut."""

from __future__ import annotations

from tablecloak.report.subject import Subject

__all__ = ["COVERED", "GUESS_HEADS", "RISK", "SIZES", "UTILITY", "guesses", "happened", "highest_guess", "summary"]

COVERED = {
    True: "Every column holds the values of its original, each as often.",
    False: "A column does not hold the values of its original.",
    None: "Whether columns hold the values of their originals was not checked.",
}
RISK = (
    "Quasi-identifiers are published exactly, so the chance of picking a person's record is what it was, unless "
    "their columns were shuffled apart. What groups limit is what is learned from a record that was found: its "
    "sensitive values are among those of its group, and the best guess is right as often as the most frequent value "
    "occurs there. Who is in the table is not hidden at all."
)
SIZES = "Number of groups by size. A guess at a value of a group is right once in so many records at best."
UTILITY = "Every column is published exactly; what is lost is which of its values belong to which record."
GUESS_HEADS = ("sensitive column", "best guess without the table's groups", "best guess in the worst group")


def summary(subject: Subject) -> str:
    """The release in a few plain sentences."""
    facts = subject.facts
    smallest = facts.class_sizes[0][0] if facts.class_sizes else 0
    hidden = (
        f"Of {facts.before.n_records:,} records, {facts.after.n_records:,} are published with exact values, in "
        f"groups of at least {smallest:,}. Inside a group, what belongs to whom is hidden: whoever finds a person "
        f"learns the group, and guesses a sensitive value of it with a certainty of {highest_guess(subject):.1%} "
        "at most."
    )
    seen = (
        f"{facts.after.unique_share:.1%} of the records can still be singled out by their quasi-identifiers "
        f"(before: about {facts.before.unique_share:.0%}): that a person is in the table is not hidden."
    )
    return f"{hidden} {seen} {COVERED[subject.run['covers']]}"


def highest_guess(subject: Subject) -> float:
    """The largest share that one sensitive value has in a group."""
    return max((s.worst_top_share for s in subject.facts.sensitive), default=0.0)


def guesses(subject: Subject) -> list[list[str]]:
    """How well each sensitive column can be guessed: from the table as a whole, and inside the worst group."""
    return [[s.name, f"{s.top_share:.1%}", f"{s.worst_top_share:.1%}"] for s in subject.facts.sensitive]


def happened(subject: Subject, column: str) -> str:
    """What became of a column: which others its cells still belong to."""
    block = next((b for b in subject.blocks if column in b), (column,))
    others = [name for name in block if name != column]
    return f"exact, linked to {', '.join(others)}" if others else "exact, linked to its group only"
