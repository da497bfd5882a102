"""Many pages: the list asks for some at a time, and has only those in sight on the page."""

from __future__ import annotations

from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta

import pytest

from memoryos import MemoryOS, Role, Turn, load_settings
from memoryos.errors import StillRunning
from served import serving

LONG_MANY, MANY = 100_000, 1_000
SCROLLS = 4  # to the end of what is there, each of which brings 200 more
SCROLLED = """async () => {
  const box = document.querySelector('.rows'), list = box.querySelector('ul'), before = list.clientHeight;
  box.scrollTop = box.scrollHeight;
  for (let wait = 0; wait < 600 && list.clientHeight === before; wait += 1)
    await new Promise(done => setTimeout(done, 25));
  return box.querySelectorAll('.row').length;
}"""
START = datetime(2024, 1, 1, tzinfo=UTC)
SETTINGS = load_settings(embedder="hashing", short_term_capacity=100_000, jobs="worker")  # nothing moves meanwhile


def filled(place, many):
    store = MemoryOS.open(place, settings=SETTINGS)
    turns = (Turn(role=Role.USER, text=f"Note {n}.", at=START + timedelta(minutes=n)) for n in range(many))
    store.memory("ann").add_many(list(turns))
    with suppress(StillRunning):
        store.close(0)  # what it would do in the background is not needed here
    return MemoryOS.open(place, settings=SETTINGS, read_only=True)


@pytest.mark.timeout(1_200)  # in full, to add the pages takes a minute or more
def test_a_list_of_many_pages_is_scrolled(tab, tmp_path, long):
    many = LONG_MANY if long else MANY
    with closing(filled(tmp_path / "many.db", many)) as store, serving(store) as served:
        sight = tab(served.url).open("timeline", user="ann", agent="default")
        rows = sight.page.locator(".rows .row")
        sight.page.locator(f"text={many:,} pages").wait_for()
        assert f"Note {many - 1}." in rows.first.inner_text()
        assert sight.page.locator(".rows li").first.get_attribute("aria-setsize") == str(many)
        most = 0
        for _ in range(SCROLLS):
            most = max(most, sight.page.evaluate(SCROLLED))
        assert most < 60, "rows on the page at a time"
        sight.page.locator(
            f".rows li[aria-posinset='{200 * SCROLLS}']", has_text=f"Note {many - 200 * SCROLLS}."
        ).wait_for()
        sight.page.get_by_label("Order").select_option("yes")
        sight.page.locator(".rows li[aria-posinset='1']", has_text="Note 0.").wait_for()
        sight.page.evaluate(SCROLLED)
        sight.page.locator(".rows li[aria-posinset='201']", has_text="Note 200.").wait_for()
