"""What is handed over beside a release confirms no guess: the attacker has it all, and every record but one cell."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest

from tablecloak.cli.main import main

pytestmark = pytest.mark.slow
TABLE = """
input: input.csv
columns: {name: identifier, age: quasi, sex: quasi, illness: sensitive, income: drop}
goals: [{model: l-diversity, l: 2}]
algorithm: %s
output: {path: out.csv, report: report.html, certificate: certificate.json%s}
"""
SETS = """
input: {path: input.csv, format: sets, delimiter: ";"}
columns: {items: items}
goals: [{model: km-anonymity, k: 3, m: 2}]
algorithm: {kind: apriori, suppression_limit: 0.2}
output: {path: out.csv, report: report.html, certificate: certificate.json, recoding: recoding.json}
"""
KINDS = ["auto", "flash", "anatomy", "sets"]
AGE, INCOME = 1, 4


def policy_of(kind):
    recoding = "" if kind == "anatomy" else ", recoding: recoding.json"
    return SETS if kind == "sets" else TABLE % (kind, recoding)


def people():
    illnesses = ["flu", "ulcer", "cold"]
    return [[f"N{i}", 20 + i * 7 % 40, "fm"[i // 2 % 2], illnesses[i % 3], 30_000 + i * 613 % 977] for i in range(60)]


def input_of(kind, guess=None, *, column=INCOME):
    """The table with a guess at the cell of one record; None: as it is."""
    if kind == "sets":
        sets = [["milk", "bread", "tea", "salt"][i % 3 : i % 3 + 2] for i in range(30)]
        sets[7] = [*sets[7], "wine" if guess is None else guess]
        return "\n".join(";".join(items) for items in sets) + "\n"
    rows = people()
    if guess is not None:
        rows[7][column] = guess
    lines = [",".join(map(str, row)) for row in rows]
    return "\n".join(["name,age,sex,illness,income", *lines]) + "\n"


def published(folder, kind, text, capsys):
    """Release, certificate, report and what the command prints as JSON, without times."""
    folder.mkdir()
    (folder / "input.csv").write_text(text)
    (folder / "policy.yaml").write_text(policy_of(kind))
    capsys.readouterr()
    assert main(["run", str(folder / "policy.yaml"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out.replace(str(folder), ""))
    certificate = json.loads((folder / "certificate.json").read_text())
    page = re.sub(r"[\d.,]+ s\b|\d{4}-\d\d-\d\dT[\d:+]+", "", (folder / "report.html").read_text())
    page = re.sub(r"\b[0-9a-f]{64}\b", "", page)  # those of the certificate
    for timed in ("seconds", "peak_memory_bytes"):
        said.pop(timed)
    certificate.pop("created")
    return sorted((folder / "out.csv").read_text().splitlines()), certificate, page, said


def leaves(value, path=""):
    """Every number and text of nested data with its place."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return {k: v for name, inner in pairs for k, v in leaves(inner, f"{path}.{name}").items()}
    return {path: value}


SECRET = {".keyed.input", ".sha256.recoding"}  # what the secret of a run decides


