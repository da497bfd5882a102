from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta, timezone

import pytest

from memoryos.errors import InvalidInput
from memoryos.importers.memoryos_folder import MODEL_FAILED, LegacyFact, list_users, read_folder

DAY = datetime(2024, 5, 1, tzinfo=UTC)
WRITTEN = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)


def at(hour):
    return DAY + timedelta(hours=hour)


def stamp(hour):
    return f"{at(hour):%Y-%m-%d %H:%M:%S}"


def page(name, hour=1, **more):
    page = {"page_id": f"page_{name}", "user_input": f"{name}?", "agent_response": f"{name}!", "timestamp": stamp(hour)}
    return page | {"meta_info": "", "page_keywords": [], "page_embedding": [0.5], "pre_page": None} | more


def recent(name, hour=9):
    return {"user_input": f"{name}?", "agent_response": f"{name}!", "timestamp": stamp(hour)}


def segment(*pages, **more):
    return {"summary": "a topic", "summary_keywords": ["k"], "details": list(pages), "timestamp": stamp(8)} | {
        "last_visit_time": stamp(9),
        "N_visit": 2,
        "L_interaction": 3,
        **more,
    }


def mid_term(**segments):
    return {"sessions": segments, "access_frequency": dict.fromkeys(segments, 0)}


def line(text, hour=7):
    return {"knowledge": text, "timestamp": stamp(hour), "knowledge_embedding": [0.1]}


def long_term(user="ann", profile=None, facts=(), agent_facts=()):
    profiles = {user: {"data": profile, "last_updated": stamp(6)}} if profile is not None else {}
    return {"user_profiles": profiles, "knowledge_base": list(facts), "assistant_knowledge": list(agent_facts)}


class Folder:
    """A data folder of the public code, with user "ann" and assistant "helper"."""

    def __init__(self, root):
        self.root = root

    def write(self, place, content):
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, indent=2, ensure_ascii=False)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (WRITTEN.timestamp(), WRITTEN.timestamp()))
        return self

    def short(self, *pages):
        return self.write("users/ann/short_term.json", list(pages))

    def mid(self, **segments):
        return self.write("users/ann/mid_term.json", mid_term(**segments))

    def long(self, **content):
        return self.write("users/ann/long_term_user.json", long_term(**content))

    def assistant(self, *facts):
        return self.write("assistants/helper/long_term_assistant.json", long_term(agent_facts=facts))

    def read(self, user="ann", assistant="helper", zone=UTC):
        return read_folder(self.root, user=user, assistant=assistant, zone=zone)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def ids(memory):
    return [page.page_id or page.user_input for page in memory.pages]


def test_a_page_keeps_what_was_said_and_how_it_is_linked(folder):
    linked = page("a", 3, meta_info="about a", page_keywords=["x"], pre_page="page_0")

    (found,) = folder.mid(s=segment(linked)).read().pages

    assert (found.page_id, found.user_input, found.agent_response) == ("page_a", "a?", "a!")
    assert (found.timestamp, found.meta_info) == (at(3), "about a")
    assert (found.keywords, found.pre_page) == (("x",), "page_0")


def test_pages_are_in_time_order_with_the_short_term_last(folder):
    folder.mid(s=segment(page("a", 1), page("d", 4)), t=segment(page("b", 2))).short(recent("z", 9), recent("y", 8))

    assert ids(folder.read()) == ["page_a", "page_b", "page_d", "y?", "z?"]


def test_a_page_of_two_themes_is_read_once(folder):
    first, second = page("a", page_keywords=["x"]), page("a", page_keywords=["y", "x"], pre_page="page_0")
    folder.mid(s=segment(first, page("b")), t=segment(second), u=segment(first, second))

    memory = folder.read()

    assert ids(memory) == ["page_a", "page_b"]
    assert (memory.pages[0].keywords, memory.pages[0].pre_page) == (("x", "y"), "page_0")
    assert [segment.page_ids for segment in memory.segments] == [("page_a", "page_b"), ("page_a",), ("page_a",)]


def test_two_pages_that_share_an_id_are_both_kept(folder):
    folder.mid(s=segment(page("a", 1)), t=segment(page("b", 2, page_id="page_a")))

    assert [page.user_input for page in folder.read().pages] == ["a?", "b?"]


def test_a_page_without_an_id_is_named_after_its_place(folder):
    memory = folder.mid(s=segment(page("a"), page("b", page_id=None))).read()

    assert ids(memory) == ["page_a", "s#1"]
    assert memory.segments[0].page_ids == ("page_a", "s#1")


