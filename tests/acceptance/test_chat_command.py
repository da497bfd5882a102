"""`memoryos chat`: a talk on a terminal or through a pipe, with what was recalled for each answer."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
from threading import Event

import pytest

import forked
import memoryos
import same_process
from generation.scripted_model import Reply, says, scripted_model
from memoryos import MemoryOS, load_settings

pytestmark = pytest.mark.once

PATIENCE = 120  # seconds


@pytest.fixture
def model():
    with scripted_model() as server:
        yield server


@pytest.fixture
def db(tmp_path):
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=load_settings(embedder="hashing")) as memory:
        memory.add("I keep bees\x1b[2J behind the mill.", "How many hives?")
        memory.add("My old job was at a bank.", "I see.")
    return tmp_path / "memory.db"


def environment(model):
    chosen = {"MEMORYOS_LLM_MODEL": "m", "MEMORYOS_LLM_API_KEY": "sk-of-the-test", "MEMORYOS_LLM_BASE_URL": model.url}
    return forked.settings(MEMORYOS_EMBEDDER="hashing", MEMORYOS_LLM_RETRIES="0", **chosen)


def command(db, *arguments):
    return [forked.executable(), "-m", "memoryos", "chat", "--user", "ann", "--db", str(db), *arguments]


@pytest.fixture
def talk(model, db):
    """talk(lines, option ...): what comes of them through a pipe."""

    def said(*lines, options=(), env=None):
        sent = "".join(f"{line}\n" for line in lines).encode()
        done = subprocess.run(
            command(db, *options), input=sent, env=env or environment(model), capture_output=True, timeout=PATIENCE
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return said


def pages(db):
    with memoryos.open(db, user="ann", settings=load_settings(embedder="hashing")) as memory:
        return [page.text for page in memory.pages.list()]


def test_each_answer_shows_what_was_recalled_and_is_stored(talk, model, db):
    model.will(says("Behind ", "the mill\x1b[31m."), Reply(status=500), says("Seven."))
    code, out, err = talk("Where are my bees?", "", "And how many?", "How many hives?", "/what", "/quit", "Not asked.")
    assert "user: I keep bees\\x1b[2J behind the mill." in out
    assert "Behind the mill\\x1b[31m.\n" in out
    assert "'/what' is unknown" in out
    assert ("Seven." in out, err.count("Error: the chat model failed"), code) == (True, 1, 4)
    assert len(model.requests) == 3
    assert [text for text in pages(db) if "And how many?" in text] == []
    assert "user: How many hives?\nassistant: Seven." in pages(db)


def test_ask_writes_the_answer_with_its_mark(model, db, tmp_path):
    known = {name: value for name, value in environment(model).items() if name.startswith("MEMORYOS_")}

    def run(*arguments):
        return same_process.memoryos(*arguments, "--db", str(db), cwd=tmp_path, **known)

    model.will(says("Behind ", "the mill."), says("在磨坊后面。"))
    asked = run("respond", "Where are my bees?", "--user", "ann", "--mark", "answer.json")
    assert (asked.returncode, asked.stdout) == (0, "Behind the mill.\n")
    assert stat.S_IMODE((tmp_path / "answer.json").stat().st_mode) == 0o600
    assert run("verify-mark", "answer.json").returncode == 0
    assert run("respond", "Again?", "--user", "ann", "--mark", "answer.json").returncode == 2
    assert len(model.requests) == 1
    told = json.loads((tmp_path / "answer.json").read_text("utf-8"))
    (tmp_path / "answer.json").write_text(json.dumps({**told, "text": "In Rome."}))
    assert run("verify-mark", "answer.json").returncode == 1
    (tmp_path / "json.json").write_text(run("respond", "And now?", "--user", "ann", "--json").stdout)
    assert run("verify-mark", "json.json").returncode == 0


def test_a_program_gets_lines_of_json(talk, model, db, tmp_path):
    model.will(says("At a ", "bank."))
    code, out, _ = talk("What was my old job?", "/context", "/forget", "no", options=["--json"])
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [line["type"] for line in lines] == ["recalled", "piece", "piece", "answer", "context", "preview", "note"]
    first = lines[0]["memories"][0]
    assert ("bank" in first["text"], first["score"] > 0, first["kind"]) == (True, True, "page")
    assert lines[3]["text"] == "At a bank."
    (tmp_path / "answer.json").write_text(json.dumps(lines[3]))
    with MemoryOS.open(db, settings=load_settings(embedder="hashing")) as store:
        assert store.admin.verify_mark(tmp_path / "answer.json").is_whole
    assert "bank" in lines[4]["text"]
    assert lines[5]["memories"][0]["text"].startswith("user: What was my old job?")


def test_an_answer_that_ends_early_ends_its_line(talk, model):
    model.will(Reply(("Behind ", "the mill"), resets_after=1))
    code, out, err = talk("Where are my bees?", "/forget my yacht", "yes", "/forget my yacht", "Nein", "/what")
    assert "Behind \n" in out
    assert out.count("There was nothing to confirm.") == 1
    assert err.count("no memory is about") == 2
    asked = [one["messages"][-1]["content"].rpartition("\n")[2] for one in model.requests]
    assert asked == ["Where are my bees?", "Nein"]
    assert code


def test_what_is_to_be_forgotten_is_shown_first(talk, db):
    code, out, _ = talk("/forget my old job", "no", "/forget 银行", "/forget my old job", "yes")
    assert out.count("would go for good") == 2
    assert ("Nothing was changed." in out, "Removed for good: 1 page" in out, code) == (True, True, 3)
    assert [text for text in pages(db) if "bank" in text] == []


def test_an_order_in_plain_words_is_shown_first(talk, model, db):
    model.will(says("You kept bees."))
    order = "Forget what I told you about my old job."
    code, out, _ = talk(order, "No, thanks.", order, "What did I keep?", order, "Yes, please!")
    assert out.count("would go for good") == 3
    assert (out.count("Nothing was changed."), out.count("Removed for good: 1 page"), code) == (2, 1, 0)
    asked = [one["messages"][-1]["content"].rpartition("\n")[2] for one in model.requests]
    assert asked == ["What did I keep?"]
    assert [text for text in pages(db) if "bank" in text] == []


def test_an_order_about_which_nothing_is_found_reaches_no_model_and_is_not_stored(talk, model, db):
    model.will(says("Behind the mill."))
    before = pages(db)
    code, out, err = talk(
        "忘掉我的旧工作", "yes", "Forget what I told you about my yacht.", "是的", "Where are my bees?"
    )
    assert (err.count("no memory is about"), out.count("There was nothing to confirm."), code) == (2, 2, 3)
    assert len(model.requests) == 1
    assert [text for text in pages(db) if text not in before] == [
        "user: Where are my bees?\nassistant: Behind the mill."
    ]


def test_two_orders_in_one_line_reach_no_model_and_are_not_stored(talk, model, db):
    model.will(says("Behind the mill."))
    before = pages(db)
    _, _, err = talk("Remember that I bake. Forget my old job.", "Where are my bees?")
    assert err.count("give one order at a time") == 1
    assert len(model.requests) == 1
    assert [text for text in pages(db) if text not in before] == [
        "user: Where are my bees?\nassistant: Behind the mill."
    ]


def test_what_is_not_utf_8_is_told_in_one_line_of_json(model, db):
    done = subprocess.run(
        command(db, "--json"), input=b"\xff\n", env=environment(model), capture_output=True, timeout=PATIENCE
    )
    told = json.loads(done.stdout)
    assert (done.returncode, done.stdout.count(b"\n"), told["type"], told["error"]) == (2, 1, "error", "InvalidInput")
    assert "UTF-8" in told["text"]


def test_an_order_about_what_is_frozen_ends_no_chat(talk, model, db):
    with memoryos.open(db, user="ann", settings=load_settings(embedder="hashing")) as memory:
        for page in memory.pages.list():
            memory.governance.freeze(page.id)
    model.will(says("Bees."))
    code, out, err = talk("Forget what I told you about my old job.", "yes", "What did I keep?")
    assert ("frozen" in err, "Bees." in out, code) == (True, True, 5)


def test_without_a_model_the_setting_is_named(talk):
    code, _, err = talk("Hello?", env=forked.settings(MEMORYOS_EMBEDDER="hashing"))
    assert (code, "MEMORYOS_LLM_MODEL" in err) == (4, True)
    unsigned = forked.settings(MEMORYOS_EMBEDDER="hashing", MEMORYOS_LLM_MODEL="m", OPENAI_API_KEY="")
    code, _, err = talk("Hello?", env=unsigned)
    assert (code, "MEMORYOS_LLM_API_KEY" in err) == (4, True)


def test_an_interrupt_ends_an_answer_and_not_the_talk(model, db):
    asked, done = Event(), Event()

    def silent(_):
        asked.set()
        done.wait(PATIENCE)
        return says("Too late.")

    model.otherwise = silent
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command(db), env=environment(model), **pipes) as process:
        process.stdin.write(b"Where are my bees?\n")
        process.stdin.flush()
        assert asked.wait(PATIENCE)
        process.send_signal(signal.SIGINT)
        told = iter(process.stdout.readline, b"")
        assert any(b"Stopped; nothing was stored." in line for line in told)
        out, err = process.communicate(b"/quit\n", timeout=PATIENCE)
        done.set()
    assert (process.returncode, b"Traceback" in err, out) == (0, False, b"")
    assert len(pages(db)) == 2
