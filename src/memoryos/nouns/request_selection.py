"""Request selection: the memories that a request is about, and the preview of what happens to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryos import arguments
from memoryos.caller import Action
from memoryos.cube import MemCube
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, NotFound
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import CubePlace, LinkKind
from memoryos.kinds import Kind, Origin, State
from memoryos.nouns.memory_verbs import MemoryVerbs
from memoryos.operation.correction.rederive import derived_from
from memoryos.operation.recall.filters import Filters
from memoryos.operation.recall.hit import Recall, Strategy
from memoryos.operation.recall.search import Search
from memoryos.operation.requests.chosen import NEAR, chosen
from memoryos.operation.requests.memory_call import CallReach, MemoryCall, MemoryOperation
from memoryos.operation.requests.request_limits import begins_like_an_order
from memoryos.operation.requests.request_preview import (
    LISTED,
    RequestPreview,
    counted_kinds,
    listed_memories,
    token,
    told_counts,
    told_near,
)
from memoryos.operation.requests.request_reader import CHOSEN_KINDS
from memoryos.regex import regex
from memoryos.scope import Scope

MOST_PAGES = 1_000  # that one request chooses by words
MOST_FACTS = 500
_BY_ITSELF = frozenset((Kind.SEGMENT,))  # what comes and goes with the pages


@dataclass(frozen=True, slots=True)
class RequestSelection:
    """Chooses and previews for one owner."""

    engine: Engine
    memory: MemoryVerbs
    scope: Scope

    def preview(self, call: MemoryCall) -> RequestPreview:
        """What the request would do. Raises NotFound if it would do nothing, and what the operation itself raises."""
        refuse_limit(call)
        if call.operation is MemoryOperation.FORGET and call.reach in (CallReach.ALL, CallReach.SESSION):
            return self._everything(call)
        if call.operation in (MemoryOperation.FORGET, MemoryOperation.FREEZE, MemoryOperation.THAW):
            return self._chosen(call)
        return RequestPreview(call, _TELLS[call.operation](call), confirm=self._plain_token(call))

    def doomed(self, call: MemoryCall) -> Scope:
        """Whose memories go when everything of the owner or of the session goes. Raises InvalidInput."""
        if call.reach is CallReach.ALL:
            return self.scope.owner
        if self.scope.session is None:
            raise InvalidInput(
                "session", "is not known, and the request is about it", "Name it: memory(..., session=...)"
            )
        return self.scope

    def _plain_token(self, call: MemoryCall) -> str | None:
        if call.operation in (MemoryOperation.SHARE, MemoryOperation.UNSHARE):
            _check_shared(call)
            return token(call, [])
        return None

    def _everything(self, call: MemoryCall) -> RequestPreview:
        doomed = self.doomed(call)
        self.engine.admit_all(Action.DELETE, doomed)
        places = [one for one in self._placed(doomed) if one.kind not in _BY_ITSELF]
        if not places:
            raise NotFound("there is no memory of this user, agent and session: nothing was removed")
        counts = counted_kinds(one.kind for one in places)
        with self.engine.vault.view(doomed.owner) as reader:
            first = self.engine.hand.shown(list(reader.get([one.id for one in places[:LISTED]]).values()))
        more = ", and what was derived from them alone" if doomed.session else ""
        return RequestPreview(
            call,
            f"{told_counts(counts)} would go for good{more}",
            listed_memories(first),
            counts,
            confirm=token(call, [(one.id, one.version) for one in places]),
        )

    def _placed(self, doomed: Scope) -> Iterator[CubePlace]:
        after = 0
        while True:
            with self.engine.vault.read(doomed.owner) as reader:
                found = reader.placed(after=after, session=doomed.session)
            yield from found
            if not found:
                return
            after = found[-1].position

    def _chosen(self, call: MemoryCall) -> RequestPreview:
        taken, near = self._by_words(call)
        if call.operation is not MemoryOperation.FORGET:
            is_thawed = call.operation is MemoryOperation.THAW
            taken = [one for one in taken if (one.state is State.FROZEN) is is_thawed]
        if not taken:
            told = told_near(listed_memories(near[:NEAR]))
            raise NotFound(f"no memory is about {call.query or 'that time'!r}: nothing was changed{told}")
        along = self._freed(taken) if call.operation is MemoryOperation.FORGET else []
        every = [*taken, *along]
        known = {one.id for one in every}
        near = [one for one in near if one.id not in known][:NEAR]
        counts = counted_kinds(one.kind for one in every)
        return RequestPreview(
            call,
            f"{told_counts(counts)} {_BECOME[call.operation]}{_told_kept(near)}",
            listed_memories(every),
            counts,
            listed_memories(near),
            tuple(one.id for one in taken),
            token(call, [(one.id, one.version.number) for one in every]),
        )

    def _by_words(self, call: MemoryCall) -> tuple[list[MemCube], list[MemCube]]:
        """The memories that the request means, and some that are near."""
        if call.reach is CallReach.LAST:
            return self._latest(call), []
        since, until = call.said_between
        kinds = call.kinds or CHOSEN_KINDS
        if not call.query:
            if since is None and until is None and Kind.PAGE in kinds:
                raise InvalidInput("text", "does not say what it is about", "Name a topic or a time")
            return self._of_time(kinds, since, until), []
        taken, near = chosen(call.query, self._found(call).ranked, kinds)
        return taken, near

    def _found(self, call: MemoryCall) -> Recall:
        """What a search finds for the topic. It is no visit: nobody used what is about to go."""
        engine = self.engine
        text = engine.question(call.query, self.scope)
        since, until = arguments.period(*call.said_between)
        filters = Filters(engine.clock(), kinds=frozenset(CHOSEN_KINDS), since=since, until=until)
        search = Search(
            Strategy.HYBRID,
            MOST_PAGES,
            filters,
            reranker=engine.recaller.reranker,
            facts=MOST_FACTS,
            least_trust=engine.settings.min_trust,
        )
        engine.responder.wait()  # what was answered a moment ago is part of the memory
        return engine.hand.shown(engine.recaller.recall(self.scope, text, search, (), counts=False))

    def _of_time(self, kinds: Collection[Kind], since: datetime | None, until: datetime | None) -> list[MemCube]:
        """All memories of a time, or of a kind that is made of what was said: "my profile"."""
        if Kind.PAGE in kinds:
            return list(self.memory.pages.list(since=since, until=until))
        places = [one.id for one in self._placed(self.scope.owner) if one.kind in kinds]
        with self.engine.vault.view(self.scope.owner) as reader:
            found = self.engine.hand.shown(list(reader.get(places).values()))
        return [one for one in found if _is_between(one.descriptive.event_at, since, until)]

    def _latest(self, call: MemoryCall) -> list[MemCube]:
        if call.anchor is None:
            return []
        pages = self.memory.pages.list(session=self.scope.session)
        return [page for page in pages if page.id == call.anchor]

    def _freed(self, taken: Sequence[MemCube]) -> list[MemCube]:
        """What goes with these. Raises CubeProtected and OnHold, so that no preview promises what is refused then."""
        ids = [one.id for one in taken]
        self.engine.corrector(self.scope).refuse_frozen(ids, ids)
        return self._along(taken)

    def _along(self, taken: Sequence[MemCube]) -> list[MemCube]:
        """What was derived from these pages alone, and goes with them."""
        pages = {one.id for one in taken if one.kind is Kind.PAGE}
        known = {one.id for one in taken}
        corrector = self.engine.corrector(self.scope)
        found: list[MemCube] = []
        for home in corrector.homes:
            with self.engine.vault.view(home) as reader:
                found += [one for one in _resting_on(reader, pages) if one.id not in known]
        return self.engine.hand.shown(found)  # before their words are cut: half an address is still one


def _resting_on(reader: Reader, pages: set[str]) -> list[MemCube]:
    derived = derived_from(reader, pages)
    others = {link.source for link in reader.targets(derived, LinkKind.DERIVED_FROM) if link.target not in pages}
    cubes = reader.get([one for one in derived if one not in others]).values()
    return [one for one in cubes if one.descriptive.origin is not Origin.USER_INPUT]


def _told_kept(near: Sequence[MemCube]) -> str:
    return f"; {told_counts(counted_kinds(one.kind for one in near))} near it would stay" if near else ""


def _is_between(at: datetime, since: datetime | None, until: datetime | None) -> bool:
    return (since is None or at >= since) and (until is None or at <= until)


def refuse_limit(call: MemoryCall) -> None:
    """Raise InvalidInput if a request says more than could be kept."""
    if call.limit:
        problem = f"names an exception, a condition, an end or another order, which cannot be kept: {call.limit!r}"
        raise InvalidInput("text", problem, "Leave it out, name only what is meant, and give one order at a time")


def told_nothing(text: str) -> str:
    """What is answered where nothing is asked: people must not think that an order was followed."""
    if begins_like_an_order(text):
        return (
            "Nothing was done: this was not understood as a request (write e.g. 'Forget what I said about my job', or "
            "'Forget what I said on 3 May')"
        )
    return "Nothing was asked of the memory"


def _check_shared(call: MemoryCall) -> None:
    """Raise InvalidInput for what cannot be shared: a right is about the whole memory of a user."""
    if not call.to:
        raise InvalidInput("text", "does not say with whom", "Name the person or program")
    if _MANY.search(call.to):
        raise InvalidInput("text", f"names {call.to!r}, and a right is for one person or program", "Name one")
    if call.query and call.operation is MemoryOperation.SHARE:
        problem = f"asks to share only {call.query!r}, and a right to read is about all memories of a user"
        raise InvalidInput(
            "text", problem, "Share all of them, or tag some and write a policy that permits to read what has the tag"
        )


_MANY = regex(
    r"[,，、&]|\b(?:and|or)\b|\A(?:every(?:one|body)|any(?:one|body)|all|them)\Z|大家|所有人|每个人|和", re.IGNORECASE
)
_BECOME = {
    MemoryOperation.FORGET: "would go for good",
    MemoryOperation.FREEZE: "would be frozen: nothing changes them until they are thawed",
    MemoryOperation.THAW: "would be thawed",
}
_TELLS: dict[MemoryOperation, Callable[[MemoryCall], str]] = {
    MemoryOperation.NONE: lambda call: told_nothing(call.text),
    MemoryOperation.RECALL: lambda call: f"The memory would be searched for {call.query!r}",
    MemoryOperation.PROFILE: lambda _: "What is known about the user would be shown",
    MemoryOperation.REMEMBER: lambda call: f"{call.content!r} would be stored",
    MemoryOperation.UPDATE: lambda call: f"{call.content!r} would be stored; what it contradicts moves to the history",
    MemoryOperation.SKIP: lambda _: "This message would not be stored",
    MemoryOperation.SHARE: lambda call: (
        f"The caller {call.to!r} could read all memories of this user for a day, if the store has policies"
    ),
    MemoryOperation.UNSHARE: lambda call: f"The rights that this user gave {call.to!r} would end",
}
