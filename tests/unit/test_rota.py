from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos import Scope
from memoryos.operation.scheduler import rota as rotas
from memoryos.operation.scheduler.rota import Rota
from memoryos.operation.scheduler.time_slice import TimeSlice


def owner(user: str, tenant: str = "acme") -> Scope:
    return Scope(user=user, tenant=tenant)


def served(rota: Rota, waiting: list[Scope], turns: int) -> list[Scope]:
    """Who is served when all of these wait all the time."""
    order = []
    for _ in range(turns):
        order.append(rota.ordered(waiting)[0])
        rota.served(order[-1])
    return order


def test_who_waits_longest_comes_first_and_then_all_take_turns():
    ann, ben, cho = (owner(name) for name in ("ann", "ben", "cho"))
    assert served(Rota(), [cho, ann, ben], 6) == [cho, ann, ben] * 2


def test_tenants_share_first_and_their_owners_after():
    many = [owner(f"user{number}", "large") for number in range(40)]
    few = [owner("ann", "small"), owner("ben", "small")]
    order = served(Rota(), [*many, *few], 40)
    assert Counter(one.tenant for one in order) == {"large": 20, "small": 20}
    assert Counter(one for one in order if one.tenant == "small") == dict.fromkeys(few, 10)
    assert len({one for one in order if one.tenant == "large"}) == 20


def test_who_comes_anew_goes_before_who_floods_and_behind_who_waits():
    rota, flood, patient, new = Rota(), owner("flood"), owner("patient"), owner("new")
    rota.ordered([flood, patient])
    rota.served(flood)
    assert rota.ordered([flood, patient, new]) == [patient, new, flood]


def test_ever_new_owners_do_not_keep_one_who_was_served_waiting():
    rota, ann = Rota(), owner("ann")
    rota.served(ann)
    turns = 0
    while (first := rota.ordered([ann, *(owner(f"new{turns}-{number}") for number in range(3))])[0]) != ann:
        rota.served(first)
        turns += 1
        assert turns < 3, "ann waits for ever"


def test_a_newcomer_waits_for_one_turn_of_those_who_flood_its_tenant_however_many():
    rota, floods, new = Rota(), [owner(f"flood{number}") for number in range(20)], owner("new")
    served(rota, floods, 20 * 2)
    assert served(rota, [*floods, new], 2)[0] == new


@pytest.mark.parametrize("served_before", range(1, 25))  # with 0, no job runs: two begin before it
@pytest.mark.parametrize("by_tenant", [False, True])
def test_a_newcomer_waits_for_one_turn_of_those_who_came_together_before_it(served_before, by_tenant):
    """It waited for the first turn of each of them."""
    names = [f"flood{number}" for number in range(20)]
    rota, floods = Rota(), [owner("ann", name) if by_tenant else owner(name) for name in names]
    new = owner("ben", "new") if by_tenant else owner("new")
    rota.ordered(floods)  # they came
    served(rota, floods, served_before)
    assert new in served(rota, [*floods, new], 2)


def test_a_newcomer_who_comes_with_those_who_flood_after_the_first_of_them_waits_for_one_turn():
    rota, floods, new = Rota(), [owner(f"flood{number}") for number in range(20)], owner("new")
    served(rota, floods[:1], 1)
    assert new in served(rota, [*floods, new], 2)


def test_newcomers_who_come_later_and_later_take_at_most_every_second_turn_of_those_who_came_before():
    rota, waiting = Rota(), [owner(f"first{number}") for number in range(20)]
    rota.ordered(waiting)
    turns = 0
    while waiting:
        turns += 1
        (first,) = served(rota, [*waiting, owner(f"later{turns}")], 1)
        waiting = [one for one in waiting if one != first]
    assert turns <= 2 * 20


def turns_before(rota: Rota, patient: Scope, waiting: list[Scope]) -> int:
    """How many others are served before who waits beside these."""
    turns = 0
    while (first := served(rota, [*waiting, patient], 1)[0]) != patient:
        assert first in waiting
        turns += 1
    return turns


