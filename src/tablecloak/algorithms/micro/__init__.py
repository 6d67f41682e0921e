"""Microaggregation: records as points, clusters of similar ones, and the centers that stand for them."""
