"""Sets of items: files of sets and tables with a column of sets, from a policy to a recounted release."""

from tablecloak.baskets.apply import apply_to_sets
from tablecloak.baskets.finished import verify_set_file, verify_set_frame
from tablecloak.baskets.plan import has_sets
from tablecloak.baskets.recoding import is_item_recoding
from tablecloak.baskets.release import SetRelease
from tablecloak.baskets.run import anonymize_sets, check_sets, run_sets

__all__ = [
    "SetRelease",
    "anonymize_sets",
    "apply_to_sets",
    "check_sets",
    "has_sets",
    "is_item_recoding",
    "run_sets",
    "verify_set_file",
    "verify_set_frame",
]
