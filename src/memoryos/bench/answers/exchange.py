"""Files for readers without an endpoint: prompts out, answers back, as JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from memoryos.bench.answers.item import Item
from memoryos.bench.answers.question import AnswerSet, ReaderQuestion
from memoryos.errors import InvalidInput
from memoryos.importers.source import Text, readable
from memoryos.models.chat import Message

GIVEN = "given"  # what a table calls answers that name no system

_FIX = 'Write one {"id": ..., "system": ..., "answer": ...} a line, with the ids of --export'


class _PromptMessage(BaseModel):
    role: str
    content: str


class _Given(BaseModel):
    model_config = ConfigDict(extra="ignore")  # a line of --export may be sent back whole

    id: Text
    answer: Text
    system: Text = GIVEN
    context: Text | None = None
    prompt: list[_PromptMessage] | None = None


def write_prompts(path: Path, dataset: str, items: Iterable[Item]) -> None:
    """Write a line for each question and system, without a word of what only the scoring may see.

    Raises InvalidInput when the file cannot be written.
    """
    lines = [json.dumps(_exported(dataset, item), ensure_ascii=False) for item in items]
    try:
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    except OSError as error:
        raise InvalidInput("--export", f"{path} cannot be written ({error.strerror})", "Name another file") from None


def read_answers(path: Path, dataset: AnswerSet) -> list[tuple[Item, str]]:
    """The answers of the file, each with its question, and with its context where the line has one.

    Raises InvalidInput for a line of another shape, an unknown id, or a question that a system answers twice.
    """
    asked = {question.id: question for question in dataset.asked}
    found: dict[tuple[str, str], tuple[Item, str]] = {}
    with readable(path):
        lines = path.read_bytes().splitlines()
    for number, line in enumerate(lines, 1):
        if line.strip():
            given = _given(path, number, line)
            key = given.system, given.id
            if given.id not in dataset.gold:
                raise InvalidInput(f"--answers, line {number}", f"no question has the id {given.id!r}", _FIX)
            if key in found:
                raise InvalidInput(f"--answers, line {number}", f"{given.id!r} is answered twice", "Keep one of them")
            if given.id in asked:  # else it was left out by --limit
                found[key] = _item(asked[given.id], given), given.answer
    if not found:
        raise InvalidInput("--answers", f"{path} has no answer to any of the questions", _FIX)
    return list(found.values())


def _exported(dataset: str, item: Item) -> dict[str, object]:
    return {
        "id": item.asked.id,
        "dataset": dataset,
        "system": item.system,
        "question": item.asked.text,
        "context": item.context,
        "prompt": item.prompt,
    }


def _given(path: Path, number: int, line: bytes) -> _Given:
    try:
        return _Given.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        problem = f"{place}: {first['msg']}" if place else first["msg"]
        raise InvalidInput(f"{path}, line {number}", problem, _FIX) from None


def _item(asked: ReaderQuestion, given: _Given) -> Item:
    prompt: tuple[Message, ...] = tuple(
        {"role": "system" if one.role == "system" else "user", "content": one.content} for one in given.prompt or ()
    )
    return Item(given.system, asked, given.context, prompt)
