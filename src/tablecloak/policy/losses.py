"""Losses that an algorithm cannot minimise, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pydantic_core import InitErrorDetails

from tablecloak import registry
from tablecloak.algorithms.base import Algorithm
from tablecloak.metrics.distributions import DISTRIBUTION_METRICS
from tablecloak.policy.problems import fault


def refused_loss(name: str, cls: type[Algorithm], params: Mapping[str, Any]) -> InitErrorDetails | None:
    """What is wrong with the loss that an algorithm is given, if it is one that people may expect to work."""
    if "loss" not in params:
        return None
    takers = [n for n, c in registry.known("algorithms").items() if _takes_loss(c)]
    if not _takes_loss(cls):
        text = f"{name} has no choice of loss" + (f": it minimises {cls.minimizes}" if cls.minimizes else "")
        return fault(("loss",), text, hint=f"a loss is a choice of {', '.join(takers)}", is_key=True)
    if params["loss"] in DISTRIBUTION_METRICS:
        text = f"{params['loss']} compares the distributions of whole columns, so no single cut or class has a price"
        return fault(
            ("loss",), text, hint="choose a metric of cells or classes; this one is measured by: tablecloak compare"
        )
    return None


def _takes_loss(cls: type) -> bool:
    return any(f.name == "loss" for f in fields(cls))
