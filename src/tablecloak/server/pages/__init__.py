"""Routes of the pages; they only translate between HTTP and services."""
