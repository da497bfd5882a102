"""Which words of a turn are a person's own, said of themselves and meant.

Left out are quoted speech, code, hidden comments and mail that is answered; the material that a request brings along
("translate: ...", "proofread this letter"); what is only supposed or played ("imagine ...", "you are the innkeeper");
irony where it shows; and all of a turn that gives orders to the memory, since nobody can tell who wrote the rest.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memoryos.language.marked import Marked, marks
from memoryos.language.orders import gives_orders, may_give_orders
from memoryos.language.sentences import split_sentences
from memoryos.operation.consolidation.amended import amended, amended_by
from memoryos.operation.consolidation.attribution import is_attributed
from memoryos.operation.consolidation.jest import is_jest
from memoryos.operation.consolidation.other_world import is_of_another_world
from memoryos.operation.consolidation.relayed import relayed
from memoryos.operation.consolidation.taken_back import behind_retraction, is_retracted, is_undone
from memoryos.operation.consolidation.transcript import said_by_others
from memoryos.operation.consolidation.untrue import is_called_untrue
from memoryos.regex import regex


def _any_of(*alternatives: str) -> re.Pattern[str]:
    return regex("|".join(alternatives), re.IGNORECASE)


_SAYS_I = regex(r"\bI(?:'|\s[a-z])|\bi(?:'m|'ve|\sam|\shave)\b|\b[Mm]y\s[a-z]|我")
# Whose words they are, unless it is no owner ("it's") or a time ("Monday's").
_WHOSE = (
    r"\b(?!(?i:it|he|she|there|that|this|what|let|here|who|how|where|when|why|one|everything|today|tonight|yesterday"
    r"|tomorrow|second|minute|hour|day|night|week|weekend|month|year|century|morning|noon|afternoon|evening"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)'s)\w+'s"
)
_WRITING = r"(?:message|text|e-?mail|letter|note|post|tweet)"
# Pieces that somebody else wrote or says; what is quoted is one only when it says "I", and no title. Behind what is
# `added`, a text of somebody's ("add this to Ann's note:"), come the user's own words.
_OTHERS = regex(
    rf"""```.*?(?:```|\Z) | <!--.*?(?:-->|\Z) | ^[ \t]*>[^\n]*
    | (?P<quoted>"[^"]*" | “[^”]*(?:”|\Z) | 「[^」]*(?:」|\Z) | «[^»]*» | `[^`\n]*` | (?<!\*)\*(?!\*)[^*\n]*\*
      | (?<!\w)['‘](?=\w)(?:[^'‘\n] | (?<=\w)'(?=\w))*+'(?!\w))
    | (?<!\bI\ )(?<!\byou\ )(?<!\bI\ keep\ )(?<!\bI\ kept\ )(?<!\bI'm\ )(?<!\bI\ am\ )(?<!\bI\ was\ )(?<!\bbeen\ )
      (?<!\bI\ always\ )(?<!\bI\ just\ )(?<!\bI\ even\ )
      \b(?:says?|said|saying|writes|wrote|writing|goes|asks|asked|asking|reads|claims|claiming|replied|answered|tells?|told
      |telling|(?:shout|yell|scream|insist|complain|whisper|text|repeat|announc|messag|jok|brag|boast)(?:e?s|e?d|g?ed|g?ing))
      (?:\ (?:to|at))?(?:\ (?:me|us|him|her|them|everyone|everybody|people|anyone|(?:the|my|our|his|her|their)\ \w+))?
      (?:\ (?:again|today|yesterday|all\ (?:day|night|the\ time)))?\s*:[^\n]*
    | (?P<added>(?:^|(?<=[.!?,;]\ )|(?<=[Pp]lease\ ))(?:[Aa]dd|[Pp]ut|[Ww]rite)\ (?:\w+\ ){{0,4}}?
      (?:{_WHOSE}|his|her|their)\ (?:\w+\ ){{0,2}}{_WRITING}\s*:)
    | (?:{_WHOSE}|\b(?:his|her|their))\ (?:\w+\ ){{0,2}}(?:motto|mantra|line|catchphrase|saying
      |slogan|words|bio|status|excuse|answer|reply|response|comment|opinion|{_WRITING})
      (?:\ (?:is|was))?\s*:[^\n]*
    | (?:{_WHOSE}|\b(?:[Hh]is|[Hh]er|[Tt]heir))\ (?:(?:exact|actual)\ words\ (?:were|are)\b
      |(?:very|own|last|first)\ words\ (?:were|are)[,:]?\ (?=I\b|[Mm]y\b))[^.!?\n]*
    | \band\ I\ quote[,:][^.!?\n]*
    | (?<!\b[Aa]\ )(?<!\b[Tt]he\ )(?<!\b[Mm]y\ )\b[Qq]uote\b[,:]?\ (?=I\b|[Mm]y\b)
      [^.!?\n]{{0,200}}?\b(?:unquote|(?<!\ban\ )(?<!\bthe\ )end\ quote)\b
    | \b(?:[Hh]e|[Ss]he|[Tt]hey|[Ee]veryone|(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]he)\ (?:\w+\ )?\w+
        |(?!I\b|You\b|We\b|It\b)[A-Z]\w+)
      \ (?:(?:(?:is|was|are|were)\ (?:just\ |all\ |totally\ )?(?:like|all)|goes|went|says|said),\s(?=I\b|[Mm]y\b))
      [^.!?\n]*
    | \b(?:song|lyrics?|chorus|slogan|meme|proverb|saying)\ (?:goes|says|reads|is\ like)\b[^\n]*
    | \b(?:per|according\ to)\ [^:\n]{{2,30}}:[^\n]*
    | (?:^|(?<=[.!?]\ ))[Mm]y\ (?:\w+\ ){{0,2}}
      (?:ex|boss|mother|mom|mum|father|dad|sister|brother|wife|husband|partner|girlfriend|boyfriend|friend|roommate
      |flatmate|colleague|coworker|neighbou?r|aunt|uncle|cousin|son|daughter|therapist|grandmother|grandma|grandfather
      |grandpa):\ ?(?=I\b)(?![^.!?\n]{{0,80}}\b(?:him|her|them|it)\b)[^.!?\n]*
    | (?<![我请想不])问(?:我们?|他|她|大家)[：:][^\n]* | (?<=[友事学亲妈爸哥姐弟妹师生板妻婆公人家])问[：:][^\n]*
    | (?<!我)(?:说|写|问道|回答|喊|唱|讲|嚷|念叨|宣布|强调|抱怨|告诉\w{{1,4}})(?:道|过|着)?[：:][^\n]*
    | (?:^|[，,。！!？?；;])[小老阿](?![声心实是师妈爸婆公哥姐弟妹爷奶姨舅叔时])\w{{1,2}}?
      (?:就|又|还|也|总|老|当时|昨天|今天){{0,2}}(?:说|讲|回答)[，,](?=我)[^。！？!?\n]*
    | (?<!我的)(?<!我)(?:口头禅|座右铭|签名|名言)(?:就?是)?[：:][^\n]* | (?<!我的)(?:原话|的话)(?:是|讲)?[：:][^\n]*
    | (?<!我的)原话就?[是讲][，,]?(?=我)[^。！？!?\n]*
    | \b[Qq]uot(?:e|ing|ed)\ (?:from|of|by)\ [^:\n]{{2,30}}:[^\n]*""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_NEAR = 80  # characters around a piece that say whose words it is
