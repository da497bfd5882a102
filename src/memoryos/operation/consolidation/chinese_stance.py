"""What denies, supposes, asks or hands on a Chinese clause, before its words come."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from memoryos.language.segmenter import tagged
from memoryos.language.words import HAN
from memoryos.operation.consolidation.assertion import Assertion, Stance
from memoryos.operation.consolidation.attribution import told_by_others_in_chinese
from memoryos.operation.consolidation.chinese import KIN
from memoryos.operation.consolidation.foregone import is_foregone_in_chinese
from memoryos.operation.consolidation.other_world import is_of_another_world
from memoryos.operation.consolidation.outcome import Claimed, did_not_come_about_in_chinese, tells_outcome_in_chinese
from memoryos.operation.consolidation.own_words import QuotedPiece
from memoryos.regex import regex

_CUT = regex(r"[，,；;：:。！!？?\n]+\s*|(?<=[^，,；;：:])(?=但是|可是|然而|所以|因为)")
_EMPTY = frozenset("的了是我你您他她它们用户助手一个只也都就还又很得地着过呢吗啊吧呀在有这那其与和跟")

_IDIOMS = regex(  # they have a 不 or 没 and deny nothing
    r"不(?:如|仅|但|只|光|单|止|过(?![敏分时瘾期关问去来度])|久|断|错|管|论|得不|得了|好意思|同|少|知不觉|由得?|禁|可或缺|可缺少|时|料|愧|妨|然|后悔|停|用说"
    r"|瞒|怕|介意|远|满|锈|动产|等|一定)|差不多|没(?:错|关系|问题|想到|事|忘)|别(?:的|人|墅|忘)|[特区告离分个级性]别|非(?:常|洲|凡|遗)"
    r"|未(?:来|婚[妻夫])|无(?:论|所谓|锡|比|数|线|人机|障碍)|[对了]不起|来不及|忍不住|[免少]不了|要不|离不开|忘不了|从不(?:错过|缺席|缺)"
    r"|没(?:什么|几个|多少|有几个|有多少)人(?=知道)|没有?人(?=(?:知道|晓得|想到|料到|看得?出来?)我)|不要忘|不会忘|几乎(?:每|都|所有|天天|全)|(.)不\1|莫(?:斯科|扎特|奈|言)|^\s*不[，,]"
)
_NOT = regex(r"[不没未无莫勿别]|并非|非")
# 连一辆车都没有, 一点兴趣都没有
_NOT_EVEN = regex(r"连|一[点丝毫]|半[点分毫]|一\w(?=\w{1,4}$)")
_ALSO_NOT = regex(r"^\w{0,3}?[都也](?:没|不|未|无)")
_TAKEN_FOR = (
    r"误认为?|误以为|错[认当看]|[认当看]错|(?:把|将)我(?:当[成作做]|认[成作]|看[成作])"
    r"|被(?:\w{0,4})?(?:当[成作]|认[成作]|看[成作])"
)
_UNDONE = regex(
    rf"差一?点|几乎|险些|拒绝|戒|放弃|避免|停止|否认|与其说?|除了|除开|除去|(?:唯独|就)我(?:是个?)?例外|{_TAKEN_FOR}"
)
_BUT_FOR = regex(
    r"除[了开去]?[^，,。]{1,12}?外(?!语|国|面|套|卖)|[^，,。]{1,12}?[以之]外(?=[的，,我])|除[了开去][^，,。]{1,12}?(?=[，,我])"
    r"|[^，,。]{1,12}?除外"
)
_EXCEPTED = regex(r"除[了开去外]|除[^，,。]{1,12}?外(?!语|国|面|套|卖)|以外|之外|例外")
_ALL = regex(r"都|全|所有|任何|每|一切|天天|年年|总|一直|常")
_TIME = regex(
    r"(?:周|星期|礼拜)[一二三四五六日天末]|双休日|工作日|[春夏秋冬][天季]|[早晚]上|中午|夜里|假期|节日|\w{1,2}月份?"
)
_BUT_NOT_THEN = regex(rf"^\W*(?:但是?|不过|只是|可是?|唯独|就)在?(?:{_TIME.pattern})\w{{0,3}}?[不没]")
_FAR = regex(r"离[^，,。]{1,10}?(?:(?<!不)(?<!不算)(?<!不太)远|不近|老远)")
_BESIDE = regex(r"[近旁边]|附近|隔壁|挨着|靠着")
_ALSO = regex(r"还|也|又")
_UNTRUE = regex(
    r"(?:不是|并非)(?:真的|事实|这样)|是(?:假的|谣[言传]|谎[话言]|胡说|瞎说|误传)|才怪"
    r"|(?:其实|实际上)(?:并|根本|都)?不是\W*$|没有?这(?:么?回|件)?事"
    r"|^\W{0,2}除外|^[以之]外的"
    r"|^[^，,。；;！!？?]{0,10}?(?:八竿子|沾不上边|搭不上边|挨不着边|不沾边|毫无关系|毫不相干|[没无][^，,。]{0,4}?(?:关系|瓜葛|缘分?)"
    r"|扯不上|[差隔]着?十万八千里|差[得着]?远|差一大截|风马牛不相及|无缘|是两码事)"
)
_DISLIKES = regex(r"讨厌|厌恶|反感|[痛憎]恨|受不了")
_LIKES = regex(r"喜欢|热爱|喜爱|爱(?!人|好)")
_LESS = regex(
    r"讨厌|厌恶|反感|恨|受不了|害?怕|拒绝|戒|避免|过敏|素|只|仅|独生|单身|失|丢|卖|辞|离|放弃|忌|停|难|差|几乎|险些|前|曾|如果|要是"
)

_WANTING = regex(r"缺(?!席|勤|货)|(?<!不)需要?(?!求)|想要|在找|寻找|急着找|等着")
_HAS = regex(r"^\W*(?:用户)?(?:有|拥有|买了)")
_RHETORICAL = regex(
    r"(?<![在去从到往住])哪[里儿]?(?=会|能|有|敢|算|是|喜欢|爱|懂|想|舍得|讨厌|住|吃|抽|喝|需要|买)|怎么(?:可能|会(?!这)|敢)"
    r"|谁(?:说|告诉你)(?!得)|难道|什么时候(?=说过|喜欢|会|有过|爱)|干[嘛吗么]要?|凭什么|何[尝曾]|岂"
)
_WISHED = regex(r"该多好|多好啊|就好了")

_POLITE = regex(
    r"(?:如果|要是|假如|若)(?:你|您|方便|可以|没记错|我没记错|需要|有)[^，,。]*|(?:应该|想|得)(?:先)?(?:说|提|告诉|补充|说明)一?下?"
)
_PLANS = regex(r"打算|计划|准备|将要|即将")
_SUPPOSES = regex(
    r"如果|要是|假如|假设|倘若|若是|万一|除非|也许|可能|或许|大概|说不定|(?<![理思感梦幻联回猜])想(?![到起必法念过])|梦想|希望|但愿|盼"
    r"|梦[见到]|考虑|想象|比如说|比方说|仿佛|好像|似乎|装作|假装|不确定|不知道|恨不得|宁愿|是否|怀疑|应该|就好了"
    r"|难说|说不准|恐怕|八成|多半|估计|没准|据传|传言|谣[传言]|造谣|撒谎|谎称|诬[陷告]|诽谤|流言|传闻|号称|若(?=[我你他她能有])|倘使|即使|即便|哪怕|就算|纵然|只要"
    r"|渴望|巴不得|憧憬|向往|期待|期盼|恨不能|要能"
)
_HEDGED = regex(
    r"想|希望|盼|可能|也许|或许|大概|打算|计划|考虑|准备|愿|梦|如果|要是|时候?|是否|会不会|要不要|能不能|询?问|感兴趣|有意|假设|目标|似乎|好像"
    r"|应该|怀疑|担心|宁|恐怕|估计|传|渴望|巴不得|憧憬|向往|期待"
)
_PLANNED = regex(r"会|要|将")
_IF_CLAUSE = regex(r"^\W*(?:那么?)?(?:如果|要是|假如|假设|倘若|倘使|若(?!干)|万一|除非|比如说|比方说|要能)")
_AND_YET = regex(r"但|可是|不过|然而")

_WHETHER = regex(r"(?:吗|么(?<!什么)(?<!怎么)(?<!那么)(?<!这么))\W*$|是不是|有没有|是否|(.)[不没]\1")
_ASKS = regex(r"[?？]\s*[”’」』）)\"]*\s*$")
_WH = regex(r"什么|哪|怎|谁|多少|几|为何|啥|如何|多[大久长高远]")
_TAKEN_AS_KNOWN = regex(r"(?:你|您)(?:们|还)?(?:知道|记得|记不记得|知不知道)\W*(?=我)")

_TELLS = r"(?:发\w{1,3}说|说|告诉我?|提到|写道?|问|讲|表示|回答|喊|念叨|唱|承认|透露|抱怨|嚷)"
_HOLDS = r"(?:觉得|认为|以为|声称|猜|怀疑|相信|断言|坚持说)"
_WHO = (
    rf"(?:我们?的?)?{KIN}\w{{0,4}}?|[他她]们?|大家都?|人们|别人|有人|(?:老师|医生|同学)\w{{0,3}}?"
    r"|(?![我你您这那就还真总也都又再听虽但而且所以是不没很])\w{2,4}?"
)
_REPORT = regex(
    rf"(?:^|[，,。！!？?；;\n])\s*(?P<who>{_WHO})(?:都|总|就|又|还|也|老|常常?|经常|曾|当时|昨天|今天){{0,2}}"
    rf"(?:(?P<holds>{_HOLDS})|{_TELLS})了?[：:，,]?"
)
_WORK = r"(?:小说|电影|电视剧|歌词?|剧本|游戏|故事|诗|戏|漫画|动画片?|片子|书|剧)"
_INVENTED = regex(rf"(?<!在){_WORK}(?:里|中)|(?:主角|主人公|旁白|反派)[^，,。]{{0,4}}?{_TELLS}")
_OWN_PART = regex(r"我(?:\w{0,2})?(?:看|读|玩|学|写|听|认识|遇|哭|最?喜欢)|但|；")
_ACCORDING = regex(r"(?:据|按照?|照)(?P<who>(?![你您])[^，,。我]{1,10})(?:所|的)?(?:说法?|看来)")
_HANDED_ON = regex(rf"(?:{_TELLS}|{_HOLDS}|叫做?|名为)(?:道|过)?\s*[：:，,]?\s*$")
_TOLD_BEHIND = regex(rf"^[，,\s]*(?!我(?!的?{KIN}))[^，,。]{{1,10}}?{_TELLS}")
_SAID_MYSELF = regex(
    rf"(?:^|[，,。；;\n])\s*我(?!的?{KIN})(?:[跟对和向给]\w{{1,6}}?)?(?:就|也|才|曾|常)?{_TELLS}(?:过|道)?\w{{0,2}}[：:，,]?\s*$"
)

_OPENING = regex(r"([^：:\n]{0,8}[：:]?).*", re.DOTALL)  # of words that nothing marks: what leads to them

_LEAD = r"^\W*(?:(?:但是?|可是|不过|而且|所以|因为|然后|现在|最近|昨天|今天|去年|今年|上个?月|上周|其实|听说)[，,]?)*"
_SOMEBODY = regex(rf"{_LEAD}(?P<who>(?:我们?的?)?{KIN}(?![和跟]我)|[他她]们?|老师|医生|同学|大家|人们|别人|有人)")
_PERSON = regex(
    rf"(?:^(?:那|这|有|某)(?:一?个|位|名|些)\w+|^[小老阿][^\W\d_]|^(?P<twice>[^\W\d_])(?P=twice)"
    rf"|(?:{KIN}|老师|医生|先生|女士|大[爷妈叔婶]|经理|总|师傅|同学|邻居|男人|女人|男生|女生|人|主角|老[伯汉太]))$"
)
_MIDDLE = regex(r"(?:也|都|很|就|还|正|又|常|最|特别|非常|一直|总是?|已经|最近|曾经?|真|刚|现在|以前)+$")
_NAME_CHARS = 8  # of a subject, which is looked at as a name
_SELF = regex(rf"{_LEAD}(?:我(?!们?的?{KIN})|我们|咱|我[和跟])")
_OWN_KIN = regex(rf"我们?的?(?={KIN})")
_POSSESSED = regex(r"^\W*(?:用户|助手|他|她|我)们?的|^\W*用户(?:有(?!意|时|点)(?:一?个|位|名))")
_SUBJECT = regex(r"^\W*(?:用户|我|助手)")
_PREDICATE = regex(  # a claim that begins with it leaves its subject out
    r"^\W*(?:也|都|很|最|不|没|从来|曾|已经|正在|想|要|会|能|喜欢|讨厌|害?怕|恨|爱|住|有|是|在|养|对|吃|喝|买|卖|开|学|教|读|做|当|去|来|得|离"
    r"|结婚|生|搬|出生|毕业|工作|单身|怀|戒|拿|考|杀|打|玩|信|觉得|认为|希望|打算)"
)


def cuts(sentence: str) -> Iterator[int]:
    """Where a clause of the sentence begins behind another."""
    return (match.end() for match in _CUT.finditer(sentence) if match.end() < len(sentence))


def parts(claim: str) -> list[str]:
    """The clauses of a claim."""
    places = [0, *cuts(claim), len(claim)]
    return [claim[start:end] for start, end in pairwise(places) if claim[start:end].strip()]


def stems(text: str) -> Iterator[tuple[str, int]]:
    """The characters that tell what a clause is about, and where each ends."""
    for match in HAN.finditer(text):
        if match.group() not in _EMPTY and not _NOT.match(match.group()):
            yield match.group(), match.end()


def is_of_speaker(claim: str, speaker: str) -> bool:
    """Whether the claim is about the one who speaks, and not about somebody or something of theirs."""
    if speaker and claim.startswith(speaker):
        return not claim[len(speaker) :].startswith("的")
    is_about = _SUBJECT.match(claim) or _PREDICATE.match(claim)
    return is_about is not None and not _POSSESSED.match(claim)


def read(one: Assertion) -> Stance:
    """How the sentence stands to the claim."""
    if one.is_own and _RHETORICAL.search(_without(_IDIOMS, one.before)) and not _NOT.search(one.part):
        return Stance.DENIED
    if _is_asked(one) or _is_supposed(one):
        return Stance.SUPPOSED
    if _is_denied(one) or _is_wanting(one) or is_foregone_in_chinese(one):
        return Stance.DENIED
    return Stance.OTHERS if one.is_own and _is_somebody_elses(one) else Stance.STATED


def is_denial(part: str) -> bool:
    """Whether a part of a claim denies something."""
    plain = _without(_IDIOMS, part)
    return any(signs.search(plain) for signs in (_NOT, _LESS, _DISLIKES))


def is_of_source(one: Assertion, piece: QuotedPiece) -> bool:
    """Whether the claim says of quoted words whose they are; or they are the speaker's own, or no statement."""
    is_handed_on = _HANDED_ON.search(piece.before) or _TOLD_BEHIND.match(piece.behind)
    if piece.is_marked and not piece.says_i and not is_handed_on:
        return True
    lead = piece.before if piece.is_marked else piece.before + _OPENING.sub(r"\1", piece.text[piece.start : piece.end])
    return not one.is_own or _SAID_MYSELF.search(lead) is not None


