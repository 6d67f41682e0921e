"""The secret of a run reaches no file and no screen, in no spelling."""

from __future__ import annotations

import base64
import pickle

import pytest

from tablecloak.cli.main import main
from tablecloak.policy.load import load_policy
from tablecloak.policy.secrets import secret_of
from tablecloak.release.plan import make_plan
from tablecloak.rng import Secret

pytestmark = pytest.mark.slow

MATERIAL = "c4f1a6b2093d7e58ac4410f9e2d7b36585aa17cc02e9f4d1b86f305e7d92ba31"
POLICY = """
input: people.csv
columns: {age: quasi, city: quasi, illness: sensitive}
goals: [{model: l-diversity, l: 2}]
algorithm: %s
secret: %s
output: {path: out.csv, report: report.html, certificate: certificate.json%s}
"""


def spellings(material):
    """The secret, its key and a derived key: raw, hexadecimal and in base64."""
    secret = Secret.of(material.encode())
    raw = [bytes.fromhex(material), secret.key, *(secret.derived(n) for n in ("rows", "groups", "ring"))]
    texts = [form for r in raw for form in (r, r.hex().encode(), r.hex().upper().encode(), base64.b64encode(r)[:40])]
    return [*texts, material.encode()]


@pytest.mark.parametrize("kind", ["anatomy", "slicing", "auto", "k-member"])
@pytest.mark.parametrize("place", ["env", "file"])
def test_no_output_of_a_run_holds_the_secret(tmp_path, monkeypatch, capsys, kind, place):
    monkeypatch.setenv("HIDING", MATERIAL)
    (tmp_path / "hiding").write_text(MATERIAL)
    (tmp_path / "hiding").chmod(0o600)
    rows = [f"{20 + i % 9},{'abc'[i % 3]},{['flu', 'ulcer', 'cold'][i * 7 % 3]}" for i in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["age,city,illness", *rows]) + "\n")
    recoding = "" if kind in ("anatomy", "slicing") else ", recoding: recoding.json"
    named = "{env: HIDING}" if place == "env" else "{file: hiding}"
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY % (kind, named, recoding))
    assert main(["run", str(policy)]) == 0
    assert main(["run", str(policy), "--force", "--json"]) == 0
    assert main(["run", str(policy)]) != 0  # the output exists
    assert main(["check", str(policy)]) == 0
    said = "".join(capsys.readouterr())
    written = [p for p in tmp_path.rglob("*") if p.is_file() and p.name not in ("hiding", "recoding.json")]
    assert len(written) >= 5
    for form in spellings(MATERIAL):
        assert form not in said.encode()
        assert [p.name for p in written if form in p.read_bytes()] == []


def test_a_plan_does_not_show_its_secret(tmp_path):
    (tmp_path / "hiding").write_text(MATERIAL)
    (tmp_path / "policy.yaml").write_text(POLICY % ("anatomy", "{file: hiding}", ""))
    policy = load_policy(tmp_path / "policy.yaml")
    plan = make_plan(policy, ["age", "city", "illness"], secret=secret_of(policy))
    shown = f"{plan!r} {plan} {policy!r}"
    assert plan.secret == Secret.of(MATERIAL.encode())
    assert not any(form.decode("latin-1") in shown for form in spellings(MATERIAL))
    assert pickle.loads(pickle.dumps(plan.secret)) == plan.secret  # workers need it


def test_a_kept_secret_makes_a_run_repeatable(tmp_path, monkeypatch):
    rows = [f"{20 + i % 9},{'abc'[i % 3]},{['flu', 'ulcer', 'cold'][i * 7 % 3]}" for i in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["age,city,illness", *rows]) + "\n")
    (tmp_path / "policy.yaml").write_text(POLICY % ("anatomy", "{env: HIDING}", ""))
    releases = []
    for material in (MATERIAL, MATERIAL, MATERIAL[::-1]):
        monkeypatch.setenv("HIDING", material)
        assert main(["run", str(tmp_path / "policy.yaml"), "--force", "--quiet"]) == 0
        releases.append(sorted((tmp_path / "out.csv").read_text().splitlines()))
    assert releases[0] == releases[1] != releases[2]
