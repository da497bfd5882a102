"""Sentences that are not meant word by word: a tail unsays them, nobody lives there, or nobody likes that.

Jokes and irony have no closed form: of sentences that nobody had seen, longer lists of idioms, famous lines and figures
of speech kept no more wrong facts out than these (docs/explanation/consolidation.md).
"""

from __future__ import annotations

import re

from memoryos.regex import regex

_SAYS = r"(?:says?|said|thinks?|claims?|insists?|jokes?|swears?|tells? me|likes? to (?:say|think)|keeps? saying)"
# A tail that takes the words for a hope, a feeling or a saying.
_UNSAID = (
    r"\bor (?:so|at least) (?:\w+[ ']){1,4}?(?:wish|wishes|says?|said|thinks?|hopes?|claims?|believes?|told"
    r"|feels? like)\b"
    r"|\bsaid (?:literally )?(?:nobody|no[- ]?one|no \w+)\b[^.!?]{0,30}\bever\b"
    r"|\bas (?:they say|(?:the|that) (?:song|saying|line|joke|proverb|meme|poem|quote|lyrics?) (?:says?|goes?))\b"
    r"|\bif you ask (?:my|the|any|our)\b"
    rf"|,\s+(?:at least )?(?:my|our|the) (?!doctor|dentist|gp|vet|allergist|cardiologist)\w+ {_SAYS}\W*$"
    r"|^(?:oh |ha,? )?(?:yeah,? )?(?:right|sure),? and (?:I'm|I am|my)\b"
)
_NOWHERE = (
    r"\b(?:from|live (?:in|on)|living (?:in|on)|moved to|born (?:in|on)) (?:mars|venus|jupiter|saturn|pluto|the moon"
    r"|(?:another|a different) (?:planet|galaxy|dimension|universe)|outer space|the (?:future|past|clouds)|narnia"
    r"|hogwarts|mordor|atlantis|neverland|middle[- ]earth|hell|heaven)\b(?! (?:kitchen|street|road|,))"
)
_SCORN = (
    r"(?<!n't )(?<!not )(?<!never )\b(?:love|adore|enjoy|fan of|live for|can't get enough of) "
    r"(?:(?:getting|being) (?:\w+ )?(?:tickets?|fined|yelled|shouted|screamed|ignored|interrupted|stuck|lied|blamed"
    r"|woken|ripped|overcharged|underpaid|sick|dumped|fired|judged|robbed|scammed)"
    r"|having to|paying (?:\w+ )?(?:taxes|fines|bills|rent|extra|double)|waiting\b|standing in (?:line|queues?)"
    r"|(?:losing|missing|forgetting) (?:my|the|a)|traffic(?: jams)?\b|taxes\b)"
)
# Agreement or delight that mocks, and what somebody is only in a manner of speaking.
_I_AM = r"I(?:'m| am| have|'ve got| own| live| work| speak)?"
_MOCKING = (
    r"^\W*(?:oh,? )?(?:yeah,? right|yeah,? no|su{2,}re|ri{2,}ght|yea{2,}h)\b[,. !]*(?:I\b|my\b)"
    r"|^\W*(?:oh,? |yeah,? )?(?:sure|right|yeah|yep|of course|great|wow)\b[,. !]*"
    rf"{_I_AM} (?:totally|obviously|clearly)\b"
    r"|^\W*(?:oh|how|just|wow),? (?:great|wonderful|lovely|fantastic|brilliant|perfect|fun|nice|joy)\b[,. !]*"
    r"I (?:(?:just|so|really|absolutely) )*(?:love|adore|enjoy) (?:being|having|getting|it when|when|how)\b"
    r"|\b(?:I'm|I am|im) (?:practically|virtually) (?:an? |the |married )"
    r"|\b(?:I'm|I am|im) (?:basically|pretty much|kind of|sort of) (?:an? |the )[\w ]{2,40}?"
    r" (?:now|already|at this point|by now)\b"
)
_IDIOMS = r"\b(?:have|had|got) an? (?:hell|heck|beast|dog|devil|bitch|bear|monster|whale|nightmare|pig|horror) of an?\b"
_LIKENED = (
    r"\b(?:work|works|working|worked|eat|eats|eating|sleep|sleeps|sleeping|slept|drink|drinks|drinking|smoke|smokes"
    r"|smoking|swear|swears|sing|sings|live|fight|fights) like an? (?:\w+ )?"
    r"(?:dog|horse|mule|ox|pig|bird|wolf|log|baby|rock|stone|fish|sailor|chimney|king|queen|maniac|machine|slave)\b"
)
_ENGLISH = regex("|".join((_UNSAID, _NOWHERE, _SCORN, _MOCKING, _IDIOMS, _LIKENED)), re.IGNORECASE)

_CHINESE = regex(
    r"(?:来自|住在?|出生[于在]|搬[到去])\w{0,4}"
    r"(?:火星|月球|水星|金星|木星|冥王星|外星|另一个(?:星球|世界)|天堂|地狱|云端|未来|仙界|天庭)"
    r"|住在?(?:公司|办公室|单位|学校|实验室|医院|机场|工位|图书馆|健身房)了?快"
    r"|快(?:要)?(?:住[在进到]|死|疯|累|笑|饿|困|成了|变成)"
    r"|(?<!不)(?:喜欢|爱|享受|热爱)(?:死|的(?:事|事情)?就?是)?\w{0,4}?"
    r"(?:迟到|加班|堵车|塞车|排队|挨骂|被[骂催坑黑放训扣]|罚款|吃亏|失眠|拉肚子|停电|断网|晚点|误机|背锅|交税)"
    r"|(?:俗话|常言|老话|古人|歌词?里?|台词里?)(?:说|道|讲|唱|写)"
)


def is_jest(sentence: str) -> bool:
    """Whether a sentence is marked as a joke, as irony or as a saying."""
    signs = _CHINESE if "我" in sentence else _ENGLISH
    return signs.search(sentence.replace("’", "'")) is not None
