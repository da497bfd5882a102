"""Profile fields said outright in Chinese: name, gender, birth year, birthday, occupation, location."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime

from memoryos.language.calendar import HAN_NUMBER, han_number
from memoryos.language.life_changes import CHINESE_CHANGED_JOBS, CHINESE_MOVED_THERE
from memoryos.language.occupations import CHINESE_OCCUPATION
from memoryos.language.plain_letters import plain_text
from memoryos.language.segmenter import tagged
from memoryos.operation.consolidation.chinese import without_question
from memoryos.operation.consolidation.statement import AGES, SENTENCE_LIMIT, Claim
from memoryos.operation.hierarchy.estimate import about
from memoryos.regex import regex

_PLACE_LIMIT = 12  # characters in a place name
_HAN = r"[\u4e00-\u9fff]"
_END = r"(?=\W|$)"

_REJECT = regex(r"[?？]|如果|要是|假如|万一|是不是|不是我|吗[。！]?$|[“「\"]我")
# After an introduction, or behind what was before, the subject is left out: 我叫李明，今年28岁，住在上海.
# Not if others come into it.
_INTRODUCES = regex(
    r"我(?:(?:已经|早就|现在)?不再?住|(?:现在|目前)?(?:叫|是|的名字|今年|\d{1,3}岁|来自|住在|(?:从小)?在\w{2,8}(?:生活|工作|上班|居住|长大|出生))"
    r"|(?:以前|之前|原来|原本|曾经?|过去|本来)(?:是|当|做|住在?|在)[^，,。；;！!]{1,12}[，,](?:但|不过)?(?:现在|目前)"
    rf"|(?:已经|刚刚?|最近|上个?月|上周|[去今]年|终于|又)*(?:{CHINESE_CHANGED_JOBS}|转岗|升了?职|搬了?家|换了?个?城市)了?[，,](?=现在|目前|如今))"
)
_RELATIVES = regex("[姐妹哥弟妈爸母父妻夫婆公儿女友孩奶爷]")

_LATIN_NAME = r"[A-Z][a-z]+(?: [A-Z][a-z]+)?"
_NAMES = [
    regex(rf"我(?:的?名字)?(?:叫做?|名叫|的名字[是叫])(?P<value>{_HAN}{{2,5}}(?:·{_HAN}{{1,6}})?|{_LATIN_NAME})"),
    regex(rf"^(?:[你您]好|大家好|嗨|哈喽)[，,！! ]*我是(?P<value>{_HAN}{{2,4}}|{_LATIN_NAME}){_END}"),
    regex(rf"叫我(?P<value>{_HAN}{{2,4}}?|{_LATIN_NAME})(?=就|吧|[，,。！! ]|$)"),
]
_NICKNAME = regex(rf"[小老阿大]{_HAN}{{1,2}}|({_HAN})\1")
_LONG_SURNAME = regex(rf"(?:欧阳|司马|上官|诸葛|司徒|东方|皇甫|尉迟|公孙|慕容|令狐|夏侯|端木|南宫|长孙){_HAN}{{1,2}}")
_NO_NAME_TAGS = ("r", "v", "p", "u", "d", "c", "m")  # pronouns, verbs, prepositions, particles, adverbs ...

_WOMAN = "女"
_GENDER = regex(
    rf"(?:我就?是|作为)(?:一[个名位]|个)?(?:\d+岁的?|{_HAN}{{2}}的)?"
    r"(?P<value>女生|女孩子?|女的|女人|女性|女士|男生|男孩子?|男的|男人|男性)(?=[，,。！! ]|$|我)"
)
_SELF = r"(?:(?<![把将拿])我|本人|(?<=[，,])(?:但|不过)?)"
_AGE = regex(rf"{_SELF}(?:(?:今年|现在|已经|刚满|刚)*(?P<age>{HAN_NUMBER})岁|今年(?P<years>\d{{2}}){_END})")
_BORN = regex(
    rf"{_SELF}(?:是|出生于|生于|出生在)?在?(?P<year>(?:19|20)\d{{2}})年(?:\d{{1,2}}月)?(?:\d{{1,2}}[日号])?(?:出生|生)?"
)
_BIRTHDAY = regex(rf"我的?生日[是在](?:\d{{4}}年)?(?P<month>{HAN_NUMBER})月(?P<day>{HAN_NUMBER})[日号]?")
# Behind 一名 the ending of the word is enough, but for members and parents.
_MADE_JOB = rf"(?<=[名位])(?!\w*(?:[党团会成队学]员|家长|[玩买卖赢输]家)){_HAN}{{1,6}}[师员家手工长]"
_OCCUPATION = regex(
    rf"{_SELF}(?:现在|目前|的职业)?是(?:一[名个位]|[名个位])?(?P<value>(?!我|这|那|因|说)(?:{_HAN}{{0,6}}?{CHINESE_OCCUPATION}|{_MADE_JOB})){_END}"
)
# 作为一名护士，我经常上夜班: only before what the speaker does, for 我 may belong to 我妈妈.
_AS_A = regex(
    rf"^作为一?[名位](?P<value>{_HAN}{{0,4}}?{CHINESE_OCCUPATION}|{_MADE_JOB})[，,]?我"
    r"(?=每|经常|常常|总是|一直|平时|通常|天天|需要|必须|有|负责|要(?![是怎求])|在(?![想意乎])|的工作|工作|上班|教(?![练授师])\w)"
)
_NOT_NOW = regex("以前|曾|之前|想|打算|小时候|希望|梦|那时|当时|过[，,。]|[他她]")
_WORKS_AS = regex(
    rf"(?:{_SELF}(?:现在|目前|毕业后)?|现在|目前)在{_HAN}{{1,10}}?(?:做|当|担任)(?:一?[名个位])?"
    rf"(?P<value>(?:(?![做当在的])[\u4e00-\u9fff]){{0,4}}?{CHINESE_OCCUPATION}){_END}"
)
# 我找到了一份新工作，当老师; 我换工作了，现在当医生; 我转行做设计师了
_TURNED = regex(
    rf"(?:{_SELF}(?:现在|目前|最近|刚刚?|已经|终于|今年|去年|上个?月)*|工作了?[，,](?:现在|目前)?)"
    rf"(?:改行|转行|开始|[当做]上|当|做|成为|现在当)[当做]?了?(?:一?[名个位])?"
    rf"(?P<value>(?:(?![做当在的年])[\u4e00-\u9fff]){{0,4}}?{CHINESE_OCCUPATION})(?=了?(?:\W|$))"
)
# 我们把北京的房子卖了，现在在成都租房
_RENTS = regex(
    rf"我们?(?:(?!没|想|要|打算|准备)[^，,。；;！!]){{0,4}}(?:把{_HAN}{{2,12}}卖|卖掉?了?{_HAN}{{2,12}})了?[，,](?:现在|目前|如今|就)+(?:搬到)?"
    rf"(?:在(?P<value>{_HAN}{{2,{_PLACE_LIMIT}}}?)(?:租房|租了?套?房|租住)|租?住在(?P<place>{_HAN}{{2,{_PLACE_LIMIT}}}?)(?=生活|了?{_END}))"
)
_NO_MORE = regex(
    rf"{_SELF}(?:已经|早就|现在)?不再?(?:[当做干]|是一?[名个位]?)(?P<value>{_HAN}{{0,4}}?{CHINESE_OCCUPATION})了"
)
_NONE_LEFT = regex(
    r"我(?:刚刚?|已经|上个?月|上周|去年|昨天|前天)*(?:从\w{2,12}?)?(?:辞职|离职|失业|退休|被裁员?|被解雇|被开除|下岗)了"
)
_LOCATION = regex(
    rf"{_SELF}(?:现在|目前|一直|[和跟]{_HAN}{{1,4}})?"
    rf"(?:(?:住在?|定居在?)(?P<value>{_HAN}{{2,{_PLACE_LIMIT}}}?)(?=生活|定居|居住|了?{_END})"
    rf"|在(?P<place>{_HAN}{{2,{_PLACE_LIMIT}}}?)(?:生活|定居|居住|住{_END}))"
)
_LIVES = regex(r"住(?!在)")  # 我住北京, but not 我住不惯北京
_FOR_SO_LONG = regex(r"(?:[\d一二两三四五六七八九十几好多]+个?(?:年|月|天|周|星期)多?|很久|一段时间)$")
_GONE = regex(
    rf"{_SELF}(?:已经|早就|现在|刚刚?)?(?:不再?住在?(?P<value>{_HAN}{{2,{_PLACE_LIMIT}}}?)了"
    rf"|搬(?:离|出)了?(?P<place>{_HAN}{{2,{_PLACE_LIMIT}}}?)了?{_END})"
)
_PLACED = regex(rf"(?<![\u4e00-\u9fff])坐标(?P<place>{_HAN}{{2,6}}?){_END}")
_WHEN = (
    r"(?:[上这本]个?(?:月|周末?|星期|礼拜)[一二三四五六日天初中底]?|[去今前]年|[昨前今]天|前不久|不久前|\d{4}年|年[初底]|[春夏秋冬]天"
    r"|(?:\d{1,2}|十?[一二三四五六七八九十])月份?[初中底]?|\d{1,2}[日号]|[\d一二两三四五六七八九十几]+个?(?:天|周|星期|月|年)前"
    r"|刚刚?|最近|现在|目前|已经|终于|正式|也)"
)
_MOVED = regex(
    rf"{_SELF}(?:{_WHEN}|[和跟]{_HAN}{{1,4}}?){{0,3}}(?:从{_HAN}{{2,8}}?)?(?:搬家?|移居|移民)[到去来回]了?(?:老家|家乡)?"
    rf"(?P<place>{_HAN}{{2,{_PLACE_LIMIT}}}?(?<!办公室)(?<![厨房]房)(?<![公分]司)(?<!部门))(?=生活|定居|居住|然后|之后|以后|了?{_END})"
)
_MOVED_THERE = regex(rf"{_SELF}们?(?:现在|目前|如今)?人?在(?P<place>{_HAN}{{2,{_PLACE_LIMIT}}}?){CHINESE_MOVED_THERE}")
# Around a move: it was long ago, or another one followed.
_OF_THE_PAST = regex("小时候|以前|之前|曾|那时|当时|差点|梦|童年|[的]?时候|岁(?:那年|时)")
_ENDED = regex(r"搬|又|后来|然后(?=.{0,4}[搬去回到离])|[回离]|[住待呆]了")


def claims(sentence: str, said_at: datetime) -> list[Claim]:
    """List every profile field that the sentence states."""
    sentence = without_question(sentence)
    if len(sentence) > SENTENCE_LIMIT or _REJECT.search(sentence):
        return []
    plain = plain_text(sentence)
    stated = [
        Claim(field, value, sentence[start:end])
        for field, read in _READERS.items()
        for value, start, end in list(read(plain, said_at))[:1]  # a sentence states a field once
    ]
    return [*_ended(sentence, plain), *stated]


def _ended(sentence: str, plain: str) -> list[Claim]:
    """What the sentence says to be over: a home, or an occupation; an empty one stands for whichever there was."""
    over = [(match["value"], match.span()) for match in _own(_NO_MORE, plain)]
    over += [("", match.span()) for match in _NONE_LEFT.finditer(plain)]
    claims = [Claim("occupation", value, sentence[slice(*span)], is_over=True) for value, span in over]
    left = [(match["value"] or match["place"], match.span()) for match in _own(_GONE, plain)]
    return [*claims, *(Claim("location", place, sentence[slice(*span)], is_over=True) for place, span in left)]


_Found = Iterator[tuple[str, int, int]]


def _own(pattern: re.Pattern[str], sentence: str) -> Iterator[re.Match[str]]:
    """Yield the matches whose subject is 我, or is left out in an introduction of oneself."""
    implied = _INTRODUCES.search(sentence) is not None and _RELATIVES.search(sentence) is None
    for match in pattern.finditer(sentence):
        if implied or match.group().startswith(("我", "本人")):
            yield match


def _names(sentence: str, _said_at: datetime) -> _Found:
    for pattern in _NAMES:
        for match in pattern.finditer(sentence):
            if _is_name(match["value"]):
                yield match["value"], *match.span()


def _is_name(name: str) -> bool:
    """Accept a Latin name, a nickname such as 小明, one with a surname such as 欧阳, and what the segmenter tags so."""
    if name.isascii() or _NICKNAME.fullmatch(name) or _LONG_SURNAME.fullmatch(name):
        return True
    tags = [tag for _, tag in tagged(name)]
    return tags[0].startswith("nr") and not any(tag.startswith(_NO_NAME_TAGS) for tag in tags)


def _genders(sentence: str, _said_at: datetime) -> _Found:
    for match in _GENDER.finditer(sentence):
        if match.group().startswith("我") or "我" in sentence[match.end() :]:
            yield "woman" if match["value"].startswith(_WOMAN) else "man", *match.span()


def _birth_years(sentence: str, said_at: datetime) -> _Found:
    for match in _own(_BORN, sentence):
        if "生" in match.group():
            yield match["year"], *match.span()
    for match in _own(_AGE, sentence):
        age = han_number(match["age"] or match["years"])
        if age in AGES and said_at.year > age:
            yield about(said_at.year - age), *match.span()


def _birthdays(sentence: str, _said_at: datetime) -> _Found:
    for match in _BIRTHDAY.finditer(sentence):
        month, day = han_number(match["month"]), han_number(match["day"])
        if month in range(1, 13) and day in range(1, 32):
            yield f"{month}月{day}日", *match.span()


def _occupations(sentence: str, _said_at: datetime) -> _Found:
    for match in (*_own(_OCCUPATION, sentence), *_AS_A.finditer(sentence)):
        yield match["value"], *match.span()
    for match in (*_WORKS_AS.finditer(sentence), *_TURNED.finditer(sentence)):
        before = sentence[: match.end()]
        if re.search("我(?!们|的)|本人", before) and not (_RELATIVES.search(before) or _NOT_NOW.search(before)):
            yield match["value"], *match.span()


def _locations(sentence: str, _said_at: datetime) -> _Found:
    for match in (
        *_own(_LOCATION, sentence),
        *_moves(sentence),
        *_own(_MOVED_THERE, sentence),
        *_RENTS.finditer(sentence),
        *_PLACED.finditer(sentence),
    ):
        place = _FOR_SO_LONG.sub("", match.groupdict().get("value") or match["place"])
        if _is_place(place, begins=_LIVES.search(match.group()) is not None):
            yield place, *match.span()


def _is_place(place: str, *, begins: bool) -> bool:
    """Whether it holds a word that the segmenter knows as a place; `begins`: is nouns alone, and begins with one."""
    tags = [tag for _, tag in tagged(place)] if place else []
    if begins:
        return tags[:1] == ["ns"] and all(tag.startswith("n") for tag in tags)
    return "ns" in tags and ("的" not in place or tags[-1] == "ns")


def _moves(sentence: str) -> Iterator[re.Match[str]]:
    """Yield the moves that were done, not so long ago that another one may have followed."""
    for match in _own(_MOVED, sentence):
        lasts = "了" not in match["place"] and not _ENDED.search(sentence, match.end())
        if lasts and not _OF_THE_PAST.search(sentence):
            yield match


_READERS: dict[str, Callable[[str, datetime], _Found]] = {
    "name": _names,
    "gender": _genders,
    "birth_year": _birth_years,
    "birthday": _birthdays,
    "occupation": _occupations,
    "location": _locations,
}
