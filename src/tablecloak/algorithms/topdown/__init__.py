"""Top-down algorithms: the table is one class, or hidden altogether, and is cut or exposed while the goal holds."""
