"""What denies, supposes, asks or hands on an English clause, before its words come."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from memoryos.language.words import stem
from memoryos.operation.consolidation.assertion import Assertion, Stance
from memoryos.operation.consolidation.attribution import told_by_others
from memoryos.operation.consolidation.english_supposed import AND_YET, HEDGED, any_of, is_supposed, without
from memoryos.operation.consolidation.english_words import RELATIONS, alternatives
from memoryos.operation.consolidation.foregone import is_foregone
from memoryos.operation.consolidation.outcome import Claimed, did_not_come_about, tells_outcome
from memoryos.operation.consolidation.own_words import QuotedPiece
from memoryos.operation.consolidation.untrue import CALLED_UNTRUE
from memoryos.regex import regex

_SUBJECT = r"(?:I|we|my|our|he|she|they|it|you|there|this|that|the)\b"
_CUT = regex(
    rf"""[;:—–…]+\s* | \s--?\s | [()]
    | ,?\s+(?:but|although|though|because|whereas|however|yet|except)\b\s*
    | (?:,\s*|\s+)so\s+(?={_SUBJECT}|where|what|how|which|who|when|can|could|should)
    | ,\s+(?=(?:what|where|how|why|can|could|should|do|does|is|are|any)\s[^.!?\n]{{0,200}}\?)
    | ,\s*(?:(?:and|or|while|since|when)\s+)?(?={_SUBJECT}|I'|(?:only|just|rather|instead|now|then|not|which)\b)
    | \s+(?:and|or|while|since|when)\s+(?=(?:I|we|my|he|she|they|it|there)\b)
    | \s+and\s+(?=(?:do|does|did|don't|doesn't|didn't|never|can't|will|won't|am|have|prefer|love|like|hate|might)\b)""",
    re.VERBOSE | re.IGNORECASE,
)
# "my wife" of "my wife and I drive": the subject begins with it, and no clause ends there.
_JOINT = regex(
    r"(?:^|\b(?:that|if|think|wish|whether|nor|neither|says?|said)\s)\W*(?:(?:my|our|the)\s)?(?:\w+\s)?\w+$",
    re.IGNORECASE,
)
# "everything but mushrooms", "all except one": the words behind are left out, and no clause ends there.
_ALL = r"\b(?:all|any|each|every\w*|always|any(?:thing|where|body|one))\b"
_GOES_ON = (
    r"(?!(?:I|we|he|she|they|it|you|that|this|not|never|also|only|still|now|then|mostly|sometimes|am|is|are|was|were|have"
    r"|has|had|do|does|did|will|would|can|could|hate|love|like|enjoy|prefer|want|need|eat|drink|play|live|work|got|went"
    r"|left|kept|lost|found|ate|saw|bought|felt|chose|took|gave|made|said|thought|sold|quit|\w+ed|\w+ly)\b)"
)
_EXCEPT = (
    r"except|other than|(?:apart|aside) from|save(?: for)?(?! (?:money|time|up)\b)|bar(?:ring)?|exclud\w+|minus"
    r"|with the exception of"
)
_LEFT_OUT = (
    r"\b(?:anything|everything|everyone|everybody|everywhere|all) but\b(?! (?:I|we|he|she|they|it|you)\b)"
    rf"|{_ALL}(?: \w+){{1,3}} but (?=(?:{_GOES_ON}\w+ ?){{1,3}}(?:[.,;!?]|$))"
    rf"|{_ALL}(?:(?!n't|\bnot\b)[^,;.!?]){{0,40}} (?:{_EXCEPT})\b"
)
# "Apart from liver, I eat everything."
_BUT_FOR = regex(
    r"^\W*(?:(?P<only>except(?: for| on| in| at| during)?|save for|save on|with the exception of|excluding|barring)"
    r"|apart from|aside from|other than)\b(?P<what>[^,;]*?)(?:,|(?= (?:I|we)\b)|$)",
    re.IGNORECASE,
)
_UNIVERSAL = regex(rf"{_ALL}|\b(?:daily|nightly|weekly|year-round)\b", re.IGNORECASE)
_EXCEPTS = regex(rf"\b(?:but|{_EXCEPT})\b", re.IGNORECASE)
_ALSO = regex(r"\b(?:also|too|as well)\b", re.IGNORECASE)
_LEAVES_OUT = regex(_LEFT_OUT, re.IGNORECASE)
_NEAR = 80  # characters looked at before an "and" or a "but"
_TOKEN = regex(r"[^\W_]+")
_EMPTY = frozenset(
    """a an the user users to of in at on is was are be been being has have had i my mine me we our us their his her he
    she they them it its and or with for from that this not no never do does did don doesn didn t s m re ve ll d am as
    by so who which there can will""".split()
)

_IDIOMS = any_of(  # they have a "not" and deny nothing
    r"\bnot (?:only|just|merely|simply|to mention|(?:too |that )?long ago|surprisingly)\b",
    r"\b(?:don't|do not|didn't|doesn't) (?:just|only)\b",
    r"\b(?:can't|cannot|can not|couldn't|could not) (?:wait|help|stop|resist|deny|get enough|be happier)\b",
    r"\b(?:never|not|don't|didn't|won't|doesn't) (?:ever )?(?:miss|fail|tire|regret|forget|mind|doubt|deny)\w{0,4}\b",
    r"\b(?:can't|cannot|couldn't) (?:quite |really )?believe\b|\bnot (?:kidding|joking)\b|\bno joke\b",
    r"\bno (?:doubt|wonder|problem|worries|matter|kidding|offen[cs]e|fewer|less|later|sooner)\b|\bno(?=,)|\bno \d",
    r"\bno (?:denying|question|secret|mystery|surprise|hiding|coincidence|exaggeration)\b",
    r"\b(?:not (?:many|a lot of)(?: people| folks)?|nobody|no one|hardly anyone|don't tell anyone,?(?: but)?)"
    r"(?: (?:\w+ ){0,3}?(?:knows?|knew|reali[sz]es?|believes?|guess(?:es)?|suspects?)(?: that)?)? (?=(?:I|my)\b)",
    r"\bnot (?:an?|any|much of a) (?:problem|secret|mystery|surprise|coincidence|exaggeration)\b",
    r"\b(?:why|if|whether or) not\b|\bnothing (?:beats|better)\b|\bnone other\b",
    r"\bwithout (?:a )?(?:doubt|fail|exception|question)\b|(?:\bnot|n't) (?:\w+ ){0,2}far (?:away )?from\b",
    r"\b(?:can't|cannot|couldn't|never|don't|won't|not)\b[\w ]{0,20}\bwithout\b",
    r"\b(?:is|are|did|do|does|was|have|has|can|wo|could|would|should)n't (?=(?:I|you|it|we|he|she|they)\b)",
)
# "I would never sell my piano": who says so has one.
_KEEPS = regex(
    r"\b(?:(?:would|could|will|wo|ca)(?:n't| not| never)|cannot|never) (?:ever )?"
    r"(?P<verb>trade|swap|sell|exchange|give up|give away|part with|be without|live without|do without) (?=my\b)",
    re.IGNORECASE,
)
_NOT = any_of(
    r"\b(?:not|never|no|none|nobody|nothing|nowhere|neither|nor|cannot|without)\b|n't\b",
    r"\bzero\b(?! (?:regrets?|doubts?|in|on|or|degrees|percent|waste|problems?|trouble|fat|sugar|calorie|gravity)\b)",
    r"\b(?:dont|doesnt|didnt|isnt|wasnt|arent|cant|wont|havent|hasnt|couldnt|wouldnt)\b",
)
_FAR = regex(r"\b(?:far|miles|hours|a long way|a (?:\w+ )?(?:drive|flight)) (?:away )?from\b", re.IGNORECASE)
_BESIDE = regex(r"\b(?:near(?:by)?|close to|by|beside|next to|on) (?=the|an?|[A-Z]|\w+$)")
_UNDONE = any_of(
    r"\b(?:miles|leagues|light[- ]years|a world|worlds|a long way) (?:away )?from (?:being|an?)\b",
    r"\bnothing to do with\b|\bnowhere near (?:being|an?|as)\b",
    r"\bopposite of\b|\bcouldn't be (?:further|farther)\b|\bnot remotely\b",
    r"\b(?:mistak(?:e|es|ing)|mistook|confus(?:e|es|ed|ing)) me (?:for|with)\b|\b(?:mistaken|confused) (?:for|with)\b",
    r"\b(?:am|'m|was|been|get|gets|got|often|always) taken for (?!granted|an? (?:ride|walk|drive|tour|fool)\b)",
    r"\b(?:take|takes|took) me for (?!granted|an? (?:ride|walk|drive|tour|meal|drink|dinner)\b)",
    r"\b(?:hardly|barely|scarcely|gave up|given up|giving up|unable to|far from|anything but)\b",
    r"\b(?:almost|nearly)\b(?! (?:every|always|all|an?|daily|entirely|exclusively|half|one|two|three|\d))",
    r"\bavoid(?:s|ed|ing)?\b|\b(?:stop(?:s|ped)?|quit)(?= \w+ing\b)",
    r"\black(?:s|ed|ing)?\b|\b(?:short|devoid|deprived|in need) of\b|\b(?:out of|between) (?=work|jobs)",
    r"\bl(?:ie[sd]?|ying) (?:about me )?that\b",
    r"(?<!a )\blittle (?:interest|desire|appetite|patience|love|intention) (?:in|for|to|of)\b",
    r"\bden(?:y|ies|ied)\b|\bused to (?:think|believe|say|claim)\b",
    r"\bthe last (?:thing|person|place) (?:that )?(?:I|I'd|you|you'd)\b",
    r"\b(?:opposite of|far cry from|(?:furthest|farthest) thing from|instead of|rather than|as opposed to)"
    r" (?:(?!\b(?:I|we)\b)[^,;]){0,60}$",
    _LEFT_OUT,
    CALLED_UNTRUE,
)
_UNTRUE = any_of(  # behind the words
    r"\b(?:is|was|'s) (?:simply |just )?(?:not true|untrue|false|a lie|nonsense|a rumou?r|a myth)\b",
    r"^[^,;]{0,30}\b(?:in name only|(?:is|would be|'d be) (?:quite )?(?:a stretch|an exaggeration|an overstatement))\b",
    r"\b(?:isn't|wasn't) true\b|\b(?:is|was|'s|are) not (?:for me|my thing)\b|\bsaid (?:no one|nobody)\b",
)
_DISLIKES = any_of(r"\b(?:hat(?:e|es|ed|ing)|dislik\w+|detest\w*|loath\w+|despis\w+)\b")
_LIKES = any_of(r"\b(?:lik(?:e|es|ed|ing)|lov(?:e|es|ed|ing)|enjoy\w*|prefer\w*|adore[sd]?|fond|fan)\b")
_LESS = any_of(  # they deny in words of their own
    r"\b(?:hat(?:e|es|ed|ing)|dislik\w+|detest\w*|loath\w+|despis\w+|avoid\w*|lack\w*|refus\w+|quit\w*|stop\w*)\b",
    r"\b(?:g[ai]v\w+ up|former\w*|used to|allerg\w+|vegan|vegetarian|intoleran\w+|hardly|barely|rarely|seldom)\b",
    r"\b(?:except|single|sober|alone|almost|nearly|un(?:able|married|employed|happy|interested|aware|willing|likely))\b",
)
_WANTS = any_of(  # what a denial may follow from
    r"\b(?:only|instead|free|lost|left|sold|too|fail\w*|declin\w+|reject\w+|cancel\w*|afraid|scared|divorced|un\w+)\b",
    r"\b(?:away|sick|tired|clear) (?:from|of)\b|\b(?:against|rather|yet|wish\w*|would|could|might|if|missed)\b",
)

_WANTING = any_of(  # who says this of a thing has none
    r"\b(?:need(?:s|ed|ing)?(?! to\b)|(?:look|search|shop|hunt|sav)(?:s|e[sd]?|ed|ing)? (?:up )?for|can't afford)\b",
    r"\b(?:yearn|long|wait|wish)(?:s|ed|ing)? for\b",
)
_HAS = regex(r"\b(?:has|have|owns?|got|possess\w*)\b(?! to\b)", re.IGNORECASE)


_AUXILIARY = r"(?:do|does|did|am|is|are|was|were|have|has|had|can|could|should|shall|will|would|may|might)(?:n't)?"
_INVERTED = regex(
    rf"^\W*(?:(?:so|and|but|well|wait|or)\W+)?(?P<wh>(?:wh\w+|how)\b.*?\b)?{_AUXILIARY}\s+(?P<who>I|we|you|he|she|they|it)\b",
    re.IGNORECASE,
)
_ECHO = regex(r"^\W*(?:(?:so|and|but|well|wait|really)\W+)*(?:I|we|my|our)\b", re.IGNORECASE)
_ASKS_WHETHER = any_of(r"\b(?:think|believe|suppose|say|reckon|guess|true|possible|correct|right|likely|if|whether)\b")
_OWN = regex(r"\b(?:I|we|my|our)\b|\bI'", re.IGNORECASE)

_TELLS = (
    r"(?:says?|said|told|tells|wrote|writes|mention(?:s|ed)|asks?|asked|shout(?:s|ed)|repl(?:ies|ied)|answer(?:s|ed)"
    r"|heard|goes|texted|e-?mailed|messaged|announce[sd]?|admit(?:s|ted)|confess(?:es|ed)|complain(?:s|ed)|reports|reported"
    r"|explain(?:s|ed)|swears|adds|added)"
)
_HOLDS = (
    r"(?:thinks?|thought|believes?|believed|claims?|claimed|assumes?|assumed|insists?|insisted|suspects?|suspected"
    r"|alleges?|alleged|accuses?|accused|guesse[sd]|feels|felt|jokes?|joked|pretends?|pretended|imagines?|imagined|swears?|swore)"
)
_WHO = (
    r"(?P<who>(?:my|our|his|her|the|a|some)\s+(?:\w+\s+){0,3}?\w+|(?-i:[A-Z])\w+(?:\s(?-i:[A-Z])\w+)?|he|she|they"
    r"|everyone|everybody|people|someone|somebody)"
)
_REPORT = regex(
    rf"\b(?!(?:I|It|This|That|What)\b){_WHO}\s+(?:(?:\w+ly|also|always|just|once|still)\s+)?(?:(?P<holds>{_HOLDS})|{_TELLS})\b"
    r"(?:\s+(?:me|us|him|her|them|to me))?(?:\s+that)?\s",
    re.IGNORECASE,
)
_MACHINES = r"(?:horoscope|quiz|algorithm|CRM|Alexa|Siri|database|fortune cookie|psychic|palm reader|recommender)"
_SOURCES = (
    regex(rf"\b(?P<who>{_MACHINES}) (?:\w+ly )?(?:{_TELLS}|{_HOLDS}|lists?|has me)\b", re.IGNORECASE),
    regex(rf"\b(?:according to|in the words of|to quote|quoting) {_WHO}", re.IGNORECASE),
    regex(rf"\bin {_WHO}'s? (?:own )?words\b", re.IGNORECASE),
    regex(rf"\bas {_WHO} (?:puts?|sees?|tells?) it\b", re.IGNORECASE),
)
_WORK = (
    r"(?:novel|book|film|movie|play|story|tale|song|poem|ballad|game|series|sitcom|show|comic|manga|anime|musical|opera"
    r"|legend|script|episode|lyrics?|chorus|video|dream)"
)
_INVENTED = regex(
    rf"""\b(?:in|from|throughout)\ (?:the|a|an|this|that|my|our|his|her|some|one)\ (?:\w+\ ){{0,2}}?{_WORK}\b
      (?!\ (?:club|store|shop|fair|room|business|industry|theat\w+|school|cent\w+|group|team))
    | \b(?:hero(?:ine)?|protagonist|(?:main\ )?character|narrator|villain|singer|poet|speaker|{_WORK})\b[^.;,]{{0,30}}?
      \b(?:{_TELLS}|cries|sings|(?:starts?|begins?|opens?|ends?)\ (?:with|like))\b""",
    re.VERBOSE | re.IGNORECASE,
)
_OWN_PART = any_of(  # what somebody does who reads, sees or makes it
    r";|\bbut\b|^\W*(?:(?:that|which)\s)?I(?:'m|'ve| am| have| was)? "
    r"(?:\w+ed|read(?:ing)?|s[ae]w|seen|found|learn\w*|watch\w*|like|love|hate|wrote"
    r"|writ\w+|cr[iy]\w+|play\w*|met|got|went|remember|think|recommend)\b",
)
# Which work: "in the novel I'm writing, ...".
_THAT_I_MAKE = regex(
    r"^\s(?:(?:that|which)\s)?(?:I|we)(?:'m|'re|'ve|\sam|\sare|\shave|\swas|\swere)?(?:\s\w+){1,4},", re.IGNORECASE
)
_RHETORICAL = any_of(
    r"\bsince when\b|\bwhy (?:on earth |the hell |in the world )?would I\b|\b(?:do|did) I (?:really )?look like\b",
    r"\bhow (?:could|can|would) I (?:ever|possibly|even)\b|\b(?:when|where) (?:did|have|do|would|could) I ever\b",
    r"(?:^|[.,;!?]\s*|\b(?:and|but|so|yet) )who(?: on earth)? (?:says?|said|told you|claims?)\b",
    r"\bwhat makes (?:you|anyone|them|people) (?:think|believe)\b",
)
_HANDED_ON = regex(rf"\b(?:{_TELLS}|{_HOLDS}|like[sd]? to say|called?|calls)(?:\s+\w+)?[\s,:]*$", re.IGNORECASE)
_TOLD_BEHIND = regex(
    rf"^[\s,]*(?:{_TELLS}|{_HOLDS})\b(?!\s+I\b)|^[\s,]*(?!I\b)\w+(?:\s+\w+)?\s+{_TELLS}\b", re.IGNORECASE
)
_SAID_MYSELF = regex(
    r"\bI(?:'ve|'d)?(?:\s\w+){0,2}?\s(?:say|said|tell|told|write|wrote|answer\w*|repl\w+|texted|shout\w*)\b[^.!?]*$"
)

_RELATION = alternatives(
    (
        *RELATIONS,
        *"flatmate housemate teacher manager landlord student client customer patient stranger man woman guy".split(),
    )
)
_DOES = (
    r"is|was|has|had|said|told|wrote|went|bought|got|lives|lived|works|worked|likes|liked|loves|loved|hates|hated|wants"
    r"|wanted|needs|needed|plays|played|moved|owns|owned|studies|studied|teaches|taught|runs|speaks|married|prefers|enjoys"
)
_SOMEBODY = regex(
    rf"""^\W*(?:(?:and|but|so|because|that|well|yes|also|then|now|today|yesterday|recently)\W+)*
    (?P<who>(?:he|she|they|everyone|everybody|someone|somebody|people)\b
      | (?:my|our|his|her|their|the)\s+(?:\w+\s+)?(?:{_RELATION})\b(?!\s+and\s+I\b|\s+and\s+me\b)(?:\s+(?-i:[A-Z])\w+)?
      | (?!(?:Been|This|That|There|It|What|Who|Which|One|Everything|Nothing|All|Life)\b)
        (?-i:[A-Z])\w+(?<!ly)(?:\s(?-i:[A-Z])\w+)?(?=\s(?:{_DOES})\s))""",
    re.VERBOSE | re.IGNORECASE,
)
# Whoever does what a verb behind it says.
_SUBJECT_OF = regex(
    r"""^\W*(?:(?:and|but|so|because|that|well|yes|also|then|now)\W+)*
    (?P<who>(?:\w+\s+of\s+)?(?:my|our|his|her|their|your|the|a|an|this|that|some)\s+[^,;:]{1,60}?
      | (?!(?:Been|This|That|There|It|What|Who|Which|One|Everything|Nothing|All|Life|You|I|We|The|An?|My|Our|His|Her
        |Their|Some)\b)
        (?P<name>(?-i:[A-Z])\w+(?<!ly)(?:\s(?-i:[A-Z])\w+)?))
    \s+(?:(?:\w+ly|also|always|often|still|just|never)\s+)*$""",
    re.VERBOSE | re.IGNORECASE,
)
_NO_SUBJECT = any_of(  # a phrase of time or of place, or one with a verb or a preposition at its end
    r"\b(?:day|week|month|year|morning|evening|night|weekend|summer|winter|spring|autumn|time|moment|way|thing|one)s?$",
    r"\b(?:is|are|was|were|am|be|been|has|have|had|will|would|can|could|makes?|made|to|of|in|on|at|for|from|with|by|and|or"
    r"|not|than|as|who|that|which|love|passion|plan|wish|decision)$",
)
_ME = regex(r"\b(?:I|me|us|we|myself|mine|ours)\b|\bI'", re.IGNORECASE)
_MY = regex(r"\b(?:my|our)\b", re.IGNORECASE)
_POSSESSED = regex(r"\W*(?:(?:the )?user(?:'s|s')|their|his|her|its|my|our)\s", re.IGNORECASE)
_NAME = regex(r"\W*(?P<name>[A-Z]\w+)\b")
_GENERIC = frozenset(("the", "a", "an", "user", "they", "he", "she", "i", "we", "it", "this", "there"))


def cuts(sentence: str) -> Iterator[int]:
    """Where a clause of the sentence begins behind another."""
    start = 0
    for match in _CUT.finditer(sentence):
        if not _joins(sentence, start, match):
            yield match.start() if AND_YET.match(match.group()) else match.end()
            start = match.end()


def _joins(sentence: str, start: int, sign: re.Match[str]) -> bool:
    """Whether a clause that begins there goes on behind the sign: "my wife and I drive", "everything but meat"."""
    near = max(start, sign.start() - _NEAR)
    if _BUT_FOR.match(sentence[near : sign.start()]) and sign.group().startswith(","):
        return True
    if " and" in sign.group().lower():
        return _JOINT.search(sentence[near : sign.start()]) is not None
    found = _LEAVES_OUT.search(sentence, near) if sign.group().strip().lower() in ("but", "except") else None
    return found is not None and sign.start() < found.end() <= sign.end()


def parts(claim: str) -> list[str]:
    """The clauses of a claim."""
    plain = claim.replace("’", "'")
    places = [0, *cuts(plain), len(plain)]
    return [plain[start:end] for start, end in pairwise(places) if plain[start:end].strip()]


def stems(text: str) -> Iterator[tuple[str, int]]:
    """The words that tell what a clause is about, and where each ends."""
    for match in _TOKEN.finditer(text):
        if (word := match.group().lower()) not in _EMPTY:
            yield stem(word), match.end()


def is_of_speaker(claim: str, speaker: str) -> bool:
    """Whether the claim is about the one who speaks, and not about somebody or something of theirs."""
    plain = claim.replace("’", "'")
    if _POSSESSED.match(plain):
        return False
    if speaker and plain.lower().startswith(speaker.lower()):
        return not plain[len(speaker) :].startswith("'s")
    name = _NAME.match(plain)
    return name is None or name["name"].lower() in _GENERIC or (not speaker and name["name"].endswith("s"))


def read(one: Assertion) -> Stance:
    """How the sentence stands to the claim."""
    if one.is_own and _RHETORICAL.search(one.earlier + one.before) and not _NOT.search(one.part):
        return Stance.DENIED
    if _is_asked(one) or is_supposed(one, _kept(one)):
        return Stance.SUPPOSED
    if _is_denied(one) or _is_wanting(one) or is_foregone(one, stems):
        return Stance.DENIED
    return Stance.OTHERS if one.is_own and _is_somebody_elses(one) else Stance.STATED


def is_denial(part: str) -> bool:
    """Whether a part of a claim denies something."""
    plain = without(_IDIOMS, part)
    return any(signs.search(plain) for signs in (_NOT, _LESS, _DISLIKES))


def is_of_source(one: Assertion, piece: QuotedPiece) -> bool:
    """Whether the claim says of quoted words whose they are; or they are the speaker's own, or no statement."""
    lead = piece.before
    is_handed_on = _HANDED_ON.search(lead) or _TOLD_BEHIND.match(piece.behind)
    if piece.is_marked and not piece.says_i and not is_handed_on:
        return True
    if not one.is_own or (piece.is_marked and _SAID_MYSELF.search(lead)):
        return True
    return _names(one.claim, f"{lead} {piece.behind}" if piece.is_marked else lead)


def _kept(one: Assertion) -> str:
    """The words before, without what somebody would never do with a thing of theirs, unless the claim is about that."""
    found = _KEEPS.search(one.before)
    is_told = found is not None and any(stem == told for told, _ in stems(found["verb"]) for stem, _ in stems(one.part))
    return one.before if found is None or is_told else without(_KEEPS, one.before)


def _is_denied(one: Assertion) -> bool:
    before = without(_IDIOMS, _kept(one))
    part = without(_IDIOMS, one.part)
    if _FAR.search(before) and _BESIDE.search(part) and not _FAR.search(part):
        return True
    if did_not_come_about(Claimed(part, stems), before, one.behind):
        return not (_NOT.search(part) or tells_outcome(part, before) or _says_less(part, one.words))
    if _is_left_out(one) or _NOT.search(before) or _UNDONE.search(before) or _UNTRUE.search(one.behind):
        return not (_NOT.search(part) or _repeats(_UNDONE, part, before) or _says_less(part, one.words))
    if _NOT.search(part):
        return not (_LESS.search(one.whole) or _WANTS.search(one.whole) or _NOT.search(one.words))
    if _DISLIKES.search(one.words):
        return bool(_LIKES.search(part)) and not _LESS.search(part)
    return bool(_DISLIKES.search(part) and _LIKES.search(one.words)) and not _LESS.search(one.words)


def _is_left_out(one: Assertion) -> bool:
    """Whether the sentence excepts what the claim names, or something from what it says of all."""
    if _EXCEPTS.search(one.claim):
        return False
    if lead := _BUT_FOR.match(one.words):
        named = {stem for stem, _ in stems(lead["what"])}
        is_named = any(stem in named for stem, _ in stems(one.part)) or _UNIVERSAL.search(one.part)
        is_of_all = lead["only"] or _UNIVERSAL.search(one.words, lead.end())
        return bool(is_named and is_of_all and not _ALSO.search(one.words))
    found = _LEAVES_OUT.search(one.words) if _UNIVERSAL.search(one.part) else None
    return found is not None and found.start() < one.upto - one.clause[0] <= found.end()


def _repeats(signs: re.Pattern[str], part: str, before: str) -> bool:
    """Whether the claim has a sign, and the clause has it no second time."""
    return bool(signs.search(part)) and not _NOT.search(before)


def _says_less(part: str, clause: str) -> bool:
    """Whether the claim denies in words of its own: "avoids" for "does not eat"."""
    said = {stem for stem, _ in stems(clause)}
    return any(not {stem for stem, _ in stems(less.group())} & said for less in _LESS.finditer(part))


def _is_wanting(one: Assertion) -> bool:
    """Whether the claim is that somebody has what they want."""
    wants = _WANTING.search(one.before)
    return bool(wants and _HAS.search(one.part)) and not _WANTING.search(one.part)


def _is_asked(one: Assertion) -> bool:
    if not one.whole.rstrip(" \"'”’)\n").endswith("?") or HEDGED.search(one.claim):
        return False
    inverted = _INVERTED.match(one.words) or _INVERTED.match(one.whole)
    if inverted is None:
        return one.clause[1] == one.sentence[1] and _ECHO.match(one.words) is not None
    if inverted["wh"] and inverted["who"].lower() in ("i", "we"):
        return False  # "when did I move to Berlin?" takes it for known
    base = one.clause[0] if _INVERTED.match(one.words) else one.sentence[0]
    between = one.text[base + inverted.end() : one.upto]
    own = _OWN.search(between)
    if own is None or _ASKS_WHETHER.search(between[: own.start()]):
        return True
    return inverted["who"].lower() in ("i", "we") and own.group().lower() in ("my", "our") and not _MY.match(one.quote)


def _is_somebody_elses(one: Assertion) -> bool:
    """Whether the clause says what somebody else holds, or is about somebody else, whom the claim does not name."""
    lead = one.earlier + one.before
    if any((found := source.search(lead)) and not _names(one.claim, found["who"]) for source in _SOURCES):
        return True
    if _is_invented(one.claim, lead) or _is_handed_on_behind(one):
        return True
    told = next(iter(_REPORT.finditer(lead)), None)
    if told and not _names(one.claim, told["who"]):
        said = lead[told.end() :]
        return bool(told["holds"]) or not (_ME.search(said) or _MY.search(said))
    found = _SOMEBODY.match(one.words) or _subject(one)
    if found is None or _SOMEBODY.match(one.part) or _names(one.claim, found["who"]):
        return False
    return not _ME.search(one.words) and not _MY.search(one.words[found.end() :])


def _is_handed_on_behind(one: Assertion) -> bool:
    """Whether the words behind say who said it, and the claim does not."""
    told = told_by_others(one.whole, one.upto - one.sentence[0])
    return bool(told) and not (_names(one.claim, told) or re.search(rf"\b{_TELLS}\b", one.claim))


def _is_invented(claim: str, lead: str) -> bool:
    """Whether the words are from a novel, a film or a game, and the claim does not say so."""
    frame = _INVENTED.search(lead)
    if frame is None or re.search(rf"\b{_WORK}\b", claim):
        return False
    return not _OWN_PART.search(_THAT_I_MAKE.sub("", lead[frame.end() :]))


def _subject(one: Assertion) -> re.Match[str] | None:
    """Who does, in the clause, what the claim says of its own subject; None when they do it themselves."""
    verb = next(iter(stems(one.part)), ("", 0))[0]
    end = next((end for stem, end in stems(one.words) if stem == verb), 0)
    start = max(one.words.rfind(" ", 0, end), 0) + 1
    said = one.words[start:end].lower()
    found = _SUBJECT_OF.match(one.words[:start]) if end and not said.endswith("ing") else None
    if found is None or (found["name"] and not said.endswith("s")):
        return None
    return None if _NO_SUBJECT.search(found["who"]) or _ME.search(found["who"]) else found


def _names(claim: str, who: str) -> bool:
    """Whether a claim names somebody by a word of these."""
    named = {stem for stem, _ in stems(who)}
    return any(stem in named for stem, _ in stems(claim))
