"""LangGraph: a `BaseStore` on one owner's memory. Needs the extra `langgraph`.

Each item is a document of the owner, in a namespace of its own beside the dialogue, so nothing is read from it as a
fact about anybody. Its text is the JSON of its value, which is what a search looks through. Labels of an item are
digests of its namespace and of all namespaces above, so two namespaces never meet, whatever their labels are.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any

from memoryos import arguments, expected
from memoryos.about import AboutArguments
from memoryos.cube import MemCube, Page
from memoryos.errors import InvalidInput, MissingExtra, NotFound
from memoryos.frameworks.value_filter import admits
from memoryos.kinds import Kind
from memoryos.memory import Memory

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        tokenize_path,
    )
except ImportError:
    raise MissingExtra("A store for LangGraph", "langgraph") from None

NAMESPACE = "langgraph"  #: the last label of the namespace in which the items are
_SOURCE = "langgraph"
_UNSEARCHED = "langgraph:unsearched"
_MINUTE = 60.0  # seconds
_TRIES = 3  # of a put whose item changes meanwhile
_KEY_CHARS = 10_000

Labels = tuple[str, ...]


class LangGraphStore(BaseStore):
    """The long-term memory of a graph: `builder.compile(store=LangGraphStore(memory))`."""

    supports_ttl = True

    def __init__(self, memory: Memory, *, user_at: int | None = None, default_ttl: float | None = None) -> None:
        """Keep the items in the memory of one owner, or with `user_at` in that of the user each namespace names.

        `user_at` is the place of the user in each namespace: 1 for `("memories", user_id)`. A namespace, or a prefix to
        search, that does not reach so far is then refused, so no call sees the items of two users. A time to live
        (`ttl`, `default_ttl`, in minutes) counts from the last `put`; reads do not refresh it.
        """
        self._memory = expected.instance("memory", memory, Memory, "Pass memoryos.open(...)")
        self._user_at = arguments.optional("user_at", user_at)
        self.ttl_config = TTLConfig(refresh_on_read=False, omit_expired=True, default_ttl=default_ttl)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations: first what reads, then what writes; of several puts of one key, the last."""
        several = list(ops)
        results = [self._read(op) if not isinstance(op, PutOp) else None for op in several]
        for put in {(op.namespace, op.key): op for op in several if isinstance(op, PutOp)}.values():
            self._items(put.namespace).put(put)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._items(op.namespace).get(op.namespace, op.key)
        if isinstance(op, SearchOp):
            return self._items(op.namespace_prefix).search(op)
        if isinstance(op, ListNamespacesOp):
            return self._items(_prefix(op.match_conditions or ())).namespaces(op)
        raise InvalidInput("ops", f"{type(op).__name__} is no operation of a store", "Pass GetOp, PutOp and the like")

    def _items(self, namespace: Labels) -> _Items:
        """The items of the owner to whom a namespace belongs. Raises InvalidInput if it names no user."""
        scope = self._memory.scope
        if self._user_at is not None:
            if len(namespace) <= self._user_at or namespace[self._user_at] == "*":
                problem = f"has no user at place {self._user_at}"
                raise InvalidInput("namespace", problem, "Name the user there: items of several users are not mixed")
            scope = replace(scope, user=namespace[self._user_at])
        return _Items(self._memory.of(replace(scope, namespace=(*scope.namespace, NAMESPACE))))


