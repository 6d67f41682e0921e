"""Records of repositories, opened through the pages, the API and the command line."""

from __future__ import annotations

import json

import pytest

from repositories import TABLE, TOKEN, remote_to, repository
from tablecloak.cli import main as cli
from tablecloak.io import repositories as remote_module

pytestmark = pytest.mark.slow
ZENODO = "https://zenodo.org/records/1234"


@pytest.fixture
def server(app, monkeypatch):
    with repository() as server:
        monkeypatch.setattr(app.state.server, "remote", remote_to(server))
        yield server


def test_without_the_internet_the_page_says_so_and_nothing_is_asked(pages, api):
    home = pages.get("/")
    assert "this server asks nobody on the internet" in home.text
    assert "Nothing leaves this machine." in home.text
    assert "tablecloak serve --internet zenodo.org" in home.text
    refused = pages.get("/record", params={"source": ZENODO})
    assert refused.status_code == 422
    assert "started without the internet" in refused.text
    answer = api.post("/api/v1/datasets/fetch", json={"record": ZENODO, "file": "people.csv"})
    assert answer.status_code == 422
    assert api.get("/api/v1/records", params={"record": ZENODO}).status_code == 422


def test_a_file_of_a_record_becomes_a_project(pages, server):
    home = pages.get("/")
    assert "files may come in from data.example.edu, files.example.edu, zenodo.org" in home.text
    record = pages.get("/record", params={"source": ZENODO})
    assert "People &lt;i&gt;we&lt;/i&gt; met" in record.text
    assert "not a table that can be read" in record.text
    page = pages.send(record, "/open/record", source=ZENODO, file="people.csv")
    assert page.status_code == 200, page.text
    assert "240 records, 3 columns" in page.text


def test_the_api_lists_and_fetches(api, server):
    found = api.get("/api/v1/records", params={"record": ZENODO}).json()
    assert [f["name"] for f in found["files"]][:2] == ["people.csv", "paper.pdf"]
    made = api.post("/api/v1/datasets/fetch", json={"record": ZENODO, "file": "people.csv"})
    assert made.status_code == 201, made.text
    assert api.get(f"/api/v1/datasets/{made.json()['id']}/profile").json()["rows"] == 240


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("paper.pdf", "not a table"),
        ("nothing.csv", "no file of that name"),
        ("odd name/../<b>.csv", "does not know it"),
    ],
)
def test_what_cannot_be_fetched_leaves_nothing_behind(api, server, folder, file, words):
    refused = api.post("/api/v1/datasets/fetch", json={"record": ZENODO, "file": file})
    assert refused.status_code == 422
    assert words in refused.json()["message"]
    assert not any((folder / "server/datasets").iterdir())


def test_tokens_are_named_and_files_of_tokens_may_be_opened(api, server, folder, monkeypatch):
    record = {"record": "https://data.example.edu/dataset.xhtml?persistentId=doi:10.7910/DVN/ABCDEF"}
    monkeypatch.setenv("CLOAK_RECORD", TOKEN)
    made = api.post("/api/v1/datasets/fetch", json={**record, "file": "secret.csv", "token": "env:CLOAK_RECORD"})
    assert made.status_code == 201, made.text
    for token in (TOKEN, "file:/etc/hostname", "file:../../token"):
        refused = api.post("/api/v1/datasets/fetch", json={**record, "file": "secret.csv", "token": token})
        assert refused.status_code == 422
        assert TOKEN not in refused.text
    kept = b"".join(path.read_bytes() for path in (folder / "server").glob("tablecloak.sqlite*"))
    assert TOKEN.encode() not in kept


def test_the_command_lists_and_fetches(server, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(remote_module, "Remote", lambda hosts, **given: remote_to(server, hosts=hosts, **given))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["fetch", ZENODO, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "People <i>we</i> met"
    assert cli.main(["fetch", ZENODO]) == 0
    assert "paper.pdf  10 B  (not a table)" in capsys.readouterr().out
    assert cli.main(["fetch", "10.5281/zenodo.1234", "--file", "people.csv"]) == 0
    assert (tmp_path / "people.csv").read_bytes() == TABLE
    assert cli.main(["fetch", ZENODO, "--file", "people.csv"]) == 2  # it exists
    assert cli.main(["fetch", ZENODO, "-o", "x.csv"]) == 2
    assert cli.main(["fetch", ZENODO, "--file", "people.csv", "--limit", "1kB", "-f"]) == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv"]
