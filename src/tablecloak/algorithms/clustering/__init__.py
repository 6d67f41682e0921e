"""Clustering algorithms: records that are alike form clusters, and clusters that fail the goal are united."""
