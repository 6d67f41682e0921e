"""The policy key `secret`: a place, never the secret itself; enough bytes of it; nobody else reads it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tablecloak.engines.run_folder import RunFolder
from tablecloak.errors import IncompatibleChoice, PolicyError
from tablecloak.policy.load import dump_policy, parse_policy
from tablecloak.policy.schema import Policy
from tablecloak.policy.secrets import is_public, secret_of
from tablecloak.rng import Secret

HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
PLAIN = "columns: {age: quasi}\ngoals: [{model: k-anonymity, k: 2}]\n"


def policy(secret: str, base: Path = Path()) -> Policy:
    return parse_policy(f"{PLAIN}secret: {secret}\n", name="policy.yaml", base=base)


@pytest.mark.parametrize(
    "written", [HEX, f'"{HEX}"', f"[{HEX}]", f"{{value: {HEX}}}", f"{{env: A, key: {HEX}}}", "12345678901234567890"]
)
def test_a_literal_secret_is_refused_and_not_repeated(written: str) -> None:
    with pytest.raises(PolicyError, match="a secret must not be written in a policy") as raised:
        policy(written)
    assert "{env: NAME} or {file: PATH}" in str(raised.value)
    assert "policy.yaml:3" in str(raised.value)
    assert HEX not in json.dumps(raised.value.to_dict())
    assert HEX not in str(raised.value)


@pytest.mark.parametrize("written", ["{env: A, file: b}", "{}", "{env: }", "{env: 7}"])
def test_a_secret_has_one_place(written: str) -> None:
    with pytest.raises(PolicyError, match="name one place of the secret"):
        policy(written)


@pytest.mark.fresh_secrets
def test_without_the_key_every_run_has_its_own() -> None:
    plain = parse_policy(PLAIN, name="policy.yaml", base=Path())
    assert secret_of(plain) != secret_of(plain)


def test_the_same_variable_gives_the_same_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIDING", HEX)
    first = secret_of(policy("{env: HIDING}"))
    monkeypatch.setenv("HIDING", f"{HEX}\n")
    assert secret_of(policy("{env: HIDING}")) == first
    monkeypatch.setenv("HIDING", HEX[::-1])
    assert secret_of(policy("{env: HIDING}")) != first


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIDING", raising=False)
    with pytest.raises(PolicyError, match="the variable HIDING is not set"):
        secret_of(policy("{env: HIDING}"))


def test_a_file_is_found_from_the_policy_and_from_where_it_moves(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "hiding").write_bytes(bytes(range(190, 222)))
    found = policy("{file: keys/hiding}", tmp_path)
    moved = found.rebased(tmp_path / "results")
    assert moved.secret is not None
    assert moved.secret.file == "../keys/hiding"
    (tmp_path / "results").mkdir()
    assert secret_of(moved) == secret_of(found)
    assert secret_of(parse_policy(dump_policy(moved), name="p", base=tmp_path / "results")) == secret_of(found)


@pytest.mark.parametrize(
    ("material", "reason"),
    [(b"hunter2", "7 bytes, 32 are needed"), (HEX[:32].encode(), "16 bytes"), (b"ab" * 40, "40 bytes|not random"),
     (b"xyxz" * 20, "not random"), (b"", "0 bytes"), (b" " * 50, "0 bytes")],
)  # fmt: skip
def test_weak_material_is_refused_with_a_way_to_draw_better(tmp_path: Path, material: bytes, reason: str) -> None:
    (tmp_path / "hiding").write_bytes(material)
    with pytest.raises(PolicyError, match=reason) as raised:
        secret_of(policy("{file: hiding}", tmp_path))
    assert "secrets.token_hex(32)" in str(raised.value)


def test_a_file_that_others_may_read_is_public(tmp_path: Path) -> None:
    (tmp_path / "hiding").write_bytes(bytes(range(190, 222)))
    found = policy("{file: hiding}", tmp_path)
    (tmp_path / "hiding").chmod(0o600)
    assert not is_public(found)
    for mode in (0o640, 0o604):
        (tmp_path / "hiding").chmod(mode)
        assert is_public(found)
    assert not is_public(policy("{env: HIDING}"))


def test_a_resumed_run_goes_on_with_its_secret(tmp_path: Path) -> None:
    first, second = Secret.of(b"first"), Secret.of(b"second")
    begun = RunFolder.of_run(tmp_path / "out.csv", None, {}, [], resume=False)
    assert begun.remembered(first, is_new=True) == first
    assert begun.path.joinpath("secret").stat().st_mode & 0o777 == 0o600
    begun._folder.release()  # as when its process is killed
    resumed = RunFolder.of_run(tmp_path / "out.csv", None, {}, [], resume=True)
    assert resumed.remembered(second, is_new=True) == first
    with pytest.raises(IncompatibleChoice, match="the secret changed"):
        resumed.remembered(second, is_new=False)
    resumed._folder.release()
    anew = RunFolder.of_run(tmp_path / "out.csv", None, {}, [], resume=False)
    assert anew.remembered(second, is_new=True) == second
    anew.discard()
