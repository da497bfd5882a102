"""The model as a reader of pages: facts, persona and topic summaries, each statement checked before it counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from memoryos.cube import Fact, MemCube, ProfileField, Trait, Turn
from memoryos.filter import METADATA_LABEL, labels_of
from memoryos.kinds import Role, SemanticType
from memoryos.language.times import named_periods
from memoryos.models.chat import Answer, ChatModel, Message
from memoryos.models.structured import ask
from memoryos.operation.consolidation import prompts
from memoryos.operation.consolidation.dates import labelled_day
from memoryos.operation.consolidation.finding import Finding
from memoryos.operation.consolidation.grounding import Evidence, Flaw, flaw_of_stance, flaw_of_value
from memoryos.operation.consolidation.persona import PersonaSchema
from memoryos.operation.consolidation.sheet import Sheet, sheets, topic_sheet
from memoryos.operation.consolidation.utterance import Utterance
from memoryos.operation.consolidation.wording import wording
from memoryos.operation.knowledge.likeness import Judge, Pair, Verdict
from memoryos.operation.knowledge.trait import graded
from memoryos.operation.scheduler.spending import ModelAccount, Purpose
from memoryos.scope import Scope

PROFILE_FIELDS = ("name", "gender", "birth_year", "birthday", "occupation", "location")
FACT_CHARS = 400
SUMMARY_CHARS = 800
TOPICS_AT_ONCE = 20  # with three sentences for each an answer stays well below 2,048 tokens
_FEW_WORDS = 12  # of a quote, as the reason of a trait

_LATE = ConfigDict(defer_build=True)  # a memory without a chat model needs none of these classes

Statement = TypeVar("Statement", bound=BaseModel)
Text = Annotated[str, Field(min_length=1, max_length=FACT_CHARS)]


@dataclass(frozen=True, slots=True)
class SummaryTarget:
    """What gets a summary, a segment or a chain: the id it goes by, its summary so far, its new pages."""

    id: str
    summary: str
    pages: Sequence[MemCube]


@dataclass(frozen=True, slots=True)
class Reading:
    """The facts, traits and profile fields that pages state."""

    findings: Sequence[Finding]
    summaries: Mapping[str, str] = field(default_factory=dict)  #: by topic
    rejected: Mapping[str, int] = field(default_factory=dict)  #: statements that were not believed, by flaw


class _Statement(BaseModel):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, defer_build=True)
    page: int | None = None
    quote: Text


class _Fact(_Statement):
    fact: Text
    when: date | None = None
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.8


class _Field(_Statement):
    field: Text
    value: Text


class _Trait(_Statement):
    dimension: Text


class _Summary(BaseModel):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, defer_build=True)
    topic: str
    summary: Annotated[str, Field(min_length=1, max_length=SUMMARY_CHARS)]


# Only the frame is checked as a whole; a statement of the wrong shape is rejected alone, and counted.
class _Facts(BaseModel):
    model_config = _LATE
    facts: list[Any]


class _Persona(BaseModel):
    model_config = _LATE
    profile: list[Any] = []
    traits: list[Any] = []

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if not self.model_fields_set:  # any object at all would pass for one that says nothing
            raise ValueError("neither profile nor traits")
        return self


class _Verdicts(BaseModel):
    model_config = _LATE
    verdicts: list[Any]


class _Verdict(BaseModel):
    model_config = ConfigDict(extra="ignore", defer_build=True)
    pair: int
    verdict: Verdict


class _Summaries(BaseModel):
    model_config = _LATE
    topics: list[Any]


@dataclass
class ModelReader:
    """Reads pages with a chat model; what it costs is written down by scope and purpose."""

    chat: ChatModel
    account: ModelAccount
    schema: PersonaSchema
    name: str
    is_governed: bool = False  #: whether policies decide by labels who may read what

    def read(self, scope: Scope, pages: Sequence[MemCube], topics: Sequence[SummaryTarget]) -> Reading:
        """Read new pages, and what they add to their topics: the first of these, when there are very many.

        A document says nothing about the user or the agent, but it belongs to its topic. Raises ModelError; then
        nothing of them is known.
        """
        call = _Call(self, scope)
        found: list[Finding] = []
        for some in self._apart([page for page in pages if not page.is_document]):
            for sheet in sheets(some):
                found += call.facts(sheet)
                found += call.persona(sheet)
        summaries = call.summaries(topics[:TOPICS_AT_ONCE]) if topics else {}
        return Reading(found, summaries, dict(call.rejected))

    def _apart(self, pages: Sequence[MemCube]) -> Iterable[Sequence[MemCube]]:
        """The pages in groups that are read together.

        With policies, pages with different labels are read apart: a model could put words of one that a caller may not
        read into a fact that rests on another.
        """
        groups: dict[frozenset[str], list[MemCube]] = {}
        for page in pages:
            told = (label for label in labels_of(page) if not label.startswith(METADATA_LABEL))
            groups.setdefault(frozenset(told) if self.is_governed else frozenset(), []).append(page)
        return groups.values()

    def judge(self, scope: Scope) -> Judge:
        """Compares facts at the cost of this scope."""
        return _Call(self, scope)


@dataclass
class _Call:
    """One reading: its answers, and what of them was rejected."""

    reader: ModelReader
    scope: Scope
    rejected: Counter[str] = field(default_factory=Counter)

    def facts(self, sheet: Sheet) -> Iterator[Finding]:
        """The facts of a sheet."""
        answer = self._asked(prompts.facts(sheet.text), _Facts, Purpose.FACTS)
        for fact, source in self._grounded(answer.facts, _Fact, sheet):
            text = self._dated(fact, source, sheet.evidence)
            if text is not None:
                yield _fact(fact, text, source)

    def persona(self, sheet: Sheet) -> Iterator[Finding]:
        """The profile fields and the traits of a sheet."""
        schema = self.reader.schema
        dimensions = {wording(dimension.name): dimension.name for dimension in schema.dimensions}
        wish = prompts.persona(sheet.text, fields=PROFILE_FIELDS, dimensions=list(dimensions.values()))
        answer = self._asked(wish, _Persona, Purpose.PERSONA)
        for stated, source in self._grounded(answer.profile, _Field, sheet):
            if self._is_stated(stated, source):
                yield _profile(stated, source)
        shown: dict[tuple[str, str], list[Utterance]] = {}
        quotes: dict[tuple[str, str], str] = {}
        for trait, source in self._grounded(answer.traits, _Trait, sheet):
            name = dimensions.get(wording(trait.dimension))
            flaw = Flaw.SHAPE if name is None or not source.is_person else None
            flaw = flaw or flaw_of_stance(trait.quote, trait.quote, source)
            if name is None or flaw:
                self._reject(flaw or Flaw.SHAPE)
                continue
            shown.setdefault((name, source.subject), []).append(source)
            quotes.setdefault((name, source.subject), trait.quote)
        yield from (_trait(name, sources, quotes[name, subject]) for (name, subject), sources in shown.items())

    def summaries(self, topics: Sequence[SummaryTarget]) -> dict[str, str]:
        """The summaries of the topics after their new pages; one that is not grounded is left as it was."""
        letters = {chr(ord("A") + number): topic for number, topic in enumerate(topics)}
        sheet = topic_sheet({letter: (topic.summary, topic.pages) for letter, topic in letters.items()})
        answer = self._asked(prompts.summaries(sheet), _Summaries, Purpose.SUMMARY)
        found = {}
        for summary in filter(None, (self._checked(item, _Summary) for item in answer.topics)):
            topic = letters.get(summary.topic.strip().upper()[-1:])
            if topic is None:
                self._reject(Flaw.SHAPE)
            elif flaw := _evidence(topic).flaw_of_summary(summary.summary):
                self._reject(flaw)
            else:
                found[topic.id] = summary.summary
        return found

    def compare(self, pairs: Sequence[Pair]) -> dict[Pair, Verdict]:
        """The relation of the new fact to the old one for each pair; pairs without a usable verdict are left out."""
        answer = self._asked(prompts.comparison(pairs), _Verdicts, Purpose.JUDGE)
        numbered = dict(enumerate(pairs, 1))
        said = [one for item in answer.verdicts if (one := self._checked(item, _Verdict))]
        return {numbered[one.pair]: one.verdict for one in said if one.pair in numbered}

    def _asked(self, messages: Sequence[Message], shape: type[Statement], purpose: Purpose) -> Statement:
        def answer(messages: Sequence[Message]) -> Answer:
            return self.reader.account.answer(self.reader.chat, messages, self.scope, purpose)

        return ask(answer, messages, shape)

    def _grounded(self, items: Sequence[Any], shape: type[Any], sheet: Sheet) -> Iterator[tuple[Any, Utterance]]:
        """The items of that shape whose quote is in a page, with the turn that says it."""
        for item in items:
            statement = self._checked(item, shape)
            if statement is None:
                continue
            source = sheet.evidence.quoted(statement.quote, sheet.pages.get(statement.page))
            if source is None:
                self._reject(Flaw.QUOTE)
            else:
                yield statement, source

    def _checked(self, item: Any, shape: type[Statement]) -> Statement | None:
        try:
            return shape.model_validate(item)
        except ValidationError:
            self._reject(Flaw.SHAPE)
            return None

    def _dated(self, fact: _Fact, source: Utterance, evidence: Evidence) -> str | None:
        """The fact with its day in it; None when it is not believed."""
        flaw = evidence.flaw(fact.fact, fact.quote, source)
        if flaw is None and fact.when and not evidence.allows_day(fact.when, source):
            flaw = Flaw.DATE
        if flaw:
            self._reject(flaw)
            return None
        if fact.when and not named_periods(fact.fact, datetime.combine(fact.when, time())):
            return f"{fact.fact.rstrip(' .。')} ({labelled_day(fact.when, fact.fact)})"
        return fact.fact

    def _is_stated(self, stated: _Field, source: Utterance) -> bool:
        """Whether a person said this value of a field that there is."""
        if stated.field not in PROFILE_FIELDS or not source.is_person:
            self._reject(Flaw.SHAPE)
        elif not source.says(wording(stated.value)):
            self._reject(Flaw.WORDS)
        elif flaw := flaw_of_value(stated.value, stated.quote, source):
            self._reject(flaw)
        else:
            return True
        return False

    def _reject(self, flaw: Flaw) -> None:
        self.rejected[flaw.value] += 1


def _fact(fact: _Fact, text: str, source: Utterance) -> Finding:
    payload = Fact(subject=source.subject, text=text, quote=fact.quote, confidence=fact.confidence)
    return Finding(payload, (source.page,), source.at, SemanticType.FACT)


def _profile(stated: _Field, source: Utterance) -> Finding:
    payload = ProfileField(subject=source.subject, field=stated.field, value=stated.value, quote=stated.quote)
    return Finding(payload, (source.page,), source.at, SemanticType.PROFILE)


def _trait(dimension: str, sources: Sequence[Utterance], quote: str) -> Finding:
    pages = tuple(dict.fromkeys(source.page for source in sources))
    level, confidence = graded(len(pages))
    reason = " ".join(quote.split()[:_FEW_WORDS])
    payload = Trait(
        subject=sources[0].subject, dimension=dimension, level=level, reason=f'said "{reason}"', confidence=confidence
    )
    return Finding(payload, pages, max(source.at for source in sources), SemanticType.TRAIT)


def _evidence(topic: SummaryTarget) -> Evidence:
    """The evidence of a summary: the new pages, and the earlier summary."""
    evidence = Evidence.of(topic.pages)
    if not topic.summary or not evidence.utterances:
        return evidence
    earlier = Utterance("", Turn(role=Role.USER, text=topic.summary), evidence.utterances[0].at)
    return Evidence((earlier, *evidence.utterances))
