"""The steps of V-KLT: buckets of rows, and exchanges of rows between them.

A bucket is a label with an ordered list of rows; an exchange swaps two rows in place and nothing else changes. Ties go
to the earlier label, then to the earlier place.
Reference: El Ouazzani, Novel anonymization approaches ensuring privacy, thesis, Mohammed V University, Rabat, 2021.
"""
