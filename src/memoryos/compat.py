"""Memoryos: the class of the public MemoryOS code, with its constructor and methods, on this engine.

A script that uses the constructor, the methods and `retriever.retrieve_context` runs unchanged; the parts inside, such
as `short_term_memory` and `updater`, do not exist here. Where its defaults differ from the paper's, the paper's are
used. A data folder of that code is imported when it is first opened.
"""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memoryos.arguments import PATH_CHARS
from memoryos.config import load_settings
from memoryos.cube import MemCube
from memoryos.errors import InvalidInput, MissingExtra
from memoryos.importers.load import load_legacy
from memoryos.importers.memoryos_folder import list_users, read_folder
from memoryos.kinds import Kind, Role
from memoryos.language.quotation import item
from memoryos.memory import Memory
from memoryos.memory_os import MemoryOS
from memoryos.models.embedder import load_embedder
from memoryos.operation.hierarchy.mid_term import page_of
from memoryos.operation.recall.context import dated
from memoryos.operation.recall.hit import Strategy
from memoryos.operation.recall.overview import Persona
from memoryos.scope import Scope
from memoryos.text import checked_text, shown

DATABASE = "memoryos.db"  # in the data folder

MULTILINGUAL = ("BAAI/bge-m3", "Qwen/Qwen3-Embedding-0.6B")  # named by the README of that code; not bundled here

_RETRIEVED = (Kind.PAGE, Kind.FACT, Kind.SEGMENT)
_EMBEDDERS = {
    "all-MiniLM-L6-v2": "minilm",
    "sentence-transformers/all-MiniLM-L6-v2": "minilm",
    "minilm": "minilm",
    "static": "static",
    "hashing": "hashing",
    **dict.fromkeys(MULTILINGUAL, "static"),  # the bundled one that knows as many languages
}


