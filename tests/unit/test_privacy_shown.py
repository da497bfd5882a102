"""What is shown of a result: where the passages of a turn are in its shown words."""

from __future__ import annotations

import inspect
import sys
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memoryos import Attachment, Scope, Turn
from memoryos.cube import Behaviour, Descriptive, MemCube, Page
from memoryos.kinds import Origin, SemanticType, Tier
from memoryos.operation.recall.hit import TurnHit
from memoryos.operation.recall.shown import Shown
from memoryos.privacy import walk
from memoryos.privacy.protection import Protection
from memoryos.privacy.sensitive import PrivacyAction

MASKS = {"tea": "tea", "a.b@mailbox.org": "[email]", "4111 1111 1111 1111": "[card]", "茶": "茶", "10.0.3.7": "[ip]"}
NOW = datetime(2026, 6, 1, tzinfo=UTC)
SHOWN = Shown(Protection(PrivacyAction.MASK))


def page(turn: Turn) -> MemCube:
    return MemCube(
        id="a",
        scope=Scope(user="ann"),
        tier=Tier.STM,
        payload=Page(turns=(turn,)),
        descriptive=Descriptive(
            event_at=NOW,
            recorded_at=NOW,
            updated_at=NOW,
            origin=Origin.USER_INPUT,
            semantic_type=SemanticType.DIALOGUE,
        ),
        behaviour=Behaviour(last_access=NOW),
    )


def masked(words: list[str]) -> str:
    return "; ".join(MASKS[word] for word in words)


def test_each_field_that_is_kept_is_there():
    classes = {
        name: one
        for known, module in list(sys.modules.items())
        if known.startswith("memoryos.")
        for name, one in inspect.getmembers(module, is_dataclass)
    }
    for name, kept in walk._KEPT.items():
        assert kept <= {one.name for one in fields(classes[name])}, name


@given(st.lists(st.sampled_from(list(MASKS)), min_size=1, max_size=12), st.data())
def test_a_passage_has_the_masks_of_its_words(words, data):
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first + 1, len(words)))
    start = len("; ".join([*words[:first], ""]))
    end = start + len("; ".join(words[first:last]))
    hit = TurnHit(page(Turn(role="user", text="; ".join(words))), 0, 1.0, start=start, end=end)
    assert SHOWN(hit).text == masked(words[first:last])


@given(st.lists(st.sampled_from(list(MASKS)), min_size=1, max_size=12), st.data())
def test_a_passage_that_ends_within_what_is_masked_has_all_of_the_mask(words, data):
    text = "; ".join(words)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    shown = SHOWN(TurnHit(page(Turn(role="user", text=text)), 0, 1.0, start=start, end=end))
    assert shown.text in masked(words)
    assert "[" not in shown.text.rpartition("]")[2] and "]" not in shown.text.partition("[")[0]


def test_a_passage_of_a_caption_is_counted_from_the_end():
    turn = Turn(role="user", text="a.b@mailbox.org", attachments=(Attachment(caption="tea at 10.0.3.7 or later"),))
    start = turn.words.index("or later")
    shown = SHOWN(TurnHit(page(turn), 0, 1.0, start=start, end=start + len("or later")))
    assert (shown.text, shown.turn.words) == ("or later", "[email] [tea at [ip] or later]")


def test_a_whole_turn_stays_whole_and_nothing_to_mask_changes_nothing():
    hit = TurnHit(page(Turn(role="user", text="a.b@mailbox.org")), 0, 1.0)
    assert (SHOWN(hit).text, SHOWN(hit).end) == ("[email]", None)
    plain = page(Turn(role="user", text="tea"))
    assert SHOWN(plain) is plain
