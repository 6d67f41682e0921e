"""Benchmarks that print ratios measured in one run; start them with `make bench`."""
