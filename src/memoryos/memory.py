"""MemoryOS: the object users hold; one short method per operation, like a table of system calls.

One instance serves many scopes and threads. `AsyncMemoryOS` (`async_memory.py`) is the same, awaited.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import date, datetime
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

from memoryos import arguments
from memoryos.clock import Clock, checked_clock, parse_moment, system_clock
from memoryos.config import LONGEST_WAIT, ExtractorKind, Settings, load_settings
from memoryos.cube import Attachment, Kind, MemCube, Origin, Role, Subject, Tier, Turn
from memoryos.errors import InvalidInput, NotFound, ObjectsUnreachable, StorageError
from memoryos.infrastructure.candidates.contract import CandidateIndex
from memoryos.infrastructure.candidates.place import open_candidates
from memoryos.infrastructure.vault.contract import Event, Job, JobKind, JobState, Reader, Spending, Vault
from memoryos.infrastructure.vault.place import open_vault
from memoryos.models.chat import Answer, ChatModel, OpenAIChat
from memoryos.models.embedder import Embedder, load_embedder, opened_with
from memoryos.models.limits import Limits
from memoryos.models.remembered import WORDS, Remembered
from memoryos.models.reranker import Reranker
from memoryos.models.tokenizer import count_tokens
from memoryos.mount import Mount
from memoryos.operation import ingest, overview
from memoryos.operation.answer_stream import AnswerStream
from memoryos.operation.arrival import Arrival
from memoryos.operation.cold import Cooled, Cooler
from memoryos.operation.consolidation.extractor import RuleExtractor
from memoryos.operation.consolidation.persona import PersonaSchema
from memoryos.operation.consolidation.promotion import Promoter, persona_scope
from memoryos.operation.consolidation.reader import ModelReader
from memoryos.operation.correct import Corrector
from memoryos.operation.erase import Eraser
from memoryos.operation.hierarchy.lesson import Lesson
from memoryos.operation.hierarchy.tally import Tally, tally_of
from memoryos.operation.housekeeping import Housekeeping
from memoryos.operation.index.follower import Follower
from memoryos.operation.index.keeper import Keeper
from memoryos.operation.index.residency import Residency
from memoryos.operation.index.resident import Resident
from memoryos.operation.jobs import Handler, JobRunner
from memoryos.operation.mounts.adapter import MemoryAdapter, Wanted
from memoryos.operation.mounts.beside import Beside
from memoryos.operation.mounts.mounted import Mounted
from memoryos.operation.mounts.patient import Patient
from memoryos.operation.mounts.registry import adapter_for
from memoryos.operation.mounts.store import StoreAdapter
from memoryos.operation.overview import Profile, SegmentView, Stats
from memoryos.operation.propose import Proposal, accept, proposals, published, reject
from memoryos.operation.rebuild import Rebuilder
from memoryos.operation.recall.context import Context, pack
from memoryos.operation.recall.digest import Digest, digest
from memoryos.operation.recall.filters import Filters
from memoryos.operation.recall.fusion import Weights, analysed
from memoryos.operation.recall.hit import Hit, Recall, Strategy
from memoryos.operation.recall.moment import predecessors
from memoryos.operation.recall.search import Search
from memoryos.operation.reembed import reembed
from memoryos.operation.repairer import Repairer, RepairReport
from memoryos.operation.respond import DEFAULT_ROLE, Bounds
from memoryos.operation.responder import Responder
from memoryos.operation.searcher import Searcher
from memoryos.operation.sources import Sources
from memoryos.operation.spending import Purse
from memoryos.operation.stated import VALUE_CHARS, stated_fact, stated_field
from memoryos.operation.streams import Streams
from memoryos.operation.uninterrupted import Hand, uninterrupted
from memoryos.operation.worker import Worker
from memoryos.scope import ID_LIMIT, PRIVATE, Scope
from memoryos.text import checked_text

logger = logging.getLogger(__name__)

LEXICON = "static"  # the embedder whose words tell which are close in meaning
MOST_THREADS = 256  # of one worker
SHORT_TURN = 6  # tokens
QUERY_CHARS = 10_000  # a longer question is a document: add it instead


@uninterrupted
class MemoryOS:
    """A memory for agents: layered, durable, searchable, with or without a chat model."""

    def __init__(
        self,
        vault: Vault,
        embedder: Embedder,
        *,
        scope: Scope | None = None,
        settings: Settings | None = None,
        chat: ChatModel | None = None,
        reranker: Reranker | None = None,
        clock: Clock = system_clock,
        candidates: CandidateIndex | None = None,
    ) -> None:
        """Put a memory together from its parts; `open` does it for a file, and mounts what the settings name."""
        clock = checked_clock(clock)
        arguments.part("embedder", embedder)
        arguments.parts(settings=settings, chat=chat, reranker=reranker)
        self._hand = Hand("calls")
        self.settings = settings or load_settings()
        self._vault = vault
        self._embedder = embedder
        self._questions = Remembered(embedder)
        self._scope = None if scope is None else arguments.scope(scope)
        self._chat = chat
        self._connections = [chat] if isinstance(chat, OpenAIChat) else []
        self._reranker = reranker
        self._clock = clock
        lexicon, recent = load_embedder(LEXICON), self.settings.short_term_capacity
        self._lexicon = Remembered(lexicon, WORDS)
        follower = Follower(candidates) if candidates else None
        residency = Residency(
            self.settings.resident_mb * 1_000_000,
            lambda: Resident(embedder.dim, lexicon, recent),
            follower,
            Keeper(vault, embedder, lexicon),
        )
        self._sources = Sources(vault, embedder, residency, follower)
        self._searcher = Searcher(self._sources, self.settings)
        self._mounted = Mounted()
        self._is_closed = False
        schema = PersonaSchema.named(self.settings.persona_schema)
        limits = Limits(self.settings.llm_concurrency, self.settings.llm_requests_per_minute)
        self._purse = Purse(vault, self.settings, clock, limits)
        self._responder = self._made_responder()
        reader = self._model_reader(schema)
        self._promoter = Promoter(vault, embedder, RuleExtractor(schema), self.settings, clock, reader)
        self._repairer = Repairer(vault, residency, self.settings, clock)
        handlers = dict.fromkeys((JobKind.EXTRACT, JobKind.READ_RECENT), self._promoter)
        others: dict[JobKind, Handler] = {
            JobKind.REPAIR: self._repairer,
            JobKind.ERASE: Eraser(self._promoter, self._sources),
        }
        runner = JobRunner(vault, {**handlers, **others}, clock)
        self._cooler = Cooler(vault, self.settings, clock)
        self._housekeeping = Housekeeping(runner, Rebuilder(self._promoter), residency, self._cooler, self.settings)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        user: str | None = None,
        agent: str = "default",
        session: str | None = None,
        tenant: str = "default",
        namespace: tuple[str, ...] = PRIVATE,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        chat: ChatModel | None = None,
        reranker: Reranker | None = None,
        clock: Clock = system_clock,
        read_only: bool = False,
    ) -> Self:
        """Open the store in the file at `path`, creating it when it does not exist.

        `path` may be the URL of a PostgreSQL database, which must exist: postgresql://user:password@host/database.
        `user` and the ids beside it make the scope of calls that name none. A store that is opened `read_only` must
        be there, and stays as it is: writes raise StoreReadOnly. Raises StorageError when the store cannot be used,
        InvalidInput for a bad id, ModelError when an embedder behind an endpoint does not answer, MissingExtra for
        a URL without the extra `postgres`.
        """
        clock = checked_clock(clock)
        arguments.parts(settings=settings, embedder=embedder, chat=chat, reranker=reranker)
        settings = settings or load_settings()
        if read_only:  # nothing is extracted, and no index beside the store is fed
            settings = settings.model_copy(update={"extractor": ExtractorKind.RULES, "candidates": None})
        scope = None if user is None else Scope(user, agent, session, tenant, namespace)
        embedder = embedder or load_embedder(settings.embedder, settings)
        place = arguments.store_place(path)
        vault, embedder = opened_with(
            embedder,
            lambda name: open_vault(
                place,
                embedder=name,
                clock=clock,
                busy_timeout_seconds=settings.busy_timeout_seconds,
                connections=settings.connections,
                object_store=settings.object_store,
                is_only_read=read_only,
            ),
        )
        with ExitStack() as undo:
            undo.callback(vault.close)
            candidates = open_candidates(vault, place, settings, embedder=embedder.name, dim=embedder.dim)
            memory = cls(
                vault,
                embedder,
                scope=scope,
                settings=settings,
                chat=chat,
                reranker=reranker,
                clock=clock,
                candidates=candidates,
            )
            undo.pop_all()
        memory._mount_later(settings.mounts)
        return memory

    @staticmethod
    def reembed(
        path: str | Path,
        embedder: Embedder,
        *,
        settings: Settings | None = None,
        progress: ingest.Progress | None = None,
        clock: Clock = system_clock,
    ) -> None:
        """Give the whole store at `path`, all tenants, the vectors of another embedder; nothing is extracted again.

        Searches and writes of other memories on it go on meanwhile, with the old embedder. When this returns they are
        refused with EmbedderMismatch, and have to be opened with the new one. A change that was cut off goes on where
        it was; to name the store's own embedder gives it up. `progress` is told cubes of all that have vectors.
        Raises InvalidInput when there is no such file, StorageError when it cannot be used.
        """
        clock = checked_clock(clock)
        arguments.part("embedder", embedder)
        arguments.parts(settings=settings)
        arguments.callback("progress", progress)
        settings = settings or load_settings()
        place = arguments.store_place(path)
        if isinstance(place, Path) and not place.exists():
            raise InvalidInput("path", f"{place} does not exist", "Name the file of a store")
        timeout = settings.busy_timeout_seconds
        objects = settings.object_store
        vault = open_vault(place, embedder=None, clock=clock, busy_timeout_seconds=timeout, object_store=objects)
        with closing(vault):
            reembed(vault, embedder, progress)

    # Writing

    def add(
        self,
        query: str | None = None,
        response: str | None = None,
        *,
        at: datetime | str | None = None,
        attachments: Sequence[Attachment] = (),
        tags: Sequence[str] = (),
        idempotency_key: str | None = None,
        mount: str | None = None,
        scope: Scope | None = None,
    ) -> str:
        """Remember one exchange, or half of one; returns the id of its page.

        `at` is when it was said (now, when left out); attachments belong to the query, or to the
        response when there is no query. Durable when it returns. `idempotency_key` and `mount` are as in `add_many`.
        """
        now = self._clock()
        items = arguments.sequence("attachments", attachments, Attachment)
        limit = self.settings.max_text_chars
        turns = ingest.turns_of(query, response, at=at, attachments=items, now=now, limit=limit)
        return self._take_in(turns, now, tags=tags, idempotency_key=idempotency_key, mount=mount, scope=scope)[0]

    def add_many(
        self,
        turns: Iterable[Turn],
        *,
        tags: Sequence[str] = (),
        origin: Origin = Origin.USER_INPUT,
        progress: ingest.Progress | None = None,
        idempotency_key: str | None = None,
        mount: str | None = None,
        scope: Scope | None = None,
    ) -> list[str]:
        """Remember a dialogue in the order given, all of it or nothing; returns the ids of its pages.

        What follows (chains, segments, facts) is done beside the caller; `wait` returns when it is. With the
        `idempotency_key` of an earlier call of this owner nothing is added, and that call's ids return, also of pages
        that were corrected or deleted since; InvalidInput when it had said something else. Raises OutcomeUnknown when
        the server went away in the commit and nobody can tell: a call with the same key is safe. With a `mount` it is
        remembered there and not here; StoreReadOnly when that is mounted to be read.
        """
        now = self._clock()
        limit = self.settings.max_text_chars
        checked = [
            ingest.checked_turn(turn, now=now, limit=limit, field=f"turns[{index}]")
            for index, turn in enumerate(arguments.sequence("turns", turns, Turn))
        ]
        return self._take_in(
            checked,
            now,
            tags=tags,
            origin=origin,
            progress=progress,
            idempotency_key=idempotency_key,
            mount=mount,
            scope=scope,
        )

    def _take_in(
        self,
        turns: Sequence[Turn],
        now: datetime,
        *,
        tags: Sequence[str],
        origin: Origin = Origin.USER_INPUT,
        progress: ingest.Progress | None = None,
        idempotency_key: str | None,
        mount: str | None,
        scope: Scope | None,
    ) -> list[str]:
        """Store turns that were checked, all of them or none; returns the ids of their pages."""
        owner = self._scope_of(scope)
        labels, key = arguments.tags(tags), arguments.idempotency_key(idempotency_key)
        origin = arguments.one_of("origin", origin, Origin)
        arguments.callback("progress", progress)
        if mount is not None:
            there = self._mounted.for_writing(owner, checked_text("mount", mount, limit=ID_LIMIT))
            return there.write(turns, tags=labels, origin=origin, idempotency_key=key)
        cubes = [ingest.page_cube(page, owner, now=now, origin=origin, tags=labels) for page in ingest.paginate(turns)]
        arrival = Arrival(self._vault, owner, cubes, key)
        with self._housekeeping.call():
            if (known := arrival.known()) is not None:
                return known
            ids = arrival.store(ingest.embedded(cubes, self._embedder, progress))
        self._housekeeping.written(owner)
        return ids

    def update(self, cube_id: str, text: str, *, role: Role = Role.USER, scope: Scope | None = None) -> MemCube:
        """Correct a memory; its old words stay in the history. For a page, `role` names the turn."""
        checked = checked_text("text", text, limit=self.settings.max_text_chars)
        chosen = arguments.one_of("role", role, Role)
        revised = self._corrector(scope).revise(arguments.cube_id(cube_id), checked, role=chosen)
        self._housekeeping.queued(self._scope_of(scope))
        self._sources.follow_erasure(self._scope_of(scope).owner)
        return revised

    def delete(self, cube_id: str, *, scope: Scope | None = None) -> None:
        """Remove a memory and what was derived from it alone; a segment goes with its pages.

        When that takes documents from an object store that does not answer, ObjectsUnreachable is raised and nothing
        is deleted yet; but it is noted, and done as soon as the object store answers.
        """
        corrector, wanted = self._corrector(scope), arguments.cube_id(cube_id)
        try:
            corrector.delete(wanted)
        except ObjectsUnreachable as error:
            corrector.postpone(wanted)
            raise ObjectsUnreachable(f"{error}. It will be deleted when it does: that is noted") from error
        finally:
            self._housekeeping.queued(self._scope_of(scope))
        self._sources.follow_erasure(self._scope_of(scope).owner)

    def add_fact(
        self,
        text: str,
        *,
        subject: Subject = Subject.USER,
        at: datetime | str | None = None,
        origin: Origin = Origin.USER_INPUT,
        scope: Scope | None = None,
    ) -> None:
        """State a fact about the user or the agent; stating it twice changes nothing."""
        owner = self._scope_of(scope)
        now = self._clock()
        said_at = now if at is None else parse_moment("at", at, now=now)
        checked = checked_text("text", text, limit=min(self.settings.max_text_chars, VALUE_CHARS))
        about, origin = arguments.one_of("subject", subject, Subject), arguments.one_of("origin", origin, Origin)
        vector = self._embedder.embed([checked])[0]
        self._learn(owner, stated_fact(checked, vector, subject=about, at=said_at, origin=origin))

    def set_profile(
        self,
        field: str,
        value: str,
        *,
        subject: Subject = Subject.USER,
        origin: Origin = Origin.USER_INPUT,
        scope: Scope | None = None,
    ) -> None:
        """State a static field of a persona, such as the user's name or, with Subject.AGENT, the agent's role."""
        about, origin = arguments.one_of("subject", subject, Subject), arguments.one_of("origin", origin, Origin)
        lesson = stated_field(field, value, subject=about, at=self._clock(), origin=origin)
        self._learn(self._scope_of(scope), lesson)

    def publish(
        self, facts: Sequence[str], *, source: str, subject: Subject = Subject.USER, scope: Scope | None = None
    ) -> list[Proposal]:
        """Let a trusted source say what holds: what is new is learned, what contradicts is proposed.

        Returns the changes that wait for an answer; nothing that is known changes before `accept`.
        """
        owner, about = self._scope_of(scope), arguments.one_of("subject", subject, Subject)
        limit = min(self.settings.max_text_chars, VALUE_CHARS)
        texts = [checked_text("facts", text, limit=limit) for text in arguments.sequence("facts", facts, str)]
        lessons = published(self._promoter, texts, checked_text("source", source, limit=256), about)
        home = self._home(owner, about)
        verdicts = self._promoter.verdicts(home, lessons)
        with self._vault.write(home) as writer:
            self._promoter.learn(writer, home, lessons, verdicts=verdicts)
            return proposals(writer)

    def proposals(self, *, scope: Scope | None = None) -> list[Proposal]:
        """The changes that wait for an answer, oldest first."""
        found: list[Proposal] = []
        for home in self._homes(self._scope_of(scope)):
            with self._vault.read(home) as reader:
                found += proposals(reader)
        return found

    def accept(self, proposal_id: str, *, scope: Scope | None = None) -> MemCube:
        """Make a change that was proposed; what gives way stays readable. Raises NotFound."""
        _, home = self._corrector(scope).find(arguments.cube_id(proposal_id))
        with self._vault.write(home) as writer:
            return accept(writer, home, self._promoter, proposal_id)

    def reject(self, proposal_id: str, *, scope: Scope | None = None) -> MemCube:
        """Keep what is known; the same is not proposed again. Raises NotFound."""
        _, home = self._corrector(scope).find(arguments.cube_id(proposal_id))
        with self._vault.write(home) as writer:
            return reject(writer, proposal_id)

    def consolidate(self, *, scope: Scope | None = None) -> None:
        """Extract every unread page into LPM now, those of STM and of cold segments too, and wait for it."""
        self._responder.wait()
        self._housekeeping.promote_all(self._scope_of(scope))

    def repair(self, *, scope: Scope | None = None) -> RepairReport:
        """Move pages that lie in the wrong segment, split mixed segments and merge twins, now."""
        owner = self._caught_up(scope)
        report = self._repairer.repair(owner)
        self._housekeeping.queued(owner)
        return report

    def undo_repair(self, *sequences: int, scope: Scope | None = None) -> RepairReport:
        """Put pages back where they lay before these events of a repair; no repair moves them again.

        Raises NotFound for an event that is none of a repair, InvalidInput when a page has moved since.
        """
        owner = self._caught_up(scope)
        wanted = [arguments.natural("sequences", one, least=-arguments.HIGHEST) for one in sequences]
        report = self._repairer.undo(owner, wanted)
        self._housekeeping.queued(owner)
        return report

    def rebuild(self, *, progress: ingest.Progress | None = None, scope: Scope | None = None) -> None:
        """Derive everything again from the raw pages, and wait for it: after an update of the rules, or to repair.

        It gives the segments, facts, traits and profile that the same pages would give if all of them came in now,
        one after the other; what LPM had read before it reads again, hot or not. Kept are the pages with their
        visits, and what was stated, imported or corrected by the user. A fact that was deleted comes back when a page
        still says it: delete the page. Derived memories get new ids and start without visits. Searches and writes go
        on; what was inferred is missing for a while. A rebuild that was cut off goes on where it was. `progress` is
        told pages of all pages; extraction comes after the last.
        """
        owner = self._scope_of(scope)
        arguments.callback("progress", progress)
        self._responder.wait()
        self._housekeeping.rebuild(owner, progress)

    # Reading

    def search(
        self,
        query: str,
        *,
        strategy: Strategy | str = Strategy.HYBRID,
        pages: int | None = None,
        archive: bool | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        as_of: datetime | str | None = None,
        tags: Sequence[str] = (),
        tiers: Sequence[Tier | str] = (),
        kinds: Sequence[Kind | str] = (),
        session: str | None = None,
        cold: bool = False,
        mounts: Sequence[str] | None = None,
        weights: Weights | None = None,
        explain: bool = False,
        tokens: int | None = None,
        scope: Scope | None = None,
    ) -> Recall:
        """What the three tiers hold for a question, without what has expired.

        Filters come before the ranking, so there are `pages` pages while that many match; when left out, it is the
        setting `recall_pages`, and with `two_stage` what the scope's own scores call for (see `stats`). `tiers` and
        `kinds` (page, fact, trait, profile, segment) say where to look and what for: everywhere and for
        everything but segments, when left out. `archive` alone says whether evicted memory is searched,
        too; when left out, it is, but not by `two_stage`, for the paper forgets what it evicts. A memory
        must have all the `tags` and be of the `session`, or rest on a page that does and is. `since` and
        `until` bound when the turns that are ranked were said (both included). `as_of` asks the memory as
        it was at that moment, without what was said or held later; "last week" in the question is the week
        before it (before now, when left out). `explain` fills the `parts` of each hit. `weights` says what
        each part of a hybrid score counts, to see what it is worth. `cold` finds pages in the object store, too, and
        raises ObjectsUnreachable or StoreCorrupt when it cannot read them. `mounts` names the mounted memories to look
        into, too: all that serve this scope when left out, and then one that does not answer is named in `missing`.
        With `tokens`, fewer pages do, once their turns can fill that many with plenty to spare.
        """
        owner, text = self._scope_of(scope), checked_text("query", query, limit=QUERY_CHARS)
        chosen = arguments.one_of("strategy", strategy, Strategy)
        search = Search(
            chosen,
            None if pages is None else arguments.positive("pages", pages, pages),
            Filters(
                self._clock(),
                arguments.tiers(tiers, archive, default=chosen is not Strategy.TWO_STAGE),
                arguments.kinds(kinds),
                frozenset(arguments.tags(tags)),
                arguments.session(session),
                *arguments.period(since, until),
                arguments.moment("as_of", as_of),
                cold,
            ),
            arguments.weights(weights),
            self._reranker,
            explain,
            None if tokens is None else arguments.positive("tokens", tokens, tokens),
        )
        if chosen is Strategy.TWO_STAGE and search.filters.as_of:
            raise InvalidInput("as_of", "two_stage cannot look back", "Use hybrid")
        return self._found(owner, text, search, self._beside(owner, mounts))

    def tagged(
        self,
        *tags: str,
        limit: int = 100,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        kinds: Sequence[Kind | str] = (),
        mounts: Sequence[str] | None = None,
        scope: Scope | None = None,
    ) -> list[Hit]:
        """What carries all of these tags, here and in mounted memories, the latest first, so many at most.

        Pages, and what was derived from them; of mounts, pages and facts. `kinds` and `mounts` are as in `search`, but
        for segments. A mount that does not answer is left out, unless it was named. Raises InvalidInput when no tag is
        named.
        """
        owner, labels = self._scope_of(scope), arguments.tags(tags)
        if not labels:
            raise InvalidInput("tags", "is empty", "Name at least one tag")
        wanted_kinds = arguments.kinds(kinds)
        if Kind.SEGMENT in wanted_kinds:
            raise InvalidInput("kinds", "segments carry no tags", "Ask for pages, and `segments()` for the topics")
        most = arguments.positive("limit", limit, limit)
        start, end = arguments.period(since, until)
        filters = Filters(self._clock(), kinds=wanted_kinds, tags=frozenset(labels), since=start, until=end)
        self._responder.wait()
        with self._housekeeping.call():
            wanted = Wanted(None, Search(Strategy.HYBRID, most, filters), most, most)
            return self._beside(owner, mounts).latest(owner, wanted)

    def context(
        self,
        query: str,
        *,
        tokens: int | None = None,
        strategy: Strategy | str = Strategy.HYBRID,
        archive: bool | None = None,
        exclude: Sequence[str] = (),
        scope: Scope | None = None,
        **only: Unpack[arguments.Only],
    ) -> Context:
        """What is worth telling a model about a question, as text of at most `tokens` tokens.

        What the caller has already, such as the running dialogue, is left out when `exclude` names it, by the ids of
        memories or by ids in the source data. The filters of `search` hold here, too: `since`, `until`, `as_of`,
        `tags`, `tiers`, `kinds`, `session`. When nothing bears on the question (a confidence below the setting
        `abstain_below`), the text says so, `found` is False, and nothing else is told.
        """
        budget = arguments.positive("tokens", tokens, self.settings.context_tokens)
        left_out = frozenset(arguments.ids("exclude", exclude))
        pages = self._pages(budget) + len(left_out)
        recalled = self.search(
            query, strategy=strategy, pages=pages, archive=archive, tokens=budget, scope=scope, **only
        )
        today = arguments.moment("as_of", only.get("as_of")) or self._clock()
        start, end = arguments.period(only.get("since"), only.get("until"))
        most = self.settings.most_pages
        return pack(
            recalled,
            budget,
            count_tokens,
            today=today,
            exclude=left_out,
            covers=Filters(today, since=start, until=end).covers,
            pages=most,
            abstain_below=self.settings.abstain_below,
        )

    def digest(
        self,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        *,
        tokens: int | None = None,
        query: str | None = None,
        scope: Scope | None = None,
    ) -> Digest:
        """What was said from `since` to `until` (all of it, when left out), in at most `tokens` tokens.

        The whole stretch is covered at any budget of 32 tokens or more: with a line for each year or month when there
        is little room, with every turn in full when there is enough. Detail goes first to what is recent and in use,
        or, with a `query`, to what a search for it finds. The ids of a line say where to read more.
        """
        owner = self._scope_of(scope)
        budget = arguments.positive("tokens", tokens, self.settings.context_tokens)
        text = None if query is None else checked_text("query", query, limit=QUERY_CHARS)
        start, end = arguments.period(since, until)
        self._responder.wait()
        with self._housekeeping.call():
            now = self._clock()
            asked = None if text is None else analysed(text, self._questions.vector, now)
            filters = Filters(now, since=start, until=end, cold=True)
            with self._sources.of(owner) as source:
                return digest(source, filters, budget, count_tokens, self.settings, asked)

    def respond(self, query: str, *, role: str = DEFAULT_ROLE, scope: Scope | None = None) -> Answer:
        """Answer with the chat model and the memory; the turn is stored once the answer is out.

        Raises ModelNotConfigured without a model, ModelError when it fails; then nothing is stored.
        """
        owner = self._scope_of(scope)
        return self._responder.answer(query, role, owner)

    def respond_stream(self, query: str, *, role: str = DEFAULT_ROLE, scope: Scope | None = None) -> AnswerStream:
        """Like `respond`, in pieces; the turn is stored when the last piece has been taken."""
        owner = self._scope_of(scope)
        return self._responder.stream(query, role, owner)

    def get(self, cube_id: str, *, scope: Scope | None = None) -> MemCube:
        """A memory by its id; one in the object store is brought back. Raises NotFound."""
        cube, home = self._corrector(scope).find(arguments.cube_id(cube_id))
        if cube.tier is Tier.ARCHIVE and self._vault.packs.are_kept:
            with self._vault.read(home) as reader:
                is_cold = bool(reader.cold([cube.id]))
            if is_cold:
                self._visited(home, [cube.id], at_once=True)
        return cube

    def history(self, cube_id: str, *, scope: Scope | None = None) -> list[MemCube]:
        """The versions of a memory, oldest first, the present one last. Raises NotFound.

        A fact begins with those whose place it took, one after the other.
        """
        cube, home = self._corrector(scope).find(arguments.cube_id(cube_id))
        with self._vault.read(home) as reader:
            return [*predecessors(reader, cube), *reader.history(cube_id), cube]

    def profile(self, *, scope: Scope | None = None) -> Profile:
        """What LPM holds about the user and about the agent."""
        owner = self._scope_of(scope)
        home = persona_scope(owner, self.settings)
        with self._vault.read(owner) as reader, self._vault.read(home) as persona:
            return overview.profile(reader, persona)

    def pages(self, *, tier: Tier | None = None, scope: Scope | None = None) -> list[MemCube]:
        """The dialogue pages of a tier (all when none is named), oldest first."""
        with self._settled(scope) as reader:
            return reader.cubes(Kind.PAGE, tiers=[arguments.one_of("tier", tier, Tier)] if tier is not None else [])

    def segments(self, *, archive: bool = False, scope: Scope | None = None) -> list[SegmentView]:
        """The segments with their heat at this moment, hottest first."""
        with self._settled(scope) as reader:
            return overview.segments(reader, self.settings, self._clock(), archive=archive)

    def events(self, *, after: int = 0, limit: int = 1000, scope: Scope | None = None) -> list[Event]:
        """The log of changes, oldest first."""
        first, most = arguments.natural("after", after), arguments.natural("limit", limit)
        with self._settled(scope) as reader:
            return reader.events(after=first, limit=most)

    def jobs(self, *states: JobState, scope: Scope | None = None) -> list[Job]:
        """Background work in these states, oldest first."""
        wanted = [arguments.one_of("states", state, JobState) for state in states]
        with self._settled(scope) as reader:
            return reader.jobs(*wanted)

    def retry_jobs(self, *job_ids: str, scope: Scope | None = None) -> int:
        """Try dead jobs again, all of them when none is named; returns how many. Raises NotFound for any other id."""
        owner, wanted = self._scope_of(scope), [arguments.cube_id(one, field="job_ids") for one in job_ids]
        with self._vault.write(owner) as writer:
            dead = {job.id for job in writer.jobs(JobState.DEAD)}
            if unknown := set(wanted) - dead:
                raise NotFound(f"there is no dead job {min(unknown)!r} in this scope")
            tried = writer.retry(wanted or sorted(dead))
        self._housekeeping.queued(owner)
        return tried

    def index(self, *, scope: Scope | None = None) -> bool:
        """Move a scope's turns from memory to the store's candidate index, as is done by itself when they are many.

        Returns whether there is one; a file has none unless the settings name it.
        """
        owner = self._scope_of(scope).owner
        self._check_open()
        return self._sources.move_out(owner)

    def cool(self, *, after_days: float | None = None, progress: ingest.Progress | None = None) -> Cooled:
        """Move the store's archived pages that nobody visited for so long into the object store, of all tenants.

        It is done by itself, too, where `cold_after_days` is set, which is also what `after_days` is when left out.
        Packs out of use are removed. `progress` is told owners. Raises InvalidInput, ObjectsUnreachable.
        """
        days = self.settings.cold_after_days if after_days is None else after_days
        if days is None or not self._vault.packs.are_kept:
            field = "after_days" if self._vault.packs.are_kept else "object_store"
            raise InvalidInput(field, "is not set", "Set MEMORYOS_OBJECT_STORE and MEMORYOS_COLD_AFTER_DAYS")
        arguments.duration("after_days", days, most=arguments.LONGEST_DAYS)
        arguments.callback("progress", progress)
        done, owners = Cooled(), self._vault.archiving()
        for number, owner in enumerate(owners, 1):
            done += self._cooler.cool(owner, days)
            done += Cooled(removed=self._cooler.sweep(owner))
            if progress:
                progress(number, len(owners))
        return done

    def run_jobs(self, *, scope: Scope | None = None) -> None:
        """Do what waits in a scope, also what a process that ended left behind, and return when it is done."""
        owner = self._scope_of(scope)
        self._check_open()
        self._housekeeping.check_writable()
        self._housekeeping.queued(owner)
        self.wait()

    def work(self, stop: threading.Event, *, threads: int = 1, poll_seconds: float | None = 5.0) -> int:
        """Do the jobs of every scope of the store until `stop` is set, then finish those that run; returns how many.

        Several processes may do so at once: each scope is worked on by one at a time. A new job wakes it; for those
        that come due by themselves it looks every `poll_seconds`. Without them it ends when nothing is due.
        """
        arguments.instance("stop", stop, threading.Event, "Pass threading.Event()")
        at_once = arguments.natural("threads", threads, least=1, most=MOST_THREADS)
        if poll_seconds is not None:
            arguments.duration("poll_seconds", poll_seconds, most=LONGEST_WAIT)
        self._check_open()
        return Worker(self._vault, self._housekeeping).run(stop, threads=at_once, poll_seconds=poll_seconds)

    def stats(self, *, scope: Scope | None = None) -> Stats:
        """How much there is in each tier, what waits, and the values the scope is run by, each with its reason."""
        home = persona_scope(self._scope_of(scope), self.settings)
        with self._settled(scope) as reader, self._vault.read(home) as persona:
            readers = [reader] if home == self._scope_of(scope).owner else [reader, persona]
            facts = sum(map(tally_of, readers), Tally())
            return overview.stats(reader, persona, self._embedder.name, facts, self.settings)

    def usage(self, *, since: date | None = None, scope: Scope | None = None) -> list[Spending]:
        """What model calls for this scope took, by day (UTC), purpose and model."""
        with self._vault.read(self._scope_of(scope)) as reader:
            return reader.spending(since=arguments.day("since", since))

    def scopes(self, *, tenant: str = "default") -> list[Scope]:
        """Every scope of a tenant that holds a memory."""
        return self._vault.owners(checked_text("tenant", tenant, limit=256))

    # Mounts

    @property
    def mounts(self) -> list[Mount]:
        """What is mounted, in the order it was."""
        return self._mounted.mounts

    def mount(self, mount: Mount, *, later: bool = False) -> None:
        """Let searches look into another memory, too, as far as it serves who searches (`Mount.serves`).

        Its store must have our embedder. It is never written, not even its visits, unless it is mounted writable.
        Raises InvalidInput for a name that is taken or a place that is none, StorageError when it cannot be used.
        With `later`, as for mounts of the settings, it is opened when it is first asked, and missing until it can be.
        """
        arguments.instance("mount", mount, Mount, "Pass memoryos.Mount(...)")
        self._mounted.check(mount)
        adapter = Patient(mount.name, lambda: self._adapter(mount), self.settings.mount_timeout_seconds)
        if not later:
            adapter.open()
        with ExitStack() as undo:
            undo.callback(adapter.close)
            self._mounted.add(mount, adapter)
            undo.pop_all()

    def unmount(self, name: str) -> None:
        """Look no more into a mounted memory, and release it. Raises InvalidInput when nothing has that name."""
        self._mounted.remove(checked_text("name", name, limit=ID_LIMIT))

    # Life

    def wait(self) -> None:
        """Return when the work behind earlier calls is done: answers stored, hot segments extracted."""
        self._check_open()
        self._responder.wait()
        self._housekeeping.wait()
        self._mounted.sync()

    def close(self) -> None:
        """Finish the work behind earlier calls and release the store. Calling it twice is harmless."""
        self._is_closed = True
        with ExitStack() as steps:  # each step runs, whatever became of those before it
            steps.callback(self._hand.stop)
            steps.callback(self._vault.close)
            steps.callback(self._housekeeping.close)
            steps.callback(self._sources.close)
            steps.callback(self._mounted.close)
            for connection in self._connections:
                steps.callback(connection.close)
            steps.callback(self._responder.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:  # an interrupted import must not take minutes to end; nothing is lost
            self._housekeeping.abandon()
        if not self._hand.is_forked:  # a child of a fork has nothing of it to close
            self.close()

    # Parts of the above

    def _scope_of(self, scope: Scope | None) -> Scope:
        return arguments.scope(self._scope if scope is None else scope)

    def _check_open(self) -> None:
        if self._is_closed:
            raise StorageError("the memory is closed; open it again")

    def _learn(self, owner: Scope, lesson: Lesson) -> None:
        home = self._home(owner, lesson.payload.subject)
        with self._vault.write(home) as writer:
            self._promoter.learn(writer, home, [lesson])

    def _home(self, owner: Scope, subject: Subject) -> Scope:
        """Where the persona of that subject lives."""
        return persona_scope(owner, self.settings) if subject is Subject.USER else owner.owner

    def _homes(self, owner: Scope) -> list[Scope]:
        return list(dict.fromkeys(self._home(owner, subject) for subject in Subject))

    def _corrector(self, scope: Scope | None) -> Corrector:
        owner = self._scope_of(scope)
        self._responder.wait()
        self._housekeeping.catch_up(owner)
        return Corrector(self._promoter, owner)

    def _caught_up(self, scope: Scope | None) -> Scope:
        """The owner, each page of whom is where it belongs."""
        owner = self._scope_of(scope).owner
        self._responder.wait()
        self._housekeeping.catch_up(owner)
        return owner

    @contextmanager
    def _settled(self, scope: Scope | None) -> Iterator[Reader]:
        """The owner's memory, each page where it belongs."""
        with self._vault.read(self._caught_up(scope)) as reader:
            yield reader

    def _beside(self, owner: Scope, names: Sequence[str] | None) -> Beside:
        """The own memory with the mounts that the caller looks into."""
        named = None if names is None else arguments.sequence("mounts", names, str)
        adapters = self._mounted.for_search(owner, named)
        return Beside(self._searcher, adapters, self._lexicon, is_named=named is not None)

    def _mount_later(self, mounts: Iterable[Mount]) -> None:
        with ExitStack() as undo:
            undo.callback(self.close)
            for one in mounts:
                self.mount(one, later=True)
            undo.pop_all()

    def _adapter(self, mount: Mount) -> MemoryAdapter:
        opener = adapter_for(mount.place)
        if opener is not None:
            return opener(mount, self._embedder, self.settings)
        if mount.scope is None:
            raise InvalidInput("mount.scope", "is missing", "Name whose memory it is: scope=Scope(user=...)")
        if mount.place is None:
            return StoreAdapter(self._searcher, mount.scope, self.add_many)
        other = type(self).open(
            mount.place,
            settings=self.settings.model_copy(update={"mounts": ()}),
            embedder=self._embedder,
            chat=self._chat,
            clock=self._clock,
            read_only=not mount.writable,
        )
        return StoreAdapter(other._searcher, mount.scope, other.add_many, other.wait, other.close)

    def _found(self, owner: Scope, text: str, search: Search, beside: Beside) -> Recall:
        self._responder.wait()  # what was answered a moment ago is part of the memory
        if search.filters.tiers != set(Tier) or search.strategy is Strategy.TWO_STAGE:
            self._housekeeping.catch_up(owner)  # the answer depends on where the pages lie
        with self._housekeeping.call():
            asked = analysed(text, self._questions.vector, search.filters.as_of or self._clock())
            recalled = beside.recall(owner, asked, search)
            self._visited(owner, overview.visited(recalled), at_once=search.filters.cold)  # what was cold comes back
        return recalled

    def _visited(self, owner: Scope, ids: Iterable[str], *, at_once: bool) -> None:
        """Count visits, which are written when there are many; or soon."""
        self._housekeeping.visited(owner, ids, self._clock())
        if at_once:
            self._housekeeping.queued(owner)

    def _pages(self, budget: int) -> int:
        """How many pages to ask for, so that short turns can fill that many tokens; STM may be told elsewhere."""
        if most := self.settings.most_pages:
            return most + self.settings.short_term_capacity
        return max(self.settings.recall_pages, budget // SHORT_TURN)

    def _made_responder(self) -> Responder:
        known = self.settings
        bounds = Bounds(known.prompt_tokens, known.context_tokens, known.most_pages, known.abstain_below)
        streams = Streams(known.llm_concurrency)
        return Responder(self._model, self._purse, streams, self._filling, self._remember, bounds, self._clock)

    def _model(self) -> ChatModel:
        if self._chat is None:
            self._chat = self._connected(quoting=True)
        return self._chat

    def _model_reader(self, schema: PersonaSchema) -> ModelReader | None:
        """What reads pages in the background, when that is a model."""
        if self.settings.extractor is ExtractorKind.RULES:
            return None
        # What goes wrong there is kept with a job: it must not quote what a user said.
        chat = self._chat or self._connected(quoting=False)
        return ModelReader(chat, self._purse, schema, f"model:{self.settings.llm_model or 'custom'}")

    def _connected(self, *, quoting: bool) -> OpenAIChat:
        chat = OpenAIChat(self.settings, quoting=quoting, json_mode=not quoting and self.settings.llm_json_mode)
        self._connections.append(chat)
        return chat

    def _filling(self, query: str, tokens: int, owner: Scope) -> Recall:
        return self.search(query, pages=self._pages(tokens), tokens=tokens, scope=owner)

    def _remember(self, query: str, answer: str, owner: Scope) -> None:
        self.add(query, answer, scope=owner)
