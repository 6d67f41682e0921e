"""tablecloak: share tables about people without exposing anyone.

>>> import tablecloak as tc
>>> roles = tc.roles(quasi=["birth_date", "sex", "zip"], sensitive=["diagnosis"], identifier=["name", "ssn"])
>>> policy = tc.Policy(columns=roles, goals=[tc.KAnonymity(k=5)])
>>> release = tc.anonymize(tc.sample.patients(), policy)
>>> release.report.verification.holds
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tablecloak import algorithms, attacks, metrics, models, sample, transforms
    from tablecloak.algorithms.topdown.mondrian import Mondrian
    from tablecloak.api import (
        Anonymizer,
        codebook,
        inspect,
        is_valid_generalisation,
        read_release,
        risk,
        roles,
        verify,
    )
    from tablecloak.errors import (
        CloakError,
        DataError,
        GoalNotMet,
        IncompatibleChoice,
        Infeasible,
        PolicyError,
    )
    from tablecloak.hierarchy.hierarchy import Hierarchy
    from tablecloak.hierarchy.hierarchy_files import read_hierarchy
    from tablecloak.measure.advise import advise
    from tablecloak.measure.attack import attack
    from tablecloak.measure.compare import compare
    from tablecloak.measure.explore import explore
    from tablecloak.measure.minimal import is_minimal
    from tablecloak.models.k_anonymity import KAnonymity
    from tablecloak.models.l_diversity import LDiversity
    from tablecloak.models.t_closeness import TCloseness
    from tablecloak.pipeline import anonymize, check, run
    from tablecloak.policy.load import load_policy
    from tablecloak.policy.schema import Policy
    from tablecloak.profile.starter import suggest_policy
    from tablecloak.release.apply import apply_file as apply
    from tablecloak.release.verified import VerifiedRelease

__version__ = "0.1.0"

__all__ = [
    "Anonymizer",
    "CloakError",
    "DataError",
    "GoalNotMet",
    "Hierarchy",
    "IncompatibleChoice",
    "Infeasible",
    "KAnonymity",
    "LDiversity",
    "Mondrian",
    "Policy",
    "PolicyError",
    "TCloseness",
    "VerifiedRelease",
    "__version__",
    "advise",
    "algorithms",
    "anonymize",
    "apply",
    "attack",
    "attacks",
    "check",
    "codebook",
    "compare",
    "explore",
    "inspect",
    "is_minimal",
    "is_valid_generalisation",
    "load_policy",
    "metrics",
    "models",
    "read_hierarchy",
    "read_release",
    "risk",
    "roles",
    "run",
    "sample",
    "suggest_policy",
    "transforms",
    "verify",
]

# Where each public name lives; it is imported when first used, so that `import tablecloak` costs next to nothing.
_HOMES = {
    "Anonymizer": "api",
    "CloakError": "errors",
    "DataError": "errors",
    "GoalNotMet": "errors",
    "Hierarchy": "hierarchy.hierarchy",
    "IncompatibleChoice": "errors",
    "Infeasible": "errors",
    "KAnonymity": "models.k_anonymity",
    "LDiversity": "models.l_diversity",
    "Mondrian": "algorithms.topdown.mondrian",
    "Policy": "policy.schema",
    "PolicyError": "errors",
    "TCloseness": "models.t_closeness",
    "VerifiedRelease": "release.verified",
    "advise": "measure.advise",
    "anonymize": "pipeline",
    "apply": "pipeline:apply_file",
    "attack": "measure.attack",
    "check": "pipeline",
    "codebook": "api",
    "compare": "measure.compare",
    "explore": "measure.explore",
    "inspect": "api",
    "is_minimal": "measure.minimal",
    "is_valid_generalisation": "api",
    "load_policy": "policy.load",
    "read_hierarchy": "hierarchy.hierarchy_files",
    "read_release": "api",
    "risk": "api",
    "roles": "api",
    "run": "pipeline",
    "suggest_policy": "profile.starter",
    "verify": "api",
}
_ROOMS = ("algorithms", "attacks", "metrics", "models", "sample", "transforms")


def __dir__() -> list[str]:
    return list(__all__)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"tablecloak.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'tablecloak' has no attribute '{name}'")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(importlib.import_module(f"tablecloak.{module}"), attribute or name)
