"""One browser, one server and one tab for all tests of the page, each of which finds it empty, and has its own user."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from memoryos import MemoryOS, load_settings
from memoryos.interface.cli.demo import load_script
from page.sight import Sight, browsing
from served import Served, serving

Opened = Callable[..., Sight]
SCREEN = {"locale": "en-GB", "viewport": {"width": 1280, "height": 800}}


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    with browsing() as found:
        yield found


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The conversation of the demo, and an audit log, on a store without keys."""
    place: Path = tmp_path_factory.mktemp("page") / "memory.db"
    script = load_script()
    with closing(MemoryOS.open(place, settings=load_settings(embedder="hashing", audit=True))) as store:
        memory = store.memory(script.user, agent=script.agent)
        for session in script.sessions:
            memory.add_many(session)
        memory.wait()
        memory.consolidate()
        with serving(store) as found:
            yield found


@pytest.fixture(scope="package")
def usual(browser: Any) -> Iterator[Any]:
    """What most tabs share: the files of the page, which a browser keeps, and the size of the screen."""
    with closing(browser.new_context(**SCREEN)) as context:
        yield context


@pytest.fixture(scope="package")
def idle() -> list[Any]:
    """The tabs of the usual context that no test has now: to make one takes longer than to show a page in it."""
    return []


@pytest.fixture
def tab(browser: Any, usual: Any, idle: list[Any], served: Served) -> Iterator[Opened]:
    """tab(url, ...): an empty tab of somebody who has chosen nothing; at the end, nothing may have gone wrong in it."""
    seen: list[Sight] = []
    with ExitStack() as stack:

        def make(url: str = served.url, **settings: Any) -> Sight:
            context = stack.enter_context(closing(browser.new_context(**{**SCREEN, **settings}))) if settings else usual
            seen.append(Sight(idle.pop() if context is usual and idle else context.new_page(), url))
            return seen[-1]

        yield make
        idle.extend(sight.left() for sight in seen if sight.page.context == usual)
    assert [sight.wrong for sight in seen] == [[] for _ in seen]


@pytest.fixture
def sight(tab: Opened) -> Sight:
    return tab()
