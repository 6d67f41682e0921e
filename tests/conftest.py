"""Settings of random searches; the folder is on the path, so that tests can import `oracle`, `counted` and `effort`."""

from __future__ import annotations

import hashlib
import os
from types import SimpleNamespace

import pytest
from hypothesis import settings

import effort

# A deadline would be an assertion about time. Where nobody watches, a failure must come back when it is run again.
settings.register_profile("tablecloak", deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True)
settings.register_profile("fast", settings.get_profile("tablecloak"), max_examples=20)
settings.load_profile("tablecloak")

# They start processes, servers or databases, compile kernels, or follow them in plain Python step by step.
SLOW = {
    "test_api.py",
    "test_auto.py",
    "test_box_search.py",
    "test_browser.py",
    "test_canaries.py",
    "test_chosen_losses.py",
    "test_cluster_kernels.py",
    "test_conformance.py",
    "test_databases.py",
    "test_dealing.py",
    "test_disk_clusters.py",
    "test_explore.py",
    "test_faults.py",
    "test_fuzz.py",
    "test_images.py",
    "test_io_postgres.py",
    "test_jobs.py",
    "test_journey.py",
    "test_kernels.py",
    "test_labels.py",
    "test_losses.py",
    "test_one_attack_one_number.py",
    "test_memory_limits.py",
    "test_odd_files.py",
    "test_persons_conformance.py",
    "test_profile_commands.py",
    "test_profile_starter.py",
    "test_public_figures.py",
    "test_random_cases.py",
    "test_ready.py",
    "test_records.py",
    "test_refine_kernels.py",
    "test_releases.py",
    "test_report_kinds.py",
    "test_robust.py",
    "test_public_documents.py",
    "test_run_commands.py",
    "test_safe_files.py",
    "test_security.py",
    "test_sets.py",
    "test_shards.py",
    "test_sources.py",
    "test_stopping.py",
    "test_utility.py",
    "test_web_canaries.py",
}


@pytest.fixture(autouse=True)
def _one_secret(request, monkeypatch):
    """A failure must come back when it is run again, and two engines must agree: runs of a test share one secret.

    Tests of the secret itself are marked `fresh_secrets`.
    """
    if request.node.get_closest_marker("fresh_secrets") is None:
        known = hashlib.sha256(b"what all tests know").digest()
        monkeypatch.setattr("tablecloak.rng.secrets", SimpleNamespace(token_bytes=lambda n: known[:n]))


def is_fast(config):
    return config.option.markexpr == "not slow"


def pytest_configure(config):
    if is_fast(config):
        settings.load_profile("fast")
        effort.factor = min(effort.factor, 0.5)
        os.environ.setdefault("POLARS_MAX_THREADS", "1")  # tables are tiny, and pytest-xdist uses the processors


def pytest_ignore_collect(collection_path, config):
    """Modules of which nothing would run are not even imported."""
    return True if collection_path.name in SLOW and is_fast(config) else None


def pytest_collection_modifyitems(items):
    """Tests that take seconds each are left to `make test`, so that `make check` ends within two minutes."""
    for item in items:
        if item.path.name in SLOW:
            item.add_marker(pytest.mark.slow)
