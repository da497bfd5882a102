"""What is stored is data and no part of the page, and what one key opens no other one sees."""

from __future__ import annotations

from contextlib import closing

import pytest

from memoryos import MemoryOS, load_settings
from served import serving

EVIL = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script><b>bold</b>"
TURNED = "safe \u202etxt.exe\u202c \u0007 end"
LONG = "long words " * 9_091  # 100,001 characters


def test_hostile_text_is_shown_as_it_is_everywhere(tab, served):
    ids = [
        served("POST", "/memories", {"query": text, "tags": [text[:60]]}, user="<i>eve</i>")["ids"][0]
        for text in (EVIL, TURNED)
    ]
    fact = served("POST", "/facts", {"text": EVIL, "metadata": {EVIL: EVIL}}, user="<i>eve</i>")["id"]
    served("PUT", "/profile/location", {"value": EVIL}, user="<i>eve</i>")
    sight = tab().open(user="<i>eve</i>")
    sight.settled()
    for view in ("timeline", "topics", "knowledge", "graph", "audit", "manage"):
        main = sight.go(view)
        assert main.locator("img, script, b, i").count() == 0
    sight.go("timeline").locator(".row", has_text="<img src=x onerror=").wait_for()
    assert "U+202E" in sight.page.locator(".row", has_text="txt.exe").inner_text()
    main = sight.go("search")
    main.get_by_label("Question or words").fill(EVIL[:200])
    main.get_by_role("button", name="Search", exact=True).click()
    main.locator(".hit", has_text="<b>bold</b>").first.wait_for()
    for one in (*ids, fact):
        sight.open("knowledge", one, user="<i>eve</i>")
        panel = sight.page.locator(".panel")
        panel.locator(".words .stored", has_text="e").first.wait_for()
        for tab_name in ("words", "evidence", "versions", "life"):
            panel.locator(f"[data-tab={tab_name}]").click()
            sight.settled()
            assert panel.locator("img, script, b, i").count() == 0
    sight.press("Forget", ".panel")
    sight.dialog().locator("blockquote", has_text="<img src=x").wait_for()
    assert "owned" not in sight.page.title()


def test_nothing_turns_text_into_html_or_code(sight):
    """The policy itself refuses it, so that a mistake in a later script does, too."""
    sight.open(user="Nora", agent="Atlas")
    tries = {
        "html": "document.body.innerHTML = '<b>x</b>'",
        "frame": "document.createElement('iframe').srcdoc = '<b>x</b>'",
        "script": "document.createElement('script').text = 'document.title = 1'",
    }
    sight.page.locator(".tier-card").first.wait_for()
    for name, code in tries.items():
        result = sight.page.evaluate(
            f"() => {{ try {{ {code}; return 'done' }} catch (error) {{ return String(error) }} }}"
        )
        assert result != "done", name
    assert "TypeError" in sight.page.evaluate("fetch('http://127.0.0.1:1/').catch(String)")
    told = ("Content Security Policy", "TrustedHTML", "TrustedScript")
    assert [one for one in sight.wrong if not any(name in one for name in told)] == []  # no request left, either
    assert len(sight.wrong) >= len(tries)
    sight.wrong.clear()


