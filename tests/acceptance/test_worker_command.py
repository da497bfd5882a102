"""`memoryos worker`, `memoryos jobs run` and `memoryos log usage`: real processes on one store."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import time
from contextlib import closing

import pytest

import forked
import memoryos
import same_process
from generation.scripted_model import Reply, says, scripted_model
from memoryos import load_settings
from memoryos.bench.scripted_reader import reply
from public import store_of

TALK = ["I have two cats, Miso and Nori.", "I live in Porto.", "I work as a nurse.", "Good night."]
SOON = 60.0  # seconds; nobody waits that long when all is well


@pytest.fixture
def wanted(tmp_path):
    """The settings of each command."""
    settings = {"MEMORYOS_JOBS": "worker", "MEMORYOS_SHORT_TERM_CAPACITY": "1", "MEMORYOS_HEAT_THRESHOLD": "0"}
    return settings | {"MEMORYOS_EMBEDDER": "hashing", "MEMORYOS_DB": str(tmp_path / "memory.db"), "COLUMNS": "160"}


@pytest.fixture
def start(tmp_path, wanted):
    """start(argument, ...): the command as a process of its own; variables as keywords."""
    begun = []

    def begin(*arguments, **variables):
        begun.append(
            subprocess.Popen(
                [forked.executable(), "-m", "memoryos", *arguments],
                env=forked.settings(**wanted | variables),
                cwd=tmp_path,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.communicate()


@pytest.fixture
def run(tmp_path, wanted):
    """run(argument, ...): its exit code and what it printed."""

    def call(*arguments, **variables):
        done = same_process.memoryos(*arguments, cwd=tmp_path, **wanted | variables)
        assert re.fullmatch(
            r"(a job \(\w+\) failed: \w+; see `memoryos jobs list`\n)?", done.stderr
        )  # and no word of what was said
        return done.returncode, done.stdout

    return call


@pytest.fixture
def data(run):
    """data(argument, ...): the JSON that it prints."""

    def call(*arguments, **variables):
        code, output = run(*arguments, "--json", **variables)
        assert code == 0, output
        return json.loads(output)

    return call


@pytest.fixture
def talk(tmp_path):
    """talk(user): some pages of a user, left to workers."""

    def write(user, **changes):
        wanted = {"embedder": "hashing", "jobs": "worker", "short_term_capacity": 1, "heat_threshold": 0}
        changes = {name.removeprefix("MEMORYOS_").lower(): value for name, value in changes.items()}
        with memoryos.open(tmp_path / "memory.db", user=user, settings=load_settings(**wanted, **changes)) as memory:
            for said in TALK:
                memory.add(said, "I see.")

    return write


@pytest.fixture
def model():
    """The settings by which a model reads, and its server."""
    with scripted_model() as server:
        server.otherwise = lambda request: says(json.dumps(reply(request["messages"]), ensure_ascii=False))
        names = {"EXTRACTOR": "model", "LLM_MODEL": "some-model", "LLM_BASE_URL": server.url, "LLM_RETRIES": "0"}
        names |= {"BATCH_SECONDS": "0", "LLM_PRICE_PROMPT": "2", "LLM_PRICE_COMPLETION": "10"}
        yield server, {f"MEMORYOS_{name}": value for name, value in names.items()}


def facts(tmp_path, user):
    """How many facts of the user there are."""
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        query = "SELECT count(*) FROM cubes WHERE kind = 'fact' AND user_id = ?"
        return connection.execute(query, [user]).fetchone()[0]


def until(condition):
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)


def test_once_does_what_is_due_for_every_user_and_says_how_much(run, data, talk, tmp_path):
    for user in ("ann", "小红"):
        talk(user)
    assert facts(tmp_path, "ann") == 0
    assert data("worker", "--once")["jobs"] >= 2
    assert facts(tmp_path, "ann") >= 2
    assert facts(tmp_path, "小红") >= 2
    assert data("worker", "--once") == {"jobs": 0}
    code, output = run("worker", "--once")
    assert code == 0
    assert "Stopped; 0 jobs done." in output


KINDS = """
from pathlib import Path
from memoryos.errors import InvalidInput

def has_a_name(payload):
    if not payload or "name" not in payload:
        raise InvalidInput("payload", "has no name", "Pass {'name': ...}")

def greet(scope, job):
    Path("greeted.txt").write_text(f"{job.payload['name']} of {scope.user}")

def register(store):
    store.admin.register_job("greet", greet, check=has_a_name)

