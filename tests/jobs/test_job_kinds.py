"""A new kind of job: registered in this file alone, it runs, fails, is tried again, is listed, survives a restart."""

from __future__ import annotations

import json
from threading import Event

import pytest
from typer.testing import CliRunner

from memoryos.errors import InvalidInput, NotFound
from memoryos.infrastructure.vault.records import JobKind, JobState
from memoryos.interface.cli.app import app
from memoryos.kinds import Tier
from memoryos.scope import Scope
from public import store_of

ANN = Scope(user="ann")


def has_a_day(payload):
    if not payload or "day" not in payload:
        raise InvalidInput("payload", "names no day", "Pass {'day': ...}")


class Digest:
    """Notes the day of each job with the scope; fails as often as it is told to."""

    def __init__(self, vault, failures: int = 0) -> None:
        self.vault = vault
        self.failures = failures

    def __call__(self, scope, job) -> None:
        if self.failures:
            self.failures -= 1
            raise ValueError("no day is like another")
        with self.vault.write(scope) as writer:
            done = json.loads(writer.note("digests") or "[]")
            writer.write_note("digests", json.dumps([*done, job.payload["day"]]))


def register(memory, failures: int = 0, **how):
    store_of(memory).admin.register_job("digest", Digest(memory._engine.vault, failures), check=has_a_day, **how)
    return memory


def digests(memory):
    with memory._engine.vault.read(ANN) as reader:
        return json.loads(reader.note("digests") or "[]")


def kinds_and_states(memory):
    return [(job.kind, job.state) for job in memory.jobs.list()]


def test_a_job_of_a_scope_runs_with_its_payload(open_memory):
    memory = register(open_memory())
    job_id = memory.jobs.add("digest", {"day": "monday"})
    memory.wait()
    assert digests(memory) == ["monday"]
    (job,) = memory.jobs.list()
    assert (job.id, job.kind, job.cube_id, job.payload) == (job_id, "digest", None, {"day": "monday"})
    assert job.state is JobState.DONE
    assert json.loads(job.to_json())["payload"] == {"day": "monday"}


def test_jobs_with_different_payloads_are_different_and_the_same_one_is_one(open_memory, clock):
    memory = register(open_memory())
    later = clock().replace(year=2027)
    first = memory.jobs.add("digest", {"day": "monday", "week": 1}, not_before=later)
    assert memory.jobs.add("digest", {"week": 1, "day": "monday"}, not_before=later) == first
    assert memory.jobs.add("digest", {"day": "tuesday"}, not_before=later) != first
    assert len(memory.jobs.list(JobState.QUEUED)) == 2
    memory.wait()
    assert digests(memory) == []
    clock.advance(days=400)
    memory.jobs.run()
    assert digests(memory) == ["monday", "tuesday"]


@pytest.mark.parametrize("year", [2029, 2400, 9999])
def test_a_job_waits_for_its_time_however_far_ahead(open_memory, clock, year):
    memory = register(open_memory())
    memory.jobs.add("digest", {"day": "monday"}, not_before=f"{year}-06-01")
    memory.wait()
    memory.jobs.run()
    assert kinds_and_states(memory) == [("digest", JobState.QUEUED)]
    assert memory._engine.vault.waiting() == []
    clock.advance(days=366 * (min(year, 2400) - clock().year))
    memory.jobs.run()
    assert digests(memory) == ([] if year > 2400 else ["monday"])


def test_what_fails_leaves_no_effect_and_is_tried_again(open_memory, clock):
    memory = register(open_memory(), failures=2)
    memory.jobs.add("digest", {"day": "monday"})
    memory.wait()
    (job,) = memory.jobs.list(JobState.QUEUED)
    assert (job.attempts, job.error) == (1, "ValueError")
    assert digests(memory) == []
    for _ in range(2):
        clock.advance(hours=1)
        memory.jobs.run()
    assert digests(memory) == ["monday"]
    assert kinds_and_states(memory) == [("digest", JobState.DONE)]


def test_one_that_failed_too_often_is_dead_and_can_be_tried_again(open_memory, clock):
    memory = register(open_memory(), failures=5)
    job_id = memory.jobs.add("digest", {"day": "monday"})
    for _ in range(6):
        clock.advance(hours=1)
        memory.jobs.run()
    assert memory.stats().jobs_dead == 1
    assert memory.jobs.retry(job_id) == 1
    memory.wait()
    assert digests(memory) == ["monday"]


def test_a_job_survives_a_restart_and_waits_for_somebody_who_knows_its_kind(open_memory, path):
    memory = register(open_memory(jobs="worker"))
    memory.jobs.add("digest", {"day": "monday"}, priority=5)
    memory.close()
    memory = open_memory()
    memory.add("I keep bees.")  # other work goes on
    memory.jobs.run()
    assert memory.stats().jobs_unknown == 1
    assert memory.stats().jobs_waiting == 0
    assert ("digest", JobState.QUEUED) in kinds_and_states(memory)
    assert store_of(memory).admin.work(Event(), poll_seconds=None) == 0
    register(memory)
    memory.jobs.run()
    assert digests(memory) == ["monday"]
    assert memory.stats().jobs_unknown == 0


def test_a_job_of_an_earlier_process_runs_when_its_scope_is_used_next(open_memory):
    memory = register(open_memory(jobs="worker"))
    memory.jobs.add("digest", {"day": "monday"})
    memory.close()
    memory = open_memory()
    memory.search("bees")  # before the kind is known
    register(memory)
    memory.search("bees")
    memory.wait()
    assert digests(memory) == ["monday"]


