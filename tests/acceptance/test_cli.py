"""The memoryos command, as a person and a program use it, on real files."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from functools import partial
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

import forked
import memoryos
import same_process
from memoryos import Role, Turn, load_settings
from memoryos.bench.made_up_dialogue import Dialogue
from memoryos.errors import EmbedderMismatch
from memoryos.interface.cli.demo import load_script

LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a parrot called Kiwi yesterday."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "A parrot, how wonderful! Does Kiwi talk?"},
                {"speaker": "Ann", "dia_id": "D1:3", "text": "The tax office lost my form again."},
            ],
        },
        "qa": [],
    }
]


@pytest.fixture
def run(tmp_path):
    def call(*arguments, **variables):
        return same_process.memoryos(*arguments, cwd=tmp_path, **variables)

    return call


@pytest.fixture
def locomo(tmp_path) -> Path:
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps(LOCOMO), "utf-8")
    return path


CHAT = [
    {"role": "user", "content": "I live in Oslo.\u2028Now."},
    {"role": "assistant", "content": [{"type": "text", "text": "Nice!"}]},
    {"role": "user", "content": "I keep bees."},
]


@pytest.mark.parametrize(
    "text",
    [json.dumps(CHAT, indent=2), "\n".join(json.dumps(one, ensure_ascii=False) for one in CHAT) + "\n\n"],
    ids=["json", "lines"],
)
def test_chat_messages_are_stored_as_exchanges(run, tmp_path, monkeypatch, text):
    (tmp_path / "chat.json").write_text(text, "utf-8")
    ids = document(run("add", "--messages", "chat.json", "--user", "ann", "--tag", "chat", "--json"))["ids"]
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text.encode()), "utf-8"))
    assert document(run("add", "--messages", "-", "--user", "bob", "--json"))["ids"]
    for user in ("ann", "bob"):
        pages = document(run("pages", "list", "--user", user, "--json"))["pages"]
        assert [page["text"] for page in pages] == [
            "user: I live in Oslo.\u2028Now.\nassistant: Nice!",
            "user: I keep bees.",
        ]
    assert [page["id"] for page in document(run("pages", "list", "--user", "ann", "--json"))["pages"]] == ids
    (tmp_path / "one.json").write_text(json.dumps(CHAT[0]), "utf-8")
    assert run("add", "--messages", "one.json").stdout.startswith("Stored as ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "QUERY: is missing. Pass what the user said, or --messages FILE"),
        (("Hello", "--messages", "chat.json"), "--messages: has the texts and files itself"),
        (("--messages", "nowhere.json"), "--messages: cannot be read: FileNotFoundError"),
        (("--messages", "chat.json"), "--messages: is not JSON in line 2"),
        (("--messages", "deep.json"), "--messages: is not JSON in line 1"),
        (("--messages", "wrong.json"), "messages[0].role: 'nobody' is unknown"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_wrong_chat_messages_are_told(run, tmp_path, arguments, said):
    (tmp_path / "chat.json").write_text('{"role": "user", "content": "Hello"}\n{"role": ', "utf-8")
    (tmp_path / "deep.json").write_text("[" * 100_000, "utf-8")
    (tmp_path / "wrong.json").write_text('{"role": "nobody", "content": "Hello"}', "utf-8")
    result = run("add", *arguments)
    assert (result.returncode, said in result.stderr, result.stdout) == (2, True, "")


def document(result):
    """The one JSON document on stdout; fails when there is anything else."""
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_what_one_process_adds_the_next_one_finds(tmp_path):
    run = partial(forked.memoryos, cwd=tmp_path)
    added = document(run("add", "我叫王小红，住在成都。", "你好，小红！", "--user", "红", "--json"))
    found = document(run("search", "小红住在哪里？", "--user", "红", "--json"))
    assert [hit["id"] for hit in found["hits"]] == [added["id"]]
    assert "成都" in found["hits"][0]["text"]


def piped(folder: Path, given: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [forked.executable(), "-m", "memoryos", "add", "-", "--json"]
    return subprocess.run(command, input=given, cwd=folder, env=forked.settings(), capture_output=True, check=False)


def test_a_document_comes_from_standard_input(run, tmp_path, long):
    paragraphs = range(10_000 if long else 1_500)  # more than a pipe holds
    text = "".join(f"Paragraph {number} is about the weather in 成都.\n\n" for number in paragraphs)
    added = piped(tmp_path, f"{text}Lena's telescope is in the attic.\n\n{text}".encode())
    assert document(added)["id"]
    assert "attic" in document(run("context", "Where is the telescope?", "--json"))["text"]


def test_a_document_of_any_length_comes_from_a_file_or_standard_input(run, tmp_path, long):
    parts, paragraphs = (3, 6_000) if long else (2, 3_000)
    text = "".join(f"Paragraph {number} is about the weather in 成都.\n\n" for number in range(paragraphs))
    (tmp_path / "书.txt").write_text(f"{text}Lena's telescope is in the attic.\n", "utf-8")
    adding = ("documents", "add", "书.txt", "--tag", "book", "--idempotency-key", "book", "--json")
    added = document(run(*adding))
    assert len(added["ids"]) == parts
    assert document(run(*adding)) == added
    assert document(run("get", added["ids"][-1], "--json"))["source"] == "书.txt"
    assert "attic" in document(run("context", "Where is the telescope?", "--json"))["text"]
    options = {"cwd": tmp_path, "env": forked.settings(), "capture_output": True, "check": False}
    command = [forked.executable(), "-m", "memoryos", "documents", "add", "-"]
    named = subprocess.run([*command, "--title", "Weather"], input=text.encode(), **options)
    assert named.stdout.startswith(f"Stored as {parts} pages, from ".encode())
    nameless = run("documents", "add", "-")
    assert (nameless.returncode, "--title: is missing" in nameless.stderr) == (2, True)
    (tmp_path / "a.txt").write_bytes(b"Lena \xff\n")
    refused = run("documents", "add", "a.txt")
    assert (refused.returncode, "PATH: is not UTF-8 at byte 6, in line 1" in refused.stderr) == (2, True)


def test_standard_input_that_is_no_text_is_refused(tmp_path):
    refused = piped(tmp_path, b"Lena \xff\n")
    assert refused.returncode == 2
    assert b"standard input" in refused.stdout
    assert b"Convert it to UTF-8" in refused.stdout
    assert not (tmp_path / "memoryos.db").exists()


def test_an_add_that_is_repeated_with_its_key_adds_nothing(run):
    told = ("add", "I keep bees.", "--idempotency-key", "message-17", "--json")
    assert document(run(*told)) == document(run(*told))
    assert document(run("stats", "--json"))["stm_pages"] == 1
    other = run("add", "I keep hens.", "--idempotency-key", "message-17")
    assert other.returncode == 2
    assert "--idempotency-key: belongs to another call" in other.stderr


def test_search_as_of_a_moment_knows_nothing_later(run):
    run("add", "The boat is called Aurora.", "--at", "2024-02-03T10:00:00+00:00")
    run("add", "The boat is called Bella now.", "--at", "2024-05-03T10:00:00+00:00")
    found = document(run("search", "What is the boat called?", "--as-of", "2024-03-01T00:00Z", "--json"))
    assert ["Aurora" in hit["text"] for hit in found["hits"]] == [True]


def test_search_as_a_table_shows_date_topic_score_and_why(run):
    run("add", "The boat is called Aurora.", "--at", "2024-02-03T10:00:00+00:00")
    result = run("search", "What is the boat called?", "--explain")
    assert result.returncode == 0
    for shown in ("Aurora", "2024-02-03", "recent", "words"):
        assert shown in result.stdout
    plain = run("search", "What is the boat called?").stdout
    (hit,) = document(run("search", "What is the boat called?", "--json"))["hits"]
    assert "relevance" in plain
    assert f" {hit['relevance']:.2f} " in plain
    assert "Aurora" in plain
    assert "words" not in plain


def test_context_tells_what_bears_on_a_question_and_leaves_out_what_is_known(run, tmp_path):
    told = document(run("add", "The boat is called Aurora.", "--at", "2024-02-03T10:00:00+00:00", "--json"))
    run("add", "The boat needs paint.", "--at", "2024-02-04T10:00:00+00:00")
    text = run("context", "What is the boat called?").stdout
    assert "3 February 2024\nuser: The boat is called Aurora.\n4 February 2024\nuser: The boat needs paint." in text
    rest = document(run("context", "boat", "--tokens", "60", "--exclude", told["id"], "--json"))
    assert [line["text"] for line in rest["lines"]] == ["user: The boat needs paint."]
    assert rest["tokens"] <= 60
    assert "There is no memory of user ann" in run("context", "boat", "--user", "ann").stdout
    Path(tmp_path, "talk.json").write_text(
        json.dumps([{"role": "user", "content": "The boat is called Aurora."}]), "utf-8"
    )
    rest = document(run("context", "boat", "--dialogue", "talk.json", "--json"))
    assert [line["text"] for line in rest["lines"]] == ["user: The boat needs paint."]
    Path(tmp_path, "talk.json").write_text('{"role": "user"}', "utf-8")
    failed = run("context", "boat", "--dialogue", "talk.json", "--json")
    assert (failed.returncode, "talk.json" in failed.stdout) == (2, True)


def test_search_in_a_long_text_shows_the_passage_that_answers(run):
    filler = "\n\n".join(f"Paragraph {number} speaks of rivers, gardens and trains. " * 8 for number in range(40))
    fact = "Agatha keeps her passport in the blue drawer."
    run("add", "The boat is called Aurora.")
    run("add", f"{filler}\n\n{fact}\n\n{filler}")
    (best, *_) = document(run("search", "Where is Agatha's passport?", "--json"))["hits"]
    (passage, *_) = best["passages"]
    assert fact in passage["text"]
    assert (passage["turn"], best["is_whole"]) == (0, False)
    assert fact in best["text"]
    assert any(start <= passage["start"] and passage["end"] <= end for start, end in best["turns"][0]["spans"])
    shown = run("search", "Where is Agatha's passport?").stdout
    assert "blue drawer" in " ".join(shown.split())
    assert "…" in shown
    assert len(shown) < len(filler) / 2


def test_parts_are_data_on_demand(run):
    run("add", "The boat is called Aurora.")
    for options, parts in (([], False), (["--explain"], True)):
        hits = document(run("search", "boat", "--json", *options))["hits"]
        assert [bool(hit["parts"]) for hit in hits] == [parts]


def test_search_is_narrowed_by_tag_tier_kind_and_session(run):
    run("add", "I keep bees and I live in Lisbon.", "--tag", "home", "--tag", "pets", "--session", "monday")
    run("add", "The bees at work are a logo.", "--tag", "work")
    texts = {
        ("--tag", "home"): ["Lisbon"],
        ("--tag", "home", "--tag", "work"): [],
        ("--tag", "nobody's"): [],
        ("--session", "monday"): ["Lisbon"],
        ("--tier", "mtm"): [],
        ("--tier", "stm", "--tier", "mtm", "--tag", "work"): ["logo"],
        ("--kind", "fact"): [],
    }
    for options, expected in texts.items():
        hits = document(run("search", "bees", *options, "--json"))["hits"]
        assert [next(word for word in ("Lisbon", "logo") if word in hit["text"]) for hit in hits] == expected
    table = run("search", "bees", "--tag", "work").stdout
    assert "logo" in table
    assert "Lisbon" not in table
    assert "filters" in run("search", "bees", "--tag", "nobody's").stdout


def test_search_shows_the_kinds_asked_for(run, locomo):
    run("import", "locomo", str(locomo))
    run("add", "The boat is blue.", "--user", "conv-1")
    assert "Nothing" in run("search", "parrot", "--user", "conv-1", "--kind", "profile", "--kind", "segment").stdout
    assert "Pages" in run("search", "parrot", "--user", "conv-1", "--kind", "page").stdout


def test_another_user_finds_nothing(run):
    run("add", "The boat is called Aurora.", "--user", "ann")
    assert document(run("search", "boat", "--user", "ben", "--json"))["hits"] == []


def test_import_counts_every_turn_and_search_gives_the_source_ids(run, locomo):
    counts = document(run("import", "locomo", str(locomo), "--json"))
    assert {name: counts[name] for name in ("conversations", "turns", "pages", "users")} == {
        "conversations": 1,
        "turns": 3,
        "pages": 2,
        "users": ["conv-1"],
    }
    hits = document(run("search", "When did Ann adopt a parrot?", "--user", "conv-1", "--json"))["hits"]
    assert hits[0]["source_ids"] == ["D1:1", "D1:2"]
    assert hits[0]["at"].startswith("2023-05-08T13:56")


def test_importing_again_adds_nothing(run, locomo):
    run("import", "locomo", str(locomo))
    again = document(run("import", "locomo", str(locomo), "--json"))
    assert (again["turns"], again["pages"], again["already_there"]) == (0, 0, 3)


def test_importing_again_or_elsewhere_finds_the_same(run, locomo):
    def imported(db):
        document(run("import", "locomo", str(locomo), "--db", db, "--json"))
        told = document(run("search", "Which pet did Ann adopt?", "--user", "conv-1", "--db", db, "--json"))
        return [(hit["source_ids"], hit["score"]) for hit in told["hits"]]

    first = imported("one.db")
    assert [source for source, _ in first] == [["D1:1", "D1:2"], ["D1:3"]]
    assert imported("one.db") == imported("other.db") == first


def test_an_import_with_a_turn_that_cannot_be_stored_stores_nothing(run, tmp_path):
    talk = {**LOCOMO[0]["conversation"], "session_2_date_time": "1:56 pm on 8 May, 2999"}
    talk["session_2"] = [{"speaker": "Ann", "dia_id": "D2:1", "text": "From the future."}]
    path = tmp_path / "future.json"
    path.write_text(json.dumps([{**LOCOMO[0], "conversation": talk}]), "utf-8")
    result = run("import", "locomo", str(path))
    assert result.returncode == 2
    assert "D2:1" in result.stderr
    assert "future" in result.stderr
    assert document(run("stats", "--user", "conv-1", "--json"))["stm_pages"] == 0


def test_import_gvd(run, tmp_path):
    path = tmp_path / "gvd.json"
    talk = [{"query": "I paint on Sundays.", "response": "Lovely!"}, {"query": "", "response": "Anything else?"}]
    path.write_text(json.dumps({"Emily": {"name": "Emily", "history": {"2023-04-27": talk}}}), "utf-8")
    counts = document(run("import", "gvd", str(path), "--json"))
    assert (counts["turns"], counts["users"]) == (3, ["Emily"])
    assert document(run("stats", "--user", "Emily", "--json"))["stm_pages"] == 2


def test_import_a_folder_of_the_public_code(run, tmp_path):
    user = tmp_path / "old" / "users" / "ann"
    user.mkdir(parents=True)
    page = {"user_input": "My parrot is Kiwi.", "agent_response": "Hi Kiwi!", "timestamp": "2024-01-02 10:00:00"}
    (user / "short_term.json").write_text(json.dumps([page]), "utf-8")
    counts = document(run("import", "memoryos", "old", "--json"))
    assert (counts["turns"], counts["users"]) == (2, ["ann"])
    again = document(run("import", "memoryos", "old", "--json"))
    assert (again["turns"], again["already_there"]) == (0, 2)
    agent = "default_assistant_profile"
    hits = document(run("search", "parrot", "--user", "ann", "--agent", agent, "--json"))["hits"]
    assert "Kiwi" in hits[0]["text"]


def test_show_has_the_tiers(run, locomo):
    run("import", "locomo", str(locomo))
    shown = document(run("show", "--user", "conv-1", "--json"))
    assert [page["source_ids"] for page in shown["stm"]] == [["D1:1", "D1:2"], ["D1:3"]]
    assert shown["segments"] == []
    assert set(shown["profile"]) == {"user", "agent"}
    assert "Short-term memory" in run("show", "--user", "conv-1").stdout


def test_ask_without_a_model_says_what_to_set(run):
    run("add", "The boat is called Aurora.")
    result = run("respond", "What is the boat called?")
    assert result.returncode == 4
    assert "MEMORYOS_LLM_MODEL" in result.stderr
    assert result.stdout == ""


def test_the_store_is_named_by_option_or_environment(run, tmp_path):
    run("add", "one", "--db", "a.db")
    run("add", "two", MEMORYOS_DB="b.db")
    run("add", "three")
    assert sorted(path.name for path in tmp_path.glob("*.db")) == ["a.db", "b.db", "memoryos.db"]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["add", "   "], 2, "empty"),
        (["add", "x", "--at", "yesterday"], 2, "ISO 8601"),
        (["add", "x", "--at", "2999-01-01T00:00:00+00:00"], 2, "future"),
        (["search", "x"], 2, "does not exist"),
        (["search", "x", "--db", "missing/deep.db"], 2, "does not exist"),
        (["add", "x", "--db", "missing/deep.db"], 2, "folder"),
        (["import", "locomo", "missing.json"], 2, "missing.json"),
        (["import", "gvd", "missing.json", "--zone", "Mars/Base"], 2, "time zone"),
        (["add", "x", "--user", ""], 2, "--user"),
        (["search"], 2, "QUERY"),
        (["search", "x", "--kind", "thought"], 2, "thought"),
        (["search", "x", "--tier", "attic"], 2, "attic"),
        (["jobs", "list"], 2, "does not exist"),
        (["jobs", "list", "--state", "lazy"], 2, "lazy"),
        (["fly"], 2, "fly"),
    ],
)
def test_a_mistake_is_told_in_words_with_its_exit_code(run, arguments, code, told):
    result = run(*arguments)
    assert result.returncode == code
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_with_json_an_error_is_a_document_too(run):
    result = run("add", " ", "--json")
    assert result.returncode == 2
    assert json.loads(result.stdout)["error"]["type"] == "InvalidInput"


def test_a_file_that_is_no_store_is_left_as_it_is(run, tmp_path):
    other = tmp_path / "notes.db"
    other.write_text("These are my notes, not a database. " * 50, "utf-8")
    result = run("add", "x", "--db", "notes.db")
    assert result.returncode == 1
    assert "not a MemoryOS store" in result.stderr
    assert other.read_text("utf-8").startswith("These are my notes")


def test_demo_answers_its_six_questions_from_the_right_pages(run):
    told = document(run("demo", "--json"))
    assert [question["found_at"] is not None for question in told["questions"]] == [True] * 6
    assert told["profile"]["user"]["profile"]["name"] == "Nora Feldt"
    assert told["profile"]["user"]["profile"]["birth_year"] == "1991"
    assert all(segment["pages"] for segment in told["segments"])


def test_demo_shows_tables_on_stdout_and_progress_on_stderr(run):
    result = run("demo")
    assert result.returncode == 0
    assert "The right page is among the 3 shown for 6 of 6 questions." in result.stdout
    assert "LPM" in result.stderr


def test_demo_does_not_mix_with_an_existing_store(run):
    run("add", "mine", "--db", "mine.db")
    result = run("demo", "--db", "mine.db")
    assert result.returncode == 2
    assert "exists already" in result.stderr


def test_what_was_never_said_is_not_told(run, tmp_path):
    with memoryos.open(tmp_path / "memoryos.db", user="default") as memory:
        for day in range(80):
            memory.add(f"On day {day} I took the night train to Lisbon with Greta.")
    never, said = "How many stitches did the surgeon sew after my scooter accident?", "With whom was the night train?"
    told = document(run("context", never, "--json"))
    assert told["found"] is False
    assert told["ids"] == told["source_ids"] == told["lines"] == []
    assert "Nothing in memory answers this question." in run("context", never).stdout
    assert document(run("context", said, "--json"))["found"] is True
    assert document(run("context", never, "--json", MEMORYOS_ABSTAIN_BELOW="0"))["found"] is True
    assert document(run("search", never, "--json"))["confidence"] < 0.02
    assert "Confidence that this bears on the question: 0.00." in run("search", never).stdout


@pytest.fixture
def dead_job(run, tmp_path) -> str:
    """The id of a job that was given up, with its cause."""
    page = document(run("add", "I live in Porto.", "--json"))["id"]
    with closing(sqlite3.connect(tmp_path / "memoryos.db")) as connection:
        values = (
            "default",
            "default",
            "default",
            "private",
            "job-1",
            "extract",
            page,
            "dead",
            3,
            0,
            None,
            "no",
            0,
            None,
            None,
        )
        connection.execute(f"INSERT INTO jobs VALUES ({', '.join('?' * len(values))})", values)
        connection.commit()
    return "job-1"


def test_jobs_that_failed_are_listed_with_their_cause_and_tried_again(run, dead_job):
    (listed,) = document(run("jobs", "list", "--state", "dead", "--json"))["jobs"]
    assert (listed["id"], listed["attempts"], listed["error"]) == (dead_job, 3, "no")
    shown = run("jobs", "list").stdout
    assert "dead" in shown
    assert "cause: no " in shown
    failed = run("jobs", "run")
    assert failed.returncode == 1
    assert "jobs list --state dead" in failed.stdout
    assert run("jobs", "retry", "other").returncode == 3
    assert document(run("jobs", "retry", dead_job, "--json")) == {"tried": 1, "dead": 0}
    assert document(run("jobs", "run", "--json")) == {"waiting": 0, "dead": 0, "unknown": 0}
    assert document(run("jobs", "list", "--state", "dead", "--json")) == {"jobs": []}
    assert "No jobs found" in run("jobs", "list", "--state", "dead").stdout


TEA = ("green tea", "black tea", "a cup of tea", "tea with milk", "the teapot", "hot tea", "herbal tea", "iced tea")
TAX = ("the tax return", "income tax", "the tax office", "tax forms", "a tax refund", "tax rates", "tax law", "tax due")


def test_repair_by_another_process_is_seen_here_and_can_be_undone(run, tmp_path):
    settings = load_settings(segment_threshold=-1.0, short_term_capacity=1, self_repair=False)  # one segment takes all
    untuned = {"MEMORYOS_SELF_TUNING": "0"}  # so few pages would find other segments by another theta
    with memoryos.open(tmp_path / "memoryos.db", user="default", settings=settings) as memory:
        ids = memory.add_many(
            [
                Turn(role=Role.USER, text=f"Tell me about {text}.")
                for pair in zip(TEA, TAX, strict=True)
                for text in pair
            ]
        )
        memory.add("The end.")
        memory.wait()
        (mixed,) = memory.segments.list()
        report = document(run("upkeep", "repair", "--json", **untuned))
        assert report["split"] == 1
        assert report["pages"] == len(mixed.page_ids) == 16
        hits = {hit.id: hit.segment for hit in memory.search("tea or tax", pages=20, kinds=["page"]).hits}
        assert {hits[page] for page in ids[::2]}.isdisjoint({hits[page] for page in ids[1::2]})
        assert "Moved back: " in run("upkeep", "undo", *map(str, report["events"]), **untuned).stdout
        assert [view.page_ids for view in memory.segments.list()] == [mixed.page_ids]
    assert run("upkeep", "undo", "1", **untuned).returncode == 3
    assert "0 moved, 0 segments split off, 0 merged" in run("upkeep", "repair", **untuned).stdout


def test_rebuild_finds_the_same_again(run, locomo):
    run("import", "locomo", str(locomo))
    before = document(run("search", "parrot", "--user", "conv-1", "--json"))
    assert document(run("upkeep", "rebuild", "--user", "conv-1", "--json")) == {"scopes": 1, "pages": 2}
    run("add", "我在成都养蜜蜂。", "--user", "红")
    assert document(run("upkeep", "rebuild", "--all", "--json")) == {"scopes": 2, "pages": 3}
    after = document(run("search", "parrot", "--user", "conv-1", "--json"))
    for hit in (*before["hits"], *after["hits"]):
        hit.pop("state")  # the first search activates what it finds
    assert after["hits"] == before["hits"]
    assert [hit["text"] for hit in after["user_facts"]] == [hit["text"] for hit in before["user_facts"]]
    told = run("upkeep", "rebuild", "--all")
    assert "Rebuilt. Pages: 3; owners: 2." in told.stdout
    assert "rebuilding" in told.stderr


def test_reembed_tells_how_to_open_the_store_from_now_on(run, locomo):
    run("import", "locomo", str(locomo))
    told = run("reembed", "--embedder", "hashing")
    assert told.returncode == 0, told.stderr
    assert "MEMORYOS_EMBEDDER=hashing" in told.stdout
    assert "embedding" in told.stderr
    refused = run("search", "parrot", "--user", "conv-1")
    assert refused.returncode == 1
    assert "hashing" in refused.stderr
    found = document(run("search", "parrot", "--user", "conv-1", "--json", MEMORYOS_EMBEDDER="hashing"))
    assert "parrot" in found["hits"][0]["text"]
    assert document(run("reembed", "--embedder", "static", "--json"))["embedder"].startswith("static")
    assert document(run("search", "parrot", "--user", "conv-1", "--json"))["hits"]


def test_a_process_searches_and_adds_while_another_one_reembeds(tmp_path):
    path = tmp_path / "memoryos.db"
    command = [forked.executable(), "-m", "memoryos", "reembed", "--embedder", "minilm", "--json"]
    with memoryos.open(path, user="ann") as memory:
        memory.add("The boat is called Aurora.")
        memory.add_many(Dialogue(1).session(30))
        memory.wait()
        added = []
        with subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as other:
            try:
                while True:
                    assert "Aurora" in memory.search("What is the boat called?").hits[0].text
                    added.append(memory.add(f"Bird number {len(added)} is a magpie."))
            except EmbedderMismatch as error:
                assert "minilm" in str(error)
            out, err = other.communicate(timeout=120)
        assert (other.returncode, err) == (0, "")
        assert json.loads(out)["embedder"].startswith("minilm")
    assert len(added) >= 3
    with memoryos.open(path, user="ann", settings=load_settings(embedder="minilm")) as memory:
        assert "Aurora" in memory.search("What is the boat called?").hits[0].text
        assert {page.id for page in memory.pages.list()}.issuperset(added)


def test_the_demo_conversation_is_long_mixed_and_partly_chinese():
    script = load_script()
    turns = [turn for session in script.sessions for turn in session]
    assert len(turns) >= 240  # 120 pages
    assert len(script.sessions) >= 10
    assert sum(any("\u4e00" <= char <= "\u9fff" for char in turn.text) for turn in turns) >= 20
    assert len(script.questions) == 6


@pytest.mark.parametrize(
    "command",
    (
        "demo|add|search|tagged|mounts list|respond|show|stats|digest|upkeep repair|upkeep rebuild|reembed|worker"
        "|log usage|import locomo|import gvd|backup|cold|jobs list|jobs retry|jobs run"
        "|proposals list|bench processes|bench scale"
    ).split("|"),
)
def test_every_command_explains_itself_and_speaks_json(run, command):
    result = run(*command.split(), "--help")
    assert result.returncode == 0
    assert "--json" in result.stdout
    assert "--db" in result.stdout


@pytest.mark.parametrize("command", ["restore", "copy", "verify"])
def test_every_command_that_names_its_stores_explains_itself_and_speaks_json(run, command):
    result = run(command, "--help")
    assert result.returncode == 0
    assert "--json" in result.stdout
    assert "postgresql://" in result.stdout


def test_a_proposal_is_listed_and_answered(run, tmp_path):
    old, new = "The limit is 4 pages", "The limit is 3 pages"
    with memoryos.open(tmp_path / "memoryos.db", user="ann") as memory:
        memory.proposals.publish([old], source="v1")
        memory.proposals.publish([new], source="v2")
    (proposal,) = document(run("proposals", "list", "--user", "ann", "--json"))["proposals"]
    assert (proposal["text"], proposal["replaces"][0]["text"], proposal["source"]) == (new, old, "v2")
    assert new in run("proposals", "list", "--user", "ann").stdout
    assert document(run("proposals", "accept", proposal["id"], "--user", "ann", "--json"))["answer"] == "accepted"
    assert "No proposal" in run("proposals", "list", "--user", "ann").stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["search", "--json"], "QUERY"),
        (["search", "Where?", "--json", "--limmit", "3"], "--limmit"),
        (["search", "Where?", "--json", "--limit", "0"], "--limit"),
        (["serch", "Where?", "--json"], "'search'"),
        (["bench", "speeed", "--json"], "'speed'"),
    ],
)
def test_wrong_usage_is_json_when_json_is_wanted(run, arguments, told):
    result = run(*arguments)
    assert (result.returncode, result.stderr) == (2, "")
    error = json.loads(result.stdout)["error"]
    assert error["type"] == "UsageError"
    assert told in error["message"]


def test_wrong_usage_is_text_for_people(run):
    result = run("serch", "Where?")
    assert (result.returncode, result.stdout) == (2, "")
    assert "Did you mean 'search'" in result.stderr


def test_to_show_a_user_that_is_not_there_names_those_that_are(run):
    document(run("add", "I live in Oslo.", "Nice.", "--user", "alice", "--json"))
    document(run("branches", "create", "trial", "--user", "alice", "--json"))  # another scope of the same user
    result = run("show", "--user", "nobody")
    assert result.returncode == 0, result.stderr
    assert (
        "There is no memory of user nobody with agent default. In this store: user alice with agent default."
        in result.stdout
    )
    assert document(run("show", "--user", "nobody", "--json"))["stm"] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_is_told_how_to_complete(run, shell):
    result = run(_MEMORYOS_COMPLETE=f"source_{shell}")
    assert result.returncode == 0, result.stderr
    assert f"_MEMORYOS_COMPLETE=complete_{shell}" in result.stdout


@pytest.mark.parametrize(("typed", "told"), [("memoryos ree", "reembed"), ("memoryos bench sp", "speed")])
def test_the_shell_completes_commands(run, typed, told):
    words = len(typed.split()) - 1
    result = run(_MEMORYOS_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=str(words))
    assert told in result.stdout.split()


def test_every_command_tells_how_it_is_used(run):
    commands = run("--help").stdout
    assert "--install-completion" in commands and "--show-completion" in commands
    for name in ("demo", "search", "jobs", "import", "bench"):
        assert f" {name} " in commands
        assert "Usage: " in run(name, "--help").stdout


def test_what_is_said_of_a_page_is_stored_shown_and_filtered_by(run):
    said = ("--tag", "work", "--meta", "project=apollo", "--meta", "n=3", "--title", "Minutes", "--source", "a.md")
    page = document(run("add", "We had tea in Oslo.", *said, "--ttl", "7d", "--json"))["id"]
    other = document(run("add", "We had tea in Rome.", "--tag", "home", "--expires-at", "2999-01-01", "--json"))["id"]

    def found(*options):
        return {hit["id"] for hit in document(run("search", "tea", *options, "--json"))["hits"]}

    assert found() == {page, other}
    assert found("--meta", "project=apollo", "--meta", "n=3") == {page}
    assert found("--meta", "n=4") == set()
    assert found("--any-tag", "work", "--any-tag", "home") == {page, other}
    assert found("--no-tag", "work") == {other}
    assert "Minutes, a.md" in run("search", "tea", "--meta", "project=apollo", COLUMNS="200").stdout
    told = document(run("context", "tea", "--tag", "work", "--meta", "n=3", "--json"))
    assert "[Minutes, a.md] " in told["text"]
    assert "Rome" not in told["text"]
    assert "Oslo" not in document(run("context", "tea", "--no-tag", "work", "--json"))["text"]


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--meta", "apollo", "is not KEY=VALUE"),
        ("--ttl", "a week", "Write seconds, or e.g. 30m, 12h, 7d"),
        ("--ttl", "-5", "is not a time in the future"),
        ("--expires-at", "2001-01-01", "is in the past"),
    ],
)
def test_what_is_said_of_a_page_is_checked(run, option, value, says):
    result = run("add", "We had tea.", f"{option}={value}", "--json")
    assert result.returncode == 2
    assert says in json.loads(result.stdout)["error"]["message"]