def test_short_term_pages_may_repeat_themselves(folder):
    memory = folder.short(recent("ok"), recent("ok")).read()

    assert [(page.page_id, page.user_input) for page in memory.pages] == [(None, "ok?"), (None, "ok?")]


def test_a_short_term_page_that_is_also_in_a_segment_is_read_once(folder):
    assert ids(folder.mid(s=segment(page("a"))).short(page("a")).read()) == ["page_a"]


def test_half_pages_are_kept_and_empty_ones_are_not(folder):
    asked, told = page("a", agent_response=None), page("b", user_input="")
    nothing = page("c", user_input=" ", agent_response="")

    memory = folder.mid(s=segment(asked, told, nothing)).read()

    assert [(page.user_input, page.agent_response) for page in memory.pages] == [("a?", ""), ("", "b!")]
    assert memory.segments[0].page_ids == ("page_a", "page_b")
    assert memory.skipped == 0


def test_a_segment_keeps_its_counters_and_times(folder):
    (found,) = folder.mid(session_1f=segment(page("a", 1))).read().segments

    assert (found.id, found.summary, found.keywords) == ("session_1f", "a topic", ("k",))
    assert (found.visits, found.interactions) == (2, 3)
    assert (found.created_at, found.last_visit_at) == (at(8), at(9))


@pytest.mark.parametrize(
    ("written", "read"), [("hiking", ("hiking",)), (None, ()), (["a", {"b": 1}, " "], ("a",)), ({}, ()), (3, ())]
)
def test_keywords_may_be_what_the_model_made_of_them(folder, written, read):
    folder.mid(s=segment(page("a", page_keywords=written), summary_keywords=written))

    memory = folder.read()

    assert (memory.segments[0].keywords, memory.pages[0].keywords) == (read, read)


def test_facts_lose_one_leading_dash(folder):
    folder.long(facts=[line("- Likes tea", 1), line("- - twice", 2), line("-5 degrees is fine", 3)])
    folder.assistant(line("- Recommended a book", 4))

    memory = folder.read()

    assert [fact.text for fact in memory.user_facts] == ["Likes tea", "- twice", "-5 degrees is fine"]
    assert memory.agent_facts == (LegacyFact(text="Recommended a book", timestamp=at(4)),)


def test_agent_facts_in_the_user_file_are_not_lost(folder):
    folder.long(agent_facts=[line("old")]).assistant(line("new"))

    assert [fact.text for fact in folder.read().agent_facts] == ["old", "new"]


@pytest.mark.parametrize("nothing", ["", " ", "- ", "None", "- None.", "none"])
def test_facts_that_say_nothing_are_left_out(folder, nothing):
    folder.long(facts=[line(nothing), line("Has a cat")])

    memory = folder.read()

    assert [fact.text for fact in memory.user_facts] == ["Has a cat"]
    assert memory.skipped == 0


def test_the_profile_is_that_of_the_user(folder):
    content = long_term(profile=" Likes order. ")
    content["user_profiles"]["bob"] = {"data": "Someone else", "last_updated": stamp(1)}

    memory = folder.write("users/ann/long_term_user.json", content).read()

    assert (memory.profile, memory.profile_at) == ("Likes order.", at(6))


@pytest.mark.parametrize("nothing", ["None", "", " none. ", None])
def test_a_profile_that_says_nothing_is_none(folder, nothing):
    content = long_term()
    content["user_profiles"]["ann"] = {"data": nothing}

    memory = folder.write("users/ann/long_term_user.json", content).read()

    assert (memory.profile, memory.profile_at, memory.guessed_times) == (None, None, 0)


def test_failed_model_calls_do_not_become_memory(folder):
    poisoned = page("a", agent_response=MODEL_FAILED, meta_info=MODEL_FAILED)
    lost = page("b", user_input="", agent_response=f" {MODEL_FAILED}\n")
    folder.mid(s=segment(poisoned, summary=MODEL_FAILED), t=segment(poisoned, lost))
    folder.short(recent("c") | {"agent_response": MODEL_FAILED})
    folder.long(profile=MODEL_FAILED, facts=[line(f"- {MODEL_FAILED}")]).assistant(line(MODEL_FAILED))

    memory = folder.read()

    assert MODEL_FAILED not in repr(memory)
    assert [(page.user_input, page.agent_response) for page in memory.pages] == [("a?", ""), ("c?", "")]
    assert [segment.page_ids for segment in memory.segments] == [("page_a",), ("page_a",)]
    assert (memory.profile, memory.user_facts, memory.agent_facts) == (None, (), ())
    assert memory.skipped == len(("answer", "meta", "lost", "summary", "recent", "profile", "fact", "agent fact"))