def test_the_command_lists_it(open_memory, path):
    memory = register(open_memory(jobs="worker"))
    memory.jobs.add("digest", {"day": "monday"})
    memory.close()
    ask = ["--user", "ann", "--db", str(path), "--json"]
    env = {"MEMORYOS_EMBEDDER": "hashing"}
    shown = CliRunner().invoke(app, ["jobs", "list", *ask], env=env)
    (job,) = json.loads(shown.stdout)["jobs"]
    assert (job["kind"], job["cube_id"], job["payload"]) == ("digest", None, {"day": "monday"})
    waited = CliRunner().invoke(app, ["jobs", "run", *ask], env=env)
    assert json.loads(waited.stdout) == {"waiting": 0, "dead": 0, "unknown": 1}
    table = CliRunner().invoke(app, ["jobs", "list", *ask[:-1]], env={**env, "COLUMNS": "200"})
    assert "the scope" in table.stdout


def test_a_worker_does_the_jobs_of_every_scope_and_leaves_unknown_kinds(open_memory):
    memory = register(open_memory(jobs="worker"))
    memory.jobs.add("digest", {"day": "monday"})
    with memory._engine.vault.write(Scope(user="ben")) as writer:
        writer.enqueue("of_tomorrow", payload={"x": 1})
    assert memory._engine.vault.waiting() == [ANN]
    assert store_of(memory).admin.work(Event(), poll_seconds=None) == 1
    assert digests(memory) == ["monday"]


def test_a_job_uses_the_memory_that_it_is_about(open_memory):
    memory = open_memory()

    def greet(scope, job):
        memory.of(scope).add(f"Good {job.payload['time']}, {scope.user}!")

    store_of(memory).admin.register_job("greet", greet, check=lambda payload: None)
    memory.of(Scope(user="ben")).jobs.add("greet", {"time": "morning"})
    memory.wait()
    assert [page.text for page in memory.of(Scope(user="ben")).pages.list()] == ["user: Good morning, ben!"]


def test_urgent_kinds_go_first(open_memory, clock):
    memory = open_memory()
    seen = []
    admin = store_of(memory).admin
    admin.register_job("late", lambda scope, job: seen.append(job.kind))
    admin.register_job("soon", lambda scope, job: seen.append(job.kind), priority=3)
    due = clock.now.replace(year=2027)
    for kind in ("late", "soon"):
        memory.jobs.add(kind, not_before=due)
    clock.advance(days=400)
    memory.jobs.run()
    assert seen == ["soon", "late"]


def test_a_kind_that_needs_a_model_does_not_keep_pages_waiting(open_memory):
    memory = open_memory()
    began, may_end = Event(), Event()

    def ask(scope, job):
        began.set()
        assert may_end.wait(30)

    class Slow:
        at_once, takes_early = 1, False

        def run(self, scope, jobs, goes_on):
            ask(None, jobs[0])
            with memory._engine.vault.write(scope) as writer:
                writer.finish(jobs[0])
            return ()

    from memoryos.operation.scheduler.job_kinds import JobType

    memory._engine.register_job(JobType("slow", Slow(), needs_model=True))
    memory.jobs.add("slow")
    assert began.wait(30)
    for number in range(5):
        memory.add(f"I have {number} hives.")
    memory._engine.housekeeping._background.wait()
    assert memory.pages.list(tier=Tier.MTM)
    may_end.set()
    memory.wait()


def test_a_job_about_a_memory_goes_with_it(open_memory, clock):
    memory = register(open_memory())
    page = memory.add("I keep bees.")
    memory.jobs.add("digest", {"day": "monday"}, about=page, not_before=clock.now.replace(year=2027))
    memory.jobs.add("digest", {"day": "sunday"}, not_before=clock.now.replace(year=2027))
    memory.delete(page)
    assert [job.payload for job in memory.jobs.list(JobState.QUEUED) if job.kind == "digest"] == [{"day": "sunday"}]
    with memory._engine.vault.write(ANN) as writer:
        assert writer.drop_jobs() >= 1
    assert memory.jobs.list() == []


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("kind", lambda jobs: jobs.add("dance")),
        ("kind", lambda jobs: jobs.add(JobKind.EXTRACT)),
        ("payload", lambda jobs: jobs.add("digest")),
        ("payload", lambda jobs: jobs.add("digest", {"day": object()})),
        ("payload", lambda jobs: jobs.add("digest", {"day": float("nan")})),
        ("payload", lambda jobs: jobs.add("digest", {"day": "x" * 200_000})),
        ("priority", lambda jobs: jobs.add("digest", {"day": 1}, priority=-1)),
        ("not_before", lambda jobs: jobs.add("digest", {"day": 1}, not_before="whenever")),
    ],
)
def test_a_wrong_job_is_refused_by_its_field(open_memory, field, call):
    memory = register(open_memory())
    with pytest.raises(InvalidInput) as refused:
        call(memory.jobs)
    assert refused.value.field == field
    assert memory.jobs.list() == []


def test_a_memory_of_another_scope_can_have_no_job(open_memory):
    memory = register(open_memory())
    page = memory.of(Scope(user="ben")).add("I keep hens.")
    with pytest.raises(NotFound):
        memory.jobs.add("digest", {"day": 1}, about=page)


def test_a_kind_is_registered_once(open_memory):
    memory = register(open_memory())
    for name in ("digest", "extract"):
        with pytest.raises(InvalidInput) as refused:
            store_of(memory).admin.register_job(name, print)
        assert refused.value.field == "kind"


def test_who_adds_a_job_of_an_unknown_kind_is_told_how_to_register_it(open_memory):
    with pytest.raises(InvalidInput, match=r"kind: 'digest' is not registered.*admin\.register_job.*registered: none"):
        open_memory().jobs.add("digest", {"day": "monday"})
