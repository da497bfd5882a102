"""What a sentence reads out, dictates, plays or tells of the past is not believed; what stands beside it is."""

from __future__ import annotations

import re

import pytest

from consolidation import chinese_frames, english_frames
from consolidation.test_faults import facts, statements
from consolidation.test_stance import flaw
from consolidation.told import told
from memoryos.operation.consolidation.grounding import Flaw
from memoryos.operation.consolidation.introduced import introduced

FRAMES = (english_frames, chinese_frames)
# By what leads to it, what follows is the speaker's own.
OWN = """
Hello from Leeds: I'm a nurse here.
Update: I moved to Bonn.
Short version: I quit my job.
The short version: I hate my job.
The answer: I live in Bath.
My answer: I live in Bath.
Note: I'm vegan.
A quick note: I'm vegan.
Text size: I prefer large text.
Email preference: I like weekly mail.
Please remember: I'm allergic to nuts.
Save to my profile: I live in Leeds.
Add to your notes: I play chess.
Write this down: I park on level 3.
Write down: I park on level 3.
Put in your memory: I am a chef.
Change of plan: I'm staying in Rome.
Mark my words: I will win.
Regarding the letter: I am a lawyer.
Thanks for the message: I live in Rome now.
As mentioned in the message above: I teach chemistry.
The problem: I have no car.
The book: I loved it.
My story: I was born in Quito.
My bio: I'm a chef from Turin.
My status: I'm single.
For example: I collect stamps.
An example: I collect stamps.
One example of my clumsiness: I broke my arm.
Correction: I live in Linz.
Tom's right: I hate camping.
He's right: I hate camping.
She told me the truth: I snore, because I have asthma.
I texted my boss: I have the flu.
I wrote in my diary: I live in Rome now.
My doctor was right: I have asthma.
Remind me: I have a dentist appointment on Monday.
Here's my situation: I live in Rome.
This is the deal: I work nights.
I read your message: I live in Rome, so that works.
I read the letter twice: I owe 200 euros.
Some background: I'm a teacher.
Some notes: I'm a vegan and I live in Rome.
Some facts: I live in Rome.
The good news: I got the job.
That's the line of work I chose: I'm a nurse.
My line of work: I'm a nurse.
My hobbies: I play the drums.
My dad's side of the family: I have ten cousins.
In the mail today: I got a parking ticket.
That mug: I love it.
Make a note: I'm vegan.
Ask me anything: I'm a nurse.
Tell me more: I love history.
The sign of a good life: I have a garden.
The button: I don't like it.
Find my details below: I live in Rome.
The weather: I love it.
Let me know: I live near there.
I saw the poster: I love that band.
Read my profile: I live in Rome.
介绍一下：我是老师。
我的回答：我住在北京。
关于信：我已经收到了。
我跟他说：我住在北京。
给他发了消息：我住在北京。
答案：我住在北京。
我看了海报：我喜欢这个乐队。
提醒我：我对花生过敏。
补充一句，我对花生过敏。
说一句，我是老师。
我的故事：我出生在北京。
我的简介：我是老师。
写在备注里：我住在北京。
记在你的备忘录里：我对花生过敏。
歌我喜欢，戏也喜欢：我住在剧院旁边。
我是语法老师：我在北京教书。
我收到你的消息了：我住在北京。
我的信：我已经寄了。
我妈的意见：我应该当老师。
""".strip().splitlines()
# By what leads to it, what follows is a text, a line, an example or a part in a play.
OTHERS = """
The caption under the photo: I love this city.
Tell her: I play the violin.
My sister's text read: I am allergic to peanuts.
Let my brother know: I am at home.
Say to him: I quit.
Could you send Bob this: I have the keys.
Write on the whiteboard: I am sorry.
He signed the letter: I remain your loyal friend.
It said on the box: I am fragile.
Type: I am here.
Her Instagram bio: I love dogs and wine.
On the wall somebody had written: I was here.
The first line of the poem: I wandered lonely as a cloud.
In the chorus he sings: I am a rock.
Juliet's line: I have no joy of this contract.
Here is the testimony of the witness: I saw the car.
Use this sentence: I live in Oslo.
My essay starts: I was ten when I left.
Please answer the customer: I live in the next street.
Respond as Napoleon: I live on an island.
The patient reports: I have a headache.
Mum's message from this morning: I am on the train.
The label reads I contain nuts.
Note from the babysitter: I gave them dinner.
He put on his tinder: I love dogs.
Our slogan: I love bread.
An e-mail from HR: I have approved your leave.
Read this sentence aloud: I live in a white house.
Say it with me: I am a winner.
Teach me how to say: I live in Rome.
Prompt: I am a pirate.
Lyrics: I walk the line.
Quote: I have a dream.
The recruiter wrote back: I have a job for you in Rome.
Somebody sprayed on the bridge: I love Sandra.
She posted: I love Rome.
The actor whispers I loved you once.
The voice on the tape: I live in the walls.
Our teacher dictated: I live in a small town.
The answering machine: I am out of office.
姐姐的短信：我对花生过敏。
告诉她：我会拉小提琴。
照片下面写着：我爱这座城市。
诗的第一句：我独自漫步。
黑板上写着我爱数学。
请回复客户：我住在隔壁街。
妈妈早上发的消息：我在火车上。
他在桥上喷了：我爱小芳。
用这个词造句：我喜欢苹果。
老师听写：我住在小镇。
他签名档：我爱狗。
广告词：我只喝这一种。
模仿林黛玉说话：我身子弱。
帮我给经理发条微信：我今天请假。
让小明知道：我在家。
写一句：我爱北京。
怎么用英语说：我对牛奶过敏？
那首歌的第一句：我来自偶然。
病人自述：我头疼三天了。
她发微博：我离婚了。
请跟读：我是学生。
念给我妈听：我已经到家了。
""".strip().splitlines()
PARTS = [(half, suffix) for half in ("SEEN", "KEPT") for suffix in ("BELIEVED", "NOT_BELIEVED")]
Row = tuple[str, str, str, str, str]
# Of a fact that tells the sentence as it is.
SAYS_SO = re.compile(r"used to|until|以前|之前|colleague|同事|never|没|不是", re.IGNORECASE)


