"""Records of Zenodo and Dataverse, against a server that speaks both."""

from __future__ import annotations

import socket
from types import SimpleNamespace

import pytest

from repositories import TABLE, TOKEN, remote_to, repository
from tablecloak.errors import CloakError, DataError, PolicyError
from tablecloak.io.repositories import Remote, host_of, is_public, look_up, public_address, save_file, servers_of

ZENODO = "https://zenodo.org/records/1234"
DATAVERSE = "https://data.example.edu/dataset.xhtml?persistentId=doi:10.7910/DVN/ABCDEF"
CONTENT = "/api/records/1234/files/people.csv/content"


@pytest.fixture
def server():
    with repository() as server:
        yield server


def fetched(server, tmp_path, *, record=ZENODO, name="people.csv", token=None, **given):
    remote = remote_to(server, **given)
    found = look_up(record, remote, token=token, base=tmp_path)
    save_file(found, name, tmp_path / "got.csv", remote, token=token, base=tmp_path)
    return (tmp_path / "got.csv").read_bytes()


@pytest.mark.parametrize(
    "record",
    [
        ZENODO,
        "https://zenodo.org/record/1234",
        "https://zenodo.org/records/1234/files/people.csv",
        "10.5281/zenodo.1234",
        "doi:10.5281/zenodo.1234",
        " https://doi.org/10.5281/zenodo.1234 ",
    ],
)
def test_a_record_of_zenodo_is_found_by_address_and_doi(server, record):
    found = look_up(record, remote_to(server))
    assert (found.kind, found.host, found.title) == ("zenodo", "zenodo.org", "People <i>we</i> met")
    assert [(f.name, f.n_bytes, f.is_table) for f in found.files] == [
        ("people.csv", len(TABLE), True),
        ("paper.pdf", 10, False),
        ("odd name/../<b>.csv", len(TABLE), True),
    ]
    assert servers_of(record) == ["zenodo.org"]


def test_addresses_in_an_answer_are_not_followed(server):
    found = look_up(ZENODO, remote_to(server))
    assert found.file("people.csv").url == f"https://zenodo.org{CONTENT}"
    assert found.files[2].url.endswith("/files/odd%20name%2F..%2F%3Cb%3E.csv/content")


@pytest.mark.parametrize(
    ("record", "hosts"),
    [(DATAVERSE, {"data.example.edu"}), ("doi:10.7910/DVN/ABCDEF", {"zenodo.org", "data.example.edu"})],
)
def test_a_dataset_of_dataverse_is_found_by_address_and_doi(server, record, hosts):
    found = look_up(record, remote_to(server, hosts=frozenset(hosts)))
    assert (found.kind, found.title) == ("dataverse", "A survey")
    assert [(f.name, f.n_bytes, f.is_restricted) for f in found.files] == [
        ("people.csv", len(TABLE), False),
        ("secret.csv", len(TABLE), True),
    ]


def test_files_are_saved_as_they_were_handed_in(server, tmp_path):
    assert fetched(server, tmp_path) == TABLE
    (tmp_path / "got.csv").unlink()
    assert fetched(server, tmp_path, record=DATAVERSE) == TABLE


def test_restricted_files_need_a_token_which_is_named_not_written(server, tmp_path, monkeypatch):
    with pytest.raises(DataError, match="does not give this to everybody"):
        fetched(server, tmp_path, record=DATAVERSE, name="secret.csv")
    (tmp_path / "token.txt").write_text(f"{TOKEN}\n")
    assert fetched(server, tmp_path, record=DATAVERSE, name="secret.csv", token="file:token.txt") == TABLE
    (tmp_path / "got.csv").unlink()
    monkeypatch.setenv("CLOAK_RECORD", TOKEN)
    assert fetched(server, tmp_path, record=DATAVERSE, name="secret.csv", token="env:CLOAK_RECORD") == TABLE
    with pytest.raises(PolicyError, match="token must not be written") as refusal:
        fetched(server, tmp_path, record=DATAVERSE, name="secret.csv", token=TOKEN)
    assert TOKEN not in str(refusal.value)


@pytest.mark.parametrize("length", [{}, {"content-length": "1"}])
def test_what_is_too_large_is_refused_whatever_the_server_claims(server, tmp_path, length):
    server.says["/api/records/1234"] = (
        200,
        b'{"id": 1234, "metadata": {"title": "t"}, "files": [{"key": "people.csv"}]}',
    )
    server.says[CONTENT] = (200, TABLE, {"connection": "close", **length})
    if length:  # one byte is what the answer has then, so nothing too large can come
        assert fetched(server, tmp_path, limit_bytes=1000) == TABLE[:1]
        return
    with pytest.raises(DataError, match="sends more than 1,000 bytes"):
        fetched(server, tmp_path, limit_bytes=1000)
    assert not (tmp_path / "got.csv").exists()


def test_an_answer_without_a_length_is_counted_while_it_comes(server, tmp_path):
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(TABLE), TABLE) for _ in range(5)) + b"0\r\n\r\n"
    server.says["/api/records/1234"] = (
        200,
        b'{"id": 1234, "metadata": {"title": "t"}, "files": [{"key": "people.csv"}]}',
    )
    server.says[CONTENT] = (200, chunks, {"content-length": None, "transfer-encoding": "chunked"})
    with pytest.raises(DataError, match="sends more than"):
        fetched(server, tmp_path, limit_bytes=2 * len(TABLE))
    assert not (tmp_path / "got.csv").exists()