@dataclass(frozen=True, slots=True)
class _Items:
    """The items of one owner."""

    memory: Memory

    def get(self, namespace: Labels, key: str) -> Item | None:
        found = self._stored(namespace, key)
        return _item(found[-1]) if found else None

    def put(self, op: PutOp) -> None:
        """Store, change or delete an item. What is kept of the earlier value is its history."""
        for _ in range(_TRIES):
            with suppress(NotFound):  # another put removed meanwhile what this one changes
                return self._put(op, self._stored(op.namespace, op.key))
        return self._put(op, [])  # stored beside it: the latest counts

    def _put(self, op: PutOp, before: list[MemCube]) -> None:
        if op.value is not None:
            text, told = self._told(op)
            if before and op.ttl is None and before[-1].governance.lifespan.expires_at is None:
                self.memory.update(before.pop().id, text, metadata=told)
            else:
                created = before[-1].descriptive.recorded_at if before else None
                self._add(op, text, {**told, "created": _created(before[-1]).isoformat()} if created else told)
        for one in before:
            with suppress(NotFound):
                self.memory.delete(one.id)

    def _add(self, op: PutOp, text: str, told: Mapping[str, Any]) -> None:
        within = [_label("in", op.namespace[:depth]) for depth in range(len(op.namespace) + 1)]
        tags = [_label("item", (*op.namespace, op.key)), *within, *([_UNSEARCHED] if op.index is False else [])]
        about: AboutArguments = {"tags": tags, "metadata": told, "source": _SOURCE}
        if op.ttl is not None:
            about["ttl"] = op.ttl * _MINUTE
        self.memory.add(text, **about)

    def _told(self, op: PutOp) -> tuple[str, Mapping[str, Any]]:
        """The text of an item, and its metadata: the value, too, if the text is not all of it."""
        most, value = self.memory.settings.max_text_chars, _json(op.value)
        if len(value) > most:
            raise InvalidInput("value", f"has {len(value):,} characters as JSON", f"Use at most {most:,}")
        if len(op.key) > _KEY_CHARS:
            raise InvalidInput("key", f"has {len(op.key):,} characters", f"Use at most {_KEY_CHARS:,}")
        told = {"namespace": list(op.namespace), "key": op.key}
        if op.index is None:
            return value, {**told, "value": None}
        return _searched(op) or _as_words(op.key), {**told, "value": op.value}

    def search(self, op: SearchOp) -> list[SearchItem]:
        """The items below a prefix that pass the filter: by relevance if there is a query, else in their order."""
        limit, offset = arguments.natural("limit", op.limit), arguments.natural("offset", op.offset)
        within = _label("in", op.namespace_prefix)
        if not op.query:
            return self._listed(op, within, None if op.filter else offset + limit)[offset : offset + limit]
        wanted = self.memory.pages.count(tags=[within]) if op.filter else offset + limit
        found = self._ranked(op, within, max(wanted, 1))
        if len(found) < offset + limit:
            ranked = {(one.namespace, one.key) for one in found}
            found += [one for one in self._listed(op, within) if (one.namespace, one.key) not in ranked]
        return found[offset : offset + limit]

    def _ranked(self, op: SearchOp, within: str, pages: int) -> list[SearchItem]:
        hits = self.memory.search(
            op.query or "", pages=pages, kinds=[Kind.PAGE], tags=[within], filters={"no_tags": [_UNSEARCHED]}, mounts=()
        ).ranked
        return _admitted(op, ((hit.cube, hit.relevance) for hit in hits))

    def _listed(self, op: SearchOp, within: str, limit: int | None = None) -> list[SearchItem]:
        if limit == 0:
            return []
        return _admitted(op, ((cube, None) for cube in self.memory.pages.list(tags=[within], limit=limit)))

    def namespaces(self, op: ListNamespacesOp) -> list[Labels]:
        """The namespaces with an item that meet the conditions, in order."""
        conditions = op.match_conditions or ()
        cubes = self.memory.pages.list(tags=[_label("in", _prefix(conditions))])
        known = {_namespace(cube) for cube in cubes}
        met = {one[: op.max_depth] for one in known if all(_meets(one, condition) for condition in conditions)}
        return sorted(met)[op.offset : op.offset + op.limit]

    def _stored(self, namespace: Labels, key: str) -> list[MemCube]:
        """The item, and what two processes may have stored beside it at once, the latest last."""
        hits = self.memory.tagged(_label("item", (*namespace, key)), kinds=[Kind.PAGE], mounts=())
        found = [hit.cube for hit in reversed(hits)]
        return [one for one in found if (_namespace(one), one.metadata["key"]) == (namespace, key)]


def _label(kind: str, labels: Labels) -> str:
    """A tag for a namespace or an item; the JSON of two of them is never the same."""
    told = json.dumps([kind, *labels])
    return f"langgraph:{kind}:{blake2b(told.encode(), digest_size=20).hexdigest()}"


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            "value", f"cannot be written as JSON: {error}", "Pass texts, numbers, lists and dicts"
        ) from None


def _searched(op: PutOp) -> str:
    """The parts of a value that a search looks through."""
    paths = [tokenize_path(path) for path in op.index or ()]
    return "\n".join(text for path in paths for text in get_text_at_path(op.value, path) if text.strip())


def _as_words(key: str) -> str:
    """The key as a text that can be stored: as JSON if it has no letters, or characters that nobody sees."""
    return key if key.isprintable() and any(map(str.isalnum, key)) else json.dumps(key)


def _admitted(op: SearchOp, cubes: Iterable[tuple[MemCube, float | None]]) -> list[SearchItem]:
    """The items that pass the filter, each once."""
    found = {}
    for cube, score in cubes:
        value, key, namespace = _value(cube), cube.metadata["key"], _namespace(cube)
        if admits(op.filter or {}, value) and (namespace, key) not in found:
            found[namespace, key] = SearchItem(
                namespace, key, value, _created(cube), cube.descriptive.updated_at, score=score
            )
    return list(found.values())


def _item(cube: MemCube) -> Item:
    return Item(
        value=_value(cube),
        key=cube.metadata["key"],
        namespace=_namespace(cube),
        created_at=_created(cube),
        updated_at=cube.descriptive.updated_at,
    )


def _value(cube: MemCube) -> dict[str, Any]:
    kept = cube.metadata["value"]
    assert isinstance(cube.payload, Page)  # noqa: S101 - nothing else is asked for
    value: dict[str, Any] = json.loads(cube.payload.turns[0].text) if kept is None else kept
    return value


def _namespace(cube: MemCube) -> Labels:
    return tuple(cube.metadata["namespace"])


def _created(cube: MemCube) -> datetime:
    told = cube.metadata.get("created")
    return datetime.fromisoformat(told) if told else cube.descriptive.recorded_at


def _prefix(conditions: Sequence[MatchCondition]) -> Labels:
    """The labels with which all namespaces that meet the conditions begin."""
    paths = [one.path for one in conditions if one.match_type == "prefix"]
    return max((tuple(_known(path)) for path in paths), key=len, default=())


def _known(path: Labels) -> Iterator[str]:
    for label in path:
        if label == "*":
            return
        yield label


def _meets(namespace: Labels, condition: MatchCondition) -> bool:
    turned: Callable[[Labels], Iterable[str]] = reversed if condition.match_type == "suffix" else iter
    pairs = zip(turned(namespace), turned(condition.path), strict=False)
    return len(namespace) >= len(condition.path) and all(wanted in ("*", label) for label, wanted in pairs)
