"""Tables about people who do not exist: hospital patients and a census of any size."""

from tablecloak.sample.census import census, census_policy, census_to_file
from tablecloak.sample.patients import patients, patients_policy, write_patients

__all__ = ["census", "census_policy", "census_to_file", "patients", "patients_policy", "write_patients"]
