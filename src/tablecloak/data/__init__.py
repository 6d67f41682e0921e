"""Tables as codes: domains, packed tuples, published labels."""
