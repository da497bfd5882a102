"""Everybody can use the page: with a keyboard, a screen reader, in the dark, in English and in Chinese."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import memoryos
from memoryos import load_settings
from memoryos.operation.hierarchy.tuning import Samples, calibrated, explained
from page.sight import VIEWS

NORA = {"user": "Nora", "agent": "Atlas"}
ASSETS = Path(memoryos.__file__).parent / "interface/page/assets"


@pytest.mark.parametrize(
    ("scheme", "tongue", "rules"),
    [
        ("light", "en", ()),
        ("dark", "zh", ("color-contrast", "html-has-lang", "html-lang-valid", "label", "button-name")),
    ],
)
def test_axe_finds_nothing_serious_in_any_view(tab, scheme, tongue, rules):
    sight = tab(color_scheme=scheme, locale="zh-CN" if tongue == "zh" else "en-GB").open(**NORA)
    assert sight.page.evaluate("document.documentElement.lang").startswith(tongue)
    dark = sight.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(20, 24, 26)") == (scheme == "dark")
    found = {}
    for view in VIEWS:
        main = sight.go(view)
        if view == "search":
            main.locator("input[type=search]").fill("Juno")
            main.locator("input[type=search]").press("Enter")
            main.locator(".score summary").first.click()
        if view == "knowledge":
            main.locator(".row").first.click()
            sight.page.locator(".panel .words").wait_for()
        if view == "topics":
            main.locator(".row").first.click()
        if view == "audit":  # axe looks at every cell
            main.locator("select").first.select_option("share")
            sight.until("document.querySelectorAll('tbody tr').length < 40")
        found[view] = sight.violations(*rules)
        if view == "knowledge":
            sight.page.locator(".panel .danger").click()
            sight.dialog().locator(".preview").wait_for()
            found["dialog"] = sight.violations(*rules)
            sight.page.keyboard.press("Escape")
    assert {view: wrong for view, wrong in found.items() if wrong} == {}
    assert len(found) == len(VIEWS) + 1


def test_a_screen_reader_tells_who_spoke_apart_from_what_was_said(sight):
    sight.open("timeline", **NORA)
    row = sight.page.locator("main .row", has=sight.page.locator(".speaker")).first
    row.wait_for()
    speaker, told = row.locator(".speaker").first.inner_text(), row.locator(".said .stored").nth(1).inner_text()
    assert f"{speaker} {told[:20]}" in row.aria_snapshot()


def test_both_languages_have_words_for_everything(sight):
    sight.open(**NORA)
    tables = sight.page.evaluate(
        "import(document.scripts[0].src.replace('main.js', 'words.js')).then(found => found.TABLES)"
    )
    assert tables["en"].keys() == tables["zh"].keys()
    assert all(word.strip() for table in tables.values() for word in table.values())
    used = {key for path in ASSETS.rglob("*.js") for key in re.findall(r"say\(\"([^\"]+)\"", path.read_text("utf-8"))}
    assert len(used) > 150
    assert used - tables["en"].keys() == set()
    names = re.compile(r"\{\w+\}")
    for key, word in tables["en"].items():
        assert set(names.findall(word)) == set(names.findall(tables["zh"][key])), key
    chinese = re.compile(r"[\u4e00-\u9fff]")
    same = {key for key, word in tables["zh"].items() if not chinese.search(word)}
    assert same == {"part.bm25"}


def reasons():
    """A reason of each kind for a tuned value."""
    enough = Samples([0.9] * 99, [0.1] * 99, [(9.0, 9)] * 99, [3] * 99, {0.0: [1] * 99, 0.5: [2] * 99})
    none = Samples([], [], [], [], {0.0: []})
    told = [one for some in (enough, none) for one in calibrated(some, 99, 0.5).values]
    for settings in ({}, {"self_tuning": False}, {"heat_threshold": 5.0}):
        told += explained(load_settings(**settings), None)
    return [one.reason for one in told]


def test_what_the_program_wrote_itself_is_told_in_chinese(sight):
    sight.open(**NORA)
    sight.page.get_by_label("Language").select_option("zh")
    sight.page.locator("h1", has_text="概览").wait_for()
    files = (ASSETS.parents[2] / "operation/consolidation").glob("persona_*.json")
    groups = [group for file in files for group in json.loads(file.read_text("utf-8"))["groups"]]
    names = [one["name"] for group in groups for one in group["dimensions"]]
    assert len(names) > 100
    traits = [f"{name} ({level}): 'so'" for name in names for level in ("low", "medium", "high")]
    told = sight.page.evaluate(
        """async ([traits, reasons]) => {
            const words = await import(document.scripts[0].src.replace('main.js', 'own_words.js'));
            const by = ["rules", "some-model"].map(words.sayDeriver);
            return [traits.map(words.sayTrait), reasons.map(words.sayReason), by];
        }""",
        [traits, reasons()],
    )
    letters = re.compile("[A-Za-z]{2,}")
    assert [one for one in (*told[0], *told[1]) if letters.search(one.removesuffix("'so'"))] == []
    assert any("界限" in one for one in told[1])
    assert told[2] == ["规则", "some-model"]


def test_language_and_theme_are_chosen_and_kept(sight):
    sight.open(**NORA)
    sight.page.get_by_label("Language").select_option("zh")
    sight.page.locator("h1", has_text="概览").wait_for()
    sight.page.get_by_label("主题").select_option("dark")
    assert sight.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 26)"
    sight.page.reload()
    sight.page.locator("h1", has_text="概览").wait_for()
    assert sight.page.title() == "概览 · MemoryOS"
    assert sight.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 26)"
    missing = re.compile(r"\b[a-z]+[.-][a-z_]+\b")  # a key that has no word is shown itself
    for view in ("jobs", "sharing", "manage", "knowledge"):
        assert missing.findall(sight.go(view).locator("h1, h2, button, label, th").first.inner_text()) == []


def test_a_memory_is_changed_with_the_keyboard_alone(tab, served):
    things = "hats boats lamps cups doors pens".split()
    ids = [served("POST", "/facts", {"text": f"Kim likes {one}."}, user="kim")["id"] for one in things]
    sight = tab().open("knowledge", user="kim")
    sight.page.locator(".row").first.wait_for()
    keys = sight.page.keyboard
    keys.press("Tab")
    assert sight.page.evaluate("document.activeElement.className") == "skip"
    keys.press("Enter")
    assert sight.page.evaluate("document.activeElement.id") == "main"
    for _ in range(5):  # two lists, two buttons, and the rows
        keys.press("Tab")
    assert "Kim likes hats." in sight.page.evaluate("document.activeElement.innerText")
    sight.page.evaluate("""
        const down = () => new KeyboardEvent("keydown", {key: "ArrowDown", bubbles: true});
        for (const key of [down(), down()]) document.activeElement.dispatchEvent(key);
    """)  # faster than the page shows it
    sight.until("document.activeElement.innerText.includes('Kim likes lamps.')")
    keys.press("ArrowUp")
    keys.press("ArrowDown")
    sight.until("document.activeElement.innerText.includes('Kim likes lamps.')")
    keys.press("End")
    sight.until("document.activeElement.innerText.includes('Kim likes pens.')")
    keys.press("Enter")
    sight.page.locator(".panel .words").wait_for()
    assert sight.page.evaluate("document.activeElement.tagName") == "H2"  # the focus goes where the news are
    keys.press("Tab")  # close
    keys.press("Tab")  # edit
    keys.press("Enter")
    sight.dialog().wait_for()
    assert sight.dialog().get_by_label("Text").evaluate("one => one === document.activeElement")
    keys.press("Control+A")
    keys.type("Kim has no hat.")
    for _ in range(3):  # reason, cancel, save
        keys.press("Tab")
    keys.press("Enter")
    sight.dialog().wait_for(state="detached")
    assert served("GET", f"/memories/{ids[-1]}", user="kim")["text"] == "Kim has no hat."
    assert sight.page.evaluate("document.activeElement.innerText") == "Edit"  # and back where it was
    keys.press("Escape")
    sight.page.locator(".panel").wait_for(state="detached")
    sight.until("document.activeElement.innerText.includes('Kim has no hat.')")  # the row that opened it
    tabs = sight.open("knowledge", ids[0], user="kim").page.locator("[role=tab]").first
    tabs.focus()
    keys.press("ArrowRight")
    assert (
        sight.page.evaluate("document.activeElement.getAttribute('aria-selected') + document.activeElement.dataset.tab")
        == "trueevidence"
    )


def test_a_narrow_screen_has_everything_in_one_column(tab):
    sight = tab(viewport={"width": 390, "height": 800}).open(**NORA)
    for view in VIEWS:
        sight.go(view)
        wide = sight.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390, (view, wide)
    assert json.dumps(sight.violations()) == "[]"
