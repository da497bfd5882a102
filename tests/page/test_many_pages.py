"""20,000 pages: the list asks for some at a time, and has only those in sight on the page."""

from __future__ import annotations

from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta

from memoryos import MemoryOS, Role, Turn, load_settings
from memoryos.errors import StillRunning
from served import serving

MANY = 20_000
SCROLLED = """async () => {
  const box = document.querySelector('.rows'), list = box.querySelector('ul'), before = list.clientHeight;
  box.scrollTop = box.scrollHeight;
  for (let wait = 0; wait < 600 && list.clientHeight === before; wait += 1)
    await new Promise(done => setTimeout(done, 25));
  return box.querySelectorAll('.row').length;
}"""
START = datetime(2024, 1, 1, tzinfo=UTC)
SETTINGS = load_settings(embedder="hashing", short_term_capacity=100_000, jobs="worker")  # nothing moves meanwhile


def filled(place):
    store = MemoryOS.open(place, settings=SETTINGS)
    turns = (Turn(role=Role.USER, text=f"Note {n}.", at=START + timedelta(minutes=n)) for n in range(MANY))
    store.memory("ann").add_many(list(turns))
    with suppress(StillRunning):
        store.close(0)  # what it would do in the background is not needed here
    return MemoryOS.open(place, settings=SETTINGS, read_only=True)


def test_20_000_pages_are_scrolled_to_the_end(tab, tmp_path):
    with closing(filled(tmp_path / "many.db")) as store, serving(store) as served:
        sight = tab(served.url).open("timeline", user="ann", agent="default")
        rows = sight.page.locator(".rows .row")
        sight.page.locator("text=20,000 pages").wait_for()
        assert f"Note {MANY - 1}." in rows.first.inner_text()
        assert sight.page.locator(".rows li").first.get_attribute("aria-setsize") == str(MANY)
        most, steps = 0, 0
        while sight.page.locator(f".rows li[aria-posinset='{MANY}']").count() == 0:
            steps += 1
            loaded = sight.page.evaluate(SCROLLED)
            most = max(most, loaded)
        assert "Note 0." in sight.page.locator(f".rows li[aria-posinset='{MANY}']").inner_text()
        assert most < 60, "rows on the page at a time"
        assert steps <= MANY / 200 + 1
