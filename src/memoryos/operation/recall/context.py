"""Context: recalled memories as text, within a budget of tokens.

At any budget, the text should hold as much as possible of what answers the question, so turns come first, best first.
What was stated outright (`facts.add`, `profile.set`) is in no turn: it comes before them if it has more of the
question's words, or as many. A share of a larger budget goes to profile, traits and facts, by their value for the
question per token. If nothing is asked ("Hello!"), they and the latest turns get half. A fact is left out beside the
words that it rests on. The best turn is cut if the whole budget is too small for it. The rest of the budget goes to
turns that were too long, shortened to what matters, then to turns around the best ones, then to the latest ones. A turn
that says nothing by itself ("Okay.") only stands beside another turn of its page, and a short reply only behind what it
answers (`waiting`). Behind words that no longer hold, a note says until when they did, and what holds now (`replaced`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from types import MappingProxyType

from memoryos.cube import MemCube, Trait
from memoryos.kinds import Level, Subject
from memoryos.language.calendar import spoken
from memoryos.language.quotation import item, quotation
from memoryos.language.words import index_words
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.recall.cut import LEAST, asked_words, cut, share
from memoryos.operation.recall.draft import Draft
from memoryos.operation.recall.growing import CountTokens
from memoryos.operation.recall.hit import Hit, Recall, TurnHit, quoted
from memoryos.operation.recall.line import Line, Section, hit_line, notes, whole_turn
from memoryos.operation.recall.replaced import Replaced, has_given_way
from memoryos.operation.recall.trust import outside_mark
from memoryos.operation.recall.waiting import Waiting
from memoryos.plain import Plain

FREE = 512  # tokens reserved for turns if something is asked
BESIDE = 24  # of the tokens above that, this fraction (1/n) is for profile, traits and facts
LONGEST = 200  # most tokens of a shortened turn or fact, and of a stated one that may take the whole budget
LEAST_OF_BEST = 12  # fewest tokens of the best turn if it does not fit as a whole: a short sentence
LOOKED_AT = 20  # characters of found turns for each token: about five times what a token has
COURTESY = 12  # characters of a turn that may say nothing by itself
OUTRIGHT = 0.5  # least share of the question's words that a stated memory has which comes before turns
COMPARED = 8  # best turns that it is compared with
PRIOR = 0.1  # base value of every known fact, in addition to its likeness to the question

NOTHING_FOUND = "Nothing in memory answers this question."


@dataclass(frozen=True, slots=True)
class Context(Plain):
    """Text for a prompt, with the ids of the memories in it."""

    text: str  #: the lines as text for a prompt
    tokens: int  #: tokens of the text
    ids: tuple[str, ...]  #: ids of the cubes in the text
    source_ids: tuple[str, ...]  #: their ids in the source data
    lines: tuple[Line, ...] = ()  #: the lines, in the order of the text
    found: bool = True  #: False if nothing bears on the question; then the text only says so, or is empty
    fits: bool = True  #: False if something was found, but `tokens` are too few for any line; then the text is empty


def persona_draft(recalled: Recall, budget: int, count_tokens: CountTokens) -> Draft:
    """The profile and the notable traits: what hardly changes between questions."""
    draft = Draft(budget, count_tokens)
    draft.fill(_persona(recalled))
    return draft


def pack(
    recalled: Recall,
    budget: int,
    count_tokens: CountTokens,
    *,
    today: datetime | None = None,
    exclude: Collection[str | tuple[str, int]] = (),
    covers: Callable[[datetime], bool] = lambda _: True,
    pages: int | None = None,
    recent: bool = True,
    persona: bool = True,
    abstain_below: float = 0.0,
    replaced: Mapping[str, tuple[Replaced, ...]] = MappingProxyType({}),
) -> Context:
    """Fill the budget in order of value, then arrange the text by section and time.

    A line that does not fit is skipped, so that a long turn cannot block shorter ones. `exclude` names the turns that
    the caller already has: ids of pages, ids in the source data, or (page, number of the turn). `left_out` takes what
    was derived from them out of `recalled` before. `covers` says whether the time of a turn is allowed. The found turns
    come from at most `pages` pages. `recent=False` and `persona=False` leave out the latest turns, or profile and
    traits, for prompts that have them elsewhere. If the confidence is below `abstain_below`, the text only says that
    nothing was found. `replaced` is what pages tell that no longer holds; a turn with it has a note.
    """
    if 0 < recalled.confidence < abstain_below:  # 0: the text would be empty anyway
        return _nothing(Draft(budget, count_tokens, today))
    stock = _Stock(recalled, frozenset(exclude), covers, today, pages, LOOKED_AT * (budget + FREE), replaced)
    draft = Draft(budget, count_tokens, today)
    asked = asked_words(recalled.query)
    beside = stock.beside(asked, count_tokens, persona=persona)
    _take_outright(draft, stock.outright(beside, asked), asked, today)
    waiting = Waiting(draft, asked, stock.is_wanted)
    turns, leave = waiting.ready(stock.turns()), max(0, budget - FREE) // BESIDE if asked else budget // 2
    passed = draft.fill(islice(turns, 1), leave=leave)
    if asked:
        passed = [best for best in passed if not _take_cut(draft, best, asked, least=LEAST_OF_BEST)]
    found = chain(turns, waiting.rest())
    passed += draft.fill(found, leave=leave)
    known = iter(beside) if asked or not recent else chain(beside, stock.latest(waiting))
    long = draft.fill(known)
    for line in draft.fill(chain(passed, found)):
        _take_cut(draft, line, asked)
    for line in long:
        _take_part(draft, line, asked, draft.room, today)
    draft.finish(chain(stock.around(waiting), stock.latest(waiting) if recent else (), long, known))
    return _bound(draft, budget, is_known=stock.has_words(recent=recent) or bool(long))


def _nothing(draft: Draft) -> Context:
    text = draft.saying(NOTHING_FOUND)
    return Context(text, draft.count_tokens(text), ids=(), source_ids=(), found=False)


def _bound(draft: Draft, budget: int, *, is_known: bool) -> Context:
    lines = draft.lines()
    return Context(
        text=draft.laid_out(lines),
        tokens=budget - draft.room if lines else 0,
        ids=tuple(dict.fromkeys(line.cube.id for line in lines)),
        source_ids=tuple(source for line in lines for source in line.source_ids),
        lines=tuple(lines),
        found=is_known or bool(lines),
        fits=bool(lines) or not is_known,
    )


def _take_cut(draft: Draft, line: Line, asked: Collection[str], least: int = LEAST) -> bool:
    """Take the part of a turn that matches the question best, if there is enough room for it; whether there was."""
    if draft.room < least or line.turn is None:
        return False
    words, brief = (
        turns_of(line.cube)[line.turn].words,
        replace(line, replaced=tuple(one.brief for one in line.replaced)),
    )
    noted = draft.count_tokens(" ".join(notes(words, brief.replaced)))
    room = min(LONGEST, draft.room - draft.price(brief.with_spans([(1, 1)])) - noted)
    for start, end in line.spans:
        if found := cut(words[start:end], asked, room, lambda part: draft.count_tokens(quotation(part))):
            return draft.take(brief.with_spans([(start + found[0], start + found[1])]))
    return False


def _take_outright(draft: Draft, told: _Outright, asked: Collection[str], today: datetime | None) -> None:
    """Take what was stated: in half of the room what has more than the turns, in a quarter what has as much.

    The best of it may take all the room: half of a fact often lacks the half that was asked for.
    """
    room = draft.room
    draft.fill(line for line in told.more[:1] if draft.price(line) <= LONGEST)
    for line in draft.fill(told.more, leave=room // 2)[:1]:
        _take_part(draft, line, asked, draft.room - room // 2, today, least=LEAST_OF_BEST)
    draft.fill(told.as_much, leave=room * 3 // 4)


def _take_part(
    draft: Draft, line: Line, asked: Collection[str], room: int, today: datetime | None, least: int = LEAST
) -> None:
    """Take the part of a long fact or field that matches the question best, if there is enough room for it."""
    words, whole = line.cube.text, line.key not in draft and share(line.cube.text, asked)
    if room < least or not whole:
        return
    room = min(LONGEST, room - draft.price(replace(line, text=_item(line.cube, today, "… …"))))
    if found := cut(words, asked, room, lambda part: draft.count_tokens(quotation(part))):
        draft.take(replace(line, text=_item(line.cube, today, quoted(words, [found]))))


@dataclass(frozen=True, slots=True)
class _Outright:
    """Lines of what was stated, most of the question's words first."""

    more: Sequence[Line] = ()  #: with more of them than each of the best turns
    as_much: Sequence[Line] = ()  #: with as many as the best of these


