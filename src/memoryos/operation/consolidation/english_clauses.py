"""Where in an English sentence a statement in the first person may begin, and where it ends.

All of it works on `plain` text, which is as long as the sentence, so that a place in one is a place in the other.
"""

from __future__ import annotations

import re

from memoryos.operation.consolidation import english_words as words
from memoryos.operation.consolidation.english_words import alternatives
from memoryos.operation.consolidation.statement import SENTENCE_LIMIT
from memoryos.regex import regex

# Words that part what is said in a breath: "long story short i quit my job".
_ASIDE = r"(?:long story short|btw|lol|lmao|haha\w*|tbh|ngl|rn|anyways?|then|now|fyi|idk man|idk|man|honestly|omg)"
_BY_ITSELF = rf"(?i:{_ASIDE})"
# What may stand before a statement: interjections, names, bullets and numbers, "remember that".
_LEAD = regex(
    rf"(?i:(?:{alternatives(words.LEADS)})\b)(?:,? [A-Z][a-z]+(?=[,!]))?[\s,!.:–—-]+|[A-Z][a-z]+, (?=(?:I|My|we|We)\b)"
    rf"|{_BY_ITSELF}[\s,]+"
    r"|so{2,}\s+|[-*•·–]\s+|\(?\d{1,2}[.)]\s+|(?i:(?:since you ask(?:ed)?|for the record|fyi|just so you know|about me"
    r"|to be clear)[:,] ?)"
    r"|(?i:(?:please )?(?:also )?(?:remember|note|keep in mind|be aware)(?: that|[:,]) )"
    r"|(?i:you (?:should|must|might|may) (?:also )?know(?: that)? )"
)
_START = r"(?:I\b|i\b|Im\b|im\b|Ive\b|My\b|my\b|We\b|we\b|[A-Z][a-z]+\ and\ I\b)"
# Where a statement may begin inside a sentence: after a comma, dash, "and" or such a word.
_INNER = regex(
    rf"(?:[,;:]|\ -+|\s?[–—])\s*(?:and|but|so|because|since|as|plus|also|btw|now)?\s*(?={_START})"
    rf"|\ (?:and|but|n|&)(?:\ (?:then|now|also))?\ (?=Im?\b|my\ |we\ )|\ {_BY_ITSELF},?\ +(?={_START})"
    rf"|\s*[^\w\s!-~‘’“”–—…£€¥°«»]+\s*(?={_START})"  # an emoji
)
# Behind one of these the next statement stands by itself.
_PARTED = regex(
    rf"(?:[,;]|\s[–—]|\s-+)?\s*(?:(?:(?:and|but|plus|n)\b|&)\s*(?:(?:then|now|also)\s*)?|{_BY_ITSELF},?\s*)?$"
)
_SHOUTED = 2  # words in capitals are no sentence yet, but names
_CHAT_I = regex(r"\bi(?=(?:'(?:m|ve|ll|d)|m|ve)?\b)(?!\.)")
_ADDRESSED = regex(r"\b(?:you|your|yours|yourself|u|ya|y'all|you're|you've|ur)\b", re.IGNORECASE)
_BREAK = regex(r" ?(?:[,;:–—]| -+ |\bso\b)")
# A question behind a statement: "I eat no meat, so where should we go?". "I came early, did I?" asks for all of it.
_QUESTION = regex(
    r"(?: ?[,;:–—]| -+| (?=so\b)) ?(?:so |and |but |or )?"
    r"(?:where|what|how|which|who|when|why|can|could|do|does|did|is|are|should|will|would|any|got any|you|may"
    r"|have you)\b"
    r"(?! (?:I|we|you|it|that|he|she|they) ?\?)[^,;:]*\?[?!]*$",
    re.IGNORECASE,
)
_DANGLING = regex(r"(?:[\s,;:–—-]+(?:and|but|so|because|or|as|of course)?)+$")
_TAIL = regex(r"(?:[\s,]+(?:lol|lmao|rofl|haha\w*|tbh|btw|ngl|tho|xd|ikr))+[.!]*$", re.IGNORECASE)
# What is asked, wished or thanked for behind a statement: "I eat no meat, so no paella please".
_ACT = regex(
    r"(?:(?:\s*[,;:–—]|\s-+)\s*(?:(?:so|and|but|then)\s+)?|\s+so\s+)(?:please\b|thanks?\b|thank you\b|cheers\b"
    r"|sorry\b|by the way\b|just (?:so|saying)\b"
    r"|(?:pray|fingers crossed|wish|trust|believe|forgive|excuse|bear with|help)"
    r" (?:for |with )?(?:me|us)\b|let me\b|let's\b|go easy\b|no (?:\w+ ){1,3}?(?:please|for (?:me|us)|today"
    r"|tonight|then|thanks)\b"
    r"|(?:please )?(?:don't|do not|never) (?:even )?(?:ask|tell|laugh|judge|worry|forget|suggest|call|book|send|put"
    r"|add|give|make|use|bother|get me|expect|be|mention|mix|confuse|say|offer|serve|bring|recommend|try to|let|come)\b"
    r"|(?:\w+ )?(?:leave|hold|skip|order|keep|avoid|bring|send|book|suggest|recommend|pick|choose|remove|call|remember)"
    r" (?:it|the|me|us|that|all|any|some|something|a|an|my)\b).*$",
    re.IGNORECASE,
)
# What is said of saying it, at the end: "..., just so you know", "... (in case you need it)". A mark sets it off:
# "I work at FYI", "I play bass in By the Way" and "I want to be clear" need their ends.
_ASIDE = (
    r"(?:just saying|(?:just )?(?:fyi|btw|fwiw|so you know|as you know|by the way|for the record|in fact"
    r"|for (?:your )?(?:future )?reference|to be (?:clear|honest)|for what it's worth|in case"
    r"|in case you(?:'re| are| were| ever| haven't| didn't)? (?:wonder|wondered|wondering|asked|forgot|heard|know"
    r"|need (?:it|to know))"
    r"|if you(?:'re| are| were| ever| must)? (?:wondering|wondered|curious|know|need (?:it|to know))"
    r"|if (?:that|it|this) (?:helps|matters)))"
)
_COMMENT = regex(rf"(?:(?: ?[,;]| -+| ?[–—]) {_ASIDE}| \({_ASIDE}[.!]*\))[.!]*$", re.IGNORECASE)
_DOUBLE_QUOTES = regex(r'["“”]')


