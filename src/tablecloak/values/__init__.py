"""Values as they are published: the grammar of cells, bounds that say nothing of anybody, and amounts people write."""
