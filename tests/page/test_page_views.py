"""Every view shows what the addresses of REST say."""

from __future__ import annotations

import json
import re

import pytest

from page.sight import VIEWS

NORA = {"user": "Nora", "agent": "Atlas"}
INSIDE = """all => all.every(one => {
  const box = one.ownerSVGElement.getBoundingClientRect(), own = one.getBoundingClientRect();
  return own.left >= box.left && own.right <= box.right && own.top >= box.top && own.bottom <= box.bottom;
})"""


@pytest.fixture
def sight(tab):
    return tab().open(**NORA)


def test_the_first_user_is_shown_when_nobody_is_named(tab, served):
    sight = tab().open()
    sight.until("document.querySelectorAll('.tier-card .row').length > 0")
    first = served("GET", "/scopes", user=None)["items"][0]["user"]
    assert sight.page.locator("#owner option:checked").inner_text().startswith(first)


def test_the_overview_has_the_three_tiers(sight, served):
    stats = served("GET", "/stats", **NORA)
    cards = sight.page.locator(".tier-card")
    cards.first.wait_for()
    short, middle, lasting = cards.all_inner_texts()
    assert f"{stats['stm_pages']} pages" in short
    assert f"{stats['mtm_segments']} topics · {stats['mtm_pages']} pages" in middle
    assert f"{stats['user_facts']} facts · {stats['traits']} traits" in lasting
    profile = served("GET", "/profile", **NORA)["user"]["profile"]
    assert all(value in lasting for value in profile.values())
    latest = served("GET", "/pages", tier="stm", latest=True, **NORA)["items"]
    assert latest[0]["turns"][0]["text"][:30] in short
    hottest = served("GET", "/segments", **NORA)["items"][0]
    assert ", ".join(hottest["keywords"][:4]) in middle


def test_the_timeline_has_all_pages_the_latest_first_and_filters_them(sight, served):
    main = sight.go("timeline")
    pages = served("GET", "/pages", latest=True, **NORA)["items"]
    rows = main.locator(".row")
    assert pages[0]["turns"][0]["text"][:60] in rows.first.inner_text()
    assert main.locator(f"text={len(pages)} pages").count() == 1
    main.get_by_label("Order").select_option("yes")
    sight.until(f"document.querySelector('.row')?.innerText.includes({pages[-1]['text'][6:40]!r})")
    main.get_by_label("Until").fill("2026-03-02")
    count = served("GET", "/pages/count", until="2026-03-02", **NORA)["count"]
    main.locator(f"text=/^{count} pages?$/").wait_for()
    assert 0 < count < len(pages)
    main.get_by_label("Until").fill("2026-03-08")
    main.get_by_label("Tags").fill("nothing has this, tag")
    main.get_by_label("Tags").press("Enter")
    main.locator("text=There is nothing here.").wait_for()


def test_topics_are_ordered_and_show_their_pages(sight, served):
    main = sight.go("topics")
    topics = served("GET", "/segments", **NORA)["items"]
    title = lambda topic: ", ".join(topic["keywords"][:4])  # noqa: E731
    assert title(topics[0]) in main.locator(".row").first.inner_text()
    main.get_by_label("Order").select_option("size")
    largest = max(topics, key=lambda topic: topic["pages"])
    assert f"{largest['pages']} pages" in main.locator(".row").first.inner_text()
    main.get_by_label("Order").select_option("time")
    main.locator(".row").first.click()
    latest = max(topics, key=lambda topic: topic["at"])
    assert title(latest) == main.locator("#topic-title").inner_text()
    pages = served("GET", "/pages", segment=latest["id"], limit=1, **NORA)
    said = main.locator(".beside .card .row").first
    said.wait_for()
    assert pages["items"][0]["turns"][0]["text"][:30] in said.inner_text()
    assert main.locator(".beside .card .rows li").first.get_attribute("aria-setsize") == str(latest["pages"])


def test_facts_traits_and_the_profile_have_their_evidence(sight, served):
    main = sight.go("knowledge")
    persona = served("GET", "/profile", **NORA)["user"]
    assert main.locator(".traits .row").count() == len(persona["traits"])
    assert [value in main.inner_text() for value in persona["profile"].values()] == [True] * len(persona["profile"])
    trait = persona["traits"][0]
    main.locator(".traits .row").first.click()
    panel = sight.page.locator(".panel")
    panel.locator("[data-tab=evidence]").click()
    panel.locator(".related .row").first.wait_for()
    assert panel.locator(".related .row").count() == len(trait["provenance"])
    panel.locator(".related .row").first.click()  # the page that it rests on
    panel.locator("h2", has_text="Page").wait_for()
    panel.locator("[data-tab=evidence]").click()
    assert trait["text"] in panel.locator(".related", has_text="Trait").inner_text()


