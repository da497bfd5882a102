"""A real S3 server on loopback: rclone, which checks signatures and keeps buckets in a folder."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

KEY, SECRET, BUCKET = "memory", "of-elephants", "packs"


class S3:
    """One server; it can be stopped and started again on the same port."""

    url = f"s3://{BUCKET}"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bucket = folder / BUCKET
        self.bucket.mkdir(parents=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }

    def start(self) -> None:
        command = shutil.which("rclone", path=str(Path(sys.executable).parent)) or "rclone"
        address = ["--addr", f"127.0.0.1:{self.port}", "--auth-key", f"{KEY},{SECRET}"]
        # Without a cache at all, rclone spins on one processor once it has served something.
        quiet = ["--config", str(self.folder / "none.conf"), "--vfs-cache-mode", "off", "--dir-cache-time", "5ms"]
        self._process = subprocess.Popen(
            [command, "serve", "s3", str(self.folder), *address, *quiet], stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 60
        while not self._answers():
            assert self._process.poll() is None, "the S3 server ended"
            assert time.monotonic() < deadline, "the S3 server does not answer"
            time.sleep(0.05)

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0
