"""Chinese requests: the orders and questions about memory that are worded in Chinese."""

from __future__ import annotations

from memoryos.operation.requests.memory_call import CallReach, MemoryOperation
from memoryos.operation.requests.request_rule import RequestLanguage, request_rules
from memoryos.operation.requests.stated_value import chinese_value
from memoryos.regex import regex

_OPENING = regex(
    r"\s*(?:(?:你好|您好|嗨|喂|嗯|哦|对了|顺便|另外|还有|好的?|现在|那么?|不过|其实|等等)[，,！!。:：\s]*)*"
)
_ASKING = regex(
    r"(?:(?:请问?|麻烦|劳驾|拜托|帮我|帮忙|给我|直接|马上|立刻|再|都|也)[，,\s]*)*"
    r"(?P<asks>(?:你|您)?(?:可以|可不可以|能不能|能否|能|可否)(?:请)?(?:你|您)?)?"
    r"(?:我(?:想|要|希望|想要|需要)(?:让|叫|请)?(?:你|您)(?:能)?|(?:你|您)(?:要|得|应该|必须|需要|给我)?)?"
    r"(?:(?:请|麻烦|帮我|给我|务必|一定要?|要|再|都)[，,\s]*)*"
)
_ASIDE = r"(?:[，,][他她它](?:们)?是[^，,。！？!?]{1,20})?"
_BA = r"(?:(?<![酒网贴])|(?<=[红白啤黄米喝戒饮品]酒)|(?<=上网))吧"  # no end of 酒吧
_END = rf"{_ASIDE}(?:了|{_BA}|啊|呀|哦|喔|谢谢|好吗|可以吗|行吗|吗|掉)*[\s，,。.！!？?…~]*\Z"
_STRONG = r"(?:忘记掉?|忘掉|忘却)"
_WEAK = r"(?:删除掉?|删掉|删去|清除掉?|清空|抹去|抹掉|去掉|移除|擦除|销毁)"
_ANY = rf"(?:{_STRONG}|{_WEAK})"
_MEMORY = r"(?:记忆|记录|资料|信息|内容|数据)"
_IN_MEMORY = rf"(?:从|在)(?:你的?|我的?)?{_MEMORY}(?:里|中|库)?"
_TOLD = (
    r"(?:我|我们|你|咱们)(?:之前|以前|曾经|刚才|刚刚|都|已经){0,3}+"
    r"(?:对|跟|和|向)?(?:你|我)?(?:说|告诉|提到|提|讲|聊|谈|知道|记得|记住|记)(?:过|了)?(?:你|我)?"
)
_ALL_WORDS = r"(?:一切|所有(?:的)?(?:事情?|东西|内容|信息)?|全部(?:的)?(?:事情?|东西|内容|信息)?)"
_NOUN = r"(?:事情?|东西|话|记忆|(?P<sort>事实|笔记|消息)|内容|信息|资料|记录|部分|一切|全部)"
_QUANTITY = r"(?:所有|全部|一切|那些|任何)"
# Without 的 or a quantity before them, these belong to the topic: they end words such as 电话, 同事 and 好消息.
_WHOLE = r"(?P<whole>事|话|(?<=[好坏])消息)?"
_OF = rf"(?:的{_QUANTITY}*的?|{_QUANTITY}+的?|(?!话|事(?![情实])|(?<=[好坏])消息))"
_DOU = r"(?<![成首京帝])都"  # no end of 成都
_ALL_OF = rf"(?:{_DOU}|给|(?<!安)全)*"
_THINGS = rf"(?:(?(whole)|(?:{_OF}{_NOUN}|的?{_QUANTITY}*的?))(?:{_DOU})?)"
_TOPIC = r"(?P<topic>[^，,。！？!?]+?)"
_ABOUT_TOPIC = rf"(?P<topic>[^，,。！？!?]+?{_WHOLE})"
_THING = r"(?P<thing>[^，,。！？!?]+?)"
_ABOUT = r"(?:关于|有关|涉及)"
_NAMED = rf"(?(whole)|{_OF}{_NOUN})(?:{_DOU})?"
_TOLD_ABOUT = rf"{_TOLD}的{_TOPIC}的(?:事情?|话|内容|记忆)"
_WHOM = r"(?P<to>[^，,。！？!?的我]{1,40}?)"
_MINE = r"(?:我的?(?:所有|全部)?(?:的)?(?:记忆|资料|档案|数据))"
_CONTENT = r"(?P<content>\S.*)"
_COLON = r"[：:，,\s]+"


