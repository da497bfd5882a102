"""Request slots: what every profile has a place for, such as "my old job", and what people say that fills it.

Nobody says "my job is" of a job: "I worked at Barclays" and 我以前在银行上班 fill it. They do so for the user alone:
"my sister's old job" is not mine. What is not clear ("I worked at it") fills nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from memoryos.language.capitals import CAPITALS
from memoryos.operation.knowledge.slot import filling
from memoryos.regex import regex

_I = (
    r"\b(?:I|we|user)(?:'(?:ve|m|d|re))?(?: (?:have|has|had|am|is|was|were|been|do|did|don't|still|now|just|also"
    r"|used to|once|currently|recently|first|then|never|\w+ly))* "
)
KIN = (
    r"(?:[妹姐哥弟爸妈]{1,2}|父亲|母亲|父母|爷爷|奶奶|外公|外婆|老公|老婆|丈夫|妻子|太太|儿子|女儿|孩子|朋友|同事|老板|邻居|家人|男友|女友"
    r"|男朋友|女朋友|前任|室友|同学|老师|医生|叔叔|舅舅|姑姑|阿姨|经理|房东)"
)
_ME = rf"(?:我|用户)(?!们?的?{KIN})"
_ANY = r"(?:(?:my|the|their|an?|our) )?(?:\w+ )?"
_PLACE_OF_WORK = (
    r"(?:bank|school|hospital|company|shop|store|office|factory|restaurant|bakery|university|college|hotel|caf[eé]|firm"
    r"|library|farm|clinic|museum|agency|startup|start-up|warehouse|government|ministry|council|newspaper|garage|bar|pub)"
)
_STREET = (  # "in 2019" is no house
    r"(?=(?:(?!\b(?:since|until|for|in|from)\b)[^.!?]){0,60}?"
    rf"(?:(?-i:[{CAPITALS}])\w{{1,30}} \d{{1,5}}[a-z]?\b|\b\d{{1,5}} (?![ap]m\b)(?-i:[{CAPITALS}])"
    r"|\b(?:street|road|avenue|lane|boulevard|alley)\b))"
)
_DWELLING = r"(?:house|flat|apartment|town|village|city|suburb|farm|dorm|studio|cent(?:er|re))"
_SOMEWHERE = rf"(?:(?-i:[{CAPITALS}])|(?:an?|the|my|our) (?:\w+ )?{_DWELLING}\b)"
_NO_FIRM = (
    r"(?!(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|christmas|easter|january|february|march|april|may|june|july"
    r"|august|september|october|november|december)\b)"
)
_FIRM = rf"{_NO_FIRM}(?:(?-i:[{CAPITALS}])|(?:the|an?|my) (?:\w+ )?(?:(?-i:[{CAPITALS}])|{_PLACE_OF_WORK}\b))"
_NO_TASK = r"(?!(?:cron|batch|print|background|backup|nightly|build)\b)"  # a job of a computer
_FOODS = r"(?:meat|fish|pork|beef|poultry|eggs?|dairy|gluten|sugar|animals?|seafood|shellfish|nuts|wheat|carbs)"
_SPOUSES = r"(?:wife|husband|partner|girlfriend|boyfriend|spouse|fianc[eé]e?)"
_ANIMALS = r"(?:dogs?|cats?|pupp(?:y|ies)|kittens?|hamsters?|rabbits?|parrots?|goldfish|guinea pigs?|horses?|turtles?)"
_NO_NOUN = (
    r"(?!'s| (?:allerg|food|person|people|toy|lover|sitter|show|house|nap|walk|park|litter|hair|video|for lunch))"
)
_HAN_ANIMALS = r"(?:猫|狗|兔|仓鼠|鹦鹉|乌龟|金鱼|宠物)"
_OLD = regex(r"\b(?:old|former|previous|last|past|ex)\b|以前|旧|之前|原来|前一?份|上一?份", re.IGNORECASE)
_IS_OVER = regex(
    r"\b(?:worked|lived|was|were|used to|quit|left|lost|resigned|retired|fired|laid off|until|former(?:ly)?|had"
    r"|previous(?:ly)?|no longer|moved (?:out|away|from))\b|以前|曾经|之前|过去|原来|辞|离职|不再|失业|退休",
    re.IGNORECASE,
)
_BEGINS = regex(r"\b(?:now|started|joined|moved to|new|got a|found a)\b|现在|开始|入职|搬到|新", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RequestSlot:
    """A place of a profile that a topic names."""

    named: re.Pattern[str]  #: the words that name it
    told: re.Pattern[str]  #: what the user says of it
    relations: frozenset[str]  #: of the slots of `knowledge.slot` that are this one
    is_told_apart: bool = False  #: whether people have an old one and a new one
    is_old: bool = False  #: whether the old one is meant

    def is_filled_by(self, sentences: Iterable[str]) -> bool:
        """Whether one of these sentences of the user fills it."""
        return any(self._fits_time(one) and self._says(one) for one in sentences)

    def _says(self, sentence: str) -> bool:
        found = filling(sentence)
        is_own = found is not None and not found.slot.holder and found.slot.relation in self.relations
        return is_own or self.told.search(sentence) is not None

    def _fits_time(self, sentence: str) -> bool:
        is_over, begins = _IS_OVER.search(sentence), _BEGINS.search(sentence)
        if self.is_old:
            return is_over is not None and begins is None
        return not self.is_told_apart or is_over is None or begins is not None


def asked_slot(topic: str) -> RequestSlot | None:
    """The place of the user's profile that a topic names and nothing else; None if it names none."""
    found = next((one for one in _SLOTS if one.named.fullmatch(topic.strip())), None)
    if found is None:
        return None
    return replace(found, is_old=_OLD.search(topic) is not None)


