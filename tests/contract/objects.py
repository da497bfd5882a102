"""The object stores that cold pages are tried with; each can go away and come back."""

from __future__ import annotations

from pathlib import Path

from contract.s3 import BUCKET, S3


class LocalFolder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "objects"
        self.folder.mkdir()
        self.url = self.folder.as_uri()

    def go_away(self) -> None:
        self.folder.rename(self.folder.with_suffix(".away"))

    def come_back(self) -> None:
        self.folder.with_suffix(".away").rename(self.folder)


class S3Bucket:
    def __init__(self, server: S3, prefix: str) -> None:
        self._server = server
        self.folder = server.bucket / prefix
        self.url = f"s3://{BUCKET}/{prefix}"

    def go_away(self) -> None:
        self._server.stop()

    def come_back(self) -> None:
        self._server.start()
