"""Full-domain algorithms: all values of a column are generalised to one level; nodes of a lattice are searched."""
