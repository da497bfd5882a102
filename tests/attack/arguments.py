"""Arguments for any function, made from its signature: most of them right, some of them as wrong as can be."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from threading import Event
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from memoryos import (
    Action,
    ArchiveStep,
    Attachment,
    Caller,
    CallReach,
    ChainHead,
    GateBounds,
    ListStep,
    MemoryCall,
    MemoryOperation,
    Mount,
    Pipeline,
    RetrieveStep,
    Role,
    Scope,
    Settings,
    TagStep,
    TrainingRecipe,
    Turn,
)
from memoryos.config import load_settings
from memoryos.models.hashing import Hashing
from memoryos.operation.recall.fusion import Weights

NOW = datetime(2026, 6, 1, tzinfo=UTC)
YEAR_1, YEAR_9999 = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)
FAR = [timezone(timedelta(hours=hours)) for hours in (-14, 0, 14)]

WORDS = [
    "I live in Paris. My name is Ann, and I was born on 3 May 1990.",
    "When did I move to Rome? And what happened last week, in 1987 or on 31 December?",
    "What did I say yesterday, two thousand years ago, in the year 9999, on 30 February?",
    "我住在北京。去年、上个月、一万年前发生了什么？",
    "I like jazz.",
    "café \u202e\u200b\x1b[31m </memory>",
]
HUGE = [2**31, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**5000, -1, 0]
texts = st.sampled_from([*WORDS, "", " ", "\x00", "a\x00b", "\ud800", "x" * 5000, "a/../b", "~nobody/x"]) | st.text(
    st.characters(), max_size=20
)
moments = st.sampled_from(
    [NOW, YEAR_1, YEAR_9999, *(day.replace(tzinfo=zone) for day in (YEAR_1, YEAR_9999) for zone in FAR)]
) | st.datetimes(timezones=st.none() | st.timezones())
numbers = st.sampled_from(HUGE) | st.integers(-3, 300)
fractions = st.floats() | st.sampled_from([0.0, 1.0, 1e308, float("nan"), float("inf")])


def _nested() -> list[Any]:
    """A list in a list, so deep that Python can neither write it out nor compare it."""
    nested: list[Any] = []
    for _ in range(3_000):
        nested = [nested]
    return nested


NESTED = _nested()
UNHASHABLE = [[], {}, set(), [{}], [[]], [set()], {"a": []}, {"type": []}, ({},)]
simple = st.none() | st.booleans() | numbers | fractions | texts | moments | st.binary(max_size=3) | st.dates()
hostile = st.one_of(
    simple,
    st.lists(simple, max_size=3),
    st.dictionaries(st.sampled_from(["a", "user"]), simple, max_size=2),
    st.tuples(simple, simple),
    st.builds(object),
    st.sampled_from([Scope, Path(), Path("nowhere/x.db"), range(3), Ellipsis]),
    st.sampled_from([*UNHASHABLE, NESTED, [NESTED], {"a": NESTED}]),
    st.builds(Scope, user=st.just("another")),
)


_parts = st.fixed_dictionaries({"type": texts | st.sampled_from(["text", "image_url", "tool_use", "tool_result"])})
_messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "tool", "owner"])},
    optional={
        "content": st.lists(hostile | st.fixed_dictionaries({"type": texts | st.just("image_url")}), max_size=2)
        | hostile,
        "tool_calls": hostile,
        "name": simple,
        "at": simple,
    },
)


@dataclass(frozen=True)
class Arguments:
    """What can be passed where, for one memory; `ids` are of what it holds."""

    ids: Sequence[str]
    files: Sequence[Path]

    def of(self, function: Callable[..., Any]) -> st.SearchStrategy[tuple[list[Any], dict[str, Any]]]:
        """Positional and named arguments for a call of it."""
        hints = get_type_hints(function, localns=NAMES)
        known = [one for one in inspect.signature(function).parameters.values() if one.name not in ("self", "cls")]
        positional = [self._one(one, hints) for one in known if one.kind is one.POSITIONAL_OR_KEYWORD]
        several = [
            st.lists(self._value(hints[one.name]), max_size=2) for one in known if one.kind is one.VAR_POSITIONAL
        ]
        named = {one.name: self._one(one, hints) for one in known if one.kind is one.KEYWORD_ONLY}
        for one in known:
            if one.kind is one.VAR_KEYWORD:
                named |= {
                    name: self._value(hint) for name, hint in get_type_hints(get_args(hints[one.name])[0]).items()
                }
        needed = {one.name for one in known if one.default is one.empty and one.kind is one.KEYWORD_ONLY}
        keywords = st.fixed_dictionaries(
            {name: named[name] for name in named if name in needed},
            optional={name: named[name] for name in named if name not in needed},
        )
        return st.tuples(st.tuples(*positional, *several).map(_flat(len(positional))), _few(keywords, needed))

    def _one(self, parameter: inspect.Parameter, hints: dict[str, Any]) -> st.SearchStrategy[Any]:
        value = self._value(hints[parameter.name])
        has_default = parameter.default is not parameter.empty
        return st.just(parameter.default) | value if has_default and parameter.default is not None else value

    def _value(self, hint: Any) -> st.SearchStrategy[Any]:
        """Three times of four something of the type, else anything."""
        right = self.right(hint)
        return st.integers(0, 3).flatmap(lambda chance: right if chance else hostile)

    def right(self, hint: Any) -> st.SearchStrategy[Any]:
        """A value of the type; those that the project made itself are named here."""
        if hint in _OWN:
            return _OWN[hint]
        if hint is Any:
            return _messages | simple
        if hint is str:
            return st.sampled_from([*WORDS, *self.ids, "home"])
        if hint is Path:
            return st.sampled_from(self.files)
        origin, inner = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType):
            return st.one_of([self.right(one) for one in inner])
        if origin in (Sequence, Iterable, list, Iterator):
            return st.lists(self.right(inner[0]), max_size=3)
        if origin is tuple:
            return st.lists(self.right(inner[0]), min_size=1, max_size=2).map(tuple)
        if origin is Callable or callable(origin):
            return st.just(lambda *_: None)
        if inspect.isclass(hint) and getattr(hint, "_is_protocol", False):
            return st.none()
        return st.from_type(hint)


def plain(function: Callable[..., Any]) -> tuple[list[Any], dict[str, Any]]:
    """Right arguments for what it cannot do without."""
    hints = get_type_hints(function, localns=NAMES)
    known = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    needed = [one for one in known if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    values = {one.name: _plain_value(hints[one.name]) for one in needed}
    several = [one.name for one in needed if one.kind is one.VAR_POSITIONAL]
    ordered = [values[one.name] for one in needed if one.kind is not one.KEYWORD_ONLY and one.name not in several]
    more = [values[name] for name in several if values[name]]
    return [*ordered, *more], {one.name: values[one.name] for one in needed if one.kind is one.KEYWORD_ONLY}


def _plain_value(hint: Any) -> Any:
    made = {
        Caller: Caller("dr-lee"),
        Event: _stopped(),
        Mount: Mount("other", "other.db", Scope(user="ann")),
        str: "x",
        int: 1,
    }
    return made.get(hint, [])


def _flat(count: int) -> Callable[[tuple[Any, ...]], list[Any]]:
    def flat(values: tuple[Any, ...]) -> list[Any]:
        return [*values[:count], *(one for more in values[count:] for one in more)]

    return flat


def _few(keywords: st.SearchStrategy[dict[str, Any]], needed: set[str]) -> st.SearchStrategy[dict[str, Any]]:
    """At most three that could be left out: with many, one that is wrong would hide what the others do."""

    def chosen(values: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
        free = sorted(values.keys() - needed)
        names = st.lists(st.sampled_from(free), unique=True, max_size=3) if free else st.just([])
        return names.map(lambda wanted: {name: values[name] for name in values if name in needed or name in wanted})

    return keywords.flatmap(chosen)


def _stopped() -> Event:
    stop = Event()
    stop.set()
    return stop


_scopes = st.sampled_from([Scope(user="ann"), Scope(user="ann", agent=None), Scope(user="bob", session="s")])
_attachments = st.builds(Attachment, caption=texts, uri=st.none() | texts, media_type=st.none() | texts)
NAMES = {"Event": Event}
PIPELINES = (
    Pipeline("tidy", [ListStep(until="{a}"), ArchiveStep(reason="{user}")], parameters={"a": "moment", "user": "text"}),
    Pipeline("ask", [RetrieveStep(query="{a}"), TagStep(tags="{user}")], parameters={"a": "text", "user": "names"}),
)

_OWN: dict[Any, st.SearchStrategy[Any]] = {
    Pipeline: st.sampled_from(PIPELINES),
    MemoryCall: st.builds(
        MemoryCall,
        text=texts,
        operation=st.sampled_from(MemoryOperation),
        intent=st.none() | st.sampled_from(Action),
        caller=texts,
        scope=st.sampled_from([Scope("ann"), Scope("tom", "coder")]),
        query=texts,
        content=texts,
        reach=st.sampled_from(CallReach),
        since=st.none() | moments,
        to=st.none() | texts,
    ),
    int: numbers,
    float: fractions,
    bool: st.booleans(),
    type(None): st.none(),
    date: st.dates(),
    datetime: moments,
    TrainingRecipe: st.builds(TrainingRecipe, rank=st.integers(1, 4), epochs=st.integers(1, 2)),
    GateBounds: st.builds(GateBounds, least_recall=st.floats(0, 1)),
    Event: st.builds(_stopped),
    Scope: _scopes,
    Caller: st.builds(Caller, st.just("dr-lee"), purpose=st.none() | st.just("care")),
    Attachment: _attachments,
    ChainHead: st.builds(ChainHead, st.none() | _scopes, st.integers(1, 3), st.just("0" * 64)),
    Turn: st.builds(
        Turn,
        role=st.sampled_from(Role),
        text=texts,
        speaker=st.none() | texts,
        at=st.none() | st.datetimes(timezones=st.timezones()),
        source_id=st.none() | texts,
        attachments=st.lists(_attachments, max_size=2).map(tuple),
    ),
    Weights: st.builds(Weights, words=st.floats(-10, 10), when=st.floats(-10, 10), context=st.booleans()),
    Settings: st.builds(load_settings, embedder=st.just("hashing"), short_term_capacity=st.just(2)),
    Mount: st.builds(
        Mount,
        name=st.text(min_size=1, max_size=3).filter(lambda name: name.strip() and "\x00" not in name),
        place=st.none() | st.sampled_from(["nowhere.db", "other://x", "C:", "."]),
        scope=_scopes.filter(lambda scope: scope.session is None),
    ),
    Hashing: st.builds(Hashing),
}
