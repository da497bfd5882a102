"""A scripted chat model: reads prompts of consolidation by rules, as a middling model would, mistakes included.

It stands in for a model where calls, tokens and what becomes of mistakes are measured. It says nothing about how
well any model reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from memoryos.language.sentences import split_sentences
from memoryos.models.chat import Answer, Message, Usage
from memoryos.models.tokenizer import count_tokens
from memoryos.operation.consolidation.english_rewrite import third_person
from memoryos.regex import regex

WRONG_EVERY = 10  # one fact in so many names somebody who was never mentioned
INVENTED = "Zebulon Quist"

_PAGE = regex(r"^\[(\d+)\]")
_LINE = regex(r"^(?P<speaker>[^:\n]{1,60}): (?P<text>.+)")
_TOPIC = regex(r"^topic (\w)$", re.MULTILINE)
_OWN = regex(r"\b(?:I|I'm|I've|my|we)\b|[我们]")
_NAME = regex(r"\bmy name is ([A-Z]\w+)|\bI'm ([A-Z]\w+)\b|我叫([\u4e00-\u9fff]{2,3})")
_SHORTEST, _LONGEST = 15, 200  # characters of a sentence that it takes for a fact


class ScriptedReader:
    """A chat model that answers by rules and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.prompt_tokens = 0

    def answer(self, messages: Sequence[Message]) -> Answer:
        """A JSON answer to the task of the prompt."""
        self.calls += 1
        prompt = sum(count_tokens(message["content"]) for message in messages)
        self.prompt_tokens += prompt
        text = json.dumps(reply(messages), ensure_ascii=False)
        return Answer(text, Usage(prompt, count_tokens(text)), "scripted")

    def stream(self, messages: Sequence[Message]) -> Iterator[str]:
        """Yield the whole answer as one piece."""
        yield self.answer(messages).text


def reply(messages: Sequence[Message]) -> dict[str, Any]:
    """The JSON object that answers a prompt of consolidation."""
    task, dialogue = messages[0]["content"], messages[1]["content"]
    if '"facts"' in task:
        return {"facts": list(_facts(dialogue))}
    if '"profile"' in task:
        return {"profile": list(_profile(dialogue)), "traits": []}
    if '"verdicts"' in task:
        pairs = re.findall(r"^\[(\d+)\]$", dialogue, re.MULTILINE)
        return {"verdicts": [{"pair": int(number), "verdict": "different"} for number in pairs]}
    return {"topics": list(_topics(dialogue))}


def _facts(dialogue: str) -> Iterator[dict[str, Any]]:
    for number, (page, speaker, sentence) in enumerate(_own_sentences(dialogue), 1):
        fact = third_person(sentence, speaker) or f'{speaker} said: "{sentence}"'
        if number % WRONG_EVERY == 0:
            fact = f"{fact.rstrip('.')} with {INVENTED}."
        yield {"page": page, "fact": fact, "quote": sentence, "when": None, "confidence": 0.8}


def _profile(dialogue: str) -> Iterator[dict[str, Any]]:
    for page, _, sentence in _own_sentences(dialogue):
        if found := _NAME.search(sentence):
            name = next(group for group in found.groups() if group)
            yield {"page": page, "field": "name", "value": name, "quote": sentence}


def _topics(dialogue: str) -> Iterator[dict[str, Any]]:
    """The first known sentence of a topic, and the last new one."""
    parts = _TOPIC.split(dialogue.removesuffix("\n</dialogue>"))
    for letter, part in zip(parts[1::2], parts[2::2], strict=True):
        known, _, new = part.partition("\nnew:\n")
        sentences = [*split_sentences(known.strip().removeprefix("known: "))[:1], *split_sentences(new)[-1:]]
        said = [_LINE.sub(lambda line: line["text"], sentence.removeprefix("- ")) for sentence in sentences]
        yield {"topic": letter, "summary": " ".join(one for one in said if one != "nothing yet")[:_LONGEST] or "-"}


def _own_sentences(dialogue: str) -> Iterator[tuple[int, str, str]]:
    """First-person sentences: page number, speaker, sentence."""
    page = 0
    for line in dialogue.splitlines():
        if start := _PAGE.match(line):
            page = int(start[1])
        elif said := _LINE.match(line):
            for sentence in split_sentences(said["text"]):
                if _OWN.search(sentence) and _SHORTEST <= len(sentence) <= _LONGEST:
                    yield page, said["speaker"], sentence
