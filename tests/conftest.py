"""Settings of random searches; the folder is on the path, so that tests can import `oracle`, `counted` and `effort`."""

from __future__ import annotations

import hashlib
import os
import re
from types import SimpleNamespace

import pytest
from hypothesis import settings

import effort

# A deadline would be an assertion about time. Where nobody watches, a failure must come back when it is run again.
settings.register_profile(
    "tablecloak", max_examples=effort.often(100), deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True
)
settings.register_profile("fast", settings.get_profile("tablecloak"), max_examples=20)
settings.load_profile("tablecloak")

# Tests that share a session of Spark.
ON_SPARK = re.compile(
    r"^tests/engines/test_(spark|spark_shards|notations)\.py|_on_spark\b|input_that_changes_between_phases"
    r"|^tests/(engines|conformance)/.*\bspark\b"
)
# What takes minutes, the longest first.
LONGEST = [
    ON_SPARK,
    re.compile(r"^tests/web/test_(browser|real_tables|sets_browser)\.py"),
    re.compile(r"^tests/(golden|docs|conformance)/"),
]

# Of a test with more examples, fast suites take some.
MANY = 12

# The line with which a module says that all of its tests are slow.
SLOW_MODULE = re.compile(r"^pytestmark = (\[?\s*(pytest\.mark\.slow|\*?IN_BROWSER)|clusters\.ON_SPARK)\b", re.MULTILINE)


@pytest.fixture(autouse=True)
def _one_secret(request, monkeypatch):
    """A failure must come back when it is run again, and two engines must agree: runs of a test share one secret.

    Tests of the secret itself are marked `fresh_secrets`.
    """
    if request.node.get_closest_marker("fresh_secrets") is None:
        known = hashlib.sha256(b"what all tests know").digest()
        monkeypatch.setattr("tablecloak.rng.secrets", SimpleNamespace(token_bytes=lambda n: known[:n]))


@pytest.fixture(scope="session")
def spark():
    """A session of Spark on this machine, which takes long to start: all tests share it."""
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    import clusters
    from tablecloak.engines.spark import session
    from tablecloak.engines.spark.engine import SparkEngine

    settings = session._settings
    with pytest.MonkeyPatch.context() as patch:
        # who joins the session sets all of them again
        patch.setattr(session, "_settings", lambda *given: {**settings(*given), **clusters.SMALL})
        with pytest.MonkeyPatch.context() as start:
            start.setenv("JDK_JAVA_OPTIONS", clusters.LIGHT)
            engine = SparkEngine("local[2]", memory=1 << 30)
        yield engine
        engine.close()


def is_fast(config):
    return config.option.markexpr == "not slow"


def pytest_addoption(parser):
    parser.addoption("--package", help="only tests of modules that import this package of tablecloak, as in models")


def pytest_configure(config):
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # tables are tiny, and pytest-xdist uses the processors
    if is_fast(config):
        settings.load_profile("fast")


def pytest_xdist_make_scheduler(config, log):
    """One process runs all tests of a module, whose fixtures are then made once, and one all tests on Spark.

    The scheduler of xdist looks at all units of work after each test, so thousands of units would cost half a minute.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "spark" if ON_SPARK.search(nodeid) else nodeid.partition("::")[0]

    config.option.loadscopereorder = False  # they come in the order in which they are collected
    return Scheduler(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """What takes long comes first, so that no process is left with it when the other has ended."""
    if is_fast(config):
        items[:] = without_many_examples(config, items)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (*(not long.search(item.nodeid) for long in LONGEST), item.path not in slow))


def without_many_examples(config, items):
    """Every fourth example of tests that have more than a dozen; always the same ones, as every process must agree."""
    examples = {}
    for nodeid in sorted(item.nodeid for item in items):
        examples.setdefault(nodeid.partition("[")[0], []).append(nodeid)
    kept = {nodeid for ids in examples.values() for nodeid in ids[:: 4 if len(ids) > MANY else 1]}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
    return [item for item in items if item.nodeid in kept]


def pytest_ignore_collect(collection_path, config):
    """Modules of which nothing would run are not even imported: `make check` is to end within minutes."""
    if not collection_path.match("test_*.py"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    is_of_others = config.option.package is not None and not speaks_of(config.option.package, text)
    return True if is_of_others or (is_fast(config) and SLOW_MODULE.search(text)) else None


def speaks_of(package, text):
    """Whether a module of tests imports a package, or says so in the place of one."""
    return re.search(rf"\btablecloak(\.| import (\w+, )*){package}\b", text) is not None