def rows(half: str, suffix: str) -> list[Row]:
    return [row for frames in FRAMES for row in getattr(frames, f"{half}_{suffix}")]


def share(right: int, wrong: int) -> float:
    return right / (right + wrong)


def is_learned(row: Row, *, is_meant: bool) -> bool:
    """Whether the rules learn of the sentence what it would say by itself."""
    known, fields = told(row[1])
    found = [text for text in (*known, *fields.values()) if row[4].casefold() in text.casefold()]
    return any(is_meant or not SAYS_SO.search(text) for text in found)


# Precision and recall of each half, of all 120 sentences in both languages. Before these rules they were .62 and .88
# (seen), .67 and .87 (kept) of the proposals of a model, and .70 and .62, .84 and .70 of the rules.
@pytest.mark.parametrize(("half", "precision", "recall"), [("SEEN", 0.95, 0.95), ("KEPT", 0.79, 0.88)])
def test_of_a_models_proposals_those_that_are_meant_are_believed(half, precision, recall):
    believed = [flaw(*row[1:4]) is None for row in rows(half, "BELIEVED")]
    wrong = [flaw(*row[1:4]) is None for row in rows(half, "NOT_BELIEVED")]
    assert share(sum(believed), sum(wrong)) >= precision
    assert sum(believed) / len(believed) >= recall


@pytest.mark.parametrize(("half", "precision", "recall"), [("SEEN", 0.99, 0.65), ("KEPT", 0.91, 0.7)])
def test_of_what_is_said_outright_the_rules_learn_most(half, precision, recall):
    learned = [is_learned(row, is_meant=True) for row in rows(half, "BELIEVED")]
    wrong = [is_learned(row, is_meant=False) for row in rows(half, "NOT_BELIEVED")]
    assert share(sum(learned), sum(wrong)) >= precision
    assert sum(learned) / len(learned) >= recall


