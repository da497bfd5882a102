"""Question forms: how a slot, or a sentence without its end, can be asked for.

The forms that are held out are never trained. The gate asks them: an adapter that only repeats what it read fails.
"""

from __future__ import annotations

from typing import NamedTuple

from memoryos.regex import regex


class Forms(NamedTuple):
    """Questions with one answer. `{who}` is whose slot it is, `{of}` its kind of thing, `{head}` a sentence's start."""

    trained: tuple[str, ...]
    held_out: tuple[str, ...]


SLOTS: dict[str, Forms] = {
    "residence": Forms(
        (
            "Where does {who} live?",
            "What city does {who} live in?",
            "In which place does {who} live?",
            "Tell me where {who} lives.",
            "What is the place of residence of {who}?",
            "Which town is home to {who}?",
            "Do you know where {who} lives?",
            "What is the home town of {who}?",
        ),
        ("Where is {who} living?", "Can you tell me where {who} lives now?", "In what city is the home of {who}?"),
    ),
    "employer": Forms(
        (
            "Where does {who} work?",
            "Which company does {who} work for?",
            "Who is the employer of {who}?",
            "What is the employer of {who} called?",
            "Tell me where {who} works.",
            "For whom does {who} work?",
            "At which company is {who} employed?",
            "Do you know where {who} works?",
        ),
        ("Who employs {who}?", "What company is {who} working for?", "Can you name the employer of {who}?"),
    ),
    "occupation": Forms(
        (
            "What does {who} do for a living?",
            "What is the job of {who}?",
            "What is the occupation of {who}?",
            "What does {who} work as?",
            "Which profession does {who} have?",
            "Tell me the profession of {who}.",
            "What kind of work does {who} do?",
            "Do you know what job {who} has?",
        ),
        ("What is the profession of {who}?", "As what does {who} work?", "How does {who} earn a living?"),
    ),
    "name": Forms(
        (
            "What is the name of {who}?",
            "What is {who} called?",
            "Tell me the name of {who}.",
            "Which name does {who} have?",
            "How is {who} called?",
            "Do you know the name of {who}?",
            "What do people call {who}?",
            "Give me the name of {who}.",
        ),
        ("What name does {who} go by?", "Can you tell me what {who} is called?", "Please name {who}."),
    ),
    "favourite": Forms(
        (
            "What is the favourite {of} of {who}?",
            "Which {of} does {who} like best?",
            "Tell me the favourite {of} of {who}.",
            "What {of} does {who} prefer?",
            "Do you know which {of} {who} likes most?",
            "Which {of} is the favourite of {who}?",
            "Name the {of} that {who} likes best.",
            "What is the {of} that {who} loves most?",
        ),
        (
            "What {of} does {who} like the most?",
            "Which {of} would {who} choose?",
            "Of all, which {of} is best to {who}?",
        ),
    ),
    "age": Forms(
        (
            "How old is {who}?",
            "What is the age of {who}?",
            "Tell me the age of {who}.",
            "What age is {who}?",
            "Do you know how old {who} is?",
            "How many years old is {who}?",
        ),
        ("Can you tell me how old {who} is?", "How many years has {who} lived?"),
    ),
    "diet": Forms(
        (
            "What diet does {who} follow?",
            "What is the diet of {who}?",
            "How does {who} eat?",
            "Tell me the diet of {who}.",
            "Which kind of diet does {who} have?",
            "Does {who} follow a special diet?",
        ),
        ("What kind of eater is {who}?", "Can you tell me what diet {who} keeps?"),
    ),
    "marital status": Forms(
        (
            "What is the marital status of {who}?",
            "Is {who} married or single?",
            "Tell me the marital status of {who}.",
            "Does {who} have a spouse?",
            "Is {who} in a marriage?",
            "Do you know whether {who} is married?",
        ),
        ("Has {who} got married?", "What do you know about the marriage of {who}?"),
    ),
    "phone": Forms(
        (
            "What is the phone number of {who}?",
            "How can {who} be reached by phone?",
            "Tell me the phone number of {who}.",
            "Which number do I dial for {who}?",
            "Give me the telephone number of {who}.",
            "Do you know the phone number of {who}?",
        ),
        ("On which number can I call {who}?", "What number belongs to {who}?"),
    ),
    "e-mail": Forms(
        (
            "What is the e-mail address of {who}?",
            "How can {who} be reached by e-mail?",
            "Tell me the e-mail address of {who}.",
            "Which e-mail address does {who} have?",
            "Give me the e-mail of {who}.",
            "Do you know the e-mail address of {who}?",
        ),
        ("To which address can I mail {who}?", "What e-mail belongs to {who}?"),
    ),
}

