"""The engine `duckdb`: tables that do not fit memory, read and written as streams, their rows as packed keys in files.

DuckDB groups and sorts what has to be grouped and sorted under a hard limit of memory.
"""