def plain(sentence: str) -> str:
    """Write straight apostrophes, common spaces, and "I" as a capital."""
    said = sentence.replace("’", "'").replace("\u00a0", " ")
    is_shouted = said.isascii() and said.isupper() and len(said.split()) > _SHOUTED
    return _CHAT_I.sub("I", said.lower() if is_shouted else said)


def without_question(plain: str) -> str:
    """The statement before a question: "I eat no meat" of "I eat no meat, so where should we go?"."""
    asks = plain.endswith(("?", "?!")) and len(plain) <= SENTENCE_LIMIT
    return _QUESTION.sub("", plain) if asks else plain


def told(sentence: str) -> str:
    """What a sentence tells, from its start, as plain text: without a question or a comment behind it."""
    return _COMMENT.sub("", without_question(plain(sentence)))


def starts(plain: str) -> list[int]:
    """Where a first-person clause may begin: behind the interjections, and behind commas outside quotations."""
    first = 0
    while match := _LEAD.match(plain, first):
        first = match.end()
    inner = [match.end() for match in _INNER.finditer(plain, first)]
    return [first, *(start for start in inner if is_quote_balanced(plain[:start]))]


def parted(plain: str, start: int) -> int | None:
    """Where the clause before the one that begins at `start` ends; None when the two belong together."""
    head = plain[:start].rstrip()
    joint = _PARTED.search(head)
    if joint is None or not joint.group().strip():
        return len(head.rstrip(" ,;")) if head and not (head[-1].isascii() or head[-1].isalnum()) else None
    return joint.start()


def unaddressed(clause: str) -> str:
    """The clause without the part that speaks to the listener; empty when that is not set off by a mark."""
    address = _ADDRESSED.search(clause)
    if address is None:
        return clause
    end = max((mark.start() for mark in _BREAK.finditer(clause, 0, address.start())), default=0)
    return _DANGLING.sub("", clause[:end])


def trimmed(clause: str) -> str:
    """The clause without the requests, laughs and asides that it ends with."""
    return _TAIL.sub("", _ACT.sub("", clause))


def is_quote_balanced(plain: str) -> bool:
    """Whether no quotation is open at the end."""
    return len(_DOUBLE_QUOTES.findall(plain)) % 2 == 0
