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


def is_taken_back(text: str, upto: int, end: int) -> bool:
    """Whether the rest of a sentence, which ends there, or the one behind it takes back what stands up to a place."""
    return is_undone(text[upto:end], text[end : end + _AFTER].lstrip())


def is_undone(sentence: str, following: str) -> bool:
    """Whether a sentence ends with words that take it back, or the one behind it begins with them."""
    return bool(_BACK.search(sentence) or _BACK.match(following) or _BACK_AT_ONCE.match(following))
