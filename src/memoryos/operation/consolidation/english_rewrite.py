"""English first person to third person, where that is safe: "I work here" -> "Tom works here"."""

from __future__ import annotations

import re

from memoryos.operation.consolidation import english_clauses as clauses
from memoryos.operation.consolidation.english_elliptic import completed
from memoryos.operation.consolidation.english_words import HABIT_VERBS, PREFERENCE_VERBS
from memoryos.regex import regex

_LIMIT = 30  # words; in longer sentences the second verb is too easily missed
_BE_AND_HAVE = {
    "i'm": "is",
    "im": "is",
    "i've": "has",
    "ive": "has",
    "i'll": "will",
}
_VERB_FORMS = {
    "am": "is",
    "have": "has",
    "do": "does",
    "don't": "doesn't",
    "go": "goes",
    "want": "wants",
    "recommend": "recommends",
    "suggest": "suggests",
    "advise": "advises",
    "promise": "promises",
    "plan": "plans",
    "take": "takes",
    "attend": "attends",
}
_PRESENT = frozenset(HABIT_VERBS) | frozenset(PREFERENCE_VERBS) | frozenset(_VERB_FORMS)
_SAME_IN_PAST = frozenset({"read", "hit", "hurt"})  # "I read": present or past cannot be told
# More verbs that stand bare behind "I" and "and", besides those that begin a statement.
_BARE = frozenset(
    "weigh sleep get earn pay need know think feel say make see look keep give use try hope measure".split()
)
_PRONOUNS = {"my": "their", "me": "them", "mine": "theirs", "myself": "themselves"}
_SUBJECT = regex(r"(?P<before>.*?)\b(?P<subject>[Ii](?:'m|'ve|'ll)?|[Ii]m|Ive)\ (?P<rest>.*)", re.VERBOSE | re.DOTALL)
_MY = regex(r"(?P<before>)[Mm]y (?P<rest>.*)", re.DOTALL)
_ADVERB = regex(r"(?:\w+ly|no longer|also|just|always|often|never|still|sometimes|even|now|once|both|first) ")
_OTHERS = regex(r"\b(?:I|i|we|us|our|ours|you|your|i'm|I'm|they|them|their|him|he|she|her|his)\b", re.IGNORECASE)
_PRONOUN = regex(r"\b(?:my|me|mine|myself)\b", re.IGNORECASE)
# A second verb would have to agree as well: "I like tea and often drink it".
_SECOND_VERB = regex(
    rf"""(?:,|\b(?:and|but|or|then|so))\ (?:
    (?:(?:\w+ly|also|just|still|usually|often|always|never|sometimes)\ )+\w+\b(?<!ed)
    |(?:{"|".join(sorted(_PRESENT | _BARE))}|haven't|wasn't|'m)\b)""",
    re.VERBOSE,
)
_TIME_LEAD = regex(
    r"[A-Za-z0-9 ]{3,30}, ?$|(?:Yesterday|Today|Recently|Lately|Currently|Tomorrow|Last \w+) $", re.IGNORECASE
)


def third_person(quote: str, name: str) -> str | None:
    """Write the sentence with `name` in place of the speaker, or None where grammar or reference is in doubt."""
    plain = clauses.plain(quote).strip()
    if len(plain.split()) > _LIMIT:
        return None
    if spoken := completed(plain, name):
        return _ended(spoken)
    if match := _MY.match(plain):
        return _ended(_possessive(match["rest"], name))
    match = _SUBJECT.match(plain)
    if match is None or not _safe_before(match["before"]):
        return None
    verb_phrase = _verb_phrase(match["subject"].lower(), match["rest"])
    return None if verb_phrase is None else _ended(f"{match['before']}{name} {verb_phrase}")


def _safe_before(before: str) -> bool:
    return not before or (_TIME_LEAD.match(before) is not None and not _OTHERS.search(before))


def _possessive(rest: str, name: str) -> str | None:
    """`My sister ...`: only the pronoun changes; a second person in the sentence makes "their" unclear."""
    if _OTHERS.search(rest) or _PRONOUN.search(rest):
        return None
    return f"{name}'s {rest}"


def _verb_phrase(subject: str, rest: str) -> str | None:
    """Make the predicate agree with a name."""
    if _OTHERS.search(rest):
        return None
    if _SECOND_VERB.search(rest):
        return None
    rest = _PRONOUN.sub(lambda match: _PRONOUNS[match.group().lower()], rest)
    if subject in _BE_AND_HAVE:
        return f"{_BE_AND_HAVE[subject]} {rest}"
    adverbs = ""
    while match := _ADVERB.match(rest):
        adverbs, rest = adverbs + match.group(), rest[match.end() :]
    verb, _, tail = rest.partition(" ")
    if verb.lower() in _SAME_IN_PAST:
        return None
    if verb.lower() not in _PRESENT:
        return f"{adverbs}{rest}"  # a past tense or an auxiliary: the same in the third person
    return f"{adverbs}{_conjugated(verb.lower())} {tail}"


def _conjugated(verb: str) -> str:
    if verb in _VERB_FORMS:
        return _VERB_FORMS[verb]
    if re.search(r"(?:s|sh|ch|x|z|o)$", verb):
        return f"{verb}es"
    if re.search(r"[^aeiou]y$", verb):
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def _ended(text: str | None) -> str | None:
    """Begin with a capital and end with one full stop, whatever stood there."""
    return None if text is None else f"{text[:1].upper()}{text[1:].rstrip(' .!,;')}."
