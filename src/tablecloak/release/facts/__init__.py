"""What is counted of a recounted release on the way: what reports draw, what attackers reach, what may be public."""
