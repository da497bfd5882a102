"""What an `add` does besides its statements: counted, because times differ from machine to machine."""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

import memoryos
from memoryos import Attachment, Memory, Role, Turn
from memoryos.bench.made_up_dialogue import Dialogue
from memoryos.cube import MemCube, from_json, to_json
from memoryos.errors import InvalidInput
from memoryos.kinds import Kind
from memoryos.models.static import Static
from memoryos.plain import EVERY_FIELD

MOST_CALLS = 465  # of Python functions by one add; 503 before the statements of a session shared a cursor
MOST_CALLS_TO_MOVE = 1_150  # for each of PAGES pages; 1,470 with a lock for each stem
PAGES = 200


def calls_in(work: Callable[[], object]) -> Counter[tuple[str, str]]:
    """How often each Python function is called, by its file and name."""
    found: Counter[tuple[str, str]] = Counter()

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call":
            found[Path(frame.f_code.co_filename).name, frame.f_code.co_name] += 1

    def watched() -> None:  # calls of the main thread are done in another one
        sys.setprofile(note)
        try:
            work()
        finally:
            sys.setprofile(None)

    thread = threading.Thread(target=watched)
    thread.start()
    thread.join()
    return found


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with memoryos.open(tmp_path / "a.db", user="ann") as memory:
        memory.add("My boat is called Aurora.", "A fine name.")
        memory.wait()
        yield memory


def test_an_add_makes_few_calls_and_few_cursors(memory: Memory) -> None:
    found = calls_in(lambda: memory.add("My boat is called Aurora.", "A fine name."))
    assert found["session.py", "insert"] == 1
    assert sum(found.values()) <= MOST_CALLS
    assert found["ended_connection.py", "cursor"] == 1  # for all statements; there were 7


def test_pages_move_to_their_segments_with_few_calls(memory: Memory) -> None:
    with memory._engine.housekeeping.call():  # which the background lets go first
        memory.add_many(Dialogue(1).session(PAGES))
        found = calls_in(memory.stats)  # which finds each page in its segment
    assert found["pager.py", "_chained"] == PAGES
    assert sum(found.values()) <= MOST_CALLS_TO_MOVE * PAGES
    assert found["snowball.py", "snowball"] > PAGES
    assert found["process_lock.py", "__enter__"] < PAGES  # no lock for each word


def test_a_document_is_written_without_the_functions_that_write_what_callers_are_told(memory: Memory) -> None:
    (page,) = memory.pages.list()
    found = calls_in(lambda: to_json(page))
    assert found["cube.py", "to_json"] == 1
    assert found["plain.py", "_told"] == 0


def test_a_document_is_read_without_asking_for_what_older_programs_wrote(memory: Memory) -> None:
    (page,) = memory.pages.list()
    document = to_json(page)
    found = calls_in(lambda: from_json(document))
    assert found["cube.py", "from_json"] == 1
    assert found["retired.py", "_without_retired"] == 0
    assert from_json(document) == from_json(document.encode()) == page


def test_a_document_of_an_older_program_is_read_as_one_of_today(memory: Memory) -> None:
    (page,) = memory.pages.list()
    told = json.loads(to_json(page))
    governance = told["governance"] | {"priority": 0.5, "watermark": None, "decay": 0.0}
    governance["access"] = {"mode": "private", "readers": [], "writers": [], "sharers": []}
    older = json.dumps(told | {"governance": governance})
    assert from_json(older) == from_json(older.replace('"decay": 0.0', '"priority": 0.5')) == page


def test_what_no_program_wrote_is_refused(memory: Memory) -> None:
    (page,) = memory.pages.list()
    told = json.loads(to_json(page))
    told["governance"]["access"]["owner"] = "Ann"
    with pytest.raises(InvalidInput, match="owner"):
        from_json(json.dumps(told))


def test_a_document_is_what_pydantic_writes_of_every_field(memory: Memory) -> None:
    memory.add_many([Turn(role=Role.USER, text="🛶 \u2028", attachments=(Attachment(caption="a map"),))], tags=["a"])
    memory.add("I live in Oslo.", ttl=3600, metadata={"deck": [1, "ä"]})
    memory.facts.add("has a boat")
    memory.profile.set("name", "Ann")
    memory.consolidate()
    with memory._engine.vault.read(memory.scope) as reader:
        cubes = [cube for kind in Kind for cube in reader.cubes(kind)]
    assert {cube.kind for cube in cubes} >= {Kind.PAGE, Kind.FACT, Kind.PROFILE}
    adapter = TypeAdapter(MemCube)
    for cube in cubes:
        assert to_json(cube) == adapter.dump_json(cube, context=EVERY_FIELD).decode()
        assert from_json(to_json(cube)) == cube


def test_a_whole_word_is_looked_up_and_not_cut() -> None:
    static = Static()
    static.embed(["a"])  # loads the vectors
    found = calls_in(lambda: static.embed(["The Boat sails along [MASK]"]))
    assert found["__init__.py", "rows"] == 1
    assert found["__init__.py", "_of_parts"] == 1  # of [MASK] alone


def test_a_bracket_is_cut_as_in_a_text() -> None:
    one, two = Static().embed(["[ boat", "boat ["])
    assert (one == two).all()
