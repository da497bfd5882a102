"""What a text gives away at first sight: that it asks something, that it mentions a time.

By signs and short word lists, in English and Chinese; a text in another language has fewer marks, never wrong words.
"""

from __future__ import annotations

import re

from memoryos.language.marked import Marked, marks
from memoryos.regex import regex

_QUESTION_MARKS = "?？؟"
_WORD = regex(r"\w+")
_CLOSING = " \t\n\"'”’）)*_"  # may stand behind a question mark

_ENGLISH_TIMES = """
    yesterday today tonight tomorrow last next ago week weekend month year recently since
    monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december
"""
_CHINESE_TIMES = """
    昨天 今天 明天 前天 后天 上周 下周 本周 周末 星期 上个月 下个月 去年 今年 明年 最近 小时前 天前 月前 年前
"""
_DIGIT = regex(r"\d")
_YEAR = regex(r"\b\d{4}\b")
_TIME_WORDS = frozenset(_ENGLISH_TIMES.split())
_CHINESE_TIME = regex("|".join(_CHINESE_TIMES.split()) + r"|\d{4}年|\d+月")


_TOLD = (
    "said|say|told|tell|suggest(?:ed)?|recommend(?:ed)?|advised?|mention(?:ed)?|proposed?|explain(?:ed)?|list(?:ed)?"
    "|gave|give|provided?|described?|wrote|write|shared?|answer(?:ed)?|repl(?:y|ied)|came up with|come up with"
)
_ASSISTANTS_WORDS = Marked(
    regex(
        rf"""\b(?:did|have|had)\ you\ (?:ever\ |also\ |already\ |originally\ |previously\ )?(?:{_TOLD})\b
       | \byou\ (?:also\ |just\ |had\ |have\ |previously\ |already\ |once\ |earlier\ |originally\ |'ve\ )*
           (?:said|told|suggested|recommended|advised|mentioned|proposed|explained|listed|gave|provided|described|wrote
             |shared|answered|replied|came\ up\ with)\b
       | \byour\ (?:\w+\ )?(?:suggestion|recommendation|advice|answer|reply|response|explanation|proposal)s?\b
       | \bthe\ assistant(?:'s)?\b
       | [你您](?:之前|刚才|上次|曾经?|有没有|当时|给我|跟我|向我|为我|都|还){{0,3}}
           (?:说|建议|推荐|告诉|提到|提供|回答|解释|列出)
       | 助[手理]""",
        re.VERBOSE | re.IGNORECASE,
    ),
    marks("you assistant"),
)

_ASSISTANTS_WORDS_ELSEWHERE = Marked(
    regex(
        r"""\b(?:hast|hattest)\ du\b.*\b(?:empfohlen|vorgeschlagen|geraten|gesagt|erzählt|erklärt|genannt|erwähnt)\b
       | \bdu\b.*\b(?:empfohlen|vorgeschlagen|geraten|gesagt|erzählt|erklärt|genannt|erwähnt)\ (?:hast|hattest)\b
       | \b(?:recomendaste|sugeriste|aconsejaste|propusiste|dijiste|contaste|explicaste|mencionaste|disseste)\b
       | \b(?:me|nos)\ has\ (?:recomendado|sugerido|aconsejado|propuesto|dicho|contado|explicado|mencionado)\b
       | \bvocê\ (?:me\ |nos\ )?(?:recomendou|sugeriu|aconselhou|indicou|disse|contou|explicou|mencionou)\b
       | \b(?:as-tu|avez-vous|(?:tu|vous)\ (?:m['’]|nous\ )?(?:as|avez))\b.{0,20}
             \b(?:recommandé|conseillé|suggéré|proposé|dit|raconté|expliqué|mentionné)
       | \bhai\ (?:raccomandato|consigliato|suggerito|proposto|detto|raccontato|spiegato|menzionato)\b
       | \b(?:heb|had)\ je\b.*\b(?:aanbevolen|aangeraden|voorgesteld|gezegd|verteld|uitgelegd|genoemd)\b
       | \b(?:poleci|zaproponowa|zasugerowa|doradzi|powiedzia|wyjaśni|wspomnia)ł[ea]ś\b
       | \b(?:ты|вы)\b.{0,20}\b(?:по)?(?:рекомендовал|советовал|предлагал|предложил|сказал|рассказал|объяснил|упомянул)
       | \b(?:öner|tavsiye\ et|söyle|anlat|açıkla)[dt]i(?:n|ğin|niz|ğiniz)\b
       | (?:勧め|薦め|すすめ|提案し|紹介し|教え|説明し|言っ)てくれ
       | (?:네가|니가|당신이).{0,20}(?:추천|제안|조언|말|설명)|(?:추천|제안|조언|설명)해\s?(?:줬|주었|주셨)
       | \b(?:أوصيتني|نصحتني|أخبرتني|(?:اقترحت|قلت|شرحت|ذكرت)\ (?:لي|علي))\b""",
        re.VERBOSE | re.IGNORECASE,
    ),
    marks("du ste me_has_ nos_has_ dit hai_ heb_je had_je tavsiye_et anlat"),
)  # German, Spanish, Portuguese, French, Italian, Dutch, Polish, Russian, Turkish, Japanese, Korean, Arabic


_JUDGEMENT = regex(
    r"""\b(?:should|shall|would|might|could|likely|probably|possibly|potential(?:ly)?|considered|advice|advise|ideas?
           |recommend\w*|suggest(?:ion|ions)?|summar\w+
           |personalit(?:y|ies)|attributes|qualities|traits|(?:kind|sort|type)\ of\ (?:a\ )?person)\b
       | 应该|應該|该不该|該不該|可能|也许|也許|建议|建議|推荐|推薦|适合|適合
       | 总结|總結|概括|性格|为人|為人|怎么办|怎麼辦|好不好|什么好|什麼好""",
    re.VERBOSE | re.IGNORECASE,
)


def asks_judgement(text: str) -> bool:
    """Whether advice, a guess or a summary is wanted: "What should I cook?", "Would she like Oslo?", "What traits?"."""
    return _JUDGEMENT.search(text) is not None


def asks_assistant(text: str) -> bool:
    """Whether a question is about what the assistant said, such as "What did you recommend?" and 你之前建议了什么."""
    asking = (_ASSISTANTS_WORDS, _ASSISTANTS_WORDS_ELSEWHERE)
    if not text.isascii():  # the marks are those of ASCII texts
        return any(words.pattern.search(text) for words in asking)
    folded = text.lower()
    return any(words.search(text, folded) for words in asking)


def asks(text: str) -> bool:
    """Whether there is a question in the text."""
    for mark in _QUESTION_MARKS:  # noqa: SIM110 - a loop takes half the time of any(), and runs for every turn
        if mark in text:
            return True
    return False


def ends_asking(text: str) -> bool:
    """Whether the text ends with a question."""
    return text.rstrip(_CLOSING).endswith(tuple(_QUESTION_MARKS))


def mentions_time(text: str) -> bool:
    """Whether the text says when something was or will be."""
    if not _TIME_WORDS.isdisjoint(_WORD.findall(text.lower())):
        return True
    if _DIGIT.search(text) and _YEAR.search(text):  # slow beside the search for a digit
        return True
    return not text.isascii() and _CHINESE_TIME.search(text) is not None