def test_a_page_of_100_000_characters_is_shown_cut_and_whole(tab, served):
    (page,) = served("POST", "/memories", {"query": LONG}, user="lea")["ids"]
    whole = served("GET", f"/memories/{page}", user="lea")["turns"][0]["text"]
    assert len(whole) > 100_000
    sight = tab().open("timeline", page, user="lea")
    sight.page.locator(".rows .row").first.wait_for()
    assert len(sight.page.locator(".rows .row").first.text_content()) < 1_000
    assert sight.page.locator(".panel .words .turn p.stored").text_content() == whole
    box = sight.page.locator(".panel .words").bounding_box()
    assert box["height"] < 400


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two tenants with one user of the same name each, a key for each, and one for reading alone."""
    place = tmp_path_factory.mktemp("two") / "memory.db"
    with closing(MemoryOS.open(place, settings=load_settings(embedder="hashing"))) as store:
        for tenant in ("north", "south"):
            store.memory("ann", tenant=tenant).add(f"The secret of {tenant} is {tenant}-0815.")
            store.memory("ann", tenant=tenant).facts.add(f"Ann lives in the {tenant}.")
        every = ("read", "write", "share", "delete", "administer")
        keys = {
            tenant: store.keys.create(f"{tenant}ern web", tenant=tenant, actions=every) for tenant in ("north", "south")
        }
        keys["reader"] = store.keys.create("reader", tenant="north", actions=["read"], users=["ann"])
        with serving(store) as served:
            yield served, keys


def sign_in(sight, key, user=None):
    sight.page.get_by_label("API key").fill(key)
    sight.page.get_by_role("button", name="Sign in").click()
    if user:  # the key of a tenant may not list its users
        sight.page.locator("main").get_by_label("User").fill(user)
        sight.press("Show", "main")


def test_a_key_shows_its_own_tenant_alone_and_leaves_nothing_behind(tab, two):
    served, keys = two
    sight = tab(served.url)
    sight.refused = {401}
    sight.open()
    assert "API key" in sight.page.locator("form").inner_text()
    sign_in(sight, "mos_wrong_key")
    sight.page.locator("[role=alert]", has_text="not valid").wait_for()
    sign_in(sight, keys["north"].key, "ann")
    sight.page.locator(".tier-card", has_text="north-0815").wait_for()
    assert "northern web" in sight.page.locator(".who").inner_text()
    assert keys["north"].key not in sight.page.content()
    assert keys["north"].key not in sight.page.evaluate(
        "location.href + document.cookie + JSON.stringify(localStorage)"
    )
    sight.page.reload()
    sight.page.locator(".tier-card", has_text="north-0815").wait_for()  # this tab keeps the key
    other = sight.page.context.new_page()
    other.goto(f"{served.url}/ui/")
    other.get_by_label("API key").wait_for()  # another one does not have it
    other.close()

    sight.press("Sign out")
    sight.page.get_by_label("API key").wait_for()
    assert "north" not in sight.page.content()
    assert sight.page.evaluate("[sessionStorage.length, location.hash]") == [0, ""]
    sign_in(sight, keys["south"].key, "ann")
    sight.page.locator(".tier-card", has_text="south-0815").wait_for()
    for view in ("timeline", "topics", "knowledge", "graph", "search"):
        assert "north" not in sight.go(view).inner_text()


def test_an_answer_that_comes_after_the_end_of_a_session_is_not_shown(tab, two):
    served, keys = two
    sight = tab(served.url)
    sight.refused = {401}
    sight.open()
    sign_in(sight, keys["north"].key, "ann")
    sight.page.locator(".tier-card").first.wait_for()
    waiting, done = [], []
    sight.page.route("**/v1/pages?*", lambda route: route.continue_() if done else waiting.append(route))
    with sight.page.expect_request("**/v1/pages?*"):
        sight.page.locator("nav a[href^='#/timeline']").click()
    while not waiting:  # until the request is held up
        sight.page.wait_for_timeout(50)
    done.append(True)
    sight.press("Sign out")
    sign_in(sight, keys["south"].key, "ann")
    for route in waiting:
        route.fulfill(json={"items": [{"id": "x", "text": "north-0815"}], "cursor": None})
    sight.go("knowledge").locator(".row", has_text="south").wait_for()
    assert "north" not in sight.page.locator("body").inner_text()


def test_what_a_key_may_not_do_is_refused_plainly(tab, two):
    served, keys = two
    sight = tab(served.url)
    sight.refused = {401, 403}
    sight.open()
    sign_in(sight, keys["reader"].key)
    sight.page.locator(".tier-card", has_text="north-0815").wait_for()  # its one user is chosen
    sight.go("knowledge").locator(".row").first.click()
    sight.press("Freeze", ".panel")
    sight.dialog().get_by_role("button", name="Freeze", exact=True).click()
    sight.dialog().locator("[role=alert]", has_text="You may not do this.").wait_for()
    sight.page.keyboard.press("Escape")
    sight.go("audit").locator("[role=alert]", has_text="You may not do this.").wait_for()
    sight.open(user="bob")
    sight.page.locator("main [role=alert]").first.wait_for()

    served.store.keys.revoke(keys["reader"].info.id)
    sight.page.locator("nav a[href^='#/timeline']").click()
    sight.page.locator("[role=alert]", has_text="not valid").wait_for()
    assert "north" not in sight.page.content()