@dataclass(frozen=True, slots=True)
class _Stock:
    """All lines that may be included."""

    recalled: Recall
    exclude: frozenset[str | tuple[str, int]]
    covers: Callable[[datetime], bool]
    today: datetime | None
    pages: int | None
    characters: int  # of found turns that are looked at: in a text with few words, the search finds far too many
    replaced: Mapping[str, tuple[Replaced, ...]]  # by page

    def is_wanted(self, page: MemCube, number: int) -> bool:
        """Whether the text may have the turn."""
        turn = turns_of(page)[number]
        return not self._is_left_out(page.id, number, turn.source_id) and self.covers(
            turn.at or page.descriptive.event_at
        )

    def _is_left_out(self, page: str, number: int, source: str | None) -> bool:
        if not self.exclude:  # as nearly always: a text asks this of each turn several times
            return False
        return not self.exclude.isdisjoint(name for name in (page, (page, number), source) if name)

    def has_words(self, *, recent: bool) -> bool:
        """Whether the text may have a turn, if there is room for it."""
        latest = chain.from_iterable(_spoken(hit.cube) for hit in self.recalled.recent if recent)
        return any(self.turns()) or any(self.is_wanted(cube, number) for cube, number in latest)

    def turns(self) -> Iterator[Line]:
        """The turns that the search found, best first."""
        seen = 0
        for hit in self._hits():
            if not says_nothing(hit.text):
                yield hit_line(_section(hit.mount), hit, self.replaced.get(hit.cube.id, ()))
            seen += hit.span[1] - hit.span[0]
            if seen > self.characters:
                return

    def around(self, waiting: Waiting) -> Iterator[Line]:
        """The other turns of the found pages, as long as the draft may have room for them."""
        for hit in {hit.cube.id: hit for hit in self._hits()}.values():
            yield from self._page(_section(hit.mount), hit.cube, waiting)

    def _hits(self) -> Iterator[TurnHit]:
        """The found turns that the caller wants."""
        pages: set[str] = set()
        for hit in self.recalled.turns:
            if self.is_wanted(hit.cube, hit.index) and (hit.cube.id in pages or len(pages) != self.pages):
                pages.add(hit.cube.id)
                yield hit

    def latest(self, waiting: Waiting) -> Iterator[Line]:
        """The turns of STM, latest first, as long as the draft may have room for them."""
        for hit in reversed(self.recalled.recent):
            yield from self._page(Section.TALK, hit.cube, waiting)

    def beside(self, asked: Collection[str], count_tokens: CountTokens, *, persona: bool) -> list[Line]:
        """Profile, traits and facts, by value per token."""
        lines = list(self._facts())
        if persona:
            lines += _persona(self.recalled, asked)
        return sorted(lines, key=lambda line: -(line.score + PRIOR) / (1 + count_tokens(line.text)))

    def outright(self, beside: Iterable[Line], asked: Collection[str]) -> _Outright:
        """Those of the lines that rest on no page, so that no turn says them, and that say as much as the turns."""
        said = max((share(hit.titled, asked) for hit in islice(self._hits(), COMPARED)), default=0.0)
        shares = {line.key: share(line.cube.text, asked) for line in beside if not line.cube.descriptive.provenance}
        known = [line for line in beside if shares.get(line.key, 0.0) >= max(said, OUTRIGHT)]
        known.sort(key=lambda line: -shares[line.key])
        return _Outright(
            [line for line in known if shares[line.key] > said], [line for line in known if shares[line.key] == said]
        )

    def _facts(self) -> Iterator[Line]:
        known: tuple[tuple[Section, Iterable[Hit]], ...] = (
            (Section.USER, self.recalled.user_facts),
            (Section.AGENT, self.recalled.agent_facts),
            (Section.SHARED, self.recalled.knowledge),
        )
        for section, hits in known:
            for hit in hits:
                is_ended = self.today is not None and has_given_way(hit.cube, self.today)
                yield Line(section, _item(hit.cube, self.today), hit.cube, score=hit.score, is_ended=is_ended)

    def _page(self, section: Section, cube: MemCube, waiting: Waiting) -> Iterator[Line]:
        draft = waiting.draft
        for number, turn in enumerate(turns_of(cube)):
            if says_nothing(turn.words) and not draft.tells_of(cube.id):
                continue
            if waiting.is_lone_reply(cube, number):
                continue
            if draft.may_take((cube.id, number), turn.words) and self.is_wanted(cube, number):
                yield whole_turn(section, cube, number, self.replaced.get(cube.id, ()))


