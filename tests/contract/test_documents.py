"""Documents of any length: read and stored part by part, and gone on with after a failure."""

from __future__ import annotations

import asyncio
import io
import pickle

import pytest

from memoryos import AsyncMemory
from memoryos.errors import DocumentIncomplete, InvalidInput, KeyReused, PrivacyRefused
from memoryos.operation.intake.document_parts import PART_CHARS
from memoryos.operation.intake.text_source import PIECE_CHARS

FACT = "The passport of Agatha is in the blue drawer."
LINE = "The river runs through the garden of the old mountain hotel, and the window is open.\n\n"
SMALL = 10_000


def pieces(characters: int, fact_at: int = -1):
    """About so many characters of text in small pieces, the fact at one place."""
    for start in range(0, characters, len(LINE)):
        yield LINE
        if start <= fact_at < start + len(LINE):
            yield f"{FACT}\n\n"


@pytest.fixture
def small(open_memory):
    """A memory whose documents have parts of a tenth of the usual length."""
    return open_memory(max_text_chars=SMALL)


def stored(memory) -> str:
    return "".join(page.payload.turns[0].text for page in memory.pages.list())


def test_a_long_document_is_stored_in_parts_and_found(open_memory, long):
    memory, characters = open_memory(), 1_000_000 if long else 300_000
    ids = memory.documents.add(pieces(characters, fact_at=240_000), title="Hotel book", tags=["book"])
    assert len(ids) == (11 if long else 4)  # each ends with a paragraph, a little before its 100,000 characters
    assert [page.id for page in memory.pages.list(tags=["book"])] == ids
    assert stored(memory) == "".join(pieces(characters, fact_at=240_000))
    found = memory.search("Where is the passport of Agatha?")
    assert FACT in found.turns[0].text
    assert found.hits[0].id in ids
    assert found.hits[0].title == "Hotel book"
    assert len(found.hits[0].text) <= PART_CHARS + len("user: ")
    assert FACT in memory.context("Where is the passport of Agatha?", tokens=300).text


def test_only_a_part_is_ahead_of_what_is_stored(small):
    ahead = []

    def counted():
        for number, piece in enumerate(pieces(3 * SMALL)):
            if number % 50 == 0:
                ahead.append(number * len(piece) - len(stored(small)))
            yield piece

    small.documents.add(counted(), title="Hotel book")
    assert SMALL // 2 < max(ahead) <= SMALL + len(LINE)


def failing(text: str, after: int):
    yield text[:after]
    raise ConnectionError("the peer has gone")


def test_what_fails_in_the_middle_names_what_is_stored_and_can_go_on(small):
    memory, text = small, "".join(pieces(3 * SMALL))
    with pytest.raises(DocumentIncomplete, match="the peer has gone") as failed:
        memory.documents.add(failing(text, 25_000), title="Hotel book", idempotency_key="hotel")
    error = failed.value
    assert isinstance(error.__cause__, ConnectionError)
    assert list(error.pages) == [page.id for page in memory.pages.list()]
    assert stored(memory) == text[: error.characters]
    assert 15_000 < error.characters <= 20_000
    again = pickle.loads(pickle.dumps(error))
    assert (again.pages, str(again)) == (error.pages, str(error))
    ids = memory.documents.add(io.StringIO(text), title="Hotel book", idempotency_key="hotel")
    assert ids[:2] == list(error.pages)
    assert stored(memory) == text
    assert memory.documents.add(text, title="Hotel book", idempotency_key="hotel") == ids
    assert memory.pages.count() == len(ids)
    with pytest.raises(KeyReused, match="belongs to another call"):
        memory.documents.add(text[10:], title="Hotel book", idempotency_key="hotel")
    for other in (text[:-20], f"{text}{LINE}" * 2):  # the first parts are the same
        with pytest.raises(KeyReused, match="belongs to another call"):
            memory.documents.add(other, title="Hotel book", idempotency_key="hotel")
    assert stored(memory) == text


def test_what_fails_before_the_first_page_is_told_as_it_is(open_memory):
    memory = open_memory()
    with pytest.raises(ConnectionError):
        memory.documents.add(failing("too short", 9), title="Hotel book")
    assert memory.pages.count() == 0


