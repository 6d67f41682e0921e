"""Columns, their types and their roles."""

from __future__ import annotations

import enum


class ColumnType(enum.StrEnum):
    """What a column's cells are."""

    INTEGER = "integer"
    FLOAT = "float"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"
    TEXT = "text"

    @property
    def is_ordered(self) -> bool:
        """Values lie on a line, so an interval of them means something."""
        return self in (ColumnType.INTEGER, ColumnType.FLOAT, ColumnType.DATE, ColumnType.DATETIME)


class Role(enum.StrEnum):
    """What a column means for privacy."""

    IDENTIFIER = "identifier"  # names one person: dropped or replaced by *
    QUASI = "quasi"  # identifies in combination: generalised
    SENSITIVE = "sensitive"  # what must not be learned about a person: published, models judge it
    PERSON = "person"  # key of a person who may have several rows: never published
    ITEMS = "items"  # a set of items
    WEIGHT = "weight"  # how many people of the population a record stands for: published, models and losses count it
    KEEP = "keep"  # published unchanged
    DROP = "drop"  # not published


class Order(enum.StrEnum):
    """The order in which rows are published."""

    CONTENT = "content"  # sorted by what is published of them
    RANDOM = "random"  # drawn by the secret
    KEEP = "keep"  # that of the input, which may tell whose rows they are
