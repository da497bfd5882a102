"""Recollection: from parameters back to plaintext. The model with an adapter is asked for what it knows.

What it answers was never said by anybody, so it is stored as a derived fact of low confidence, and only where it
contradicts nothing: a model must not change what people said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from uuid_utils.compat import uuid7

from memoryos.cube import Behaviour, Descriptive, Fact, MemCube
from memoryos.errors import NotFound, PrivacyRefused
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.records import Entry, Link, LinkKind
from memoryos.kinds import Kind, Origin, SemanticType, Subject, Tier
from memoryos.language.orders import gives_orders
from memoryos.language.sentences import split_sentences
from memoryos.models.embedder import Embedder
from memoryos.models.local.local_engine import LocalEngine
from memoryos.models.local.weighted_adapter import Adapters
from memoryos.operation.calls.permission import changeable
from memoryos.operation.knowledge.denial import denies
from memoryos.operation.knowledge.lesson import fact_identity, identities
from memoryos.operation.knowledge.slot import filling
from memoryos.operation.training.adapter_cubes import adapter_in
from memoryos.operation.training.adapter_lessons import answer
from memoryos.operation.training.adapter_status import Recollection
from memoryos.operation.training.question_pairs import QuestionPair, is_right, questions_of
from memoryos.operation.training.training_sources import stale_source
from memoryos.scope import Scope

CONFIDENCE = 0.3  # of what a model says from its parameters
MOST_CHARS = 300


@dataclass(frozen=True)
class Recollector:
    """Asks one adapter, and stores what is new in one owner's memory."""

    vault: Vault
    embedder: Embedder
    scope: Scope
    engine: LocalEngine
    said: Callable[[str], str]  #: a text as it may be stored; raises PrivacyRefused

    def ask(self, sources: Iterable[MemCube], adapters: Adapters) -> list[tuple[QuestionPair, str]]:
        """One answer for each sentence that was trained."""
        once = {pair.answer: pair for pair in questions_of(sources) if pair.is_held_out}
        return [(pair, answer(self.engine, pair.question, adapters)) for pair in once.values()]

    def store(self, told: Sequence[tuple[QuestionPair, str]], adapter: MemCube, now: datetime) -> Recollection:
        """Store the answers that are new facts. Raises NotFound if the adapter, or a source of it, went meanwhile."""
        known, doubted, new = 0, 0, dict[str, str]()
        with self.vault.read(self.scope) as reader:
            seen = changeable(self.vault, self.scope, reader)
            facts = seen.cubes(Kind.FACT, tiers=[Tier.LPM], subject=Subject.USER)
        names = {name for cube in facts for name in identities(cube.payload)}
        for pair, text in told:
            if fact_identity(Fact(subject=Subject.USER, text=text), text) in names:
                known += 1
            elif not is_right(pair, text) or not _is_sound(text) or _contradicts(text, facts):
                doubted += 1
            elif words := self._storable(text):
                new[words] = pair.source
            else:
                doubted += 1
        cubes = [self._fact(text, source, adapter, now) for text, source in new.items()]
        self._insert(cubes, adapter, now)
        return Recollection(len(told), tuple(one.id for one in cubes), known, doubted)

    def _storable(self, text: str) -> str | None:
        """The text as the policy `privacy_on_write` lets it be stored; None if it does not."""
        try:
            return self.said(text)
        except PrivacyRefused:
            return None

    def _insert(self, cubes: Sequence[MemCube], adapter: MemCube, now: datetime) -> None:
        """Store facts that go with any memory that the adapter was trained on: any of them may be behind an answer."""
        if not cubes:
            return
        known = adapter_in(adapter)
        vectors = self.embedder.embed([cube.text for cube in cubes])
        entries = [Entry(cube, vector) for cube, vector in zip(cubes, vectors, strict=True)]
        with self.vault.write(self.scope) as writer:
            if not writer.kinds([adapter.id]) or stale_source(writer, known, now) is not None:
                raise NotFound(f"the adapter {known.name!r} changed while it was asked; nothing was stored")
            writer.insert(entries)
            links = ((one.id, each.id) for one in cubes for each in known.sources)
            writer.link([Link(told, LinkKind.COMPUTED_FROM, source) for told, source in links])

    def _fact(self, text: str, source: str, adapter: MemCube, now: datetime) -> MemCube:
        return MemCube(
            id=str(uuid7()),
            scope=self.scope.owner,
            tier=Tier.LPM,
            payload=Fact(subject=Subject.USER, text=text, confidence=CONFIDENCE),
            descriptive=Descriptive(
                event_at=now,
                recorded_at=now,
                updated_at=now,
                origin=Origin.FINETUNING,
                semantic_type=SemanticType.FACT,
                provenance=(adapter.id, source),
                derived_by=adapter.descriptive.derived_by,
            ),
            behaviour=Behaviour(last_access=now),
            governance=adapter.governance,
        )


def _is_sound(text: str) -> bool:
    return len(split_sentences(text)) == 1 and len(text) <= MOST_CHARS and not gives_orders(text)


def _contradicts(text: str, facts: Sequence[MemCube]) -> bool:
    """Whether a known fact fills the same slot, or one denies the other: the fact was said, and counts."""
    told = filling(text)
    if any(denies(cube.text, text) for cube in facts):
        return True
    known = (filling(cube.text) for cube in facts)
    return told is not None and any(one is not None and one.slot == told.slot for one in known)