def test_a_search_explains_each_score(sight, served):
    main = sight.go("search")
    main.get_by_label("Question or words").fill("What is Nora allergic to?")
    main.get_by_role("button", name="Search", exact=True).click()
    main.locator(".hit").first.wait_for()
    body = {"query": "What is Nora allergic to?", "explain": True}
    hit = max(served("POST", "/search", body, **NORA)["hits"], key=lambda one: one["score"])
    first = main.locator(".hit").first
    assert hit["turns"][0]["text"][:40] in first.inner_text()
    first.locator("summary").click()
    shown = [float(one) for one in first.locator("td.number").all_inner_texts()]
    assert sum(shown) == pytest.approx(hit["score"], abs=0.05)
    assert "Same words" in first.inner_text()
    main.get_by_label("Question or words").fill("xyzzy plugh 1234")
    main.locator("summary", has_text="More filters").click()
    main.get_by_label("Until").fill("1999-01-01")
    main.get_by_role("button", name="Search", exact=True).click()
    main.locator("text=0 memories found").wait_for()


def test_the_graph_links_topics_by_names_and_words_and_opens_them(sight, served):
    main = sight.go("graph")
    topics = served("GET", "/segments", **NORA)["items"]
    assert main.locator("g.topic").count() == len(topics)
    named = {name for topic in topics for name in topic["entities"]}
    shown = main.locator("g.name text").all_text_contents()
    assert shown
    assert {*shown} <= {name[:24] for name in named}
    assert main.locator("g.word").count()
    assert main.locator("svg g.topic").evaluate_all(INSIDE)
    first = main.locator("g.topic").first
    first.focus()
    first.press("Enter")
    sight.page.locator(".panel h2", has_text="Topic").wait_for()
    main.locator("summary", has_text="As a list").click()
    assert main.locator(".graph-list li").count() == len(topics)


def test_jobs_usage_and_audit_are_tables(sight, served):
    main = sight.go("jobs")
    assert "There is nothing here." in main.inner_text()
    main.get_by_label("Show").select_option("done")
    main.locator("tbody tr").first.wait_for()
    assert main.locator("tbody tr").count() == len(served("GET", "/jobs", states=["done"], **NORA)["items"])
    assert "done" in main.locator("tbody tr").first.inner_text()

    main = sight.go("usage")
    stats = served("GET", "/stats", **NORA)
    assert stats["embedder"] in main.inner_text()
    assert [one["reason"] in main.inner_text() for one in stats["tuning"]] == [True] * len(stats["tuning"])
    assert "No model was asked." in main.inner_text()

    main = sight.go("audit")
    main.locator("tbody tr").first.wait_for()
    assert {"read", "Nora"} <= set(re.split(r"\s", main.locator("tbody tr").first.inner_text()))
    main.get_by_label("Action").select_option("write")
    main.locator("tbody tr", has_text="memory.add_many").first.wait_for()
    assert main.locator("tbody tr", has_text="pages.list").count() == 0
    main.get_by_role("button", name="Check the log").click()
    sight.told("The log is as it was written")


def test_each_view_has_one_heading_and_its_own_title(sight):
    titles = list[str]()
    for view in VIEWS:
        sight.go(view)
        assert sight.page.locator("h1").count() == 1
        sight.until(f"!{json.dumps(titles)}.includes(document.title)")  # which is set after the view is drawn
        titles.append(sight.page.title())


DRAWN_BEFORE_IT_IS_HEARD = """() => import(document.querySelector("script[src]").src.replace("main.js", "held.js"))
  .then(async ({held}) => {
    const {html, render} = await import(document.querySelector("script[src]").src.replace("main.js", "html.js"));
    const owner = held("Nora"), place = document.createElement("p");
    render(html`<${() => html`${owner.use()}`} />`, document.body.appendChild(place));
    const first = place.textContent;
    owner.set("Tom");
    await new Promise(done => setTimeout(done, 1000));
    return [first, place.textContent];
  })"""


def test_what_changes_right_after_the_first_drawing_is_drawn(sight):
    """Another owner in the address, for example, while the page begins."""
    assert sight.page.evaluate(DRAWN_BEFORE_IT_IS_HEARD) == ["Nora", "Tom"]


def test_a_user_without_memories_has_empty_views(sight):
    sight.open(user="nobody at all")
    for view in VIEWS:
        main = sight.go(view)
        assert main.locator(".wrong").count() == 0
        assert (
            view in ("search", "usage", "manage", "sharing") or "nothing here" in main.inner_text() or view == "audit"
        )