def test_a_text_that_only_mentions_the_error_is_kept(folder):
    quoted = f"It says: {MODEL_FAILED}"

    memory = folder.mid(s=segment(page("a", agent_response=quoted))).long(facts=[line(quoted)]).read()

    assert (memory.pages[0].agent_response, memory.user_facts[0].text, memory.skipped) == (quoted, quoted, 0)


def test_what_the_user_said_is_kept_even_when_it_is_the_error_message(folder):
    memory = folder.mid(s=segment(page("a", user_input=MODEL_FAILED))).read()

    assert (memory.pages[0].user_input, memory.skipped) == (MODEL_FAILED, 0)


def test_times_are_local_to_the_zone(folder):
    folder.mid(s=segment(page("a", 12))).long(profile="p", facts=[line("f", 12)])

    memory = folder.read(zone=timezone(timedelta(hours=8)))

    assert memory.pages[0].timestamp == memory.user_facts[0].timestamp == at(4)
    assert (memory.segments[0].created_at, memory.profile_at) == (at(0), at(-2))
    assert memory.guessed_times == 0


@pytest.mark.parametrize(
    "written", ["2024-05-01T03:00:00+00:00", "2024-05-01T11:00:00+08:00", "2024-5-1 3:00:00", " 2024-05-01 03:00:00"]
)
def test_other_dates_that_can_be_read_are_not_guessed(folder, written):
    memory = folder.mid(s=segment(page("a", timestamp=written))).read()

    assert (memory.pages[0].timestamp, memory.guessed_times) == (at(3), 0)


@pytest.mark.parametrize("unreadable", ["昨天下午", "", None, 1714521600, ["x"], "9999-99-99 00:00:00"])
def test_an_unreadable_time_is_that_of_the_page_before(folder, unreadable):
    folder.mid(s=segment(page("a", 1), page("b", timestamp=unreadable), page("c", 3)))

    memory = folder.read()

    assert [page.timestamp for page in memory.pages] == [at(1), at(1), at(3)]
    assert ids(memory) == ["page_a", "page_b", "page_c"]
    assert memory.guessed_times == 1


def test_an_unreadable_first_time_is_that_of_the_page_after(folder):
    memory = folder.mid(s=segment(page("a", timestamp="?"), page("b", 2))).read()

    assert [page.timestamp for page in memory.pages] == [at(2), at(2)]
    assert ids(memory) == ["page_a", "page_b"]


def test_pages_without_any_time_have_that_of_their_segment(folder):
    memory = folder.mid(s=segment(page("a", timestamp="?"), page("b", timestamp="?"))).read()

    assert [page.timestamp for page in memory.pages] == [at(8), at(8)]
    assert memory.guessed_times == 2


def test_a_copy_of_a_page_is_guessed_once(folder):
    undated = page("a", timestamp="?")

    assert folder.mid(s=segment(undated), t=segment(undated)).read().guessed_times == 1


def test_a_segment_without_times_has_those_of_its_pages(folder):
    memory = folder.mid(s=segment(page("a", 5), page("b", 6), timestamp="?", last_visit_time=None)).read()

    assert (memory.segments[0].created_at, memory.segments[0].last_visit_at) == (at(5), at(5))
    assert memory.guessed_times == 2


def test_undated_short_term_pages_come_after_the_mid_term(folder):
    memory = folder.mid(s=segment(page("a", 1), page("b", 4))).short(recent("c") | {"timestamp": "just now"}).read()

    assert (ids(memory), memory.pages[-1].timestamp) == (["page_a", "page_b", "c?"], at(4))


def test_without_a_neighbour_the_time_of_the_file_is_used(folder):
    folder.short(recent("a") | {"timestamp": "now"}).long(facts=[{"knowledge": "f"}])

    memory = folder.read()

    assert memory.pages[0].timestamp == memory.user_facts[0].timestamp == WRITTEN
    assert memory.guessed_times == 2


def test_a_time_outside_the_calendar_in_utc_is_guessed(folder):
    folder.mid(s=segment(page("a", timestamp="0001-01-01 00:00:00"), page("b", 8)))

    memory = folder.read(zone=timezone(timedelta(hours=8)))

    assert (memory.pages[0].timestamp, memory.guessed_times) == (at(0), 1)


