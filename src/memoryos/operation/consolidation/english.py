"""English sentences that state something durable about the person who says them.

A sentence counts only when it matches one of the shapes below ("I work ...", "I'm allergic to ...", "My sister
Anna lives ...", "I went ..."): what is not known to be a fact is left out. Precision matters more than
recall here, because a wrong fact is told back to the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from memoryos.kinds import SemanticType
from memoryos.language.calendar import MONTHS
from memoryos.language.crafts import LEFT_CRAFT
from memoryos.language.life_changes import CHANGED_JOBS, MOVED_THERE
from memoryos.operation.consolidation import english_clauses as clauses
from memoryos.operation.consolidation import english_words as words
from memoryos.operation.consolidation.english_asides import asides
from memoryos.operation.consolidation.english_elliptic import contacts, elliptic, may_be_elliptic
from memoryos.operation.consolidation.english_moves import PLACE
from memoryos.operation.consolidation.english_places import LOWER_PLACE
from memoryos.operation.consolidation.english_words import alternatives
from memoryos.operation.consolidation.statement import PLAIN, SENTENCE_LIMIT, SHARED, Statement
from memoryos.regex import regex

_MONTHS = alternatives(MONTHS)
_TIME = rf"""(?:(?i:yesterday|today|recently|lately|currently|these\ days|nowadays|tonight|tomorrow
    |last\ (?!time)\w+|this\ (?:morning|week|month|year|summer|winter|spring|fall|weekend|afternoon)|next\ \w+
    |(?:a|an|one|two|three|four|five|six|\w+teen|\d+|a\ few|a\ couple\ of)\ (?:day|week|month|year)s?\ ago
    |(?:every|each)\ \w+|(?:in|since)\ \d{{4}}
    |(?:in|on)\ (?:{_MONTHS}|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?)(?:\ \d+)?
    |in\ (?:my\ (?:free|spare)\ time|college|high\ school|the\ (?:mornings?|evenings?))
    |(?:on|over)\ (?:the\ )?weekends?|when\ I\ was\ (?:a\ \w+|young|little|\d+|in\ \w+)|as\ a\ (?:kid|child|teenager)
    ),?\ )?"""
_HYPOTHETICAL = regex(
    rf"""^(?:if|imagine|suppose|maybe|perhaps|wish|hope|what|how|why|who|where|which|do|did|does|are|is|am|can
    |could|would|should|shall|have|has|when\ you)\b
      | \b(?:if|whether|as\ if|as\ though|pretend|imagine|would\ have|could\ have
        |in\ case(?!\ (?:it|that|this|you|anyone)\ (?:matter|help|wonder|were|ask))
        |{words.SUPPOSITIONS.replace(" ", chr(92) + " ")})\b""",
    re.VERBOSE | re.IGNORECASE,
)
_HEAD_END = regex(r"[,;:.!–—]|\s-+\s|\s(?:and|but|so|because|which|where|who)\s")
_POINTER = regex(
    r"""\b(?:something|anything|them|him|there\b(?!\s(?:is|are|was|were)\b)
    |(?:it|this|that|one|ones|these|those|somewhere|here|some)(?=\s*(?:$|(?:for|with|tonight|this|last|next|today
    |yesterday|at|in|on|again|too|now|every|when|back|as|since|about|out|up|but)\b))
    |(?:this|these|those)\s(?!(?:morning|afternoon|evening|night|week|weekend|month|year|summer|winter|spring|fall|autumn
    |term|semester|season|past|last|coming|time|days|is|are|was|were|\w+day|January|February|March|April|May|June|July
    |August|September|October|November|December)\b)\w+
    |in\sparticular|that\s(?:other|one|same)
    |the\s(?:other|second|first|third|last|former|latter|same|next)\s(?:one|ones|thing|things|approach|option|way|part))\b""",
    re.VERBOSE,
)
# A count without what is counted: "I bought two".
_BARE_COUNT = regex(
    r"\b(?:bought|got|have|own|ordered|made|took|sold|lost|found|ate|read|need|saw|watched|finished|tried|want|rented)"
    r" (?:one|two|three|four|five|six|another|a few|several|some|both|most|all|a couple|many|plenty|mine|none)$"
)
_FIRST_PERSON = regex(r"(?:I|i|Im|im|Ive|ive|My|my|We|we)\b")  # one of these is in every shape
_CONTENT_WORDS = 2  # a verb with content and one more word: "hiked" alone says nothing
_WORD = regex(r"[A-Za-z][A-Za-z'-]*|\d+")

_ADVERBS = rf"(?:(?:{alternatives(words.ADVERBS)})\ ){{0,3}}"
_I_AM = r"(?:I'm|I\ am|Im)\ "
_I_HAVE = r"(?:I've|I\ have|Ive)\ "

_HABITS = alternatives(words.HABIT_VERBS)
_PAST_VERBS = alternatives(words.PAST_VERBS)
_PARTICIPLES = alternatives(words.PARTICIPLES)
_GERUNDS = rf"{alternatives(words.GERUNDS)}|getting\ (?=married|divorced|engaged|into|an?\ |my\ )"
_RELATIONS = alternatives(words.RELATIONS)
_CIRCUMSTANCES = alternatives(words.CIRCUMSTANCES)
_DETERMINERS = r"(?:an?|one|two|three|four|five|six|seven|eight|ten|\d+|several|my\ own|no)"
_FUTURE_DATE = regex(
    rf"""\b(?:tomorrow|tonight|next\ (?:week|month|year|summer|winter|spring|fall|\w+day|{_MONTHS})
    |this\ (?:weekend|summer|winter|fall|spring|\w+day|month|year)|on\ \w+day
    |in\ (?:{_MONTHS}|\d{{4}}|(?:a|two|three|\d+)\ (?:days|weeks?|months?)))\b""",
    re.VERBOSE | re.IGNORECASE,
)


# Who a clause is about: each of the shapes below begins so, behind a time if there is one.
_SUBJECT = regex(
    rf"{_TIME}(?=I\ |I'm\ |I've\ |I'll\ |Im\ |Ive\ |[Mm]y\ |[Ww]e\ |[Ww]e'[vr]e\ |[A-Z][a-z]+\ and\ I\ )", re.VERBOSE
)


def _shape(pattern: str) -> re.Pattern[str]:
    return regex(pattern, re.VERBOSE)


# "I love this", "I like how ...", "I love the colors": reactions to what is being shown, not tastes.
_NO_REACTION = r"""(?!(?:this|that|it|those|these|them|how|what|when|where|her|his|their|him|hearing|seeing)\b
    |(?:all\ )?the\ (?!beach|outdoors|ocean|sea\b|mountains|piano|violin|guitar|rain|snow|countryside|theat|gym
    |[A-Z]))"""
_LIKES = rf"(?:{alternatives(words.PREFERENCE_VERBS)}|luv|loved|enjoyed|hated)"
_FOND = r"""(?:into|fond\ of|keen\ on|fan\ of|crazy\ about|passionate\ about|obsessed\ with|addicted\ to
    |interested\ in)"""
_PREFERENCES = [
    _shape(rf"I\ (?:do\ )?{_ADVERBS}(?:don't\ |do\ not\ |didn't\ )?{_ADVERBS}{_LIKES}\ (?:to\ be\ )?{_NO_REACTION}"),
    _shape(rf"I\ {_ADVERBS}(?:can't|cannot|can\ not)\ (?:stand|bear|live\ without)\ {_NO_REACTION}"),
    _shape(rf"{_I_HAVE}{_ADVERBS}(?:loved|enjoyed|hated|been\ (?:into|a\ (?:\w+\ )?fan\ of))\ {_NO_REACTION}"),
    _shape(rf"{_I_AM}{_ADVERBS}(?:not\ )?(?:(?:a|very|so|super|a\ big|a\ huge)\ )?{_FOND}\ {_NO_REACTION}"),
    _shape(
        rf"""{_I_AM}{_ADVERBS}(?:not\ )?(?:scared|afraid|terrified)\ of
        \ (?!(?:the|my|(?!flying|driving|swimming)\w+ing)\b){_NO_REACTION}"""
    ),
    _shape(
        r"""[Mm]y\ (?:all-time\ |absolute\ |least\ )?fav(?:e|s|ou?rites?)?\ (?!part|thing|one|bit|is|are)\w+\b[^,.;]*?
        \ (?:is|are|was|were|has\ to\ be|would\ be)\ (?!(?:probably\ )?(?:this|that|it|when|the\ one)\b)"""
    ),
]

_DEGREE = r"(?:(?:severely|seriously|deathly|deadly|highly|very|extremely|mildly|slightly|quite|terribly|violently)\ )?"
_STATES = (
    rf"(?:{_DEGREE}"
    r"""al+ergic\ to(?!\ (?:[Mm]ondays?|mornings?|work|people|commitment|drama|exercise|effort))
    |vegan|vegetarian|pescatarian|married(?!\ to\ (?:my\ (?:job|work)|the\ (?:sea|job|game|gym|road|bottle)))
    |single|divorced
    |engaged|pregnant|retired|unemployed
    |self-employed
    |left-handed|diabetic|asthmatic|lactose\ intolerant|gluten|colou?r-?blind|(?:originally\ )?from\ (?=[A-Z])
    |based\ in|bilingual|gay|lesbian|bisexual|trans(?:gender)?\b|non-?binary|Jewish|Muslim|Christian|Catholic|Buddhist
    |Hindu|an?\ atheist|agnostic
    |\d{1,2}(?=\ (?:years|yrs)\ old|\ y/?o\b|[.,!]|$|\ and\b)|in\ (?:college|high\ school|grad\ school|a\ band)
    |(?:the|an?)\ only\ child|the\ (?:oldest|eldest|youngest)\b
    |the\ (?:owner|founder|CEO|manager|captain|head|director|lead)\ (?:of|at|for|in|\w+)\ (?!it|this|that)\w
    |(?:head|lead|chief|senior|junior|assistant|deputy|interim)\ [a-z]+|more\ of\ an?\ \w+\ (?:person|guy|girl|gal)\b
    |one\ of\ (?:two|three|four|five|\d))"""
)
# What "I'm a ..." and "I was a ..." must not go on with: moods, and words that only count.
_NO_MOOD = r"""(?!(?:bit|little|lot|tad|mess|wreck|mix|few|total|loss|great|good|nice|tough|big|huge|wonderful|fan
    |idiot|fool|moron|disaster|genius|failure|joke|loser|\d+\ (?:at|in|for)|fan\ favou?rite)\b)"""
# What "I have a ..." must not go on with: a question is no possession.
_NO_IDLE = r"""(?!(?:\w+\ )?(?:questions?|ideas?|feeling|problem|request|lot|bit|hunch|great|good|point|look
    |chance|few|ton
    |couple|suggestion|favou?r|headache|fever|cold|cough|meeting\ (?:at|in|now|today)|hangover|stomach|sore
    |doubt|clue|hard|tough|rough|big|blast|choice|time|moment|way|busy|long|crush|wonderful|fun
    |amazing|soft\ spot)\b)"""
# Objects that only point back at what was said before.
_NO_POINTER = r"""(?!'t\b|'|\ (?:it|them|this\ one|that\ (?:[Ii]|we|he|she|they|it|the|there|you|my|this|is|was|one)|so
    |up\ on|how|the\ (?:problem|file|error|bug|issue|answer|solution|link)|sure|out\ that|by\ (?:it|that)|something
    |(?:some\ )?(?:great|strong)|to\ (?:realize|feel|think|see|understand|stay|be)
    |to\ the\ next|\d+\ (?:pages?|times)|a\ (?:lot|ton|bit|difference|deep\ breath|break|look)
    |my\ (?:best|time|part|true|mind|keys|way|patience|temper|cool|voice|train)|the\ (?:time|chance|hang))\b)"""
_NO_PROGRESS = r"""(?!\ (?:on\ (?:\w+\ )?behalf|(?:this|to\ (?:you|ask|let|find\ out))\b
    |in\ (?:sin|denial|fear|hell|hope)|as\ \w+\ as
    |back|closer|next|on\ it|it|there|so|better|well|good|great|ok|OK|okay|alright|fine
    |pretty|ready|used|hard|with|how|that|a\ lot
    |to\ (?:realize|feel|think|see|understand|get)|my\ (?:best|part|time|true)|the\ time|some\ time|things)\b)"""
_SKILLS = r"(?:speak|play|cook|sing|dance|swim|ski|surf|drive|bake|paint|read|write|knit|sew|ride)"
_NO_HOME = (
    r"live\ (?:for\ (?!\d|years|many|over)|in\ (?:leggings|hoodies|jeans|sweatpants|py?jamas|fear|hope|denial|hell))"
)
# Verbs that need an object, without one: "My friend lives in Oslo and I visit often".
_NO_OBJECT = r"""(?:visit|own|rescue|share|rent|foster|manage|host|lead)\ (?:often|regularly|sometimes|occasionally
    |frequently|rarely|daily|weekly|monthly|a\ lot|every\ \w+|each\ \w+|too|there|alone|together|when|whenever)\b"""
_NOT_A_HABIT = (
    r"(?!\ (?:it|that|this|them|on\ it|for\ it|with\ it|a\ role|hard|ahead|out|through|into|by|back|for\ that)\b)"
)
_GOALS = r"""(?:be(?:come)?\ an?|open|start|move|adopt|retire|go\ back\ to\ school|learn|study|visit|buy)"""
_BELONGINGS = r"(?:siblings|pets?|car|licen[cs]e|degree|job|allerg(?:y|ies)|passport|tattoos?|garden|smartphone|tv)"
_CONDITIONS = r"""(?:(?:high|low)\ blood\ pressure|diabetes|asthma|epilepsy|migraines?|arthritis|insomnia|depression
    |adhd|ADHD|autism|dyslexia|celiac|coeliac|eczema|anxiety|anemia|anaemia|cancer|tinnitus|psoriasis
    |hay\ fever|coeliac|lupus|IBS|Crohn's|glaucoma|allergies|hypertension|scoliosis|endometriosis|sleep\ apn)"""
_NOT_REGULAR = (
    r"(?:need|have|had|must|should|would|could|will|can|may|feel|think|wish|hope|want|was|am|try|learn|see|get)\b"
)
_WEEKDAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_DAY = rf"(?:day|morning|evening|night|week|weekend|month|year|spring|summer|autumn|winter|{_WEEKDAY})\b"
_REGULARLY = rf"\b(?:(?:every|each)\ (?:single\ |other\ )?{_DAY}|on\ {_WEEKDAY}s|twice\ a\ {_DAY})"
_FACTS = [
    _shape(rf"{_I_AM}{_ADVERBS}(?:not\ )?an?\ {_NO_MOOD}"),
    _shape(rf"{_I_AM}{_ADVERBS}(?:not\ )?(?={_STATES})"),
    _shape(rf"{_I_AM}{_ADVERBS}(?:{_GERUNDS})\b{_NO_PROGRESS}"),
    _shape(rf"I\ {_ADVERBS}(?:have|own)\ {_DETERMINERS}\ {_NO_IDLE}"),
    _shape(rf"I\ {_ADVERBS}(?:don't|do\ not|never)\ have\ (?:an?\ |any\ )?(?:\w+\ )?(?:{_RELATIONS}|{_BELONGINGS})\b"),
    _shape(rf"I\ {_ADVERBS}(?:have|had|suffer\ from|live\ with)\ (?:\w+\ |type\ \d\ )?(?={_CONDITIONS})"),
    _shape(rf"I\ {_ADVERBS}(?!{_NOT_REGULAR}|{_NO_OBJECT})[a-z]+\ [^,.;!]{{0,40}}?{_REGULARLY}"),
    _shape(rf"(?:I've|I\ have|Ive)\ got\ (?:\w+\ |type\ \d\ )?(?={_CONDITIONS})"),
    _shape(rf"I\ {_ADVERBS}take\ [^.,;!]{{2,40}}?\ for\ (?:my|an?)\ "),
    _shape(
        rf"I\ {_ADVERBS}do\ (?:freelance|contract|volunteer|yoga|pilates|karate|judo|ballet|improv|night\ shifts)\b"
    ),
    _shape(
        rf"""{_I_AM}{_ADVERBS}on\ (?=(?:\w+\ )?(?:antidepressants?|meds|medication|insulin|statins|keto|the\ pill
        |an?\ \w+\ diet|blood\ thinners|beta\ blockers|maternity\ leave|parental\ leave|dialysis)\b)"""
    ),
    _shape(r"I(?:'m|\ am)\ [A-Z]\w+(?:\ [A-Z]\w+)?,\ an?\ "),
    _shape(rf"(?:I've|I\ have)\ got\ {_DETERMINERS}\ {_NO_IDLE}"),
    _shape(
        rf"""I\ {_ADVERBS}(?:don't\ |do\ not\ |can't\ |cannot\ )?{_ADVERBS}(?!{_NO_HOME}|{_NO_OBJECT})(?:{_HABITS})\b
        {_NOT_A_HABIT}"""
    ),
    _shape(rf"I\ {_ADVERBS}can\ {_ADVERBS}{_SKILLS}\b{_NOT_A_HABIT}"),
    _shape(
        rf"""{_I_HAVE}{_ADVERBS}been\ (?:(?:{_GERUNDS}|seeing|cooking|hiking)\b{_NO_PROGRESS}|(?:to|in)\ (?=[A-Z])
        |an?\ {_NO_MOOD}|married|diagnosed|friends\ with
        |(?=vegan|vegetarian|pescatarian|single|divorced|retired|unemployed|self-employed|diabetic))"""
    ),
    _shape(rf"{_I_HAVE}(?:not\ )?{_ADVERBS}(?:{_PARTICIPLES})\b{_NO_POINTER}"),
    _shape(rf"I\ {_ADVERBS}(?:{_PAST_VERBS})\b{_NO_POINTER}"),
    _shape(
        rf"""I\ was\ (?=born|raised|diagnosed|hired|promoted|accepted|fired|laid\ off|elected|adopted|in\ (?=[A-Z])
        |an?\ {_NO_MOOD})"""
    ),
    _shape(
        rf"""I\ {_ADVERBS}got\ (?:an?\ (?!chance|feeling|look){_NO_MOOD}|two|three|my\ (?!act|mind|head|hopes)
        |(?=married|engaged|divorced|promoted|fired|hired|laid\ off|accepted|into\ (?!it|that)|diagnosed))"""
    ),
    _shape(rf"I\ (?:have\ )?{_ADVERBS}(?:became|become)\ an?\ {_NO_MOOD}(?=[\w'-]+)"),
    _shape(
        rf"""I\ (?:have\ )?{_ADVERBS}left\ (?=my\ (?:job|position|post)\b
        |[A-Z]\w+(?:\ [A-Z]\w+)?(?:[.!]|$|\ (?:for\ good|forever|last|this|in)\b))"""
    ),
    _shape(r"I\ (?:used\ to|grew\ up)\ (?!it|this|that|think|feel)"),
    _shape(rf"I\ (?:want|wanna|plan|intend|aim)\ (?:to\ )?{_GOALS}\ (?!it|this|that|with|by|there)"),
]
# "My sister Anna lives ...", "My son's studying ...", "My dog is a ...".
_SPARE = rf"(?:(?:{alternatives(words.ADVERBS)}|now) ){{0,3}}"
_FACTS.append(regex(rf"I(?:'m|'ve| am| have)? {_SPARE}(?={LEFT_CRAFT})"))
_FACTS.append(regex(rf"I(?:'ve| have)? {_SPARE}(?={CHANGED_JOBS})"))
_IN_PLACE = rf" {_SPARE}(?:in|based in|living in) (?=(?:the )?(?:{PLACE}|{LOWER_PLACE}){MOVED_THERE})"
_FACTS.append(regex(rf"(?:I'm|I am|Im){_IN_PLACE}"))
_KIN = rf"[Mm]y\ (?:\w+\ )?(?:{_RELATIONS})(?:,?\ [A-Z]\w+,?)?(?:\ and\ (?:my\ )?\w+)?(?:'s\ |\ )"
_ASIDE = r"(?:(?:just|also|recently|still|currently|both)\ )?"
_NO_PRAISE = r"(?!(?:bit|little|great|good|huge|real|true|lot|big|blast|so|such|there|part|source)\b)"
_FAMILY_FACTS = [
    _shape(
        rf"""{_KIN}{_ASIDE}(?:(?:is|are|was|were)\ )?(?:an?\ {_NO_PRAISE}|named\ |called\ |from\ |in\ (?=[A-Z])
        |\d|{_DEGREE}allergic
        |married|pregnant|engaged|diagnosed|born|(?:{_GERUNDS}|turning|visiting)\b{_NO_PROGRESS})"""
    ),
    _shape(rf"[Mm]y\ (?:\w+\ )?(?:{_RELATIONS})'s\ (?:first\ )?name\ is\ (?=[A-Z])"),
    _shape(rf"{_KIN}{_ASIDE}(?:starts|attends|goes\ to)\ (?!it\b|to\b|with\b)"),
    _shape(rf"{_KIN}{_ASIDE}(?:has|have|had)\ (?:an?|two|three|been|surgery|twins)\ {_NO_PRAISE}{_NO_IDLE}"),
    _shape(
        rf"""{_KIN}{_ASIDE}(?:lives?|works?|stud(?:y|ies)|teach(?:es)?|runs?|owns?|speaks?|died|passed\ away
        |turned\ \d+)\b"""
    ),
    _shape(rf"{_KIN}{_ASIDE}(?:got|fell|became)\ (?=sick|ill\b|married|engaged|divorced|pregnant|[hf]ired|promoted)"),
    _shape(
        rf"""[Mm]y\ (?:husband|wife|spouse)\ {_ASIDE}(?:left|divorced)
        \ (?=me(?:[.!]|$|\ (?:for\ an|last|this|yesterday|in)\b))"""
    ),
    _shape(rf"{_KIN}{_ASIDE}(?={CHANGED_JOBS.replace(' ', chr(92) + ' ')})"),
    _shape(
        rf"{_KIN}(?:turns|can't|cannot|doesn't|hates?|loves?|likes)\ (?!it\b|this|that|me\b|you|them|when|how|to\ )"
    ),
    _shape(rf"{_KIN}{_ASIDE}(?:plays?\ (?!a\ )|graduat|(?:{_PAST_VERBS})\b{_NO_POINTER}(?!\ (?:me|us|all|out|up)\b))"),
    _shape(
        rf"""[Mm]y\ (?!first|next|last|whole)(?:\w+\ )?(?:{_CIRCUMSTANCES})\ (?:is|are|was|were|has|have
        |starts?|opened|closed|went\ through|falls)
        \ (?!(?:so|very|really|super|amazing|great|awesome|good|going|the\ best|pretty|been|just|always|finally)\b)"""
    ),
]
_WE = rf"(?:[Ww]e|[A-Z][a-z]+\ and\ I|[Mm]y\ (?:{_RELATIONS})(?:\ [A-Z]\w+)?\ and\ I)"
_SHARED_FACTS = [
    _shape(rf"{_WE}\ {_ADVERBS}(?:{_PAST_VERBS})\b{_NO_POINTER}(?!\ (?:up|out)\b)"),
    _shape(rf"{_WE}\ {_ADVERBS}gave\ up\ (?:the|our)\ (?=(?:\w+\ )?(?:flat|house|apartment|home|place)\b)"),
    _shape(rf"{_WE}\ {_ADVERBS}(?:got\ (?:married|engaged|divorced|an?\ {_NO_MOOD})|live\ in\b)"),
    _shape(r"[Ww]e're\ (?:expecting|having)\ (?=an?\ (?:baby|boy|girl)|twins|our\ )"),
    _shape(rf"{_WE}\ {_ADVERBS}(?:have|own)\ {_DETERMINERS}\ {_NO_IDLE}"),
    _shape(rf"(?:{_WE}\ have|[Ww]e've)\ been\ (?:married|together|living|working\ on)\b"),
]
_SHARED_FACTS.append(regex(rf"(?:[Ww]e're|[Ww]e are){_IN_PLACE}"))
_FAMILY_FACTS.append(
    _shape(
        r"""[Mm]y\ (?:doctor|dentist|therapist|psychiatrist|physio|GP|vet)\ (?:has\ )?
        (?:told\ me|said|says|diagnosed\ me)\b(?=.*\b(?:I\ (?:have|am|should|can't|must|need)|I'm|with)\b)"""
    )
)
# They need no object.
_WHOLE = _shape(rf"{_WE}\ {_ADVERBS}(?:broke|split)\ up\b|I(?:'ve|\ have)?\ {_ADVERBS}retired\b")
_PLAN = _shape(
    r"""(?:(?:I'm|I\ am|Im|We're|we're)\ (?:going\ (?:to|on)|gonna|flying|getting\ married
    |moving|heading|leaving|meeting|seeing|having|hosting
    |performing|running|starting|visiting)\ (?!it|you)|(?:I'll|I\ will)\ be\ (?!there|sure|back|okay|fine))"""
)
_SHAPES = (
    (_PREFERENCES, SemanticType.PREFERENCE, PLAIN),
    (_FACTS + _FAMILY_FACTS, SemanticType.FACT, PLAIN),
    (_SHARED_FACTS, SemanticType.FACT, SHARED),
)

_AGENT = regex(
    rf"""(?:[Ii](?:'d|\ would)?\ {_ADVERBS}(?:(?:highly|strongly)\ )?(?:recommend|suggest|advise)(?:ed)?
      \ (?!it\b|that\ you|you\b)
    | I\ {_ADVERBS}(?:don't|wouldn't|do\ not)\ recommend\ (?!it\b|that\b)
    | {_I_AM}{_ADVERBS}(?:not\ )?(?:just\ )?an?\ {_NO_MOOD}
    | I\ promised?\ (?:to|that|you)\b | (?:I'll|I\ will)\ (?:remind|send|schedule|follow\ up|book|remember)\b
    | (?:I|I've|I\ have)\ {_ADVERBS}(?:recommended|suggested|booked|scheduled|reserved|ordered|created|updated
    |sent|promised)
      \ (?!it\b))""",
    re.VERBOSE,
)


# Two facts that change one without the other: "I work at Google as an engineer".
_EMPLOYED = regex(
    rf"(?P<work>(?:I|I'm|I\ am|Im)\ {_ADVERBS}(?:work|working))"
    r"\ (?P<where>(?:at|for)\ [A-Z][\w&'.-]*(?:\ [A-Z][\w&'.-]*)*)"
    r"\ (?P<job>as\ an?\ [^,;]+)",
    re.VERBOSE,
)


def statements(sentence: str) -> list[Statement]:
    """Find the parts of the sentence that each state something durable about its speaker by themselves."""
    plain = clauses.told(sentence)
    says_i, is_short = _FIRST_PERSON.search(plain), len(plain) <= SENTENCE_LIMIT
    if not (says_i or may_be_elliptic(plain)) or not is_short or not _is_asserted(plain):
        return []
    first_person = (part for one in _first_person(sentence, plain) for part in _parted(one))
    found = [*first_person, *asides(sentence, plain), *contacts(sentence, plain)]
    return found or list(elliptic(sentence, plain))


def _first_person(sentence: str, plain: str) -> Iterator[Statement]:
    starts = clauses.starts(plain) if _FIRST_PERSON.search(plain) else []
    told = 0
    for number, start in enumerate(starts):
        if start < told or not _classified(clauses.unaddressed(plain[start:])):
            continue
        clause = clauses.unaddressed(plain[start : _end(plain, start, starts[number + 1 :])])
        clause = clauses.trimmed(clause)
        if found := _classified(clause):
            told = start + len(clause)
            yield Statement(sentence[start:told], *found)


def _parted(one: Statement) -> list[Statement]:
    """Employer and occupation as statements of their own."""
    found = _EMPLOYED.fullmatch(clauses.plain(one.quote).rstrip(" .!"))
    if found is None:
        return [one]
    return [replace(one, clause=f"{found['work']} {found[part]}") for part in ("where", "job")]


def _end(plain: str, start: int, later: Sequence[int]) -> int:
    """Where the clause ends: before the next one, if both state something by themselves."""
    for next_start in later:
        end = clauses.parted(plain, next_start)
        if (
            end
            and end > start
            and _classified(plain[start:end])
            and _classified(clauses.unaddressed(plain[next_start:]))
        ):
            return end
    return len(plain)


def agent_statement(sentence: str) -> Statement | None:
    """Find the part in which an assistant says what it is, recommended, did or promised."""
    plain = clauses.plain(sentence)
    if not _is_stated(plain):
        return None
    for start in clauses.starts(plain):
        match = _AGENT.match(plain, start)
        if match and not _HYPOTHETICAL.search(plain, 0, match.end()) and _content_words(plain[match.end() :]):
            return Statement(sentence[start:], SemanticType.FACT, PLAIN)
    return None


def _is_asserted(plain: str) -> bool:
    """Neither a question, a supposition nor half a quotation."""
    asks = plain.rstrip().endswith(("?", "?!", "!?", ":"))
    return not asks and clauses.is_quote_balanced(plain) and not _HYPOTHETICAL.search(plain)


def _is_stated(plain: str) -> bool:
    if len(plain) > SENTENCE_LIMIT or plain.rstrip().endswith(("?", "?!", "!?", ":")):
        return False
    return _FIRST_PERSON.search(plain) is not None and clauses.is_quote_balanced(plain)


def _classified(clause: str) -> tuple[SemanticType, float] | None:
    clause = f"I{clause[1:]}" if re.match(r"(?:i|im|ive)\b", clause) else clause
    subject = _SUBJECT.match(clause)
    if subject is None or _points_back(clause):
        return None
    start = subject.end()
    for shapes, kind, confidence in _SHAPES:
        if any(_says_something(clause, match) for shape in shapes if (match := shape.match(clause, start))):
            return kind, confidence
    if _WHOLE.match(clause, start):
        return SemanticType.FACT, PLAIN
    if (plan := _PLAN.match(clause, start)) and _FUTURE_DATE.search(clause) and _content_words(clause[plan.end() :]):
        return SemanticType.FACT, PLAIN
    return None


def _points_back(clause: str) -> bool:
    """Whether its object is "it", "them" or "two": nothing to remember without the sentence before."""
    head = _HEAD_END.split(clause, maxsplit=1)[0]
    return any(signs.search(head) is not None for signs in (_POINTER, _BARE_COUNT))


def _says_something(clause: str, match: re.Match[str]) -> bool:
    """Whether it has an object with content ("went to the dentist"), or a verb that needs none ("graduated early")."""
    return _content_words(clause[match.end() :]) > 0 or _content_words(clause) >= _CONTENT_WORDS


def _content_words(text: str) -> int:
    """Count the words besides pronouns, fillers and light verbs."""
    return sum(word.lower() not in words.EMPTY_WORDS for word in _WORD.findall(text))
