"""Each attack that the web app must withstand, tried."""

from __future__ import annotations

import gzip
import io
import json
import logging
import re
import zipfile

import polars as pl
import pytest
from starlette.testclient import TestClient
from without_browser import BASE, BEARER, PORT, Pages, settings_for

from tablecloak.server.app import make_app
from tablecloak.server.security import PAGE_POLICY
from tablecloak.server.store import safe_name

pytestmark = pytest.mark.slow
CSV = b"age,sex,ill\n" + b"".join(
    b"%d,%s,%s\n" % (20 + i % 9, b"fm"[i % 2 : i % 2 + 1], b"ab"[i % 2 : i % 2 + 1]) for i in range(60)
)


def upload(client, name="people.csv", content=CSV):
    return client.post("/api/v1/datasets", files={"file": (name, io.BytesIO(content))})


def project_on(api, name="people.csv", content=CSV):
    dataset = upload(api, name, content).json()["id"]
    return api.post("/api/v1/projects", json={"dataset": dataset}).json()


# Who asks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/", "/admin", "/help", "/api/v1/projects", "/api/v1/openapi.json", "/projects/x/load"]
)
def test_nobody_gets_in_without_the_link(client, path):
    assert client.get(path).status_code == 401


def test_the_link_works_once(app):
    token = app.state.sessions.new_token()
    first, second = TestClient(app, base_url=BASE), TestClient(app, base_url=BASE)
    assert first.get("/", params={"token": token}).status_code == 200
    assert first.get("/").status_code == 200
    assert second.get("/", params={"token": token}).status_code == 401
    assert second.get("/").status_code == 401


def test_a_wrong_token_is_refused_and_the_right_one_still_works(app, client):
    token = app.state.sessions.new_token()
    assert client.get("/", params={"token": token[:-1]}).status_code == 401
    assert client.get("/", params={"token": token}).status_code == 200


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(app, client):
    answer = client.get("/", params={"token": app.state.sessions.new_token()})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert f"tablecloak-{PORT}=" in cookie


def test_the_page_behind_the_link_does_not_lead_elsewhere(app, client):
    answer = client.get(f"{BASE}//evil.example/x", params={"token": app.state.sessions.new_token()})
    assert 'url=/evil.example/x"' in answer.text  # a path of ours, not a host of theirs


def test_sessions_survive_a_restart_and_end_on_logout(tmp_path):
    first = make_app(settings_for(tmp_path))
    with TestClient(first, base_url=BASE) as client:
        client.get("/", params={"token": first.state.sessions.new_token()})
        cookies = dict(client.cookies)
    second = make_app(settings_for(tmp_path))
    with TestClient(second, base_url=BASE, cookies=cookies) as client:
        home = client.get("/")
        assert home.status_code == 200
        proof = re.search(r'name="csrf" value="([^"]+)"', home.text)[1]
        client.post("/admin/logout", data={"csrf": proof})
        assert client.get("/").status_code == 401


def test_secrets_are_not_stored_as_they_are(app, client, folder):
    client.get("/", params={"token": app.state.sessions.new_token()})
    session = client.cookies[f"tablecloak-{PORT}"]
    stored = b"".join(p.read_bytes() for p in (folder / "server").glob("tablecloak.sqlite*"))
    assert session.encode() not in stored


# From where ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8642", "127.0.0.1", "127.0.0.1:9999", "localhost", ""])
def test_dns_rebinding_is_refused(pages, host):
    assert pages.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "https://127.0.0.1:8642"])
def test_other_origins_are_refused(pages, origin):
    assert pages.get("/api/v1/projects", headers={"origin": origin}).status_code == 403
    home = pages.get("/")
    proof = re.search(r'name="csrf" value="([^"]+)"', home.text)[1]
    answer = pages.client.post("/open/sample", data={"csrf": proof}, headers={"origin": origin})
    assert answer.status_code == 403


