"""Time the page of a large memory in Chromium: what each view costs the server, and how long it takes to be there.

It needs the Chromium of `make browser`. A new store is filled with made-up dialogue, which takes some minutes for each
100,000 pages, and stays for the next time:

    .venv/bin/python tools/time_page.py big.db --pages 100000
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Request, sync_playwright

from memoryos import open as open_memory
from memoryos.bench.machine import cpu_seconds, rss_mb
from memoryos.bench.made_up_dialogue import Dialogue

USER, SEED = "ann", 1
AT_ONCE = 500  # pages of one add
QUIET = 0.3  # seconds without a request: then a view is there
VIEWS = "overview search timeline topics knowledge graph sharing jobs usage audit manage".split()
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TO_THE_END = "() => { const box = document.querySelector('.rows'); box.scrollTop = box.scrollHeight; }"


@dataclass
class Watched:
    """A tab and the server that it asks."""

    page: Page
    server: int  #: its process id
    running: int = 0
    asked: int = 0
    size: int = 0  #: bytes of the answers
    changed: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(600_000)
        self.page.on("request", lambda request: self._note(request, 1))
        self.page.on("requestfinished", lambda request: self._note(request, -1))
        self.page.on("requestfailed", lambda request: self._note(request, -1))

    def _note(self, request: Request, change: int) -> None:
        if "/v1/" not in request.url:
            return
        self.running += change
        self.changed = time.monotonic()
        if change < 0 and (answer := request.response()) is not None:
            self.asked += 1
            self.size += len(answer.body())

    def time(self, name: str, act: Callable[[], Any]) -> None:
        """Do it, wait until nothing is asked any more, and print what it took."""
        self.asked = self.size = 0
        began, used = time.monotonic(), cpu_seconds(self.server) or 0.0
        self.changed = began
        act()
        while self.running or self.page.locator(".waiting").count() or time.monotonic() - self.changed < QUIET:
            self.page.wait_for_timeout(20)
        seconds, cpu = self.changed - began, (cpu_seconds(self.server) or 0.0) - used
        rows = self.page.locator(".row").count()
        print(f"{name:<24} {cpu:8.2f} {seconds:8.2f} {self.asked:9} {self.size / 1000:9.0f} {rows:6}", flush=True)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("db")
    asked.add_argument("--pages", type=int, default=100_000)
    given = asked.parse_args()
    if not Path(given.db).exists():
        fill(given.db, given.pages)
    with serving(given.db) as (url, server), sync_playwright() as play:
        found = next(filter(None, map(shutil.which, BROWSERS)))
        browser = play.chromium.launch(executable_path=found, args=["--headless", "--no-sandbox"])
        print(f"{'':<24} {'CPU, s':>8} {'there, s':>8} {'requests':>9} {'KB':>9} {'rows':>6}")
        look(Watched(browser.new_page(viewport={"width": 1280, "height": 800}), server), url)
        browser.close()
        print(f"The server has {rss_mb(server):.0f} MB.")


def fill(place: str, pages: int) -> None:
    """Add so many exchanges, and wait until each has its place."""
    dialogue = Dialogue(SEED)
    with open_memory(place, user=USER) as memory:
        for begun in range(0, pages, AT_ONCE):
            memory.add_many(dialogue.session(min(AT_ONCE, pages - begun)))
        memory.wait()


@contextmanager
def serving(place: str) -> Iterator[tuple[str, int]]:
    """Serve a store on which nothing else is done."""
    serve = [sys.executable, "-m", "memoryos", "serve", "--port", "0", "--json", "--db", place]
    more = {**os.environ, "MEMORYOS_JOBS": "worker"}
    with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=more) as server:
        try:
            yield json.loads(server.stdout.readline() if server.stdout else "")["url"], server.pid
        finally:
            server.terminate()


def look(tab: Watched, url: str) -> None:
    """Look at each view once, and further where it goes on."""
    page = tab.page
    tab.time("first: overview", lambda: page.goto(f"{url}/ui/#/overview?user={USER}"))
    for view in VIEWS[1:]:
        tab.time(view, page.locator(f"nav a[href^='#/{view}']").click)
        for name, act in FURTHER.get(view, {}).items():
            tab.time(f"  {name}", lambda act=act: act(page))


def search(page: Page, words: str) -> None:
    page.locator("main input").first.fill(words)
    page.locator("main input").first.press("Enter")


FURTHER: dict[str, dict[str, Callable[[Page], Any]]] = {
    "search": {
        "a first question": lambda page: search(page, "Who keeps bees?"),
        "another one": lambda page: search(page, "What did Ann say about the garden?"),
    },
    "timeline": {
        "scroll to the end": lambda page: page.evaluate(TO_THE_END),
        "and again": lambda page: page.evaluate(TO_THE_END),
        "oldest first": lambda page: page.get_by_label("Order").select_option("yes"),
        "archived ones": lambda page: page.get_by_label("Tier").select_option("archive"),
        "open one": lambda page: page.locator(".rows .row").first.click(),
    },
    "topics": {
        "with the archive": lambda page: page.locator("label.check input").check(),
        "open one": lambda page: page.locator(".rows .row").first.click(),
    },
    "audit": {"check the log": lambda page: page.get_by_role("button", name="Check the log").click()},
}


if __name__ == "__main__":
    main()
