"""Documents as they arrive: what can be read, and where a text is cut into parts."""

from __future__ import annotations

import io
from itertools import islice

import pytest

from memoryos.errors import InvalidInput
from memoryos.operation.intake.document_parts import PART_CHARS, parts_of
from memoryos.operation.intake.text_source import PIECE_CHARS, pieces_of

CHINESE = "我住在里斯本，养了一条叫罗夫的狗。𠮷野家也在那里。"


def read(source) -> str:
    return "".join(pieces_of(source))


@pytest.mark.parametrize("shift", range(4))
def test_a_character_of_several_bytes_at_the_edge_of_a_read_stays_whole(tmp_path, shift):
    text = "a" * (PIECE_CHARS - shift) + CHINESE * 8_000
    path = tmp_path / "a.txt"
    path.write_text(text, "utf-8")
    assert read(path) == text
    assert read(io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8")) == text


def test_a_file_with_a_mark_of_its_encoding_and_line_ends_of_windows_is_read_as_it_is(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert read(tmp_path / "a.txt") == "one\r\ntwo\r\n"


def test_texts_and_streams_are_read():
    assert read("one") == "one"
    assert read(["one", "", " two"]) == "one two"
    assert read(io.StringIO("one two")) == "one two"
    assert read(iter(())) == ""


def test_an_iterable_is_read_no_further_than_a_part_needs():
    taken = []

    def pieces():
        for number in range(1_000):
            taken.append(number)
            yield "x" * 999 + "\n"

    first = list(islice(parts_of(pieces_of(pieces())), 1))
    assert len(first[0]) == PART_CHARS
    assert len(taken) == PART_CHARS // 1_000 + 1


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (b"bytes", "is a bytes"),
        (5, "is a int"),
        (None, "is a NoneType"),
        (["one", b"two"], "gives bytes"),
        (io.BytesIO(b"one"), "gives bytes"),
        (io.TextIOWrapper(io.BytesIO("Müller".encode("latin-1")), "utf-8"), "is not utf-8 text"),
    ],
)
def test_what_is_no_text_is_refused(source, words):
    with pytest.raises(InvalidInput, match=words) as refused:
        read(source)
    assert refused.value.field == "text"


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    for path in (tmp_path, tmp_path / "none.txt", tmp_path / "a.png"):
        with pytest.raises(InvalidInput):
            read(path)


def test_a_closed_stream_is_refused():
    stream = io.StringIO("one")
    stream.close()
    with pytest.raises(InvalidInput, match="is closed"):
        read(stream)


def paragraphs(count: int) -> str:
    return "\n\n".join(f"Section {number}.\nPump {number} runs. It is {CHINESE}" for number in range(count))


@pytest.mark.parametrize("size", [1, 7, 99, 100, 101, 10_000])
def test_the_parts_do_not_depend_on_the_pieces(size):
    text = paragraphs(60)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    parts = list(parts_of(pieces, 500))
    assert parts == list(parts_of([text], 500))
    assert "".join(parts) == text
    assert max(map(len, parts)) <= 500
    assert all(part.endswith("\n\n") for part in parts[:-1])


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("word " * 100, "word "),
        ("A sentence stands here. " * 30, "here."),
        (CHINESE * 20, "。"),
        ("one line\n" * 50, "line\n"),
        ("x" * 500, "x"),
        ("字" * 500, "字"),
    ],
)
def test_a_part_ends_where_the_text_does(text, end):
    parts = list(parts_of([text], 100))
    assert "".join(parts) == text
    assert all(len(part) <= 100 and part.endswith(end) for part in parts[:-1])
    assert all(len(part) >= 75 for part in parts[:-1])


def test_a_single_line_of_ten_million_characters_is_cut():
    sizes = [len(part) for part in parts_of(["x" * 10_000_000])]
    assert sizes == [PART_CHARS] * 100


def test_white_space_is_no_part():
    assert [part.strip() for part in parts_of(["one", " " * 1_000, "two"], 100)] == ["one", "two"]
    assert list(parts_of([" " * 1_000])) == []


@pytest.mark.parametrize("shift", range(9))
@pytest.mark.parametrize(
    "character",
    [
        "e\u0301\u0323",
        "👩\u200d👩\u200d👧\u200d👦",
        "🇵🇹",
        "👍🏽",
        "❤\ufe0f",
        "각",
        "नि",
        "🏴\U000e0067\U000e0062\U000e007f",
    ],
)
def test_no_part_ends_within_a_character(character, shift):
    text = "x" * shift + character * 100
    parts = list(parts_of([text], 40))
    assert "".join(parts) == text
    assert all(len(part) <= 40 for part in parts)
    assert all((len(part) - (shift if number == 0 else 0)) % len(character) == 0 for number, part in enumerate(parts))


def test_no_part_ends_within_a_line_end():
    assert list(parts_of(["x" * 39 + "\r\n" + "y" * 30], 40)) == ["x" * 39, "\r\n" + "y" * 30]


def test_a_run_of_marks_without_an_end_is_cut_in_the_end():
    parts = list(parts_of(["e" + "\u0301" * 1_000], 100))
    assert "".join(parts) == "e" + "\u0301" * 1_000
    assert max(map(len, parts)) == 100
