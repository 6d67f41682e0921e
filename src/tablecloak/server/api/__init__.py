"""Routes of the REST API; they only translate between HTTP and services."""
