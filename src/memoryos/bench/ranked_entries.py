"""From what a search returned to ranked entries, and what a turn costs in a context."""

from __future__ import annotations

from functools import lru_cache

from memoryos.bench.metrics import Candidate
from memoryos.cube import Turn
from memoryos.errors import InvalidInput
from memoryos.importers.dialogue import Conversation
from memoryos.models.tokenizer import count_tokens
from memoryos.operation.recall.hit import Recall, TurnHit

DATE_TOKENS = 4  # what the date before a turn costs
REMEMBERED = 1 << 16  # costs of texts: the same ones come back for one question after the other


def candidates(conversation: Conversation) -> dict[str, Candidate]:
    """The turns of a conversation by id. Raises InvalidInput if two turns share one."""
    turns: dict[str, Candidate] = {}
    for session in conversation.sessions:
        for turn in session.turns:
            name = turn.source_id or ""
            if name in turns:
                raise InvalidInput(f"{conversation.user} {name}", "names two turns", "Give each turn its own dia_id")
            turns[name] = Candidate(name, session.name, cost(turn, turn.words))
    return turns


def entries(recall: Recall) -> list[Candidate]:
    """The hits, best first, each with the id of its turn and the cost of its own words."""
    return [_entry(hit, hit.source_id) for hit in recall.turns if hit.source_id]


def cost(turn: Turn, words: str) -> int:
    """The tokens of words of a turn in a context, with speaker and date."""
    return _tokens(f"{turn.speaker or turn.role.value}: {words}") + DATE_TOKENS


def _entry(hit: TurnHit, name: str) -> Candidate:
    return Candidate(name, hit.cube.scope.session or "", cost(hit.turn, hit.text))


@lru_cache(REMEMBERED)
def _tokens(line: str) -> int:
    return count_tokens(line)
