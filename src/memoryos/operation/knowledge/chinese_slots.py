"""The slots that Chinese statements fill: 小明住在上海, 最喜欢的颜色是蓝色, 不再喝咖啡了."""

from __future__ import annotations

import re
from dataclasses import replace

from memoryos.language.calendar import HAN_NUMBER, han_number
from memoryos.language.life_changes import CHINESE_CHANGED_JOBS, CHINESE_DENIAL, CHINESE_MOVED_THERE
from memoryos.language.occupations import CHINESE_OCCUPATION
from memoryos.operation.knowledge.filling import NO, NONE_LEFT, WORK, YES, Filling, Slot
from memoryos.operation.knowledge.person import is_person
from memoryos.regex import regex

_HAN = r"[\u4e00-\u9fff]"
_HOLDER = r"(?P<holder>[^，,。；;！!：:“”]{0,12}?)"
_ADVERB = r"(?:现在|目前|如今|已经|终于|刚刚?|最近|前不久|也|还|一直|又|都|真的|其实|非常|很|特别|最近|后来)*"
_END = r"(?=[，,。；;！!（(\s了]|$)"
_PLACE = rf"(?P<value>{_HAN}{{2,12}}?)"
_LEAD = regex(r"^(?:[^，,]{1,12}(?:年|月|日|天|起|以来|开始|后)[，,]?(?=我|[^，,]))(?=.{4})")
# Of the past, or with its dates in brackets: behind it a change counts, but no state of the present.
_PAST_LEAD = regex(
    r"^(?:[^，,（住在是当做从自]{0,6}(?:年|月份?|日|天|周|星期|礼拜)[初底末中]?(?:[之以]?前)?（[^）]*）"
    r"|[\d一二两三四五六七八九十几半]+个?(?:年|月|天|周|星期|礼拜)[之以]?前"
    r"|上个?(?:周|星期|礼拜)[一二三四五六日天末]?|昨晚|[昨前]天|上个月|[今去前]年(?:[春夏秋冬]天|\d{1,2}月份?|[年初底]+)?)"
    r"(?:早上|上午|中午|下午|晚上)?(?:（[^）]*）)?[，,]?(?!起|以来|开始|至今|后)"
)
# Of two states, the one that ended: 我以前是老师，现在是程序员
_FORMERLY = regex(
    r"^我(?:以前|之前|原来|原本|曾经?|过去|本来)(?:是|当|做|住在?|在)[^，,。；;！!]{1,12}[，,](?:但|不过)?(?=现在|目前)"
)
_DENIAL = regex(CHINESE_DENIAL)
_PRESENT = regex("[今这本]")  # 今年, 这个月
_NOT_CLAIMED = regex(r"如果|要是|想|希望|打算|可能|也许|曾|以前|过去|小时候|计划|将|准备|本来|原来|会|要|应该|[了过]$")
_SPOUSE = "(?:老公|丈夫|先生|老婆|妻子|太太|爱人|老伴)"
_WHEN = r"(?:已经|刚刚?|前不久|最近|不幸|[去今前]年|上个?(?:月|周)|昨天|（[^）]*）)*"
_SOLD_AND = r"(?:把\w{1,12}?卖掉?了?|卖掉?了?\w{2,12}?)[，,](?:现在|目前|如今|就)+"
_NO_LONGER = r"(?P<no>不再|不|没有?再?|早就不)?"


_JOB = rf"(?:一?[名个位])?(?P<value>(?:(?![做当在的])[\u4e00-\u9fff]){{0,6}}?{CHINESE_OCCUPATION})(?=了?(?:\W|$))"
_SOMEWHERE = rf"(?:在{_HAN}{{1,10}}?)??"  # 在医院当医生
_COMPANY = r"(?P<value>[\w&·]{2,20}?)"
# What else one joins: groups, clubs and classes.
_NO_COMPANY = (
    rf"(?!{_HAN}*(?:队|会|群|班|组|党|俱乐部|联盟|小区|课程?|(?<!集)团|(?<![报版行])社){_END}|[我你您他她它咱了])"
)
_Rule = tuple[str, re.Pattern[str], bool, tuple[str, ...]]


