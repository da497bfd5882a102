"""How English and Chinese tell that a job or a home has changed, as parts of patterns for plain text."""

from __future__ import annotations

# "I changed jobs and now ...": what the new job is stands behind it.
CHANGED_JOBS = r"(?:changed|switched) (?:(?:my|our|their|his|her) )?(?:jobs?|careers?|professions?|employers?)\b"
# "I'm in Oslo now, moved there last month": behind the place.
MOVED_THERE = (
    r"(?: now| these days| at the moment)*(?:[,;–—-]+ | - | )(?:(?:and|since|because|as) )?"
    r"(?:(?:I|we|they)(?:'ve| have)? )?"
    r"(?:(?:have|has|having|just|only|recently|finally) )*(?:moved|relocated)(?: (?:over|back))?(?: here| there)?"
    r"(?=\s*(?:[.,;!)]|$)| (?:last|this|in|on|from|for|with|because|since|yesterday|today|recently|permanently|ago"
    r"|an?|two|three|four|five|six|\d+|some|after|when)\b)"
)
CHINESE_CHANGED_JOBS = r"(?:跳了?槽|换了?(?:一?[份个]|新)*工作|[转改]了?行|[辞离]了?职|离开了?[\u4e00-\u9fff]{2,8})"
_CHINESE_SOME = r"[\d一二两三四五六七八九十几半]+"
_CHINESE_WHEN = (
    rf"(?:{_CHINESE_SOME}个?(?:年|月|天|周|星期)多?之?前|[上这本]个?(?:月|周|星期|礼拜)|[去今前]年|[昨前今]天"
    rf"|{_CHINESE_SOME}月份?|年[初底]|[春夏秋冬]天|刚刚?|最近|前不久|不久前|才|已经|是|从[\u4e00-\u9fff]{{2,6}}?|我们?)"
)
# 我现在在成都，上个月搬来的: behind the place.
CHINESE_MOVED_THERE = rf"[，,]{_CHINESE_WHEN}*搬(?:到[这那](?:里|边|儿)?|过?[来去])[的了]*(?=\W|$)"
# 没换工作, 尚未结婚: before the verb, at the end of what is denied.
CHINESE_DENIAL = r"(?:并|还|从来?|也|都|根本)*(?:没有?|尚?未曾?|不曾)$"
