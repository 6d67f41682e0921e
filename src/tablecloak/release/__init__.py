"""One road from a table to a release: prepare, search, publish, write, read back, recount, document."""