def test_the_halves_are_alike():
    sizes = {len(getattr(frames, f"{half}_{suffix}")) for frames in FRAMES for half, suffix in PARTS}
    assert sizes == {30}


@pytest.mark.parametrize("said", OWN)
def test_what_a_plain_lead_introduces_is_the_speakers_own(said):
    assert list(introduced(said)) == []


@pytest.mark.parametrize("said", OTHERS)
def test_what_is_introduced_as_a_text_teaches_nothing(said):
    assert told(said) == ([], {})


@pytest.mark.once
@pytest.mark.parametrize(
    ("said", "quote", "fact", "is_meant"),
    [
        (
            "My sister's text read: I am allergic to peanuts.",
            "I am allergic to peanuts",
            "The user is allergic to peanuts.",
            False,
        ),
        ("Tell her: I play the violin.", "I play the violin", "The user plays the violin.", False),
        ("I told her: I play the violin.", "I play the violin", "The user plays the violin.", True),
        ("姐姐的短信：我对花生过敏。", "我对花生过敏", "用户对花生过敏。", False),
        ("我跟她说：我对花生过敏。", "我对花生过敏", "用户对花生过敏。", True),
    ],
)
def test_the_memory_keeps_what_is_told_and_not_what_is_read_out(opened, model, said, quote, fact, is_meant):
    memory = opened()
    memory.add(said, "I see.")
    memory.add("Good night.", "Good night!")
    model.otherwise = statements({"page": 1, "fact": fact, "quote": quote})
    memory.consolidate()
    assert facts(memory) == ([fact] if is_meant else [])


@pytest.mark.parametrize(
    ("said", "quote", "fact"),
    [
        ("I used to smoke.", "smoke", "The user smokes."),
        ("I was a teacher in Leeds.", "a teacher", "The user is a teacher."),
        ("I lived in Rome until 2010.", "lived in Rome", "The user lives in Rome."),
        ("Ten years ago I worked as a baker.", "worked as a baker", "The user works as a baker."),
        ("I sold my car last week.", "my car", "The user has a car."),
        ("我曾经住在珠海。", "住在珠海", "用户住在珠海。"),
        ("十年前我是面包师。", "我是面包师", "用户是面包师。"),
    ],
)
def test_what_was_so_once_is_not_so_now(said, quote, fact):
    assert flaw(said, quote, fact) is Flaw.DENIED


@pytest.mark.parametrize(
    ("said", "quote", "fact"),
    [
        ("I used to smoke.", "used to smoke", "The user used to smoke."),
        ("I was a teacher in Leeds.", "I was a teacher", "The user was a teacher."),
        ("I got used to the cold, I live in Oslo.", "I live in Oslo", "The user lives in Oslo."),
        ("I used to hate olives, but now I love them.", "I love them", "The user loves olives."),
        ("I moved to Rome ten years ago.", "I moved to Rome", "The user moved to Rome."),
        ("I have lived in Rome since 2010.", "I have lived in Rome", "The user lives in Rome."),
        ("I work until 6 pm at the bakery.", "I work until 6 pm", "The user works until 6 pm."),
        ("我小时候在成都长大。", "在成都长大", "用户在成都长大。"),
        ("睡觉以前我喝牛奶。", "我喝牛奶", "用户喝牛奶。"),
        ("我以前就住在珠海，现在还是。", "住在珠海", "用户住在珠海。"),
        ("我曾经说过我是老师。", "我是老师", "用户是老师。"),
    ],
)
def test_what_is_told_as_past_or_is_so_still_is_believed(said, quote, fact):
    assert flaw(said, quote, fact) is None


@pytest.mark.parametrize(
    "said", ["me： " * 5_000, "Tell her: I x " * 1_400, "Note: I " * 2_500, "她的短信：我" * 3_000]
)
def test_leads_that_never_end_are_read_in_proportion(said):
    """Of "me： " 5,000 times, each colon looked to the end."""
    assert len(list(introduced(said))) <= 1
