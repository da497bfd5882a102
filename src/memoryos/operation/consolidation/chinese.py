"""Chinese sentences that state something durable about the person who says them.

As in English, only known shapes count ("我在…工作", "我对…过敏", "我姐姐…"). A statement runs to the end
of its sentence, because Chinese leaves out the subject after the first clause.
"""

from __future__ import annotations

import re

from memoryos.kinds import SemanticType
from memoryos.language.calendar import HAN_NUMBER
from memoryos.language.life_changes import CHINESE_CHANGED_JOBS, CHINESE_MOVED_THERE
from memoryos.language.occupations import CHINESE_OCCUPATION
from memoryos.operation.consolidation.statement import PLAIN, SENTENCE_LIMIT, SHARED, Statement
from memoryos.regex import regex

_LEAD = regex(
    r"(?:嗯+|对[呀啊的]?|是[的啊呀]|哈+|好[的吧呀]?|其实|另外|还有|对了|说实话|老实说|而且|不过|但是?|所以|因为|你好"
    r"|您好|嗨|大家好|谢谢[你您]?|没错|没有?|哦|啊|唉|哎|当然|确实|可惜|幸好|顺便说一下)[呀啊哦]?[，,、！!～~。 ]+"
    r"|(?:请|麻烦)?(?:你|您)?(?:记住|记得|记一下)[：:，,]?(?=我)|[-*•·]\s*|\d{1,2}[.、)）]\s*"
)
_WEEKS = r"[上这下]个?(?:周|星期|礼拜)[一二三四五六日天末]?"
_PAST = rf"(?:昨[天晚日]|前天|{_WEEKS}|上个?月|去年|前年)"
_EVERY = r"(?:每[天周年月晚](?:早上|晚上)?|每个(?:周末|月|星期))"
_TIME = (
    rf"(?:(?:{_PAST}|{_EVERY}|今[天早晚]|明[天早晚]|后天|最近|现在|目前|如今|今年|明年|下个?月|周末|平时|小时候|以前"
    r"|之前|从小|\d{4}年(?:\d{1,2}月)?|[一二两三四五六七八九十\d]+个?(?:天|周|星期|月|年)前|早上|晚上|下班后)[，,]?){0,3}"
)
_ADVERB = (
    r"(?:也|还|都|就|现在|目前|最近|一直|经常|平时|通常|总是|常常|偶尔|真的|更|非常|特别|很|最|超级?|比较|从小|从来|刚刚?"
    r"|早就|早已|已经|曾经|正在?|终于|其实|本来|以前|之前|只|[和跟]\w{1,6})"
)
_I = rf"{_TIME}我(?!们){_TIME}{_ADVERB}{{0,3}}{_TIME}{_ADVERB}?"
KIN = (
    r"(?:姐姐?|妹妹?|哥哥?|弟弟?|妈妈?|爸爸?|母亲|父亲|父母|爸妈|老婆|妻子|太太|老公|丈夫|女朋友|男朋友|女友|男友|儿子"
    r"|女儿|孩子|宝宝|奶奶|爷爷|外婆|外公|姥姥|姥爷|叔叔|阿姨|姑姑|舅舅|[表堂][哥姐弟妹]|侄[子女]|室友|闺蜜|同事|老板"
    r"|朋友|家人|家的?狗|家的?猫|狗狗?|猫[咪猫]?|宠物|兔子|仓鼠)"
)
_CIRCUMSTANCE = r"(?:公司|生日|家乡|老家|专业|职业|工作|爱好|梦想|目标|房子|车)"
_KIN_NAME = r"(?:[^\W\d_说的也都真想问让就很不觉以总在是住有叫今]{2,3})?"  # 我姐姐安娜...
_START = regex(r"[，,；;：:]\s*(?:但是?|而且|所以|因为|不过|然后)?(?=我(?!们))")
# Questions, suppositions, guesses, requests, and anything said to the listener.
_NOT_DECLARATIVE = regex(
    r"[?？]|[吗么嘛呢](?:[。！!~～]|$)|如果|假如|要是|假设|万一|的话|好像|可能|也许|大概会|是不是|能不能|可不可以|帮我(?!们)"
)
_ADDRESSED = regex("[你您]")
# 我住在长沙，你呢？ 我刚换了工作，该注意什么？
_ASKED_BACK = regex(
    r"[，,](?:那么?|所以)?(?:[你您](?:们?呢|觉得|说|看|有|知道|会|能|可以)|有(?:什么|没有|推荐|啥)|该|应该|怎么|哪|能不能|可不可以"
    r"|可以|要不要|为什么|什么)[^，,。]*[?？]$"
)
# What is asked, thanked for or sighed behind a statement: 我吃素，别放肉.
_ACT = regex(
    r"[，,；;](?:所以|那|就|也|还)?(?:请|麻烦|拜托|劳驾|求|别(?!的|人|墅|提有|名)|不要(?!求)|千万|谢谢|多谢|感谢|顺便|对了|不说了|先不说|记[住得]"
    r"|帮我|[你您](?:们)?(?:别|不要|千万|记得|帮|看着)|(?:说)?真的(?=\W|$)|没骗|不骗|信不信|懂吧|对吧|是吧|好吗|行吗|(?:没|能有)什么?办法|没辙"
    r"|有什么办法|气死|笑死|救命|唉|哎|哈哈|呵呵|嘿嘿|嘻嘻).*$"
    r"|(?:(?<!哈)哈{2,}+|(?<!嘿)嘿{2,}+|(?<!呵)呵{2,}+|(?<!嘻)嘻{2,}+|(?<!h)h{3,}+|233++)[。！!~～]*+$"
)
# An object that only points at what was said before: 这件事, or a count of nothing: 买了一个.
_POINTER = regex(
    r"^[^，,。；;]*?(?:[这那](?:件|个(?!月|周|星期|学期|季度|暑假|寒假|周末|世界|城市|行业)|些(?!年|天)|种|样|首|本|部|款|条|只|台|双|张|里|儿|边)"
    r"|(?:[吃喝买用做写看养]|有|是)[了过]?[一两二三四五六七八九十几\d]+[个只条本件双张辆台部款](?=[，,。！!；;]|了?$))"
)
_NOT_ASSERTED = regex(r"[?？]|吗[。！]?$|如果|要是|假如")
_VAGUE = (
    r"(?!了?(?:它|这|那|什么|一下|一些?问题|个问题|点|想法|办法|兴趣|信心|时间|机会|感觉|意思|同感)"
    r"|[了过](?:解|去|头|来))"
)
_CONTENT = r"[\w《“][\w《“]"  # at least two characters follow the verb

