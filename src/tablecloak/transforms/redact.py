"""redact: what identifies people is taken out of texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import Field, field_validator

from tablecloak.data.changed_columns import CellStep
from tablecloak.data.table import ColumnType
from tablecloak.io.extras import require_installed, require_package
from tablecloak.profile.text_patterns import AFTER_DATES, BEFORE_DATES, DATES_WITH_YEAR, DATES_WITHOUT_YEAR
from tablecloak.transforms.base import ByValue, Family, Fitting, Transform, transform

# Around dates and years that stay, and around what is put into texts, while other patterns are looked for.
OPEN, CLOSE, BEGIN, END = "\ue000", "\ue001", "\ue002", "\ue003"
PURPOSE = "redacting with presidio"
MOST_PASSES = 8  # what is taken out may leave a pattern that was none before


@transform("redact", Family.COVER, types=(ColumnType.TEXT,))
class Redact(Transform):
    """E-mail addresses, numbers, dates, names and the like are taken out of texts: call [PHONE], ask for [NAME].

    By patterns: addresses of mail, web, machines and streets; numbers of phones, cards, accounts, people and devices;
    dates; ages from 90 on; frequent given names of several languages with what follows them, and names after a title.
    Patterns miss things. Rare names, nicknames, places, employers and descriptions of a person stay, and nothing is
    promised of a text that was redacted: publish it only to people who promise not to look.
    """

    dates: Annotated[
        Literal["remove", "year", "keep"], Field(description="what stays of dates: nothing, the year, or all")
    ] = "remove"
    extra: Annotated[
        tuple[str, ...], Field(description="further regular expressions; what they find becomes [OTHER]")
    ] = ()
    engine: Annotated[
        Literal["patterns", "presidio"], Field(description="presidio: its recognizers first, then our patterns")
    ] = "patterns"
    language: Annotated[str, Field(pattern=r"^[a-z]{2}$", description="of the texts, for presidio")] = "en"

    @field_validator("extra")
    @classmethod
    def _can_be_read(cls, extra: tuple[str, ...]) -> tuple[str, ...]:
        for index, pattern in enumerate(extra):
            try:
                is_found = pl.Series([""]).str.contains(pattern)[0]
            except pl.exceptions.PolarsError:
                raise ValueError(f"expression {index + 1} cannot be read; look-around is not known") from None
            if is_found:
                raise ValueError(f"expression {index + 1} finds the empty text")
        return extra

    def fit(self, fitting: Fitting) -> CellStep:  # noqa: ARG002
        if self.engine == "presidio":
            require_installed("presidio_analyzer", extra="text", purpose=PURPOSE)
        return ByValue(_Redacted(self))

    def faults(self, cells: pl.Series) -> pl.Series | None:
        texts = cells.cast(pl.String)
        return texts.ne_missing(ByValue(self.once)(texts, None))  # type: ignore[arg-type]  # it looks at no rows

    def once(self, texts: pl.Series) -> pl.Series:
        """Texts without what the patterns find in them."""
        text = pl.col("text").str.replace_all(f"[{OPEN}{CLOSE}{BEGIN}{END}]", "")
        for pattern in self.extra:
            text = text.str.replace_all(pattern, "[OTHER]")
        for label, pattern in BEFORE_DATES:
            text = text.str.replace_all(pattern, f"[{label}]")
        text = self._without_dates(text)
        for label, pattern in AFTER_DATES:
            text = (
                text.str.replace_all(pattern, f"[{label}]")
                if self.dates == "remove"
                else _outside(text, label, pattern)
            )
        text = text.str.replace_all(f"[{OPEN}{CLOSE}]", "")
        return pl.DataFrame({"text": texts}).select(text).to_series().alias(texts.name)

    def _without_dates(self, text: pl.Expr) -> pl.Expr:
        if self.dates == "keep":
            anything = "|".join(f"(?:{pattern})" for pattern in (*DATES_WITH_YEAR, *DATES_WITHOUT_YEAR))
            return text.str.replace_all(f"(?:{anything})", f"{OPEN}${{0}}{CLOSE}")
        for pattern in DATES_WITH_YEAR:
            if self.dates == "remove":
                text = text.str.replace_all(pattern, "[DATE]")
            else:
                text = _outside(text, "DATE", pattern, shown=f"{OPEN}${{year}}{CLOSE}")
        for pattern in DATES_WITHOUT_YEAR:
            text = (
                text.str.replace_all(pattern, "[DATE]") if self.dates == "remove" else _outside(text, "DATE", pattern)
            )
        return text


def _outside(text: pl.Expr, label: str, pattern: str, shown: str | None = None) -> pl.Expr:
    """What a pattern finds outside of marked parts becomes its label; marked parts are found first, and stay."""
    shown = f"[{label}]" if shown is None else shown
    named = pattern.replace("((?:1[6-9]|20)", "(?P<year>(?:1[6-9]|20)", 1)
    both = f"(?P<kept>{OPEN}[^{CLOSE}]*{CLOSE})|(?:{named})"
    text = text.str.replace_all(both, f"${{kept}}{BEGIN}{shown}{END}")
    # a marked part is followed by what was put there in vain
    text = text.str.replace_all(f"{CLOSE}{BEGIN}[^{END}]*{END}", CLOSE)
    return text.str.replace_all(f"[{BEGIN}{END}]", "")


@dataclass(frozen=True, slots=True)
class _Redacted:
    chosen: Redact

    def __call__(self, values: pl.Series) -> pl.Series:
        texts = values
        if self.chosen.engine == "presidio":
            find = recognizer(self.chosen.language)
            texts = pl.Series(values.name, [find(text) for text in values.to_list()], pl.String)
        return self._until_done(texts, MOST_PASSES)

    def _until_done(self, texts: pl.Series, passes: int) -> pl.Series:
        """Texts that another look would not change; only those that the last one changed are looked at again."""
        after = self.chosen.once(texts)
        changed = (after != texts).arg_true()
        if not passes or not len(changed):
            return after
        return after.scatter(changed, self._until_done(after.gather(changed), passes - 1))


@cache
def recognizer(language: str) -> Callable[[str], str]:
    """A text without what presidio finds in it."""
    presidio = require_package("presidio_analyzer", extra="text", purpose=PURPOSE)
    engine: Any = presidio.AnalyzerEngine()

    def redacted(text: str) -> str:
        shown, at = [], 0
        for entity in sorted(engine.analyze(text=text, language=language), key=lambda e: (e.start, -e.end)):
            if entity.start >= at:
                shown += [text[at : entity.start], f"[{entity.entity_type}]"]
            at = max(at, entity.end)  # what overlaps is taken out under one label
        return "".join([*shown, text[at:]])

    return redacted