def test_other_sites_may_link_here_but_not_fetch_or_frame(pages):
    cross = {"sec-fetch-site": "cross-site"}
    assert pages.get("/api/v1/projects", headers={**cross, "sec-fetch-mode": "no-cors"}).status_code == 403
    framed = {**cross, "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
    assert pages.get("/", headers=framed).status_code == 403
    linked = {**cross, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert pages.get("/help", headers=linked).status_code == 200


def test_forms_without_proof_are_refused(pages):
    assert pages.client.post("/open/sample").status_code == 403
    assert pages.client.post("/open/sample", data={"csrf": "0" * 64}).status_code == 403
    assert pages.client.post("/admin/delete", data={"sure": "yes"}).status_code == 403
    assert pages.client.post("/api/v1/projects", json={"dataset": "sample"}).status_code == 403
    assert pages.get("/api/v1/projects").json() == []


def test_a_script_needs_the_whole_token(client):
    for given in (BEARER[:-1], "", f"{BEARER}x"):
        assert client.get("/api/v1/projects", headers={"authorization": f"Bearer {given}"}).status_code == 401
    assert client.get("/api/v1/projects", headers={"authorization": f"Bearer {BEARER}"}).status_code == 200


# What browsers may do -------------------------------------------------------------------------------------------------


def test_pages_run_only_our_scripts_and_styles(pages):
    opened = pages.send(pages.get("/"), "/open/sample")
    here = str(opened.url).rsplit("/", 1)[0]
    for step in ("load?values=true", "roles", "hierarchies", "goals", "run", "policy", "lattice"):
        answer = pages.get(f"{here}/{step}")
        assert answer.headers["content-security-policy"] == PAGE_POLICY
        assert not re.search(r"\sstyle=|\son[a-z]+=|<style|javascript:", answer.text), step
        assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", answer.text))
        assert not re.search(r'(?:src|href)="(?:https?:)?//', answer.text)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
    assert "unsafe" not in PAGE_POLICY


def test_static_files_load_nothing_from_elsewhere(pages):
    for name in ("app.css", "app.js", "events.js", "tree.js", "upload.js"):
        text = pages.get(f"/static/{name}").text
        assert "http://" not in text
        assert "https://" not in text
        assert "eval(" not in text


# Names --------------------------------------------------------------------------------------------------------------

NASTY = '"><img src=x onerror=alert(1)>'


def test_names_with_html_are_text(pages):
    content = CSV.replace(b"age", b'"\'""><script>alert(1)</script>"', 1)
    home = pages.get("/")
    loaded = pages.send(home, "/open/upload", files={"file": (f"{NASTY}.csv", io.BytesIO(content))})
    assert loaded.status_code == 200
    here = str(loaded.url).rsplit("/", 1)[0]
    for page in ("/", f"{here}/load", f"{here}/roles", f"{here}/hierarchies", f"{here}/goals", f"{here}/policy"):
        text = pages.get(page).text
        assert "<img src=x" not in text
        assert "<script>alert" not in text


@pytest.mark.parametrize(
    "name", ["../../../etc/passwd.csv", "..\\..\\x.csv", "/etc/x.csv", "a/b.csv", ".hidden.csv", "x" * 300 + ".csv"]
)
def test_names_cannot_leave_the_folder(api, folder, name):
    answer = upload(api, name)
    assert answer.status_code == 201
    written = [p for p in folder.rglob("*") if p.is_file() and p.suffix == ".csv"]
    assert len(written) == 1
    assert written[0].is_relative_to(folder / "server" / "datasets")


def test_safe_names_have_only_plain_characters():
    assert safe_name("../../a b<c>.csv") == "a_b_c_.csv"
    assert safe_name("..") == "data"
    assert safe_name("...csv") == "csv"


def test_a_column_called_like_a_path_writes_nothing_elsewhere(api, pages, folder):
    content = CSV.replace(b"sex", b"../../../sex", 1)
    project = project_on(api, content=content)
    here = f"/projects/{project['id']}"
    page = pages.get(f"{here}/hierarchies?column=../../../sex")
    pages.send(page, f"{here}/hierarchies", action="kind", column="../../../sex", kind="order", **{"order:fanout": "2"})
    page = pages.get(f"{here}/hierarchies?column=../../../sex")
    answer = pages.send(page, f"{here}/hierarchies", action="rename", column="../../../sex", label="f", new_label="F")
    assert answer.status_code in (200, 422)
    home = folder / "server" / "projects" / project["id"]
    assert all(p.is_relative_to(home) for p in folder.rglob("*sex*"))


# Paths --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["/etc/passwd", "../../../../etc/passwd", "~root/.bashrc", "/etc/hosts", "."])
def test_only_files_of_the_roots_can_be_opened(api, source):
    answer = api.post("/api/v1/datasets/open", json={"source": source})
    assert answer.status_code == 422
    assert "no file to open" in answer.json()["message"]


def test_links_and_our_own_files_are_not_a_way_out(api, folder):
    (folder / "outside").symlink_to("/etc")
    (folder / "link.csv").symlink_to("/etc/passwd")
    for source in ("outside/passwd", "link.csv", str(folder / "server" / "tablecloak.sqlite")):
        assert api.post("/api/v1/datasets/open", json={"source": source}).status_code == 422
    (folder / "fine.csv").write_bytes(CSV)
    assert api.post("/api/v1/datasets/open", json={"source": "fine.csv"}).status_code == 201


@pytest.mark.parametrize(
    ("line", "change"),
    [
        ("input: people.csv", "input: /etc/passwd"),
        ("input: people.csv", "input: ../../datasets/x.csv"),
        ("algorithm:", "hierarchies: {x: /etc/passwd}\nalgorithm:"),
        ("algorithm:", "output: {path: ../../../evil.csv}\nalgorithm:"),
        ("algorithm:", "output: {path: x.csv, report: /tmp/evil.html}\nalgorithm:"),
    ],
)
def test_policies_cannot_name_files_elsewhere(api, line, change):
    project = project_on(api)
    assert line in project["policy"]
    text = re.sub(rf"^{line}", change, project["policy"], count=1, flags=re.MULTILINE)
    answer = api.put(f"/api/v1/projects/{project['id']}/policy", json={"policy": text, "version": 1})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"


def test_documents_of_runs_are_found_by_name_only(api):
    project = project_on(api)
    run = api.post(f"/api/v1/projects/{project['id']}/runs").json()["id"]
    for document in ("..%2f..%2ftablecloak.sqlite", "%2e%2e", "release.exe", "passwd"):
        assert api.get(f"/projects/{project['id']}/runs/{run}/{document}").status_code == 404


# Sizes --------------------------------------------------------------------------------------------------------------


def test_uploads_beyond_the_limit_are_refused(tmp_path):
    app = make_app(settings_for(tmp_path, upload_limit_bytes=1000))
    with TestClient(app, base_url=BASE, headers={"authorization": f"Bearer {BEARER}"}) as client:
        assert upload(client, content=CSV[:900]).status_code == 201
        assert upload(client, content=b"a,b\n" * 400).status_code == 413
        kept = [p for p in (tmp_path / "server" / "datasets").rglob("*") if p.is_file()]
        assert len(kept) == 1


def test_bodies_are_counted_while_they_come_in(tmp_path):
    app = make_app(settings_for(tmp_path, upload_limit_bytes=1000))

    def endless():
        for _ in range(100):
            yield b"x" * 100_000

    with TestClient(app, base_url=BASE, headers={"authorization": f"Bearer {BEARER}"}) as client:
        answer = client.post("/api/v1/datasets/open", content=endless(), headers={"content-type": "application/json"})
        assert answer.status_code == 413


def bombs(limit):
    line = b"1,2\n"
    packed = gzip.compress(b"a,b\n" + line * (limit // 2))
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 2 * limit)
    return {"bomb.csv.gz": packed, "disguised.csv": packed, "bomb.xlsx": book.getvalue()}


@pytest.mark.parametrize("name", ["bomb.csv.gz", "disguised.csv", "bomb.xlsx"])
def test_bombs_are_refused(tmp_path, name):
    limit = 1_000_000
    content = bombs(limit)[name]
    assert len(content) < limit / 50
    app = make_app(settings_for(tmp_path, expanded_limit_bytes=limit))
    with TestClient(app, base_url=BASE, headers={"authorization": f"Bearer {BEARER}"}) as client:
        answer = upload(client, name, content)
        assert answer.status_code == 422
        assert "unpacks to more" in answer.json()["message"]


def test_parquet_bombs_are_refused(tmp_path):
    frame = io.BytesIO()
    pl.select(pl.repeat(1, 3_000_000).alias("a")).write_parquet(frame)
    assert len(frame.getvalue()) < 100_000
    app = make_app(settings_for(tmp_path, most_cells=1_000_000))
    with TestClient(app, base_url=BASE, headers={"authorization": f"Bearer {BEARER}"}) as client:
        answer = upload(client, "bomb.parquet", frame.getvalue())
        assert answer.status_code == 422
        assert "cells that are allowed" in answer.json()["message"]


@pytest.mark.parametrize("kind", ["text", "categories"])
def test_a_text_that_a_dictionary_holds_once_counts_in_every_row(tmp_path, kind):
    frame, limit = io.BytesIO(), 100_000_000
    texts = pl.select(pl.repeat("x" * 10_000, 30_000).alias("a"))
    texts = texts if kind == "text" else texts.cast(pl.Categorical)
    texts.write_parquet(frame)
    assert len(frame.getvalue()) < 200_000
    app = make_app(settings_for(tmp_path, expanded_limit_bytes=limit))
    with TestClient(app, base_url=BASE, headers={"authorization": f"Bearer {BEARER}"}) as client:
        answer = upload(client, "bomb.parquet", frame.getvalue())
        assert answer.status_code == 422
        assert "100 MB that are allowed" in answer.json()["message"]
        assert "--upload-limit" in answer.text


BROKEN = {
    "broken.parquet": b"PAR1 no",
    "broken.xlsx": b"PK\x03\x04 no",
    "broken.csv.gz": b"\x1f\x8b no",
    "broken.arrow": b"ARROW1",
    "binary.csv": bytes(range(256)) * 10,
    "empty.csv": b"",
    "x.exe": b"MZ",
    "none": b"a,b",
}


@pytest.mark.parametrize(("name", "content"), BROKEN.items(), ids=BROKEN)
def test_broken_files_are_refused_with_words(api, name, content):
    answer = upload(api, name, content)
    assert answer.status_code == 422
    assert answer.json()["message"]
    assert api.get("/api/v1/datasets").json() == []


# Values -------------------------------------------------------------------------------------------------------------

SECRET = "Rumpelstiltskin"


def test_values_stay_out_of_logs_profiles_events_and_errors(api, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    content = CSV + f"77,f,{SECRET}\n".encode()
    project = project_on(api, content=content)
    told = [api.get(f"/api/v1/datasets/{project['dataset']}/profile").text, json.dumps(project)]
    run = api.post(f"/api/v1/projects/{project['id']}/runs").json()["id"]
    with api.stream("GET", f"/api/v1/runs/{run}/events") as events:
        told.append("".join(events.iter_text()))
    told.append(api.get(f"/api/v1/runs/{run}").text)
    told.append(api.post("/api/v1/datasets/open", json={"source": SECRET}).text)
    assert all(SECRET not in text for text in told)
    out, err = capfd.readouterr()
    assert SECRET not in caplog.text + out + err


def test_pages_show_values_only_when_asked(pages, api):
    here = f"/projects/{project_on(api, content=CSV + f'77,f,{SECRET}'.encode())['id']}"
    for step in ("load", "roles", "goals", "run", "policy"):
        assert SECRET not in pages.get(f"{here}/{step}").text, step
    assert SECRET in pages.get(f"{here}/load?values=true&page=7").text


# What is kept ---------------------------------------------------------------------------------------------------------


def test_folders_are_private(api, folder):
    project = project_on(api)
    run = api.post(f"/api/v1/projects/{project['id']}/runs").json()["id"]
    Pages(api).wait(run)
    assert api.post("/api/v1/projects", json={"dataset": "sample"}).status_code == 201
    server = folder / "server"
    assert all(p.stat().st_mode & 0o077 == 0 for p in [server, *(p for p in server.rglob("*") if p.is_dir())])
    assert (server / "tablecloak.sqlite").stat().st_mode & 0o077 == 0


def test_a_run_of_a_deleted_project_leaves_nothing(app, api, folder):
    project = project_on(api)
    state = app.state.server
    run = state.store.run(api.post(f"/api/v1/projects/{project['id']}/runs").json()["id"])
    Pages(api).wait(run.id)
    assert api.delete(f"/api/v1/projects/{project['id']}").status_code == 204
    with pytest.raises(FileNotFoundError):
        state.files.new_run(run.project, run.id)
    written_late = state.files.run(run.project, run.id)
    written_late.mkdir(parents=True)
    state._clear(run)
    assert list((folder / "server" / "projects").iterdir()) == []


def test_delete_now_leaves_nothing(api, folder):
    project = project_on(api, content=CSV + f"77,f,{SECRET}".encode())
    assert api.delete(f"/api/v1/projects/{project['id']}").status_code == 204
    assert api.get("/api/v1/projects").json() == []
    files = [p for p in (folder / "server").rglob("*") if p.is_file()]
    assert all(p.name.startswith("tablecloak.sqlite") or p.name == "server.lock" for p in files)
    assert all(SECRET.encode() not in p.read_bytes() for p in files)


def test_projects_end_with_the_retention_time(tmp_path):
    app = make_app(settings_for(tmp_path, retention_days=30))
    with TestClient(app, base_url=BASE, headers={"authorization": f"Bearer {BEARER}"}) as client:
        old, new = project_on(client), project_on(client)
        state = app.state.server
        state.store._base.execute("update projects set touched = '2020-01-01' where id = ?", (old["id"],))
        assert state.forget_old() == 1
        assert [p["id"] for p in client.get("/api/v1/projects").json()] == [new["id"]]
        assert not (tmp_path / "server" / "projects" / old["id"]).exists()


def test_an_ephemeral_server_leaves_nothing(monkeypatch, tmp_path):
    from tablecloak.server.state import ServerSettings

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    app = make_app(ServerSettings.ephemeral(port=PORT, bearer=BEARER))
    with TestClient(app, base_url=BASE, headers={"authorization": f"Bearer {BEARER}"}) as client:
        project_on(client)
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())