def _is_denied(one: Assertion) -> bool:
    before = _without(_IDIOMS, one.before)
    part = _without(_IDIOMS, one.part)
    if _ALSO.search(one.whole) or not _ALL.search(one.whole):  # 除了 means "besides"
        before = before.replace("除了", "")
    if _FAR.search(one.words) and _BESIDE.search(part) and not _FAR.search(part):
        return True
    if did_not_come_about_in_chinese(Claimed(part, stems), before, one.behind):
        is_less = any(less.group() not in one.words for less in _LESS.finditer(part))
        return not (_NOT.search(part) or tells_outcome_in_chinese(part, before) or is_less)
    if _ALSO_NOT.match(one.behind) and _NOT_EVEN.search(before):
        return not _NOT.search(part)
    if _is_left_out(one) or _NOT.search(before) or _UNDONE.search(before) or _UNTRUE.search(one.behind):
        is_undone = _UNDONE.search(part) is not None and not _NOT.search(before)
        is_less = any(less.group() not in one.words for less in _LESS.finditer(part))
        return not (_NOT.search(part) or is_undone or is_less)
    if _NOT.search(part):
        return not (_LESS.search(one.whole) or _NOT.search(_without(_IDIOMS, one.words)))
    if _DISLIKES.search(one.words):
        return bool(_LIKES.search(part)) and not _LESS.search(part)
    return bool(_DISLIKES.search(part) and _LIKES.search(one.words))


