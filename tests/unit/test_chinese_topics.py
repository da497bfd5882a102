"""Chinese requests: a topic keeps its last character where that only looks like a word for things, or a particle."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoryos.operation.requests.memory_call import MemoryOperation
from memoryos.operation.requests.request_reader import RequestReader
from memoryos.scope import Scope

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
CHANGES = set(MemoryOperation) - {MemoryOperation.NONE, MemoryOperation.RECALL, MemoryOperation.PROFILE}

TOPICS = {  # the first ones lost a character
    "忘记关于张伟的电话": "张伟的电话",
    "忘掉关于同事": "同事",
    "请忘记有关童话": "童话",
    "忘了关于往事吧": "往事",
    "删除关于我的笑话": "我的笑话",
    "清除所有关于李雷的婚事": "李雷的婚事",
    "把关于故事都忘掉": "故事",
    "把关于公司电话删掉": "公司电话",
    "冻结关于张伟的电话": "张伟的电话",
    "解冻关于张伟的电话": "张伟的电话",
    "忘掉我说的张伟的电话": "张伟的电话",
    "忘掉我告诉你的关于同事吧": "同事",
    "忘掉关于好消息": "好消息",
    "把关于坏消息都删掉": "坏消息",
    "忘記關於張偉的電話": "張偉的電話",
    "忘掉关于成都": "成都",
    "把关于首都忘了": "首都",
    "把我去过的京都忘掉": "我去过的京都",
    "把关于数据安全忘掉": "数据安全",
    "忘掉关于酒吧": "酒吧",
    "忘记我去过的酒吧": "我去过的酒吧",
    "忘掉有关网吧": "网吧",
    "忘掉关于上网吧": "上网",
    "忘掉关于红酒吧": "红酒",
    "忘记我喝酒吧": "我喝酒",
    # and these did not
    "忘记关于张伟的电话的事": "张伟的电话",
    "忘掉关于同事的事情": "同事",
    "忘掉关于旅行的话": "旅行",
    "忘掉关于前男友的所有事吧": "前男友",
    "删除关于旅行的笔记": "旅行",
    "删除关于旅行笔记": "旅行",
    "删除关于旅行信息": "旅行",
    "忘掉关于旅行事情": "旅行",
    "把关于旅行的事都忘掉": "旅行",
    "把关于成都的事都忘掉吧": "成都",
    "把关于故事的内容全删掉": "故事",
    "清除关于我旧工作的一切": "我旧工作",
    "忘掉关于那本书吧": "那本书",
    "忘记我的生日吧": "我的生日",
    "忘了关于猫了": "猫",
    "删除关于手术的那些事": "手术",
    "忘掉关于我的电话号码的信息": "我的电话号码",
    "忘记我的电话": "我的电话",
    "删掉我的手机号码": "我的手机号码",
    "把我的地址从记忆中删除": "我的地址",
}

CONTENTS = {
    "记住我喜欢酒吧": "我喜欢酒吧",
    "记住：我周末去网吧": "我周末去网吧",
    "把我最爱的地方改成酒吧": "我最爱的地方是酒吧",
    "把我最爱的动物改成猫吧": "我最爱的动物是猫",
    "把我最爱的酒改成红酒吧": "我最爱的酒是红酒",
    "把我的爱好改成上网吧": "我的爱好是上网",
}

PLAIN = (
    "我忘了张伟的电话",
    "我忘记关于张伟的电话了吗？",
    "张伟的电话是多少？",
    "他忘掉了关于同事的事",
    "我同事忘记了故事",
    "你还记得张伟的电话吗？",
    "我想忘记往事",
    "我们聊聊关于故事吧",
    "小明把关于成都的书删掉了",
    "关于成都你知道什么？",
    "我喜欢酒吧",
    "我们去酒吧吧",
    "昨天我去了网吧",
    "忘了带电话",
    "别忘了给张伟打电话",
    "我妈妈忘了关于同事的话",
    "他说忘掉关于成都",
    "老师说过：忘记往事",
    "“忘记关于张伟的电话”是什么意思？",
    "怎么删除关于页面？",
    "如何删除电话里的照片？",
    "为什么他忘记了关于婚事的话？",
    "请翻译：忘掉关于同事",
    "我不小心删掉了电话",
    "删除键坏了",
    "首都是哪里？",
    "成都好玩吗？",
    "数据安全很重要",
    "我把酒吧的地址忘了",
    "她想删掉关于他的好消息",
    "好消息！我升职了",
    "这是个坏消息",
    "我的同事叫李雷",
    "电话响了",
    "那件往事我不想提了",
    "关于婚事，我们再谈吧",
    "他讲的笑话很好笑",
    "昨天的故事真好听",
    "我在京都住过三年",
    "你能讲个童话吗？",
    "如果我忘记了成都，请提醒我",
    "我永远不会忘记成都",
)


def call_of(text: str):
    return RequestReader("ann", Scope("ann"), NOW, []).read(text)


@pytest.mark.parametrize("text", TOPICS)
def test_an_order_names_its_whole_topic(text):
    call = call_of(text)
    assert call.operation in CHANGES
    assert call.query == TOPICS[text]


@pytest.mark.parametrize("text", CONTENTS)
def test_what_is_to_be_stored_keeps_its_last_character(text):
    assert call_of(text).content == CONTENTS[text]


def test_a_lookup_keeps_it_too():
    assert (call_of("搜索酒吧").operation, call_of("搜索酒吧").query) == ("recall", "酒吧")


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_only_said_or_asked_is_no_order(text):
    assert call_of(text).operation not in CHANGES
