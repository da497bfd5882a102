"""KV states as cubes: they go with what they hold, and with nothing less."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memoryos.built_memory import Activation, Blob
from memoryos.cube import Fact
from memoryos.infrastructure.objects.blob_ref import BlobRef
from memoryos.infrastructure.vault.records import Entry, Link, LinkKind, Operation
from memoryos.infrastructure.vault.stored_blob import StoredBlob
from memoryos.kinds import State, Subject


@pytest.fixture
def built(vault, cube, clock):
    """A fact and the KV state that has its words."""
    ref = BlobRef.of(b"keys and values")
    fact = cube(Fact(subject=Subject.USER, text="用户住在奥斯陆。"))
    blob = Blob(sha256=ref.sha256, size_bytes=ref.size, format="memoryos-kv")
    state = cube(Activation(model="tiny", text=fact.text, tokens=8, versions=((fact.id, 1),), blob=blob))
    with vault.write(fact.scope) as writer:
        writer.blobs.begin([StoredBlob("state", ref.sha256, ref.size, None)], remove_at=clock.advance(hours=1))
        clock.advance(hours=-1)
        writer.insert([Entry(fact), Entry(state)])
        writer.link([Link(state.id, LinkKind.COMPUTED_FROM, fact.id)])
    return fact, state


def stays(vault, state) -> bool:
    with vault.read(state.scope) as reader:
        return state.id in reader.kinds([state.id])


def test_a_first_visit_of_a_source_leaves_its_state(vault, built):
    fact, state = built
    seen = fact.visited(1, fact.at)
    assert (fact.state, seen.state) == (State.GENERATED, State.ACTIVATED)
    with vault.write(fact.scope) as writer:
        writer.update([Entry(seen)], Operation.VISIT)
    for after in (State.ARCHIVED, State.ACTIVATED, State.FROZEN):
        with vault.write(fact.scope) as writer:
            writer.update([Entry(replace(seen, state=after))], Operation.MOVE)
    assert stays(vault, state)


@pytest.mark.parametrize("end", [State.EXPIRED, State.MERGED])
def test_a_source_that_is_over_ends_its_state(vault, built, end):
    fact, state = built
    with vault.write(fact.scope) as writer:
        writer.update([Entry(replace(fact, state=end))], Operation.MOVE)
    assert not stays(vault, state)


def test_only_the_source_among_the_visited_that_ended_ends_its_state(vault, built, cube):
    fact, state = built
    other = cube(Fact(subject=Subject.USER, text="User likes tea."))
    with vault.write(fact.scope) as writer:
        writer.insert([Entry(other)])
    with vault.write(fact.scope) as writer:
        writer.update([Entry(fact), Entry(replace(other, state=State.EXPIRED))], Operation.MOVE)
    assert stays(vault, state)
    with vault.write(fact.scope) as writer:
        writer.update([Entry(fact)], Operation.REFRESH)
    assert not stays(vault, state)