def _spoken(page: MemCube) -> Iterator[tuple[MemCube, int]]:
    """The turns of a page that say something, by their numbers."""
    return ((page, number) for number, turn in enumerate(turns_of(page)) if not says_nothing(turn.words))


def says_nothing(words: str) -> bool:
    """Whether a short turn has only function words, such as "Okay." or "Thanks!"."""
    return len(words) <= COURTESY and any(map(str.isalpha, words)) and not index_words(words)


def _section(mount: str | None) -> Section:
    return Section.SHARED if mount else Section.TALK


def _persona(recalled: Recall, asked: Collection[str] = ()) -> Iterator[Line]:
    for cube in (*recalled.profile, *recalled.traits):
        if not isinstance(cube.payload, Trait) or cube.payload.level is not Level.LOW:  # a low one says little
            section, text = Section.USER if cube.subject is Subject.USER else Section.AGENT, _item(cube)
            yield Line(section, text, cube, score=share(text, asked) if asked else 0.0)


def _item(cube: MemCube, today: datetime | None = None, words: str | None = None) -> str:
    return item(f"{outside_mark(cube)}{dated(cube, today, words)}")


def dated(cube: MemCube, today: datetime | None = None, words: str | None = None) -> str:
    """A fact, or these words of it, with the date on which it was said, or with its end if that has passed."""
    end, text = cube.descriptive.valid_to, cube.text if words is None else words
    if end and today and end <= today:
        return f"{text} (until {spoken(end)})"
    return f"{text} ({spoken(cube.descriptive.event_at)})"
