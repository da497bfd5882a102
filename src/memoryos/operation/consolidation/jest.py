"""Sentences that are not meant word by word: jokes, irony, figures of speech, lines from films and songs.

What marks them is in the sentence itself: a tail that unsays it ("or so my mother wishes"), a place or a part that
nobody has ("I'm from Mars"), an object that nobody likes ("I love being ignored"), or a set phrase.
"""

from __future__ import annotations

import re

_AM = r"\b(?:I'm|I am|Im) (?:(?:basically|literally|such|just|really|totally|clearly|truly|still|also|now) )*"
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
    r"(?:mars|venus|jupiter|saturn|pluto|the moon|(?:another|a different) (?:planet|galaxy|dimension|universe)"
    r"|outer space|the (?:future|past|clouds|shire|matrix)|narnia|hogwarts|mordor|gotham|wakanda|atlantis|neverland"
    r"|wonderland|middle[- ]earth|westeros|hell|heaven|purgatory|la[- ]la land|cloud nine)"
)
_MOOD = r"(?:fear|hope|denial|hell|dread|terror|agony|misery|shame|panic|chaos|regret|anticipation)"
_NOBODY = (
    r"(?:the (?:pope|queen|king|emperor|boss|captain|man|chosen one) now|the (?:pope|easter bunny|tooth fairy|devil)"
    r"|(?:batman|superman|spider-?man|santa(?: claus)?|god|jesus|napoleon|shakespeare|einstein|wonder woman|iron man"
    r"|sherlock(?: holmes)?|james bond|dracula|gandalf|cinderella))"
)
_FIGURES = (
    r"(?:potato|zombie|ghost|unicorn|wizard|vampire|goddess?|genius|saint|angel|monster|machine|alien|dinosaur|fossil"
    r"|rock|island|vegetable|wreck|disaster|idiot|mess|queen|king|legend|rock ?star|ninja|slave|prisoner|hostage"
    r"|burrito"
    r"|sloth|snail|goldfish|dumpster fire|basket case|sponge|magnet|sucker for punishment|night owl in hell"
    r"|walking \w+)"
)
_ENDS = (
    r"(?=\W*$|\s*[,;:!.–—]|\ (?:of|to|in|when|before|after|without|today|now|again|this|at|on|for|and|but|until"
    r"|with|because"
    r"|compared|these|right)\b)"
)
_IMPOSSIBLE = (
    rf"\b(?:from|live (?:in|on)|living (?:in|on)|moved to|born (?:in|on)) {_NOWHERE}\b(?! (?:kitchen|street|road|,))"
    rf"|\b(?:live|living) in (?:\w+ )?{_MOOD}\b"
    rf"|{_AM}{_NOBODY}\b"
    rf"|{_AM}an? (?:[\w-]+ )?{_FIGURES}{_ENDS}"
)
_LINES = (  # that everybody knows
    r"\bI am (?:your father|groot|spartacus|the one who knocks|inevitable|the walrus|a rock|legend|the (?:law"
    r"|night|danger))\b"
    r"|\bI have (?:a dream|spoken)\b(?! about)|\bI see dead people\b|\bI came,? I saw\b"
)
_UNLIKED = (
    r"(?:(?:getting|being) (?:\w+ )?(?:tickets?|fined|yelled|shouted|screamed|ignored|interrupted|stuck|lied"
    r"|ghosted|blamed"
    r"|woken|ripped|overcharged|underpaid|sick|dumped|fired|audited|judged|told|left|kept|put|bitten|robbed|scammed)"
    r"|having to|paying (?:\w+ )?(?:taxes|fines|bills|rent|extra|double)|waiting\b|standing in (?:line|queues?)"
    r"|(?:losing|missing|forgetting) (?:my|the|a)|stepping (?:in|on)|cleaning up after"
    r"|(?:traffic|traffic jams|mondays|mosquitoes|taxes|deadlines|overtime|queues|spam|hangovers|bureaucracy"
    r"|paperwork"
    r"|parking tickets|fines|delays|jet ?lag|unpaid \w+|root canals?|pop-?ups|spam calls)\b)"
)
_SCORN = (
    rf"(?<!n't )(?<!not )(?<!never )\b(?:love|adore|enjoy|fan of|live for|can't get enough of) {_UNLIKED}"
    r"|\bfan of your\b|\blove how (?:you|they|he|she|my)\b"
)
_IDIOMS = (
    r"\b(?:have|had|got) (?:an? (?:bone to pick|frog in|lump in|chip on|axe to grind|screw loose|bee in|ace up"
    r"|card up"
    r"|memory like|heart of (?:gold|stone)|foot in|hunch|gut feeling|crow to pluck|say in|go at)"
    r"|an? (?:hell|heck|beast|dog|devil|bitch|bear|monster|whale|brute|nightmare|mother|pig|horror|killer"
    r"|bastard) of an?"
    r"|(?:two left feet|butterflies|ants in|skeletons in|bigger fish|mixed feelings|cold feet|second thoughts"
    r"|eyes in the"
    r"|(?:a lot|too much|enough) on my plate|my hands full|nerves of|an? (?:ton|lot) on)\b)"
    r"|\bwork (?:for (?:peanuts|nothing|scraps)|like an? \w+|as hard as|my (?:ass|butt|fingers|socks|tail) off"
    r"|wonders"
    r"|miracles)\b"
    r"|\blive (?:for (?!\d|years|many|over)|by the|under a rock|on (?:coffee|caffeine|pizza|noodles|air|takeout"
    r"|the edge"
    r"|borrowed)|paycheck|the dream|a lie)\b"
    r"|\bplay (?:the )?(?:victim|fool|dumb|dead|hard to get|along|it (?:cool|safe)|devil's advocate|second fiddle"
    r"|possum"
    r"|catch-?up|favou?rites|hooky|the (?:long game|odds|field))\b"
    r"|\bspeak (?:from (?:experience|the heart)|for (?:myself|all|us|everyone)|too soon|volumes|my mind"
    r"|(?:\w+ )?(?:sarcasm"
    r"|nonsense|gibberish))\b"
    r"|\brun (?:on (?:coffee|caffeine|fumes)|late|circles|errands|a (?:tight ship|fever|temperature))\b"
    r"|\b(?:read (?:the room|between the lines)|eat my words|draw (?:the line|a blank)|drink like a fish"
    r"|sleep like an?"
    r"|drive (?:me|him|her|them|people) (?:crazy|mad|nuts|insane))\b"
    r"|\b(?:hate|love|like|prefer) (?:not )?to (?:break it|admit|interrupt|ask|bother|brag|burst|say|talk about"
    r"|discuss"
    r"|disclose|answer|comment|go into)\b"
    r"|\bon cloud nine\b|\bmarried to my (?:work|job|phone|laptop|desk)\b"
)
_ENGLISH = re.compile("|".join((_UNSAID, _IMPOSSIBLE, _LINES, _SCORN, _IDIOMS)), re.IGNORECASE)

