from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.errors import InvalidInput
from memoryos.text import checked_text


@pytest.mark.parametrize("value", ["a", " a ", "line\nline", "🐝", "你好", "\u202eabc", "a\u200b", "\x01", "\ufeffa"])
def test_text_is_kept_as_it_is(value):
    assert checked_text("text", value, limit=10) is value


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "is empty"),
        (" \n\t\u3000", "is empty"),
        ("a\x00b", "NUL"),
        ("\ud83d", "lone surrogate"),
        ("a\udfffb", "lone surrogate"),
        ("x" * 11, "has 11 characters, the limit is 10"),
        (None, "got NoneType"),
        (b"text", "got bytes"),
        (7, "got int"),
        (["text"], "got list"),
    ],
)
def test_what_is_no_text_is_refused_by_name(value, problem):
    with pytest.raises(InvalidInput, match=rf"^field\.name: .*{problem}") as caught:
        checked_text("field.name", value, limit=10)
    assert caught.value.fix


def test_the_limit_counts_characters_and_is_allowed():
    assert checked_text("text", "🐝" * 10, limit=10) == "🐝" * 10


@given(st.text(st.characters(), max_size=12))
def test_what_is_accepted_can_be_stored(value):
    try:
        accepted = checked_text("text", value, limit=10)
    except InvalidInput:
        assert not value.strip() or len(value) > 10 or "\x00" in value or not can_be_encoded(value)
    else:
        assert accepted.encode("utf-8").decode("utf-8") == value


def can_be_encoded(value):
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
