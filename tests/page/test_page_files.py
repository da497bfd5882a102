"""The files of the page: who gets them, how, and what they are made of."""

from __future__ import annotations

import hashlib
import re
import subprocess
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from memoryos import MemoryOS, load_settings
from memoryos.interface.page.page_files import POLICY, page_files
from served import serving

ROOT = Path(__file__).parents[2]
ASSETS = ROOT / "src/memoryos/interface/page/assets"
RELEASE = max(page_files()).partition("/")[0]
SCRIPTS = sorted(path for path in ASSETS.rglob("*.js") if path.parent.name != "vendor")

# Those of the releases that tools/fetch_page_vendor.py names, and of axe-core 4.14.1 of npm.
RELEASED = {
    ASSETS / "vendor/preact.js": "bdcbd9abdf2c77c5c45326eab42191e949222d479d0d5f69467387a77040cb55",
    ASSETS / "vendor/hooks.js": "5f732f493f1fdc7a6c20f18950ebab9e6657d38876f5f1dca33d05bf6f029dd2",
    ASSETS / "vendor/preact-license.txt": "1fe6958409c8c257a70c587a18b6f7f412b179b456630790d30b2ec9a8e4b7d4",
    ASSETS / "vendor/htm.js": "ab33dd3f38059b9be4d5f5350128eefb2356639c4e0bbe9d9e8b3ba75847e9e4",
    ASSETS / "vendor/htm-license.txt": "740725f7252e750af735d0028cc534970772f513331e9f68150fede8fb3ce00f",
    ROOT / "tests/page/vendor/axe.min.js": "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c",
}
NEVER = re.compile(
    r"innerHTML|outerHTML|insertAdjacent|dangerously|\beval\b|new Function|document\.write|https?://|onclick="
)


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    """A server whose store has a key, so that every request for data needs one."""
    place = tmp_path_factory.mktemp("keyed") / "memory.db"
    with closing(MemoryOS.open(place, settings=load_settings(embedder="hashing"))) as store:
        key = store.keys.create("web", actions=["read"], users=["ann"]).key
        with serving(store) as served:
            yield served, key


def test_the_page_needs_no_key_and_what_it_shows_does(keyed):
    served, _ = keyed
    moved = served.http.get("/ui")
    assert (moved.status_code, moved.headers["location"]) == (308, "ui/")
    kinds = (("", "text/html"), (f"{RELEASE}/main.js", "text/javascript"), (f"{RELEASE}/style/parts.css", "text/css"))
    for name, kind in kinds:
        found = served.http.get(f"/ui/{name}")
        assert (found.status_code, found.headers["content-type"]) == (200, f"{kind}; charset=utf-8")
        assert found.headers["content-security-policy"] == POLICY
        assert found.headers["x-content-type-options"] == "nosniff"
        same = served.http.get(f"/ui/{name}", headers={"If-None-Match": found.headers["etag"]})
        kept = "public, max-age=31536000, immutable" if name else "no-cache"
        assert (same.status_code, same.content, same.headers["cache-control"]) == (304, b"", kept)
        head = served.http.head(f"/ui/{name}")
        assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", found.headers["etag"])
    assert [served.ask("GET", "/pages").status_code, served.ask("GET", "/keys/own").status_code] == [401, 401]


@pytest.mark.parametrize(
    "name", ["main.js", "0" * 16 + "/main.js", "vendor/", "%2e%2e/page_files.py", "..%2fpage_files.py", "a" * 4000]
)
def test_there_is_no_other_file(keyed, name):
    found = keyed[0].http.get(f"/ui/{name}")
    assert (found.status_code, found.headers["content-type"]) == (404, "application/problem+json")


def test_the_page_is_only_read(keyed):
    assert [keyed[0].http.post("/ui/").status_code, keyed[0].http.delete(f"/ui/{RELEASE}/main.js").status_code] == [
        405,
        405,
    ]


def test_a_key_tells_what_it_opens(keyed):
    served, key = keyed
    told = served("GET", "/keys/own", key=key, user=None)["key"]
    assert (told["identity"], told["tenant"], told["users"], told["actions"]) == ("web", "default", ["ann"], ["read"])
    assert "secret" not in str(told)
    assert key not in str(told)
    assert served.ask("GET", "/keys/own", key=key).json()["field"] == "user"  # it is about no memory


def test_without_keys_there_is_none_to_tell_of(served):
    assert served("GET", "/keys/own", user=None) == {"key": None}


def test_what_others_made_is_what_they_released():
    assert {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in RELEASED} == RELEASED


def test_the_wheel_has_every_file():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["src/memoryos"]}  # with all in it
    names = [str(path.relative_to(ROOT)) for path in ASSETS.rglob("*") if path.is_file()]
    ignored = subprocess.run(["git", "check-ignore", *names], cwd=ROOT, capture_output=True, text=True)
    assert (ignored.stdout, len(names)) == ("", len(page_files()))  # hatchling leaves out what git ignores


def test_no_script_makes_code_or_html_of_text():
    assert len(SCRIPTS) > 30
    assert {path.name: found[0] for path in SCRIPTS if (found := NEVER.search(path.read_text("utf-8")))} == {}
    index = (ASSETS / "index.html").read_text("utf-8")
    assert (
        re.findall(r"<script(?! type=\"module\" src=\"assets/main\.js\"></script>)|<style|style=| on\w+=", index) == []
    )


def test_no_script_is_long():
    tables = {"words_en.js", "words_zh.js"}
    lengths = {path.name: len(path.read_text("utf-8").splitlines()) for path in SCRIPTS if path.name not in tables}
    assert {name: length for name, length in lengths.items() if length > 150} == {}