def _rule(relation: str, pattern: str, *, change: bool = False, ends: tuple[str, ...] = ()) -> _Rule:
    return relation, regex(rf"^{_HOLDER}{_ADVERB}{pattern}"), change, ends


_RULES = (
    _rule("residence", rf"{_NO_LONGER}(?:住在|定居在?|定居于|居住在){_PLACE}(?=生活|工作|{_END})"),
    _rule(
        "residence",
        rf"(?:从{_HAN}{{2,12}}?)?(?:搬到|搬去|搬回|搬来|移居到?|移民到?)了?(?!{_HAN}*(?:楼|办公室|房间|部门|家了?$|家了?[。，！!])){_PLACE}{_END}",
        change=True,
    ),
    _rule("residence", rf"在{_PLACE}(?:生活|定居|居住){_END}"),
    _rule("residence", rf"人?在(?!{_HAN}*(?:楼|办公室|房间|部门|公司)){_PLACE}{CHINESE_MOVED_THERE}", change=True),
    _rule("residence", rf"(?P<no>搬离|搬出)了?{_PLACE}{_END}", change=True),
    _rule("residence", rf"{_SOLD_AND}租?住在{_PLACE}(?=生活|{_END})", change=True),
    _rule("residence", rf"{_SOLD_AND}在{_PLACE}(?=租|生活|定居|居住)", change=True),
    _rule("employer", rf"{_NO_LONGER}在(?P<value>[\w&·]{{2,20}}?)(?:工作|上班|任职|就职)(?!.*过)"),
    _rule("employer", rf"(?:跳槽到|入职|跳槽去)了?{_COMPANY}(?:公司|工作)?{_END}", change=True),
    _rule("employer", rf"(?P<joined>加入)了?{_NO_COMPANY}{_COMPANY}(?:公司|工作)?{_END}", change=True),
    _rule(
        "employer",
        r"(?=[^，,。]*了)(?:去|换到|转到|调到)了?(?P<value>[\w&·]{2,20}?)(?:上班|工作|任职|就职)",
        change=True,
    ),
    _rule("occupation", rf"(?:的?(?:职业|工作)是|转行做了?|改行做了?|现在当)(?P<value>{_HAN}{{2,10}}?){_END}"),
    _rule(
        WORK,
        r"(?:从\w{2,12}?)?(?P<value>辞职|离职|失业|退休|下岗|被\w{0,8}?(?:解雇|裁员|裁|开除|辞退))了",
        change=True,
        ends=("occupation", "employer"),
    ),
    _rule(
        "occupation",
        rf"(?:(?:找到|换)了?(?:一?[份个]|新)*工作了?|(?:改行|转行)了)[，,](?:现在|目前)?(?:是|当|做)了?{_JOB}",
        change=True,
        ends=("employer",),
    ),
    _rule("occupation", rf"{_SOMEWHERE}(?<![不再])(?:改行|转行|开始|改)?(?:[当做]上?|成为)了?{_JOB}", change=True),
    _rule("occupation", rf"{_SOMEWHERE}(?P<no>(?:已经|早就)?不再?)?(?:是|[当做干]){_JOB}"),
    _rule("name", rf"(?:的?(?:全名|名字|本名)[是叫]|改名叫?|名叫)(?P<value>{_HAN}{{2,6}}|[A-Z]\w+){_END}"),
    _rule("name", rf"叫(?P<value>{_HAN}{{2,4}}|[A-Z]\w+){_END}"),
    _rule("age", r"(?:今年|已经|刚满|满了?|快)*(?P<value>" + HAN_NUMBER + ")岁"),
    _rule("marital status", rf"(?:是|还是|恢复)?(?P<value>单身|已婚|离异|丧偶|未婚){_END}"),
    _rule("marital status", rf"(?P<value>结婚|离婚|订婚)了{_END}", change=True),
    _rule("marital status", rf"(?P<no>分手|分居)了(?P<value>){_END}", change=True),
    _rule("marital status", rf"的?{_SPOUSE}{_WHEN}(?P<value>去世|过世|病逝|离世)了{_END}", change=True),
    _rule(
        "phone",
        r"的?(?:新的?)?(?:电话|手机|手机号码?|电话号码|号码)(?:[换改变]成了?|是|为)(?P<value>\+?\d[\d -]{4,}\d)",
    ),
    _rule(
        "phone",
        r"换了?(?:个|新)*(?:手机号?码?|电话号?码?|号码)了?[，,]"
        r"新?的?(?:手机|电话)?号?码?是(?P<value>\+?\d[\d -]{4,}\d)",
        change=True,
    ),
    _rule(
        "e-mail",
        r"的?(?:新的?)?(?:邮箱|电子邮箱|邮件地址|邮箱地址)(?:换成了?|改成了?|是|为|变成了?)(?P<value>[\w.+-]+@[\w.-]+\w)",
    ),
    _rule(
        "favourite",
        rf"最(?:喜欢|爱)的(?P<of>{_HAN}{{1,6}}?)(?:现在)?(?:换成了?|变成了?|改成了?|是|为)(?P<value>[^，,。；;！!]{{1,20}})",
    ),
)
# What changed stands before the new state: 我跳槽了，现在在腾讯工作; 我搬家了，现在住在上海.
_CHANGED_JOB = regex(
    rf"^{_HOLDER}{_ADVERB}(?:{_WHEN})(?<![没不])(?:{CHINESE_CHANGED_JOBS}"
    r"|(?P<within>转岗|升了?职))了?[，,](?=现在|目前|如今|新)"
)
_MOVED = regex(rf"^{_HOLDER}{_ADVERB}(?<![没不])(?:搬了?家|换了?个?城市)了?[，,](?=现在|目前|如今)")
# 我没搬家，还住在上海: what has not changed stands before what holds still.
_UNCHANGED = regex(rf"^{_HOLDER}(?:没有?|未)(?:搬家|换城市|换工作|跳槽|转行|改行|辞职)[，,](?=(?:现在|目前)?(?:还|仍))")
_NOW_IN = regex(rf"^{_HOLDER}(?:现在|目前|如今)在{_PLACE}{_END}")
_STATUS = {"结婚": "已婚", "离婚": "离异", "未婚": "单身", "": "已婚"}
_STATUS |= dict.fromkeys(("去世", "过世", "病逝", "离世"), "丧偶")

