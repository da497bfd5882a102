from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from memoryos.cube import Behaviour, Descriptive, Fact, MemCube, Page, ProfileField, Trait, Turn
from memoryos.kinds import Origin, Role, SemanticType, Tier
from memoryos.operation.consolidation.extractor import RuleExtractor
from memoryos.operation.consolidation.finding import Finding
from memoryos.scope import Scope

MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
EXTRACTOR = RuleExtractor()


def found(text: str, role: Role = Role.USER, speaker: str | None = "小明") -> list[Finding]:
    descriptive = Descriptive(
        event_at=MONDAY,
        recorded_at=MONDAY,
        updated_at=MONDAY,
        origin=Origin.USER_INPUT,
        semantic_type=SemanticType.DIALOGUE,
    )
    cube = MemCube(
        id="p1",
        scope=Scope(user="xiaoming"),
        tier=Tier.STM,
        payload=Page(turns=(Turn(role=role, text=text, speaker=speaker, at=MONDAY),)),
        descriptive=descriptive,
        behaviour=Behaviour(last_access=MONDAY),
    )
    return EXTRACTOR.extract([cube])


def texts(text: str, role: Role = Role.USER, speaker: str | None = "小明") -> list[str]:
    return [item.payload.text for item in found(text, role, speaker) if isinstance(item.payload, Fact)]


def profile(text: str) -> dict[str, str]:
    return {item.payload.field: item.payload.value for item in found(text) if isinstance(item.payload, ProfileField)}


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("我是一名软件工程师。", "小明是一名软件工程师。"),
        ("我在北京的一家互联网公司工作。", "小明在北京的一家互联网公司工作。"),
        ("我姐姐安娜住在波尔图。", "小明的姐姐安娜住在波尔图。"),
        ("我的妈妈是医生！", "小明的妈妈是医生。"),
        ("我家的狗叫旺财。", "小明家的狗叫旺财。"),
        ("我对花生过敏。", "小明对花生过敏。"),
        ("我不喜欢吃香菜。", "小明不喜欢吃香菜。"),
        ("我最喜欢的电影是《霸王别姬》。", "小明最喜欢的电影是《霸王别姬》。"),
        ("我养了两只猫，一只叫小白。", "小明养了两只猫，一只叫小白。"),
        ("昨天我去了故宫。", "昨天（2023年5月7日）小明去了故宫。"),
        ("我上周五参加了同学的婚礼。", "小明上周五（2023年5月5日）参加了同学的婚礼。"),
        ("我打算明年去日本留学。", "小明打算明年（2024年）去日本留学。"),
        ("我每天早上跑步五公里。", "小明每天早上跑步五公里。"),
        ("我会弹钢琴。", "小明会弹钢琴。"),
        ("我毕业于复旦大学", "小明毕业于复旦大学。"),
        ("我结婚了。", "小明结婚了。"),
        ("我搬到上海了", "小明搬到上海了。"),
        ("我从腾讯辞职了", "小明从腾讯辞职了。"),
        ("我跳槽到阿里了", "小明跳槽到阿里了。"),
        ("我被公司裁员了", "小明被公司裁员了。"),
        ("我找到了一份新工作，当老师", "小明找到了一份新工作，当老师。"),
        ("我转行做设计师了", "小明转行做设计师了。"),
        ("我不是学生了", "小明不是学生了。"),
        ("我今年三十岁", "小明今年（2023年）三十岁。"),
        ("我儿子五岁了", "小明的儿子五岁了。"),
        ("最近我在学吉他。", "最近小明在学吉他。"),
        ("其实，我讨厌下雨天。", "小明讨厌下雨天。"),
        ("你好，我对天文很感兴趣。", "小明对天文很感兴趣。"),
        ("我在Google工作，love 火锅。", "小明在Google工作，love 火锅。"),
        ("我们去年搬到了深圳。", "小明：“我们去年搬到了深圳。”（2022年）"),
        ("我养了一只猫，它很爱我。", "小明：“我养了一只猫，它很爱我。”"),
    ],
)
def test_a_durable_statement_becomes_a_fact(said: str, text: str) -> None:
    assert texts(said) == [text]


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("我叫李雷，住在北京，是一名医生。", ["小明住在北京。", "小明是一名医生。"]),
        ("我叫李雷,今年30岁,喜欢打篮球。", ["小明今年（2023年）30岁。", "小明喜欢打篮球。"]),
        ("我是一名老师，在上海工作。", ["小明是一名老师。", "小明在上海工作。"]),
        ("我叫王芳，我住在杭州，我喜欢喝茶。", ["小明住在杭州。", "小明喜欢喝茶。"]),
        ("我从小在成都长大，现在住在深圳", ["小明从小在成都长大。", "小明现在住在深圳。"]),
        ("我喜欢吃辣，不喜欢吃甜，讨厌下雨。", ["小明喜欢吃辣。", "小明不喜欢吃甜。", "小明讨厌下雨。"]),
        ("你好，我来自成都；在北京上学。", ["小明来自成都。", "小明在北京上学。"]),
    ],
)
def test_clauses_that_stand_by_themselves_are_facts_of_their_own(said: str, facts: list[str]) -> None:
    assert texts(said) == facts
    quotes = [item.payload.quote for item in found(said) if isinstance(item.payload, Fact)]
    assert all(quote in said and "我" in quote for quote in quotes)


