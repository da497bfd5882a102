"""English words that introduce a text, a line or an example, and no statement of the speaker's own."""

from __future__ import annotations

import re

from memoryos.operation.consolidation.english_words import RELATIONS, alternatives
from memoryos.regex import regex

# What bears words for everybody to read, whoever owns it: made for them, or a thing on which they may stand.
_SIGN = (
    r"(?:signs?(?!\ of\b)|placards?|stickers?|plaque|posters?|banners?|billboards?|graffiti|flyer|leaflet|epitaph"
    r"|inscription|headlines?|fortune\ cookie)"
)
_THING = (
    r"(?:cardboard|t-?shirts?|shirt|hoodie|sweater|mug|cap|badge|button|magnet|tattoo|doormat|tombstone|gravestone"
    r"|headstone|plate|flag|placemat)"
)
_BEARER = rf"(?:{_SIGN}|{_THING})"
_TEXT = (
    r"(?:messages?|texts?|e-?mails?|mail|letters?|postcards?|cards?|notes?|memos?|posts?|tweets?|comments?|reviews?"
    r"|captions?|voicemails?|recordings?|transcripts?|testimonials?|quotes?|quotations?|slogans?|adverts?|ads?"
    r"|screenshots?|notices?|diary|journal|blog|answering\ machine|tape|voice|testimony)"
)
_SPEECH = (  # nouns of what somebody says
    rf"(?:{_TEXT}|status|bio|profile|update|answers?|repl(?:y|ies)|responses?|words|version|excuse|explanation|claim"
    r"|statement|confession|line|story|motto|description|introduction|announcement|testimony|promise|prayer|wish)"
)
_LINE_OF = (  # nouns of what is recited or looked at as language
    r"(?:lines?(?!\ of\ (?:work|business|duty|fire)\b)|slogan|jingle|catchphrase|lyrics?|verse|chorus|refrain"
    r"|stanza|monologue|soliloquy|sentences?|phrase|exercise|riddle|limerick|haiku|prologue"
    r"|epilogue|proverb|tongue[- ]twister|dictation)"
)
_WORK = (
    r"(?:novel|book|story|tale|song|poem|play|script|scene|film|movie|musical|opera|sketch|chapter|dialogue|joke|episode"
    r"|essay|article|thesis)"
)
_GRAMMAR = (
    r"(?:tense|(?:present|past|future)\ (?:simple|perfect|continuous|progressive)|passive(?:\ voice)?|subjunctive"
    r"|(?:verb|noun|adjective|adverb|pronoun|preposition|gerund|infinitive|participle)s?|clause|grammar|syntax)"
)
_KIN = rf"(?:{alternatives(RELATIONS)}|teacher|landlord|manager|neighbou?r|client|customer|patient)"
_OTHERS = (  # somebody else's
    rf"(?:his|her|their|(?:my|our|the)\ (?:\w+\ )?{_KIN}s?'s?"
    r"|(?!(?:today|tonight|yesterday|tomorrow|here|there|that|it|what|who|how|where|let|he|she|this)')(?-i:[A-Z])\w+'s)"
)
_THE = rf"(?:the|this|that|these|those|another|{_OTHERS})"
_ANY = rf"(?:an?|my|our|your|{_THE})"
_SEES = (  # what leads to the noun of a text
    r"(?:(?:here|there|this|that|it)(?:'s|\ is|\ was|\ are|\ were|\ goes|\ comes)?\ "
    r"|I\ (?:just\ )?(?:got|found|saw|read|received|have|had|heard|see)\ (?=an?\ ))?"
)
_BEGINS = r"(?:begins?|starts?|opens?|goes|ends?|closes|finishes|reads|runs|says|is\ called|is|was)"
# What may follow a noun up to the colon: where it stands, whose it is, or a verb of saying.
_AS_IT_IS = (
    r"(?:\ (?:(?:on|in|at|from|by|of|to|for|with|under|above|over|near|behind|about|that|which|who|he|she|they|left"
    r"|sent|written|printed|posted|say|says|said|reads?|went|goes|go|ran|runs|begins?|starts?|started|began|simply|just|only"
    r"|today|yesterday|this|last|again)\b(?:\ [\w'’-]{1,30}){0,7}"
    r"|(?:is|was|are|were)(?:\ (?:always|just|simply|basically|this|that|as\ follows))?))?\W*$"
)
_UP_TO_COLON = r"(?:\ [\w'’-]+){0,7}\W*$"

