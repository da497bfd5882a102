"""mem0: its `Memory` and `AsyncMemory`, on a store of this library. Needs no extra.

Both styles are taken: ids in `filters`, as in its version 2, and ids as arguments, as before. A memory is what was said
(a page) or what was learned from it (a fact). With `infer`, messages are read for facts in the background; without it,
each message is stored as it is. What this library has no meaning for is refused by its name, and never left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from types import TracebackType
from typing import Any, Self

from memoryos import arguments, expected
from memoryos.about import AboutArguments
from memoryos.async_nouns import Awaited, awaited
from memoryos.caller import Caller
from memoryos.clock import parse_end
from memoryos.config import Settings, load_settings
from memoryos.cube import MemCube, Page
from memoryos.errors import InvalidInput, NotFound, PermissionDenied
from memoryos.frameworks.mem0_neutral import neutral
from memoryos.frameworks.mem0_terms import (
    RAW,
    Mem0Filters,
    Mem0Ids,
    changes_of,
    entity_of,
    id_of,
    located,
    record_of,
    words_of,
)
from memoryos.kinds import Kind, Role, Subject
from memoryos.memory import Memory as OwnerMemory
from memoryos.memory_os import MemoryOS
from memoryos.operation.calls import keywords
from memoryos.scope import Scope
from memoryos.text import shown

Record = dict[str, Any]

_UNSET: Any = object()
_TOP_K = 20
_KINDS = (Kind.PAGE, Kind.FACT)
_FILE = "memoryos.db"


class Mem0Memory:
    """The methods of mem0's `Memory`: `Memory("memoryos.db")`, or `Memory(store)` on a store that is open."""

    @keywords.named
    def __init__(
        self,
        store: str | MemoryOS = _FILE,
        *,
        settings: Settings | None = None,
        tenant: str = "default",
        caller: Caller | None = None,
    ) -> None:
        """Open the store at a path or URL, which `close` closes, or use an open one; a gate may check the caller."""
        self._is_own = not isinstance(store, MemoryOS)
        self._store = store if isinstance(store, MemoryOS) else MemoryOS.open(store, settings=settings)
        self._tenant = tenant
        self._caller = caller

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Open a store by a config of mem0, of which `_configured` says what has a meaning. Raises InvalidInput."""
        return cls(**_configured(config_dict))

    @neutral
    @keywords.named
    def add(
        self,
        messages: Any,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        app_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: float | datetime | str | None = None,
        expiration_date: date | str | None = None,
        infer: bool = True,
    ) -> dict[str, list[Record]]:
        """Store messages, and return what was stored; facts that they hold follow in the background."""
        wanted = Mem0Filters.of(filters)
        if wanted.metadata:
            raise InvalidInput(f"filters.{next(iter(wanted.metadata))}", "is no id", "Pass it in `metadata`")
        ids = self._ids(wanted.ids, user_id, agent_id, run_id, app_id)
        memory, said = self._memory(ids.scope), _messages(messages)
        about: AboutArguments = {"tags": ids.tags, "metadata": metadata or {}}
        if expiration_date is not None:
            about["expires_at"] = parse_end("expiration_date", expiration_date)  # type: ignore[arg-type]
        at = _moment(timestamp)
        if arguments.flag("infer", infer):
            stored = memory.add(said, at=at, **about)
        else:
            spoken = [one for one in said if one.get("role") not in ("system", "developer")]
            about["source"] = RAW
            stored = [page for one in spoken for page in memory.add([one], at=at, **about)]
        return {"results": [_added(memory, page) for page in stored]}

    @neutral
    @keywords.named
    def search(
        self,
        query: str,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        threshold: float = 0.1,
        rerank: bool = False,
        explain: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
    ) -> dict[str, list[Record]]:
        """Find the memories that bear on a question, best first; `threshold` is the least relevance (0 to 1)."""
        wanted, most = Mem0Filters.of(filters), _most(top_k, limit)
        ids = self._ids(wanted.ids, user_id, agent_id, run_id)
        memory = self._memory(ids.scope)
        if arguments.flag("rerank", rerank) and memory._engine.recaller.reranker is None:
            raise InvalidInput("rerank", "there is no reranker", "Leave it out, or open the store with a reranker")
        found = memory.search(
            query,
            pages=most,
            facts=most,
            kinds=_KINDS,
            tags=ids.tags,
            session=ids.scope.session,
            filters={"metadata": wanted.metadata} if wanted.metadata else None,
            min_score=threshold,
            explain=explain,
        )
        told = ({**record_of(hit.cube, ids.scope), "score": hit.relevance, **_why(hit.parts)} for hit in found.ranked)
        return {"results": [*told][:most]}

    @neutral
    @keywords.named
    def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
    ) -> dict[str, list[Record]]:
        """List memories, the latest first."""
        wanted = Mem0Filters.of(filters)
        ids = self._ids(wanted.ids, user_id, agent_id, run_id)
        cubes = self._cubes(ids, wanted.metadata)[: _most(top_k, limit)]
        return {"results": [record_of(cube, ids.scope) for cube in cubes]}

    @keywords.named
    def get(self, memory_id: str) -> Record | None:
        """Return a memory; None if there is none."""
        try:
            cube_id, owner = located(memory_id, self._tenant)
            return record_of(self._memory(owner).get(cube_id), owner)
        except NotFound:
            return None

    @keywords.named
    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        data: str | None = None,
    ) -> dict[str, str]:
        """Correct a memory; of an exchange, what the user said. Metadata joins that of the memory. Raises NotFound."""
        if text is not None and data is not None:
            raise InvalidInput("data", "is another name of `text`", "Pass one of them")
        cube_id, owner = located(memory_id, self._tenant)
        memory = self._memory(owner)
        role = _role(memory.get(cube_id))
        memory.update(cube_id, data if text is None else text, role=role, metadata=metadata)
        return {"message": "Memory updated successfully!"}

    @keywords.named
    def delete(self, memory_id: str) -> dict[str, str]:
        """Delete a memory, with what was derived from it alone. Raises NotFound."""
        cube_id, owner = located(memory_id, self._tenant)
        self._memory(owner).delete(cube_id)
        return {"message": "Memory deleted successfully!"}

    @keywords.named
    def delete_all(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        app_id: str | None = None,
    ) -> dict[str, str]:
        """Remove everything that the ids name, with what was derived from it alone."""
        ids = self._ids({}, user_id, agent_id, run_id, app_id)
        memory = self._memory(ids.scope)
        if not ids.tags:
            memory.forget()
        for page in memory.pages.list(tags=ids.tags, session=ids.scope.session) if ids.tags else ():
            memory.delete(page.id)
        return {"message": "Memories deleted successfully!"}

    @keywords.named
    def history(self, memory_id: str) -> list[Record]:
        """List the changes of a memory, oldest first. Raises NotFound."""
        cube_id, owner = located(memory_id, self._tenant)
        return changes_of(self._memory(owner).history(cube_id), memory_id)

    @keywords.named
    def users(self) -> dict[str, list[Record]]:
        """List whose memories there are: users, agents and runs. The caller needs the right to administer the store."""
        scopes = self._admin.admin.scopes(tenant=self._tenant)
        found = [entity for scope in scopes if (entity := entity_of(scope))]
        return {"results": [{"id": name, "name": name, "type": kind} for kind, name in found]}

    @keywords.named
    def reset(self) -> dict[str, str]:
        """Remove the memories of all users, agents and runs; needs the right to administer the store."""
        for one in self.users()["results"]:
            self.delete_all(**{f"{one['type']}_id": one["name"]})
        return {"message": "All memories deleted."}

    def close(self) -> None:
        """Close the store that this object opened."""
        if self._is_own:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_own:
            self._store.__exit__(kind, error, trace)

    @property
    def _admin(self) -> MemoryOS:
        return self._store.by(self._caller) if self._caller else self._store

    def _memory(self, scope: Scope) -> OwnerMemory:
        return self._store.of(scope, self._caller)

    def _ids(self, told: Mapping[str, Any], *given: str | None) -> Mem0Ids:
        """The ids of the filters and of the arguments together. Raises InvalidInput."""
        names = ("user_id", "agent_id", "run_id", "app_id")
        passed = {name: value for name, value in zip(names, given, strict=False) if value is not None}
        if twice := next((name for name in passed if told.get(name, passed[name]) != passed[name]), None):
            raise InvalidInput(twice, "differs from that of the filters", "Pass it once")
        return Mem0Ids.of(self._tenant, {**told, **passed})

    def _cubes(self, ids: Mem0Ids, metadata: Mapping[str, Any]) -> list[MemCube]:
        """The memories that are asked for, the latest first; facts have no run."""
        memory, filters = self._memory(ids.scope), {"metadata": metadata} if metadata else None
        cubes = [*memory.pages.list(tags=ids.tags, session=ids.scope.session, filters=filters)]
        if ids.scope.session is None:
            cubes += [one for of in Subject for one in memory.facts.list(subject=of, tags=ids.tags, filters=filters)]
        return sorted(cubes, key=lambda cube: cube.descriptive.recorded_at, reverse=True)


class AsyncMem0Memory(Awaited[Mem0Memory]):
    """The methods of mem0's `AsyncMemory`."""

    def __init__(self, store: str | MemoryOS = _FILE, **more: Any) -> None:
        """As `Mem0Memory`."""
        super().__init__(Mem0Memory(store, **more))

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Open a store by a config of mem0. Raises InvalidInput."""
        return cls(**_configured(config_dict))

    add = awaited(Mem0Memory.add)
    search = awaited(Mem0Memory.search)
    get_all = awaited(Mem0Memory.get_all)
    get = awaited(Mem0Memory.get)
    update = awaited(Mem0Memory.update)
    delete = awaited(Mem0Memory.delete)
    delete_all = awaited(Mem0Memory.delete_all)
    history = awaited(Mem0Memory.history)
    users = awaited(Mem0Memory.users)
    reset = awaited(Mem0Memory.reset)

    def close(self) -> None:
        """Close the store that this object opened."""
        self.sync.close()


Memory = Mem0Memory  #: its name in mem0
AsyncMemory = AsyncMem0Memory  #: its name in mem0


def _configured(config: Mapping[str, Any]) -> dict[str, Any]:
    """The store of a config: {"vector_store": {"provider": "memoryos", "config": {"path": ...}}, "llm": {...}}.

    Of `llm`, the provider openai and its model, api_key and openai_base_url have a meaning. Raises InvalidInput.
    """
    _only("config", config, ("vector_store", "llm", "version"))
    store = _part(config, "vector_store", "memoryos", ("path",))
    model = _part(config, "llm", "openai", ("model", "api_key", "openai_base_url"))
    names = {"model": "llm_model", "api_key": "llm_api_key", "openai_base_url": "llm_base_url"}
    settings = load_settings(**{names[name]: value for name, value in model.items()})
    return {"store": store.get("path", _FILE), "settings": settings}


def _part(config: Mapping[str, Any], name: str, provider: str, known: Sequence[str]) -> Mapping[str, Any]:
    part = config.get(name, {"provider": provider})
    _only(name, part, ("provider", "config"))
    if part.get("provider") != provider:
        raise InvalidInput(f"{name}.provider", f"{shown(part.get('provider'))} is not supported", f"Use {provider!r}")
    told: Mapping[str, Any] = part.get("config", {})
    _only(f"{name}.config", told, known)
    return told


def _only(field: str, told: Any, known: Sequence[str]) -> None:
    told = expected.instance(field, told, dict, "Pass a dict")
    if (unknown := next((name for name in told if name not in known), None)) is not None:  # a name may be empty
        raise InvalidInput(f"{field}.{unknown}", "has no meaning here", f"Use some of: {', '.join(known)}")


def _messages(messages: Any) -> list[Mapping[str, Any]]:
    several = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    several = [several] if isinstance(several, Mapping) else several
    if not isinstance(several, list) or not all(isinstance(one, Mapping) for one in several):
        raise InvalidInput("messages", "are no text, dict or list of dicts", "Pass [{'role': 'user', 'content': ...}]")
    return several


def _moment(value: float | datetime | str | None) -> datetime | str | None:
    """A time; mem0 also takes seconds since 1970."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value)
    except (OverflowError, ValueError):
        raise InvalidInput("timestamp", "is outside the calendar", "Pass seconds since 1970") from None


def _most(top_k: int | None, limit: int | None) -> int:
    if top_k is not None and limit is not None:
        raise InvalidInput("limit", "is another name of `top_k`", "Pass one of them")
    return arguments.positive("top_k", limit if top_k is None else top_k, _TOP_K)


def _why(parts: Mapping[str, float]) -> Record:
    return {"score_details": dict(parts)} if parts else {}


def _added(memory: OwnerMemory, page: str) -> Record:
    try:
        words = words_of(memory.get(page))
    except PermissionDenied:  # who may only write
        words = None
    return {"id": id_of(page, memory.scope), "memory": words, "event": "ADD"}


def _role(cube: MemCube) -> Role:
    turns = cube.payload.turns if isinstance(cube.payload, Page) else ()
    return turns[0].role if len(turns) == 1 else Role.USER
