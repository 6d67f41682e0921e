"""Sets of items: files of sets and tables with a column of sets."""
