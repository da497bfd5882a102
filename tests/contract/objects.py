"""The object stores that cold pages are tried with; each can go away and come back."""

from __future__ import annotations

from pathlib import Path

from contract.clouds import Cloud
from contract.s3 import S3


class LocalFolder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "objects"
        self.folder.mkdir()
        self.url = self.folder.as_uri()

    def go_away(self) -> None:
        self.folder.rename(self.folder.with_suffix(".away"))

    def come_back(self) -> None:
        self.folder.with_suffix(".away").rename(self.folder)


class CloudBucket:
    def __init__(self, server: S3 | Cloud, prefix: str) -> None:
        self._server = server
        self.folder = server.bucket / prefix
        self.url = f"{server.url}/{prefix}"
        self.url_of_no_bucket = f"{server.url}-elsewhere/{prefix}"

    def go_away(self) -> None:
        self._server.stop()

    def come_back(self) -> None:
        self._server.start()