_HAS_OTHERS = regex(
    r"[`\"“「«>*:：‘]|<!--|(?<!\w)['’]|\b(?:goes|says|reads|is like)\b|(?:like|all|went|said),|[说讲答][，,]"
    r"|\bquote\b|\bwords (?:were|are)\b|原话"
)

_WORK_ON = (
    r"(?:proof-?read|fix (?:the|my) (?:grammar|spelling|english)(?= )|translate|summari[sz]e"
    r"|shorten|rewrite|rephrase|reword|paraphrase|edit|correct|improve|polish"
    r"|check|review|explain|classify|analy[sz]e|continue|complete|reply to|respond to|answer this)"
)
_TEXT = (
    r"(?:text|letter|e-?mails?|mail|message|paragraph|essay|draft|story|poem|cv|resume|bio|readme|abstract|article|note"
    r"|post|sentences?|quote|passage|chapter|script|speech|log|page|website|form|terms of service|contract|review)"
)
_ZH_WORK_ON = r"(?:翻译|润色|修改|改写|校对|总结|概括|缩写|续写|解释|分析|检查|改一?下|看一?下|回复)"
_ZH_TEXT = r"(?:句话?|段话?|段文字|文章|邮件|信|作文|简历|稿子?|文字|内容|网页|短信|消息|文案)"
# Behind these, to the end of the turn, comes something to work on.
_MATERIAL = Marked(
    _any_of(
        rf"(?<!\bI )\b{_WORK_ON}\b[^.!?\n:]{{0,80}}?(?:\([^)\n]*\))?(?::|[^\n:]{{0,40}}\n)",
        r"\b(?:here is|here's|here are|this is|from|below is) (?:the|my|a|an|our|his|her) (?:\w+ ){0,2}"
        rf"{_TEXT}\b[^\n:]{{0,60}}?(?::|\n)",
        rf"\b{_TEXT} (?:that )?(?:I (?:got|received) )?(?:from|by) (?!me\b|myself\b)[^.!?\n:]{{2,40}}(?::|\n)",
        r"(?:发来|来自|收到)[^。！？\n：:]{0,12}(?:邮件|短信|信|消息|微信)[：:\n]",
        rf"\b{_TEXT}\b[^.!?\n]{{0,30}} (?:say|mean|read)s?\b[^.!?\n]{{0,20}}[:?]\s*\n",
        rf"{_ZH_WORK_ON}[^。！？\n：:]{{0,12}}{_ZH_TEXT}[^。！？\n：:]{{0,6}}[：:\n]",
        rf"{_ZH_WORK_ON}[^。！？\n：:]{{0,6}}[：:]",
    ),
    (":", "：", "\n"),
)
# Behind these, to the end of the turn, all is supposed.
_SUPPOSES = Marked(
    _any_of(
        r"(?:^|[.!?\n]\s*|,\s)(?:so |ok(?:ay)?,? |now |please |just |but )?(?:suppose|supposing|imagine|assume|assuming"
        r"|let's (?:say|assume|suppose|imagine)|say (?=I'm|I (?:am|have|was|had))|hypothetically|pretend)\b",
        r"假设|想象一下|假想|设想|比方说我|打个比方",
    ),
    marks("suppos imagin let's say_i assum hypothetical pretend 假设 想象 假想 设想 比方"),
)
_MADE_UP = (
    r"(?:story|poem|diary|song|lyrics|monologue|dialogue|scene|haiku|limerick|speech|cover letter|bio|biography|persona"
    r"|backstory)"
)
_ZH_MADE_UP = r"(?:独白|日记|故事|小说|诗|歌词|对话|演讲稿|求职信|剧本)"
# A game of roles, or a text to be made up: neither side speaks for itself in that exchange.
_PLAYS = Marked(
    _any_of(
        r"\brole-? ?play|\blet's play (?:a (?:role|game)|pretend|make-believe)|\bact as (?:an?|the|my|if)\b",
        r"\bpretend (?:you|to be|that (?:you|I)|I)\b|\byou play (?:the|an?)\b",
        r"\byou are (?:now )?(?:the|an?|my) [\w ]{2,30}?(?:,|;|\.| and) (?:and )?(?:I'm|I am|I play)\b",
        r"\bin (?:the )?first person|\b(?:in|from) the (?:voice|perspective|point of view) of\b",
        r"\b(?:I'm|I am|Im|I play) [\w ]{2,30} in (?:this|our|the) (?:story|game|scene|sketch|play|campaign)\b",
        r"\bin my (?:novel|story|book|play|screenplay|game|dream)\b(?! (?:club|store|case))",
        r"\bin (?:the|this|that|our) (?:\w+ )?(?:novel|story|game|play|film|movie|screenplay|comic|dream)"
        r"(?:(?: that| which)? (?:I|we)(?:'m|'re| am| are|'ve been| have been)? "
        r"(?:writ|play|mak|develop|design|draft|shoot|film|wrote|made|had)\w*[^,.!?\n]{0,30})?, "
        r"I(?:'m| am| live| have| work| own)\b",
        r"\bmy (?:main |game |player |rpg |d&d )?(?:character|protagonist|narrator|persona)"
        r"(?:'s| is| was| lives| works)\b",
        r"(?<!\bI )\b(?:write|compose|draft|make up|invent|give) (?:me )?(?:an?|the|some) (?:[\w-]+ ){0,3}"
        rf"{_MADE_UP}\b",
        r"扮演|你[来是]?演|你来?当\w{1,6}[，,]我来?当|第一人称|我的?(?:小说|故事|剧本|游戏|梦)里|(?:小说|故事)的?(?:主角|主人公)",
        rf"(?<!我)写一?[段篇首个封]\w{{0,6}}?{_ZH_MADE_UP}",
    ),
    marks(
        """play pretend you_are i'm_ i_am_ im_ act_as first_person the_voice perspective point_of_view in_my character
        novel story game film movie comic dream
        protagonist narrator persona write compose draft make_up invent give 扮演 演 当 第一人称 里 主角 主人公 写"""
    ),
)
# What shows that the words mean their opposite.
_IRONY = Marked(
    _any_of(
        r"\boh,? (?:great|joy|fantastic|wonderful|lovely)[,.!]? (?:another|yet another|more|just what)\b|\blucky me\b",
        r"\byeah,? sure, (?=I\b|we\b|my\b)|\byeah,? right\b(?=[,.!])",
        r"(?:^|\s)/s(?=\s|$)",
        r"\bjust what I (?:needed|wanted)\b|\bsaid no one\b|\bdon't we all\b|\btruly my favou?rite\b|🙄",
        r"\b(?:love|adore|enjoy) (?:(?:sitting|being stuck) in (?:traffic|meetings|queues)"
        r"|waiting (?:on hold|in line|in queues)"
        r"|(?:being|getting) (?:ignored|yelled|told off))\b",
        r"\b(?:just|absolutely|so|really) (?:love|adore|enjoy) it when\b",
        r"\b(?:obviously|clearly),? (?:because )?I(?:'m| am|m| have| own| live| love| adore)\b",
        r"\bmade of money\b|\b(?:best|greatest) (?:day|part|time) of my (?:whole )?life\b|\bliving the dream\b",
        r"\b(?:queen|king) of (?:england|the (?:world|universe))\b|\bwho (?:would(?:n't|nt)|does(?:n't|nt))\W*$",
        r"\b(?-i:I just (?:LOVE|ADORE))\b|\bsure,? I\b[^.!?\n]*\b(?:lol|lmao|haha)\b",
        r"\bat this point,? (?:I )?(?:might|may) as well",
        r"\b(?:basically|practically|literally) (?:live|living) (?:at|in) (?:the|my)\b",
        r"\bprofessional (?:procrastinator|overthinker|worrier|napper|couch potato)\b",
        r"\b(?:just|only) (?:kidding|joking)\b|\bj/?k\b(?=\W*(?:$|lol|haha))",
        r"\bI(?:'m| am|m) (?:so |totally |obviously )?(?:kidding|joking|messing with you|pulling your leg)\b(?! about)"
        r"|(?<!\bno )\bkidding\W*$",
        r"呵呵|我可真|人生赢家|真是?太?(?:幸福|棒|好|开心)了呢|才怪",
    ),
    marks(
        """kidding joking messing pulling jk j/k obviously
        clearly made_of_money of_my of_england of_the who_ i_just sure at_this_point
        live living professional oh_ oh, yeah lucky_me /s just_what_i said_no_one don't_we truly_my 🙄 love adore enjoy
        呵呵 可真 人生赢家 了呢 才怪"""
    ),
)
# What came before was a joke, and what follows is meant: "Just kidding, I live in Rome".
_SERIOUSLY = Marked(
    _any_of(
        r"(?:^|[.!?\n])\s*"
        r"(?:(?:(?:lol|haha\w*|no|nah)\W+)*(?:just|only) (?:kidding|joking)[,.!:;–—-]+\s+)+(?=\S)"  # once or again
    ),
    ("kidding", "joking"),
)
_BLANK = regex(r"\[[A-Z][A-Z _]*\]|\{\{|<[A-Z_]{2,}>|_{3,}|某某|XX+|×{2}")  # of a form to be filled in
_BREAK = regex(r"[.!?,;\n。！？，；]")


