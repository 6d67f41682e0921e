"""Loops over tuples, one file per topic; `dispatch` says how one source runs plain and as machine code."""
