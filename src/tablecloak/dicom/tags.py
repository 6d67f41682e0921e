"""Tags of DICOM: which stay, which are emptied, which get new UIDs. What is not named here does not stay.

Reference: DICOM PS3.15, Security and System Management Profiles, Annex E: Basic Application Level Confidentiality
Profile. It lists what must go; here is listed what may stay, so that a tag nobody thought of goes, too.
"""

from __future__ import annotations

# What is needed to show and measure the pixels, and what the machine was set to: numbers and fixed words, no text.
TECHNICAL = frozenset(
    """
    SOPClassUID ImageType Modality LossyImageCompression LossyImageCompressionRatio LossyImageCompressionMethod
    SamplesPerPixel PhotometricInterpretation PlanarConfiguration NumberOfFrames Rows Columns PixelSpacing
    PixelAspectRatio BitsAllocated BitsStored HighBit PixelRepresentation SmallestImagePixelValue LargestImagePixelValue
    PixelPaddingValue PixelPaddingRangeLimit WindowCenter WindowWidth VOILUTFunction RescaleIntercept RescaleSlope
    RescaleType PresentationLUTShape RedPaletteColorLookupTableDescriptor GreenPaletteColorLookupTableDescriptor
    BluePaletteColorLookupTableDescriptor RedPaletteColorLookupTableData GreenPaletteColorLookupTableData
    BluePaletteColorLookupTableData PixelIntensityRelationship PixelIntensityRelationshipSign ImagerPixelSpacing
    FrameIncrementPointer FrameTime PixelData FloatPixelData DoubleFloatPixelData
    InstanceNumber SeriesNumber AcquisitionNumber ImagePositionPatient ImageOrientationPatient SliceLocation
    PatientPosition PatientOrientation Laterality ImageLaterality ViewPosition
    SliceThickness SpacingBetweenSlices KVP DataCollectionDiameter ReconstructionDiameter DistanceSourceToDetector
    DistanceSourceToPatient GantryDetectorTilt TableHeight ExposureTime XRayTubeCurrent Exposure ExposureInuAs
    ScanningSequence SequenceVariant ScanOptions MRAcquisitionType RepetitionTime EchoTime InversionTime
    NumberOfAverages ImagingFrequency EchoNumbers MagneticFieldStrength NumberOfPhaseEncodingSteps EchoTrainLength
    PercentSampling PercentPhaseFieldOfView PixelBandwidth FlipAngle AcquisitionMatrix InPlanePhaseEncodingDirection
    """.split()  # noqa: SIM905
)

# Replaced by others that fit together: two images of one series are still of one series.
NEW_UIDS = frozenset({"SOPInstanceUID", "StudyInstanceUID", "SeriesInstanceUID", "FrameOfReferenceUID"})

# Tags that an image must have, though nothing needs to stand in them (type 2); the profile says Z.
EMPTIED = (
    "PatientName",
    "PatientID",
    "PatientBirthDate",
    "PatientSex",
    "AccessionNumber",
    "ReferringPhysicianName",
    "StudyDate",
    "StudyTime",
    "StudyID",
)