@dataclass(frozen=True, slots=True)
class QuotedPiece:
    """What a text quotes or brings along: where it begins and ends."""

    text: str  #: all of it
    start: int
    end: int
    says_i: bool  #: whether it speaks for itself: no title, and no word that is only mentioned
    is_marked: bool  #: whether quotation marks say where it ends

    @property
    def before(self) -> str:
        """The text before it, in its line."""
        return self.text[max(0, self.start - _NEAR) : self.start].rpartition("\n")[2]

    @property
    def behind(self) -> str:
        """The text after it, in its line."""
        return self.text[self.end : self.end + _NEAR].partition("\n")[0]


def own_sentences(text: str) -> list[str]:
    """The sentences of a turn that its speaker says of themselves and means; each is an exact part of the text."""
    text = _meant(text)
    said = split_sentences(text)
    plain = text.replace("’", "'")  # of the same length, so that places in it are places in the text
    if (may_give_orders(text) and any(map(gives_orders, said))) or _IRONY.search(plain, plain.lower()):
        return []
    end = end_of_own(plain)
    if end < len(text) or _HAS_OTHERS.search(text):
        said = [sentence for piece in _pieces(text[:end], plain[:end]) for sentence in split_sentences(piece)]
    said = [behind_retraction(sentence) for sentence in said]
    return [one for one, following in zip(said, [*said[1:], ""], strict=False) if _stands(one, following)]


