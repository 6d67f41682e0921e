"""What pages and API offer, without HTTP."""
