"""A person chooses what the page is used for, from the purposes of the key, and each request states it."""

from __future__ import annotations

from contextlib import closing

import pytest

from memoryos import MemoryOS, load_settings
from page.test_page_safety import sign_in
from served import serving

pytestmark = [pytest.mark.once, pytest.mark.file]

WARD = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal == User::"operator", action, resource);
permit (principal == User::"lee", action == Action::"read", resource is Cube)
when { context has purpose && ["treatment", "治疗"].contains(context.purpose) };
"""
PURPOSES = ["treatment", "治疗", "billing"]


@pytest.fixture(scope="module")
def ward(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ward")
    (folder / "ward.cedar").write_text(WARD, "utf-8")
    settings = load_settings(embedder="hashing")
    with closing(MemoryOS.open(folder / "ward.db", settings=settings, policies=folder / "ward.cedar")) as store:
        store.memory("ann").add("The diagnosis is an allergy.")
        store.keys.create("first")  # from now on, the page asks for one
        with serving(store) as served:
            yield served


def stated(served, since):
    """The purposes that the requests since then stated."""
    asked = [one.headers for one in since if "/v1/" in one.url]
    return {one.get("x-memoryos-purpose", "").encode("latin-1").decode() for one in asked}


def key_of(served, *purposes):
    return served.store.keys.create("lee", actions=["read"], users=["ann"], purposes=purposes).key


def test_the_chosen_purpose_goes_with_each_request(tab, ward):
    key = key_of(ward, *PURPOSES)  # before the page asks: a store without keys wants none
    sight = tab(ward.url)
    sight.refused = {401, 403}
    asked = sight.asked
    sight.open()
    sign_in(sight, key)
    sight.page.locator("main [role=alert]", has_text="You may not do this.").first.wait_for()
    sight.settled()
    assert sight.violations() == []
    choice = sight.page.get_by_label("Purpose")
    assert choice.locator("option").all_inner_texts() == ["none", *sorted(PURPOSES)]
    for purpose, seen in (("treatment", ".tier-card"), ("billing", "main [role=alert]"), ("治疗", ".tier-card")):
        asked.clear()
        choice.select_option(purpose)
        sight.page.locator(
            seen, has_text="allergy" if seen == ".tier-card" else "You may not do this."
        ).first.wait_for()
        sight.settled()
        assert stated(ward, asked) == {purpose}
    sight.page.reload()
    sight.page.locator(".tier-card", has_text="allergy").wait_for()  # this tab keeps the purpose
    asked.clear()
    sight.go("timeline").locator(".row", has_text="allergy").first.click()
    sight.page.locator(".panel .words", has_text="allergy").wait_for()
    assert stated(ward, asked) == {"治疗"}
    choice.select_option("")
    sight.page.locator("main [role=alert]", has_text="You may not do this.").first.wait_for()
    assert "allergy" not in sight.page.content()
    choice.select_option("治疗")
    sight.press("Sign out")
    sight.page.get_by_label("API key").wait_for()
    assert sight.page.evaluate("sessionStorage.length") == 0


def test_a_key_with_one_purpose_or_none_gives_no_choice(tab, ward):
    key = key_of(ward, "treatment")
    sight = tab(ward.url)
    sight.refused = {401, 403}
    sight.open()
    sign_in(sight, key)
    sight.page.locator(".tier-card", has_text="allergy").wait_for()  # it is that of each request
    assert "Purpose treatment" in sight.page.locator(".who").inner_text()
    sight.press("Sign out")
    sign_in(sight, key_of(ward))
    sight.page.locator("main [role=alert]", has_text="You may not do this.").first.wait_for()
    assert "Purpose" not in sight.page.locator(".who").inner_text()
    assert sight.page.locator(".purpose").count() == 0
