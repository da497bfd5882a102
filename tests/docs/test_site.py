"""`make docs` builds the site: every page is in its navigation, a broken link fails, and it needs no other host."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BARE = ("-D", "html_theme=basic")  # the theme of the site takes half of the time, and is tried on two pages


def build(docs: Path, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the command of `make docs` on a folder of documents."""
    recipe = re.search(r"^\t\$\(BIN\)/sphinx-build (.+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    options = shlex.split(recipe[1].removesuffix(" build/doctrees docs build/docs"))
    return subprocess.run(
        [sys.executable, "-m", "sphinx", *more, *options, out / "doctrees", docs, out / "site"],
        capture_output=True,
        text=True,
        timeout=200,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory, long):
    out = tmp_path_factory.mktemp("site")
    built = build(DOCS, out, *(() if long else BARE))
    assert built.returncode == 0, built.stderr
    return out / "site"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A site of two pages that builds."""
    docs = tmp_path_factory.mktemp("small") / "docs"
    docs.mkdir()
    shutil.copy(DOCS / "conf.py", docs)
    (docs / "index.md").write_text("# Start\n\n## Pages\n\n- [A](a.md)\n", "utf-8")
    (docs / "a.md").write_text("# A\n\n[back](index.md#pages)\n", "utf-8")
    return docs


@pytest.fixture(scope="module")
def themed(small):
    built = build(small, small.parent)
    assert built.returncode == 0, built.stderr
    return small.parent / "site"


class Addresses(HTMLParser):
    """What a page loads, and what its navigation links to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        has = dict(attrs)
        if tag == "a" and "reference internal" in (has.get("class") or ""):
            self.linked.append(has["href"])
        elif tag == "link" and has.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(has["href"])
        self.loaded += [value for name, value in attrs if name in ("src", "srcset", "data", "poster") and value]


def test_every_page_is_in_the_navigation(site):
    linked = {address.partition("#")[0] for address in Addresses(site / "index.html").linked}
    pages = {page.relative_to(DOCS).with_suffix(".html").as_posix() for page in DOCS.rglob("*.md")}
    assert pages - {"index.html"} - linked == set()


def test_every_page_of_the_kinds_is_there():
    folders = {folder.name for folder in DOCS.iterdir() if folder.is_dir()} - {"__pycache__", "images"}
    assert folders == {"how-to", "reference", "explanation"}
    assert {page.stem for page in (DOCS / "how-to").glob("*.md")} >= {
        "messages",
        "owners",
        "filters",
        "forgetting",
        "export",
        "web-service",
        "model",
        "sharing",
        "documents",
        "tuning",
    }


def test_pages_load_nothing_from_another_host(site, themed):
    for pages in (site, themed):
        loaded = [address for page in pages.rglob("*.html") for address in Addresses(page).loaded]
        assert loaded
        assert [address for address in loaded if re.match(r"(?:[a-z]+:)?//", address)] == []


def test_styles_load_nothing_from_another_host(themed):
    styles = [style.read_text("utf-8") for style in themed.rglob("*.css")]
    assert any("furo" in style for style in styles)
    pattern = r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')]+)"""
    assert [found for style in styles for found in re.findall(pattern, style)] == []


BROKEN = {
    "page": "[gone](gone.md)",
    "heading": "[gone](index.md#gone)",
    "own_heading": "[gone](#gone)",
    "reference": "{ref}`gone`",
    "class": "{py:class}`gone`",
}


def test_a_broken_link_and_a_page_outside_the_navigation_fail(small, themed, tmp_path):
    docs = shutil.copytree(small, tmp_path / "docs")  # as it is, it builds
    for name, link in BROKEN.items():
        (docs / f"{name}.md").write_text(f"# Page\n\n{link}\n", "utf-8")
    with (docs / "index.md").open("a", encoding="utf-8") as index:
        index.writelines(f"- [{name}]({name}.md)\n" for name in BROKEN)
    (docs / "outside.md").write_text("# B\n", "utf-8")
    built = build(docs, tmp_path)
    assert built.returncode != 0
    warned = {(Path(line.partition(".md:")[0]).name) for line in built.stderr.splitlines() if "WARNING" in line}
    assert warned == {*BROKEN, "outside"}
