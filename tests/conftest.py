"""Settings of random searches; the folder is on the path, so that tests can import `oracle`, `counted` and `effort`."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# A deadline would be an assertion about time. Where nobody watches, a failure must come back when it is run again.
settings.register_profile("tablecloak", deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True)
settings.load_profile("tablecloak")

EXTENDED = ("test_spark.py", "test_spark_clusters.py")


def pytest_collection_modifyitems(items):
    """Tests that need Spark take minutes on two cores: `make thorough` runs them."""
    for item in items:
        given = item.callspec.params.values() if hasattr(item, "callspec") else ()
        if item.path.name in EXTENDED or any(isinstance(value, str) and value == "spark" for value in given):
            item.add_marker(pytest.mark.extended)
