"""Occupations that an English sentence gives its speaker, or takes from them."""

from __future__ import annotations

from collections.abc import Iterator

from memoryos.language.crafts import LEFT_CRAFT, practitioner
from memoryos.language.life_changes import CHANGED_JOBS
from memoryos.language.occupations import JOB, NO_OCCUPATION, OCCUPATION
from memoryos.operation.consolidation.english_words import IN_EARNEST
from memoryos.regex import regex

_AM = r"(?:I'm|I am|Im)"
_NOW = r"(?:(?:currently|now|still|actually|also|just|basically|finally|officially) )*"
_ANY_JOB = rf"{NO_OCCUPATION}(?P<value>[\w'-]+(?: [\w'-]+){{0,3}}?)"
_AT = (
    r"(?=\s*(?:[.,;:!)(]|$|[^\w\s!-~])|\ (?:at|in|for|with|and|on|from|to|who|but|here|there|where|because|now"
    r"|these days|nowadays|instead|again|based|by|of|living|working|btw|lol|rn|atm|after|since|so|starting|lately|last"
    r"|this|I)\b)"
)
_HAVE = r"I(?:'ve| have)?"
_GOT = r"(?:got|found|landed|accepted|started|took|have|was offered)"
_GIVEN = r"(?:got|was|been|am|'m)"
_A_NEW = r"(?:an? |my |the )?(?:new |first )?(?:\w+ )?"
_WORK = r"(?:job|position|role|gig|post|work|working|internship)"
_STOPPED = r"(?:quit|left|lost|gave up|stopped|retired from|resigned from)"
_BECAME = r"(?:became|retrained as|work as|am)"
_RANK = r"(?:head|lead|chief|senior|junior|assistant|deputy)"
# "As a nurse, I ...": without a comma not before a verb that may begin a relative clause, "as a teacher I know said".
_PRESENT = (
    r"(?:,? I(?:'m|'ve| (?:have|am|work|can|always|often|usually|get|spend|earn|deal|teach|help|meet|travel|grade|need"
    r"|do|make|use|write|drive|wear|start|handle)\b)|, I (?:know|see|love|hate|want|find)\b(?! (?:you|him|her|them)\b))"
    rf"{IN_EARNEST}"
)
GOT_FIRED = (  # with nothing behind it: not "got fired by Netflix shows", "got laid off from reality"
    r"(?i:got (?:fired|laid off)(?: from my job)?)(?: (?i:from|by|at) [A-Z][\w&'-]*(?: [A-Z][\w&'-]*){0,2})?"
    r"(?i: (?:today|yesterday|(?:last|this) \w+))?(?=\s*(?:[.;!]|$|, (?:and|but|so|now|I)\b))"
)
_PATTERNS = tuple(
    regex(pattern)
    for pattern in (
        rf"\b(?:I|{_AM}) {_NOW}(?:work|working)(?: (?:full|part)[- ]time| freelance)? as an? {_ANY_JOB}{_AT}",
        rf"\b[Mm]y (?:job|occupation|profession) is(?: being)? an? {_ANY_JOB}{_AT}",
        rf"\b(?:I|{_AM}) {_NOW}(?:work|working) (?:[\w-]+ ){{1,3}}as an? {JOB}{_AT}",
        rf"\b{_HAVE} {_NOW}{_GOT} {_A_NEW}{_WORK} as (?:an? |the )?{_ANY_JOB}{_AT}",
        rf"\b{_HAVE} {_NOW}{_GIVEN} {_NOW}(?:hired|promoted|appointed) (?:as|to) (?:an? |the )?{_ANY_JOB}{_AT}",
        rf"\b{_HAVE} {_NOW}(?:became|become|retrained as) an? {JOB}{_AT}",
        rf"\b{_HAVE} {_NOW}(?:{_STOPPED} [^,;:.!?]{{2,50}}?|{CHANGED_JOBS}),? and {_NOW}{_BECAME} {_NOW}an? {JOB}{_AT}",
        rf"\b{_AM} {_NOW}an? {JOB}{_AT}",
        rf"\b{_AM} {_NOW}(?:the )?(?P<value>{_RANK} {OCCUPATION}){_AT}",
        rf"\b(?:{_AM}|[Mm]y name is) (?:Dr\.? )?[A-Z]\w+(?: [A-Z]\w+)?, (?:an? )?{JOB}{_AT}",
        rf"^[Aa]s an? (?:\d+[- ]year[- ]old )?(?!student){JOB}(?: (?:from|in|at) [\w ]{{2,30}}?)?{_PRESENT}",
    )
)
_NO_JOB = regex(r"\b(?:person|people|team|kid|child|child|adult|human|whole|result|joke|treat|favou?r|bonus)$")
# What takes an occupation away: that one, or whichever was known.
_NO_MORE = (
    regex(rf"\b{_AM} (?:not an? {JOB} (?:any ?more|any longer)|no longer an? {JOB.replace('value', 'other')}{_AT})"),
    regex(rf"\bI(?:'ve| have)? {_NOW}(?:quit|left|lost|gave up) (?:my job|my position|working) as an? {_ANY_JOB}{_AT}"),
)
_LEFT_CRAFT = regex(rf"\b(?:I(?:'ve| have)?|{_AM}) {_NOW}{LEFT_CRAFT}")
_NONE_LEFT = regex(
    rf"\bI(?:'ve| have)? {_NOW}(?:quit|lost|left) my job\b(?! as\b)"
    rf"|\bI(?: just)? got (?:fired(?! up\b)|laid off)\b|^(?:[Jj]ust )?{GOT_FIRED}"
    rf"|\bI was (?:fired|laid off|made redundant)\b|\b{_AM} {_NOW}(?:unemployed|out of work|between jobs|jobless)\b"
    rf"|\bI(?:'ve| have)? {_NOW}retired\b(?! (?:to|early to)\b)|\b{_AM} {_NOW}retired\b(?! \w+er\b)"
)

_HINT = regex(  # one of these is in every pattern
    r"\b(?:job|occupation|profession|position|role|gig|post|work|working|internship|hired|promoted|appointed|became|become"
    rf"|retrained|and (?:\w+ )?am|I'm|I am|Im|[Mm]y name is|{_RANK})\b|^[Aa]s an? "
)

Found = tuple[str, int, int]


def jobs(plain: str) -> Iterator[Found]:
    """The occupations, each with where the words begin and end that tell it."""
    for pattern in _PATTERNS if _HINT.search(plain) else ():
        for match in pattern.finditer(plain):
            if not _NO_JOB.search(match["value"]):
                yield match["value"], *match.span()


def lost_jobs(plain: str) -> Iterator[Found]:
    """The occupations that are over; an empty one stands for whichever there was."""
    for pattern in _NO_MORE:
        for match in pattern.finditer(plain):
            groups = match.groupdict()
            yield groups["value"] or groups["other"], *match.span()
    left = [(who, *match.span()) for match in _LEFT_CRAFT.finditer(plain) if (who := practitioner(match["craft"]))]
    yield from left
    for match in _NONE_LEFT.finditer(plain):
        if not any(start <= match.start() < end for _, start, end in left):  # "retired from nursing"
            yield "", *match.span()
