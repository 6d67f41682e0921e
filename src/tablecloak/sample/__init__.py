"""Tables about people who do not exist: hospital patients, a census of any size and shopping baskets."""

from tablecloak.sample.baskets import baskets, baskets_policy, write_baskets
from tablecloak.sample.census import census, census_policy, census_to_file
from tablecloak.sample.patients import patients, patients_policy, write_patients

__all__ = [
    "baskets", "baskets_policy", "census", "census_policy", "census_to_file", "patients", "patients_policy",
    "write_baskets", "write_patients",
]  # fmt: skip