def told_apart(own, guessed):
    """Places where the documents of two runs differ; of a page, its texts."""
    found = set()
    for told, other in zip(own, guessed, strict=True):
        pages = [re.split(r"<[^>]*>", t) if isinstance(t, str) else t for t in (told, other)]
        mine, theirs = map(leaves, pages)
        found |= {k for k in mine.keys() | theirs.keys() if mine.get(k) != theirs.get(k)}
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_no_digest_of_a_guess_is_published(tmp_path, capsys, kind):
    published(tmp_path / "own", kind, input_of(kind), capsys)
    names = ("certificate.json", "report.html")
    told = "".join((tmp_path / "own" / name).read_text() for name in names).lower()
    digests = [name for name in sorted(hashlib.algorithms_guaranteed) if not name.startswith("shake")]
    raw = input_of(kind).encode()  # one of the guesses is right
    for content in (raw, raw.strip(), raw.replace(b"\n", b"\r\n")):
        for name in digests:
            found = hashlib.new(name, content)
            spelled = [found.hexdigest(), base64.b64encode(found.digest()).decode().lower()]
            keyed = [hashlib.sha256(f"{salt}{found.hexdigest()}".encode()).hexdigest() for salt in ("", "0", "0/")]
            assert not [text for text in (*spelled, *keyed) if text in told], name


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_else_depends_on_what_is_not_published(tmp_path, capsys, kind):
    """Runs share a secret here, which no attacker has, so that nothing but the guess can make a difference."""
    release, *own = published(tmp_path / "own", kind, input_of(kind), capsys)
    for guess in ["beer", "rum"] if kind == "sets" else [30_001, 99_999]:
        found, *guessed = published(tmp_path / str(guess), kind, input_of(kind, guess), capsys)
        assert found == release
        assert told_apart(own, guessed) <= SECRET


def test_no_certificate_depends_on_a_cell_that_was_generalised(tmp_path, capsys):
    release, own, *_ = published(tmp_path / "own", "flash", input_of("flash"), capsys)
    for guess in (25, 26, 27, 28):
        text = input_of("flash", guess, column=AGE)
        found, guessed, *_ = published(tmp_path / str(guess), "flash", text, capsys)
        assert found == release  # which does not tell them apart
        assert told_apart([own], [guessed]) <= SECRET


@pytest.mark.fresh_secrets
@pytest.mark.parametrize("kind", ["auto", "sets"])
def test_what_depends_on_the_input_is_another_in_every_run(tmp_path, capsys, kind):
    certificates = [leaves(published(tmp_path / name, kind, input_of(kind), capsys)[1]) for name in ("own", "again")]
    for place in SECRET:
        assert None not in {found[place] for found in certificates}
        assert len({found[place] for found in certificates}) == 2


RARE = """
input: input.csv
columns:
  name: identifier
  income: quasi
  born: quasi
  town: quasi
  illness: sensitive
  cost: sensitive
  note: keep
  salary: drop
goals: [{model: k-anonymity, k: 4}, {model: l-diversity, l: 2, sensitive: illness}]
algorithm: %s
output: {path: out.csv, report: report.html, certificate: certificate.json}
"""


def rare_input():
    """Cells that are found in any text; the first of every column is that of the smallest or largest value."""
    header = ["name", "income", "born", "town", "illness", "cost", "note", "salary"]
    rows = [
        [
            f"Name{i}x", 310_007 + i * 7_919 % 90_001, f"19{30 + i % 60}-{1 + i % 12:02}-{1 + i * 5 % 28:02}",
            f"Town{i % 20}x", f"Illness{i % 30 if i < 30 else i % 3}x", 5_100_013 + i * 104_729 % 3_000_001,
            f"Note{i}x", 71_000_003 + i * 15_485_863 % 8_000_009,
        ]
        for i in range(80)
    ]  # fmt: skip
    return header, rows


@pytest.mark.parametrize("kind", ["auto", "flash", "mondrian"])
def test_report_and_certificate_name_no_cell_of_few_records(tmp_path, capsys, kind):
    header, rows = rare_input()
    (tmp_path / "input.csv").write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n")
    (tmp_path / "policy.yaml").write_text(RARE % kind)
    assert main(["run", str(tmp_path / "policy.yaml")]) == 0
    capsys.readouterr()
    policy = json.loads((tmp_path / "certificate.json").read_text())["policy"]
    told = (tmp_path / "report.html").read_text() + (tmp_path / "certificate.json").read_text().replace(policy, "")
    words = set(re.findall(r"[\w-]+", re.sub(r"(?<=\d)[,.](?=\d{3}\b)", "", told)))
    assert "Illness0x" in words  # many have it
    for place, name in enumerate(header):
        cells = [str(row[place]) for row in rows]
        few = {cell for cell in cells if cells.count(cell) < 5}
        assert few, name
        assert few & words == set(), name
