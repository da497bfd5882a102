"""Every action of the page changes what the addresses of REST say, and asks before it removes anything."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from memoryos import MemoryOS, load_settings
from served import serving


@pytest.fixture
def bea(served):
    """Two pages and two facts of Bea."""
    for text in ("I keep bees behind the mill.", "My sister is called Ilse."):
        served("POST", "/memories", {"query": text, "response": "Noted."}, user="bea")
    ids = [served("POST", "/facts", {"text": text}, user="bea")["id"] for text in ("Bea keeps bees.", "Bea is tall.")]
    yield ids
    served.ask("POST", "/forget", user="bea")


def memory(served, memory_id):
    return served("GET", f"/memories/{memory_id}", user="bea")


def test_a_fact_is_edited_compared_and_brought_back(served, bea, tab):
    sight = tab().open("knowledge", bea[0], user="bea")
    sight.press("Edit", ".panel")
    sight.dialog().get_by_label("Text").fill("Bea keeps wasps.")
    sight.dialog().get_by_label("Reason").fill("she told me")
    sight.confirm("Save")
    sight.told("Changed.")
    assert memory(served, bea[0])["text"] == "Bea keeps wasps."
    sight.page.locator(".rows .row", has_text="wasps").wait_for()  # the list beside it, too
    sight.page.locator("[data-tab=versions]").click()
    panel = sight.page.locator(".panel")
    panel.locator("ins", has_text="wasps.").wait_for()
    assert panel.locator("del").all_inner_texts() == ["bees."]
    assert "she told me" in panel.inner_text()
    panel.get_by_role("button", name="Go back").click()
    sight.dialog().locator("ins", has_text="bees.").wait_for()
    sight.confirm("Go back")
    sight.told("The words of version 1 are back.")
    found = memory(served, bea[0])
    assert (found["text"], found["version"]) == ("Bea keeps bees.", 3)


def test_an_edit_that_another_one_overtook_is_refused_and_keeps_what_was_typed(served, bea, tab):
    sight = tab()
    sight.refused = {412}
    sight.open("knowledge", bea[0], user="bea")
    sight.press("Edit", ".panel")
    served("PATCH", f"/memories/{bea[0]}", {"text": "Bea keeps ants."}, user="bea")
    sight.dialog().get_by_label("Text").fill("Bea keeps wasps.")
    sight.dialog().get_by_role("button", name="Save").click()
    assert "version 2" in sight.dialog().locator("[role=alert]").inner_text()
    assert sight.dialog().get_by_label("Text").input_value() == "Bea keeps wasps."
    assert memory(served, bea[0])["text"] == "Bea keeps ants."


def test_one_turn_of_a_page_is_edited(served, bea, tab):
    page = served("GET", "/pages", user="bea", limit=1)["items"][0]
    sight = tab().open("timeline", page["id"], user="bea")
    sight.press("Edit", ".panel")
    sight.dialog().get_by_label("Whose words").select_option("assistant")
    assert sight.dialog().get_by_label("Text").input_value() == "Noted."
    sight.dialog().get_by_label("Text").fill("Good.")
    sight.confirm("Save")
    assert [turn["text"] for turn in memory(served, page["id"])["turns"]] == ["I keep bees behind the mill.", "Good."]


def test_a_memory_is_frozen_thawed_and_let_expire(served, bea, tab):
    sight = tab().open("knowledge", bea[1], user="bea")
    sight.press("Freeze", ".panel")
    sight.dialog().get_by_label("Reason").fill("under review")
    sight.confirm("Freeze")
    sight.told("Frozen.")
    assert memory(served, bea[1])["state"] == "frozen"
    panel = sight.page.locator(".panel")
    panel.get_by_role("button", name="Thaw").wait_for()
    assert [
        panel.get_by_role("button", name=name, exact=True).is_disabled() for name in ("Edit", "Expire", "Forget")
    ] == [True] * 3
    panel.locator("[data-tab=life]").click()
    panel.locator(".life li", has_text="under review").wait_for()
    sight.press("Thaw", ".panel")
    sight.confirm("Thaw")
    sight.told("Thawed.")
    assert memory(served, bea[1])["state"] == "generated"
    panel.get_by_role("button", name="Freeze").wait_for()
    sight.press("Expire", ".panel")
    sight.confirm("Expire")
    sight.told("Expired.")
    panel.wait_for(state="detached")
    assert bea[1] not in {one["id"] for one in served("GET", "/facts", user="bea")["items"]}
    sight.page.locator(".rows .row", has_text="Bea is tall.").wait_for(state="detached")


def test_a_memory_is_forgotten_after_a_preview(served, bea, tab):
    served("PATCH", f"/memories/{bea[0]}", {"text": "Bea keeps ants."}, user="bea")
    sight = tab().open("knowledge", bea[0], user="bea")
    sight.press("Forget", ".panel")
    sight.dialog().locator("li", has_text="2 versions of it").wait_for()
    assert "Bea keeps ants." in sight.dialog().inner_text()
    sight.page.keyboard.press("Escape")
    sight.dialog().wait_for(state="detached")
    assert memory(served, bea[0])["text"] == "Bea keeps ants."  # nothing was done
    sight.press("Forget", ".panel")
    sight.dialog().locator("li", has_text="2 versions of it").wait_for()
    sight.confirm("Forget")
    sight.told("Forgotten: 1 fact.")
    assert served.ask("GET", f"/memories/{bea[0]}", user="bea").status_code == 404
    sight.page.locator(".rows .row", has_text="Bea keeps ants.").wait_for(state="detached")


def test_a_fact_is_added_and_a_field_is_set(served, bea, tab):
    sight = tab().open("knowledge", user="bea")
    sight.press("Add a fact")
    sight.dialog().get_by_label("Text").fill("Bea 喜欢喝茶。")
    sight.confirm("Add")
    sight.page.locator(".rows .row", has_text="喜欢喝茶").wait_for()
    sight.press("Set a field")
    sight.dialog().get_by_label("Field").fill("location")
    sight.dialog().get_by_label("Value").fill("Graz")
    sight.confirm("Save")
    sight.page.locator(".fields dd", has_text="Graz").wait_for()
    sight.page.locator(".fields button").click()
    sight.dialog().get_by_label("Value").fill("Linz")
    sight.confirm("Save")
    sight.page.locator(".fields dd", has_text="Linz").wait_for()
    assert served("GET", "/profile", user="bea")["user"]["profile"] == {"location": "Linz"}
    assert "Bea 喜欢喝茶。" in {one["text"] for one in served("GET", "/facts", user="bea")["items"]}


def test_a_right_is_passed_on_and_revoked(served, bea, tab):
    sight = tab().open("sharing", user="bea")
    sight.press("Share")
    sight.dialog().get_by_label("To").fill("nurse")
    sight.dialog().get_by_label("write").check()
    sight.dialog().get_by_label("For how long").select_option("hour")
    sight.confirm("Share")
    sight.told("nurse has the right now.")
    (made,) = served("GET", "/delegations", user="bea")["items"]
    assert (made["to"], sorted(made["actions"])) == ("nurse", ["read", "write"])
    sight.page.locator("tbody tr", has_text="nurse").get_by_role("button", name="Revoke").click()
    sight.confirm("Revoke")
    sight.page.locator("text=There is nothing here.").wait_for()
    assert served("GET", "/delegations", user="bea")["items"] == []


def test_a_session_and_then_everything_is_forgotten_after_a_preview(served, bea, tab):
    served("POST", "/memories", {"query": "This is for today alone."}, user="bea", session="today")
    sight = tab().open("manage", user="bea")
    sight.page.get_by_label("Session").fill("today")
    sight.press("Preview")
    sight.dialog().locator("li", has_text="1 page").wait_for()
    forget = sight.dialog().get_by_role("button", name="Forget")
    assert forget.is_disabled()
    sight.dialog().get_by_label("Type “bea” to confirm").fill("bea")
    sight.confirm("Forget")
    sight.told("Forgotten: 1 page")
    assert "signature" in sight.page.locator("pre").inner_text()
    assert served("GET", "/pages/count", user="bea")["count"] == 2
    sight.page.get_by_label("Session").fill("")
    sight.press("Preview")
    facts = served("GET", "/facts/count", user="bea")["count"]
    sight.dialog().locator("li", has_text=f"{facts} facts").wait_for()
    assert "2 pages" in sight.dialog().inner_text()
    sight.dialog().get_by_label("Type “bea” to confirm").fill("BEA")
    assert forget.is_disabled()
    sight.dialog().get_by_label("Type “bea” to confirm").fill("bea")
    sight.confirm("Forget")
    sight.told("Forgotten:")
    assert (served("GET", "/pages/count", user="bea")["count"], served("GET", "/facts/count", user="bea")["count"]) == (
        0,
        0,
    )


def test_a_job_that_failed_too_often_is_tried_again(tab, tmp_path):
    now = [datetime.now(UTC)]
    failing = [True]

    def do(scope, job):
        if failing:
            raise ValueError("<b>no day</b> is like another")

    settings = load_settings(embedder="hashing")
    with closing(MemoryOS.open(tmp_path / "jobs.db", settings=settings, clock=lambda: now[0])) as store:
        store.admin.register_job("digest", do)
        memory = store.memory("ann")
        memory.jobs.add("digest")
        for _ in range(6):
            now[0] += timedelta(hours=1)
            memory.jobs.run()
        failing.clear()
        with serving(store) as served:
            sight = tab(served.url).open("jobs", user="ann", agent="default")
            row = sight.page.locator("tbody tr", has_text="digest")
            row.get_by_text("failed").wait_for()
            assert "ValueError" in row.inner_text()
            row.get_by_role("button", name="Try again").click()
            sight.told("1 job is tried again.")
            sight.page.get_by_label("Show").select_option("done")
            row.get_by_text("done").wait_for()