_VERY = r"(?:真|可|就|就是|简直|绝对|果然|原来|也|还|太|都|只|不过|其实)*"
_ZH_NOWHERE = (
    r"(?:火星|月球|水星|金星|木星|冥王星|外星|另一个(?:星球|世界)|天堂|地狱|云端|未来|仙界|天庭|霍格沃茨|哥谭|平行宇宙)"
)
_ZH_FIGURES = (
    r"(?:天才|超人|蝙蝠侠|钢铁侠|奥特曼|神仙?|上帝|皇帝|国王|女王|公主|仙女|机器|外星人|僵尸|废[物人]|咸鱼|社畜|打工[的人]|牛马"
    r"|猪|鸟|狗|羊|驴|蜗牛|傻[瓜子]|笨蛋|白痴|孙悟空|铁人)"
)
_ZH_UNLIKED = (
    r"(?:迟到|加班|堵车|塞车|排队|开会|挨骂|被[骂催坑黑放训扣]|检讨|罚款|吃亏|失眠|拉肚子|打针|停电|断网|掉线|晚点|误机|背锅|吵架"
    r"|鸽子|卡顿|交税|相亲|改需求|丢东西|下雨没伞)"
)
_CHINESE = re.compile(
    rf"(?:来自|住在?|出生[于在]|搬[到去])\w{{0,4}}{_ZH_NOWHERE}"
    rf"|我{_VERY}是(?:一?[个名位只头台条块匹]|一)?\w{{0,2}}?{_ZH_FIGURES}(?=\W|$)"
    r"|我是你(?:爸|爹|妈|爷|奶|祖宗|大爷|哥|谁)"
    r"|住在?(?:公司|办公室|单位|学校|实验室|医院|机场|工位|图书馆|健身房)了?快"
    r"|快(?:要)?(?:住[在进到]|死|疯|累|笑|饿|困|成了|变成)"
    rf"|(?<!不)(?:喜欢|爱|享受|热爱)(?:死|的(?:事|事情)?就?是)?\w{{0,4}}?{_ZH_UNLIKED}"
    r"|(?:爱死|喜欢|爱)\w{0,4}?(?:破|烂|垃圾)(?!洞|案)"
    r"|(?:俗话|常言|老话|古人|歌词?里?|台词里?)(?:说|道|讲|唱|写)"
)


def is_jest(sentence: str) -> bool:
    """Whether a sentence is a joke, irony, a figure of speech or a line that everybody knows."""
    signs = _CHINESE if "我" in sentence else _ENGLISH
    return signs.search(sentence.replace("’", "'")) is not None
