"""MemoryCall: what a request asks of the memory, in fields (MemOS paper, section 5.2)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memoryos.caller import Action
from memoryos.choice import Choice
from memoryos.kinds import Kind, MemoryType
from memoryos.plain import PlainContent
from memoryos.scope import Scope


class MemoryOperation(Choice):
    """What a request asks for."""

    NONE = "none"  # nothing of the memory: a statement, a chat line, a task
    RECALL = "recall"  # an answer from what was said
    PROFILE = "profile"  # what is known about the user
    REMEMBER = "remember"  # store something
    UPDATE = "update"  # store what takes the place of something known
    SKIP = "skip"  # do not store this message
    FORGET = "forget"  # remove memories for good
    FREEZE = "freeze"  # protect memories from changes
    THAW = "thaw"  # end this protection
    SHARE = "share"  # let somebody else read the memory
    UNSHARE = "unshare"  # end this right

    @property
    def intent(self) -> Action | None:
        """What the caller does with the memory, as the gate asks; None: nothing."""
        return _INTENTS.get(self)

    @property
    def needs_confirmation(self) -> bool:
        """Whether a preview must be confirmed: it removes memories, chooses them by words, or is about others."""
        return self in _CONFIRMED


class CallReach(Choice):
    """Which memories a request is about."""

    TOPIC = "topic"  # those that bear on the topic, or were said in the time range
    ALL = "all"  # all of the owner
    LAST = "last"  # the latest exchange
    SESSION = "session"  # those of this session


class ReadBy(Choice):
    """Who read the request."""

    RULES = "rules"  # the rules of its language
    MODEL = "model"  # the chat model, checked


_INTENTS = {
    MemoryOperation.RECALL: Action.READ,
    MemoryOperation.PROFILE: Action.READ,
    MemoryOperation.REMEMBER: Action.WRITE,
    MemoryOperation.UPDATE: Action.WRITE,
    MemoryOperation.FORGET: Action.DELETE,
    MemoryOperation.FREEZE: Action.WRITE,
    MemoryOperation.THAW: Action.ADMINISTER,
    MemoryOperation.SHARE: Action.SHARE,
    MemoryOperation.UNSHARE: Action.SHARE,
}
_CONFIRMED = frozenset(
    (
        MemoryOperation.FORGET,
        MemoryOperation.FREEZE,
        MemoryOperation.THAW,
        MemoryOperation.SHARE,
        MemoryOperation.UNSHARE,
    )
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What the words of a request say, before they are resolved."""

    operation: MemoryOperation = MemoryOperation.NONE
    topic: str = ""  #: the words that name what it is about
    content: str = ""  #: what is to be stored
    reach: CallReach = CallReach.TOPIC
    to: str | None = None  #: with whom the memory is shared
    when: str = ""  #: the words that can only say when it was said
    is_thing: bool = False  #: whether the times in its topic belong to it: "that we meet on Tuesday"
    kinds: tuple[Kind, ...] = ()  #: the kinds of memories that it names; none: all


@dataclass(frozen=True, slots=True)
class MemoryCall(PlainContent):
    """A request in fields, which `requests.preview` and `requests.do` take."""

    text: str  #: the request
    operation: MemoryOperation  #: what it asks for
    intent: Action | None  #: what the caller does with the memory, as the gate asks; None: nothing
    caller: str  #: identity of who asks
    scope: Scope  #: whose memory it is about
    query: str = ""  #: what it is about, or the question, with what follow-ups leave out filled in
    content: str = ""  #: what is to be stored
    reach: CallReach = CallReach.TOPIC  #: which memories it is about
    types: tuple[MemoryType, ...] = (MemoryType.PLAINTEXT,)  #: memory types that it is about
    kinds: tuple[Kind, ...] = ()  #: kinds of memories that it is about; empty: all that a search finds
    entities: tuple[str, ...] = ()  #: people, places and things that it names
    since: datetime | None = None  #: start of the time range that it names
    until: datetime | None = None  #: end of the time range
    is_about_telling: bool = False  #: whether the time range is when something was said, and not when it happened
    anchor: str | None = None  #: id of the page in STM that it refers back to
    to: str | None = None  #: identity with which the memory is shared
    read_by: ReadBy = ReadBy.RULES  #: who read the request: rules or model
    reason: str = ""  #: why the rules read it although a model is configured
    limit: str = ""  #: an exception, a condition, an end or a second order that it names; such an order is refused

    @property
    def said_between(self) -> tuple[datetime | None, datetime | None]:
        """The time range, if it is when something was said; it then bounds the memories that are meant."""
        return (self.since, self.until) if self.is_about_telling else (None, None)
