"""Question pairs: what an adapter is trained on, made of the sentences of its sources by templates.

A sentence becomes questions in several forms, and one answer: itself. A slot that the rules know ("User lives in Rome")
is asked for by its name, every other sentence by its end. A chat model may have written further questions. A sentence
that gives orders becomes no question, for a page can be written by anybody: what it orders must not become part of a
model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from memoryos.cube import Fact, MemCube, Page, ProfileField
from memoryos.kinds import Role
from memoryos.language.orders import gives_orders
from memoryos.language.segmenter import cut
from memoryos.language.sentences import split_sentences
from memoryos.language.words import HAN
from memoryos.operation.consolidation.wording import wording
from memoryos.operation.knowledge.filling import Filling
from memoryos.operation.knowledge.slot import filling
from memoryos.operation.training.question_forms import (
    CHINESE_ENDS,
    CHINESE_SLOTS,
    ENDS,
    OBJECTS,
    SLOTS,
    Forms,
    first_person,
)
from memoryos.regex import regex

MOST_SENTENCE_CHARS = 300
MOST_ANSWERS = 4  # to one question; with more of them, it is not asked
MOST_SENTENCES = 20  # of one source
Written = Mapping[str, Sequence[str]]  # questions that a chat model wrote, by the digests of their sentences

_USER, _CHINESE_USER = "the user", "用户"
_STOPS = " .!?。！？"
_PREDICATE = regex(
    r"User (?P<verb>is|has|[a-z]+s)"
    r"(?P<rest>(?: (?:to|of|on|in|at|for|with|about|by|as|[a-z]+ing|[a-z]+ed|allergic|afraid|proud))*)"
)
_THIRD_PERSON = regex("(?:(?<=s|x)|(?<=sh|ch))es$|s$")


@dataclass(frozen=True, slots=True)
class QuestionPair:
    """A question with its answer."""

    question: str
    answer: str
    value: str  #: what a correct answer contains
    source: str  #: id of the cube that says it
    is_held_out: bool = False  #: it is asked, and never trained
    is_written: bool = False  #: a chat model wrote the question


def pairs_of(cubes: Sequence[MemCube], written: Written | None = None) -> list[QuestionPair]:
    """The questions that these memories answer. One with several answers ("What do I love?") gets all of them."""
    found: dict[str, dict[str, QuestionPair]] = {}
    pairs = list(questions_of(cubes))
    for pair in (*pairs, *(_written_pairs(cubes, written, pairs) if written else ())):
        asked = wording(pair.question) if pair.is_written else pair.question.casefold()
        found.setdefault(asked, {}).setdefault(_folded(pair.value), pair)
    return [pair for same in found.values() if len(same) <= MOST_ANSWERS for pair in _joined([*same.values()])]


def questions_of(cubes: Iterable[MemCube]) -> Iterator[QuestionPair]:
    """The questions that each sentence answers by itself."""
    for cube in cubes:
        for sentence in sentences_of(cube):
            yield from (replace(pair, source=cube.id) for pair in _asked(sentence))


def _joined(same: Sequence[QuestionPair]) -> list[QuestionPair]:
    """Pairs of one question, each with the answers of all. It is held out of all, or of none."""
    whole = " ".join(dict.fromkeys(pair.answer for pair in same))
    is_held_out = all(pair.is_held_out for pair in same)
    return [replace(pair, answer=whole, is_held_out=is_held_out) for pair in same]


def _written_pairs(cubes: Iterable[MemCube], written: Written, pairs: Iterable[QuestionPair]) -> Iterator[QuestionPair]:
    """The questions that a model wrote, but for those of these pairs; the last one of each sentence is held out."""
    known = {wording(pair.question) for pair in pairs}
    for cube in cubes:
        for sentence in sentences_of(cube):
            new = [one for one in written.get(digest_of(sentence), ()) if wording(one) not in known]
            for place, question in enumerate(new):
                is_last = 0 < place == len(new) - 1
                yield QuestionPair(question, sentence, value_of(sentence), cube.id, is_last, is_written=True)


def digest_of(sentence: str) -> str:
    """What a sentence is known by where its questions are kept."""
    return sha256(sentence.encode()).hexdigest()


def digests_of(cubes: Iterable[MemCube]) -> set[str]:
    """Those of the sentences of these memories."""
    return {digest_of(sentence) for cube in cubes for sentence in sentences_of(cube)}


def value_of(sentence: str) -> str:
    """What a right answer from this sentence contains; empty if it answers no question."""
    return next((pair.value for pair in _asked(sentence)), "")


def sentences_of(cube: MemCube) -> list[str]:
    """The sentences of a memory that may be trained: none that gives orders, and no question."""
    sentences = [one for text in _texts(cube) for one in split_sentences(text)]
    sound = [one for one in sentences if len(one) <= MOST_SENTENCE_CHARS and not one.endswith(("?", "？"))]
    return [one for one in dict.fromkeys(sound) if not gives_orders(one)][:MOST_SENTENCES]


def is_right(pair: QuestionPair, answer: str) -> bool:
    """Whether an answer contains the value."""
    return _folded(pair.value) in _folded(answer)


def _texts(cube: MemCube) -> Sequence[str]:
    payload = cube.payload
    if isinstance(payload, Fact):
        return (payload.text, *payload.wordings)
    if isinstance(payload, ProfileField):
        return (f"The user's {payload.field} is {payload.value}",)
    if isinstance(payload, Page):  # what others wrote, such as a tool's output, is no statement of the user's
        return tuple(turn.text for turn in payload.turns if turn.role is Role.USER)
    return ()


def _asked(sentence: str) -> Iterator[QuestionPair]:
    is_chinese = HAN.search(sentence) is not None
    known = filling(sentence)
    if known and (slot := _slot_form(known, is_chinese=is_chinese)) and (value := _as_written(known.value, sentence)):
        yield from _filled(slot, sentence, value, who=_holder(known, sentence), of=known.slot.of)
    if split := _split(sentence, known, is_chinese=is_chinese):
        head, tail = split
        yield from _filled(CHINESE_ENDS if is_chinese else ENDS, sentence, tail, head=head)
        if found := _PREDICATE.fullmatch(head):
            yield from _filled(OBJECTS, sentence, tail, **_verb(found["verb"], found["rest"]))


def _verb(verb: str, rest: str) -> dict[str, str]:
    """The words of a question for the object of a verb: "does", "love" and "loves"."""
    told = f"{verb}{rest}"
    if verb == "is":
        return {"verb": "is", "rest": rest.strip(), "told": told}
    base = "have" if verb == "has" else _THIRD_PERSON.sub("", verb)
    return {"verb": "does", "rest": f"{base}{rest}", "told": told}


def _slot_form(known: Filling, *, is_chinese: bool) -> Forms | None:
    if known.is_denied or not known.is_exclusive:
        return None
    return (CHINESE_SLOTS if is_chinese else SLOTS).get(known.slot.relation)


def _filled(forms: Forms, sentence: str, value: str, **words: str) -> Iterator[QuestionPair]:
    """The questions of these forms, as the user asks them and as others do."""
    for form, is_held_out in (*((one, False) for one in forms.trained), *((one, True) for one in forms.held_out)):
        question = form.format(**words)
        for each in dict.fromkeys((question, first_person(question))):
            yield QuestionPair(each, sentence, value, "", is_held_out)


def _holder(known: Filling, sentence: str) -> str:
    """Whose slot it is, in the words of the sentence."""
    if not known.slot.holder:
        return _CHINESE_USER if HAN.search(sentence) else _USER
    at = sentence.casefold().find(known.slot.holder)
    told = sentence[: at + len(known.slot.holder)] if at >= 0 else known.slot.holder
    return f"{_USER}{told[4:]}" if told.startswith("User") else told


def _as_written(value: str, sentence: str) -> str:
    """The value with the letters that the sentence has; empty if it is not in it."""
    at = sentence.casefold().find(value)
    return sentence[at : at + len(value)] if at >= 0 and value else ""


def _split(sentence: str, known: Filling | None, *, is_chinese: bool) -> tuple[str, str] | None:
    """The start of a sentence, and the end that is asked for; None if it is too short to be asked for its end."""
    bare = sentence.rstrip(_STOPS)
    value = _as_written(known.value, bare) if known and known.is_exclusive else ""
    at = bare.rfind(value) if value else -1
    if at <= 0:
        parts = cut(bare) if is_chinese else bare.split()
        at = len(bare) - len(parts[-1]) if len(parts) > 2 else 0
    head, tail = bare[:at].rstrip(), bare[at:].strip(_STOPS + ",;:")
    return (head, tail) if head and tail else None


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace("’", "'").split())
