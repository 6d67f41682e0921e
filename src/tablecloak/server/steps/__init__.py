"""The screens of the app: what a page shows, what it offers, and what happens to data for it."""
