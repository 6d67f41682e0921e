"""Settings of random searches; the folder is on the path, so that tests can import `oracle`, `counted` and `effort`."""

from __future__ import annotations

import os

from hypothesis import settings

# A deadline would be an assertion about time. Where nobody watches, a failure must come back when it is run again.
settings.register_profile("tablecloak", deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True)
settings.load_profile("tablecloak")
