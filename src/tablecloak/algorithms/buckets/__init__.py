"""Groups of rows between which, or inside which, values change places.

Some publish exact cells and cut the link to sensitive values inside a group (anatomy, permutation, slicing, swapping,
V-COLD); the other steps of V-KLT exchange rows between buckets and give each bucket common quasi-identifiers. A bucket
of these is a label with an ordered list of rows; an exchange swaps two rows in place and nothing else changes, and ties
go to the earlier label, then to the earlier place.
Reference: El Ouazzani, Novel anonymization approaches ensuring privacy, thesis, Mohammed V University, Rabat, 2021.
"""