def _is_left_out(one: Assertion) -> bool:
    """Whether the sentence excepts what the claim names, or something from what it says of all."""
    if _ALSO.search(one.whole) or not _ALL.search(one.whole) or _EXCEPTED.search(one.claim):
        return False
    if _ALL.search(one.part) and (_EXCEPTED.search(one.whole) or _BUT_NOT_THEN.search(one.behind)):
        return True
    named = [lead.group() for lead in _BUT_FOR.finditer(one.whole)]
    if times := _TIME.findall(one.part):
        return any(time in lead for lead in named for time in times)
    return any(stem in lead for lead in named for stem, _ in stems(one.part))


def _is_wanting(one: Assertion) -> bool:
    """Whether the claim is that somebody has what they want."""
    wants = _WANTING.search(one.before)
    return bool(wants and _HAS.match(one.part)) and not _WANTING.search(one.part)


def _is_supposed(one: Assertion) -> bool:
    is_elsewhere = is_of_another_world(one.earlier + one.before)
    if (is_elsewhere or _WISHED.search(one.behind)) and not _HEDGED.search(one.claim):
        return True
    before = _without(_POLITE, one.before)
    if _PLANS.search(before):
        return not (_HEDGED.search(one.claim) or _PLANNED.search(one.claim))
    if signs := {sign.group() for sign in _SUPPOSES.finditer(before)}:
        return not (_HEDGED.search(one.claim) or any(sign in one.claim for sign in signs))
    follows_if = _IF_CLAUSE.search(_without(_POLITE, one.earlier)) and not _AND_YET.match(one.words)
    return bool(follows_if) and not _HEDGED.search(one.claim)


