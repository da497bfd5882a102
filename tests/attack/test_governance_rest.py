"""Over HTTP: no address gives what one person has to a caller who may not read it, or lets such a caller change it.

The addresses are those of the table of routes, so a new one is attacked from its first day.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from memoryos import Action, Caller, MemoryOS
from memoryos.interface.rest.route import Route
from memoryos.interface.rest.routes import ROUTES
from served import Served, serving

from . import governed
from .governed import ANN, OWNER, UNKNOWN, World, leaked
from .test_governance_names import INJECTIONS, LOOK_ALIKES

OTHERS = (  # whose answers are no documents
    Route("export", "GET", "/export"),
    Route("respond", "POST", "/respond", {"query": "What?"}),
    Route("pages.attachment", "GET", "/pages/{page_id}/attachments/x"),
)
OPEN = {  # with the statuses of an answer that tells nothing of a memory; 504: work is still running
    "wait": (200, 204, 504),
    "store:admin.verify_receipt": (200, 204),
    "store:keys.info": (200, 204),
}
OTHER_USER, OTHER_TENANT = "the key of another user, in the name of the victim", "the key of another tenant"
STRANGER, REVOKED = "the key of a stranger who says to be an administrator", "a key that was revoked"
OF_STORE, OF_OWNER = ([one for one in (*ROUTES, *OTHERS) if one.is_of_store is wanted] for wanted in (True, False))
AIMS = {  # a key is checked in one place: some addresses tell
    OTHER_USER: (OF_OWNER, []),
    OTHER_TENANT: ([], [*OF_OWNER, *OF_STORE[::3]]),
    STRANGER: (OF_STORE, OF_OWNER[::3]),
    REVOKED: ([], [*OF_OWNER[::9], *OF_STORE[::9]]),
}
ONE_IN = 4  # of the second addresses of each, in CI
ONE_ON_A_SERVER = 9  # of what is asked of a store that is a file
THINGS = {"hold_id": "hold", "proposal_id": "proposal", "delegation_id": "delegation"}  # other ids are of memories


def aimed_at(how: str, back_end: str, long: bool) -> list[Route]:
    """The addresses that are attacked so."""
    all_of, some_of = AIMS[how]
    found = [*all_of, *(some_of if long else some_of[::ONE_IN])]
    return found if long or back_end == "sqlite" else found[::ONE_ON_A_SERVER]


@dataclass(frozen=True)
class Attacked:
    """The server, the victim's memory in its store, and keys by how they were got."""

    world: World
    served: Served
    keys: dict[str, str]

    def thing(self, route: Route) -> str:
        """The id of what the victim has, and an address is about."""
        return self.world.ids[next((THINGS[name] for name in THINGS if name in route.path), "page")]

    def ask(self, route: Route, thing: str, key: str, **query: Any) -> httpx.Response:
        """Ask an address about a thing, with the example of the address as the body."""
        path = re.sub(r"\{\w+(:path)?\}", thing, route.path)
        body: dict[str, Any] = dict(route.example)
        asked = {"query": "What is for my?", "user": ANN.user, "ids": [thing, thing[::-1]], "timeout": 0.01}
        body |= {name: asked[name] for name in asked if name in body and route.operation != "add"}
        body |= {"tags": ["zorbtag"]} if route.operation == "tagged" else {}
        sent = {"json": body} if route.verb in ("POST", "PUT", "PATCH") else {"body": None}
        query = {} if route.is_of_store else query
        return self.served.ask(route.verb, path, sent.get("json"), key=key, **({"user": None} | query))


