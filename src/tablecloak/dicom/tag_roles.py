"""Roles of tags: what PS3.15 says about each, and what people know about each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from tablecloak.data.table import Role
from tablecloak.dicom.image_table import IMAGE
from tablecloak.profile.profile import ColumnProfile, Profile, inspect_frame
from tablecloak.profile.roles import Advice
from tablecloak.profile.uniqueness import risk_of_frame

_IDENTIFIERS = """
PatientName OtherPatientNames OtherPatientIDs IssuerOfPatientID PatientBirthName PatientMotherBirthName PatientAddress
PatientTelephoneNumbers MedicalRecordLocator MilitaryRank BranchOfService AccessionNumber StudyID AdmissionID
InstitutionName InstitutionAddress InstitutionalDepartmentName ReferringPhysicianName ReferringPhysicianAddress
ReferringPhysicianTelephoneNumbers PhysiciansOfRecord PerformingPhysicianName NameOfPhysiciansReadingStudy
OperatorsName RequestingPhysician RequestingService StationName DeviceSerialNumber ResponsiblePerson
ResponsibleOrganization CurrentPatientLocation PatientInstitutionResidence PerformedProcedureStepID
ScheduledProcedureStepID RequestedProcedureID PerformedStationName PerformedLocation
""".split()  # noqa: SIM905
_QUASI = """
PatientSex PatientAge PatientBirthDate PatientSize PatientWeight EthnicGroup StudyDate CountryOfResidence
RegionOfResidence Occupation SmokingStatus PregnancyStatus PatientReligiousPreference
""".split()  # noqa: SIM905
_KNOWN: Mapping[str, tuple[Role, str]] = {
    IMAGE: (Role.KEEP, "names the image that is exported with this row"),
    "PatientID": (Role.PERSON, "several images may be of one person"),
    "Modality": (Role.KEEP, "how the image was made"),
    **dict.fromkeys(_IDENTIFIERS, (Role.IDENTIFIER, "PS3.15 removes it")),
    **dict.fromkeys(_QUASI, (Role.QUASI, "others may know it")),
}
_UNKNOWN = (Role.DROP, "not known to be harmless")
FEWEST_PARTS = 3  # different values of a sensitive column below which no group can be mixed


def image_profile(frame: pl.DataFrame) -> Profile:
    """The profile of a table of images, with the roles that tags have; what is not known is left out."""
    profile = inspect_frame(frame)
    names = set(frame.columns)
    columns = tuple(replace(column, advice=_advice(column, names), evidence=()) for column in profile.columns)
    changed = replace(profile, columns=columns, sets=(), telling=())
    return replace(changed, risk=risk_of_frame(frame, changed.quasi) if changed.quasi else None)


def _advice(column: ColumnProfile, names: set[str]) -> Advice:
    name, n_values = column.name, column.column.n_distinct
    role, reason = _KNOWN.get(name, _UNKNOWN)
    if name == "BodyPartExamined":
        role = Role.SENSITIVE if n_values >= FEWEST_PARTS else Role.KEEP
        reason = "tells what somebody was examined for"
    if name == "PatientBirthDate" and "PatientAge" in names:
        role, reason = Role.DROP, "the age is enough"
    if role is Role.QUASI and n_values == 0:
        role, reason = Role.DROP, "every cell is empty"
    return Advice(role, reason, "tag" if name != IMAGE else "number of the image")
