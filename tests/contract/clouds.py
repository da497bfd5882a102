"""Servers on loopback with as much of Azure's and of Google's API as a bucket needs; they keep objects in a folder.

They are ours, and know no more than we do. So they are strict about what a client may get wrong: account, key, bucket.
"""

from __future__ import annotations

import base64
import hmac
import re
import socket
import threading
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

ACCOUNT, KEY, BUCKET, TOKEN = "elephants", "bWVtb3J5", "packs", "of-elephants"
Answer = tuple[int, bytes]


class _Api(BaseHTTPRequestHandler):
    folder: Path
    url: str
    root: str  # of the one bucket, in the folder and in URLs
    no_bucket: str
    no_object: str
    removed: int

    def do_PUT(self) -> None:
        self._answer(*self.result())

    do_GET = do_DELETE = do_POST = do_PUT  # noqa: N815

    def result(self) -> Answer:
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        return self.act(self.command, self.path, data) if self.is_allowed() else self.refusal(403, "Forbidden")

    def is_allowed(self) -> bool:
        raise NotImplementedError

    def act(self, method: str, path: str, data: bytes = b"") -> Answer:
        place = unquote(urlsplit(path).path)[1:]
        file = self.folder / place
        if not place.startswith(f"{self.root}/"):
            return self.refusal(404, self.no_bucket)
        if method == "PUT":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            return 201, b""
        if not file.is_file():
            return self.refusal(404, self.no_object)
        if method == "GET":
            return 200, file.read_bytes()
        file.unlink()
        return self.removed, b""

    def refusal(self, status: int, code: str) -> Answer:
        return status, f"<?xml version='1.0'?><Error><Code>{code}</Code></Error>".encode()

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "multipart/mixed; boundary=answers" if self.command == "POST" else "text/xml")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", formatdate(usegmt=True))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Google(_Api):
    url = f"gs://{BUCKET}"
    root, no_bucket, no_object, removed = BUCKET, "NoSuchBucket", "NoSuchKey", 204

    @staticmethod
    def environment(url: str) -> dict[str, str]:
        return {"GOOGLE_BASE_URL": url, "GOOGLE_BEARER_TOKEN": TOKEN}

    def is_allowed(self) -> bool:
        return self.headers["authorization"] == f"Bearer {TOKEN}"


class Azure(_Api):
    url = f"az://{ACCOUNT}/{BUCKET}"
    root, no_bucket, no_object, removed = f"{ACCOUNT}/{BUCKET}", "ContainerNotFound", "BlobNotFound", 202

    @staticmethod
    def environment(url: str) -> dict[str, str]:
        return {"AZURE_STORAGE_ENDPOINT": f"{url}/{ACCOUNT}", "AZURE_STORAGE_ACCOUNT_KEY": KEY}

    def is_allowed(self) -> bool:
        signed = hmac.digest(base64.b64decode(KEY), self._to_be_signed().encode(), "sha256")
        return self.headers["authorization"] == f"SharedKey {ACCOUNT}:{base64.b64encode(signed).decode()}"

    def _to_be_signed(self) -> str:
        """As "Authorize with Shared Key" in Azure's reference has it."""
        length = self.headers.get("content-length", "0")
        kept = ["", "", "" if length == "0" else length, "", self.headers.get("content-type", ""), self.headers["date"]]
        own = sorted(
            f"{name.lower()}:{value}" for name, value in self.headers.items() if name.lower().startswith("x-ms-")
        )
        url = urlsplit(self.path)
        asked = sorted(part.replace("=", ":", 1) for part in url.query.split("&") if part)
        return "\n".join([self.command, *kept, *[""] * 5, *own, f"/{ACCOUNT}{url.path}", *asked])

    def act(self, method: str, path: str, data: bytes = b"") -> Answer:
        """One operation, or a batch of removals, which tells of each in the words of HTTP."""
        if method != "POST":
            return super().act(method, path, data)
        asked = re.findall(rb"^DELETE (\S+) HTTP", data, re.MULTILINE)
        told = [self._told(number, *self.act("DELETE", one.decode())) for number, one in enumerate(asked)]
        return 202, b"".join([*told, b"--answers--\r\n"])

    def _told(self, number: int, status: int, body: bytes) -> bytes:
        words = (
            "The specified container does not exist." if self.no_bucket.encode() in body else HTTPStatus(status).phrase
        )
        head = f"--answers\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n"
        return f"{head}\r\nHTTP/1.1 {status} {words}\r\n\r\n".encode() + body + b"\r\n"


class Cloud:
    """One server; it can be stopped and started again on the same port."""

    def __init__(self, folder: Path, api: type[Azure | Google]) -> None:
        self.url = api.url
        self.bucket = folder / api.root
        self.bucket.mkdir(parents=True)
        self._api = type("Api", (api,), {"folder": folder})
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._address = free.getsockname()
        self.environment = api.environment(f"http://127.0.0.1:{self._address[1]}")
        self._server: ThreadingHTTPServer | None = None

    def start(self) -> None:
        self._server = ThreadingHTTPServer(self._address, self._api)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