_THEY = (
    r"(?:he|she|they|somebody|someone|who|it|(?:the|my|our|his|her|their|a)\ (?:\w+\ ){0,2}\w+|(?!I\b)(?-i:[A-Z])\w+)"
)
_POSTS = (  # what brings words forth that are not said to the user, who could be their "I" only then
    r"(?:sign(?:s|ed)|post(?:s|ed)|tweet(?:s|ed)|spray(?:s|ed)|paint(?:s|ed)|scribbl(?:es|ed)|scrawl(?:s|ed)|carv(?:es|ed)"
    r"|dictat(?:es|ed)|report(?:s|ed)|declar(?:es|ed)|announc(?:es|ed)|testifi(?:es|ed)|sings?|sang|comment(?:s|ed)"
    r"|typ(?:es|ed)|puts?|boast(?:s|ed)|said\ (?:on|in|at)|wrote\ (?:on|in|at|back))"
)
_WRITTEN = r"(?:written|printed|carved|engraved|sprayed|painted|scribbled|signed|embroidered|stitched)"

_ASKED = (
    r"(?:(?:please|now|then|and|so|ok(?:ay)?|just|kindly|first|next|hey|(?:can|could|would|will)\ you|let's"
    r"|help\ me(?:\ to)?|(?:I\ (?:want|need)|I'd\ like)\ you\ to|you\ (?:can|should|could|must))\W+){0,4}"
)
_WHOM = (
    r"(?:him|her|them|it|everyone|everybody|people|(?:the|my|our|his|their|this|that|an?)\ (?!down\b)\w+"
    r"|(?-i:[A-Z])\w+)\b"
)
_REMEMBERED = r"(?:memory|notes?|profile|records?|file|list|mind|calendar|account|preferences|settings|facts)"
LEADS_TO_OTHERS = regex(
    rf"""^\W*(?:
      {_ASKED}(?:
        (?:tell|text|message|e-?mail|inform|warn|remind|ask|answer)\ {_WHOM}
        | (?:write(?:\ back)?|reply|respond|answer|send|say|shout|whisper)\ (?:(?:back\ )?to\ |back\b|after\b)
          (?:{_WHOM})?
        | (?:write|send|draft|compose|post|type|dictate)\ (?:{_WHOM}\ )?{_ANY}\ (?:[\w-]+\ ){{0,3}}?
          (?:{_SPEECH}|{_BEARER})\b
        | (?:write|send)\ {_WHOM}\W*$
        | let\ {_WHOM}\ know\b
        | (?:repeat|say|read|recite|sing)\ (?:it\ |this\ )?(?:(?:after|with)\ me|aloud|out\ loud|out)\b
        | (?:say|write|repeat|type)\W*$
        | (?:act|answer|respond|reply|speak|talk|behave|pose)\ (?:as|like)\b
        | (?:mark(?!\ my\ words)|underline|circle|highlight|parse|conjugate|negate|rewrite|recite|memori[sz]e|pronounce
          |sing|transcribe)\ (?:all\ |out\ )?(?:the|this|these|an?|each|every|my)\b
        | (?:continue|finish|complete)\ (?:the|this|my)\ (?:\w+\ )?(?:text|paragraph|{_LINE_OF}|{_WORK})\b
        | (?:put|add|write|print|stick|enter|type|engrave|carve|stitch|embroider|paint|insert)\b(?:\ [\w'-]+){{0,4}}?
          \ (?:on|onto|in|into|under|at)\ {_ANY}\ (?!(?:\w+\ )?{_REMEMBERED}\b)(?:[\w-]+\ ){{0,2}}[\w-]+
      ){_UP_TO_COLON}
    | (?:(?:and|but|so|then|also|well|now|ok(?:ay)?)\W+)?(?:
        {_SEES}(?:{_THE}\ (?:[\w-]+\ ){{0,3}}?{_TEXT} | {_ANY}\ (?:[\w-]+\ ){{0,3}}?(?:{_SIGN}|{_LINE_OF})
          | {_ANY}\ (?:[\w-]+\ ){{0,3}}?{_THING}(?=\ (?:says?|said|reads?|with|on|in|that|which)\b)
          | {_OTHERS}\ (?:[\w-]+\ ){{0,3}}?{_SPEECH})\b{_AS_IT_IS}
        | {_ANY}\ (?:[\w-]+\ ){{0,3}}?{_WORK}\b(?:\ [\w'-]+){{0,4}}?\ {_BEGINS}\b{_UP_TO_COLON}
        | (?!I\b)[^:]{{0,80}}\b(?:{_GRAMMAR}|(?:examples?|sample)\ (?:sentences?|of\ (?:the|an?)\ {_GRAMMAR}))\b
          {_UP_TO_COLON}
        | (?!I\b)[^:]{{0,80}}?\b(?:the|this|these|following)\ (?:following\ )?{_LINE_OF}
          (?:\ (?:aloud|out\ loud|slowly|again|below|for\ me))?\W*$
        | {_LINE_OF}\W*$ | (?:quote|quotation|caption|headline|transcript|dialogue|script|excerpt|prompt)\W*$
        | (?!I\b)[^:]{{0,80}}?\b{_THEY}\ (?:(?:has|have|had|just|then|also|once|always|even|now)\ ){{0,2}}{_POSTS}\b
          (?!\ (?:it|this|that)\b){_UP_TO_COLON}
        | [^:]{{0,80}}(?<!\bI\ )(?<!\bI've\ )(?<!\bI\ have\ )(?<!\bI\ had\ )\b{_WRITTEN}
          (?:\ (?:on|in|across|under|above|below)\b(?:\ [\w'-]+){{1,4}})?\W*$
        | (?:forwarded|fwd|copied|pasted|quoted|taken|lifted|excerpt|received|(?:I\ )?(?:just\ )?got\ (?:this|it|that)
          |(?:{_SEES}{_ANY}\ )?(?:[\w-]+\ ){{0,2}}?{_TEXT})(?:\ \w+){{0,3}}?
          \ (?:from|by)(?!\ (?:me|us|myself|you)\b){_UP_TO_COLON}
      )
    )""",
    re.VERBOSE | re.IGNORECASE,
)
NO_COLON = regex(
    rf"""\b{_BEARER}\b(?:\ [\w'-]+){{0,5}}?\ (?:says?|said|saying|reads?|reading|announc\w{{1,4}}|proclaim\w{{0,4}}
      |declar\w{{1,4}})(?:\ that)?\ (?=I\b)
    | \b(?:the|this)\ (?:phrase|sentence|words|expression)
      \ (?=I\b[^.!?\n]{{2,60}}\ (?:means?|contains?|is|are|has|sounds?)\b)
    | \bwhat\ does\ (?=I\b[^.!?\n]{{2,60}}\ mean\b)
    | \b(?P<loud>reads,?|(?:repeat|chant|mutter|mumbl|murmur|yell|shout|scream|shriek|whisper|recit|bellow)
      (?:e?s|e?d|ing))
      (?:\ (?:over\ and\ over|again\ and\ again|again|loudly|out))?,?\ (?=I\b)""",
    re.VERBOSE | re.IGNORECASE,
)
MAIL = regex(  # "a voicemail from Pete. Hi, I ..."
    rf"\b{_TEXT}(?:\ \w{{1,20}}){{0,3}}?\ from\ (?!me\b|us\b)[\w' ]{{2,30}}[.!]\s{{1,4}}(?=(?:hi|hello|hey|dear)\b)",
    re.VERBOSE | re.IGNORECASE,
)
