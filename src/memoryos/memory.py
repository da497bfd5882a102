"""Memory: one owner's memory, used by one caller. Each operation is one short method, like a table of system calls.

Many `Memory` objects share one store and its threads. `AsyncMemory` (`async_memory.py`) has the same methods as
coroutines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from types import TracebackType
from typing import Any, Self, Unpack, cast, overload

from memoryos import arguments, expected
from memoryos.about import NOTHING, AboutArguments, about
from memoryos.adding import Adding
from memoryos.caller import Action, Caller, doing
from memoryos.closing import left
from memoryos.cube import Attachment, MemCube, Turn
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, ObjectsUnreachable
from memoryos.filter import Filter
from memoryos.kinds import Kind, Origin, Role, Tier, Trust, UpdateMode
from memoryos.listing import Listing
from memoryos.models.chat import Answer
from memoryos.models.tokenizer import count_tokens
from memoryos.nouns.looking_back import looked_back, searched_then
from memoryos.nouns.memory_parts import MemoryParts
from memoryos.nouns.pipeline_answer import PipelineAnswer
from memoryos.operation.answer.answer_stream import AnswerStream
from memoryos.operation.answer.respond import DEFAULT_ROLE
from memoryos.operation.calls.door import door
from memoryos.operation.calls.hand import Hand
from memoryos.operation.consolidation.promotion import persona_scope
from memoryos.operation.correction.brancher import Brancher
from memoryos.operation.correction.builds import builds
from memoryos.operation.correction.copies import Copies
from memoryos.operation.correction.forget import Forgotten
from memoryos.operation.correction.kept_versions import unended
from memoryos.operation.correction.revised import NewWords, SameWords
from memoryos.operation.hierarchy.told_topics import quotes_expired, told_topic
from memoryos.operation.intake.messages import Messages, is_messages
from memoryos.operation.knowledge.tally import Tally, tally_of
from memoryos.operation.portability.export import Exported
from memoryos.operation.portability.export_file import ExportTarget, write_lines
from memoryos.operation.recall import overview
from memoryos.operation.recall.context import Context
from memoryos.operation.recall.digest import Digest, digest
from memoryos.operation.recall.filters import Filters
from memoryos.operation.recall.fusion import Weights
from memoryos.operation.recall.hit import Hit, Recall, Strategy
from memoryos.operation.recall.moment import predecessors
from memoryos.operation.recall.overview import Stats
from memoryos.operation.recall.search import Search
from memoryos.packing import Packing
from memoryos.progress import Progress
from memoryos.scope import Scope


@door
class Memory(MemoryParts):
    """The memory of one user's agent: layered, durable and searchable, with or without a chat model."""

    def __init__(
        self,
        engine: Engine,
        scope: Scope | None = None,
        caller: Caller | None = None,
        release: Callable[[float | None], None] | None = None,
    ) -> None:
        """Call `MemoryOS.memory` or `memoryos.open` instead; `close` calls `release`."""
        self._engine = expected.instance("engine", engine, Engine, "Call memoryos.open(...)")
        self._scope = expected.scope(scope)  # None only in a call that is refused, with words that help
        self._caller = expected.instance("caller", caller, Caller, "Pass Caller(...)")
        self._release = release

    def __repr__(self) -> str:
        plain = asdict(Scope(user=self._scope.user))
        others = {name: part for name, part in asdict(self._scope).items() if part != plain[name]}
        told = {"user": self._scope.user, "agent": self._scope.agent, **others, "store": self._engine.vault.name}
        return f"Memory({', '.join(f'{name}={part!r}' for name, part in told.items())})"

    def of(self, scope: Scope) -> Memory:
        """Return another owner's memory in the same store. Closing it does not close the store."""
        return Memory(self._engine, expected.scope(scope), self._caller)

    def branch(self, name: str) -> Memory:
        """Return a branch that `branches.create` made: what is stored or changed there stays there. Raises NotFound."""
        branch = self.branches.named(name)
        return Memory(self._engine, replace(branch.scope(self._scope), session=self._scope.session), self._caller)

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
        """Store one exchange, or one side of it, and return the id of its page; for messages, return a list of ids.

        Messages have the form of chat APIs: dicts or objects with `role` and `content`. The content may have parts and
        images, and a message may have tool calls; `at`, `name` and `source_id` of each message are kept. System and
        developer messages are not stored. Of a chat that goes on from the latest messages of the session, only the new
        messages are stored, unless there is an `idempotency_key` or a `mount`. `at` is the time of the exchange
        (default: now). Attachments belong to the query, or to the response when there is no query.
        A page with a `title` or a `source` is a document: it is searched, and not read for facts about anybody.
        The page is on disk when `add` returns. For `tags`, `metadata`, `ttl`, `expires_at`, `title` and `source` see
        `memoryos.AboutArguments`; for `idempotency_key` and `mount` see `add_many`. Raises InvalidInput, which names
        the message and the field.
        """
        adding = Adding(self._engine, self._scope, said_of_it, idempotency_key, mount)
        if not isinstance(query, str | None) and is_messages(query):
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
        """Store a dialogue in the given order, all of it or nothing, and return the ids of its pages.

        The work that follows (topic segments, facts) runs in the background; `wait` returns when it is done. If an
        earlier call of this owner had the same `idempotency_key`, nothing is added and the ids of that call are
        returned, even if its pages were corrected or deleted since. Raises InvalidInput if that call stored a different
        dialogue. Raises OutcomeUnknown if the server disconnects during the commit and the outcome cannot be found out;
        repeating the call with the same key is safe. With `mount`, the dialogue is stored in that mounted memory
        instead; raises StoreReadOnly if the mount is read-only.
        """
        return Adding(self._engine, self._scope, said_of_it, idempotency_key, mount).dialogue(turns, origin, progress)

    def update(
        self,
        cube_id: str,
        text: str | None = None,
        *,
        role: Role = Role.USER,
        mode: UpdateMode | str = UpdateMode.OVERWRITE,
        expected_version: int | None = None,
        at: datetime | str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        reason: str = "",
    ) -> MemCube:
        """Correct a memory. Its earlier versions stay in the history.

        Of a page, the last turn with `role` gets the new text, of a segment its summary; with the mode "append", behind
        its words on a new line. With "merge", a page (a summary, the reason of a trait) gets the lines that it does not
        have, apart from case, spaces and punctuation. A fact or profile field gets the new value unless the old one was
        said later than `at` (default: now); other words for the same fact become one of its `wordings`. What adds
        nothing makes no version, and neither does the whole `text` of another memory than a fact as `get` returns it.
        `tags` and `metadata` join those of the memory; without a `text` nothing else changes. If the stored version is
        not `expected_version`, this raises StaleVersion, and nothing is changed. `reason` is kept with the event.
        """
        how = arguments.one_of("mode", mode, UpdateMode)
        labels = about(self._engine.clock(), tags=tags, metadata=metadata)
        expected, said = arguments.optional("expected_version", expected_version, least=1), arguments.said_at(at, how)
        whose = arguments.one_of("role", role, Role)
        if text is None and labels == NOTHING:
            raise InvalidInput("text", "is missing, and so are tags and metadata", "Pass one of them")
        words = SameWords(expected) if text is None else NewWords(text, whose, how, expected, said)
        wanted = arguments.cube_id(cube_id)
        return self._engine.revise(
            self._scope, wanted, *self._engine.reworded(self._scope, wanted, words, labels, reason)
        )

    def delete(self, cube_id: str) -> None:
        """Remove a memory and everything derived from it alone. Deleting a segment deletes its pages.

        If documents must be removed from an object store that does not answer, this raises ObjectsUnreachable. Nothing
        is deleted then, but the deletion is recorded and completed as soon as the object store answers.
        """
        corrector, wanted = self._engine.corrector(self._scope), arguments.cube_id(cube_id)
        copies = Copies(Brancher.of(self._engine.promoter, self._engine.forgetter, self._scope))
        try:
            doing(Action.DELETE, lambda: copies.removed([wanted], lambda: corrector.delete(wanted)))
        except ObjectsUnreachable as error:
            self._engine.housekeeping.queued(corrector.postpone(wanted))
            raise ObjectsUnreachable(f"{error}. The deletion is recorded and follows once it answers") from error
        finally:
            self._engine.housekeeping.queued(self._scope)
        self._engine.sources.follow_erasure(self._scope.owner)

    def forget(self) -> Forgotten:
        """Remove everything of this owner, or of this session: memories with all their versions, jobs and counts.

        Returns counts of what was removed, of what a check found afterwards (`left`, empty), and a signed `receipt`.
        `MemoryOS.admin.forget` removes what other agents know, too. Raises CubeProtected if one is frozen or on hold.
        """
        return doing(Action.DELETE, lambda: self._engine.forget(self._scope))

    def export(self, target: ExportTarget) -> Exported:
        """Write everything of this owner as JSON Lines to a new file (InvalidInput if it exists) or a stream."""
        self._engine.admit(Action.READ, self._scope)  # before the first line, which is signed
        exporter = self._engine.exporter([self._scope.owner])
        write_lines(arguments.target(target), exporter.lines())
        return exporter.exported

    def consolidate(self, timeout: float | None = None) -> None:
        """Extract all unread pages into LPM now, also from STM and cold segments, and wait until it is done.

        Raises StillRunning after `timeout` seconds; the work goes on.
        """
        self._engine.admit(Action.WRITE, self._scope)
        self._engine.finish(lambda until: self._engine.housekeeping.promote_all(self._scope, until), timeout)

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
        min_trust: Trust | str | None = None,
        explain: bool = False,
        tokens: int | None = None,
    ) -> Recall:
        """Find the pages, facts and other memories that bear on a question.

        Filters apply before the ranking, so a filter does not shorten the result. Expired memories are never found.

        - `pages`: how many pages to return (default: the setting `recall_pages`; `two_stage` uses a number tuned to
          this owner, see `stats`). `facts`: how many facts about the user and the agent each (`recall_facts`).
        - `tiers`, `kinds` (page, fact, trait, profile, segment): where to search, and for what. Defaults: everywhere,
          and everything but segments.
        - `archive`: whether to search evicted memories. Default: yes, except with `two_stage`, because the paper
          forgets them.
        - `tags`: the memory must have all of them. `filters`: a dict with the lists `tags`, `any_tags` and `no_tags`,
          and `metadata`, a dict of equal values, or lists of alternatives. `session`: the memory must belong to this
          session. A derived memory also passes if it rests on a page that passes.
        - `since`, `until`: when it was said, both included; of a fact, trait or profile field, at least once. A time
          without a zone is in `Settings.time_zone`; a day counts whole.
        - `as_of`: a moment finds what had been said by then, in its present words; `"stored:2026-05-01"`, or the name
          of a snapshot, what the store held then, in the words it had. "Last week" is then the week before it.
        - `cold`: also search pages in the object store.
        - `mounts`: names of the mounts to search. Default: all that serve this owner; one that does not answer is then
          listed in `missing`.
        - `tokens`: return fewer than `pages` pages if they fill this many tokens.
        - `min_score`: leave out hits whose `relevance` (0 to 1) is lower. `ranked` in the result lists the hits of all
          kinds.
        - `min_trust` (stated, inferred, imported, outside): leave out what has less trust. Default: the setting.
        - `explain`: fill the `parts` of each hit. `weights`: how much each part counts.

        Raises InvalidInput, and with `cold` ObjectsUnreachable or StoreCorrupt.
        """
        text, chosen = self._engine.question(query, self._scope), arguments.one_of("strategy", strategy, Strategy)
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
                *searched_then(self._engine, self._scope, as_of),
                arguments.flag("cold", cold),
            ),
            arguments.weights(weights),
            self._engine.recaller.reranker,
            arguments.flag("explain", explain),
            arguments.share("min_score", min_score),
            arguments.optional("tokens", tokens, least=1),
            arguments.optional("facts", facts),
            arguments.trust("min_trust", min_trust, self.settings.min_trust),
        )
        self._engine.responder.wait()  # what was answered a moment ago is part of the memory
        return self._engine.recaller.recall(self._scope, text, search, arguments.mounts(mounts))

    def tagged(
        self,
        *tags: str,
        limit: int = 100,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        as_of: datetime | str | None = None,
        kinds: Sequence[Kind | str] = (),
        mounts: Sequence[str] | None = None,
    ) -> Listing[Hit]:
        """Return the memories that carry all of these tags, here and in mounted memories, latest first.

        The result holds pages and what was derived from them; from mounts, pages and facts. `kinds` and `mounts` work
        as in `search`, but segments have no tags. A mount that does not answer is left out unless `mounts` names it.
        `as_of` (a moment, or the name of a snapshot) returns what there was then. Raises InvalidInput if there is no
        tag.
        """
        labels = arguments.tags(tags)
        if not labels:
            raise InvalidInput("tags", "is empty", "Name at least one tag")
        wanted_kinds = arguments.kinds(kinds)
        if Kind.SEGMENT in wanted_kinds:
            raise InvalidInput("kinds", "segments have no tags", "Ask for pages, and `segments.list()` for the topics")
        most = arguments.positive("limit", limit, limit)
        start, end = arguments.period(since, until)
        then, snapshot = searched_then(self._engine, self._scope, as_of)
        filters = Filters(
            self._engine.clock(),
            kinds=wanted_kinds,
            labels=Filter.of(None, tags=labels),
            since=start,
            until=end,
            as_of=then,
            snapshot=snapshot,
        )
        self._engine.responder.wait()
        return Listing(self._engine.recaller.latest(self._scope, filters, most, arguments.mounts(mounts)))

    def context(
        self,
        query: str,
        *,
        tokens: int | None = None,
        strategy: Strategy | str = Strategy.HYBRID,
        archive: bool | None = None,
        exclude: Sequence[str] = (),
        dialogue: Messages = (),
        **only: Unpack[arguments.Only],
    ) -> Context:
        """Pack what bears on a question into a text of at most `tokens` tokens, for a prompt.

        `exclude` leaves out what the prompt already has: ids of memories, or ids in the source data. What was derived
        from nothing else goes with it; a fact that it replaced is told with its end. `dialogue` does the same for the
        messages of the running dialogue: turns with the same words are left out. The
        filters of `search` apply: `since`, `until`, `as_of`, `tags`, `filters`, `tiers`, `kinds`, `session`,
        `min_trust`. When nothing bears on the question (the confidence is below the setting `abstain_below`), the text
        only says so and `found` is False. If no line of what was found fits, the text is empty and `fits` is False.
        """
        packing = Packing.of(self._engine, self._scope, tokens, exclude, dialogue)
        pages, budget = packing.pages, packing.budget
        recalled = self.search(query, strategy=strategy, pages=pages, archive=archive, tokens=budget, **only)
        return packing.packed(recalled, only)

    def digest(
        self,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        *,
        tokens: int | None = None,
        query: str | None = None,
        as_of: datetime | str | None = None,
    ) -> Digest:
        """Summarise what was said from `since` to `until` (default: everything) in at most `tokens` tokens.

        Any budget of 32 tokens or more covers the whole period: a small one with a line per year or month, a large one
        with every turn in full. Recent and often used memories get more detail, or, with a `query`, what a search for
        it finds. Each line has the ids of its pages. `as_of` (a moment, or the name of a snapshot) summarises what
        there was then.
        """
        budget = arguments.positive("tokens", tokens, self.settings.context_tokens)
        text = None if query is None else self._engine.question(query, self._scope)
        start, end = arguments.period(since, until)
        then, snapshot = searched_then(self._engine, self._scope, as_of)
        self._engine.responder.wait()
        with self._engine.housekeeping.call():
            filters = Filters(self._engine.clock(), since=start, until=end, as_of=then, snapshot=snapshot, cold=True)
            asked = None if text is None else self._engine.recaller.asked(text, filters)
            with self._engine.sources.then(self._scope, filters) as source:
                return digest(source, filters, budget, count_tokens, self.settings, asked, self._engine.view())

    def respond(self, query: str, *, role: str = DEFAULT_ROLE) -> Answer:
        """Answer a query with the chat model and the memory, and store the exchange: run the pipeline `respond`.

        Raises ModelNotConfigured without a model and ModelError if the model fails; then nothing is stored. A `respond`
        of the folder of the setting `pipelines` may raise InvalidInput, and NotFound if it finds too little.
        """
        return PipelineAnswer.to(query, role, self._engine, self._scope).whole()

    def respond_stream(self, query: str, *, role: str = DEFAULT_ROLE) -> AnswerStream:
        """Like `respond`, but yield the answer in pieces; the exchange is stored after the last piece.

        The whole `answer`, with its mark, is an attribute of the stream after the last piece.
        """
        return PipelineAnswer.to(query, role, self._engine, self._scope).streamed()

    def get(self, cube_id: str, *, as_of: datetime | str | None = None) -> MemCube:
        """Return a memory by its id, also from the object store. Raises NotFound, also if it has expired.

        With `as_of` (a moment, or the name of a snapshot), as it was then; NotFound if it was not there yet.
        """
        checked = arguments.cube_id(cube_id)
        then = looked_back(self._engine, self._scope, as_of)
        found = self._engine.fetched(self._scope, checked)
        if then is None:
            return found
        with self._engine.vault.view(found.scope) as reader:
            return found if quotes_expired(reader, found) else then.one(reader, found)

    def history(self, cube_id: str, *, as_of: datetime | str | None = None) -> Listing[MemCube]:
        """Return the versions of a memory, oldest first, the current one last. Raises NotFound, as `get` does.

        The history of a fact begins with the facts that it replaced, that of an adapter or a KV state with the earlier
        ones that stand. With `as_of` (a moment, or the name of a
        snapshot), only the versions that were stored by then.
        """
        then = looked_back(self._engine, self._scope, as_of)
        cube, home = self._engine.corrector(self._scope).find(arguments.cube_id(cube_id))
        now = self._engine.clock()
        with self._engine.vault.view(home) as reader:
            earlier = unended(predecessors(reader, cube), now)
            if quotes_expired(reader, cube):
                return Listing([told_topic(reader, cube)])
            versions = [*earlier, *reader.history(cube_id), *unended(builds(reader, cube), now)]
            return Listing(then.versions(reader, versions) if then else versions)

    def stats(self) -> Stats:
        """Return the sizes of the tiers, the waiting work, and the tuned values of this owner, each with its reason."""
        home = persona_scope(self._scope, self.settings)
        with self._engine.settled(self._scope) as reader, self._engine.vault.view(home) as persona:
            readers = [reader] if home == self._scope.owner else [reader, persona]
            facts = sum(map(tally_of, readers), Tally())
            known, embedder = self._engine.job_types.handlers, self._engine.embedder.name
            return overview.stats(reader, persona, embedder, facts, self.settings, self._engine.clock(), known)

    # Life

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the background work of earlier calls is done: answers are stored and hot segments extracted.

        It does not wait for jobs that are not due yet, such as merging (`merge_duplicates`), nor with the setting
        `jobs=worker` for those that workers do (`memoryos jobs run`). Raises StillRunning with counts after `timeout`
        seconds (work goes on), StoreReadOnly if work is due but not allowed.
        """
        self._engine.wait(timeout)

    def close(self, timeout: float | None = None) -> None:
        """Finish the background work. Close the store, too, if `memoryos.open` opened it (see `MemoryOS.close`)."""
        if self._release:
            self._release(timeout)

    def __enter__(self) -> Self:
        self._engine.hand.check_process()
        self._engine.hand.check_open()
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