def _stands(sentence: str, following: str) -> bool:
    """Whether a sentence is meant and no form to be filled in, and neither it nor the one behind takes it back."""
    if _BLANK.search(sentence) or is_jest(sentence) or is_called_untrue(sentence) or is_attributed(sentence):
        return False
    if is_of_another_world(sentence):
        return False
    ahead, behind = (one if amended_by(one) is None else "" for one in (sentence, following))
    is_amended = amended(sentence, following) not in (sentence, "")
    return not is_undone(ahead, behind) and (is_amended or not is_retracted(ahead, behind))


def _meant(text: str) -> str:
    """The text behind the words that make a joke of what came before them."""
    found = _SERIOUSLY.ends(text, text.lower())
    return text[found[-1] :] if found else text


def is_ironic(text: str) -> bool:
    """Whether the words show that they mean their opposite."""
    return _IRONY.search(text, text.lower()) is not None


def is_played(text: str) -> bool:
    """Whether a turn asks for a game of roles or a made-up text, so that the answer speaks for nobody."""
    plain = text.replace("’", "'")
    return _PLAYS.search(plain, plain.lower()) is not None


def end_of_own(plain: str) -> int:
    """Where the clause begins that brings something along, supposes or plays; the end, when there is none."""
    folded = plain.lower()
    found = [match.start() for ending in (_MATERIAL, _SUPPOSES, _PLAYS) if (match := ending.search(plain, folded))]
    if not found:
        return len(plain)
    return max((mark.end() for mark in _BREAK.finditer(plain, 0, min(found) + 1)), default=0)


