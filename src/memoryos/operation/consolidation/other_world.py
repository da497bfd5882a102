"""Words that put what is said into a world that is not this one: "in theory", "in an alternate universe", 理论上."""

from __future__ import annotations

import re

from memoryos.regex import regex

_ENGLISH = regex(
    r"""\bin\ (?:an?\ |some\ |the\ )?(?:alternate|alternative|parallel|different|another|other)
      \ (?:universe|world|life|timeline|reality|dimension)\b(?=,?\ (?:I|my|we)\b)
    | (?:^|[.,;:!?]\ ?)(?:and\ |but\ |so\ |well,?\ )?in\ (?:an?|the|this|my|our)\ (?:[a-z]{1,12}\ )?
      (?:sketch|skit|play|role[-\ ]?play|scene|musical|novel|comic|dream|nightmare)(?![^.!?]{0,200}\ but\b)
      (?=,?\ (?:I|my|we)\b(?!['\w]{0,3}\ (?:[a-z]{1,10}\ )?(?:saw|see|watch|read|lik|lov|hat|prefer|play|wrote|writ|mak
        |made|work|mention|bought|act)))
    | (?:^|[.,;:!?]\ ?)(?:and\ |but\ |so\ |well,?\ )?in\ (?:an?|the|this|my|our)\ (?:
        (?:video|computer|online|board|card)\ game(?=,?\ (?:I|my|we)\b)(?![^.!?]{0,200}\ but\b)
        |(?:[a-z]{1,12}\ )?game(?=,?\ (?:I|we)(?:'m|'re|\ (?:am|are|live|work|have|own))\b
          |,?\ my\ \w+\ (?:is|lives|works|has|owns)\b)(?![^.!?]{0,200}\ but\b))  # not: I broke my leg
    | (?:^|[.,;:!?]\ ?)(?:but\ |so\ |well,?\ )?(?:on\ paper|in\ theory|theoretically)(?=,?\ (?:I|my|we)\b)""",
    re.VERBOSE | re.IGNORECASE,
)
_CHINESE = regex(
    r"(?:理论上|名义上|(?:平行|另一个|虚拟|别的)(?:世界|宇宙|时空)[里中]?|[上下]辈子|[来前]世"
    r"|(?:游戏|小品|话剧|剧本|梦)[里中]|(?:昨[晚夜天]|那晚|夜里|今早)我?(?:又|还)?做了?(?:一?个|场)?\w{0,2}梦)(?=[，,]?我)"
)


def is_of_another_world(words: str) -> bool:
    """Whether the words before a statement put it into another world."""
    return bool((_CHINESE if "我" in words else _ENGLISH).search(words))
