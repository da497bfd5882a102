"""`memoryos demo`: a long conversation goes in, the hierarchy forms, questions find the right pages."""

from __future__ import annotations

import json as jsonlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import AwareDatetime, TypeAdapter
from rich.progress import Progress, TaskID

from memoryos.config import LOCAL
from memoryos.cube import Attachment, Turn
from memoryos.errors import InvalidInput
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Db, Json, open_memory
from memoryos.kinds import Role
from memoryos.operation.recall.hit import Hit

if TYPE_CHECKING:
    from memoryos.memory import Memory
    from memoryos.memory_os import MemoryOS
    from memoryos.operation.recall.overview import SegmentView, Stats

SHOWN = 3  # pages shown for each question

Answers = list[tuple[dict[str, Any], tuple[Hit, ...]]]  # each question with the pages shown for it

_FILE = "demo_conversation.json"
_MOMENT = TypeAdapter(AwareDatetime)


@dataclass(frozen=True, slots=True)
class Script:
    """The conversation of the demo, and its questions."""

    user: str
    agent: str
    sessions: tuple[tuple[Turn, ...], ...]
    questions: tuple[dict[str, Any], ...]

    @property
    def turn_count(self) -> int:
        """The number of turns."""
        return sum(len(session) for session in self.sessions)


def load_script() -> Script:
    """The conversation that comes with the package."""
    content = jsonlib.loads(resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8"))
    user, agent = content["user"]["name"], content["agent"]["name"]
    names = {Role.USER: user, Role.ASSISTANT: agent}
    sessions = tuple(tuple(_turns(session, names)) for session in content["sessions"])
    return Script(user, agent, sessions, tuple(content["questions"]))


def _turns(session: dict[str, Any], names: dict[Role, str]) -> Iterator[Turn]:
    at = _MOMENT.validate_python(session["at"])
    for raw in session["turns"]:
        role = Role(raw["role"])
        attachments = tuple(Attachment(**item) for item in raw.get("attachments", ()))
        yield Turn(role=role, text=raw["text"], speaker=names[role], at=at, attachments=attachments)


def demo(
    db: Db = None,
    local: Annotated[
        bool, typer.Option("--local", help="Answer from text, a KV state and an adapter, with a model in this process.")
    ] = False,
    model: Annotated[str, typer.Option(help="The model of --local: local:, or local:PATH.")] = LOCAL,
    json: Json = False,
) -> None:
    """Play a conversation of several weeks and ask six questions; needs no network and no key."""
    if local:
        from memoryos.interface.cli.demo_local import demo_local

        demo_local(model, json=json)
        return
    script = load_script()
    if db and Path(db).exists():
        raise InvalidInput(
            "--db", f"{db} exists already", "Name a new file: the demo must not be mixed with other memories"
        )
    with ExitStack() as stack:
        path = db or Path(stack.enter_context(tempfile.TemporaryDirectory())) / "demo.db"
        memory = stack.enter_context(open_memory(path, user=script.user, agent=script.agent))
        topics = play(memory, script, quiet=json)
        answers = [(question, memory.search(question["question"]).hits[:SHOWN]) for question in script.questions]
        if json:
            render.print_json(_json(memory, topics, answers))
        else:
            _print(memory, topics, answers)


def demo_store(changed: Mapping[str, Any], *, quiet: bool) -> MemoryOS:
    """A store in a temporary folder, removed on close, with the conversation and an audit log."""
    from memoryos.arguments import IN_MEMORY
    from memoryos.config import load_settings
    from memoryos.memory_os import MemoryOS

    script = load_script()
    with ExitStack() as undo:
        store = undo.enter_context(MemoryOS.open(IN_MEMORY, settings=load_settings(**{**changed, "audit": True})))
        memory = store.memory(script.user, agent=script.agent)
        play(memory, script, quiet=quiet)
        for question in script.questions:  # topics that are asked about get hotter
            memory.search(question["question"])
        undo.pop_all()
    return store


def play(memory: Memory, script: Script, *, quiet: bool) -> Sequence[SegmentView]:
    """Play all sessions; return the topics at the end of the conversation."""
    with render.progress(quiet=quiet) as bar:
        task = bar.add_task(f"{script.user} talks with {script.agent}", total=script.turn_count, note="")
        for session in script.sessions:
            memory.add_many(session)
            _advance(bar, task, len(session), memory.stats())
        memory.wait()
        _advance(bar, task, 0, memory.stats())
        topics = memory.segments.list()
        memory.consolidate()  # what cooler topics say goes to LPM too, as an idle hour would do
        _advance(bar, task, 0, memory.stats())
    return topics


def _advance(bar: Progress, task: TaskID, turns: int, stats: Stats) -> None:
    learned = stats.user_facts + stats.agent_facts + stats.traits + stats.profile_fields
    middle = f"MTM {stats.mtm_pages} pages in {stats.mtm_segments} topics"
    bar.update(task, advance=turns, note=f"STM {stats.stm_pages} pages → {middle} → LPM {learned} memories")


def found_at(question: dict[str, Any], hits: tuple[Hit, ...]) -> int | None:
    """The rank of the first hit with the answer, from 1, or None."""
    for rank, hit in enumerate(hits, 1):
        if any(expected in hit.text for expected in question["expects"]):
            return rank
    return None


def _print(memory: Memory, topics: Sequence[SegmentView], answers: Answers) -> None:
    console = render.console()
    console.print(render.segments_table("Topics that formed (mid-term memory)", topics[:12]))
    for number, (question, hits) in enumerate(answers, 1):
        console.print()
        console.print(render.hits_table(f"Question {number}: {question['question']}", hits))
    console.print()
    console.print(render.profile_table(memory.profile.get()))
    found = sum(found_at(question, hits) is not None for question, hits in answers)
    console.print(f"The right page is among the {SHOWN} shown for {found} of {len(answers)} questions.")


def _json(memory: Memory, topics: Sequence[SegmentView], answers: Answers) -> dict[str, Any]:
    return {
        "questions": [
            {
                "question": question["question"],
                "found_at": found_at(question, hits),
                "hits": [hit.to_dict() for hit in hits],
            }
            for question, hits in answers
        ],
        "segments": [view.to_dict() for view in topics],
        "profile": memory.profile.get().to_dict(),
    }
