"""Memory: one owner's memory, seen by one caller; one short method per operation, like a table of system calls.

Many of them share one store and its threads. `AsyncMemory` (`async_memory.py`) is the same, awaited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self, Unpack, cast, overload

from memoryos import arguments
from memoryos.about import AboutArguments
from memoryos.adding import Adding
from memoryos.caller import Action, Caller
from memoryos.config import Settings
from memoryos.cube import Attachment, MemCube, Turn
from memoryos.engine import Engine, left
from memoryos.errors import InvalidInput, ObjectsUnreachable
from memoryos.filter import Filter
from memoryos.kinds import Kind, Origin, Role, Tier
from memoryos.models.chat import Answer
from memoryos.models.tokenizer import count_tokens
from memoryos.nouns.facts import Facts
from memoryos.nouns.jobs import Jobs
from memoryos.nouns.log import Log
from memoryos.nouns.mounts import Mounts
from memoryos.nouns.pages import Pages
from memoryos.nouns.profiles import Profiles
from memoryos.nouns.proposals import Proposals
from memoryos.nouns.segments import Segments
from memoryos.nouns.upkeep import Upkeep
from memoryos.operation.answer.answer_stream import AnswerStream
from memoryos.operation.answer.respond import DEFAULT_ROLE
from memoryos.operation.calls.door import door
from memoryos.operation.calls.hand import Hand
from memoryos.operation.consolidation.promotion import persona_scope
from memoryos.operation.correction.forget import Forgotten
from memoryos.operation.intake.messages import Messages, is_messages
from memoryos.operation.knowledge.tally import Tally, tally_of
from memoryos.operation.portability.export import Exported, Exporter
from memoryos.operation.portability.export_file import Target, write_lines
from memoryos.operation.recall import overview
from memoryos.operation.recall.context import Context, pack
from memoryos.operation.recall.digest import Digest, digest
from memoryos.operation.recall.filters import Filters
from memoryos.operation.recall.fusion import Weights
from memoryos.operation.recall.hit import Hit, Recall, Strategy
from memoryos.operation.recall.moment import predecessors
from memoryos.operation.recall.overview import Stats
from memoryos.operation.recall.search import Search
from memoryos.progress import Progress
from memoryos.scope import Scope
from memoryos.text import checked_text


@door
class Memory:
    """What one owner's agent remembers: layered, durable, searchable, with or without a chat model."""

    def __init__(
        self, engine: Engine, scope: Scope, caller: Caller, release: Callable[[float | None], None] | None = None
    ) -> None:
        """Get one from `MemoryOS.memory` or `memoryos.open`; `release` is what closing it does."""
        self._engine = arguments.instance("engine", engine, Engine, "Call memoryos.open(...)")
        self._scope = arguments.scope(scope)
        self._caller = arguments.instance("caller", caller, Caller, "Pass Caller(...)")
        self._release = release

    @property
    def scope(self) -> Scope:
        """Whose memory it is."""
        return self._scope

    @property
    def caller(self) -> Caller:
        """In whose name it is used."""
        return self._caller

    @property
    def settings(self) -> Settings:
        """What the store was opened with."""
        return self._engine.settings

    @property
    def facts(self) -> Facts:
        """What was stated about the user and the agent, or learned."""
        return Facts(self._engine, self._scope, self._caller)

    @property
    def profile(self) -> Profiles:
        """The user and the agent as LPM knows them."""
        return Profiles(self._engine, self._scope, self._caller)

    @property
    def pages(self) -> Pages:
        """The dialogue, page by page."""
        return Pages(self._engine, self._scope, self._caller)

    @property
    def segments(self) -> Segments:
        """The topics of MTM and of the archive."""
        return Segments(self._engine, self._scope, self._caller)

    @property
    def proposals(self) -> Proposals:
        """Changes of facts that wait for an answer."""
        return Proposals(self._engine, self._scope, self._caller)

    @property
    def jobs(self) -> Jobs:
        """The work behind the calls."""
        return Jobs(self._engine, self._scope, self._caller)

    @property
    def log(self) -> Log:
        """What changed, and what models took."""
        return Log(self._engine, self._scope, self._caller)

    @property
    def upkeep(self) -> Upkeep:
        """Repair and rebuild."""
        return Upkeep(self._engine, self._scope, self._caller)

    @property
    def mounts(self) -> Mounts:
        """The memories that searches look into beside this one; they are mounted for the whole store."""
        return Mounts(self._engine, self._caller)

    def of(self, scope: Scope) -> Memory:
        """Another owner's memory in the same store; to close it closes nothing."""
        return Memory(self._engine, arguments.scope(scope), self._caller)

    @overload
    def add(
        self,
        query: str | None = None,
        response: str | None = None,
        *,
        at: datetime | str | None = None,
        attachments: Sequence[Attachment] = (),
        idempotency_key: str | None = None,
        mount: str | None = None,
        **said_of_it: Unpack[AboutArguments],
    ) -> str: ...

    @overload
    def add(
        self,
        query: Messages,
        response: None = None,
        *,
        at: datetime | str | None = None,
        attachments: Sequence[Attachment] = (),
        idempotency_key: str | None = None,
        mount: str | None = None,
        **said_of_it: Unpack[AboutArguments],
    ) -> list[str]: ...

    def add(
        self,
        query: str | Messages | None = None,
        response: str | None = None,
        *,
        at: datetime | str | None = None,
        attachments: Sequence[Attachment] = (),
        idempotency_key: str | None = None,
        mount: str | None = None,
        **said_of_it: Unpack[AboutArguments],
    ) -> str | list[str]:
        """Remember one exchange, or half of one, and return the id of its page; or messages, and return their ids.

        Messages are as chat APIs pass them: dicts or objects with `role` and `content`, which may have parts, images
        and tool calls; `at`, `name` and `source_id` of each are kept. `at` is when it was said (now, when left out);
        attachments belong to the query, or to the response when there is no query. Durable when it returns.
        `tags`, `metadata`, `ttl` or `expires_at`, `title` and `source` say more of it (see memoryos.AboutArguments).
        `idempotency_key` and `mount` are as in `add_many`. Raises InvalidInput, which names the message and the field.
        """
        adding = Adding(self._engine, self._scope, said_of_it, idempotency_key, mount)
        if query is not None and is_messages(query):
            return adding.messages(query, response, attachments, at)
        return adding.exchange(cast("str | None", query), response, attachments, at)

    def add_many(
        self,
        turns: Iterable[Turn],
        *,
        origin: Origin = Origin.USER_INPUT,
        progress: Progress | None = None,
        idempotency_key: str | None = None,
        mount: str | None = None,
        **said_of_it: Unpack[AboutArguments],
    ) -> list[str]:
        """Remember a dialogue in the order given, all of it or nothing; returns the ids of its pages.

        What follows (chains, segments, facts) is done beside the caller; `wait` returns when it is. With the
        `idempotency_key` of an earlier call of this owner nothing is added, and that call's ids return, also of pages
        that were corrected or deleted since; InvalidInput when it had said something else. Raises OutcomeUnknown when
        the server went away in the commit and nobody can tell: a call with the same key is safe. With a `mount` it is
        remembered there and not here; StoreReadOnly when that is mounted to be read.
        """
        return Adding(self._engine, self._scope, said_of_it, idempotency_key, mount).dialogue(turns, origin, progress)

    def update(self, cube_id: str, text: str, *, role: Role = Role.USER) -> MemCube:
        """Correct a memory; its old words stay in the history. For a page, `role` names the turn."""
        checked = checked_text("text", text, limit=self.settings.max_text_chars)
        chosen = arguments.one_of("role", role, Role)
        revised = self._engine.corrector(self._scope).revise(arguments.cube_id(cube_id), checked, role=chosen)
        self._engine.housekeeping.queued(self._scope)
        self._engine.sources.follow_erasure(self._scope.owner)
        return revised

    def delete(self, cube_id: str) -> None:
        """Remove a memory and what was derived from it alone; a segment goes with its pages.

        When that takes documents from an object store that does not answer, ObjectsUnreachable is raised and nothing
        is deleted yet; but it is noted, and done as soon as the object store answers.
        """
        corrector, wanted = self._engine.corrector(self._scope), arguments.cube_id(cube_id)
        try:
            corrector.delete(wanted)
        except ObjectsUnreachable as error:
            corrector.postpone(wanted)
            raise ObjectsUnreachable(f"{error}. It will be deleted when it does: that is noted") from error
        finally:
            self._engine.housekeeping.queued(self._scope)
        self._engine.sources.follow_erasure(self._scope.owner)

    def forget(self) -> Forgotten:
        """Remove everything of this owner: memories with all their versions, jobs, counts; or of this session.

        Returns what went, and in `left` what was found afterwards: nothing. What other agents of the user know, too,
        stays; `MemoryOS.admin.forget` removes a user of all agents.
        """
        return self._engine.forget(self._scope)

    def export(self, target: Target) -> Exported:
        """Write everything of this owner as JSON Lines, to a new file or to a stream; `MemoryOS.admin.load` reads it.

        Raises InvalidInput when the file is there already.
        """
        exporter = Exporter(self._engine.vault, [self._scope.owner], self._engine.clock())
        write_lines(arguments.target(target), exporter.lines())
        return exporter.exported

    def consolidate(self) -> None:
        """Extract every unread page into LPM now, those of STM and of cold segments too, and wait for it."""
        self._engine.admit(Action.WRITE, self._scope)
        self._engine.responder.wait()
        self._engine.housekeeping.promote_all(self._scope)

    def search(
        self,
        query: str,
        *,
        strategy: Strategy | str = Strategy.HYBRID,
        pages: int | None = None,
        facts: int | None = None,
        archive: bool | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        as_of: datetime | str | None = None,
        tags: Sequence[str] = (),
        filters: Mapping[str, Any] | None = None,
        tiers: Sequence[Tier | str] = (),
        kinds: Sequence[Kind | str] = (),
        session: str | None = None,
        cold: bool = False,
        mounts: Sequence[str] | None = None,
        weights: Weights | None = None,
        min_score: float = 0.0,
        explain: bool = False,
        tokens: int | None = None,
    ) -> Recall:
        """What the three tiers hold for a question, without what has expired.

        Filters come before the ranking. At most `pages` pages, and `facts` facts about the user and the agent each, are
        found; the defaults are the settings `recall_pages` and `recall_facts` (`two_stage`: as many pages as `stats`
        says). `tiers` and `kinds` (page, fact, trait, profile, segment) say where to look and what for: by default
        everywhere, for all but segments. `archive`: whether evicted memory is searched, by default not with
        `two_stage`. A memory must have the `tags`, pass the `filters` (tags, any_tags, no_tags: lists; metadata: a dict
        of equal values) and be of the `session`, or rest on a page that does and is. `since` and `until` bound when the
        ranked turns were said. `as_of` searches the memory as it was then. A time without a zone is in
        `Settings.time_zone`; a day is all of it. `explain` fills the `parts` of each hit; `weights` says what each
        counts. `cold` searches the object store, too, or raises ObjectsUnreachable or StoreCorrupt. `mounts` names the
        mounts to search; by default all of this scope; `missing` names those that do not answer. With `tokens`, fewer
        pages are found if those fill it. Hits whose `relevance` (0 to 1) is below `min_score` are left out.
        """
        text, chosen = arguments.question(query), arguments.strategy(strategy, as_of)
        search = Search(
            chosen,
            arguments.optional("pages", pages, least=1),
            Filters(
                self._engine.clock(),
                arguments.tiers(tiers, archive, default=chosen is not Strategy.TWO_STAGE),
                arguments.kinds(kinds),
                Filter.of(filters, tags=arguments.tags(tags)),
                arguments.session(session),
                *arguments.period(since, until),
                arguments.last_moment("as_of", as_of),
                cold,
            ),
            arguments.weights(weights),
            self._engine.recaller.reranker,
            explain,
            arguments.share("min_score", min_score),
            arguments.optional("tokens", tokens, least=1),
            arguments.optional("facts", facts),
        )
        self._engine.responder.wait()  # what was answered a moment ago is part of the memory
        return self._engine.recaller.recall(self._scope, text, search, arguments.mounts(mounts))

    def tagged(
        self,
        *tags: str,
        limit: int = 100,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        kinds: Sequence[Kind | str] = (),
        mounts: Sequence[str] | None = None,
    ) -> list[Hit]:
        """What carries all of these tags, here and in mounted memories, the latest first, so many at most.

        Pages, and what was derived from them; of mounts, pages and facts. `kinds` and `mounts` are as in `search`, but
        for segments. A mount that does not answer is left out, unless it was named. Raises InvalidInput when no tag is
        named.
        """
        labels = arguments.tags(tags)
        if not labels:
            raise InvalidInput("tags", "is empty", "Name at least one tag")
        wanted_kinds = arguments.kinds(kinds)
        if Kind.SEGMENT in wanted_kinds:
            raise InvalidInput("kinds", "segments carry no tags", "Ask for pages, and `segments.list()` for the topics")
        most = arguments.positive("limit", limit, limit)
        start, end = arguments.period(since, until)
        filters = Filters(
            self._engine.clock(), kinds=wanted_kinds, labels=Filter.of(None, tags=labels), since=start, until=end
        )
        self._engine.responder.wait()
        return self._engine.recaller.latest(self._scope, filters, most, arguments.mounts(mounts))

    def context(
        self,
        query: str,
        *,
        tokens: int | None = None,
        strategy: Strategy | str = Strategy.HYBRID,
        archive: bool | None = None,
        exclude: Sequence[str] = (),
        **only: Unpack[arguments.Only],
    ) -> Context:
        """What is worth telling a model about a question, as text of at most `tokens` tokens.

        What the caller has already, such as the running dialogue, is left out when `exclude` names it, by the ids of
        memories or by ids in the source data. The filters of `search` hold here, too: `since`, `until`, `as_of`,
        `tags`, `filters`, `tiers`, `kinds`, `session`. When nothing bears on the question (a confidence below the
        setting `abstain_below`), the text says so, `found` is False, and nothing else is told.
        """
        budget = arguments.positive("tokens", tokens, self.settings.context_tokens)
        left_out = frozenset(arguments.ids("exclude", exclude))
        pages = self._engine.recaller.pages(budget) + len(left_out)
        recalled = self.search(query, strategy=strategy, pages=pages, archive=archive, tokens=budget, **only)
        today = arguments.last_moment("as_of", only.get("as_of")) or self._engine.clock()
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
    ) -> Digest:
        """What was said from `since` to `until` (all of it, when left out), in at most `tokens` tokens.

        The whole stretch is covered at any budget of 32 tokens or more: with a line for each year or month when there
        is little room, with every turn in full when there is enough. Detail goes first to what is recent and in use,
        or, with a `query`, to what a search for it finds. The ids of a line say where to read more.
        """
        budget = arguments.positive("tokens", tokens, self.settings.context_tokens)
        text = None if query is None else arguments.question(query)
        start, end = arguments.period(since, until)
        self._engine.responder.wait()
        with self._engine.housekeeping.call():
            filters = Filters(self._engine.clock(), since=start, until=end, cold=True)
            asked = None if text is None else self._engine.recaller.asked(text, filters)
            with self._engine.sources.of(self._scope) as source:
                return digest(source, filters, budget, count_tokens, self.settings, asked)

    def respond(self, query: str, *, role: str = DEFAULT_ROLE) -> Answer:
        """Answer with the chat model and the memory; the turn is stored once the answer is out.

        Raises ModelNotConfigured without a model, ModelError when it fails; then nothing is stored.
        """
        return self._engine.responder.answer(query, role, self._scope)

    def respond_stream(self, query: str, *, role: str = DEFAULT_ROLE) -> AnswerStream:
        """Like `respond`, in pieces; the turn is stored when the last piece has been taken."""
        return self._engine.responder.stream(query, role, self._scope)

    def get(self, cube_id: str) -> MemCube:
        """A memory by its id; one in the object store is brought back. Raises NotFound."""
        cube, home = self._engine.corrector(self._scope).find(arguments.cube_id(cube_id))
        if cube.tier is Tier.ARCHIVE and self._engine.vault.packs.are_kept:
            with self._engine.vault.read(home) as reader:
                is_cold = bool(reader.cold([cube.id]))
            if is_cold:
                self._engine.recaller.visited(home, [cube.id], at_once=True)
        return cube

    def history(self, cube_id: str) -> list[MemCube]:
        """The versions of a memory, oldest first, the present one last. Raises NotFound.

        A fact begins with those whose place it took, one after the other.
        """
        cube, home = self._engine.corrector(self._scope).find(arguments.cube_id(cube_id))
        with self._engine.vault.read(home) as reader:
            return [*predecessors(reader, cube), *reader.history(cube_id), cube]

    def stats(self) -> Stats:
        """How much there is in each tier, what waits, and the values the scope is run by, each with its reason."""
        home = persona_scope(self._scope, self.settings)
        with self._engine.settled(self._scope) as reader, self._engine.vault.read(home) as persona:
            readers = [reader] if home == self._scope.owner else [reader, persona]
            facts = sum(map(tally_of, readers), Tally())
            known, embedder = self._engine.job_types.handlers, self._engine.embedder.name
            now = self._engine.clock()
            return overview.stats(reader, persona, embedder, facts, self.settings, now, known)

    # Life

    def wait(self, timeout: float | None = None) -> None:
        """Return when the work behind earlier calls is done: answers stored, hot segments extracted.

        After `timeout` seconds it raises StillRunning, which says how much is left; that goes on.
        """
        self._engine.wait(timeout)

    def close(self, timeout: float | None = None) -> None:
        """Finish the work behind earlier calls and release the store, if `memoryos.open` opened it for this memory.

        With a `timeout` as `MemoryOS.close`.
        """
        if self._release:
            self._release(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._release:
            left(self._engine, kind, self.close)

    # Parts of the above

    @property
    def _hand(self) -> Hand:
        return self._engine.hand