def _pieces(text: str, plain: str) -> list[str]:
    """The text without what others say in it."""
    pieces = []
    start = 0
    for piece in pieces_of_others(plain):
        if piece.says_i or not piece.is_marked:
            pieces.append(text[start : piece.start])
            start = piece.end
    return [*pieces, text[start:]]


def pieces_of_others(plain: str) -> list[QuotedPiece]:
    """What a text, with straight apostrophes, quotes or brings along, in order."""
    pieces = list(_apart([*_quoted(plain), *_pasted(plain)]))
    return sorted([*pieces, *_relayed(plain, pieces)], key=lambda one: one.start)


def _apart(pieces: Sequence[QuotedPiece]) -> Iterator[QuotedPiece]:
    """Those that do not begin inside another."""
    end = 0
    for piece in sorted(pieces, key=lambda one: one.start):
        if piece.start >= end:
            yield piece
            end = piece.end


def _relayed(plain: str, others: Sequence[QuotedPiece]) -> Iterator[QuotedPiece]:
    """What somebody is to be told, up to the next of the other pieces: that may end later than the sentence."""
    starts = [one.start for one in others]
    for start, end in relayed(plain):
        behind = bisect(starts, start)
        if behind and others[behind - 1].end > start:
            continue
        if start < (end := min([end, *starts[behind : behind + 1]])):
            yield QuotedPiece(plain, start, end, True, False)


def _quoted(plain: str) -> Iterator[QuotedPiece]:
    for match in _OTHERS.finditer(plain):
        if match["added"]:
            continue
        quoted = match["quoted"]
        yield QuotedPiece(plain, *match.span(), bool(quoted and _SAYS_I.search(quoted)), quoted is not None)


def _pasted(plain: str) -> Iterator[QuotedPiece]:
    return (QuotedPiece(plain, start, end, True, False) for start, end in said_by_others(plain))