_SORT = r"(?P<sort>事实|笔记|消息|聊天记录|聊天|对话记录|对话|记忆|记录|资料|信息|内容)"
# What was told at some time: 我昨天跟你说的话. The words between can only say when.
_MORE = r"(?:之前|以前|曾经|都|已经|就){0,3}+"
_SAID = (
    rf"(?:我们|咱们|我){_MORE}(?P<when>[^，,。！？!?]{{0,24}}?)(?:都|已经|就){{0,2}}(?:(?:对|跟|和|向)(?:你|您))?"
    r"(?:说起|说|讲|告诉|提到|提|聊到|聊|谈到|谈)(?:过|了)?(?:你|您)?"
)
_SAID_THINGS = r"的?(?:所有|全部|一切|那些)*(?:的)?(?:事情?|东西|话|记忆|内容|信息|消息|记录|一切|全部)?(?:都|全部)?"
_SAID_ABOUT = rf"的?(?:所有|一切)?(?:{_ABOUT}){_ABOUT_TOPIC}{_NAMED}"
_SAID_TOPIC = r"的(?!话|事情?(?:\W|\Z)|内容|东西)(?P<topic>[^，,。！？!?]+?)的(?:事情?|话|内容|记忆)"
_TIMELY = r"(?=[^，,。！？!?]{0,20}[天日号晚早晨周期拜月年节刚])"
_THEN = (
    rf"{_TIMELY}(?:我们(?=[^，,。！？!?]*(?:对话|聊天|谈话)))?(?P<when>[^，,。！？!?]{{1,20}}?)的(?:所有|全部|一切)?(?:的)?"
    rf"(?:{_SORT}|谈话|事情?|话|东西|一切|全部)(?:都)?"
)
_TIMES_SAID = (rf"{_SAID}{_SAID_ABOUT}", rf"{_SAID}{_SAID_TOPIC}", rf"{_SAID}{_SAID_THINGS}", _THEN)
_SLOT = (
    r"(?:电话号码|电话|手机号码?|地址|住址|邮箱地址|邮箱|邮件地址|生日|出生日期|年龄|名字|姓名|职业|工资|薪水|体重"
    r"|身高|家乡)"
)


def _chosen(verbs: str, things: str = _NAMED) -> tuple[str, ...]:
    """The ways to name memories by a topic, before and behind these verbs."""
    about = rf"(?:{_TOLD}的?|我们?的?)?(?:所有|全部|一切)?{_ABOUT}{_ABOUT_TOPIC}{things}"
    ways = (about, _TOLD_ABOUT, *_TIMES_SAID)
    before = tuple(rf"(?:把|将){one}{_ALL_OF}(?:{_IN_MEMORY})?{verbs}" for one in ways)
    return (*(rf"{verbs}{one}" for one in ways), *before)