_FREQUENCY = regex(r"每(?:天|周|个?月|年|晚|个周末)(?:早上|晚上)?|经常|常常|有时候?|总是|平时|通常|几乎|（.*?）")
_HAS = regex(rf"^{_HOLDER}{_ADVERB}(?:有|养了?)(?P<number>{HAN_NUMBER})[只条匹辆套台](?P<of>\w{{1,4}}?)了?[。！!]*$")
_SOLD = regex(rf"^{_HOLDER}{_ADVERB}(?:把(?P<early>\w{{1,8}}?)卖掉?了|卖掉?了(?P<late>\w{{1,8}}?))[。！!]*$")
_DIED = regex(
    rf"^{_HOLDER}家?的?(?P<of>狗狗?|猫咪?|兔子|仓鼠|鹦鹉|乌龟|金鱼|马){_WHEN}(?:去世|过世|死|走丢|跑丢|病死)了{_END}"
)
_MEASURE = regex(r"^(?:我们?的?)?[一那这]?[辆台部只条套]")
_LIKES = r"喜欢|爱|热爱"
_HABITS = r"喝|吃|抽|玩|养|学|练|弹|打|骑|听|看|跑|做|穿|开|教|读|写"
_WHETHER = regex(
    rf"^{_HOLDER}{_ADVERB}(?P<no>不再|再也不|不太|不怎么|不是很|不|没有?再|停止了?|放弃了?)?{_ADVERB}"
    rf"(?P<verb>{_LIKES}|{_HABITS})(?!过)(?P<object>[^，,；;。！!]{{1,16}}?)了?[。！!～~]*$"
)
_DISLIKES = regex(rf"^{_HOLDER}{_ADVERB}(?:讨厌|受不了|厌恶)(?P<object>[^，,；;。！!]{{1,16}}?)了?[。！!]*$")
_GAVE_UP = regex(
    rf"^{_HOLDER}{_ADVERB}(?:把(?P<early>烟|酒|咖啡)戒了?|戒掉?了?(?P<late>烟|酒|咖啡)(?:了|[\d一二两三四五六七八九十半几]+个?[天周月年])*)[。！!]*$"
)
_TAKEN = {"烟": "抽", "酒": "喝", "咖啡": "喝"}
_MEALS = regex("^[吃喝](?=.)")
_PAST = regex(r"^(?:了|过)")
_NEXT = regex("[，,；;]")
_STANDS_FOR = regex("^(?:该?用户|助手)")  # whom the persona describes
_TOGETHER = regex("^(我|用户)[和跟与同].+$")
_USER = regex("用户|助手|我们?|他|她")


