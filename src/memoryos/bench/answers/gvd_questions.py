"""GVD's probing questions: what users ask about earlier days, without gold answers, in English and Chinese.

A line of the questions file is one of two:

- the published form, one user a line: {"Emily": ["I recommended a film before, what was it?", ...]}
- our own, one question a line: {"user": "Emily", "question": "...", "lang": "en", "evidence": ["2023-04-27#2q"]}.
  `lang` is the column of the table; left out, it is what the question is written in. `evidence` names the turns that
  the judge is shown, by the ids of the reader of GVD; left out, it is shown all that the user and the companion said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from memoryos.bench.answers.question import AnswerSet, Gold, InputFiles, ReaderQuestion, ScoringRule
from memoryos.bench.locomo_recall import chosen
from memoryos.errors import InvalidInput
from memoryos.importers.dialogue import Conversation
from memoryos.importers.gvd import read_gvd
from memoryos.importers.source import QuestionText, Text, read_bytes
from memoryos.regex import regex

_FIX = 'Write {"USER": ["question", ...]}, or {"user": ..., "question": ..., "lang": ...}, one a line'
_CHINESE = regex(r"[\u4e00-\u9fff]")


class _Probe(BaseModel):
    model_config = ConfigDict(extra="forbid")

    user: Text
    question: QuestionText
    lang: Text | None = None
    evidence: list[Text] = []


_PUBLISHED = TypeAdapter(dict[Text, list[QuestionText]])


def read_gvd_questions(files: InputFiles) -> AnswerSet:
    """The data set; ids are the user and the number of the question. Raises InvalidInput for another shape."""
    path = files.questions
    if path is None:
        raise InvalidInput("--questions", "is missing", "Name the file of probing questions")
    talks = {talk.user: talk for talk in chosen(read_gvd(files.data), files.conversations)}
    known = {talk.user for talk in read_gvd(files.data)}
    asked: list[ReaderQuestion] = []
    gold: dict[str, Gold] = {}
    counts: dict[str, int] = {}
    for place, probe in _probes(path):
        user = probe.user.strip()
        if user not in known:
            raise InvalidInput(place, f"{user!r} is not in {files.data}", "Name a user of the memory bank")
        if user in talks:
            question = ReaderQuestion(f"{user}/{counts.get(user, 0)}", user, probe.question)
            counts[user] = counts.get(user, 0) + 1
            asked.append(question)
            gold[question.id] = Gold(_language(probe), ScoringRule.DIALOGUE, "", _evidence(place, probe, talks[user]))
    digest = sha256(files.data.read_bytes() + path.read_bytes()).hexdigest()
    return AnswerSet("gvd", files.data, digest, tuple(talks.values()), tuple(asked), gold, is_dialogue=True)


def _probes(path: Path) -> Iterator[tuple[str, _Probe]]:
    """The questions with their places in the file."""
    for number, line in enumerate(read_bytes(path).splitlines(), 1):
        if line.strip():
            place = f"{path}, line {number}"
            for probe in _read(place, line):
                yield place, probe


def _read(place: str, line: bytes) -> list[_Probe]:
    try:
        value: Any = json.loads(line)
        if isinstance(value, Mapping) and "question" in value:
            return [_Probe.model_validate(value)]
        published = _PUBLISHED.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InvalidInput(place, f"{'.'.join(map(str, first['loc']))}: {first['msg']}", _FIX) from None
    except ValueError:
        raise InvalidInput(place, "is not JSON", _FIX) from None
    return [_Probe(user=user, question=question) for user, questions in published.items() for question in questions]


def _language(probe: _Probe) -> str:
    return probe.lang or ("zh" if _CHINESE.search(probe.question) else "en")


def _evidence(place: str, probe: _Probe, talk: Conversation) -> tuple[str, ...]:
    ids = {turn.source_id for session in talk.sessions for turn in session.turns}
    for name in probe.evidence:
        if name not in ids:
            raise InvalidInput(
                place, f"evidence {name!r} is not a turn of {probe.user}", "Write ids such as 2023-04-27#1q"
            )
    return tuple(probe.evidence)
