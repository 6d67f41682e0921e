"""A server that answers as Zenodo and Dataverse do, and misbehaves when asked to; in plain HTTP, for tests."""

from __future__ import annotations

import hashlib
import http.client
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from tablecloak.io.repositories import Remote, public_address

TABLE = b"age,sex,illness\n" + b"".join(
    f"{20 + i % 40},{'fm'[i % 2]},{['flu', 'cold', 'asthma'][i % 3]}\n".encode() for i in range(240)
)
HOSTS = frozenset({"zenodo.org", "data.example.edu", "files.example.edu"})
TOKEN = "a-token-nobody-may-see"


def zenodo_record(number=1234):
    files = [
        {"id": "f1", "key": "people.csv", "size": len(TABLE), "checksum": f"md5:{hashlib.md5(TABLE).hexdigest()}",
         "links": {"self": "http://169.254.169.254/latest"}},
        {"id": "f2", "key": "paper.pdf", "size": 10, "checksum": "md5:00", "links": {}},
        {"id": "f3", "key": "odd name/../<b>.csv", "size": len(TABLE), "checksum": "md5:00", "links": {}},
    ]  # fmt: skip
    return {"id": number, "conceptrecid": "1233", "metadata": {"title": "People <i>we</i> met"}, "files": files}


def dataverse_record():
    ingested = {"id": 7, "filename": "people.tab", "contentType": "text/tab-separated-values", "filesize": 9,
                "originalFileFormat": "text/csv", "originalFileName": "people.csv", "originalFileSize": len(TABLE),
                "md5": "0" * 32}  # fmt: skip
    plain = {"id": 8, "filename": "secret.csv", "filesize": len(TABLE), "md5": hashlib.md5(TABLE).hexdigest()}
    fields = [{"typeName": "title", "value": "A survey"}, {"typeName": "author", "value": []}]
    version = {"metadataBlocks": {"citation": {"fields": fields}},
               "files": [{"label": "people.tab", "restricted": False, "dataFile": ingested},
                         {"label": "secret.csv", "restricted": True, "dataFile": plain}]}  # fmt: skip
    return {"status": "OK", "data": {"id": 1, "latestVersion": version}}


class Repository(BaseHTTPRequestHandler):
    """Answers by the path and by what the test has set on its server."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        parts = urlsplit(self.path)
        self.server.asked.append((self.headers["host"], self.path, dict(self.headers)))
        said = self.server.says.get(unquote(parts.path))
        if said is not None:
            self._say(*said)
        elif parts.path == "/api/records/1234":
            self._say(200, json.dumps(zenodo_record()).encode())
        elif parts.path == "/api/records/1234/files/people.csv/content":
            self._say(200, TABLE)
        elif parts.path == "/api/datasets/:persistentId/":
            is_known = parse_qs(parts.query)["persistentId"] == ["doi:10.7910/DVN/ABCDEF"]
            self._say(*((200, json.dumps(dataverse_record()).encode()) if is_known else (404, b"{}")))
        elif parts.path == "/api/access/datafile/7" and parts.query == "format=original":
            self._say(200, TABLE)
        elif parts.path == "/api/access/datafile/8":
            is_known = self.headers.get("x-dataverse-key") == TOKEN
            self._say(200, TABLE) if is_known else self._say(403, b"{}")
        else:
            self._say(404, b"{}")

    def _say(self, status, body, headers=None):
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **(headers or {})}.items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *_):
        pass


@contextmanager
def repository():
    """The server; `asked` is what it was asked, `says` what it answers to a path instead."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Repository)
    server.asked, server.says = [], {}
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def remote_to(server, **given):
    """A way to that server, whatever the host is called; hosts that are not of the test are really looked up."""

    def connect(host, timeout):
        if host not in HOSTS:
            public_address(host)
        return Plain(host, server.server_address, timeout)

    return Remote(given.pop("hosts", HOSTS), connect=connect, **given)


class Plain(http.client.HTTPConnection):
    """A connection to the server of the test under another name."""

    def __init__(self, host, address, timeout):
        super().__init__(host, timeout=timeout)
        self._address = address

    def connect(self):
        self.sock = self._create_connection(self._address, self.timeout)