def _is_asked(one: Assertion) -> bool:
    if _HEDGED.search(one.claim):
        return False
    if (asked := _WHETHER.search(one.words)) and asked.group() not in one.claim:
        return _TAKEN_AS_KNOWN.search(one.before) is None
    is_last = one.clause[1] >= one.sentence[1] or not one.behind.strip(' ”’」』）)"？?\n')
    return is_last and _ASKS.search(one.whole) is not None and not _WH.search(one.words)


def _is_somebody_elses(one: Assertion) -> bool:
    """Whether the clause says what somebody else holds, or is about somebody else, whom the claim does not name."""
    lead = one.earlier + one.before
    if (source := _ACCORDING.search(lead)) and not _names(one.claim, source["who"]):
        return True
    if (frame := _INVENTED.search(lead)) and not (_OWN_PART.search(lead) or re.search(_WORK, one.claim)):
        return "我" in lead[frame.end() :] or "我" not in lead
    if (behind := told_by_others_in_chinese(one.whole, one.upto - one.sentence[0])) and not (
        _names(one.claim, behind) or re.search(_TELLS, one.claim)
    ):
        return True
    told = _REPORT.search(lead)
    if told and not _names(one.claim, told["who"]):
        return bool(told["holds"]) or "我" not in _OWN_KIN.sub("", lead[told.end() :])
    for words in (one.words, *reversed([one.earlier[start:end] for start, end in _spans(one.earlier)])):
        if _SELF.match(words):
            return False
        if found := _SOMEBODY.match(words):
            if _SOMEBODY.match(one.part):
                return False
            return "我" not in _OWN_KIN.sub("", one.words) and not _names(one.claim, found["who"])
        if words is one.words and (who := _subject(one)):
            return not _names(one.claim, who)
    return False


def _subject(one: Assertion) -> str:
    """Who does, in the clause, what the claim says of its own subject; empty where nobody else is named."""
    said = _SUBJECT.sub("", one.part).strip()
    start = one.words.find(said[:2])
    lead = _MIDDLE.sub("", re.sub(_LEAD, "", one.words[: max(start, 0)]).strip())
    if not lead or "我" in lead or len(lead) > _NAME_CHARS * 2:
        return ""
    is_named = len(lead) <= _NAME_CHARS and any(tag == "nr" for _, tag in tagged(lead))
    return lead if is_named or _PERSON.search(lead) else ""


def _spans(text: str) -> Iterator[tuple[int, int]]:
    places = [0, *cuts(text), len(text)]
    return pairwise(places)


def _names(claim: str, who: str) -> bool:
    """Whether a claim names somebody by two characters of these, or by the one there is."""
    named = [character for character in HAN.findall(who) if character not in _EMPTY]
    return sum(character in claim for character in named) >= min(2, max(1, len(named)))


def _without(idioms: re.Pattern[str], text: str) -> str:
    return idioms.sub(lambda match: "　" * len(match.group()), text)
