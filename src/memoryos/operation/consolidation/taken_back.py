"""Words that take back what was said before them: "... not!", "just kidding", 才怪."""

from __future__ import annotations

import re

from memoryos.regex import regex

_AFTER = 60  # characters behind a sentence that may take it back
_BACK = regex(
    r"""(?:[^\w\s'’]\s*|\n\s*|^\s*)(?:
      (?:not|nope|psych|as\ if|yeah,?\ right|in\ (?:my|your)\ dreams|dream\ on|(?:lol|haha),?\ no(?:pe|t)?|i\ wish
        |(?:just|only)\ (?:kidding|joking|messing)|kidding|joking|j/?k|gotcha|sarcasm|/s
        |said\ no\ [a-z]+\ ever[^.!?\n]{0,20})
        \b\s*(?=[^\w\s'’]|$|\n)
      | (?:just|only)\ (?:kidding|joking)\b
      | (?:(?:我|都)?是?(?:开玩笑|骗你|逗你玩?|说着玩|瞎说|吹牛|编)(?:的|啦|呢|而已|哈|罢了)|你信[吗不么]
        |做梦(?:呢|吧)|想得美|才怪|怎么可能)(?=\W|$|呢|啦))""",
    re.VERBOSE | re.IGNORECASE,
)
# In the middle of a sentence, "j/k" may be two keys.
_BACK_AT_ONCE = regex(r"\W*j/?k\b(?! (?:rowling|to|and|or|is|are|was|stands?)\b)")

# Words that put right what was said just before.
_RETRACTS = regex(
    r"""(?:^|[^\w\s'’])\s{0,4}(?:(?:oh|uh|um|sorry|oops|hmm|hang\ on)[\s,]{1,4}){0,3}
      (?:no,?\ wait|wait,?\ no|scratch\ that|strike\ that|forget\ I\ said\ that
        |(?:I\ )?(?:have\ to\ )?take\ (?:that|it)\ back)(?=\s{0,4}(?:[^\w\s]|$))[\s,.:;!–—-]{0,8}
    | (?:^|[，,。.！!…—\s])(?:(?:哦|啊|噢|呃|哎呀?)[，,]?不|(?:哦|啊|噢|呃)?(?:不对|说错了?|我?口误|等等[，,]?不))
      (?=\W|是)[，,。：:！!]?""",
    re.VERBOSE | re.IGNORECASE,
)
_STATES = regex(r"(?:I|we|my|our|it's|it is)\b|I'|我", re.IGNORECASE)


def is_retracted(sentence: str, following: str) -> bool:
    """Whether a sentence puts right what it said itself, or the one behind it does."""
    return bool(_RETRACTS.search(sentence, 1) or _RETRACTS.match(following))


def behind_retraction(sentence: str) -> str:
    """The statement with which a sentence puts itself right; the whole sentence where there is none."""
    found = list(_RETRACTS.finditer(sentence, 1))
    is_stated = bool(found) and _STATES.match(sentence, found[-1].end())
    return sentence[found[-1].end() :] if is_stated else sentence


def is_taken_back(text: str, upto: int, end: int) -> bool:
    """Whether the rest of a sentence, which ends there, or the one behind it takes back what stands up to a place."""
    rest, following = text[upto:end], text[end : end + _AFTER].lstrip()
    return is_undone(rest, following) or _RETRACTS.search(rest) is not None or _RETRACTS.match(following) is not None


def is_undone(sentence: str, following: str) -> bool:
    """Whether a sentence ends with words that take it back, or the one behind it begins with them."""
    return bool(_BACK.search(sentence) or _BACK.match(following) or _BACK_AT_ONCE.match(following))
