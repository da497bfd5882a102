"""In Chinese, the page has no English but names, identifiers and what people said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from itertools import chain

import pytest

from memoryos.caller import Action
from memoryos.cube import Attachment, Fact, Page, ProfileField, Segment, Trait, Turn
from memoryos.infrastructure.vault.audit_entry import Decision
from memoryos.infrastructure.vault.records import JobKind, JobState, Operation
from memoryos.kinds import Kind, Origin, Role, State, Subject, Tier, Trust
from memoryos.operation.consolidation.model_reader import PROFILE_FIELDS
from memoryos.operation.recall.fusion import Weights
from memoryos.operation.recall.overview import Stats
from memoryos.operation.recall.provenance import VersionChange
from memoryos.operation.scheduler.spending import Purpose
from page.sight import VIEWS, Sight

NORA, ZOE = {"user": "Nora", "agent": "Atlas"}, {"user": "Zoe"}
NAMES = "MemoryOS memoryos operator nurse API KV BM25 Nora Atlas Zoe default MEMORYOS AUDIT true".split()
WITHDRAWN = "User lives in Lisbon."  # of which no list tells: the words were corrected
ID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
LATIN = re.compile(r"[A-Za-z]{2,}(?:[ '-]+[A-Za-z]+)*")
SEEN = """() => {
  const found = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const isLeftOut = (home) => home.closest("[lang=en], code, pre, textarea, #owner option, script");
  while (texts.nextNode()) {
    const home = texts.currentNode.parentElement;
    const isSeen = home.closest("option") ?? home.checkVisibility({visibilityProperty: true});
    if (isSeen && !isLeftOut(home)) found.push([texts.currentNode.data, Boolean(home.closest(".stored, svg"))]);
  }
  for (const name of ["aria-label", "title", "placeholder", "alt"])
    for (const one of document.querySelectorAll(`[${name}]`))
      if (!isLeftOut(one)) found.push([one.getAttribute(name), Boolean(one.closest("svg"))]);
  return found;
}"""


def test_every_name_that_the_server_sends_has_a_word(sight):
    sight.open(**NORA)
    tables = sight.page.evaluate(
        "import(document.scripts[0].src.replace('main.js', 'words.js')).then(found => found.TABLES)"
    )
    never = {Operation.VISIT, Operation.DELETE, Operation.TRANSITION, Operation.LABEL}  # cause no change of a state
    said = {one.name for kind in (Page, Turn, Attachment, Segment, Fact, Trait, ProfileField) for one in fields(kind)}
    sent = {
        "job": JobKind,
        "job-state": JobState,
        "purpose": Purpose,
        "state": State,
        "tier": Tier,
        "kind": Kind,
        "count": Kind,
        "role": Role,
        "subject": Subject,
        "origin": Origin,
        "trust": Trust,
        "action": Action,
        "decision": Decision,
        "change": VersionChange,
        "cause": set(Operation) - never,
        "field": PROFILE_FIELDS,
        "said": said - {"type", "chain_summary", "chain_written"},  # of which no difference tells
        "part": ["clause", "bm25", "cosine", "rerank", *(one.name for one in fields(Weights) if one.type == "float")],
        "size": [one.name for one in fields(Stats) if one.type == "int"],
    }
    missing = [
        f"{group}.{name}" for group, names in sent.items() for name in names if f"{group}.{name}" not in tables["zh"]
    ]
    assert len(said) > 20
    assert missing == []


@pytest.fixture
def zoe(served):
    """What Zoe said, of each kind, with some history: the ids by kind."""
    memory = served.store.memory(**ZOE)
    for said, answer in (("My name is Zoe and I live in Lisbon.", "Hello!"), ("I love hiking with my dog.", "Where?")):
        memory.add(said, answer)
    for day in range(12):
        memory.add(f"We went hiking in the hills again, and I love it: day {day}.")
    memory.wait()
    memory.consolidate()
    page = memory.pages.list()[0].id
    memory.update(page, "My name is Zoe and I moved to Porto.", role="user")
    memory.governance.freeze(page)
    memory.governance.thaw(page)
    memory.wait()
    known = memory.profile.get().user
    return {
        "page": page,
        "segment": memory.segments.list()[0].id,
        "fact": memory.facts.list()[0].id,
        "trait": known.traits[0].id,
        "profile": known.profile[0].id,
    }


def test_no_view_has_english_words_of_its_own(tab, served, zoe):
    sight = tab(locale="zh-CN").open(**NORA)
    known = "\n".join([WITHDRAWN, *data_of(served, NORA), *data_of(served, ZOE)])
    seen, found = set(), {}
    for place in chain(walked(sight), looked_at(sight, zoe)):
        seen.add(place)
        for text, is_stored in sight.page.evaluate(SEEN):
            for words in LATIN.findall(ID.sub("", text)):
                if words not in NAMES and not (is_stored and words in known):
                    found.setdefault(words, place)
    assert found == {}
    assert len(seen) > 40


def data_of(served, owner) -> Iterator[str]:
    """What people said, and what was made of their words."""
    for page in served("GET", "/pages", **owner)["items"]:
        for turn in page["turns"]:
            yield from (turn["text"], turn["speaker"] or "", *(one["caption"] for one in turn["attachments"]))
    for path, only in (("/facts", {}), ("/facts", {"tier": "archive"}), ("/segments", {})):
        for one in served("GET", path, **only, **owner)["items"]:
            yield from (one["text"], *one.get("keywords", ()), *one.get("entities", ()))
    for persona in served("GET", "/profile", **owner).values():
        yield from persona["profile"].values()


def walked(sight: Sight) -> Iterator[str]:
    """Each view with what can be opened in it."""
    steps = {
        "search": searched,
        "topics": lambda main: main.locator(".row").first.click(),
        "knowledge": lambda main: main.locator("select").first.select_option("agent"),
        "graph": lambda main: main.locator("summary").click(),
        "jobs": lambda main: main.locator("select").first.select_option("all"),
    }
    for view in VIEWS:
        main = sight.go(view)
        yield view
        if view in steps:
            steps[view](main)
            sight.settled()
            yield f"{view}, more"
        yield from asked(sight, view, "main .filters button, main .danger, main .fields button")
    shared(sight)
    yield "sharing, shared"
    sight.page.locator("main tbody .danger").first.click()
    yield "sharing, revoke"
    sight.page.keyboard.press("Escape")


def searched(main) -> None:
    main.locator("input[type=search]").fill("What is Nora allergic to?")
    main.locator("input[type=search]").press("Enter")
    main.locator(".score summary").first.wait_for()
    for one in main.locator("summary").all():
        one.click()


def shared(sight: Sight) -> None:
    main = sight.go("sharing")
    main.locator(".primary").click()
    sight.dialog().locator("[name=to]").fill("nurse")
    sight.dialog().locator("[type=submit]").click()
    sight.dialog().wait_for(state="detached")
    main.locator("tbody tr").first.wait_for()


def asked(sight: Sight, place: str, buttons: str) -> Iterator[str]:
    """Each dialog that one of these buttons opens."""
    for number in range(sight.page.locator(buttons).count()):
        button = sight.page.locator(buttons).nth(number)
        if not button.is_enabled():
            continue
        button.click()
        sight.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        if sight.dialog().count():
            sight.settled()
            yield f"{place}, dialog {number}"
            sight.page.keyboard.press("Escape")
            sight.dialog().wait_for(state="detached")


def looked_at(sight: Sight, ids) -> Iterator[str]:
    """A memory of each kind, with all that is told of it and what can be done with it; and one that is gone."""
    sight.refused.add(404)
    for kind, one in ids.items():
        sight.open("timeline", one, **ZOE)
        sight.page.locator(".panel .properties code", has_text=one).wait_for()
        for name in ("words", "evidence", "versions", "life"):
            sight.page.locator(f".panel [data-tab={name}]").click()
            sight.settled()
            yield f"{kind}, {name}"
        yield from asked(sight, kind, ".panel .actions button")
    sight.open("timeline", "nothing", **ZOE)
    sight.page.locator(".panel .wrong").wait_for()
    yield "nothing"