_PREFERENCES = [
    regex(
        rf"{_I}(?:不|不太|不怎么|不是很)?(?:喜欢|热爱|讨厌|偏爱|酷爱|痴迷|爱好?|受不了|沉迷|迷上了)(?![心护上情]|的(?:人|女|男|东西))"
        rf"(?:上了|吃|喝|看|听|玩)?{_VAGUE}[\w《]"
    ),
    regex(rf"{_I}对(?![这那此它])\w{{1,20}}?(?:很|非常|特别|比较|不太)?(?:感兴趣|有兴趣|没兴趣|不感兴趣|情有独钟)"),
    regex(rf"{_TIME}我(?:的|平时的|最大的)*(?:爱好|兴趣)(?:是|就是|包括)\w"),
    regex(rf"{_TIME}我最(?:喜欢|爱|讨厌)的\w{{0,10}}?是(?![这那])[\w《]"),
]
_CONDITION = (
    r"(?:糖尿病|高血压|低血压|哮喘|鼻炎|胃病|胃炎|心脏病|抑郁症|焦虑症|偏头痛|关节炎|近视|色盲|贫血|湿疹|癫痫"
    r"|过敏性\w{1,3}|颈椎病)"
)
_DEEDS = (
    r"(?:去|买|学|看|吃|参加|搬[到去]?|换|考|拿到|获得|加入|开始|完成|生|做|跑|爬|认识|报名|收养|领养|丢|失去|画|写|读|养"
    r"|赢|输|捐|拜访|参观|当|教|开|演|管)"
)
_PLACE_VERBS = r"(?:工作|上班|上学|读书|读研|读博|念书|生活|长大|出生|实习|教书|任教|留学|创业|当\w{2}|学习)"
PROFESSION_END = (
    r"(?:师|生|员|医|工|家|手|师傅|教授|经理|老板|护士|会计|警察|律师|主管|总监|博主|妈妈|爸爸)(?=[，,。！!；;～~]|$)"
)
_NO_POSSESSION = r"(?!个?(?:问题|想法|疑问|建议|请求)|一个(?:问题|想法|疑问|建议|请求|好消息))"
# Verbs that take 了 between their two characters, too: 辞职了, 辞了职.
_SEPARABLE = "结婚 离婚 毕业 辞职 入职 退休 怀孕 失业 升职 分手 分居 订婚 搬家 失恋 跳槽 转行 改行 转岗".split()
_DONE = "|".join(f"{verb}了|{verb[0]}了{verb[1]}" for verb in _SEPARABLE)
_FACTS = [
    regex(
        rf"{_I}不?是(?:一[名个位]|[名个位]|独生|素食|单亲|左撇子|在\w{{2,12}}(?:长大|出生)"
        r"|(?!个人|本人|有人|大人|病人|好人)\w{2,6}人(?=[，,。！!]|$))"
    ),
    regex(rf"{_I}是(?![说想觉真很在因为不这那来个挺最从被])\w{{0,12}}{PROFESSION_END}"),
    regex(rf"{_I}(?:快|马上)?要?{HAN_NUMBER}岁"),
    regex(
        rf"{_I}(?:从\w{{2,8}}?)?搬(?:家?[到去来回离]|出)了?(?![这那哪家]|\w*(?:楼|办公室|房间|部门))\w{{2,12}}?了(?=[，,。！!]|$)"
    ),
    regex(rf"{_I}从\w{{2,12}}?(?:辞职|离职|退休)了"),
    regex(rf"{_I}(?:跳槽[到去]|入职)了?\w{{2,12}}"),
    regex(rf"{_I}被\w{{0,8}}?(?:解雇|裁员|裁|开除|辞退)了"),
    regex(rf"{_I}(?:找到|换)了?(?:一?[份个]|新)*工作了?[，,](?:现在|目前)?(?:是|当|做)\w{{2}}"),
    regex(rf"{_I}(?:改行|转行)(?:[当做]了?\w{{2}}|了[，,](?:现在|目前)?[当做是]\w{{2}})"),
    regex(rf"{_I}(?:已经)?不再?是\w{{2,8}}了"),
    regex(
        rf"{_I}(?:现在|目前|已经|终于)*(?:当上?|成为|改当)了?(?:一?[名个位])?\w{{0,4}}?{CHINESE_OCCUPATION}了(?=\W|$)"
    ),
    regex(rf"{_I}(?:来自|出生[于在]|毕业于|就职于|任职于|定居|住在?(?!院)|养了?|患有|得[过了]){_VAGUE}\w"),
    regex(rf"{_I}对\w{{1,10}}过敏"),
    regex(rf"{_I}有(?:点|轻度|重度|先天性?|严重的?)?{_CONDITION}"),
    regex(rf"{_TIME}我叫\w{{2,8}}[，,](?:今年|住|是|来自|在|现在|目前)\w"),
    regex(rf"{_I}在(?!想|考虑|犹豫|等|找|吗)\w{{1,20}}?{_PLACE_VERBS}"),
    regex(rf"{_TIME}我{_TIME}{_ADVERB}{{0,4}}(?:在|从小就?)(?:学习?|练习?)(?!校|生|的)\w{{2}}"),
    regex(rf"{_I}没?有{_NO_POSSESSION}(?:[一两三四五六七八九十\d]+|[个只条套辆位])\w"),
    regex(rf"{_I}(?:不能吃|不吃|不喝|不抽|不?会(?:弹|拉|做|开|打|跳|唱|画|写|骑|修)|会说(?=\w+[语话文])){_VAGUE}\w"),
    regex(rf"{_I}(?:不再|不)?(?:吃素|会游泳|会开车)"),
    regex(rf"{_TIME}我们?{_TIME}{_ADVERB}{{0,2}}(?:人)?在\w{{2,12}}?{CHINESE_MOVED_THERE}"),
    regex(rf"{_I}(?:换了?(?:个|份|新)*工作|戒了?(?:烟|酒|咖啡|糖|奶茶))"),
    regex(rf"{_I}没有?养{_VAGUE}\w"),
    regex(rf"{_I}不再?(?:当|做|干|住|住在|在)(?![乎意一])\w{{2,10}}了"),
    regex(
        rf"{_I}(?:的?(?:新的?|工作|私人|常用)?(?:邮箱|电子邮箱|邮件地址|手机号?码?|电话号?码?|号码)(?:地址)?(?:是|：|:)"
        r"|换了?(?:个|新)*(?:邮箱|手机号?码?|电话号?码?|号码)了?[，,])\s*\S*?[\w.+-]*(?:@|\d{5})"
    ),
    regex(r"以后(?:请|都|就)*用\s?[\w.+-]+@[\w.-]+[\w]\s?联系我(?=[\s。.！!～~]*$)", re.ASCII),
    regex(rf"{_I}{_DEEDS}[完上]?(?=[了过]){_VAGUE}[了过]{_CONTENT}"),
    regex(rf"{_TIME}我{_TIME}{_ADVERB}{{0,4}}(?:{_DONE}|{CHINESE_CHANGED_JOBS}了?[，,](?=现在|目前|如今))"),
    regex(rf"(?:{_PAST}[，,]?我(?!们)|我{_PAST})\w{{0,8}}?(?:去|参加|搬|买|看|学|见|到|陪|带|跟|和){_CONTENT}"),
    regex(rf"{_TIME}我{_TIME}{_ADVERB}{{0,2}}把(?!这|那|它|你|您)\w{{1,12}}?卖[掉了]"),
    regex(rf"{_TIME}我(?:打算|计划|准备|决定){_VAGUE}\w{{3}}"),
    regex(rf"我?(?:明[天早晚]|后天|下个?(?:周|星期|礼拜|月)\w?|明年)我?[要会将](?!怎|不会){_CONTENT}"),
    regex(rf"(?:我{_EVERY}|{_EVERY}\w{{0,6}}?我(?!们))\w{{3}}"),
    regex(
        rf"{_TIME}我(?:的|有个)?(?:{KIN}{_KIN_NAME}|{_CIRCUMSTANCE})(?:叫|是(?!不是|谁|我|这|那|最|很|真)|住|在"
        rf"|有(?!点|时|些|可能)|今年|刚|去了|生了|(?:[去今前]年|上个?[月周]|昨天)?(?:去世|过世|病逝|离世|死(?=了)|走丢)|养|\d|{HAN_NUMBER}岁(?=了)|也?喜欢|最?爱吃|对\w+过敏|工作|学|得了|毕业|教|做\w+[师员]"
        rf"|结婚|退休|怀孕|离婚|开了|换了(?:个|份|新)*(?=工作)|(?:跳槽|转行|改行|辞职|离职)(?=了))\w"
    ),
]
_SHARED_FACTS = [
    regex(rf"{_TIME}我(?:们|[和跟]\w{{1,6}}){_TIME}{_ADVERB}?(?:离婚|分手|分居)了(?=\W|$)"),
    regex(rf"{_TIME}我们{_TIME}{_ADVERB}?(?:把(?!这|那|它)\w{{1,12}}?卖[掉了]|卖掉?了\w{{2}})"),
    regex(
        rf"{_TIME}我(?:们|[和跟]\w{{1,6}}){_TIME}{_ADVERB}?"
        rf"(?:结婚|住在|搬[到去]|养了|有[一两三个]|去了|去过|参加了|买了){_VAGUE}\w"
    ),
]
_SHAPES = (
    (_PREFERENCES, SemanticType.PREFERENCE, PLAIN),
    (_SHARED_FACTS, SemanticType.FACT, SHARED),
    (_FACTS, SemanticType.FACT, PLAIN),
)
_AGENT = regex(
    r"我(?:会|可以|想|强烈|也|之前|刚才?|曾)*(?:推荐|建议)[你您]?[了过]?(?!吗|什么)[\w《“]"
    r"|我只?是(?:一[个名位款种]|[个名位]|[你您]的)?\w{0,6}(?:AI|人工智能|助手|助理|语言模型|机器人|伙伴)"
    r"|我(?:会|将|答应|保证)(?:提醒|记住|记得)\w"
    r"|我(?:已经?|刚刚?)?[帮为替给]?[你您]?(?:预订|预定|安排|发送|创建|设置|更新|保存|推荐)好?了\w"
)
_OTHER_PERSONS = regex("[我你您咱她]|(?<![吉其])他")