@pytest.mark.parametrize(
    "said",
    [
        "我喜欢的作家住在北京，是一名医生。",
        "我朋友叫李雷，住在北京，是一名医生。",
        "我妈妈住在北京，是一名医生。",
        "我男朋友是医生，住在上海，喜欢猫。",
        "我养了一只猫，喜欢吃鱼。",
        "我喜欢李雷，住在北京。",
        "我来自成都，是个好地方。",
        "我住在北京，住了三年。",
        "我住在成都，养了两只猫。",
        "我叫李雷，是小明的哥哥。",
        "我住在北京，他是一名医生。",
    ],
)
def test_clauses_that_may_tell_of_others_stay_together(said: str) -> None:
    assert len(texts(said)) == 1
    assert all(clause in texts(said)[0] for clause in said.rstrip("。").split("，")[1:])


@pytest.mark.parametrize(
    "said", ["李雷住在北京，是一名医生。", "如果我叫李雷，住在北京，就好了。", "我在想，住在北京，是不是很贵？"]
)
def test_what_is_not_said_of_the_speaker_is_no_fact_in_parts_either(said: str) -> None:
    assert texts(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "你喜欢什么？",
        "我住院了吗",
        "我觉得不错。",
        "我知道了。",
        "我也是。",
        "我很好，谢谢。",
        "我有点累。",
        "我爱你。",
        "我喜欢你的想法。",
        "我想请你推荐一本书。",
        "我想知道怎么做饭。",
        "我有一个问题。",
        "我希望明天天气好。",
        "我去了解一下。",
        "如果我有一套房子，我就养猫。",
        "我可能有两只猫。",
        "我是认真的。",
        "我是昨天到的。",
        "他说“我喜欢猫”。",
        "“我喜欢猫。我养了狗。”他说。",
        "妈妈喜欢猫。",
        "我们加油吧。",
        "我搬到二楼了",
        "我快三点了",
    ],
)
def test_what_is_not_durable_or_not_about_the_speaker_is_left_out(said: str) -> None:
    assert texts(said) == []


