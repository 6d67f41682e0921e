"""What can be counted of releases and tables: facts for reports, comparisons, attacks."""