def is_chinese(sentence: str) -> bool:
    """Whether the sentence is read by the Chinese rules: it has a Chinese first person."""
    return "我" in sentence or "本人" in sentence


def without_question(sentence: str) -> str:
    """The statement before a question that is asked back: 我住在长沙 of 我住在长沙，你呢？."""
    return _ASKED_BACK.sub("", sentence) if sentence.endswith(("?", "？")) else sentence


def statement(sentence: str) -> Statement | None:
    """Find the part of the sentence that states something durable about its speaker."""
    sentence = _ACT.sub("", without_question(sentence))
    if len(sentence) > SENTENCE_LIMIT or _NOT_DECLARATIVE.search(_without_greeting(sentence)):
        return None
    for start in _starts(sentence):
        if _ADDRESSED.search(sentence, start) or _POINTER.match(sentence[start:]):
            continue
        if shape := shape_of(sentence, start):
            return Statement(sentence[start:], *shape)
    return None


def shape_of(sentence: str, start: int = 0) -> tuple[SemanticType, float] | None:
    """The kind of statement that begins there, and its confidence."""
    for shapes, kind, confidence in _SHAPES:
        if any(shape.match(sentence, start) for shape in shapes):
            return kind, confidence
    return None


def agent_statement(sentence: str) -> Statement | None:
    """Find the part in which an assistant says what it is, recommended, did or promised."""
    if len(sentence) > SENTENCE_LIMIT or _NOT_ASSERTED.search(sentence):
        return None
    for start in _starts(sentence):
        if _AGENT.match(sentence, start):
            return Statement(sentence[start:], SemanticType.FACT, PLAIN)
    return None


