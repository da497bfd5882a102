"""The slots that English statements fill: "Tom lives in Rome", "my favourite color is blue", "stopped smoking"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from memoryos.language.crafts import LEFT_CRAFT, practitioner
from memoryos.language.leading_time import without_leading_time
from memoryos.language.life_changes import CHANGED_JOBS, MOVED_THERE
from memoryos.language.no_places import NOT_PLACES
from memoryos.language.occupations import JOB
from memoryos.language.stopwords import FUNCTION_WORDS
from memoryos.language.words import stem, words
from memoryos.operation.knowledge.filling import MEAT, NO, NONE_LEFT, WORK, YES, Filling, Slot
from memoryos.operation.knowledge.person import is_person
from memoryos.regex import regex

# Words before the verb with which nothing is claimed of the present: wishes, plans, suppositions, the past.
_NOT_CLAIMED = frozenset(
    """to will would might may could should want wants wanted hope hopes plan plans if when whether used who that which
    because once before had was were dreams thinks wishes wish considering maybe perhaps almost nearly how where what
    start starts begin begins say says said told claims claimed heard dreamt dreamed
    i'll i'd we'll we'd""".split()
)
_NEGATIONS = frozenset(
    """not never don't doesn't didn't isn't aren't ain't haven't hasn't can't cannot won't longer stopped quit
    dont doesnt""".split()
)
_AUXILIARIES = frozenset("is am are 's 'm 're 've be been has have do does did can no gave up started began".split())
_ADVERBS = frozenset(
    """still now currently just recently also always often usually really very much actually finally already sometimes
    mostly generally typically regularly even totally absolutely simply lately newly happily officially only""".split()
)
_GENERIC = regex(r"(?:(?:the )?user|(?:the )?speaker|(?:the )?assistant|i|we|he|she|they)", re.IGNORECASE)

_LEAD = regex(
    r"^(?:(?:well|oh|yes|so|and|but|now|currently|recently|lately|today|yesterday|these days|nowadays)\b,?\s+"
    r"|(?:since|in|on|last|this|from|as of)\b[^,]{1,30},\s+)+",
    re.IGNORECASE,
)
_HOLDER = r"(?P<holder>(?:[\w'.&-]+(?: [\w'.&-]+){0,6}?)?)(?:^|\s+|(?='(?:m|s|re|ve)\b))"
_BE = r"(?:'m|'s|'re|is|am|are)"
_HAS = r"(?:'ve|'s|has|have)"
_PLACE = r"(?P<value>(?:the )?[A-Z][\w'.-]*(?:(?: (?:of|de|la|do|upon))? [A-Z][\w'.-]*)*)"
_COMPANY = r"(?P<value>(?:the )?[A-Z0-9][\w'.&-]*(?: (?:of |and |& )?[A-Z][\w'.&-]*)*)"
_END = (
    r"(?=\s*(?:[.,;!()]|$)|\s(?:and|but|at|in|for|with|on|from|since|because|now|again|who|by|until|these|any"
    r"|any ?more|last|this)\b)"
)
_LATEST = r"(?:new |latest |current )?"
_NUMBER = r"(?P<value>\+?[\d(][\d\s().-]{4,}\d)"
_ADDRESS = r"(?P<value>[^\s@]+@[^\s@,;]+[^\s@,;.])"
_SPARE = r"(?:\w+ly |still |now |just |also |both |back |not |no longer |never )*"
_BECAME = rf"(?:(?:is|'s) {_SPARE}|(?:has )?(?:just )?changed to )"
_DO_NOT = r"(?:(?:do|does)(?:n't| not) |stopped |quit )?"
_NOT_ALSO = r"(?:\w+ly |still |now |just |back |not |no longer |never )*"
_THEIR = r"(?:my|our|their|his|her|the) (?:old |current )?"
_ROLE = r"(?:job|position|role|post)"
_NO_EMPLOYER = (  # one joins them without working there
    r"(?!\w+ and )"
    r"(?![^,;.]*\b(?i:club|church|party|society|association|union|league|choir|band|gym|community|group|forum|class"
    r"|orchestra|scouts|rotary|mensa|toastmasters|red cross|newsletter|facebook|instagram|twitter|whatsapp|discord"
    r"|slack|reddit|linkedin|tiktok|tinder|bumble|hinge|telegram|signal|mastodon|bluesky|snapchat|strava|netflix"
    r"|spotify|zoom|goodreads|duolingo|patreon|twitch|youtube|meetup|airbnb|costco|crossfit|weight watchers"
    r"|as an? (?:\w+ )?(?:member|volunteer|guest|fan|supporter|donor|user))\b)"
)
_JOINED = (
    r"(?=\s*(?:[.,;!()]|$)|\s(?:last|this|yesterday|today|recently|after|as|(?:a|two|three|four|five|six) \w+ ago"
    r"|in (?:\d{4}|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|early|late|spring|summer|autumn|fall|winter)"
    r"|on \d{1,2})\b)"
)
_FIRED = r"(?:fired|laid off|made redundant|let go)"
_STAYED = (  # no move that was over when it was told
    r"(?!.*\b(?:temporarily|returned|(?:came|moved|went) back"
    r"|for (?:an?|one|two|three|four|five|six|a few|several|\d+) (?:days?|weeks?|months?|years?|summer|winter|while)))"
)
_DIET = r"(?:an? )?(?P<value>vegan|vegetarian|pescatarian)\b"
_GONE = r"(?=\s*[.,;!()]|$| (?:after|when|because|in|last|this|on|yesterday|today|and|since)\b)"
_PARTED = (
    r"(?=\s*(?:[.;!()]|$)|\s(?:for an|last|this|yesterday|recently|for good|in (?:\d|[A-Z])|after \w+ years|a \w+ ago))"
)
_CALLED = r"(?:,? [A-Z]\w+,?)?"
_SPOUSE = r"(?:husband|wife|spouse)"
_Rule = tuple[str, re.Pattern[str], bool, tuple[str, ...]]


def _rule(relation: str, pattern: str, *, change: bool = False, ends: tuple[str, ...] = ()) -> _Rule:
    return relation, regex(rf"^{_HOLDER}{pattern}"), change, ends


_RULES = (
    _rule("residence", rf"(?:{_BE} )?{_DO_NOT}{_SPARE}(?:lives?|living|resides?|residing|based) {_SPARE}in {_PLACE}"),
    _rule("residence", rf"{_HAS} (?:been )?{_SPARE}(?:lived|living|based) {_SPARE}in {_PLACE}(?=.*\b(?:since|for)\b)"),
    _rule(
        "residence",
        rf"(?:{_HAS} )?{_SPARE}(?:moved|relocated) (?:back |over |out )?(?:from .{{2,40}}? )?to {_PLACE}{_STAYED}",
        change=True,
    ),
    _rule(
        "residence",
        rf"{_BE} {_SPARE}(?:living |based )?in {_PLACE}{MOVED_THERE}",
        change=True,
    ),
    _rule("residence", rf"(?:{_HAS} )?{_SPARE}settled (?:down )?in {_PLACE}{_STAYED}", change=True),
    _rule("residence", rf"(?:{_HAS} )?{_SPARE}(?P<gone>moved (?:out of|away from)) {_PLACE}", change=True),
    _rule("residence", rf"(?:{_HAS} )?{_SPARE}(?P<gone>left) {_PLACE} (?:for good|forever|permanently)", change=True),
    _rule(
        "residence",
        rf"(?:{_HAS} )?{_SPARE}(?:sold|left|gave up|packed up|let go of) [^,;]{{2,60}}?,? and (?:(?:I|we) )?{_SPARE}"
        r"(?:(?:am|is|are) )?now (?:(?:am|is|are) )?(?:lives?|living|rents?|renting)(?: an? \w+(?: \w+)?)? "
        rf"in {_PLACE}",
        change=True,
    ),
    _rule("employer", rf"(?:{_BE} )?{_DO_NOT}{_SPARE}(?:works?|working|employed) (?:at|for|by) {_COMPANY}"),
    _rule("employer", rf"{_HAS} (?:been )?{_SPARE}(?:worked|working) (?:at|for) {_COMPANY}(?=.*\bsince\b)"),
    _rule(
        "employer",
        rf"(?:{_HAS} )?{_SPARE}(?:(?:got|found|took|accepted|landed) (?:an?|the|their) (?:new )?{_ROLE} (?:at|with)"
        rf"|accepted (?:an?|the|their) (?:job )?offer (?:of|from)|started (?:working |an? (?:new )?{_ROLE} |work )?at"
        rf"|got hired (?:at|by)|was hired by|moved over to work for) {_COMPANY}",
        change=True,
    ),
    _rule(
        "employer",
        rf"(?:{_HAS} )?{_SPARE}(?P<gone>quit|left|resigned from|(?:was |got )?{_FIRED} (?:from|by|at)) {_COMPANY}"
        rf"{_GONE}",
        change=True,
    ),
    _rule(
        "occupation",
        rf"(?:{_HAS} )?{_SPARE}(?P<gone>quit|left|lost|gave up) {_THEIR}(?:job|position|work) as (?:an? |the )?"
        rf"(?P<value>[\w' -]+?){_END}",
        change=True,
        ends=("employer",),
    ),
    _rule(
        WORK,
        rf"(?:{_HAS} )?{_SPARE}(?P<value>(?:quit|lost|left|gave up|resigned from) {_THEIR}(?:job|position|work)\b"
        rf"(?! to\b)|(?:was |got |been ){_FIRED}\b|laid off\b"
        r"|retired\b(?! (?:to|early to|the|my|our|an?|this|that|\w+er)\b))",
        change=True,
        ends=("occupation", "employer"),
    ),
    _rule(
        WORK,
        rf"{_BE} {_SPARE}(?P<value>unemployed|out of work|between jobs|jobless|retired\b(?! \w+er\b))",
        ends=("occupation", "employer"),
    ),
    _rule(
        "occupation",
        rf"(?:{_HAS} )?{_SPARE}(?:started|began) (?:working|to work|work) as (?:an? |the )?(?P<value>[\w' -]+?){_END}",
        change=True,
    ),
    _rule(
        "occupation",
        rf"(?:{_BE} )?{_DO_NOT}{_SPARE}(?:works?|working|employed) as (?:an? |the )?(?P<value>[\w' -]+?){_END}",
    ),
    _rule(
        "occupation",
        rf"(?:{_HAS} )?{_SPARE}(?:got|found|started|landed|took) (?:a|the|their) new (?:job|position|role) as "
        rf"(?:an? |the )?(?P<value>[\w' -]+?){_END}",
        change=True,
        ends=("employer",),
    ),
    _rule(
        "occupation",
        rf"(?:{_HAS} )?{_SPARE}(?:got|found|started|landed|took) (?:an?|the|their) (?:job|position|role) as "
        rf"(?:an? |the )?(?P<value>[\w' -]+?){_END}",
        change=True,
    ),
    _rule(
        "occupation",
        rf"(?:{_HAS} )?{_SPARE}(?:(?:was|got|been) {_SPARE}(?:hired|promoted|appointed) (?:as|to)|became|become"
        rf"|retrained as|qualified as) (?:an? |the )?{JOB}{_END}",
        change=True,
    ),
    _rule("occupation", rf"{_BE} {_NOT_ALSO}an? {JOB}{_END}(?!.*\b(?:too|as well|on the side)\b)"),
    _rule("employer", rf"(?:{_HAS} )?{_SPARE}(?P<joined>joined) {_NO_EMPLOYER}{_COMPANY}{_JOINED}", change=True),
    _rule("employer", rf"{_LATEST}employer {_SPARE}(?:is|'s) {_SPARE}{_COMPANY}"),
    _rule("diet", rf"{_BE} {_SPARE}{_DIET}"),
    _rule("diet", rf"{_HAS} {_SPARE}been {_SPARE}{_DIET}(?=.*\b(?:since|for)\b)"),
    _rule("diet", rf"(?:{_HAS} )?{_SPARE}(?:went|gone|became|become|turned) {_DIET}", change=True),
    _rule("diet", rf"(?:{_HAS} )?{_SPARE}(?P<gone>(?:stopped|quit|gave up) being) {_DIET}", change=True),
    _rule("name", rf"(?:full |real |first )?name {_SPARE}(?:is|'s) (?P<value>[A-Z]\w+(?: [A-Z]\w+)*){_END}"),
    _rule("name", r"(?:is|'s|are) (?:called|named) (?P<value>[A-Z]\w+(?: [A-Z]\w+)*)"),
    _rule("name", r"changed (?:my |his |her |their )?name to (?P<value>[A-Z]\w+(?: [A-Z]\w+)*)", change=True),
    _rule("age", rf"{_BE} {_SPARE}(?P<value>\d{{1,3}})(?: years? old)?\s*(?:now)?\s*(?:[.!]|$)"),
    _rule("age", rf"(?:{_HAS} )?{_SPARE}turned (?P<value>\d{{1,3}})\b(?! (?:pages?|times?))"),
    _rule(
        "marital status",
        rf"{_BE} {_SPARE}(?P<value>single|married|divorced|engaged|widowed|separated)\b(?![-\w])(?! (?:in|from) the\b)"
        r"(?! in\b)",
    ),
    _rule(
        "marital status",
        rf"(?:{_HAS} )?{_SPARE}(?:got|gotten) {_SPARE}(?P<value>married|divorced|engaged)\b",
        change=True,
    ),
    _rule(
        "marital status",
        rf"{_SPOUSE}{_CALLED} {_SPARE}(?:has )?(?P<value>died|passed away){_GONE}",
        change=True,
    ),
    _rule(
        "marital status",
        rf"(?:{_HAS} )?{_SPARE}(?P<gone>(?:split|broke|broken) up|separated)(?P<value>)"
        rf"(?: (?:with|from) [\w ]{{1,30}}?)?{_PARTED}",
        change=True,
    ),
    _rule(
        "marital status",
        rf"(?:{_HAS} )?{_SPARE}(?P<gone>left) (?:my|their|his|her) {_SPOUSE}(?P<value>){_PARTED}",
        change=True,
    ),
    _rule(
        "marital status",
        rf"{_SPOUSE}{_CALLED} {_SPARE}(?:has )?(?P<gone>left|divorced) (?:me|them|her|him)(?P<value>){_PARTED}",
        change=True,
    ),
    _rule(
        "phone",
        rf"{_LATEST}(?:(?:cell|mobile|phone|telephone|cellphone|mobile phone)(?: phone)?(?: number)?|number)"
        rf" {_BECAME}{_NUMBER}",
    ),
    _rule("phone", rf"(?:can be reached|is reachable) (?:at|on|under) {_NUMBER}"),
    _rule(
        "phone", rf"(?:changed|switched) (?:\w+ ){{0,2}}?(?:phone|mobile|number)(?: number)? to {_NUMBER}", change=True
    ),
    _rule("e-mail", rf"{_LATEST}e-?mail(?: address)? {_BECAME}{_ADDRESS}"),
    _rule("e-mail", rf"(?:can be reached|is reachable) (?:at|on|under) {_ADDRESS}"),
    _rule("e-mail", rf"(?:changed|switched) (?:\w+ ){{0,2}}?e-?mail(?: address)? to {_ADDRESS}", change=True),
    _rule(
        "favourite",
        rf"{_SPARE}favou?rite (?P<of>(?!thing|part|one|things|parts)\w+(?: (?!is\b|'s\b|has\b)\w+){{0,2}}?) "
        rf"(?:{_SPARE}(?:is|'s)(?: now)?|has become|has to be|has changed to) "
        rf"{_SPARE}(?:the )?(?P<value>(?!when|how|that)[^.,;!]+)",
    ),
)
_WORKPLACE = regex(rf" (?:at|for|with) {_COMPANY}")
_AS_A = regex(" as an? ")
_LEFT_CRAFT = regex(rf"^{_HOLDER}(?:(?:{_HAS}|{_BE}) )?{_SPARE}(?P<leaves>){LEFT_CRAFT}")
_SWITCHED = regex(rf"^{_HOLDER}(?:{_HAS} )?{_SPARE}{CHANGED_JOBS}[,;:]? (?:and )?(?:now )?")
# "I haven't moved, I still live in Oslo": what has not changed stands before what holds still.
_UNCHANGED = regex(
    rf"^{_HOLDER}(?:have|has|did)(?:n't| not) (?:changed? (?:{_THEIR})?(?:jobs?|careers?|employers?)"
    r"|moved?|relocated?)[,;] (?:and |so |but )?"
)
_NUMBERS = frozenset({"phone"})
_OVER = {"occupation": (WORK,), "employer": (WORK,), "diet": ("eat",)}  # what a value of a relation ends
_BEING = regex(
    rf"^{_HOLDER}{_BE} (?P<no>not |no longer )?(?:still |now |also )?an? (?P<of>[a-z][\w-]*(?: [a-z][\w-]*)??)"
    r"(?P<gone> any ?more| any longer)?[.!]*$"
)

_STOPPED = frozenset("stopped quit longer".split())
_LIKE = frozenset({"like", "love", "enjoy", "ador"})
_DISLIKE = frozenset({"hate", "dislik", "despis", "detest", "loath"})
_HABITS = frozenset(map(stem, """drink smoke eat play practice run swim hike jog dance knit read watch drive own have
    has teach volunteer speak paint cook bake use wear take sing meditate attend""".split()))  # fmt: skip
_LOST = regex(
    rf"^{_HOLDER}(?:{_HAS} )?(?:\w+ly |just )*(?:sold|gave away|scrapped|rehomed|got rid of|wrecked|totall?ed) {_THEIR}"
    r"(?P<of>[\w' -]+?)(?=\s*[.,;!()]|$| (?:last|this|yesterday|today|to|for|in|on|because|after|and)\b)"
)
_DIED = regex(
    rf"^{_HOLDER}(?:(?<='s )|(?<=our ))(?P<of>[a-z]+){_CALLED} (?:has )?{_SPARE}(?:died|passed away|ran away)\b"
)
_QUANTITY = regex(r"(?P<number>\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten) (?P<of>[a-z]+)")
_DIGITS = {word: str(number) for number, word in enumerate(
    "one two three four five six seven eight nine ten".split(), start=1
)}  # fmt: skip
_LOOKS = frozenset("old new used little big small red blue black white green second-hand beloved".split())
_MEALS = frozenset({"eat", "drink"})
_POSSESS = {"own": "have", "has": "have"}  # one relation for all
_NEXT = regex(r"[,;]\s*(?:(?:and|but|so|because) )?|\s(?:and|but)\s")  # between clauses
_OWN = regex(r"(?:I|we|my|our)\b", re.IGNORECASE)
_TURNS = regex(r"\b(?:turned|stopped|quit|started|began|gave up|no longer|any ?more)\b")  # of a change, and no state
_THINGS = 3  # words; what is told of a thing at more length may be true of another one, too
_PERFECT = regex(r"\w+(?:ed|en)|never|always|also|just|recently|had|got|gone|made|met|left|lost|sold|quit|to")
_FREQUENCY = regex(
    r"\b(?:every|each) \w+|\b(?:once|twice|\w+ times) (?:a|per) \w+|\b(?:daily|weekly|regularly|often|usually|always)\b"
    r"|\b(?:in|on) (?:the )?(?:mornings?|evenings?|afternoons?|weekends?)|\b(?:at|by) (?:night|noon)\b|\ba lot\b"
    r"|\bvery much\b|\bso much\b|\b(?:at all|these days|any ?more|any longer|now|too|as well)\b|\bsince .*|\(.*?\)",
    re.IGNORECASE,
)
_CANNOT_STAND = regex(r"\b(?:can't|cannot|can not) (?:stand|bear)\b", re.IGNORECASE)
_DENIED = regex(
    r"\b(?:no longer|never|stopped|quit|(?:do|does|is|are|am|has|have|did|ca)n't|not)\b|\bany ?more\b", re.IGNORECASE
)
_VERB_AMONG = 8  # words: the verb of a statement stands among its first
_OBJECT_WORDS = 8  # more are a story, not an object


def filling(text: str, speaker: str) -> Filling | None:
    """The slot that the statement fills; `speaker` is who says "I"."""
    begins = without_leading_time(text)
    found = _with_next(begins, speaker) if begins != text else None
    if found and (found.is_change or _TURNS.search(begins)):
        return found
    return _with_next(_LEAD.sub("", text), speaker)


def _with_next(clause: str, speaker: str) -> Filling | None:
    """The slot that a clause fills; where it says what is over, and the next what is new, that of the next."""
    if same := _UNCHANGED.match(clause):
        return _of_holder(same["holder"], clause[same.end() :], speaker)
    if switched := _SWITCHED.match(clause):
        return _after_switch(switched, clause[switched.end() :], speaker)
    found = _of_clause(clause, speaker)
    if found is None or not (found.is_denied or found.value in (NO, NONE_LEFT)):
        return found
    for part in _NEXT.split(clause)[1:]:
        after = _of_clause(part, speaker)
        if after and not _OWN.match(part):  # "he moved on": of whom the first clause tells
            after = replace(after, slot=replace(after.slot, holder=after.slot.holder or found.slot.holder))
        if after and not after.is_denied and after.value != NO and _replaces(after, found):
            return replace(after, ends=tuple(dict.fromkeys((*after.ends, *found.ends))))
    return found


def _after_switch(switched: re.Match[str], rest: str, speaker: str) -> Filling | None:
    """The new job behind "switched jobs": an employer, or an occupation that leaves no employer of before."""
    found = _of_holder(switched["holder"], rest, speaker)
    if found is None or found.is_denied or found.slot.relation not in ("occupation", "employer"):
        return None
    over = (*found.ends, "employer") if found.slot.relation == "occupation" else found.ends
    return replace(found, is_change=True, ends=over)


def _of_holder(holder: str, rest: str, speaker: str) -> Filling | None:
    """The slot that a clause fills of whom the clause before it tells."""
    found, whose = _of_clause(rest, speaker), _holder(holder, speaker)
    if found is None or whose is None:
        return None
    return replace(found, slot=replace(found.slot, holder=found.slot.holder or whose))


def _replaces(after: Filling, found: Filling) -> bool:
    """Whether the one leaves nothing of the other to end."""
    is_over = after.slot.relation == found.slot.relation or found.slot.relation in after.ends
    return is_over and (after.slot.holder, after.slot.of) == (found.slot.holder, found.slot.of)


def _of_clause(clause: str, speaker: str) -> Filling | None:
    if left := _left_craft(clause, speaker):
        return left
    for relation, pattern, is_change, ends in _RULES:
        if (match := pattern.match(clause)) and (holder := _holder(match["holder"], speaker)) is not None:
            if not _may_be(relation, match):
                continue
            slot = Slot(holder, relation, match.groupdict().get("of", "").casefold())
            is_denied = _is_denied(match, clause)
            if match.groupdict().get("gone") and _DENIED.search(clause[: match.start("gone")]):
                return None
            if relation == WORK:
                return None if is_denied else Filling(slot, NONE_LEFT, is_change=is_change, ends=ends)
            over = ends if is_denied else (*ends, *_OVER.get(relation, ()))
            found = Filling(slot, _value(relation, match["value"]), is_denied, is_change, over)
            where = _WORKPLACE.match(clause, match.end()) if relation == "occupation" else None
            return replace(found, employer=_value("employer", where["value"]).casefold()) if where else found
    return _being(clause, speaker) or _lost(clause, speaker) or _whether(clause, speaker)


def _may_be(relation: str, match: re.Match[str]) -> bool:
    """Whether the value can be what its capital promises: "in Marketing" is no home, and who joined Anna has no job."""
    if relation == "residence":
        return match["value"].split()[0] not in NOT_PLACES
    joined = relation == "employer" and match.groupdict().get("joined") and not _AS_A.match(match.string, match.end())
    return not (joined and is_person(match["value"]))


def _left_craft(clause: str, speaker: str) -> Filling | None:
    """The occupation that is over with its work: "gave up teaching"."""
    match = _LEFT_CRAFT.match(clause)
    who = practitioner(match["craft"]) if match else ""
    holder = _holder(match["holder"], speaker) if match and who else None
    if holder is None or _DENIED.search(clause[: match.start("leaves")] if match else ""):
        return None
    return Filling(Slot(holder, "occupation"), who, is_denied=True, is_change=True)


def _is_denied(match: re.Match[str], clause: str) -> bool:
    """Whether the words say that it is not so, or is over."""
    is_over = match.groupdict().get("gone") is not None
    before, behind = match.group()[: match.start("value")], clause[match.end() :].strip()
    return is_over or bool(_DENIED.search(before) or _DENIED.match(behind))


def _lost(clause: str, speaker: str) -> Filling | None:
    """Things that somebody no longer has: "sold their car", "Ann's dog died"."""
    match = _LOST.match(clause) or _DIED.match(clause)
    holder = _holder(match["holder"], speaker) if match else None
    if match is None or holder is None or _DENIED.search(clause[: match.start("of")]):
        return None
    slot = Slot(holder, "have", _object(words(match["of"])))
    return Filling(slot, NO, is_change=True, ends=("drive",)) if slot.of else None


def _being(clause: str, speaker: str) -> Filling | None:
    """Whether somebody is something: "is a waiter" and "is not a waiter anymore"."""
    match = _BEING.match(clause)
    holder = _holder(match["holder"], speaker) if match else None
    if match is None or holder is None:
        return None
    is_denied = bool(match["no"] or match["gone"])
    return Filling(Slot(holder, "be", match["of"].casefold()), NO if is_denied else YES)


def _object(said: Iterable[str]) -> str:
    """The kind of a thing, without its attributes."""
    return " ".join(sorted({stem(word) for word in said if word not in FUNCTION_WORDS and word not in _LOOKS}))


def _value(relation: str, value: str) -> str:
    if relation in _NUMBERS:
        return re.sub(r"\D", "", value)
    if relation == "marital status":
        return "widowed" if value in ("died", "passed away") else value or "married"
    plain = re.sub(r"^(?:the|an?) ", "", value.strip(" .'"), flags=re.IGNORECASE)
    plain = _FREQUENCY.sub("", plain).strip(" .'")
    return re.sub(r" City$", "", plain) if relation == "residence" else plain


def _holder(found: str, speaker: str) -> str | None:
    """Whose slot it is; None where the words before the verb claim nothing of the present."""
    before = re.sub(r"'(?:ve|m|re)\b", "", found.casefold()).split()
    if _NOT_CLAIMED.intersection(before):
        return None
    idle = _NEGATIONS | _AUXILIARIES | _ADVERBS
    return _named(" ".join(word for word in before if word not in idle), speaker)


def _named(holder: str, speaker: str) -> str:
    name = "" if _GENERIC.fullmatch(speaker) else speaker.casefold()
    plain = re.sub(r"'s?$", "", re.sub(r"^.+ and i$", "i", holder))
    if plain in ("my", "our", "their", "his", "her", ""):
        return name
    owned = re.sub(r"^(?:my|our) ", f"{name}'s " if name else "", plain)
    owned = re.sub(r"^(?:the )?user's ", "", owned)
    return name if _GENERIC.fullmatch(owned) else owned


def _whether(clause: str, speaker: str) -> Filling | None:
    """Whether somebody likes or does something: yes and no exclude each other when all else is the same."""
    plain = _FREQUENCY.sub(" ", _CANNOT_STAND.sub("hates", clause))
    tokens = [token.strip(".!") for token in plain.split()]
    for index, token in enumerate(tokens[:_VERB_AMONG]):
        verb = stem(token.casefold())
        if verb in _LIKE | _DISLIKE | _HABITS and not token.endswith("ed"):
            before = [word.casefold() for word in tokens[:index]]
            if verb in ("have", "has") and _PERFECT.fullmatch(" ".join(tokens[index + 1 : index + 2])):
                return None
            return _answer(before, verb, tokens[index + 1 :], speaker)
    return None


def _answer(before: list[str], verb: str, after: list[str], speaker: str) -> Filling | None:
    holder = _holder(" ".join(before), speaker)
    said, relation = " ".join(after), "like" if verb in _LIKE | _DISLIKE else _POSSESS.get(verb, verb)
    quantity = _QUANTITY.fullmatch(said.strip(" .!").casefold()) if relation == "have" else None
    objects = _object(words(quantity["of"] if quantity else said))
    limit = _THINGS if relation == "have" else _OBJECT_WORDS
    if holder is None or not 1 <= len(objects.split()) <= limit or {",", ";"} & set(said):
        return None
    denied = bool(_NEGATIONS.intersection(before)) or "gave up" in " ".join(before)
    if verb in _DISLIKE:
        if denied:
            return None  # who does not hate tea need not like it
        denied = True
    if quantity and not denied:
        return Filling(Slot(holder, "have", objects), _DIGITS.get(quantity["number"], quantity["number"]))
    ends = ("like",) if verb in _MEALS and denied and _STOPPED.intersection(before) else ()
    if (relation, objects) == ("eat", MEAT) and not denied:
        ends = ("diet",)
    return Filling(Slot(holder, relation, objects), NO if denied else YES, ends=ends)