@pytest.mark.parametrize(
    ("said", "fields"),
    [
        ("我叫李明，今年28岁，住在上海。", {"name": "李明", "birth_year": "about 1995", "location": "上海"}),
        ("我的名字是王芳。", {"name": "王芳"}),
        ("你好，我是王小红。", {"name": "王小红"}),
        ("叫我小明就行。", {"name": "小明"}),
        ("我叫Tom。", {"name": "Tom"}),
        ("我是女生。", {"gender": "woman"}),
        ("作为一个男人，我不怕。", {"gender": "man"}),
        ("我出生于1995年。", {"birth_year": "1995"}),
        ("我今年28岁。", {"birth_year": "about 1995"}),
        ("我今年二十八岁。", {"birth_year": "about 1995"}),
        ("我找到了一份新工作，当老师", {"occupation": "老师"}),
        ("我换工作了，现在当医生", {"occupation": "医生"}),
        ("我转行做设计师了", {"occupation": "设计师"}),
        ("我从小在成都长大，现在住在深圳", {"location": "深圳"}),
        ("我的生日是5月3日。", {"birthday": "5月3日"}),
        ("我的生日是五月三日。", {"birthday": "5月3日"}),
        ("我的生日在十二月二十一号", {"birthday": "12月21日"}),
        ("我以前是老师，现在是程序员。", {"occupation": "程序员"}),
        ("我之前当护士,但现在是一名律师", {"occupation": "律师"}),
        ("我之前住在北京，现在住在上海。", {"location": "上海"}),
        ("我不住北京了，现在住在上海。", {"location": "上海"}),
        ("我住北京朝阳区。", {"location": "北京朝阳区"}),
        ("我住上海三年了。", {"location": "上海"}),
        ("我住在上海好多年了。", {"location": "上海"}),
        ("我是一名软件工程师。", {"occupation": "软件工程师"}),
        ("我现在住在杭州。", {"location": "杭州"}),
        ("我在北京生活。", {"location": "北京"}),
    ],
)
def test_profile_fields_are_what_was_said_outright(said: str, fields: dict[str, str]) -> None:
    assert profile(said) == fields


@pytest.mark.parametrize(
    "said",
    [
        "我叫你别来。",
        "我叫了外卖。",
        "叫我怎么说呢",
        "我是认真的。",
        "我姐姐叫安娜，今年28岁，住在上海。",
        "我叫什么名字？",
        "如果我叫李明，你信吗",
        "我不是医生。",
        "我住在学校附近。",
        "我家有三个女生。",
        "我妈妈换工作了，现在当医生",
        "我妹妹从小在成都长大，现在住在深圳",
        "我想当老师",
        "我儿子五岁了",
        "我当了三年老师",
        "我的生日是十三月三日。",
        "我住三楼。",
        "我住过北京。",
        "我住不惯北京。",
        "我住北京的朋友很多。",
        "我住在北京的朋友很多。",
        "我住宿舍。",
        "我以前住在北京，现在想搬走。",
        "我妈妈以前是老师，现在是护士。",
        "我以前是老师，现在想当护士。",
    ],
)
def test_profile_fields_are_not_guessed(said: str) -> None:
    assert profile(said) == {}


def test_a_sentence_that_only_names_the_speaker_is_no_fact() -> None:
    assert texts("我叫李明。") == []


def test_the_quote_is_what_was_said() -> None:
    [item] = [item for item in found("嗯。其实，我讨厌下雨天！你呢？") if isinstance(item.payload, Fact)]
    assert item.payload.quote == "我讨厌下雨天！"
    assert item.semantic_type is SemanticType.PREFERENCE


def test_an_assistant_speaks_of_itself_only_in_what_it_is_and_did() -> None:
    said = "我是您的AI助手。我推荐您看《三体》。我喜欢猫。我可以帮您吗？"
    assert texts(said, Role.ASSISTANT, None) == ["助手：“我是您的AI助手。”", "助手：“我推荐您看《三体》。”"]


def test_a_named_human_in_the_assistants_place_is_read_like_a_user() -> None:
    assert texts("我喜欢猫。", Role.ASSISTANT, "小红") == ["小红喜欢猫。"]


def test_without_a_name_the_role_stands_in() -> None:
    assert texts("我喜欢猫。", speaker=None) == ["用户喜欢猫。"]


@pytest.mark.parametrize(("said", "dimension"), [("请简短一点。", "Conciseness"), ("有什么火锅店？", "Food Interest")])
def test_cues_show_traits(said: str, dimension: str) -> None:
    assert [item.payload.dimension for item in found(said) if isinstance(item.payload, Trait)] == [dimension]


def test_dislike_shows_no_interest() -> None:
    traits = [item for item in found("火锅太辣，不喜欢。") if isinstance(item.payload, Trait)]
    assert [item for item in traits if item.payload.counter != item.pages] == []


@pytest.mark.parametrize("laugh", ["哈", "h", "嘿"])
def test_a_long_laugh_is_read_once(laugh: str) -> None:
    """It was read again from each of its characters: 10,000 took a second."""
    began = time.thread_time()
    assert texts(f"我住在成都{laugh * 30_000}x") == []
    assert time.thread_time() - began < 2
    assert texts("我住在成都哈哈哈") == texts("我住在成都") != []
