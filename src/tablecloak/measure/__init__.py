"""What people ask about releases and tables: comparisons, attacks, risk, and which variant of a policy to take."""