def filling(text: str, speaker: str) -> Filling | None:
    """The slot that the statement fills; `speaker` is who says 我."""
    own = _STANDS_FOR.sub("我", text)
    if both := _FORMERLY.match(own):
        now = _with_next("我" + own[both.end() :], speaker)
        return replace(now, is_change=True) if now else None
    begins = _PAST_LEAD.sub("", text)
    if begins != text:
        found = _with_next(_STANDS_FOR.sub("我", begins), speaker)
        tells = found and (found.is_change or "了" in begins or _PRESENT.match(text))
        whole = None if found else _with_next(own, speaker)  # the time may stand behind whom it tells of
        return found if tells else whole if whole and whole.is_change else None
    later = _LEAD.sub("", text)
    found = _with_next(_STANDS_FOR.sub("我", later), speaker)
    return found if found or later == text else _with_next(own, speaker)


def _of_clause(clause: str, speaker: str) -> Filling | None:
    for relation, pattern, is_change, ends in _RULES:
        match = pattern.match(clause)
        told = _DENIAL.sub("", match["holder"]) if match else ""
        if match and (holder := _holder(told, speaker)) is not None:
            groups = match.groupdict()
            if groups.get("joined") and is_person(match["value"]):
                continue
            is_denied = bool(groups.get("no")) or told != match["holder"]
            if relation == WORK and is_denied:
                return None
            slot = Slot(holder, relation, groups.get("of") or "")
            over = (*ends, WORK) if relation in ("occupation", "employer") and not is_denied else ends
            return Filling(slot, _value(relation, groups["value"]), is_denied, is_change, over)
    return _lost(clause, speaker) or _quantity(clause, speaker) or _whether(_FREQUENCY.sub("", clause), speaker)


def _with_next(clause: str, speaker: str) -> Filling | None:
    """The slot that a clause fills; where it says what is over, and the next what is new, that of the next."""
    if changed := _after_change(clause, speaker):
        return changed
    if same := _UNCHANGED.match(clause):
        return _of_clause(f"{same['holder']}{clause[same.end() :]}", speaker)
    found = _of_clause(clause, speaker)
    if found is None or not found.is_denied:
        return found
    for part in _NEXT.split(clause)[1:]:
        after = _of_clause(part if part.startswith("我") else f"我{part}", speaker)
        if after and not after.is_denied and after.slot == found.slot:
            return replace(after, is_change=True)
    return found


