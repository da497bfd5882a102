"""Facts, traits and profile fields by rules: each sentence of a page's turns is read in its language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from memoryos.cube import Fact, MemCube, Page, ProfileField, Trait
from memoryos.kinds import Role, SemanticType, Subject
from memoryos.operation.consolidation import (
    chinese,
    chinese_parts,
    chinese_profile,
    english,
    english_clauses,
    english_profile,
    english_rewrite,
)
from memoryos.operation.consolidation.amended import amended, amended_by
from memoryos.operation.consolidation.answered import answered
from memoryos.operation.consolidation.dates import chinese_dates, english_dates, insert_dates
from memoryos.operation.consolidation.finding import Finding
from memoryos.operation.consolidation.moved import came_about
from memoryos.operation.consolidation.own_words import is_played
from memoryos.operation.consolidation.statement import Claim, Statement
from memoryos.operation.consolidation.traits import TraitReader
from memoryos.operation.consolidation.utterance import Utterance, utterances
from memoryos.regex import regex

_AGE_ALONE = regex(r"(?:i'm|i am|im) \d{1,3}(?: ?(?:years?|yrs?) ?old| ?y/?o)?\W*", re.IGNORECASE)
_NAME_ALONE = regex(  # a sentence that says no more than the name: the profile holds that
    r"(?:\W*(?:hi|hello|hey|你好|您好|大家好|嗨)\W+)?"
    r"(?:i'm|i am|my name(?:'s| is)|this is|call me|我叫|我是|我的名字[是叫])\W*",
    re.IGNORECASE,
)
# What each shape of a statement or of a profile field has: a text without any tells nothing.
_TELLS = regex(
    r"\b(?=[imwthanfbgu])"  # far faster than to try each
    r"(?:i(?:m|ve)?|m[ye]|we|this is|as an?|here|moved|any ?more|any longer|no longer|again|at last|finally|fan of|been"
    r"|having|got (?:fired|laid off)|from now on|going forward)\b"
)


def may_tell(text: str) -> bool:
    """Whether facts or profile fields may be read in a text: in most there is not even a word for it."""
    return not text.isascii() or _TELLS.search(text.lower()) is not None


def findings(pages: Sequence[MemCube], traits: TraitReader) -> list[Finding]:
    """Facts and profile fields in the order they were said, then traits in the order of the schema."""
    read = list(_own(pages))
    said = (finding for utterance in read for finding in _read(utterance))
    return [*_merged(said), *_trait_findings(read, traits)]


def _trait_findings(read: Iterable[Utterance], traits: TraitReader) -> list[Finding]:
    own = [item for item in read if item.subject is Subject.USER and traits.may_read(item.own_text)]
    moments = {item.page: item.at for item in own}
    return [
        Finding(trait, pages, max(moments[page] for page in pages), SemanticType.TRAIT)
        for trait, pages in traits.read((item.page, item.own_sentences) for item in own)
    ]


def _own(pages: Sequence[MemCube]) -> Iterator[Utterance]:
    """The turns that may tell of their speakers: not the reply to somebody who plays."""
    played = lru_cache(_is_played)
    payloads = {cube.id: cube.payload for cube in pages if isinstance(cube.payload, Page)}
    for one in utterances(pages):
        if one.subject is Subject.USER or (may_tell(one.own_text) and not played(payloads[one.page])):
            yield one


def _is_played(page: Page) -> bool:
    asked = page.turn_of(Role.USER)
    return asked is not None and is_played(asked.text)


def _read(utterance: Utterance) -> Iterator[Finding]:
    """Read the facts and profile fields of one turn."""
    own = utterance.own_sentences if may_tell(utterance.own_text) else []
    for said, following in zip(own, [*own[1:], ""], strict=False):
        is_chinese = chinese.is_chinese(said)
        answer = answered(said, following)
        sentence = answer or amended(said, following)
        claims = _claims(sentence, utterance, is_chinese) if utterance.is_person else []
        statements = _statements(sentence, utterance, is_chinese)
        if sentence != said:
            quote = following if answer or amended_by(following) else said
            claims = [replace(claim, quote=quote) for claim in claims]
            statements = [replace(one, quote=quote, clause=one.said) for one in statements]
        yield from (_profile_finding(claim, sentence, utterance) for claim in claims)
        for statement in statements:
            if not _is_in_profile(statement, claims):
                yield _fact_finding(statement, claims, utterance, is_chinese)


def _claims(sentence: str, utterance: Utterance, is_chinese: bool) -> list[Claim]:
    read = chinese_profile.claims if is_chinese else english_profile.claims
    return read(sentence, utterance.at)


def _statements(sentence: str, utterance: Utterance, is_chinese: bool) -> list[Statement]:
    if utterance.is_person:
        return chinese_parts.statements(sentence) if is_chinese else english.statements(sentence)
    found = chinese.agent_statement(sentence) if is_chinese else english.agent_statement(sentence)
    return [found] if found else []


def _is_in_profile(statement: Statement, claims: list[Claim]) -> bool:
    """Whether it says no more than a name or an age that the profile holds."""
    names = (claim.value for claim in claims if claim.field == "name")
    plain = statement.said.replace("’", "'")
    is_age = any(claim.field == "birth_year" for claim in claims) and _AGE_ALONE.fullmatch(plain)
    return bool(is_age) or any(_NAME_ALONE.fullmatch(plain.replace(name, "")) for name in names)


def _profile_finding(claim: Claim, sentence: str, utterance: Utterance) -> Finding:
    payload = ProfileField(subject=utterance.subject, field=claim.field, value=claim.value, quote=claim.quote)
    since = came_about(claim.quote, sentence, utterance.at) if claim.field == "location" else utterance.at
    return Finding(payload, (utterance.page,), since, SemanticType.PROFILE, claim.is_over)


def _fact_finding(statement: Statement, claims: Sequence[Claim], utterance: Utterance, is_chinese: bool) -> Finding:
    name = _display_name(utterance, is_chinese)
    write = _chinese_text if is_chinese else _english_text
    payload = Fact(
        subject=utterance.subject,
        text=write(_capitalised(statement.said, claims), name, utterance.at),
        quote=statement.quote,
        confidence=statement.confidence,
    )
    return Finding(payload, (utterance.page,), utterance.at, statement.semantic_type)


def _capitalised(said: str, claims: Iterable[Claim]) -> str:
    """The statement with the place that it names as the profile writes it: "i live in oslo", "I LIVE IN OSLO"."""
    said = english_clauses.plain(said) if said.isupper() else said
    for claim in claims:
        if claim.field == "location" and claim.value.lower() in said:
            said = said.replace(claim.value.lower(), claim.value)
    return said


def _display_name(utterance: Utterance, is_chinese: bool) -> str:
    if utterance.speaker:
        return utterance.speaker
    if utterance.subject is Subject.USER:
        return "用户" if is_chinese else "User"
    return "助手" if is_chinese else "Assistant"


def _english_text(quote: str, name: str, at: datetime) -> str:
    """Third person with dates in place; the speaker's own words where rewriting is unsafe."""
    rewritten = english_rewrite.third_person(quote, name)
    if rewritten is not None:
        return insert_dates(rewritten, english_dates(rewritten, at), (" (", ")"))
    dates = english_dates(quote, at)
    return f'{name}: "{quote}"' + (f" ({dates[0].label})" if len(dates) == 1 else "")