class Memoryos:
    """The memory of one user and one assistant, kept in a folder. It has the methods of the public MemoryOS code."""

    def __init__(
        self,
        user_id: str,
        openai_api_key: str,
        data_storage_path: str,
        openai_base_url: str | None = None,
        assistant_id: str = "default_assistant_profile",
        short_term_capacity: int = 7,
        mid_term_capacity: int = 200,
        long_term_knowledge_capacity: int = 100,
        retrieval_queue_capacity: int = 10,
        mid_term_heat_threshold: float = 5.0,
        mid_term_similarity_threshold: float = 0.6,
        llm_model: str = "gpt-4o-mini",
        embedding_model_name: str = "all-MiniLM-L6-v2",
        embedding_model_kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Open the memory in `data_storage_path`, and create the folder if it does not exist.

        The default embedder needs the extra `minilm` and raises MissingExtra without it; `static` needs no extra. A
        folder keeps the embedder that it was created with. For the models that the public README names (BAAI/bge-m3,
        Qwen/Qwen3-Embedding-0.6B), `static` is used with a UserWarning. All thresholds keep the values that are passed;
        self-tuning is off.
        """
        if embedding_model_kwargs and embedding_model_name not in MULTILINGUAL:
            raise InvalidInput("embedding_model_kwargs", "the bundled embedders have no options", "Leave it out")
        folder = _folder(data_storage_path)
        settings = load_settings(
            short_term_capacity=short_term_capacity,
            mid_term_capacity=mid_term_capacity,
            knowledge_capacity=long_term_knowledge_capacity,
            recall_pages=retrieval_queue_capacity,
            heat_threshold=mid_term_heat_threshold,
            segment_threshold=mid_term_similarity_threshold,
            llm_model=llm_model,
            llm_api_key=openai_api_key or None,
            llm_base_url=openai_base_url or None,
            embedder=_embedder(embedding_model_name),
            self_tuning=False,
        )
        self.user_id = user_id
        self.assistant_id = assistant_id
        self._store = MemoryOS.open(folder / DATABASE, settings=settings)
        self.memory = self._store.memory(user_id, agent=assistant_id)
        self.retriever = Retriever(self.memory, user_id, assistant_id)
        with ExitStack() as undo:
            undo.callback(self._store.close)
            self._import_once(folder)
            undo.pop_all()  # imported: the memory stays open

    def add_memory(
        self,
        user_input: str,
        agent_response: str,
        timestamp: str | None = None,
        meta_data: dict[str, Any] | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> None:
        """Store an exchange. A timestamp without a zone is local time. `meta_data` becomes tags."""
        tags = [f"{key}={value}" for key, value in _about("meta_data", meta_data).items()]
        at = _moment(timestamp)
        self.memory.add(user_input or None, agent_response or None, at=at, tags=tags, idempotency_key=idempotency_key)

    def get_response(
        self,
        query: str,
        relationship_with_user: str = "friend",
        style_hint: str = "",
        user_conversation_meta_data: dict[str, Any] | None = None,
    ) -> str:
        """Answer with the chat model and the memory, and store the exchange. Raises ModelError."""
        role = f"an assistant who is the user's {relationship_with_user}"
        if style_hint:
            role += f", speaking in this style: {style_hint}"
        if known := _about("user_conversation_meta_data", user_conversation_meta_data):
            about = ", ".join(f"{key}: {value}" for key, value in known.items())
            role += f" (about this conversation: {about})"
        return self.memory.respond(query, role=role).text

    def get_user_profile_summary(self) -> str:
        """Return the user's profile, traits and knowledge as text; "None" if nothing is known."""
        user = self.memory.profile.get().user
        return "None" if user.is_empty else _summary(user)

    get_user_profile = get_user_profile_summary  # the name its web page gives

    def get_assistant_knowledge_summary(self) -> list[dict[str, str]]:
        """Return what the assistant knows about itself as text, oldest first."""
        return [_knowledge(cube) for cube in self.memory.profile.get().agent.facts]

    def force_mid_term_analysis(self) -> None:
        """Extract all unread pages into long-term memory now."""
        self.memory.consolidate()

    def get_memory_stats(self) -> dict[str, Any]:
        """Return the number of memories in each tier."""
        stats = self.memory.stats()
        return {
            "user_id": self.user_id,
            "short_term_count": stats.stm_pages,
            "mid_term_sessions_count": stats.mtm_segments,
            "has_user_profile": not self.memory.profile.get().user.is_empty,
            "assistant_knowledge_count": stats.agent_facts,
        }

    def close(self) -> None:
        """Finish background work and release the store. At the end of a program this happens automatically."""
        self._store.close()

    def _import_once(self, folder: Path) -> None:
        if not any((folder / name).is_dir() for name in ("users", "assistants")):
            return
        known = {event.kind for event in self.memory.log.events()}
        if Kind.PAGE in known:  # load_legacy adds the pages last, in one transaction: the import was complete
            return
        zone = datetime.now(UTC).astimezone().tzinfo or UTC  # that code's timestamps are local time
        legacy = read_folder(folder, user=self.user_id, assistant=self.assistant_id, zone=zone)
        if legacy.pages or not known:
            is_shared = list_users(folder) != (self.user_id,)
            load_legacy(self._store, legacy, shared_assistant=is_shared)


class Retriever:
    """The `retriever` of a Memoryos."""

    def __init__(self, memory: Memory, user_id: str, assistant_id: str) -> None:
        self._memory = memory
        self._user_id = user_id
        self._assistant_id = assistant_id

    def retrieve_context(
        self,
        user_query: str,
        user_id: str | None = None,
        segment_similarity_threshold: float = 0.1,
        page_similarity_threshold: float = 0.1,
        knowledge_threshold: float = 0.01,
        top_k_sessions: int | None = None,
        top_k_knowledge: int | None = None,
    ) -> dict[str, Any]:
        """Return the pages and knowledge that bear on a question and reach the thresholds."""
        scope = Scope(user=user_id or self._user_id, agent=self._assistant_id)
        found = self._memory.of(scope).search(
            user_query, strategy=Strategy.TWO_STAGE, facts=top_k_knowledge, explain=True, kinds=_RETRIEVED
        )
        fits = {topic.id: topic.score for topic in found.segments}
        segments = list(dict.fromkeys(hit.segment for hit in found.hits if hit.segment))[:top_k_sessions]
        pages = [
            _page(hit.cube)
            for hit in found.hits
            if hit.segment in segments
            and hit.parts["cosine"] >= page_similarity_threshold
            and fits.get(hit.segment or "", 0.0) >= segment_similarity_threshold
        ]
        user, agent = (
            [_knowledge(hit.cube) for hit in hits if hit.score >= knowledge_threshold][:top_k_knowledge]
            for hits in (found.user_facts, found.agent_facts)
        )
        return {
            "retrieved_pages": pages,
            "retrieved_user_knowledge": user,
            "retrieved_assistant_knowledge": agent,
            "retrieved_at": datetime.now(UTC).astimezone().isoformat(),
        }


def _folder(path: str) -> Path:
    if not isinstance(path, str | Path) or not str(path).strip() or "\x00" in str(path):
        raise InvalidInput("data_storage_path", "is not a folder name", "Pass e.g. './memory'")
    checked_text("data_storage_path", str(path), limit=PATH_CHARS)
    try:
        folder = Path(path).expanduser()
    except RuntimeError:
        raise InvalidInput("data_storage_path", "the home folder is unknown", "Pass the full path") from None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput("data_storage_path", f"{folder}: {error.strerror}", "Name a folder you may write") from error
    return folder


def _embedder(name: str) -> str:
    if not isinstance(name, str) or name not in _EMBEDDERS:
        raise InvalidInput(
            "embedding_model_name", f"{shown(name)} is not bundled", f"Use one of: {', '.join(_EMBEDDERS)}"
        )
    if name in MULTILINGUAL:
        warnings.warn(f"{name} is not bundled: the multilingual embedder 'static' is used instead", stacklevel=3)
    try:
        load_embedder(_EMBEDDERS[name])
    except MissingExtra:
        raise MissingExtra(f"The embedder {name}", "minilm", without="embedding_model_name='static'") from None
    return _EMBEDDERS[name]


def _about(field: str, value: dict[str, Any] | None) -> dict[str, Any]:
    """The details that are passed beside an exchange."""
    if not isinstance(value, dict | None):
        raise InvalidInput(field, f"expected a dict, got {type(value).__name__}", "Pass e.g. {'place': 'Rome'}")
    return {shown(key) if isinstance(key, int) else key: _told(one) for key, one in (value or {}).items()}


def _told(value: object) -> object:
    """A value as text. Python refuses to write out numbers of thousands of digits."""
    return shown(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _moment(timestamp: str | None) -> datetime | None:
    if timestamp is None:
        return None
    try:
        return datetime.fromisoformat(timestamp).astimezone()  # that code's timestamps are local time
    except (TypeError, ValueError):
        raise InvalidInput("timestamp", f"{shown(timestamp)} is not a date", "Use e.g. 2026-05-08 13:56:00") from None


def _summary(user: Persona) -> str:
    sections = {"Profile": user.profile, "Traits": user.traits, "Knowledge": user.facts}
    return "\n\n".join(
        "\n".join([f"{title}:", *(item(dated(cube)) for cube in cubes)]) for title, cubes in sections.items() if cubes
    )


def _knowledge(cube: MemCube) -> dict[str, str]:
    return {"knowledge": cube.text, "timestamp": _stamp(cube)}


def _page(cube: MemCube) -> dict[str, str]:
    page = page_of(cube)
    said = {role: turn.words if (turn := page.turn_of(role)) else "" for role in (Role.USER, Role.ASSISTANT)}
    return {
        "page_id": cube.id,
        "user_input": said[Role.USER],
        "agent_response": said[Role.ASSISTANT],
        "timestamp": _stamp(cube),
        "meta_info": page.chain_summary,
    }


def _stamp(cube: MemCube) -> str:
    return cube.descriptive.event_at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
