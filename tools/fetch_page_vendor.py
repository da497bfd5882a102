"""Fetch the three files of others that the page is made with, from the npm registry, and check what came.

Run it after changing a version here. The files are those of the releases; one import of `hooks.js` names a package,
which browsers cannot find, and is made to name the file beside it.

    python tools/fetch_page_vendor.py
"""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import urllib.request
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[1] / "src/memoryos/interface/page/assets/vendor"
REGISTRY = "https://registry.npmjs.org"


class Package(NamedTuple):
    """A release of npm."""

    name: str
    version: str
    integrity: str  #: sha512 of the archive, as the registry tells it
    files: dict[str, str]  #: our names, by those in the archive


PACKAGES = (
    Package(
        "preact",
        "11.2.0",
        "sha512-/HfHI/7N84e6GrWBJ3J280z3mLaRJiDcSvj/A+y/4AbLnND/1UlGHe1sR6oYuTGwId0nP7dqDU9OnLxMPZ7xBg==",
        {"dist/preact.mjs": "preact.js", "hooks/dist/hooks.mjs": "hooks.js", "LICENSE": "preact-license.txt"},
    ),
    Package(
        "htm",
        "3.1.1",
        "sha512-983Vyg8NwUE7JkZ6NmOqpCZ+sh1bKv2iYTlUkzlWmA5JD2acKoxd4KVxbMmxX/85mtfdnDmTFoNKcg5DGAvxNQ==",
        {"dist/htm.mjs": "htm.js", "LICENSE": "htm-license.txt"},
    ),
)


def fetched(package: Package) -> tarfile.TarFile:
    """The archive of a release. Raises SystemExit if it is another one."""
    address = f"{REGISTRY}/{package.name}/-/{package.name}-{package.version}.tgz"
    content = urllib.request.urlopen(address, timeout=60).read()
    found = "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()
    if found != package.integrity:
        raise SystemExit(f"{address} is not what was released: {found}")
    return tarfile.open(fileobj=io.BytesIO(content))


def member(archive: tarfile.TarFile, name: str) -> bytes:
    found = archive.extractfile(f"package/{name}")
    assert found is not None
    return found.read()


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        with fetched(package) as archive:
            for name, ours in package.files.items():
                content = member(archive, name).replace(b'from"preact"', b'from"./preact.js"')
                (FOLDER / ours).write_bytes(content)
                print(hashlib.sha256(content).hexdigest(), ours)


if __name__ == "__main__":
    main()