def _after_change(clause: str, speaker: str) -> Filling | None:
    """The new job or home behind the words that it changed; an occupation elsewhere leaves no employer of before."""
    if job := _CHANGED_JOB.match(clause):
        found = _of_clause(f"{job['holder']}{clause[job.end() :]}", speaker)
        relations = ["occupation", "employer", "residence"]
    elif move := _MOVED.match(clause):
        rest = f"{move['holder']}{clause[move.end() :]}"
        found, relations = _of_clause(rest, speaker) or _home(_NOW_IN.match(rest), speaker), ["residence"]
    else:
        return None
    if found is None or found.is_denied or found.slot.relation not in relations:
        return None
    is_elsewhere = job and not job["within"] and found.slot.relation == "occupation"
    over = (*found.ends, "employer") if is_elsewhere else found.ends
    return replace(found, is_change=True, ends=tuple(dict.fromkeys(over)))


def _home(match: re.Match[str] | None, speaker: str) -> Filling | None:
    holder = _holder(match["holder"], speaker) if match else None
    return Filling(Slot(holder, "residence"), match["value"]) if match and holder is not None else None


def _value(relation: str, found: str) -> str:
    if relation == WORK:
        return NONE_LEFT
    if relation == "phone":
        return re.sub(r"\D", "", found)
    if relation == "age":
        return str(han_number(found))
    value = found.strip().removesuffix("了") if relation == "favourite" else found.strip()
    return _STATUS.get(value, value)


def _lost(clause: str, speaker: str) -> Filling | None:
    """Things and pets that somebody no longer has: 我把车卖了, 我的猫死了."""
    sold = _SOLD.match(clause)
    match = sold or _DIED.match(clause)
    holder = _holder(match["holder"], speaker) if match else None
    if match is None or holder is None:
        return None
    thing = _MEASURE.sub("", sold["early"] or sold["late"]) if sold else match["of"]
    return Filling(Slot(holder, "有", thing), NO, is_change=True, ends=("开",))


def _quantity(clause: str, speaker: str) -> Filling | None:
    """How many of a kind of pet or thing somebody has."""
    match = _HAS.match(clause)
    holder = _holder(match["holder"], speaker) if match else None
    if match is None or holder is None:
        return None
    return Filling(Slot(holder, "有", match["of"]), str(han_number(match["number"])))


def _holder(found: str, speaker: str) -> str | None:
    """Whose slot it is; None where the words before the verb claim nothing of the present."""
    if _NOT_CLAIMED.search(found) or _DENIAL.search(found):
        return None
    name = "" if _USER.fullmatch(speaker) else speaker.casefold()
    plain = _TOGETHER.sub(r"\1", found.strip().removesuffix("的").casefold())
    if not plain or _USER.fullmatch(plain):
        return name
    own = re.sub(r"^我们?的?", "", plain)
    return plain if own == plain else f"{name}的{own}" if name else own


def _whether(clause: str, speaker: str) -> Filling | None:
    """Whether somebody likes or does something: yes and no exclude each other when all else is the same."""
    if gave_up := _GAVE_UP.match(clause):
        thing = gave_up["early"] or gave_up["late"]
        return _answer(gave_up["holder"], speaker, _TAKEN[thing], thing, is_denied=True)
    if disliked := _DISLIKES.match(clause):
        return _answer(disliked["holder"], speaker, "喜欢", disliked["object"], is_denied=True)
    match = _WHETHER.match(clause)
    if match is None or _PAST.match(match["object"]):
        return None
    verb = "喜欢" if re.fullmatch(_LIKES, match["verb"]) else match["verb"]
    return _answer(match["holder"], speaker, verb, match["object"], is_denied=bool(match["no"]))


def _answer(holder: str, speaker: str, verb: str, thing: str, *, is_denied: bool) -> Filling | None:
    whose = _holder(holder, speaker)
    if whose is None:
        return None
    ends = ("喜欢",) if verb in "吃喝" and is_denied else ()
    kind = (_MEASURE if verb == "开" else _MEALS).sub("", thing.strip()) if verb in ("喜欢", "开") else thing.strip()
    return Filling(Slot(whose, verb, kind), NO if is_denied else YES, ends=ends)
