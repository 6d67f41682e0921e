"""Classes with sensitive values spread like those of the table: dealt out in proportion, or united until they are."""
