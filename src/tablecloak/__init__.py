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
    from tablecloak import sample
    from tablecloak.algorithms.mondrian import Mondrian
    from tablecloak.attacking import attack_frames as attack
    from tablecloak.comparison import compare_frames as compare
    from tablecloak.errors import (
        CloakError,
        DataError,
        GoalNotMet,
        IncompatibleChoice,
        Infeasible,
        PolicyError,
    )
    from tablecloak.exploration import explore
    from tablecloak.hierarchy.files import read_hierarchy
    from tablecloak.hierarchy.hierarchy import Hierarchy
    from tablecloak.models.k_anonymity import KAnonymity
    from tablecloak.models.l_diversity import LDiversity
    from tablecloak.models.t_closeness import TCloseness
    from tablecloak.pipeline import anonymize, check, run
    from tablecloak.pipeline import apply_file as apply
    from tablecloak.pipeline import verify_frame as verify
    from tablecloak.policy.load import load_policy
    from tablecloak.policy.schema import Policy
    from tablecloak.profile.profile import inspect_frame as inspect
    from tablecloak.profile.starter import suggest_policy
    from tablecloak.quick import is_valid_generalisation, risk, roles
    from tablecloak.release import VerifiedRelease

__version__ = "0.1.0"

__all__ = [
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
    "anonymize",
    "apply",
    "attack",
    "check",
    "compare",
    "explore",
    "inspect",
    "is_valid_generalisation",
    "load_policy",
    "read_hierarchy",
    "risk",
    "roles",
    "run",
    "sample",
    "suggest_policy",
    "verify",
]

# Where each public name lives; it is imported when first used, so that `import tablecloak` costs next to nothing.
_HOMES = {
    "CloakError": "errors",
    "DataError": "errors",
    "GoalNotMet": "errors",
    "Hierarchy": "hierarchy.hierarchy",
    "IncompatibleChoice": "errors",
    "Infeasible": "errors",
    "KAnonymity": "models.k_anonymity",
    "LDiversity": "models.l_diversity",
    "Mondrian": "algorithms.mondrian",
    "Policy": "policy.schema",
    "PolicyError": "errors",
    "TCloseness": "models.t_closeness",
    "VerifiedRelease": "release",
    "anonymize": "pipeline",
    "apply": "pipeline:apply_file",
    "attack": "attacking:attack_frames",
    "check": "pipeline",
    "compare": "comparison:compare_frames",
    "explore": "exploration",
    "inspect": "profile.profile:inspect_frame",
    "is_valid_generalisation": "quick",
    "load_policy": "policy.load",
    "read_hierarchy": "hierarchy.files",
    "risk": "quick",
    "roles": "quick",
    "run": "pipeline",
    "suggest_policy": "profile.starter",
    "verify": "pipeline:verify_frame",
}


def __getattr__(name: str) -> Any:
    if name == "sample":
        return importlib.import_module("tablecloak.sample")
    if name not in _HOMES:
        raise AttributeError(f"module 'tablecloak' has no attribute '{name}'")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(importlib.import_module(f"tablecloak.{module}"), attribute or name)
