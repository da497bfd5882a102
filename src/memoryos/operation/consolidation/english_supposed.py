"""What is supposed, planned or wished in an English clause before its words come."""

from __future__ import annotations

import re

from memoryos.operation.consolidation.assertion import Assertion
from memoryos.operation.consolidation.other_world import is_of_another_world
from memoryos.regex import regex


def any_of(*parts: str) -> re.Pattern[str]:
    """An expression for any of these."""
    return regex("|".join(parts), re.IGNORECASE)


_POLITE = any_of(  # they have an "if" or a "would" and suppose nothing
    r"\b(?:should|would|could|may|might|must|want to|wanted to|'d like to|would like to)(?: (?:also|just|probably))?"
    r" (?:mention|say|add|note|tell|point out|clarify|admit|let you know|share)\b",
    r"\b(?:if|in case) (?:you|anyone|(?:it|that) (?:helps|matters)|I (?:remember|recall)|I'm (?:honest|not))\b[^,]*",
    r"\bdoubt\w* (?:that )?(?:he|she|they|you|\w+) (?:even )?(?:knows?|remembers?|reali[sz]es?)\b",
    r"\byou (?:may|might|could) (?:remember|know|recall)\b",
    r"\beven if\b|\b(?:would|could|should|might) you\b",
    r"\bI (?:hope|assume|suppose|wonder if|wonder) (?:you|this|that helps)\b",
)
_PLANS = any_of(
    r"\b(?:am|'m|is|are|'re) about to\b",
    r"\b(?:plan(?:s|ned|ning)?|intend(?:s|ed|ing)?|hop(?:e|es|ed|ing)|prepar\w+) (?:to|on|for)\b",
)
_SUPPOSES = any_of(
    r"\b(?:would|could|might|maybe|perhaps|possibly|probably|supposedly|allegedly|wish(?:es|ed)?|imagin(?:e|es|ing))\b",
    r"\b(?:suppos(?:e|ing)|assum(?:e|ing)|pretend\w*|hypothetically|dream(?:s|ed|t|ing)?|if|unless|whether)\b",
    r"\b(?:accused|suspected) of\b|(?:^|[.;!?]\s*)(?:now |please |just )?"
    r"(?:act|answer|respond|reply|speak|talk|write|behave|pose) (?:as|like) (?:if|though|someone|somebody|an?|the)\b",
    r"\bas though\b|\blet's say\b|\bin case\b|\b(?:lest|hop(?:e|es|ing)|not sure|unsure|wondering|wonder|tempted)\b",
    r"\bconsider(?:s|ed|ing)?\b|\b(?:think|thinking|thought) (?:about|of)\b|\bwant(?:s|ed)? to\b|\bwanna\b",
    r"(?<!no )(?<!not )(?<!n't )(?<!never )(?<!without )\bdoubt(?:s|ed|ing|ful)?\b",
    r"\b(?:unlikely|question whether|sceptical|skeptical)\b",
    r"\b(?:rumou?r|word|legend|gossip) (?:has it|is|goes|says)\b|\b(?:rumou?red|alleged) (?:to|that)\b",
    r"\b(?:provided|providing|on condition|as long as|so long as)(?: that)? (?=(?:I|we|you|he|she|they|it|my)\b)",
    r"(?:^|[.,;!?]\s*)(?:were|had|should) (?:I|we)\b|\bsay I (?:were|was|am|had|have)\b|\bfor the sake of argument\b",
    r"(?<!too )(?<!so )(?<!how )(?<!very )\blong(?:s|ed|ing)? (?:to|for)\b",
    r"\b(?:yearn|crav|aspir)\w*|\b(?:dying|eager|keen) (?:to|for)\b",
    r"\bgive (?:anything|everything|my \w+ \w+)\b|\baim(?:s|ed|ing)? to\b",
    r"\b(?:goal|ambition|aim) is\b|\bfanc(?:y|ies) \w+ing\b",
    r"\b(?:should|ought|supposed to)\b|\b(?-i:may) (?=[a-z])",
    r"'d (?=(?:like|love|rather|sooner|prefer|be|have|go|live|move|buy|own|want|hate|choose|take|try|do|get|say)\b)",
    r"'d (?=(?:kill|die|give|pay)\b)|\b(?:you|one|anyone|anybody|people)'d (?:think|guess|swear)\b",
)
HEDGED = any_of(
    r"\b(?:would|could|can|cannot|can't|might|may|maybe|perhaps|possib\w+|probab\w+|wish\w*|imagin\w+|suppos\w+|assum\w+)\b",
    r"\b(?:pretend\w*|dream\w*|if|unless|whether|when\w*|hop(?:e|es|ed|ing)|unsure|uncertain|wonder\w*|consider\w*)\b",
    r"\b(?:think\w*|thought|tempted|want\w*|(?:would|'d) (?:like|love)|like to|love to|plan\w*|intend\w*|intent\w*)\b",
    r"\b(?:interest\w*|aim\w*|goal|aspir\w*|desir\w*|keen|eager|look\w* (?:to|for|forward)|hypothe\w*|should|ought)\b",
    r"\b(?:ask\w*|question\w*|idea|believ\w*|seek\w*|need\w*|try\w*|expect\w*|likely|potential\w*|prefer\w*|willing|curious|able)\b",
    r"\b(?:doubt\w*|unlikely|rumou?r\w*|allege\w*|longs?|longing|yearn\w*|crav\w*|dying|ambition\w*|fanc(?:y|ies))\b",
    r"\b(?:suspect\w*|worr\w+|fear\w*|afraid)\b|'d\b",
)
_PLANNED = any_of(r"\b(?:will|about to|going to|soon|next|upcoming|prepar\w*|is \w+ing|are \w+ing)\b")
_IF_CLAUSE = regex(
    r"^\W*(?:(?:and|so|well|now|what)\W+)?(?:if|unless|suppose|supposing|imagine|assuming"
    r"|(?:were|had|should|say) (?:I|we)|provided|for the sake of argument|hypothetically|in theory)\b",
    re.IGNORECASE,
)
AND_YET = regex(r"\W*(?:but|however|yet|although|though)\b", re.IGNORECASE)


def is_supposed(one: Assertion, before: str) -> bool:
    """Whether the clause supposes what the claim takes for said; `before` are its words that may say so."""
    if is_of_another_world(one.earlier + one.before) and not HEDGED.search(one.claim):
        return True
    plain = without(_POLITE, before)
    if _PLANS.search(plain):
        return not (HEDGED.search(one.claim) or _PLANNED.search(one.claim))
    if signs := {sign.group().lower() for sign in _SUPPOSES.finditer(plain)}:
        return not (HEDGED.search(one.claim) or any(sign in one.claim.lower() for sign in signs))
    follows_if = _IF_CLAUSE.search(without(_POLITE, one.earlier)) and not AND_YET.match(one.words)
    return bool(follows_if) and not HEDGED.search(one.claim)


def without(idioms: re.Pattern[str], text: str) -> str:
    """A text with blanks in the place of idioms."""
    return idioms.sub(lambda match: " " * len(match.group()), text)