CALLED = 5
"""


def test_a_worker_does_jobs_of_kinds_that_a_module_registers(data, tmp_path, wanted):
    (tmp_path / "kinds_of_mine.py").write_text(KINDS)
    settings = {name.removeprefix("MEMORYOS_").lower(): value for name, value in wanted.items() if "MEMORYOS" in name}
    settings.pop("db")
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=load_settings(**settings)) as memory:
        store_of(memory).admin.register_job("greet", print, check=lambda payload: None)
        memory.jobs.add("greet", {"name": "Ann"})
    assert data("worker", "--once") == {"jobs": 0}
    assert data("worker", "--once", "--register", "kinds_of_mine:register") == {"jobs": 1}
    assert (tmp_path / "greeted.txt").read_text() == "Ann of ann"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("kinds_of_mine", "is not MODULE:FUNCTION"),
        ("no_such_module:register", "cannot be imported"),
        ("kinds_of_mine:no_such_function", "cannot be imported"),
        (":register", "cannot be imported"),
        ("kinds_of_mine:CALLED", "is not a function"),
    ],
)
def test_a_function_that_is_not_there_is_said(wanted, tmp_path, name, says):
    (tmp_path / "kinds_of_mine.py").write_text(KINDS)
    done = same_process.memoryos("worker", "--once", "--register", name, cwd=tmp_path, **wanted)
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_told_to_stop_ends_well(start, talk, tmp_path, told):
    talk("ann")
    worker = start("worker", "--poll", "0.05")
    until(lambda: facts(tmp_path, "ann") >= 2)
    worker.send_signal(told)
    output, errors = worker.communicate(timeout=SOON)
    assert (worker.returncode, errors) == (0, "")
    assert "Working" in output
    assert "Stopped;" in output


def test_a_worker_that_is_told_to_stop_finishes_the_job_that_runs(start, data, talk, model):
    server, variables = model
    talk("ann", **variables)
    answer = server.otherwise

    def slow(request):
        time.sleep(0.5)
        return answer(request)

    server.otherwise = slow
    worker = start("worker", "--poll", "0.05", "--json", **variables)
    until(lambda: server.requests)
    worker.send_signal(signal.SIGTERM)
    output, errors = worker.communicate(timeout=SOON)
    assert (worker.returncode, errors) == (0, "")
    assert json.loads(output)["jobs"] >= 1
    jobs = data("jobs", "list", "--user", "ann", **variables)["jobs"]
    assert {(job["state"], job["error"]) for job in jobs} <= {("done", None), ("queued", None)}
    assert "done" in {job["state"] for job in jobs}


def extractions(data, user):
    """What is asked of segments; the page that stays in STM is read in thirty days."""
    return [job for job in data("jobs", "list", "--user", user)["jobs"] if job["kind"] == "extract"]


def test_two_workers_share_a_store(start, data, talk, tmp_path):
    users = ["ann", "ben", "cleo"]
    for user in users:
        talk(user)
    waiting = sum(len(extractions(data, user)) for user in users)
    workers = [start("worker", "--once", "--threads", "2", "--json") for _ in range(2)]
    done = []
    for worker in workers:
        output, errors = worker.communicate(timeout=SOON)
        assert (worker.returncode, errors) == (0, "")
        done.append(json.loads(output)["jobs"])
    if sum(done) < waiting:  # the one that found all held by the other was done before it
        done.append(data("worker", "--once")["jobs"])
    assert sum(done) == waiting + len(users), "and the pages of STM of each"
    for user in users:
        assert facts(tmp_path, user) >= 2
        jobs = extractions(data, user)
        assert {(job["state"], job["attempts"], job["error"]) for job in jobs} == {("done", 1, None)}


def test_usage_is_empty_before_any_call(run, data, talk):
    talk("ann")
    empty = {"calls": 0, "prompt_tokens": 0, "cached_tokens": 0, "completion_tokens": 0, "cost": 0.0}
    assert data("log", "usage", "--user", "ann") == {"usage": [], "total": empty}
    assert run("log", "usage", "--user", "ann") == (0, "No model was used.\n")


def test_usage_tells_what_calls_took_by_purpose_and_what_they_cost(run, data, talk, model):
    server, variables = model
    server.counts = 401, 151
    talk("ann", **variables)
    data("worker", "--once", **variables)
    calls = len(server.requests)
    assert calls >= 3
    told = data("log", "usage", "--user", "ann", **variables)
    assert {one["purpose"] for one in told["usage"]} == {"facts", "persona", "summary"}
    assert {one["model"] for one in told["usage"]} == {"some-model"}
    assert told["total"]["calls"] == calls
    assert told["total"]["prompt_tokens"] == 401 * calls
    assert told["total"]["completion_tokens"] == 151 * calls
    assert told["total"]["cost"] == pytest.approx((401 * 2 + 151 * 10) * calls / 1_000_000)
    code, table = run("log", "usage", "--user", "ann", **variables)
    assert code == 0
    for shown in ("facts", "persona", "summary", "some-model", "total", f"{401 * calls:,}"):
        assert shown in table
    assert data("log", "usage", "--user", "ben", **variables)["usage"] == []


def test_wait_gives_up_after_its_time_and_goes_on_until_a_retry_is_done(run, talk, model, tmp_path):
    server, variables = model
    talk("ann", **variables)
    here = {**variables, "MEMORYOS_JOBS": "here"}
    server.will(Reply(status=429, headers=(("Retry-After", "5"),)))
    code, output = run("jobs", "run", "--user", "ann", "--timeout", "0.2", "--json", **here)
    assert code == 1
    left = json.loads(output)
    assert left["waiting"] >= 1
    assert left["dead"] == 0
    began = time.monotonic()
    code, output = run("jobs", "run", "--user", "ann", "--timeout", str(SOON), "--json", **here)
    assert (code, json.loads(output)) == (0, {"waiting": 0, "dead": 0, "unknown": 0})
    assert time.monotonic() - began < SOON
    assert facts(tmp_path, "ann") >= 2
