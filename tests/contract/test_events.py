from __future__ import annotations

from memoryos.infrastructure.vault.records import Entry, JobKind, Link, LinkKind, Operation
from memoryos.kinds import Kind, Tier
from memoryos.scope import Scope

ALICE = Scope(user="alice")


def test_each_change_is_one_event_in_order(vault, store):
    first, second = store().cube, store().cube
    with vault.write(ALICE) as writer:
        writer.update([Entry(second.moved(Tier.MTM)), Entry(first.moved(Tier.MTM))], Operation.MOVE)
        writer.delete([first.id])
    with vault.read(ALICE) as reader:
        logged = [(event.operation, event.cube_id) for event in reader.events()]
    assert logged == [
        (Operation.ADD, first.id),
        (Operation.ADD, second.id),
        (Operation.MOVE, second.id),
        (Operation.MOVE, first.id),
        (Operation.DELETE, first.id),
    ]


def test_an_event_says_when_and_of_which_version(vault, store, clock):
    stored = store().cube
    with vault.read(ALICE) as reader:
        [event] = reader.events()
    assert (event.at, event.kind, event.version) == (clock(), Kind.PAGE, stored.version.number)


def test_every_operation_can_be_logged(vault, store):
    stored = store().cube
    wanted = [operation for operation in Operation if operation not in {Operation.ADD, Operation.DELETE}]
    with vault.write(ALICE) as writer:
        for operation in wanted:
            writer.update([Entry(stored)], operation)
        assert [event.operation for event in writer.events()] == [Operation.ADD, *wanted]


def test_links_jobs_and_reads_are_no_events(vault, store):
    first, second = store().cube, store().cube
    with vault.write(ALICE) as writer:
        writer.link([Link(first.id, LinkKind.CHAIN, second.id)])
        writer.enqueue(JobKind.EXTRACT, [first.id])
        writer.get([first.id])
        assert len(writer.events()) == 2


def test_events_can_be_read_in_portions(vault, store):
    made = [store().cube.id for _ in range(7)]
    seen, after = [], 0
    with vault.read(ALICE) as reader:
        while portion := reader.events(after=after, limit=3):
            assert len(portion) <= 3
            seen += portion
            after = portion[-1].sequence
    assert [event.cube_id for event in seen] == made


def test_a_sequence_number_is_never_used_again(vault, store):
    stored = store().cube
    with vault.write(ALICE) as writer:
        writer.delete([stored.id])
        last = writer.events()[-1].sequence
    store()
    with vault.read(ALICE) as reader:
        assert reader.events()[-1].sequence > last


def test_what_was_ever_added_is_known_also_after_it_was_deleted(vault, store):
    kept, moved, gone, another = (store().cube for _ in range(4))
    store(id="bob's", scope=Scope(user="bob"))
    store(id="of another tenant", scope=Scope(user="alice", tenant="acme"))
    with vault.write(ALICE) as writer:
        writer.update([Entry(moved.moved(Tier.MTM))], Operation.REVISE)
        writer.delete([gone.id])
        wanted = [kept.id, moved.id, gone.id, "bob's", "of another tenant", "nobody", ""]
        assert writer.added(wanted) == {kept.id, moved.id, gone.id}
        assert writer.added([]) == set()
        assert writer.added([*(f"id-{number}" for number in range(12_000)), another.id]) == {another.id}
