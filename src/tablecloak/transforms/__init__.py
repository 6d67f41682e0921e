"""What becomes of single columns: covered, replaced by pseudonyms, made coarser, perturbed; one file for each kind."""