_ABOUT_ME = rf"(?:{_ABOUT}我的?)"
_ALL = rf"(?:{_TOLD}的?)?(?:{_ABOUT_ME})?(?:{_ALL_WORDS})"
_MY_MEMORIES = rf"(?:{_ABOUT_ME}|我的?)?(?:所有|全部)(?:的)?(?:{_ABOUT_ME}|我的?)?(?:记忆|资料|数据)"
_FORGET_ALL = (
    rf"{_STRONG}{_ALL}",
    rf"(?:把|将){_ALL_WORDS}(?:都|全|给)*(?:{_STRONG}|忘了)",
    rf"{_WEAK}(?:{_TOLD}的?{_ABOUT_ME}(?:{_ALL_WORDS})|{_ABOUT_ME}(?:{_ALL_WORDS}))",
    rf"{_ANY}(?:你的?)?{_MY_MEMORIES}",
    rf"{_WEAK}(?:我的?|你的?)(?:所有|全部)?(?:的)?(?:记忆|资料)",
    rf"(?:把|将)(?:{_TOLD}的?{_ABOUT_ME}?(?:{_ALL_WORDS})|{_MY_MEMORIES}|{_ABOUT_ME}(?:{_ALL_WORDS}))(?:都|全|给)*(?:{_ANY}|忘了)",
)
_LAST = (
    r"(?:(?:我刚|我?(?:刚才|刚刚|上一句))(?:对你|跟你)?(?:说|讲|提|告诉你)(?:过|了)?(?:的)?(?:话|事|内容|那句)?"
    r"|(?:我)?(?:的)?(?:上|最后)一(?:条|句|个)(?:消息|话|内容|信息)?(?:的(?:记忆|内容))?)"
)
_FORGET_LAST = (
    rf"(?:{_ANY}|忘了){_LAST}",
    rf"(?:把|将){_LAST}(?:都|给)*(?:{_ANY}|忘了)",
    rf"{_STRONG}(?:这个|那个|这件事|那件事|这句话|那句话)",
)
_TALK = r"(?:这次|本次|当前|这个|这段|我们的?)(?:的)?(?:对话|会话|聊天|谈话)(?:记录)?"
_FORGET_SESSION = (rf"(?:{_ANY}|忘了){_TALK}", rf"(?:把|将){_TALK}(?:{_IN_MEMORY})?(?:都|给)*(?:{_ANY}|忘了)")
_FORGET_TOPIC = (
    *_chosen(rf"(?:{_STRONG}|忘了)", _THINGS),
    *_chosen(_WEAK),
    *(rf"(?:把|将){one}(?:都|给|全)*(?:忘了|删了)" for one in _TIMES_SAID),
    rf"(?:忘了|{_ANY})(?:我|我们)(?P<when>[^，,。！？!?]*?)(?:说|讲|聊|提到?)(?:过|了)?的(?P<topic>[^，,。！？!?]+?(?P<whole>事|话)?)(?(whole)|(?:的(?:事情?|话|内容)|事情|内容))",
    rf"(?:把|将)(?:{_TOLD}的?)?(?:所有|全部|一切)?{_ABOUT}{_ABOUT_TOPIC}{_NAMED}{_ALL_OF}删了",
    rf"(?:把|将)(?:我|我们)(?P<when>[^，,。！？!?]*?)(?:说|讲|聊|提到?)(?:过|了)?的(?P<topic>[^，,。！？!?]+?){_ALL_OF}(?:{_ANY}|忘了)",
    rf"(?:把|将){_THING}{_IN_MEMORY}(?:都|给)*{_ANY}",
    rf"{_IN_MEMORY}{_ANY}{_THING}",
    rf"{_WEAK}(?P<thing>(?:我的?)(?:旧|新|以前的|现在的|家庭|手机|个人)?{_SLOT})",
    rf"(?:把|将)(?P<thing>(?:我的?)(?:旧|新|以前的|现在的|家庭|手机|个人)?{_SLOT})(?:给|都)*{_WEAK}",
    rf"{_WEAK}(?P<sort>我的(?:个人)?档案|我的画像)",
    rf"{_STRONG}(?P<thing>(?:我|我们|他|她)[^，,。！？!?]+?)",
    r"忘了(?P<thing>(?:我|我们)的[^，,。！？!?]+?)",
    rf"(?:把|将)(?P<thing>(?:我|我们)[^，,。！？!?]+?)(?:{_DOU}|给)*(?:{_STRONG}|忘了)",
    r"(?:别|不要|不用|我?不(?:想|希望|愿意|要)(?:让)?你)再?(?:记着|记得|记住|知道|保留)(?P<thing>(?:我|关于|有关)[^，,。！？!?]+?)",
)
_NOT_DONE = r"(?!.*[^忘删]了\W*\Z)"  # 删除昨天说的话了 tells what is done
_WHO = r"(?P<who>[^，,。！？!?的我你]{1,20})的(?:一切|全部|所有(?:事情?|信息|记忆|记录|资料|内容))"
_THEN_SAID = rf"{_TIMELY}(?P<when>[^，,。！？!?我]{{1,20}}?)(?:说|聊|讲)(?:过|了)?的(?:所有)?(?:话|事情?|内容|一切)"
_OWN_MEMORY = r"(?P<thing>我们?[^，,。！？!?]+?)的记忆"  # nobody else has memories
_FORGET_NAMED = (
    rf"{_NOT_DONE}{_ANY}{_WHO}",
    rf"{_NOT_DONE}{_WEAK}{_OWN_MEMORY}",
    *(rf"(?:把|将){one}(?:都|给|全)*(?:{_ANY}|忘了|删了)" for one in (_WHO, _OWN_MEMORY)),
)
_FORGET_SAID = (
    rf"{_NOT_DONE}{_ANY}{_THEN_SAID}",
    rf"(?:把|将){_THEN_SAID}(?:都|给|全)*(?:{_ANY}|忘了|删了)",
)
_MY_CHATS = r"我们?的?(?:所有|全部)的?(?:聊天|对话)(?:记录|历史)?"
_FORGET_CHATS = (rf"{_NOT_DONE}{_ANY}{_MY_CHATS}", rf"(?:把|将){_MY_CHATS}(?:都|全|给)*(?:{_ANY}|忘了|删了)")
_KEEP = r"(?:记住|记下来?|记录下?|记着|记|保存|存储?|留存|备注)"
_THIS = r"(?:这个|这些|这条|这句话?|这一?条(?:消息|内容)?|这段话?|这件事|这次对话|这条消息|刚才那句)(?:消息|内容|话)?"
_SKIP = (
    rf"(?:别|不要|不用|不必|无需|请勿|不许|别再){_KEEP}{_THIS}(?:{_COLON}.*)?",
    rf"{_THIS}(?:就|请|你)?(?:别|不要|不用|不必|无需|请勿){_KEEP}(?:{_COLON}.*)?",
    rf"(?:以下|下面|接下来)(?:的)?(?:内容|话|消息)?(?:请|都|就)?(?:别|不要|不用|不必|无需|请勿){_KEEP}(?:{_COLON}.*)?",
    rf"(?:别|不要|不用)(?:记|存|保存)(?:{_COLON}.*)?",
)
_REMEMBER = (
    rf"(?:记住|牢记|记好)(?!了?吗|的|不住|得)(?:这个|以下|下面)?(?:内容)?(?:{_COLON})?{_CONTENT}",
    rf"(?:记一下|记下来?|记录一?下?|备忘|备注一?下?|保存一?下?|存一下){_COLON}{_CONTENT}",
    rf"(?:记一下|记下来?){_CONTENT}",
    rf"(?:别忘了|不要忘记|不要忘了|别忘记|勿忘)(?:{_COLON})?(?!吃|带|买|去|来|给){_CONTENT}",
    rf"记得(?:{_COLON})?(?P<content>(?:我|我们|他|她|我的)\S.*)",
)
_UPDATE = (
    rf"(?:更新|更正|纠正|订正|修正|改正)(?:一下)?(?:你的?)?(?:记忆|记录|资料)?{_COLON}{_CONTENT}",
    r"(?:把|将)(?P<field>我(?:们)?的?[^，,。！？!?]{1,30}?)(?:改成|改为|换成|换为|更新为|更新成|设为|设成|设置为|修改为|更改为)(?P<value>[^，,。！？!?]+?)",
    r"(?:修改|更改|更新)(?P<field>我(?:们)?的?[^，,。！？!?]{1,30}?)(?:为|成)(?P<value>[^，,。！？!?]+?)",
)
_SHARE = (
    rf"(?:把|将)(?:{_MINE}|(?:你知道的|你记得的|我的)?(?:{_ABOUT}{_TOPIC}的(?:事情?|记忆|内容|信息|一切)))(?:都)?(?:分享|共享|开放)(?:给|与)(?P<to>[^，,。！？!?]+?)",
    rf"(?:和|跟|与|向)(?P<to>[^，,。！？!?]+?)(?:分享|共享){_MINE}",
    rf"(?:分享|共享){_MINE}给(?P<to>[^，,。！？!?]+?)",
    rf"(?:让|允许){_WHOM}(?:可以|能)?(?:查看|访问|读取|看到?|读|使用|搜索){_MINE}",
    rf"(?:给|授予){_WHOM}(?:访问|查看|读取){_MINE}的?(?:权限|权利)",
)
_UNSHARE = (
    rf"(?:停止|取消|终止|结束)(?:和|跟|与|向|对)?(?P<to>[^，,。！？!?]+?)(?:的)?(?:分享|共享)(?:{_MINE})?",
    rf"(?:停止|取消|不再|不要再|别再|不要|别)(?:把|将)?{_MINE}?(?:分享|共享)给(?P<to>[^，,。！？!?]+?)",
    rf"(?:停止|不再|不要再|别再|不要|别)(?:和|跟|与|向)(?P<to>[^，,。！？!?]+?)(?:分享|共享)(?:{_MINE})?",
    rf"(?:撤销|取消|收回|解除){_WHOM}(?:对{_MINE}|对我记忆)?的?(?:访问|查看|读取)?(?:权限|权利|授权)",
)
_PROFILE = (
    r"(?:你|您)?(?:都|现在|目前|还)*(?:知道|了解|记得|记住)(?:了)?(?:关于)?我(?:的)?(?:什么|哪些事?情?|哪些|多少|啥|些什么)",
    r"(?:你|您)?对我(?:都)?(?:了解|知道|记得)(?:多少|什么|哪些)",
    r"(?:告诉我|列出|总结(?:一下)?|说说)?(?:你|您)(?:都)?(?:知道|了解|记得)的?(?:所有|全部)?关于我的?(?:一切|所有事?情?|事情?|信息|内容)",
    r"(?:说说|讲讲|告诉我|谈谈)(?:你)?对我的(?:了解|印象|认识)",
    r"我是谁|(?:显示|查看|看看|给我看|展示)(?:一下)?我的(?:资料|档案|个人资料|画像)|(?:描述|介绍)一下我",
)
_LOOKUP = (
    r"告诉我(?P<topic>(?:我|我们|你)?\S.+?)",
    r"提醒我(?:一下)?(?P<topic>\S.*?(?:什么|谁|哪|几|多少|怎么|何时).*?)",
    r"(?:在|从)我的记忆(?:里|中)?(?:找|搜|查|搜索|查找)(?:一下)?(?P<topic>\S.*?)",
    r"(?:总结|概括|归纳|回顾)(?:一下)?(?P<topic>(?:我们|我|你)\S*?(?:说|讲|聊|谈|告诉|提)\S*?)",
    r"(?:搜索|查找|回忆|查一下|找一下)(?:一下)?(?P<topic>\S.*?)",
)
_ASKS = regex(
    r"什么|什麼|谁|誰|哪|(?<![前这好])几(?!乎|[天个年周]\S?前)|幾|多少|怎么|怎麼|如何|为什么|是不是|有没有|何时|吗|嗎|呢[？?。\s]*\Z|[？?][\s”」]*\Z"
)
_IS_ASKED = _ASKS
_TELLS = regex(  # a task, or that somebody does not know
    r"(?:请|帮我|麻烦)?(?:你)?(?:可以|能|能不能|可不可以)(?:帮我|给我)?(?:写|做|翻译|画|生成|解释|推荐)"
    r"|(?:我|我们|他|她)\S{0,6}?(?:想不起来?|不知道|记不清|记不得|不记得|忘了|忘记)"
)
_TELLING = regex(r"(?:我|我们|你|他|她|咱们)\S{0,8}?(?:说|提|聊|讲|谈|告诉|决定)(?:过|了|到)?")
_OP = MemoryOperation

