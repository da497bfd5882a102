"""From what a search returned to ranked turns, and what a turn costs in a context."""

from __future__ import annotations

from memoryos.bench.metrics import Candidate
from memoryos.errors import InvalidInput
from memoryos.importers.dialogue import Conversation
from memoryos.models.tokenizer import count_tokens
from memoryos.operation.recall.hit import Recall

DATE_TOKENS = 4  # what the date before a turn costs


def candidates(conversation: Conversation) -> dict[str, Candidate]:
    """Every turn of a conversation by its id. Raises InvalidInput when two turns share one."""
    turns: dict[str, Candidate] = {}
    for session in conversation.sessions:
        for turn in session.turns:
            name = turn.source_id or ""
            if name in turns:
                raise InvalidInput(f"{conversation.user} {name}", "names two turns", "Give each turn its own dia_id")
            cost = count_tokens(f"{turn.speaker}: {turn.words}") + DATE_TOKENS
            turns[name] = Candidate(name, session.name, cost)
    return turns


def ranked_ids(recall: Recall) -> list[str]:
    """The source ids of the turns that were found, best first, each once."""
    return list(dict.fromkeys(turn.source_id for turn in recall.turns if turn.source_id))
