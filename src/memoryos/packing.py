"""Packing: what `Memory.context` does: check the arguments, then leave out what the prompt has, and fill the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from memoryos import arguments
from memoryos.cube import Turn
from memoryos.engine import Engine
from memoryos.errors import InvalidInput
from memoryos.items import items
from memoryos.kinds import Kind, Role, Trust
from memoryos.models.tokenizer import count_tokens
from memoryos.nouns.looking_back import looked_back
from memoryos.operation.intake.messages import Messages, is_messages, turns_of_messages
from memoryos.operation.recall.context import Context, pack
from memoryos.operation.recall.filters import Filters
from memoryos.operation.recall.hit import Recall
from memoryos.operation.recall.in_dialogue import said_in
from memoryos.operation.recall.replaced import Replaced
from memoryos.scope import Scope

_NARROWING = ("since", "until", "tags", "filters", "tiers", "session")  # filters
_MOST_MORE = 50  # pages that are asked for in the place of those in the dialogue


@dataclass(frozen=True, slots=True)
class Packing:
    """One call that packs: the owner, the budget, and what the prompt already has."""

    engine: Engine
    scope: Scope
    budget: int  #: tokens
    exclude: frozenset[str]  #: ids of memories, or ids in the source data
    dialogue: Sequence[Turn]  #: the running dialogue, in the words that memories have

    @classmethod
    def of(cls, engine: Engine, scope: Scope, tokens: int | None, exclude: Sequence[str], dialogue: Messages) -> Self:
        """Check the arguments. Raises InvalidInput."""
        budget = arguments.positive("tokens", tokens, engine.settings.context_tokens)
        left_out = frozenset(arguments.ids("exclude", exclude))
        return cls(engine, scope, budget, left_out, _turns(engine, scope, dialogue))

    @property
    def pages(self) -> int:
        """The number of pages to search for: more than fit, because some are left out."""
        exchanges = sum(turn.role is Role.USER for turn in self.dialogue)
        return self.engine.recaller.pages(self.budget) + len(self.exclude) + min(exchanges, _MOST_MORE)

    def packed(self, recalled: Recall, only: arguments.Only) -> Context:
        """The text for a prompt; `only` has the filters of the search."""
        settings = self.engine.settings
        then = looked_back(self.engine, self.scope, only.get("as_of"))
        today = then.at if then else self.engine.clock()
        has_facts = Kind.FACT in arguments.kinds(only.get("kinds", ()))
        ended_by = None if not has_facts or (then and then.snapshot) else today
        least = arguments.trust("min_trust", only.get("min_trust"), settings.min_trust)
        told = {*self.exclude, *said_in(self.dialogue, recalled)}
        names = frozenset(name for name in told if isinstance(name, str))
        others = self._without(recalled, names, ended_by, least)
        start, end = arguments.period(only.get("since"), only.get("until"))
        return pack(
            others,
            self.budget,
            count_tokens,
            today=today,
            exclude=told,
            covers=Filters(today, since=start, until=end).covers,
            pages=settings.most_pages,
            abstain_below=settings.abstain_below,
            replaced=self._replaced(others, only, names, ended_by, least),
        )

    def _without(self, recalled: Recall, names: frozenset[str], ended_by: datetime | None, least: Trust) -> Recall:
        """What was found without what the caller has; facts told in its place are as the caller may see them."""
        others = self.engine.recaller.without(self.scope, recalled, names, ended_by=ended_by, least=least)
        view = self.engine.view()
        if view is None:
            return others
        found = {hit.id for hit in (*recalled.user_facts, *recalled.agent_facts)}
        user, agent = (
            tuple(hit if hit.id in found else replace(hit, cube=view.cube(hit.cube)) for hit in hits)
            for hits in (others.user_facts, others.agent_facts)
        )
        return replace(others, user_facts=user, agent_facts=agent)

    def _replaced(
        self, recalled: Recall, only: arguments.Only, names: frozenset[str], by: datetime | None, least: Trust
    ) -> Mapping[str, tuple[Replaced, ...]]:
        """What the found pages tell that no longer holds, by page."""
        if by is None:
            return {}
        is_narrow = any(_is_given(only.get(name)) for name in _NARROWING)
        return self.engine.replacements.of(self.scope, recalled, names=names, by=by, least=least, is_narrow=is_narrow)


def _is_given(filter_: object) -> bool:
    return filter_ is not None and not (isinstance(filter_, Sized) and len(filter_) == 0)


def _turns(engine: Engine, scope: Scope, dialogue: Messages) -> Sequence[Turn]:
    """The turns of the messages, in the words in which they would be stored."""
    if not is_messages(dialogue):
        fix = "Pass messages of a chat API: dicts with role and content"
        raise InvalidInput("dialogue", f"expected messages, got {type(dialogue).__name__}", fix)
    messages = [dialogue] if isinstance(dialogue, Mapping) else list(items("dialogue", dialogue))
    if not messages:
        return ()
    try:
        turns = turns_of_messages(messages, now=engine.clock(), limit=engine.settings.max_text_chars)
    except InvalidInput as error:
        raise InvalidInput(error.field.replace("messages", "dialogue", 1), error.problem, error.fix) from None
    privacy = engine.privacy(scope)
    return [replace(turn, text=privacy.question(turn.text)) for turn in turns] if privacy.rewrites else turns