def _chinese_text(quote: str, name: str, at: datetime) -> str:
    rewritten = chinese.third_person(quote, name)
    if rewritten is not None:
        return insert_dates(rewritten, chinese_dates(rewritten, at), ("（", "）"))
    dates = chinese_dates(quote, at)
    return f"{name}：“{quote}”" + (f"（{dates[0].label}）" if len(dates) == 1 else "")


def _merged(findings: Iterable[Finding]) -> list[Finding]:
    """One finding per thing said; a repeat adds its page and its moment."""
    alike: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        alike.setdefault((*_identity(finding.payload), finding.is_over), []).append(finding)
    return [_together(some) for some in alike.values()]


def _together(alike: Sequence[Finding]) -> Finding:
    """The first finding, with the pages and moments at which it was said again."""
    first, *again = alike
    if not again:
        return first
    moments = dict(zip(first.pages, first.moments or (first.event_at,) * len(first.pages), strict=True))
    for finding in again:
        for page in finding.pages:
            moments.setdefault(page, finding.event_at)
    event_at = max(finding.event_at for finding in alike)
    return replace(first, pages=tuple(moments), event_at=event_at, moments=tuple(moments.values()))


def _identity(payload: Fact | Trait | ProfileField) -> tuple[str, ...]:
    """Tell what makes two findings the same: subject, kind, and words without case and punctuation."""
    return payload.type, payload.subject, " ".join(re.findall(r"\w+", payload.text.casefold()))