def third_person(quote: str, name: str) -> str | None:
    """Write `name` in place of 我; None where another pronoun would be left hanging."""
    owner = re.match(rf"(?P<time>{_TIME})(?:我的(?={KIN}|{_CIRCUMSTANCE})|我(?=(?!家){KIN}))", quote)
    subject = owner or re.match(rf"(?P<time>{_TIME})我(?!们)", quote)
    if subject is None:
        return None
    rest = quote[subject.end() :]
    if _OTHER_PERSONS.search(rest):
        return None
    return f"{subject['time']}{name}{'的' if owner else ''}{rest.rstrip('。！!.～~，, ')}。"


def _without_greeting(sentence: str) -> str:
    """Return the sentence from its first statement on, so that 你好 is not taken for an address."""
    return sentence[_first_start(sentence) :]


def _first_start(sentence: str) -> int:
    first = 0
    while match := _LEAD.match(sentence, first):
        first = match.end()
    return first


def _starts(sentence: str) -> list[int]:
    """Where a first-person clause may begin; none in a sentence that is half a quotation."""
    if not _is_quote_balanced(sentence):
        return []
    first = _first_start(sentence)
    inner = [match.end() for match in _START.finditer(sentence, first)]
    return [first, *(start for start in inner if _is_quote_balanced(sentence[:start]))]


def _is_quote_balanced(text: str) -> bool:
    return text.count("“") == text.count("”") and text.count("「") == text.count("」") and text.count('"') % 2 == 0