@pytest.fixture(scope="module")
def attacked(back_end: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    with governed.world(tmp_path_factory.mktemp("rest"), back_end) as world:
        operator = MemoryOS(world.store._engine, Caller("operator"))
        made = partial(operator.keys.create, actions=list(Action))
        revoked = made("ann")
        operator.keys.revoke(revoked.info.id)
        keys = {
            OTHER_USER: made("ann", users=["mallory"]).key,
            OTHER_TENANT: made("ann", tenant="evil").key,
            STRANGER: made("mallory", roles=["administrator", "Admin"]).key,
            REVOKED: revoked.key,
        }
        with serving(world.store) as served:
            yield Attacked(world, served, keys)


def test_no_address_gives_another_persons_memory_away_or_changes_it(
    attacked: Attacked, back_end: str, long: bool
) -> None:
    before = attacked.world.fingerprint()
    for how, key in attacked.keys.items():
        for route in aimed_at(how, back_end, long):
            thing = attacked.thing(route)
            answer = attacked.ask(route, thing, key, user=ANN.user)
            assert not leaked(answer.text.replace(thing, "")), (how, route, answer.text)
            if how != OTHER_TENANT or route.is_of_store:  # which has a user of the same name
                harmless = (401, 403, 422, *OPEN.get(route.operation, ()))
                assert answer.status_code in harmless, (how, route, answer.status_code, answer.text)
    assert attacked.world.changed(before) == {}


@pytest.mark.once
def test_an_id_of_another_person_is_as_unknown_as_one_that_nothing_has(attacked: Attacked) -> None:
    key = attacked.keys[OTHER_USER]
    named = [route for route in ROUTES if re.search(r"\{\w*id\}", route.path) and not route.is_of_store]
    assert len(named) > 15
    for route in named:
        expected = attacked.ask(route, UNKNOWN, key, user="mallory")
        found = attacked.ask(route, attacked.thing(route), key, user="mallory")
        assert found.status_code == expected.status_code, route
        assert found.text.replace(attacked.thing(route), UNKNOWN) == expected.text, route


@pytest.mark.once
def test_a_right_that_is_taken_back_counts_for_the_next_request(attacked: Attacked) -> None:
    """The index of the running server still has the page."""
    world = attacked.world
    operator, ann = MemoryOS(world.store._engine, Caller("operator")), world.store.of(ANN, OWNER)
    key, given = operator.keys.create("zed").key, ann.governance.delegate("zed", ttl=10**6)

    def answers() -> list[httpx.Response]:
        search = attacked.served.ask("POST", "/search", {"query": "zyloprim"}, key=key, user=ANN.user)
        return [search, attacked.served.ask("GET", f"/memories/{world.ids['page']}", key=key, user=ANN.user)]

    assert all(one.status_code == 200 and leaked(one.text) for one in answers())
    ann.governance.revoke(given.id)
    for one in answers():
        assert (one.status_code, leaked(one.text)) == (403, [])


def test_no_id_of_an_address_is_a_part_of_a_statement_or_of_a_path(attacked: Attacked) -> None:
    before, key = attacked.world.fingerprint(), attacked.keys[OTHER_USER]
    page = attacked.world.ids["page"]
    for word in [*INJECTIONS, f"{page}' --", f"../{page}", page.upper(), f"{page}\u200b"]:
        thing = quote(word, safe="")
        for verb, path in (
            ("GET", f"/memories/{thing}"),
            ("DELETE", f"/memories/{thing}"),
            ("DELETE", f"/snapshots/{thing}"),
        ):
            answer = attacked.served.ask(verb, path + thing, key=key, user="mallory")
            assert answer.status_code in (307, 400, 403, 404, 405, 422), (verb, word, answer.status_code)
            assert not leaked(answer.text), (verb, word)
    assert attacked.world.changed(before) == {}


def test_a_user_whose_name_looks_alike_is_another_one_over_http(attacked: Attacked) -> None:
    operator = MemoryOS(attacked.world.store._engine, Caller("operator"))
    key = operator.keys.create("ann", users=["ann"]).key
    assert attacked.served.ask("GET", "/pages", key=key, user="ann").status_code == 200
    for false in LOOK_ALIKES["ann"]:
        answer = attacked.served.ask("GET", "/pages", key=key, user=false)
        assert (answer.status_code, leaked(answer.text)) in ((403, []), (422, []), (400, [])), false
