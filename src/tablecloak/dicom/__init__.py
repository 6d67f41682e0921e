"""DICOM images: their metadata as a table, and images that carry what was published of it."""

from tablecloak.dicom.export import Exported, export_images
from tablecloak.dicom.image_table import IMAGE, Images, read_images
from tablecloak.dicom.tag_roles import image_profile

__all__ = ["IMAGE", "Exported", "Images", "export_images", "image_profile", "read_images"]