_OWN_END = rf"(?:[\s。？?！!]|{_BA})*\Z"  # of what is stored as it is worded
_ORDERS = (
    *request_rules(_OP.SKIP, _SKIP, _END),
    *request_rules(_OP.FORGET, _FORGET_ALL, _END, CallReach.ALL),
    *request_rules(_OP.FORGET, _FORGET_LAST, _END, CallReach.LAST),
    *request_rules(_OP.FORGET, _FORGET_SESSION, _END, CallReach.SESSION),
    *request_rules(_OP.FORGET, _FORGET_CHATS, _END, CallReach.ALL, is_alone=True),
    *request_rules(_OP.FORGET, _FORGET_SAID, _END),
    *request_rules(_OP.FORGET, _FORGET_TOPIC, _END),
    *request_rules(_OP.FORGET, _FORGET_NAMED, _END),
    *request_rules(_OP.UNSHARE, _UNSHARE, _END),
    *request_rules(_OP.SHARE, _SHARE, _END),
    *request_rules(_OP.THAW, _chosen(r"(?:解冻|解锁|解除锁定|解除冻结|取消锁定)"), _END),
    *request_rules(_OP.FREEZE, _chosen(r"(?:冻结|锁定|锁住|锁上|保护)"), _END),
    *request_rules(_OP.UPDATE, _UPDATE, _OWN_END),
    *request_rules(_OP.REMEMBER, _REMEMBER, _OWN_END),
)

CHINESE_REQUESTS = RequestLanguage(
    _OPENING,
    _ASKING,
    _ASKS,
    _IS_ASKED,
    _TELLS,
    _TELLING,
    _ORDERS,
    (*request_rules(_OP.PROFILE, _PROFILE, _END), *request_rules(_OP.RECALL, _LOOKUP, _END)),
    chinese_value,
)