def test_a_file_whose_record_says_that_it_is_too_large_is_not_asked_for(server, tmp_path):
    with pytest.raises(DataError, match="at most 100 are fetched"):
        fetched(server, tmp_path, limit_bytes=100)
    assert [path for _, path, _ in server.asked] == ["/api/records/1234"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((200, b"<html>Please log in</html>"), "is not a record"),
        ((200, b"[]"), "is not a record"),
        ((200, b'{"id": 1, "files": "none"}'), "is not a record"),
        ((200, b"\xff\xfe"), "is not a record"),
        ((404, b"{}"), "does not know it"),
        ((500, b""), "answered 500"),
        ((200, b"{}", {"content-encoding": "gzip"}), "was not asked for"),
    ],
)
def test_an_answer_that_is_no_record_is_refused(server, answer, words):
    server.says["/api/records/1234"] = answer
    with pytest.raises(DataError, match=words):
        look_up(ZENODO, remote_to(server))


def test_a_file_that_is_not_what_its_record_says_is_removed(server, tmp_path):
    server.says[CONTENT] = (200, TABLE[:-2] + b"!\n")
    with pytest.raises(DataError, match="checksums differ"):
        fetched(server, tmp_path)
    server.says[CONTENT] = (200, TABLE[:-5], {"content-length": str(len(TABLE))})
    with pytest.raises(DataError, match="in the middle"):
        fetched(server, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "target",
    [
        "https://127.0.0.1/latest",
        "https://localhost/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "http://zenodo.org/api/records/1234",
        "https://zenodo.org:8443/",
        "https://user:secret@zenodo.org/",
        "https://evil.example.com/people.csv",
        "file:///etc/passwd",
        "https://[broken/",
    ],
)
def test_redirects_elsewhere_are_refused(server, tmp_path, target):
    server.says[CONTENT] = (302, b"", {"location": target})
    with pytest.raises(DataError):
        fetched(server, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert len(server.asked) == 2


def test_hosts_that_are_allowed_by_name_must_be_public_all_the_same(server, tmp_path):
    server.says[CONTENT] = (302, b"", {"location": "https://localhost/people.csv"})
    with pytest.raises(DataError, match="not on the internet"):
        fetched(server, tmp_path, hosts=frozenset({"zenodo.org", "localhost"}))


def test_redirects_to_allowed_hosts_are_followed_without_the_token(server, tmp_path, monkeypatch):
    monkeypatch.setenv("CLOAK_RECORD", TOKEN)
    server.says[CONTENT] = (302, b"", {"location": "https://files.example.edu/stored"})
    server.says["/stored"] = (200, TABLE)
    assert fetched(server, tmp_path, token="env:CLOAK_RECORD") == TABLE
    sent = {host: "Authorization" in headers for host, _, headers in server.asked}
    assert sent == {"zenodo.org": True, "files.example.edu": False}


def test_redirects_without_end_are_given_up(server):
    server.says["/api/records/1234"] = (302, b"", {"location": "/api/records/1234"})
    with pytest.raises(DataError, match="round in circles"):
        look_up(ZENODO, remote_to(server))


def test_a_silent_server_is_given_up():
    # it takes the request and never answers: the timeout is what ends the wait, however slow the machine is
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = SimpleNamespace(server_address=silent.getsockname())
        with pytest.raises(DataError, match="took too long"):
            look_up(ZENODO, remote_to(server, timeout=0.05))


def test_a_file_that_takes_for_ever_is_given_up(server, tmp_path):
    with pytest.raises(DataError, match="took too long"):
        fetched(server, tmp_path, longest=-1.0)
    assert list(tmp_path.iterdir()) == []


def test_nobody_is_asked_without_being_allowed(server):
    with pytest.raises(DataError, match=r"zenodo\.org may not be asked"):
        look_up(ZENODO, Remote())
    with pytest.raises(DataError, match="may not be asked"):
        look_up("https://elsewhere.example.com/records/1", remote_to(server))
    assert server.asked == []


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ("zenodo 1234", "plain https"),
        ("http://zenodo.org/records/1", "plain https"),
        ("https://zenodo.org/search?q=1", "not the address of a record"),
        ("doi:10.7910/DVN/ABCDEF", "does not say which server"),
        ("", "plain https"),
    ],
)
def test_what_names_no_record_is_refused(server, record, words):
    with pytest.raises(CloakError, match=words):
        look_up(record, remote_to(server))
    assert server.asked == []


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("8.8.8.8", True),
        ("2001:4860:4860::8888", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("192.168.0.1", False),
        ("172.16.9.9", False),
        ("169.254.169.254", False),
        ("0.0.0.0", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:10.0.0.1", False),
    ],
)
def test_public_addresses(address, expected):
    assert is_public(address) is expected


def test_a_name_that_leads_home_is_refused(monkeypatch):
    found = [(2, 1, 6, "", ("8.8.8.8", 443)), (2, 1, 6, "", ("127.0.0.1", 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(DataError, match="not on the internet"):
        public_address("rebinding.example.com")


def test_hosts_of_addresses():
    assert host_of("https://Zenodo.org/records/1") == "zenodo.org"
    assert host_of("https://zenodo.org:443/") == "zenodo.org"
