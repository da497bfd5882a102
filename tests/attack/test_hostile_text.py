"""Texts that are made to be slow to read: whatever may repeat in an expression of the library, repeated without end.

Each regular expression is taken apart. For each part that may repeat, a text is made of what stands before it and of
that part again and again, which brings some expressions to try for minutes.
"""

from __future__ import annotations

import gc
import importlib
import json
import pkgutil
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from re import _constants as code  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import memoryos
from memoryos import MemCube, Turn, detect
from memoryos.cube import Page
from memoryos.infrastructure.vault.labelling import Standing, label_details
from memoryos.kinds import State
from memoryos.language.quotation import quotation
from memoryos.language.times import asked_periods, told_periods
from memoryos.operation.consolidation.grounding import Evidence
from memoryos.operation.consolidation.persona import PersonaSchema
from memoryos.operation.consolidation.rules import findings
from memoryos.operation.consolidation.traits import trait_reader
from memoryos.regex import _Regex

from .test_fuzz import CUBE

pytestmark = pytest.mark.once

CHARS = 20_000
SECONDS = 1.5  # of CPU for one text; the slowest takes 0.4
ONE_IN = 360  # of the texts, in CI
NOW = datetime(2026, 6, 1, tzinfo=UTC)
REPEATS = (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT)
CHARACTERS = {code.CATEGORY_SPACE: " ", code.CATEGORY_DIGIT: "7", code.CATEGORY_NOT_WORD: "-"}


def expressions() -> list[tuple[str, int]]:
    """Those of all modules, with their flags; the library of one module is no development tool."""
    for module in pkgutil.walk_packages(memoryos.__path__, "memoryos."):
        if not any(name in module.name for name in ("migrations", "__main__", "frameworks.llamaindex")):
            importlib.import_module(module.name)
    gc.unfreeze()  # those of modules that were loaded before the first test, too
    found = {(one.pattern, one._flags) for one in gc.get_objects() if type(one) is _Regex}
    gc.freeze()
    return sorted(one for one in found if isinstance(one[0], str))


class Sampler:
    """Makes texts that parts of expressions match."""

    def __init__(self) -> None:
        self._chance = random.Random(19)

    def text(self, tree: Any) -> str:
        return "".join(map(self._of, tree))

    def _of(self, node: tuple[Any, Any]) -> str:
        kind, value = node
        if kind is code.LITERAL:
            return chr(value)
        if kind is code.IN:
            return "x" if value[0][0] is code.NEGATE else self._of(self._chance.choice(value))
        if kind is code.RANGE:
            return chr(self._chance.randint(value[0], min(value[1], value[0] + 300)))
        if kind is code.BRANCH:
            return self.text(self._chance.choice(value[1]))
        if kind in REPEATS:
            return self.text(value[2]) * max(value[0], 1)
        if inner := parts(node):
            return self.text(inner[0])
        return CHARACTERS.get(value, "x") if kind in (code.CATEGORY, code.ANY, code.NOT_LITERAL) else ""

    def repeated(self, tree: Any, before: str = "") -> Iterator[tuple[str, str]]:
        """What stands before each part that may repeat, and that part."""
        for node in tree:
            if node[0] in REPEATS and node[1][1] > 3:
                yield before, self.text(node[1][2])
            for inner in parts(node):
                yield from self.repeated(inner, before)
            before += self._of(node)


def parts(node: tuple[Any, Any]) -> list[Any]:
    """The expressions within a part of one."""
    kind, value = node
    if kind is code.BRANCH:
        return list(value[1])
    if kind in REPEATS:
        return [value[2]]
    return [value[3]] if kind is code.SUBPATTERN else [value] if kind is code.ATOMIC_GROUP else []


@cache
def repetitions() -> list[tuple[str, str]]:
    """What stands before something that may repeat, and that."""
    sampler, made = Sampler(), set[tuple[str, str]]()
    for pattern, flags in expressions():
        tree = parser.parse(pattern, flags)
        made |= {("", sampler.text(tree)), ("", sampler.text(tree) + " "), *sampler.repeated(tree)}
        made |= {("", before + part + " ") for before, part in sampler.repeated(tree)}
    return sorted(one for one in made if one[1])


def learned(text: str) -> None:
    findings([page(text)], trait_reader(PersonaSchema.named(None)))


def grounded(text: str) -> None:
    evidence = Evidence.of([page(text)])
    if source := evidence.quoted(text[-40:]):
        evidence.flaw("likes jazz", text[-40:], source)


def page(text: str) -> MemCube:
    return replace(CUBE, payload=Page(turns=(Turn(role="user", text=text),)))


READERS: list[Callable[[str], object]] = [
    learned,
    grounded,
    detect,
    quotation,
    lambda text: told_periods(text, NOW),
    lambda text: asked_periods(text, NOW),
]


def check_is_read_fast(text: str) -> None:
    for number, read in enumerate(READERS):
        began = time.thread_time()
        read(text)
        assert time.thread_time() - began < SECONDS, f"reader {number}: {text[:80]!r}"


def test_no_repetition_is_slow_to_read_or_ends_in_an_error(long):
    assert len(repetitions()) > 5_000
    for before, part in repetitions() if long else repetitions()[::ONE_IN]:
        check_is_read_fast((before + part * (CHARS // len(part)))[:CHARS] + "\x01!")


@pytest.mark.parametrize("text", ["我" + "，" * CHARS, "我住在北京" + "—" * CHARS])
def test_signs_between_clauses_are_not_slow_to_read(text):
    check_is_read_fast(text)


def test_other_labels_by_the_thousand_are_told_in_time():
    """Under the write lock: each was looked for among all others."""
    before, after = (json.dumps([f"{name}{number}" for number in range(20_000)]) for name in "ab")
    began = time.thread_time()
    (told,) = label_details([{"id": "x", "tags": after, "expires_at": None}], {"x": standing(before)}).values()
    assert time.thread_time() - began < SECONDS
    assert len(json.loads(told)["added"]) == 20_000


def standing(tags: str) -> Standing:
    return Standing(State.GENERATED, tags, None)


def test_the_page_about_reliability_tells_how_many_there_are():
    page = (Path(__file__).parents[2] / "docs/explanation/reliability.md").read_text("utf-8")
    share, count = re.search(r"one in ([\d,]+) of the texts \| all of some ([\d,]+) \|", page).groups()
    assert int(share) == ONE_IN
    assert int(count.replace(",", "")) == pytest.approx(len(repetitions()), rel=0.1)


def test_what_may_repeat_is_found_with_what_stands_before_it():
    assert list(Sampler().repeated(parser.parse(r"so (?:no(?:pe)?)+ b"))) == [("so ", "nope")]