def test_damage_behind_the_first_part_is_told_with_the_pages(small, tmp_path):
    path = tmp_path / "book.txt"
    text = "".join(pieces(7 * SMALL)).encode()
    path.write_bytes(text + b"\xff\xfe")
    with pytest.raises(InvalidInput, match=f"is not UTF-8 at byte {len(text) + 1:,}, in line"):
        small.documents.add(path)
    assert small.pages.count() == 0, "a file is read to its end before any of it is stored"
    with (
        path.open("rb") as file,
        pytest.raises(DocumentIncomplete, match=f"is not utf-8 text at byte {len(text) + 1:,}") as failed,
    ):
        small.documents.add(io.TextIOWrapper(file, "utf-8"), source="book")
    assert isinstance(failed.value.__cause__, InvalidInput)
    assert small.pages.count() == len(failed.value.pages) == PIECE_CHARS // SMALL


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_what_is_no_utf8_in_a_file_is_told_with_its_place(small, tmp_path, mark):
    path = tmp_path / "book.txt"
    text = "北京天气\n" * 30_000
    place = f"is not UTF-8 at byte {len((mark + text).encode()) + 1:,}, in line 30,001"
    path.write_bytes(f"{mark}{text}".encode() + b"\xff" + LINE.encode() * 900)
    with pytest.raises(InvalidInput, match=place):
        small.documents.add(path)
    path.write_bytes(f"{mark}{text}北".encode()[:-1])
    with pytest.raises(InvalidInput, match=place):
        small.documents.add(path)


@pytest.mark.parametrize("text", ["\u200b", "\ufeff\ufeff", "\u202e \u00ad\n", "\u0301"])
def test_a_text_of_invisible_characters_is_empty(small, text):
    with pytest.raises(InvalidInput, match="Pass at least one visible character"):
        small.documents.add(text, title="Hotel book")
    assert small.pages.count() == 0


@pytest.mark.parametrize("wrong", ["\x00", "\ud800"])
def test_a_character_that_cannot_be_stored_is_found_before_the_first_page_or_named(small, tmp_path, wrong):
    text = "".join(pieces(3 * SMALL))
    place, whole = len(text) - 40, f"{text[:-40]}{wrong}{text[-40:]}"
    line = text.count("\n", 0, place) + 1
    path = tmp_path / "book.txt"
    path.write_bytes(whole.encode(errors="surrogatepass"))
    for source in (whole, path):
        with pytest.raises(InvalidInput, match="UTF-8" if wrong != "\x00" and source == path else f"{place + 1:,}"):
            small.documents.add(source, title="Hotel book")
    assert small.pages.count() == 0
    with pytest.raises(DocumentIncomplete, match=f"as its character {place + 1:,}, in line {line:,}") as failed:
        small.documents.add(
            (whole[start : start + 1_000] for start in range(0, len(whole), 1_000)),
            title="Hotel book",
            idempotency_key="hotel",
        )
    ids = small.documents.add(iter([text]), title="Hotel book", idempotency_key="hotel")
    assert ids[: len(failed.value.pages)] == list(failed.value.pages)
    assert stored(small) == text


def test_a_refused_secret_in_a_later_part_is_told_with_the_pages(open_memory):
    memory = open_memory(privacy_on_write="refuse", max_text_chars=SMALL)
    with pytest.raises(DocumentIncomplete) as failed:
        memory.documents.add([*pieces(SMALL), "Write to ann.lee@example.org."], title="Hotel book")
    assert isinstance(failed.value.__cause__, PrivacyRefused)
    assert "ann.lee" not in str(failed.value)
    assert memory.pages.count() == len(failed.value.pages)


@pytest.mark.parametrize(
    ("text", "field"), [("", "text"), (" \n" * 300_000, "text"), ([], "text"), (["a\x00b"], "text"), (b"one", "text")]
)
def test_what_cannot_be_stored_is_refused(open_memory, text, field):
    memory = open_memory()
    with pytest.raises(InvalidInput) as refused:
        memory.documents.add(text, title="Hotel book")
    assert refused.value.field == field
    assert memory.pages.count() == 0


def test_a_document_has_a_name(open_memory, tmp_path):
    memory = open_memory()
    with pytest.raises(InvalidInput, match="title: is missing"):
        memory.documents.add("My name is John.")
    path = tmp_path / "笔记.txt"
    path.write_text("我的护照在蓝色的抽屉里。", "utf-8")
    (page,) = memory.documents.add(path)
    assert memory.get(page).descriptive.source == "笔记.txt"
    memory.wait()
    assert memory.facts.list() == []
    assert "抽屉" in memory.context("护照在哪里？", tokens=200).text


def test_it_is_awaited(small):
    async def use() -> int:
        return len(await AsyncMemory(small).documents.add(pieces(2 * SMALL - 100), source="book.txt"))

    assert asyncio.run(use()) == 2
