"""Chinese sentences that state something durable about the person who says them, and profile fields.

As in English, only known shapes count ("我在…工作", "我对…过敏", "我姐姐…"). A statement runs to the end
of its sentence, because Chinese leaves out the subject after the first clause.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime

import rjieba

from memoryos.cube import SemanticType
from memoryos.operation.consolidation.statement import PLAIN, SENTENCE_LIMIT, SHARED, Claim, Statement, about

_AGES = range(5, 111)  # years
_PLACE_LIMIT = 12  # characters in a place name

_LEAD = re.compile(
    r"(?:嗯+|对[呀啊的]?|是[的啊呀]|哈+|好[的吧呀]?|其实|另外|还有|对了|说实话|老实说|而且|不过|但是?|所以|因为|你好|您好|嗨|大家好"
    r"|谢谢[你您]?|没错|没有?|哦|啊|唉|哎|当然|确实|可惜|幸好|顺便说一下)[呀啊哦]?[，,、！!～~。 ]+"
)
_TIME = (
    r"(?:(?:昨[天晚日]|前天|今[天早晚]|明[天早晚]|后天|最近|现在|目前|如今|去年|前年|今年|明年|上个?月|下个?月"
    r"|[上这下]个?(?:周|星期|礼拜)[一二三四五六日天末]?|每[天周年月晚](?:早上|晚上)?|每个(?:周末|月|星期)|周末|平时|小时候|以前|之前|从小"
    r"|\d{4}年(?:\d{1,2}月)?|[一二两三四五六七八九十\d]+个?(?:天|周|星期|月|年)前|早上|晚上|下班后)[，,]?)*"
)
_ADVERB = (
    r"(?:也|还|都|就|现在|目前|最近|一直|经常|平时|通常|总是|常常|偶尔|真的|非常|特别|很|最|超级?|比较|从小|从来|刚刚?|已经|曾经|正在?|终于"
    r"|其实|本来|以前|之前|只|和\w{1,6}|跟\w{1,6})"
)
_I = rf"{_TIME}我(?!们){_TIME}{_ADVERB}{{0,3}}{_TIME}{_ADVERB}?"
_RELATION = (
    r"(?:姐姐?|妹妹?|哥哥?|弟弟?|妈妈?|爸爸?|母亲|父亲|父母|爸妈|老婆|妻子|太太|老公|丈夫|先生|女朋友|男朋友|女友|男友|儿子|女儿|孩子|宝宝"
    r"|奶奶|爷爷|外婆|外公|姥姥|姥爷|叔叔|阿姨|姑姑|舅舅|表[哥姐弟妹]|堂[哥姐弟妹]|侄[子女]|室友|闺蜜|同事|老板|朋友|家人|家里"
    r"|狗狗?|猫咪?|猫猫|宠物|兔子|仓鼠|公司|生日|家乡|老家|专业|职业|工作|爱好|梦想|目标|房子|车)"
)
_START = re.compile(r"[，,；;：:。]\s*(?:但是?|而且|所以|因为|不过|然后)?(?=我(?!们))")
_NOT_DECLARATIVE = re.compile(
    r"[?？]|[吗么嘛呢](?:[。！!~～]|$)|如果|假如|要是|假设|万一|的话|好像|可能|也许|大概会|是不是|能不能|可不可以|[请让要]你|帮我|给我推荐|[你您]"
)
_CONTENT = r"[\w][\w《“]"  # at least two characters follow the verb
_VAGUE = r"(?!了?(?:它|这|那|什么|一下|一些?问题|个问题|点|想法|办法|兴趣|信心|时间|机会|感觉|意思|同感|你|您))"

_PREFERENCES = [
    re.compile(rf"{_I}(?:不|不太|不怎么|不是很)?(?:喜欢|热爱|讨厌|偏爱|酷爱|痴迷|爱|受不了|沉迷|迷上了)(?!心|护|上)(?:上了|吃|喝|看|听|玩)?{_VAGUE}[\w《]"),
    re.compile(rf"{_I}对(?!这|那|此|它|你|您)\w{{1,20}}?(?:很|非常|特别|比较|不太)?(?:感兴趣|有兴趣|没兴趣|不感兴趣|情有独钟)"),
    re.compile(rf"{_TIME}我(?:的|平时的|最大的)*(?:爱好|兴趣)(?:是|就是|包括)\w"),
    re.compile(rf"{_TIME}我最(?:喜欢|爱|讨厌)的\w{{0,10}}?是(?!这|那|你)\w"),
]  # fmt: skip
_FACTS = [
    re.compile(rf"{_I}(?:不)?是(?:一[名个位]|[名个位]|独生|素食|单亲|左撇子|在\w{{2,12}}(?:长大|出生)|(?!个人|本人|有人|大人|病人|好人)\w{{2,6}}人(?=[，,。！!]|$))"),
    re.compile(rf"{_I}是(?!说|想|觉|真|很|在|因|为|不|这|那|来|个|你|挺|最|从|被)\w{{0,12}}(?:师|生|员|医|工|家|手|师傅|教授|经理|老板|护士|会计|警察|律师|主管|总监|博主|程序员|妈妈|爸爸)(?=[，,。！!；;～~]|$)"),
    re.compile(rf"{_I}(?:快|马上)?(?:要)?\d{{1,3}}岁"),
    re.compile(rf"{_I}(?:来自|出生于|出生在|毕业于|就职于|任职于|定居|住在?(?!院)|养了?|对\w{{1,10}}过敏|患有|得过|得了){_VAGUE}\w"),
    re.compile(rf"{_I}在(?!想|考虑|犹豫|等|找|吗)\w{{1,20}}?(?:工作|上班|上学|读书|读研|读博|念书|生活|长大|出生|实习|教书|任教|留学|创业|当\w{{2}}|学习)"),
    re.compile(rf"{_I}(?:有|没有)(?!时候|点|些|事|空|意|可能|必要|个(?:问题|想法|疑问|建议|请求)|一个(?:问题|想法|疑问|建议|请求|好消息)|用|趣|兴趣|信心|时间)(?:[一两三四五六七八九十\d]+|个|只|条|套|辆|位)\w"),
    re.compile(rf"{_I}(?:不能吃|不吃|不喝|不抽|吃素|会(?:弹|拉|做|开|打|跳|唱|画|写|游泳|骑|修)|会说(?=\w+[语话文])){_VAGUE}\w?"),
    re.compile(rf"{_I}(?:去|买|学|看|吃|参加|搬|换|考|拿到|获得|加入|开始|完成|生|做|跑|爬|认识|报名|收养|领养|丢|失去|画|写|读|养|赢|输|捐|拜访|参观|搬到|搬去)(?:完|到|上)?(?:了|过){_VAGUE}{_CONTENT}"),
    re.compile(rf"{_TIME}我(?:{_TIME})(?:{_ADVERB})*(?:结婚|离婚|毕业|辞职|入职|退休|怀孕|失业|升职|分手|订婚|搬家|失恋)了"),
    re.compile(rf"(?:昨[天晚日]|前天|上个?(?:周|星期|礼拜|月)\w?|去年|前年){_ADVERB}?[，,]?我(?!们)\w{{0,8}}?(?:去|参加|搬|买|看|学|见|到|陪|带|跟|和)(?!{_NOT_DECLARATIVE.pattern}){_CONTENT}"),
    re.compile(rf"我(?:昨[天晚日]|前天|上个?(?:周|星期|礼拜|月)\w?|去年|前年)\w{{0,8}}?(?:去|参加|搬|买|看|学|见|到|陪|带|跟|和){_CONTENT}"),
    re.compile(rf"{_TIME}我(?:打算|计划|准备|决定){_VAGUE}\w{{3}}"),
    re.compile(rf"我?(?:明[天早晚]|后天|下个?(?:周|星期|礼拜|月)\w?|明年)我?(?:要|会|将)(?!怎|不会){_CONTENT}"),
    re.compile(r"(?:我(?:每[天周年月晚]|每个(?:周末|月|星期))|(?:每[天周年月晚]|每个(?:周末|月|星期))我)\w{3}"),
    re.compile(rf"{_TIME}我(?:的|有个|家的?)?{_RELATION}(?:叫|是(?!不是|谁|我|这|那|最|很|真)|住|在|有(?!点|时|些|可能)|今年|刚|去了|生了|去世|养|\d|也?喜欢|最?爱吃|对\w+过敏|工作|学|得了|毕业|教|做\w+[师员]|结婚|退休|开了)\w"),
]  # fmt: skip
_WE = re.compile(
    rf"{_TIME}我(?:们|和\w{{1,6}}|跟\w{{1,6}})(?:{_TIME})(?:{_ADVERB})?(?:结婚|住在|搬到|搬去|养了|有[一两三]|去了|去过|参加了|买了)\w?"
)
_AGENT = re.compile(
    r"我(?:会|可以|想|强烈|也|之前|刚才?|曾)*(?:推荐|建议)(?:[你您])?(?:了|过)?(?!吗|什么)\w"
    r"|我(?:只)?是(?:一[个名位款种]|[个名位]|您的|你的)?(?:\w{0,6}(?:AI|人工智能|助手|助理|语言模型|机器人|伙伴))"
    r"|我(?:会|将|答应|保证)(?:提醒|记住|记得)\w|我(?:已经?|刚刚?)?(?:帮|为|替|给)?[你您]?(?:预订|预定|安排|发送|创建|设置|更新|保存|推荐)(?:好)?了\w"
)
_AGENT_REJECT = re.compile(r"[?？]|吗[。！]?$|如果|要是|假如")


def is_chinese(sentence: str) -> bool:
    """Whether the sentence is read by the Chinese rules: it has a Chinese first person."""
    return "我" in sentence


def statement(sentence: str) -> Statement | None:
    """The part of the sentence that states something durable about its speaker, if there is one."""
    if len(sentence) > SENTENCE_LIMIT or _NOT_DECLARATIVE.search(sentence) or not _is_quote_balanced(sentence):
        return None
    for start in _starts(sentence):
        clause = sentence[start:]
        for shapes, kind, confidence in _SHAPES:
            if any(shape.match(clause) for shape in shapes):
                return Statement(clause, kind, confidence)
    return None


_SHAPES = (
    (_PREFERENCES, SemanticType.PREFERENCE, PLAIN),
    (_FACTS, SemanticType.FACT, PLAIN),
    ([_WE], SemanticType.FACT, SHARED),
)


def agent_statement(sentence: str) -> Statement | None:
    """The part in which an assistant says what it is, recommended, did or promised."""
    if len(sentence) > SENTENCE_LIMIT or _AGENT_REJECT.search(sentence) or not _is_quote_balanced(sentence):
        return None
    for start in _starts(sentence):
        if _AGENT.match(sentence[start:]):
            return Statement(sentence[start:], SemanticType.FACT, PLAIN)
    return None


def third_person(quote: str, name: str) -> str | None:
    """The sentence with `name` in place of 我, or None where another pronoun would be left hanging."""
    relation = re.match(rf"(?P<time>{_TIME})我的?(?={_RELATION})", quote)
    subject = relation or re.match(rf"(?P<time>{_TIME})我(?!们)", quote)
    if subject is None:
        return None
    rest = quote[subject.end() :]
    if re.search("[我你您咱他她]", rest):
        return None
    return f"{subject['time']}{name}{'的' if relation else ''}{rest.rstrip('。！!.～~，, ')}。"


def claims(sentence: str, said_at: datetime) -> list[Claim]:
    """Every profile field that the sentence states."""
    if len(sentence) > SENTENCE_LIMIT or re.search(r"[?？]|如果|要是|假如|不是|吗[。！]?$", sentence):
        return []
    return [
        Claim(field, value, sentence[start:end])
        for field, read in _READERS.items()
        for value, start, end in list(read(sentence, said_at))[:1]  # a sentence states a field once
    ]


def _starts(sentence: str) -> list[int]:
    first = 0
    while match := _LEAD.match(sentence, first):
        first = match.end()
    inner = [match.end() for match in _START.finditer(sentence, first)]
    return [first, *(start for start in inner if _is_quote_balanced(sentence[:start]))]


def _is_quote_balanced(text: str) -> bool:
    return text.count("“") == text.count("”") and text.count("「") == text.count("」") and text.count('"') % 2 == 0


_Found = Iterator[tuple[str, int, int]]
_NAME = re.compile(
    r"我(?:的)?(?:名字)?(?:叫做?|名叫|的名字是|的名字叫)(?P<value>[\u4e00-\u9fff·]{2,8}|[A-Z][a-z]+(?: [A-Z][a-z]+)?)"
)
_IS_NAME = re.compile(
    r"^(?:[你您]好|大家好|嗨|哈喽)[，,！! ]*我是(?P<value>[\u4e00-\u9fff]{2,4}|[A-Z][a-z]+)(?=[，,。！! ]|$)"
)
_CALL_ME = re.compile(r"(?:可以|请|就)?叫我(?P<value>[\u4e00-\u9fff]{2,4}|[A-Z][a-z]+)(?=就|吧|[，,。！! ]|$)")
_NAME_ONLY_END = re.compile(r"(?:就行|就好|吧|啦|哦)$")
_NICKNAME = re.compile(r"[小老阿大][\u4e00-\u9fff]{1,2}|([\u4e00-\u9fff])\1")
_GENDER = re.compile(
    r"(?:我(?:是|就是)|作为)(?:一[个名位]|个)?(?:\d+岁的?|[\u4e00-\u9fff]{2}的)?(?P<value>女生|女孩子?|女的|女人|女性|女士|男生|男孩子?|男的|男人|男性)(?=[，,。！! ]|$|我)"
)
_AGE = re.compile(r"我(?:今年|现在|已经|刚满|刚|刚刚)*(?P<age>\d{1,3})岁")
_BORN = re.compile(
    r"我(?:是|出生于|生于|出生在)?(?:在)?(?P<year>(?:19|20)\d{2})年(?:\d{1,2}月)?(?:\d{1,2}[日号])?(?=出生|生的?|的[，,。]|[，,。]|$)"
)
_BIRTHDAY = re.compile(r"我的?生日(?:是|在)(?:\d{4}年)?(?P<month>\d{1,2})月(?P<day>\d{1,2})[日号]?")
_OCCUPATION = re.compile(
    r"我(?:现在|目前|的职业)?是(?:一[名个位]|[名个位])?(?P<value>[\u4e00-\u9fff]{0,6}?(?:工程师|老师|教师|医生|护士|学生|律师|设计师|程序员|会计|司机|厨师|记者|作家|画家|演员"
    r"|歌手|经理|教授|研究员|翻译|警察|摄影师|建筑师|咨询师|分析师|药剂师|美容师|理发师|销售员|公务员|研究生|博士生|自由职业者|产品经理|插画师|快递员|服务员|农民|工人|编辑|教练))(?=[，,。！! ]|$)"
)
_LOCATION = re.compile(
    r"我(?:现在|目前|一直|和\w{1,4})?(?:住在|定居在?|搬到了?|搬去了?|在)(?P<value>[\u4e00-\u9fff]{2,12}?)(?=生活|定居|居住|住[，,。]|[，,。！! ]|了?$)"
)
_LIVES = re.compile(r"住在|定居|搬到|搬去|生活|居住|住[，,。]")


def _tags(text: str) -> list[tuple[str, str]]:
    return [(word, tag) for word, tag in rjieba.tag(text)]


def _names(sentence: str, _said_at: datetime) -> _Found:
    for pattern in (_NAME, _IS_NAME, _CALL_ME):
        for match in pattern.finditer(sentence):
            name = _NAME_ONLY_END.sub("", match["value"])
            if _is_name(name):
                start = match.start()
                yield name, start, match.start("value") + len(name)


def _is_name(name: str) -> bool:
    """A Latin name, a nickname such as 小明, or what the segmenter tags as a person."""
    if name.isascii():
        return True
    tagged = _tags(name)
    if any(tag.startswith(("r", "v", "p", "u", "d")) for _, tag in tagged):
        return False
    return tagged[0][1].startswith("nr") or _NICKNAME.fullmatch(name) is not None


def _genders(sentence: str, _said_at: datetime) -> _Found:
    for match in _GENDER.finditer(sentence):
        if match.group().startswith("我") or "我" in sentence[match.end() :]:
            yield "woman" if match["value"].startswith("女") else "man", *match.span()


def _birth_years(sentence: str, said_at: datetime) -> _Found:
    for match in _BORN.finditer(sentence):
        if "生" in sentence[match.start() : match.end() + 2]:
            yield match["year"], *match.span()
    for match in _AGE.finditer(sentence):
        if int(match["age"]) in _AGES and said_at.year > int(match["age"]):
            yield about(said_at.year - int(match["age"])), *match.span()


def _birthdays(sentence: str, _said_at: datetime) -> _Found:
    for match in _BIRTHDAY.finditer(sentence):
        yield f"{match['month']}月{match['day']}日", *match.span()


def _occupations(sentence: str, _said_at: datetime) -> _Found:
    for match in _OCCUPATION.finditer(sentence):
        yield match["value"], *match.span()


def _locations(sentence: str, _said_at: datetime) -> _Found:
    """A place must hold a word that the segmenter knows as one."""
    for match in _LOCATION.finditer(sentence):
        lives = _LIVES.search(sentence[match.start() : match.end() + 2])
        if lives and len(match["value"]) <= _PLACE_LIMIT and any(tag == "ns" for _, tag in _tags(match["value"])):
            yield match["value"], *match.span()


_READERS: dict[str, Callable[[str, datetime], _Found]] = {
    "name": _names,
    "gender": _genders,
    "birth_year": _birth_years,
    "birthday": _birthdays,
    "occupation": _occupations,
    "location": _locations,
}