def test_chinese_is_kept_as_it_is(folder):
    chinese = page("a", user_input="我住在上海🙂", agent_response="好的。", page_keywords=["上海"])
    place = "users/小明/mid_term.json"
    folder.write(place, mid_term(s=segment(chinese, summary="居住地")))

    memory = folder.read(user="小明")

    assert list_users(folder.root) == ("小明",)
    assert (memory.pages[0].user_input, memory.pages[0].keywords) == ("我住在上海🙂", ("上海",))
    assert memory.segments[0].summary == "居住地"


def test_users_are_listed_in_order_and_files_are_no_users(folder):
    folder.write("users/bob/short_term.json", []).short().write("users/notes.json", {})

    assert list_users(folder.root) == ("ann", "bob")


def test_a_user_sees_only_what_is_theirs(folder):
    folder.short(recent("mine")).write("users/bob/short_term.json", [recent("his")])

    assert ids(folder.read()) == ["mine?"]
    assert ids(folder.read(user="bob")) == ["his?"]


def test_a_fresh_folder_is_empty(folder):
    memory = folder.read()

    assert list_users(folder.root) == ()
    assert (memory.pages, memory.segments, memory.user_facts, memory.agent_facts) == ((), (), (), ())
    assert (memory.profile, memory.skipped, memory.guessed_times) == (None, 0, 0)


def test_a_folder_that_does_not_exist_is_no_empty_memory(tmp_path):
    with pytest.raises(InvalidInput, match="typo: is not a folder"):
        read_folder(tmp_path / "typo", user="ann", assistant="helper", zone=UTC)
    with pytest.raises(InvalidInput, match="typo: is not a folder"):
        list_users(tmp_path / "typo")


@pytest.mark.parametrize("hostile", ["../../outside", "..", ".", "", "/", "ann/../../../outside", "ann/", "a\x00b"])
def test_a_hostile_id_cannot_leave_the_root(tmp_path, hostile):
    Folder(tmp_path).write("outside/short_term.json", [recent("secret")])
    Folder(tmp_path).write("outside/long_term_assistant.json", long_term(agent_facts=[line("secret")]))
    inside = Folder(tmp_path / "data").short(recent("mine")).assistant(line("fine"))
    inside.write("short_term.json", [recent("root")]).write("users/short_term.json", [recent("users")])

    memory = inside.read(user=hostile, assistant=hostile)

    assert (memory.pages, memory.agent_facts) == ((), ())


def test_an_absolute_path_is_no_id(tmp_path):
    Folder(tmp_path).write("outside/short_term.json", [recent("secret")])

    assert Folder(tmp_path / "data").short().read(user=str(tmp_path / "outside")).pages == ()


@pytest.mark.parametrize(
    "place",
    [
        "users/ann/short_term.json",
        "users/ann/mid_term.json",
        "users/ann/long_term_user.json",
        "assistants/helper/long_term_assistant.json",
    ],
)
@pytest.mark.parametrize("damaged", ["", '{"sessions": {"s', "[{", "{}x", "3", "null", '{"other": 1}'])
def test_a_damaged_file_is_reported_and_never_empty(folder, place, damaged):
    folder.write(place, damaged)

    with pytest.raises(InvalidInput, match=place.rpartition("/")[2]) as caught:
        folder.read()

    assert caught.value.fix


@pytest.mark.parametrize(
    ("broken", "place", "problem"),
    [
        (segment({"user_input": "a"}), r"mid_term\.json at sessions\.s\.details\.0\.agent_response", "required"),
        (segment(page("a", user_input=["x"])), r"details\.0\.user_input", "valid string"),
        (segment(page("a", user_input="x\x00y")), r"details\.0\.user_input", "NUL"),
        (segment(N_visit=-1), r"sessions\.s\.N_visit", "greater than or equal to 0"),
        ({"summary": "no pages"}, r"sessions\.s\.details", "required"),
    ],
)
def test_a_broken_segment_names_the_place(folder, broken, place, problem):
    folder.mid(s=broken)

    with pytest.raises(InvalidInput) as caught:
        folder.read()

    caught.match(place)
    caught.match(problem)


def test_nothing_is_written_to_the_folder(folder):
    folder.mid(s=segment(page("a"))).short(recent("b")).long(profile="p").assistant(line("f"))
    before = {path: path.stat().st_mtime_ns for path in folder.root.rglob("*")}

    folder.read()

    assert {path: path.stat().st_mtime_ns for path in folder.root.rglob("*")} == before