def _slot(
    english: str, chinese: str, told: tuple[str, ...], relations: str = "", *, is_told_apart: bool = False
) -> RequestSlot:
    marks = r"(?:(?:old|former|previous|last|past|new|current|present|private|personal|work) )?"
    han = r"(?:以前的?|旧的?|之前的?|原来的?|上一?份|前一?份|新的?|现在的?|目前的?)?"
    named = rf"(?:my|our) {marks}(?:{english})|(?:我|我们)的?{han}(?:{chinese})"
    says = regex("|".join(told), re.IGNORECASE)
    known = frozenset(filter(None, relations.split(",")))
    return RequestSlot(regex(named, re.IGNORECASE), says, known, is_told_apart)


_SLOTS = (
    _slot(
        "job|work|employer|workplace|occupation|profession|career|company|position",
        "工作|职业|公司|单位|雇主|职位|岗位",
        (
            rf"{_I}(?:work(?:s|ed|ing)?|employed) (?:part-time |full-time )?(?:at|for|by) {_FIRM}",
            rf"{_I}work(?:s|ed|ing)? (?:part-time |full-time )?in (?:an?|the|my) (?:\w+ )?{_PLACE_OF_WORK}\b",
            rf"{_I}(?:work(?:s|ed|ing)?|employed) (?:part-time |full-time )?as (?:an?|the)\b",
            rf"{_I}(?:quit|left|lost|resigned from|got|found|took|changed) (?:my|the|an?|our) {_NO_TASK}(?:\w+ )?job\b",
            rf"{_I}started (?:my|an?) (?:new |first |next )?job\b",
            rf"{_I}(?:quit|resigned from) {_ANY}(?:{_PLACE_OF_WORK}|position|post)\b",
            rf"{_I}(?:resigned|retired)(?=\W*\Z|[.,;!?]| (?:in|from|last|early|at|as|when|after)\b)(?! early to)",
            (
                r"\b(?:I|user)(?:'ve|'d)? (?:(?:have|had|has) )?(?:was|got|been) (?:\w+ly |just )?"
                r"(?:fired(?! up)|laid off)\b"
            ),
            rf"{_ME}[^，。！？；的]{{0,12}}?在[^，。！？；]{{1,12}}?(?:上班|工作|任职|打工|就职)",
            rf"{_ME}[^，。！？；]{{0,8}}?(?:辞职|离职|辞了|被辞退|被裁|失业|退休|换了?工作|找到了?工作|入职|跳槽)",
            rf"{_ME}(?:以前|曾经|过去|之前)(?:是|当过?|做过?)[^，。！？；]{{1,8}}?(?:[师员工匠家手]|医生|警察|护士|经理)",
        ),
        "occupation,employer,work",
        is_told_apart=True,
    ),
    _slot(
        r"(?:(?:home|street|postal|mailing) )?address",
        "(?:家庭)?(?:地址|住址)",
        (
            rf"{_I}(?:live[sd]?|living|reside[sd]?) (?:at|on) {_STREET}",
            rf"{_I}moved to {_STREET}",
            rf"{_ME}[^，。！？；]{{0,8}}?(?:住|搬到)[^，。！？；]{{0,15}}?(?:路|街|号|巷|弄|楼|室|胡同|大道|小区)",
        ),
        is_told_apart=True,
    ),
    _slot(
        "home|city|town|residence|location|place of residence",
        "家|城市|住处|居住地|所在地",
        (
            rf"{_I}(?:live[sd]?|living|reside[sd]?|based) (?:at|in|on) {_SOMEWHERE}",
            rf"{_I}(?:moved|relocated|settled) (?:to|in) (?:an?|the|my|our) (?:\w+ )?{_DWELLING}\b",
            rf"{_ME}[^，。！？；]{{0,8}}?(?:住在|搬到|搬去|定居)",
        ),
        "residence",
        is_told_apart=True,
    ),
    _slot(
        "(?:full |first |last |sur|nick)?name",
        "名字|姓名|全名|昵称",
        (
            rf"\bcall me {_NO_FIRM}(?-i:[{CAPITALS}][^\W\d_{CAPITALS}]+)(?=\W*\Z|[.,;!?])",
            rf"\bmy (?:\w+ )?name is (?-i:[{CAPITALS}])",
            r"\b(?:I am|I'm|I go by) (?:called|named|the name)",
            r"(?:我|用户)(?:的名字)?叫(?!了|我|过|朋友|[你他她它妈爸人车])[\w·]{2,4}(?=[，。！？；\s]|\Z)",
        ),
    ),
    _slot(
        r"(?:(?:tele|mobile |cell ?)?phone|mobile)(?: number)?|number",
        "(?:电话|手机)(?:号码?)?|号码",
        (
            r"\b(?:call|reach|text|ring) me (?:on|at|under) \+?[\d(][\d\s().-]{4,}",
            r"\bmy (?:\w+ )?(?:\w*phone|mobile|cell)(?: number)? (?:is|was) \+?[\d(][\d\s().-]{4,}",
            r"(?:我|用户)的?(?:手机|电话)(?:号码?)?[^，。！？；\d]{0,4}[\d-]{5,}",
        ),
        "phone",
    ),
    _slot(
        "e-?mail(?: address)?",
        "邮箱(?:地址)?|电子邮件|邮件地址",
        (
            r"\b(?:mail|write|reach|e-?mail)(?: to)? me (?:at|on|under) \S+@",
            r"\bmy (?:\w+ )?e-?mail(?: address)? (?:is|was) \S+@",
            r"(?:我|用户)的?(?:电子邮件|邮箱|邮件)[^，。！？；@]{0,6}\S+@",
        ),
        "e-mail",
    ),
    _slot(
        "birthday|birth ?date|date of birth",
        "生日|出生日期",
        (rf"{_I}born (?:on|in)\b(?=[^.]*\d)", rf"{_ME}[^，。！？；的]{{0,10}}?(?:出生|生于|过?生日)"),
    ),
    _slot(
        "age",
        "年龄|年纪",
        (
            r"\b(?:I am|I'm|user is) \d{1,3} years old\b",
            rf"{_ME}(?:今年|现在)?[\d一二三四五六七八九十]{{1,4}}岁(?=[了，。！？；\s]|\Z)",
        ),
        "age",
    ),
    _slot(
        "diet|eating habits",
        "饮食(?:习惯)?",
        (
            rf"{_I}(?:an? )?(?:strict )?(?:vegan|vegetarian|pescatarian)\b",
            rf"\b(?:I|we|user) (?:do not|don't|doesn't|never|cannot|can't|no longer) eat (?:any )?{_FOODS}\b",
            rf"{_ME}[^，。！？；]{{0,4}}?(?:素食|吃素|纯素|不吃(?:肉|荤|猪|牛|羊|鱼|海鲜|蛋|奶|辣|甜|麸))",
        ),
        "diet",
    ),
    _slot(
        "partner|spouse|better half|other half|significant other",
        "伴侣|对象|另一半|配偶|爱人",
        (
            rf"\b(?:my|user's) {_SPOUSES}\b(?!'s)",
            rf"{_I}(?:married|engaged) to\b",
            r"(?:我|用户)的?(?:妻子|老婆|太太|丈夫|老公|男朋友|女朋友|男友|女友|对象|伴侣|爱人|未婚夫|未婚妻)(?!的)",
        ),
    ),
    _slot(
        "pets?",
        "宠物",
        (
            (
                rf"{_I}(?:have|has|had|own|owns|owned|got|adopted|keep|keeps) (?:an?|two|three|\d)"
                rf" (?:(?!hot )\w+ )?{_ANIMALS}\b{_NO_NOUN}"
            ),
            rf"\b(?:my|our|user's) (?:(?!hot )\w+ )?{_ANIMALS}\b{_NO_NOUN}",
            rf"(?:我|用户)(?:家|们)?(?:有|养|领养)[^，。！？；]{{0,6}}?{_HAN_ANIMALS}|我(?:家|们)?的{_HAN_ANIMALS}",
        ),
    ),
)
