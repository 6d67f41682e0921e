"""Variations of a policy: `k=2..20` or `algorithm=mondrian,auto` become one changed policy for every combination."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from itertools import product
from typing import Any

from tablecloak.errors import PolicyError
from tablecloak.policy.load import dump_policy, parse_policy
from tablecloak.policy.schema import Policy
from tablecloak.registry import find

MOST = 500
_NUMBER = r"[+-]?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?::({_NUMBER}))?")


@dataclass(frozen=True, slots=True)
class Axis:
    """One thing that varies, with its values as they are written in a policy."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """A changed policy and what was changed."""

    changes: Mapping[str, str]
    policy: Policy


def parse_axis(text: str) -> Axis:
    """Read `name=values`: `k=2..20`, `k=2..50:4` (in steps of 4), `t=0.1,0.2` or `algorithm=mondrian,auto`."""
    name, equals, listed = text.partition("=")
    if not equals or not name.strip() or not listed.strip():
        raise PolicyError(
            f"--vary {text} names no values", hint="write --vary k=2..20 or --vary algorithm=mondrian,auto"
        )
    values = [value for part in listed.split(",") for value in _values(part.strip(), text)]
    return Axis(name.strip(), tuple(dict.fromkeys(values)))


def axis_of(name: str, values: Any) -> Axis:
    """The same from Python: a range, a list or one value."""
    listed = values if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    distinct = tuple(dict.fromkeys(value if isinstance(value, str) else json.dumps(value) for value in listed))
    if not distinct:
        raise PolicyError(f"no values are given for {name}", hint=f"{name}=range(2, 21)")
    return Axis(name, distinct)


def _values(part: str, text: str) -> list[str]:
    match = _RANGE.fullmatch(part)
    if not match:
        return [part] if part else []
    first, last, step = (Decimal(group) if group else None for group in match.groups())
    assert first is not None
    assert last is not None
    step = step or _default_step(first, last)
    if step <= 0 or last < first:
        raise PolicyError(f"--vary {text}: {part} is an empty range", hint="write the smaller number first")
    n_steps = int((last - first) / step)
    if n_steps >= MOST:
        raise PolicyError(f"--vary {text} has more than {MOST} values", hint=f"take larger steps: {part}:STEP")
    return [str(first + i * step) for i in range(n_steps + 1)]


def _default_step(first: Decimal, last: Decimal) -> Decimal:
    """1, or one unit of the last decimal that is written."""
    places = [int(number.as_tuple().exponent) for number in (first, last)]
    return Decimal(1).scaleb(min(0, *places))


def variants(policy: Policy, axes: Sequence[Axis]) -> list[Variant]:
    """Every combination of the values, in their order.

    `algorithm` stands for its kind, and a parameter such as `k` for that of every goal that has it; any other name is a
    place in the policy, such as `goals.1.l` or `algorithm.suppression_limit`.
    """
    n = 1
    for axis in axes:
        n *= len(axis.values)
    if n > MOST:
        raise PolicyError(f"{n:,} combinations are too many", hint=f"at most {MOST}; vary fewer values")
    # algorithms first, so that their settings are changed afterwards
    ordered = sorted(axes, key=lambda axis: axis.name != "algorithm")
    text = dump_policy(policy)
    variants = []
    for values in product(*(axis.values for axis in axes)):
        changes = dict(zip((axis.name for axis in axes), values, strict=True))
        overrides = [o for axis in ordered for o in _overrides(policy, axis.name, changes[axis.name])]
        variants.append(Variant(changes, parse_policy(text, name="the policy", base=policy.base, overrides=overrides)))
    return variants


def _overrides(policy: Policy, name: str, value: str) -> list[str]:
    if name == "algorithm":
        return [f"algorithm={json.dumps(_algorithm(policy, value))}"]
    if "." in name or name in Policy.model_fields:
        return [f"{name}={value}"]
    places = [i for i, goal in enumerate(policy.goals) if name in {f.name for f in fields(goal)}]
    if not places:
        goals = ", ".join(goal.name for goal in policy.goals)
        raise PolicyError(f"no goal has a parameter '{name}'", hint=f"goals of the policy: {goals}")
    return [f"goals.{i}.{name}={value}" for i in places]


def _algorithm(policy: Policy, kind: str) -> dict[str, Any]:
    """An algorithm with the suppression limit of the policy where it knows one; the policy's own stays as it is."""
    cls = find("algorithms", kind)
    own = policy.algorithm
    if own.name == kind:
        parameters = {f.name: getattr(own, f.name) for f in fields(own)}
        return {
            "kind": kind,
            **{name: value for name, value in parameters.items() if isinstance(value, str | int | float)},
        }
    limit = own.suppression_limit
    knows_it = "suppression_limit" in {f.name for f in fields(cls)}
    return {"kind": kind, **({"suppression_limit": limit} if limit and knows_it else {})}