@pytest.mark.parametrize("pause", [3, 10, 25])
def test_who_comes_back_waits_for_one_turn_of_those_who_flood_its_tenant_however_many(pause):
    """It waited for a turn of each of them."""
    rota, floods, ben = Rota(), [owner(f"flood{number}") for number in range(20)], owner("ben")
    served(rota, [*floods, ben], 21)
    served(rota, floods, 20 * 6)
    for _ in range(5):
        assert turns_before(rota, ben, floods) <= 1
        served(rota, floods, pause)


def test_a_tenant_that_comes_back_waits_for_one_turn_of_those_who_flood_the_store():
    rota, floods, ben = Rota(), [owner("ann", f"tenant{number}") for number in range(20)], owner("ben", "back")
    served(rota, [*floods, ben], 21)
    served(rota, floods, 20 * 6 + 3)
    for _ in range(5):
        assert turns_before(rota, ben, floods) <= 1
        served(rota, floods, 3)


def test_who_rested_and_floods_then_takes_every_second_turn_until_it_had_as_many():
    rota, floods, ben = Rota(), [owner(f"flood{number}") for number in range(4)], owner("ben")
    served(rota, [*floods, ben], 5)
    served(rota, floods, 4 * 10)
    first, *order = served(rota, [*floods, ben], 41)
    assert first == ben, "nobody waits longer"
    assert order[0:8:2] == [ben] * 4
    assert set(order[1:8:2]) == set(floods)
    assert order[-10:].count(ben) == 2


@given(st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=200))
def test_whoever_comes_and_goes_each_is_served_within_two_rounds(coming):
    rota, waits = Rota(), dict[int, int]()
    for some in coming:
        for name in some:
            waits.setdefault(name, 0)
        if waits:
            del waits[int(served(rota, [owner(str(name)) for name in waits], 1)[0].user)]
        waits = {name: turns + 1 for name, turns in waits.items()}
        assert max(waits.values(), default=0) <= 2 * 6


def test_new_tenants_wait_for_one_turn_of_those_who_flood_the_store():
    rota, floods, new = Rota(), [owner("ann", f"tenant{number}") for number in range(20)], owner("ben", "new")
    served(rota, floods, 20 * 2)
    assert served(rota, [*floods, new], 2)[0] == new


def test_ever_new_owners_take_at_most_every_second_turn():
    rota, known = Rota(), [owner("ann"), owner("ben")]
    served(rota, known, 4)
    order = [served(rota, [*known, owner(f"new{turn}")], 1)[0] for turn in range(40)]
    assert sum(one in known for one in order) >= 20


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), min_size=1, unique=True), st.integers(1, 60))
def test_of_those_who_wait_all_the_time_none_gets_two_turns_more_than_another_of_their_tenant(names, turns):
    waiting = [owner(str(user), tenant) for tenant, user in names]
    counts = Counter(dict.fromkeys(waiting, 0))
    counts.update(served(Rota(), waiting, turns))
    for tenant in {one.tenant for one in waiting}:
        shares = [count for one, count in counts.items() if one.tenant == tenant]
        assert max(shares) - min(shares) <= 1


def test_it_forgets_those_who_were_served_longest_ago(monkeypatch):
    monkeypatch.setattr(rotas, "KEPT", 5)
    rota = Rota()
    for number in range(100):
        rota.served(owner(f"user{number}"))
    assert rota.ordered([owner("user98"), owner("user1"), owner("user99")])[0] == owner("user98")
    assert len(rota._served) <= 10


def test_a_turn_is_a_step_at_least_and_ends_when_others_wait(monkeypatch):
    monkeypatch.setattr("memoryos.operation.scheduler.time_slice.LEAST_SECONDS", 0.0)
    others = [True]
    turn = TimeSlice(lambda: True, lambda: others[0])
    assert turn()
    assert not turn()
    others[0] = False
    assert turn()


def test_a_turn_that_may_not_go_on_has_no_step():
    assert not TimeSlice(lambda: False, lambda: False)()
