"""Policy files: YAML in, a checked Policy out, every complaint with path:line:column."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedBase, CommentedMap, CommentedSeq, TaggedScalar
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from tablecloak.errors import PolicyError
from tablecloak.policy import problems
from tablecloak.policy.overrides import Override, apply, parse
from tablecloak.policy.problems import InvalidPolicyError, PolicyProblem
from tablecloak.policy.schema import Policy

# Aliases can make a short file stand for an endless document.
MOST_NODES = 300_000


def load_policy(path: str | Path, overrides: Sequence[str] = ()) -> Policy:
    """Read a policy file; overrides are `goals.0.k=10` with YAML values.

    Raises:
        PolicyError: the file cannot be read, is not YAML, or does not describe a policy.
    """
    policy = parse_policy(_read(Path(path)), name=str(path), base=Path(path).parent, overrides=overrides)
    return policy.from_file(Path(path))


def parse_policy(text: str, *, name: str, base: Path, overrides: Sequence[str] = ()) -> Policy:
    """The policy written in `text`; `name` is what complaints call it."""
    document = _document(text, name)
    changes = [parse(o) for o in overrides]
    for change in changes:
        apply(document, change)
    try:
        return Policy.model_validate(_plain(document, name)).at(base)
    except InvalidPolicyError as error:
        raise InvalidPolicyError(_located(error.problems, document, name, changes)) from None


def dump_policy(policy: Policy) -> str:
    """The policy as YAML, without what is default."""
    data = policy.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    data = {"version": policy.version, **{k: v for k, v in data.items() if k != "version"}}
    yaml = YAML()
    yaml.width = 120
    stream = io.StringIO()
    yaml.dump(_styled(data), stream)
    return stream.getvalue()


def json_schema() -> dict[str, Any]:
    """JSON Schema of a policy file, with every model, algorithm and hierarchy kind that is registered now."""
    schema = Policy.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "tablecloak-policy-1.json", **schema}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise PolicyError(f"there is no policy file {path}", hint="tablecloak demo shows a policy that works") from None
    except IsADirectoryError:
        raise PolicyError(f"{path} is a folder, not a policy file") from None
    except UnicodeDecodeError as exc:
        raise PolicyError(f"{path} is not UTF-8 text (byte {exc.start})", hint="save the policy as UTF-8") from None
    except OSError as exc:
        raise PolicyError(f"{path} cannot be read: {exc.strerror}") from exc


def _document(text: str, name: str) -> CommentedMap:
    try:
        document = YAML().load(text)
    except MarkedYAMLError as exc:
        raise _syntax_error(exc, name) from None
    except (YAMLError, ValueError) as exc:
        raise PolicyError(f"{name} is not YAML: {str(exc).splitlines()[0]}") from None
    except RecursionError:
        raise PolicyError(f"{name} is nested too deeply") from None
    if document is None:
        raise PolicyError(f"{name} is empty", hint="a policy needs at least columns and goals")
    if not isinstance(document, CommentedMap):
        raise PolicyError("a policy is a mapping with the keys columns and goals", location=f"{name}:1:1")
    return document


def _syntax_error(exc: MarkedYAMLError, name: str) -> PolicyError:
    mark = exc.problem_mark or exc.context_mark
    location = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
    problem = str(exc.problem or exc.context or "this is not YAML")
    if isinstance(exc, DuplicateKeyError):
        return PolicyError(problem.partition(" with value")[0].replace('"', "'"), hint="remove one", location=location)
    if r"'\t'" in problem:
        return PolicyError("a tab cannot indent YAML", hint="use spaces", location=location)
    return PolicyError(problem, location=location)


def _plain(document: CommentedMap, name: str) -> Any:
    """The document as plain Python values."""
    budget = MOST_NODES

    def convert(node: Any) -> Any:
        nonlocal budget
        budget -= 1
        if budget < 0:
            raise PolicyError(f"{name} is too large", hint=f"at most {MOST_NODES:,} values, aliases written out")
        if isinstance(node, TaggedScalar):
            raise PolicyError(f"{name}: the tag {node.tag.value} is not supported", hint="write the value without it")
        if isinstance(node, Mapping):
            return {key: convert(value) for key, value in node.items()}
        if isinstance(node, list):
            return [convert(value) for value in node]
        return _scalar(node)

    return convert(document)


def _scalar(node: Any) -> Any:
    """ruamel's scalars that remember how they were written, as what they are."""
    if node is None or isinstance(node, bool):
        return node
    return next((kind(node) for kind in (int, float, str) if isinstance(node, kind)), node)


def _located(
    problems: Sequence[PolicyProblem], document: CommentedMap, name: str, changes: Sequence[Override]
) -> list[PolicyProblem]:
    """The problems with their places, in the order of the file; those of the command line come last."""
    placed: list[tuple[tuple[int, int, int], PolicyProblem]] = []
    for problem in problems:
        change = next((c for c in changes if problem.path[: len(c.path)] == c.path), None)
        if change is not None:
            placed.append(((1, 0, 0), replace(problem, location=f"--set {change.text}")))
            continue
        line, column = _position(document, problem.path, is_key=problem.is_key)
        placed.append(((0, line, column), replace(problem, location=f"{name}:{line + 1}:{column + 1}")))
    return [problem for _, problem in sorted(placed, key=lambda pair: pair[0])]


def _position(document: CommentedBase, path: problems.Path, *, is_key: bool) -> tuple[int, int]:
    """Line and column of the deepest step that has a place in the file."""
    node: Any = document
    place = (0, 0)
    for depth, step in enumerate(path):
        here = _step_position(node, step, is_key=is_key and depth == len(path) - 1)
        place = here or place
        try:
            node = node[step]
        except (KeyError, IndexError, TypeError):
            break
    return place


def _step_position(node: Any, step: str | int, *, is_key: bool) -> tuple[int, int] | None:
    if not isinstance(node, CommentedMap | CommentedSeq):
        return None
    # ruamel: line and column of the key, then of the value; a list has only the first two.
    position = (node.lc.data or {}).get(step)
    if position is None:
        return None
    return (position[0], position[1]) if is_key or len(position) == 2 else (position[2], position[3])


def _styled(node: Any, depth: int = 0) -> Any:
    """Mappings and lists below the second level are written on one line."""
    if isinstance(node, Mapping):
        styled: Any = CommentedMap({key: _styled(value, depth + 1) for key, value in node.items()})
    elif isinstance(node, list):
        styled = CommentedSeq([_styled(value, depth + 1) for value in node])
    else:
        return int(node) if isinstance(node, float) and node.is_integer() else node
    if depth >= 2:
        styled.fa.set_flow_style()
    return styled
