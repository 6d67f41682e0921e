"""DICOM images: their metadata as a table, and images that carry what was published of it."""

from tablecloak.imaging.export import Exported, export_images
from tablecloak.imaging.roles import image_profile
from tablecloak.imaging.table import IMAGE, Images, read_images

__all__ = ["IMAGE", "Exported", "Images", "export_images", "image_profile", "read_images"]
