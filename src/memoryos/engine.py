"""Engine: the parts of an open store, which every Memory of it shares."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from memoryos import arguments
from memoryos.about import NOTHING, About, about_of
from memoryos.caller import Action, ChangingGate, Gate, OpenGate, Views, current
from memoryos.clock import Clock, checked_clock, system_clock
from memoryos.config import ExtractorKind, MergePolicy, Settings, load_settings
from memoryos.cube import MemCube
from memoryos.errors import StillRunning
from memoryos.infrastructure.candidates.port import CandidateIndex
from memoryos.infrastructure.vault.audit_part import AuditPart
from memoryos.infrastructure.vault.contract import Reader, Vault
from memoryos.kinds import Kind, Subject, Tier
from memoryos.models.chat import ChatModel, OpenAIChat
from memoryos.models.chosen_chat import ConnectedChat, chat_of
from memoryos.models.embedder import Embedder, load_embedder
from memoryos.models.limits import Limits
from memoryos.models.local.local_chat import LocalChat
from memoryos.models.local.opened_model import OpenedModel
from memoryos.models.remembered import WORDS, Remembered
from memoryos.models.reranker import Reranker
from memoryos.operation.activation.activator import Activator
from memoryos.operation.activation.state_keeper import StateKeeper
from memoryos.operation.activation.state_meanings import StateMeanings
from memoryos.operation.activation.transformer import Transformer
from memoryos.operation.answer.answer_marker import marking
from memoryos.operation.answer.answering_model import AnsweringModel
from memoryos.operation.answer.exchange_labels import inherited
from memoryos.operation.answer.respond import Bounds, Prompt
from memoryos.operation.answer.responder import Responder
from memoryos.operation.answer.streams import Streams
from memoryos.operation.calls.audit_trail import AuditedGate, AuditTrail
from memoryos.operation.calls.hand import Hand
from memoryos.operation.calls.keyed_gate import GrantedGate, KeyedGate, key_check
from memoryos.operation.calls.permission import changeable, check_all, check_new
from memoryos.operation.consolidation.extractor import RuleExtractor
from memoryos.operation.consolidation.model_reader import ModelReader
from memoryos.operation.consolidation.persona import PersonaSchema
from memoryos.operation.consolidation.promotion import Promoter, persona_scope
from memoryos.operation.correction.brancher import Brancher
from memoryos.operation.correction.copies import Copies
from memoryos.operation.correction.correct import Corrector
from memoryos.operation.correction.forget import Forgetter, Forgotten
from memoryos.operation.correction.own_jobs import own_jobs
from memoryos.operation.correction.receipt import EXPORTED, Receipt
from memoryos.operation.correction.revised import NewWords, NextVersion, SameWords
from memoryos.operation.hierarchy.protected import protection_of
from memoryos.operation.hierarchy.told_topics import told_topic
from memoryos.operation.index.follower import Follower
from memoryos.operation.index.keeper import Keeper
from memoryos.operation.index.residency import Residency
from memoryos.operation.index.resident import Resident
from memoryos.operation.intake.page_writer import Intake
from memoryos.operation.knowledge.lesson import Lesson
from memoryos.operation.knowledge.stated import told_in
from memoryos.operation.maintenance.cooler import Cooler
from memoryos.operation.maintenance.erasure_watch import ErasureWatch
from memoryos.operation.maintenance.housekeeping import Housekeeping
from memoryos.operation.maintenance.rebuild import Rebuilder
from memoryos.operation.maintenance.repairer import Repairer
from memoryos.operation.mounts.mounted import Mounted
from memoryos.operation.mounts.recaller import Recaller
from memoryos.operation.mounts.replacements import Replacements
from memoryos.operation.placement.placement_policy import POLICIES
from memoryos.operation.portability.export import Exporter
from memoryos.operation.recall.searcher import Searcher
from memoryos.operation.recall.shown import Shown, ShownResult
from memoryos.operation.recall.sources import Sources
from memoryos.operation.scheduler.background_model import BackgroundModel
from memoryos.operation.scheduler.ending import Ending
from memoryos.operation.scheduler.job_kinds import JobType, JobTypes
from memoryos.operation.scheduler.job_runner import JobRunner
from memoryos.operation.scheduler.spending import ModelAccount
from memoryos.operation.training.adapted_answers import AdaptedModel, OwnAdapters
from memoryos.operation.training.recollections import Recollections
from memoryos.operation.training.training_job import training_jobs
from memoryos.privacy.protection import OwnerProtection
from memoryos.privacy.sensitive import PrivacyAction
from memoryos.retention import VersionLimit
from memoryos.scope import Scope
from memoryos.text import checked_text

RELEASE_SECONDS = 5.0  # that a store with nothing left to do may take to close, whatever the timeout
LEXICON = "static"  # the embedder whose words tell which are close in meaning


class Engine:
    """The parts that do the work of one store: intake, recall, learning, answers and housekeeping."""

    def __init__(
        self,
        vault: Vault,
        embedder: Embedder,
        *,
        settings: Settings | None = None,
        chat: ChatModel | None = None,
        reranker: Reranker | None = None,
        clock: Clock = system_clock,
        candidates: CandidateIndex | None = None,
        gate: Gate | None = None,
    ) -> None:
        """Create the parts. Without a `gate`, everybody may do everything. Raises InvalidInput for a wrong part."""
        self.clock = checked_clock(clock)
        arguments.part("embedder", embedder)
        arguments.parts(settings=settings, chat=chat, reranker=reranker, gate=gate)
        self.settings = settings or load_settings()
        gate = OpenGate() if gate is None else gate  # one that is empty is a gate, too
        self.policies = vault.views = gate if isinstance(gate, Views) else None  # they decide about mounts, too
        if self.policies is not None:
            self.policies.rights = vault.roles.rights
        elif not isinstance(gate, OpenGate):
            gate = GrantedGate(gate, vault.roles)
        self.trail = AuditTrail(vault.audit, self.clock) if self.settings.audit else None
        keyed = KeyedGate(gate, vault, self.clock)
        vault.gate = AuditedGate(keyed, self.trail) if self.trail else keyed
        vault.audits = self.trail.keep if self.trail else None
        if self.trail and isinstance(gate, ChangingGate):
            self.trail.policies_found(gate.observe(self.trail.policies_changed))
        vault.merges = self.settings.merge_duplicates is not MergePolicy.OFF
        vault.version_limit = VersionLimit.of(self.settings.most_versions, self.settings.version_days)
        self.hand = Hand("calls", self.settings.zone)
        self.after_close = ExitStack()
        self.vault, self.embedder, self.chat = vault, embedder, chat
        self._connections: list[ConnectedChat] = [chat] if isinstance(chat, OpenAIChat | LocalChat) else []
        self._ending: Ending | None = None
        self.mounted = Mounted()
        self.protection = protection_of(self.settings, self.settings.privacy_on_write)
        self._export_protection = protection_of(self.settings, self.settings.privacy_on_export)
        self._shown = self._made_shown()
        self._find_with(candidates)
        self._learn_with(PersonaSchema.named(self.settings.persona_schema))
        self.recaller = Recaller(
            self.searcher,
            self.mounted,
            self.lexicon,
            Remembered(embedder),
            self.housekeeping,
            self.settings,
            self.clock,
            reranker,
        )
        most_bytes = self.settings.max_attachment_bytes
        self.intake = Intake(vault, embedder, self.housekeeping, self.clock, most_bytes, self.protection)
        self.replacements = Replacements(self.recaller, self.view)
        self._answer_with()

    def _find_with(self, candidates: CandidateIndex | None) -> None:
        """Create what searches use: indexes in memory, which follow the store."""
        lexicon, recent = load_embedder(LEXICON), self.settings.short_term_capacity
        self.lexicon = Remembered(lexicon, WORDS)
        follower = Follower(candidates) if candidates else None
        self.residency = Residency(
            self.settings.resident_mb * 1_000_000,
            lambda: Resident(self.embedder.dim, lexicon, recent),
            follower,
            Keeper(self.vault, self.embedder, lexicon),
        )
        self.sources = Sources(self.vault, self.embedder, self.residency, follower)
        self.searcher, self.watch = Searcher(self.sources, self.settings), ErasureWatch(self.vault, self.residency)

    def _learn_with(self, schema: PersonaSchema) -> None:
        """Create what runs after a write: facts, repair, deletion, cold storage."""
        limits = Limits(self.settings.llm_concurrency, self.settings.llm_requests_per_minute)
        self.account, given = ModelAccount(self.vault, self.settings, self.clock, limits), self.chat
        # What goes wrong there is kept with a job: it must not quote what a user said.
        background = BackgroundModel(self.account, lambda: given or self._connected(quoting=False))
        reader, rules = self._model_reader(schema, background), RuleExtractor(schema)
        self.promoter = Promoter(
            self.vault, self.embedder, rules, self.settings, self.clock, reader, protection=self.protection
        )
        self.repairer = Repairer(self.vault, self.residency, self.settings, self.clock)
        self.job_types, self.local = JobTypes(), OpenedModel(self.settings)
        self.job_types.register(*own_jobs(self.promoter, self.repairer, self.sources, self._brancher))
        self.adapters = OwnAdapters(self.vault, self.clock, self.local, self.home)
        shown, asks = self.hand.shown, background.asks
        self.job_types.register(*training_jobs(self.vault, self.clock, self.local, shown, asks))
        self.vault.known_jobs = self.job_types.handlers.keys()
        runner = JobRunner(self.vault, self.job_types.handlers, self.clock)
        self.cooler = Cooler(self.vault, self.settings, self.clock)
        self.housekeeping = Housekeeping(runner, Rebuilder(self.promoter), self.residency, self.cooler, self.settings)

    def _answer_with(self) -> None:
        """Create what asks the chat model for answers."""
        self.answering = AnsweringModel.of(self._model, self.vault, self.settings)
        self.responder = self._made_responder()
        parts = self.answering, self.account, self.hand.shown, self.settings.local_state_mb * 1_000_000
        meanings = StateMeanings.of(POLICIES.get(self.settings.placement), self.recaller.questions, self.vault)
        keeper = partial(StateKeeper.of, self.settings, self.vault, self.clock, self.housekeeping.later)
        visited = partial(self.recaller.visited, at_once=False)
        self.activator = Activator(self.vault, self.clock, self._model, *parts, keeper, visited, meanings)
        self.vault.on_erased = lambda: self.activator.forget((*self._connections, self.local))
        told = lambda text, place: self.said("text", text, place)  # noqa: E731
        recollections = Recollections(self.adapters, self.embedder, told, self.hand.shown)
        self.transformer = Transformer(self.vault, self.clock, self.activator, recollections)
        self.job_types.register(*self.transformer.jobs(needs_model=self.settings.is_local))

    # For the verbs

    def admit(self, action: Action, scope: Scope | None = None) -> None:
        """Ask the gate about work without a vault session of its own. Raises PermissionDenied."""
        self.vault.admit(action, scope)

    def admit_all(self, action: Action, scope: Scope) -> None:
        """Ask the same for every memory of the scope: for what changes or shows all of it. Raises PermissionDenied."""
        self.admit(action, scope)
        check_all(self.vault, scope, action)

    def audit(self) -> AuditPart:
        """The audit log, after what waits for it was written."""
        if self.trail:
            self.trail.flush()
        return self.vault.audit

    def caught_up(self, owner: Scope) -> Scope:
        """Move the owner's pages to their segments, and return the owner."""
        self.responder.wait()
        self.housekeeping.catch_up(owner)
        return owner.owner

    @contextmanager
    def settled(self, owner: Scope) -> Iterator[Reader]:
        """Read what the caller may read of the owner's memory, after its pages were moved to their segments."""
        with self.vault.view(self.caught_up(owner)) as reader:
            yield reader

    def corrector(self, owner: Scope) -> Corrector:
        """The object that updates and deletes memories of the owner."""
        self.caught_up(owner)
        return Corrector(self.promoter, owner)

    def home(self, owner: Scope, subject: Subject = Subject.USER) -> Scope:
        """The scope that holds the persona of this subject."""
        return persona_scope(owner, self.settings) if subject is Subject.USER else owner.owner

    def forget(self, scope: Scope) -> Forgotten:
        """Remove everything of an owner, or of the session of the scope, and sign a receipt.

        Raises PermissionDenied.
        """
        return self.with_receipt(scope.to_dict(), lambda: self.forget_unsigned(scope))

    def erase(self, scope: Scope, memory_id: str) -> Forgotten:
        """Remove a memory, and sign a receipt."""
        subject = {**scope.owner.to_dict(), "memory": memory_id}
        self.caught_up(scope)
        copies, note = Copies(self._brancher(scope)), self.vault.erasure.note_forgotten
        try:
            return self.with_receipt(subject, lambda: copies.erased(memory_id, note))
        finally:
            self.housekeeping.queued(scope)

    def with_receipt(self, subject: Mapping[str, Any], remove: Callable[[], Forgotten]) -> Forgotten:
        """Remove something, and sign a receipt about that subject; without a key, nothing is removed."""
        key = self.vault.erasure.make_signing_key()
        done = remove()
        copies = self.vault.erasure.note_forgotten(subject)
        receipt = Receipt(
            {name: subject.get(name) for name in ("tenant", "user", "agent", "session", "memory")},
            self.clock(),
            current().identity,
            done.memories,
            done.places,
            done.left,
            copies,
            tuple(mount.name for mount in self.mounted.mounts),
            (*self.vault.unerased, EXPORTED),
        )
        return replace(done, receipt=receipt.signed(key))

    def forget_unsigned(self, scope: Scope) -> Forgotten:
        """Remove everything of an owner, or of the session of the scope. Raises PermissionDenied."""
        self.admit_all(Action.DELETE, scope)
        corrector, copies = self.corrector(scope), Copies(self._brancher(scope))
        if scope.session is not None:
            return copies.without_session(lambda: self.forgetter.session(scope, corrector), scope.session)
        self.housekeeping.unvisited(scope.owner)
        self.forgetter.refuse_frozen(scope.owner)
        return copies.forgotten(lambda: self.forgetter.owner(scope.owner, corrector))

    @property
    def forgetter(self) -> Forgetter:
        """The object that removes owners and sessions."""
        return Forgetter(self.vault, self.sources, self.cooler)

    def privacy(self, owner: Scope) -> OwnerProtection:
        """What is done with personal data and secrets that this user says."""
        return self.protection.for_owner(owner)

    def said(self, field: str, text: str, owner: Scope, *, limit: int | None = None) -> str:
        """Check a text that is to be stored, and return it as it may be. Raises InvalidInput, PrivacyRefused."""
        checked = checked_text(field, text, limit=limit or self.settings.max_text_chars)
        return self.privacy(owner).text(field, checked)

    def question(self, query: str, owner: Scope) -> str:
        """Check a question, and return it in the words that memories have. Raises InvalidInput."""
        return self.privacy(owner).question(arguments.question(query))

    def reworded(
        self, owner: Scope, cube_id: str, words: NewWords | SameWords, labels: About, reason: str
    ) -> tuple[NewWords | SameWords, About, str | None]:
        """The new words of a memory, more labels and the detail of the event, as they may be stored.

        The `reason` may be empty. Raises InvalidInput, PrivacyRefused and PermissionDenied.
        """

        def checked(told: str) -> str:
            return self.said("text", told, owner)

        privacy, tags = self.privacy(owner), tuple[str, ...]()
        if isinstance(words, NewWords):
            tags, words = privacy.tags(words.text), replace(words, text=checked(words.text), checked=checked)
        if labels != NOTHING:
            labels = privacy.value("", labels).tagged(privacy.tags(labels))
            cube, home = self.corrector(owner).find(cube_id, Action.WRITE)
            check_new(self.vault, home, cube.kind, about_of(labels.add_to(cube, is_told=True)).labels)
        why = self.said("reason", reason, owner, limit=arguments.REASON_CHARS) if reason != "" else ""
        detail = json.dumps({"reason": why}, ensure_ascii=False) if why else None
        return words, labels.tagged(tags), detail

    def revise(
        self, owner: Scope, cube_id: str, change: NextVersion, labels: About, detail: str | None = None
    ) -> MemCube:
        """Give a memory other words, which may be stored. Raises what `Corrector.revise` raises."""
        corrector = self.corrector(owner)
        revised = corrector.revise(cube_id, change, labels=labels, detail=detail)
        self.housekeeping.queued(owner)
        self.sources.follow_erasure(owner.owner)
        return corrector.told(revised)

    def fetched(self, owner: Scope, cube_id: str) -> MemCube:
        """Return a memory, also from the object store; its document then comes back. Raises NotFound."""
        cube, home = self.corrector(owner).find(cube_id)
        if cube.kind is Kind.SEGMENT:
            with self.vault.view(home) as reader:
                return told_topic(reader, cube)
        if cube.tier is Tier.ARCHIVE and self.vault.packs.are_kept:
            with self.vault.view(home) as reader:
                is_cold = bool(reader.cold([cube.id]))
            if is_cold:
                self.recaller.visited(home, [cube.id], at_once=True)
        return cube

    def exporter(self, owners: Sequence[Scope]) -> Exporter:
        """The object that writes the memories of owners as lines, under the policy of exports."""
        return Exporter(self.vault, owners, self.clock(), self._export_protection, self._signing_key())

    def _signing_key(self) -> bytes | None:
        """The key that signs what leaves the store; None if the store is only read and has none."""
        erasure = self.vault.erasure
        return erasure.signing_key() if self.vault.is_only_read else erasure.make_signing_key()

    def view(self) -> ShownResult | None:
        """What shows memories under the policy of reads; None without one."""
        return self._shown.view() if self._shown else None

    def asked(self, query: str, role: str, owner: Scope) -> tuple[str, str]:
        """The question and the role as a chat model may see them, because both are stored. Raises PrivacyRefused."""
        privacy = self.privacy(owner)
        return privacy.text("query", arguments.question(query)), privacy.question(role)

    def learn(self, owner: Scope, lesson: Lesson) -> str | None:
        """Store a stated fact in LPM and return the id of the memory that says it."""
        home = self.home(owner, lesson.payload.subject)
        check_new(self.vault, home, lesson.payload.type, lesson.about.labels)
        new = self.promoter.learn(home, [lesson])
        if lesson.about.expires_at is not None:
            self.housekeeping.queued(home)
        with self.vault.read(home, Action.WRITE) as reader:
            return told_in(changeable(self.vault, home, reader), lesson, new, self.clock())

    def register_job(self, kind: JobType) -> None:
        """Run jobs of that kind from now on. Raises InvalidInput if the name is taken."""
        self.job_types.register(kind)
        if kind.needs_model:
            self.housekeeping.work_apart()

    def wait(self, timeout: float | None = None) -> None:
        """Return when the background work is done. Raises StillRunning after `timeout` seconds."""
        self.finish(lambda until: self.housekeeping.wait(until) and self._have_mounts_synced(until), timeout)

    def finish(self, work: Callable[[float], bool], timeout: float | None) -> None:
        """Wait until the answers are stored, then do work: it gets its deadline and returns whether it is done.

        Raises StillRunning after `timeout` seconds. What is left of the work must go on by itself.
        """
        seconds = arguments.timeout(timeout)
        until = time.monotonic() + seconds
        if not (self.responder.wait(until) and work(until)):
            raise self._still_running(seconds, "the work goes on")

    def close(self, timeout: float | None = None) -> None:
        """Refuse new calls, finish the background work and release the store. A second call does nothing.

        After `timeout` seconds it raises StillRunning; only running work is then still completed.
        """
        seconds = arguments.timeout(timeout)
        self.hand.refuse()
        if timeout is None and self._ending is None:
            self._release()
            return
        longest = seconds if any(self._unfinished.values()) else max(seconds, RELEASE_SECONDS)
        self._ending = self._ending or Ending(self._release)
        if not self._ending.comes_within(None if timeout is None else longest):
            self.housekeeping.abandon()
            left = "what is under way is finished before the store is released, the rest is left to the next process"
            raise self._still_running(longest, left)

    def _release(self) -> None:
        with ExitStack() as steps:  # each step runs, whatever became of those before it
            steps.callback(self.after_close.close)
            steps.callback(self.hand.stop)
            steps.callback(self.vault.close)
            steps.callback(self.watch.close)
            if self.trail:
                steps.callback(self.trail.close)
            steps.callback(self.housekeeping.close)
            steps.callback(self.sources.close)
            steps.callback(self.mounted.close)
            for connection in self._connections:
                steps.callback(connection.close)
            steps.callback(self.responder.close)

    # Parts of the above

    def _brancher(self, owner: Scope) -> Brancher:
        return Brancher.of(self.promoter, self.forgetter, owner)

    def _have_mounts_synced(self, until: float) -> bool:
        """Whether the writable mounts finished their work before the deadline."""
        if until == math.inf:
            self.mounted.sync()
            return True
        return Ending(self.mounted.sync).comes_within(max(0.0, until - time.monotonic()))

    @property
    def _unfinished(self) -> dict[str, int]:
        return {"answers": self.responder.unfinished, **self.housekeeping.unfinished}

    def _still_running(self, seconds: float, outlook: str) -> StillRunning:
        return StillRunning(seconds, self._unfinished, outlook)

    def _made_responder(self) -> Responder:
        known = self.settings
        return Responder(
            self.answering,
            self.account,
            Streams(known.llm_concurrency),
            self.replacements.of,
            self._inherit,
            Bounds(known.prompt_tokens, known.context_tokens, known.most_pages, known.abstain_below),
            self.clock,
            marking(self._signing_key, self.clock),
            self._adapted,
            key_check(self.hand, self.vault, self.clock, self.trail),
        )

    def _adapted(self, owner: Scope) -> AdaptedModel | None:
        return self.adapters.adapted(owner, self.answering) if self.settings.answer_adapters else None

    def _inherit(self, asked: Prompt, owner: Scope) -> About:
        if self.policies is None:
            return NOTHING
        about = inherited(self.vault, (owner.owner, self.home(owner)), asked)
        check_new(self.vault, owner, Kind.PAGE, about.labels)  # before a model is asked
        return about

    def _made_shown(self) -> Shown | None:
        """What the door makes of the results of calls, if there is a policy of reads."""
        if self.settings.privacy_on_read is PrivacyAction.OFF:
            return None
        self.hand.shown = shown = Shown(protection_of(self.settings, self.settings.privacy_on_read))
        return shown

    def _model(self) -> ChatModel:
        if self.chat is None:
            self.chat = self._connected(quoting=True)
        return self.chat

    def _model_reader(self, schema: PersonaSchema, background: BackgroundModel) -> ModelReader | None:
        """The model that reads pages in the background, or None."""
        if self.settings.extractor is ExtractorKind.RULES:
            return None
        name = f"model:{self.account.model_name}"
        return ModelReader(background.chat, self.account, schema, name, is_governed=self.policies is not None)

    def _connected(self, *, quoting: bool) -> ConnectedChat:
        chat = chat_of(self.settings, quoting=quoting, json_mode=not quoting and self.settings.llm_json_mode)
        self._connections.append(chat)
        return chat
