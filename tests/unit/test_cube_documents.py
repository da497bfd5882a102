"""Documents of the store: one that is read again is not parsed again, and its checksum is compared each time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoryos.cube import MemCube, Page, Turn, to_json
from memoryos.errors import CubeDamaged
from memoryos.infrastructure.vault import checksum
from memoryos.infrastructure.vault.cube_documents import parse_document
from memoryos.kinds import Origin, Role
from memoryos.operation.intake.ingest import page_cube
from memoryos.scope import Scope
from memoryos.text_cache import forget_texts

AT = datetime(2026, 5, 8, tzinfo=UTC)


def page(text: str) -> MemCube:
    said = Page(turns=(Turn(role=Role.USER, text=text, at=AT),))
    return page_cube(said, Scope("ann"), now=AT, origin=Origin.USER_INPUT)


PAGE = page("I live in Oslo.")


def test_a_document_is_parsed_once_until_something_is_erased():
    document = to_json(PAGE)
    first = parse_document(PAGE.id, document)
    assert first == PAGE
    assert parse_document(PAGE.id, document[:9] + document[9:]) is first  # another text with the same characters
    forget_texts()
    again = parse_document(PAGE.id, document)
    assert again is not first
    assert again == first


def test_a_long_document_is_not_kept():
    long = page("I live in Oslo. " * 400)
    document = to_json(long)
    assert parse_document(long.id, document) == long
    assert parse_document(long.id, document) is not parse_document(long.id, document)


def test_the_checksum_of_a_known_document_is_compared():
    document = to_json(PAGE)
    told = checksum.of_text(document)
    assert parse_document(PAGE.id, document, told) == PAGE
    with pytest.raises(CubeDamaged):
        parse_document(PAGE.id, document, told + 1)
