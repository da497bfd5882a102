"""Structured answers: JSON is found wherever a model puts it, and nothing else is taken for it."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from memoryos.errors import BadAnswer
from memoryos.models.chat import Answer, Usage
from memoryos.models.structured import ANSWER_CHARS, ask, read

SECRET = "the words of a user"
QUICK = 5.0  # seconds; a walk that grows with the square of the text takes far longer


class Item(BaseModel):
    name: Annotated[str, Field(min_length=1)]
    weight: float = 1.0


class Shape(BaseModel):
    items: list[Item]
    more: dict[str, Any] = {}


names = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=10,
)
shapes = st.builds(
    Shape,
    items=st.lists(st.builds(Item, name=names, weight=st.floats(allow_nan=False, allow_infinity=False)), max_size=4),
    more=st.dictionaries(names, values, max_size=3),
)
prose = st.text(alphabet=st.characters(exclude_characters="{}[]`", exclude_categories=["Cs"]), max_size=80)
indents = st.sampled_from([None, 0, 2])


def written(shape: Shape, indent: int | None, *, ascii_only: bool = False) -> str:
    return json.dumps(shape.model_dump(), indent=indent, ensure_ascii=ascii_only)


@given(shapes, indents, prose, prose, st.booleans())
def test_it_is_found_in_prose(shape, indent, before, after, ascii_only):
    assert read(before + written(shape, indent, ascii_only=ascii_only) + after, Shape) == shape


@given(shapes, indents, prose, st.sampled_from(["json", "", "JSON", "jsonc"]))
def test_it_is_found_in_a_fence_after_other_braces(shape, indent, before, label):
    text = f"{before} {{not this}} [1, 2] {{}}\n```{label}\n{written(shape, indent)}\n```\nI hope it {{helps}}."
    assert read(text, Shape) == shape


@given(shapes, indents)
def test_it_is_found_in_a_fence_that_was_not_closed(shape, indent):
    assert read(f"```json\n{written(shape, indent)}", Shape) == shape


@given(shapes, prose)
def test_it_is_found_after_an_example_that_has_not_the_shape(shape, before):
    text = f'{before}{{"example": 1}} {written(shape, None)}'
    assert read(text, Shape) == shape


@given(st.lists(st.builds(Item, name=names), min_size=1, max_size=4), prose)
def test_a_bare_list_is_the_first_field(items, before):
    text = before + json.dumps([item.model_dump() for item in items])
    assert read(text, Shape) == Shape(items=items)


@given(shapes)
def test_braces_in_strings_end_nothing(shape):
    shape.items.append(Item(name='}]"\\ ```\n{'))
    assert read(written(shape, None), Shape) == shape


@given(st.text(max_size=300))
def test_any_other_text_is_a_bad_answer(text):
    with pytest.raises(BadAnswer):
        read(text.replace('"items"', ""), Shape)


@given(shapes, st.data())
def test_a_truncated_object_is_a_bad_answer(shape, data):
    text = written(shape, None)
    end = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(BadAnswer):
        read(text[:end], Shape)


WHOLE = '{"items": [{"name": "a"}]}'
HUGE = {
    "open braces": "{" * ANSWER_CHARS,
    "open brackets": "[" * ANSWER_CHARS,
    "both": '{"a":[' * (ANSWER_CHARS // 6),
    "closed braces": "{}" * (ANSWER_CHARS // 2),
    "nested lists": "[" * (ANSWER_CHARS // 2) + "]" * (ANSWER_CHARS // 2),
    "an open string": '{"' + "a" * (ANSWER_CHARS - 2),
    "many open strings": '{"items' * (ANSWER_CHARS // 7),
    "backslashes": '{"' + "\\" * (ANSWER_CHARS - 2),
    "a long number": '{"items": ' + "9" * (ANSWER_CHARS - 20),
    "a list of numbers": "[" + "1," * (ANSWER_CHARS // 2 - 2) + "1]",
    "a fence of empty lines": "```" + "\n" * (ANSWER_CHARS - 3),
    "a fence of spaces": "```" + " " * (ANSWER_CHARS - 3),
    "a fence of letters": "```" + "a" * (ANSWER_CHARS - 3),
    "fences": "```\n" * (ANSWER_CHARS // 4),
    "labelled fences": "```json \n\n" * (ANSWER_CHARS // 10),
    "backticks": "`" * ANSWER_CHARS,
    "fences with braces": "```\n{\n" * (ANSWER_CHARS // 6),
    "a million characters": WHOLE + " " * 10**6,
}


@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE)
def test_what_is_huge_or_hostile_is_a_bad_answer_at_once(text):
    began = time.process_time()
    with pytest.raises(BadAnswer):
        read(text, Shape)
    assert time.process_time() - began < QUICK


WRONG = {
    "a field that lacks": f'{{"{SECRET}": 1}}',
    "another type": f'{{"items": "{SECRET}"}}',
    "a wrong item": f'{{"items": [{{"name": {{"x": "{SECRET}"}}}}]}}',
    "a wrong number": f'{{"items": [{{"name": "a", "weight": "{SECRET}"}}]}}',
    "many": json.dumps({"items": [{"name": "", "weight": SECRET}] * 50}),
    "a list of others": f'[{{"x": "{SECRET}"}}]',
    "no object": SECRET,
    "a string": f'"{SECRET}"',
    "a list for an object": json.dumps({"items": [{"name": "a"}], "more": [SECRET]}),
}


@pytest.mark.parametrize(
    ("written", "kept"), [("a\\u0000b", "ab"), ("a\\ud800", "a�"), ("\\ud83d\\ude00", "😀"), ("\\\\u0000", "\\u0000")]
)
def test_what_cannot_be_stored_is_taken_out(written, kept):
    found = read(f'{{"items": [{{"name": "{written}"}}], "more": {{"{written}": ["{written}"]}}}}', Shape)
    assert found == Shape(items=[Item(name=kept)], more={kept: [kept]})


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_an_error_says_what_is_wrong_and_quotes_nothing(text):
    with pytest.raises(BadAnswer) as caught:
        read(text, Shape)
    assert SECRET not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert caught.value.__cause__ is None


def test_an_error_names_place_and_rule():
    with pytest.raises(BadAnswer, match=r"items\.0\.name: string_too_short"):
        read('{"items": [{"name": ""}]}', Shape)


class Model:
    """Says one text after the other, and keeps what it was asked."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.asked: list[list[dict[str, str]]] = []

    def __call__(self, messages) -> Answer:
        self.asked.append(list(messages))
        return Answer(self.texts.pop(0), Usage(), "m")


PROMPT = [{"role": "user", "content": "List them."}]


def test_a_good_answer_is_not_asked_for_twice():
    model = Model(WHOLE)
    assert ask(model, PROMPT, Shape) == Shape(items=[Item(name="a")])
    assert model.asked == [PROMPT]


def test_a_wrong_answer_is_sent_back_once_with_what_is_wrong_and_shortened():
    model = Model('{"items": 1}' + "x" * 50_000, f"Sorry. {WHOLE}")
    assert ask(model, PROMPT, Shape) == Shape(items=[Item(name="a")])
    (first, again), [_, theirs, ours] = model.asked, model.asked[1]
    assert first == PROMPT
    assert again[: len(PROMPT)] == PROMPT
    assert (theirs["role"], ours["role"]) == ("assistant", "user")
    assert "items: list_type" in ours["content"]
    assert len(theirs["content"]) < 5_000


def test_a_second_wrong_answer_is_an_error():
    model = Model(SECRET, SECRET, WHOLE)
    with pytest.raises(BadAnswer) as caught:
        ask(model, PROMPT, Shape)
    assert SECRET not in str(caught.value)
    assert len(model.asked) == 2
