"""One pass over the records, which may be kept on disk: each is dealt to a pile when it comes."""