CHINESE_SLOTS: dict[str, Forms] = {
    "residence": Forms(
        (
            "{who}住在哪里？",
            "{who}住在哪个城市？",
            "{who}的家在哪里？",
            "告诉我{who}住在哪儿。",
            "你知道{who}住哪里吗？",
        ),
        ("{who}现在住在什么地方？", "请问{who}的住处在哪里？"),
    ),
    "employer": Forms(
        (
            "{who}在哪里工作？",
            "{who}在哪家公司上班？",
            "{who}的公司是哪家？",
            "告诉我{who}在哪儿工作。",
            "{who}为谁工作？",
        ),
        ("{who}的雇主是谁？", "请问{who}在什么公司工作？"),
    ),
    "occupation": Forms(
        (
            "{who}是做什么工作的？",
            "{who}的职业是什么？",
            "{who}从事什么职业？",
            "告诉我{who}的职业。",
            "{who}做什么的？",
        ),
        ("{who}靠什么谋生？", "请问{who}的工作是什么？"),
    ),
    "name": Forms(
        ("{who}叫什么名字？", "{who}的名字是什么？", "告诉我{who}的名字。", "{who}叫什么？", "你知道{who}的名字吗？"),
        ("请问怎么称呼{who}？", "{who}的姓名是什么？"),
    ),
}

ENDS = Forms(  # of any statement: its end is asked for
    (
        "Complete the sentence: {head} ...",
        "Fill in the blank: {head} ____",
        "Finish this sentence: {head} ...",
        "What is missing here? {head} ____",
        "Continue: {head} ...",
        "{head} what?",
        "Which word comes next? {head}",
        "Say the rest of it: {head} ...",
    ),
    (
        "How does this sentence end? {head} ...",
        "Which words are missing: {head} ____?",
        "I forgot the end of this: {head} ...",
    ),
)

OBJECTS = Forms(  # of a statement about the user, whose verb and object are known: "What does the user love?"
    (
        "What {verb} the user {rest}?",
        "Tell me what the user {told}.",
        "I want to know what the user {told}.",
        "Say what the user {told}.",
        "Do you know what the user {told}?",
        "Remind me what the user {told}.",
    ),
    ("Can you tell me what the user {told}?", "What is it that the user {told}?", "I forgot what the user {told}."),
)

CHINESE_ENDS = Forms(
    (
        "补全句子：{head}……",
        "填空：{head}____",
        "把这句话说完：{head}……",
        "这里缺了什么？{head}____",
        "接着说：{head}……",
        "{head}什么？",
    ),
    ("这句话怎么结束？{head}……", "缺的词是什么：{head}____？"),
)

_FIRST_PERSON = (  # in this order
    (regex(r"\bthe user's\b"), "my"),
    (regex(r"\bthe ([\w-]+(?: [\w-]+){0,2}) of the user\b"), r"my \1"),
    (regex(r"\b[Dd]oes the user\b"), "do I"),
    (regex(r"\b[Hh]as the user\b"), "have I"),
    (regex(r"\b[Ii]s the user\b"), "am I"),
    (regex(r"\b(would|can) the user\b"), r"\1 I"),
    (regex(r"\bthe user is\b"), "I am"),
    (regex(r"\bthe user has\b"), "I have"),
    (regex(r"\bthe user ([a-z]+[^s\W])s\b"), r"I \1"),
    (regex(r"\bthe user\b"), "me"),
    (regex(r"用户"), "我"),
)


def first_person(question: str) -> str:
    """The question as the user asks it about himself."""
    for pattern, words in _FIRST_PERSON:
        question = pattern.sub(words, question)
    return question[:1].upper() + question[1:]
