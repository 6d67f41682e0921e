"""The local engine: tables in memory, polars for files and columns, numpy and compiled kernels for codes."""
