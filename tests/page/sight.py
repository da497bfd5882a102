"""Sight: the page in a real browser, as a person has it: what is seen, what is pressed, and what must not happen."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
PATIENCE = 60_000  # milliseconds; nobody waits that long when all is well
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--process-per-site"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
# Another owner in the address of an open page is no new page: it is drawn a moment later, the old links stay so long.
DRAWN = "(told => [...document.querySelectorAll(`nav a[href^='#/']`)].every(way => way.hash.endsWith(told)))"
VIEWS = "overview search timeline topics knowledge graph sharing jobs usage audit manage".split()


def executable() -> str:
    """The browser of this machine. CI must have one; elsewhere the tests are left out."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        missing("There is no Chromium: run `make browser`, or `apt-get install chromium` as root")
    if find_spec("playwright") is None:
        missing("There is no Playwright: run `make install`")
    return str(found)


def missing(told: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(told, pytrace=False)
    pytest.skip(told)


@contextmanager
def browsing() -> Iterator[Browser]:
    path = executable()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@dataclass
class Sight:
    """One tab. What goes wrong in it is noted, and the test that has it fails."""

    page: Page
    url: str
    wrong: list[str] = field(default_factory=list)
    asked: list[Request] = field(default_factory=list)
    refused: set[int] = field(default_factory=set)  #: statuses that the test brings about

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", self._told)
        self.page.on("pageerror", self._failed)
        self.page.on("request", self._asks)

    def _failed(self, error: Exception) -> None:
        self.wrong.append(f"{error}")

    def _told(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(f"status of {one}" in message.text for one in self.refused):
            self.wrong.append(message.text)

    def _asks(self, request: Request) -> None:
        self.asked.append(request)
        if not request.url.startswith(f"{self.url}/"):
            self.wrong.append(f"asks elsewhere: {request.url}")

    def open(self, view: str = "overview", memory: str = "", **owner: Any) -> Sight:
        """Open a view of somebody's memory."""
        told = urlencode(owner)
        self.page.goto(f"{self.url}/ui/#/{'/'.join(filter(None, (view, memory)))}{'?' * bool(told)}{told}")
        self.page.locator("main").wait_for()
        self.until(f"{DRAWN}({json.dumps(told)})")
        return self

    def go(self, view: str) -> Locator:
        """Follow the way to a view, and wait until it is there."""
        self.page.locator(f"nav a[href^='#/{view}']").click()
        main = self.page.locator(f"main.view-{view}")
        main.wait_for()
        self.settled()
        return main

    def left(self) -> Page:
        """The tab as if it were a new one, for the next test: what was chosen, such as the language, is forgotten."""
        if self.page.url.startswith(self.url):
            self.page.evaluate("localStorage.clear(), sessionStorage.clear()")
        self.page.unroute_all()
        for event, listener in (("console", self._told), ("pageerror", self._failed), ("request", self._asks)):
            self.page.remove_listener(event, listener)
        self.page.goto("about:blank")  # which asks for nothing, such as an icon, while the next test looks
        return self.page

    def settled(self) -> None:
        """Wait until nothing is loading."""
        self.until("!document.querySelector('.waiting')")

    def until(self, expression: str) -> None:
        """Wait until it is true. Playwright itself would do so with eval, which the policy of the page forbids."""
        end = monotonic() + PATIENCE / 1000
        while not self.page.evaluate(expression):
            assert monotonic() < end, f"never true: {expression}"
            self.page.wait_for_timeout(50)

    def press(self, name: str, within: str = "body") -> None:
        self.page.locator(within).get_by_role("button", name=name, exact=True).first.click()

    def dialog(self) -> Locator:
        return self.page.locator("dialog[open]")

    def confirm(self, name: str) -> None:
        """Press the last button of the dialog, and wait until it is done."""
        self.dialog().get_by_role("button", name=name, exact=True).click()
        self.dialog().wait_for(state="detached")

    def told(self, text: str) -> None:
        """Wait until the page says so."""
        self.page.locator(".notice", has_text=text).wait_for()

    def violations(self, *rules: str) -> list[str]:
        """What axe finds that is serious or critical; by these rules, or all."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text("utf-8"))
        self.page.evaluate(  # colours on their way to others are nobody's choice
            "() => Promise.allSettled(document.getAnimations().map(one => one.finished)).then(() => null)"
        )
        found = self.page.evaluate(
            "rules => axe.run(document, {resultTypes: ['violations'], ...(rules.length ? {runOnly: rules} : {})})",
            rules,
        )
        return [
            f"{one['id']}: {node['html'][:120]} {[part['message'] for part in node['any']]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]
        ]
