"""Which words of a turn are a person's own, said of themselves and meant.

Left out are quoted speech, code, hidden comments and mail that is answered; the material that a request brings along
("translate: ...", "proofread this letter"); what is only supposed or played ("imagine ...", "you are the innkeeper");
irony where it shows; and all of a turn that gives orders to the memory, since nobody can tell who wrote the rest.
"""

from __future__ import annotations

import re

from memoryos.language.orders import gives_orders
from memoryos.language.sentences import split_sentences

# Behind these, to the end of the line, somebody else speaks.
_SPEAKS = (
    r"(?:(?<!\bI\ )\b(?:says?|said|writes|wrote|goes|asks|asked|reads|claims|replied|answered|shouted|told)"
    r"(?:\ to)?(?:\ (?:me|us|him|her|them))?\s*:|(?<!我)(?:说|写道|问道|回答|喊|唱)(?:道|过)?[：:])[^\n]*"
)
_SAYS_I = r"(?:\b[Ii](?:['’ ][a-zé])|\b[Mm]y\s|我)"
# Pieces that somebody else wrote or says; a title such as "My Neighbor Totoro" says nothing with "I", and stays.
_OTHERS = re.compile(
    rf"""```.*?(?:```|\Z) | `(?=[^`\n]*?{_SAYS_I})[^`\n]*` | <!--.*?(?:-->|\Z) | ^[ \t]*>[^\n]*
    | "(?=[^"]*?{_SAYS_I})[^"]*" | “(?=[^”]*?{_SAYS_I})[^”]*(?:”|\Z) | 「(?=[^」]*?{_SAYS_I})[^」]*(?:」|\Z)
    | «(?=[^»]*?{_SAYS_I})[^»]*» | (?<!\*)\*(?!\*)(?=[^*\n]*?{_SAYS_I})[^*\n]*\*
    | {_SPEAKS}""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_HAS_OTHERS = re.compile(r"[`\"“「«>*:：]|<!--")

_WORK_ON = (
    r"(?:proof-?read|translate|summari[sz]e|shorten|rewrite|rephrase|reword|paraphrase|edit|correct|improve|polish"
    r"|check|review|explain|classify|analy[sz]e|continue|complete|reply\ to|respond\ to|answer\ this)"
)
_TEXT = (
    r"(?:text|letter|e-?mails?|mail|message|paragraph|essay|draft|story|poem|cv|resume|bio|readme|abstract|article|note"
    r"|post|sentences?|quote|passage|chapter|script|speech|log|page|website|form|terms\ of\ service|contract|review)"
)
_ZH_WORK_ON = r"(?:翻译|润色|修改|改写|校对|总结|概括|缩写|续写|解释|分析|检查|改一?下|看一?下|回复)"
_ZH_TEXT = r"(?:句话?|段话?|段文字|文章|邮件|信|作文|简历|稿子?|文字|内容|网页|短信|消息|文案)"
# Behind these, to the end of the turn, comes something to work on.
_MATERIAL = re.compile(
    rf"""(?<!\bI\ )\b{_WORK_ON}\b[^.!?\n:]{{0,80}}?(?:\([^)\n]*\))?(?::|[^\n:]{{0,40}}\n)
    | \b(?:here\ is|here's|here\ are|this\ is|from|below\ is)\ (?:the|my|a|an|our|his|her)\ (?:\w+\ ){{0,2}}{_TEXT}\b[^\n:]{{0,60}}?(?::|\n)
    | \b{_TEXT}\b[^.!?\n]{{0,30}}\ (?:say|mean|read)s?\b[^.!?\n]{{0,20}}[:?]\s*\n
    | (?:请|帮我|帮忙|麻烦|能不能)?[^。！？\n，,]{{0,6}}{_ZH_WORK_ON}[^。！？\n：:]{{0,12}}{_ZH_TEXT}[^。！？\n：:]{{0,6}}[：:\n]
    | {_ZH_WORK_ON}[^。！？\n：:]{{0,6}}[：:]""",
    re.VERBOSE | re.IGNORECASE,
)
# Behind these, to the end of the turn, all is supposed.
_SUPPOSES = re.compile(
    r"""(?:(?:^|[.!?\n]\s*|,\s)(?:so\ |ok(?:ay)?,?\ |now\ |please\ |just\ |but\ )?
    (?:suppose|supposing|imagine|let's\ (?:say|assume|suppose|imagine)|say\ (?=I'm|I\ (?:am|have|was|had))|assume|assuming
    |picture\ this|hypothetically|pretend)\b(?!\ my\ surprise))
    | 假设|想象一下|假想|设想|比方说我|打个比方""",
    re.VERBOSE | re.IGNORECASE,
)
# A game of roles, or a text to be made up: neither side speaks for itself in that exchange.
_PLAYS = re.compile(
    r"""\b(?:role-?\ ?play|let's\ play\ (?:a\ (?:role|game)|pretend|make-believe)|pretend\ (?:you|to\ be|that\ (?:you|I)|I)
    |you\ are\ (?:now\ )?(?:the|an?|my)\ [\w\ ]{2,30}?(?:,|\ and|;|\.)\ (?:and\ )?(?:I'm|I\ am|I\ play)\b|act\ as\ (?:an?|the|my|if)\b
    |you\ play\ (?:the|an?)\b|in\ (?:the\ )?first\ person|(?:in|from)\ the\ (?:voice|perspective|point\ of\ view)\ of
    |in\ my\ (?:novel|story|book|play|screenplay|game|dream)\b(?!\ (?:club|store|case))|my\ (?:\w+\ )?(?:character|protagonist|narrator|persona)
    |(?<!\bI\ )\b(?:write|compose|draft|make\ up|invent|give)\ (?:me\ )?(?:an?|the|some)\ (?:[\w-]+\ ){0,3}(?:story|poem|diary|song|lyrics
    |monologue|dialogue|scene|haiku|limerick|speech|cover\ letter|bio|biography|persona|backstory)\b)
    | 角色扮演|扮演|你[来是]?演|你(?:来)?当\w{1,6}[，,]我(?:来)?当|第一人称|我(?:的)?(?:小说|故事|剧本|游戏|梦)里|(?:小说|故事)的?(?:主角|主人公)
    |写(?:一[段篇首个封])?\w{0,6}?(?:独白|日记|故事|小说|诗|歌词|对话|演讲稿|求职信|剧本)""",
    re.VERBOSE | re.IGNORECASE,
)
# What shows that the words mean their opposite.
_IRONY = re.compile(
    r"""\boh,?\ (?:great|joy|fantastic|wonderful|lovely|goody)\b|\byeah,?\ (?:sure|right)\b|\blucky\ me\b|(?:^|\s)/s(?=\s|$)
    |\bjust\ what\ I\ (?:needed|wanted)\b|\bsaid\ no\ one\b|\bdon't\ we\ all\b|\bhow\ original\b|🙄
    |\b(?:love|adore|enjoy)\ (?:it\ when|sitting\ in|being\ (?:stuck|ignored|late|yelled|told)|waiting|getting\ (?:yelled|stuck))
    |\btruly\ my\ favou?rite\b
    |呵呵|我可真|人生赢家|真是?太?[“"]?(?:幸福|棒|好|开心)[”"]?了呢|才怪|谢谢您?嘞""",
    re.VERBOSE | re.IGNORECASE,
)
# A form to be filled in.
_BLANK = re.compile(r"\[[A-Z][A-Z _]*\]|\{\{|<[A-Z_]{2,}>|_{3,}|某某|XX+|×{2}")


_BREAK = re.compile(r"[.!?,;\n。！？，；]")


def own_sentences(text: str) -> list[str]:
    """The sentences of a turn that its speaker says of themselves and means; each is an exact part of the text."""
    said = split_sentences(text)
    if any(map(gives_orders, said)) or _IRONY.search(text):
        return []
    own = _before_material(text)
    if own != text or _HAS_OTHERS.search(own):
        said = [sentence for piece in _OTHERS.split(own) for sentence in split_sentences(piece)]
    return [sentence for sentence in said if not _BLANK.search(sentence)]


def is_played(text: str) -> bool:
    """Whether a turn asks for a game of roles or a made-up text, so that the answer speaks for nobody."""
    return _PLAYS.search(text) is not None


def _before_material(text: str) -> str:
    """The text up to the clause in which it brings something along, supposes or plays."""
    for ending in (_MATERIAL, _SUPPOSES, _PLAYS):
        if match := ending.search(text):
            breaks = [found.end() for found in _BREAK.finditer(text, 0, match.start())]
            text = text[: breaks[-1] if breaks else 0]
    return text
