"""What is not meant word by word gives no fact and no profile field; what only looks like it still does."""

from __future__ import annotations

import pytest

from consolidation.told import told


@pytest.mark.parametrize(
    "said",
    [
        "I'm a doctor, or so my mother wishes.",
        "I live in my car these days, or at least it feels like it.",
        "I love my job, said nobody in this office ever.",
        "I play chess too much, my therapist says.",
        "I love getting parking tickets, they really brighten my week.",
        "I have a dog of a cold, can't stop sneezing.",
        "I am the captain now!",
        "I'm a lawyer in this story, and the trial begins.",
        "In the novel I'm writing, I live in Tokyo and I'm a spy.",
        "In the game that we play every Friday, I am a nurse from Leeds.",
        "In the game, I have three dogs.",
        "I work like a dog.",
        "I sleep like a log these days.",
        "我住在公司了快，项目要上线。",
        "我来自火星，哈哈哈。",
        "我住在十八层地狱，楼上天天装修。",
        "我最喜欢的就是别人迟到，真的。",
        "我爱死这个破系统了，天天崩。",
        "我真是个天才，又把钥匙锁屋里了。",
    ],
)
def test_what_is_not_meant_is_not_believed(said):
    assert told(said) == ([], {})


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("I'm diabetic, my doctor says.", "diabetic"),
        ("I hate being ignored.", "ignored"),
        ("I don't enjoy traffic jams.", "traffic"),
        ("I'm a rock climber.", "climber"),
        ("I have a dog and a cat.", "dog"),
        ("I work for a bank in Oslo.", "bank"),
        ("I like a dog that barks.", "dog"),
        ("In the play, I was told to smile, but I live in Oslo.", "Oslo"),
        ("In the film club, I am a member of the board.", "board"),
        ("In the book I'm reading, I like the hero. I live in Oslo.", "Oslo"),
        ("I'm writing a novel and I live in Tokyo.", "Tokyo"),
        ("I live in Heaven Street in Leeds.", "Leeds"),
        ("我喜欢喝咖啡。", "咖啡"),
        ("我不喜欢加班。", "加班"),
        ("我是一名天文学家。", "天文"),
    ],
)
def test_what_is_meant_is_still_believed(said, word):
    facts, _ = told(said)
    assert word in " ".join(facts)
