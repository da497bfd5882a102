"""`memoryos bench answers`, with a reader and a judge that say what the test wrote, over real HTTP."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from datetime import UTC, datetime

import pytest

from generation.scripted_model import Reply, says, scripted_model
from memoryos.bench.answers.question import InputFiles
from memoryos.bench.answers.recall_questions import read_recall_questions

from .talk import SESSIONS, talk

SECRET = "Zanzibar"  # in every gold answer, and nowhere in the talk
QUESTIONS = [
    ("Which animals came up?", 1, f"a parrot, {SECRET}"),
    ("When was the parrot adopted?", 2, f"7 May 2023 {SECRET}"),
    ("Would Ann like a cat?", 3, f"likely no; {SECRET}"),
    ("Where did Ida move?", 4, f"Oslo {SECRET}"),
    ("Which dog did Ann adopt?", 5, SECRET),
]
SYSTEMS = ["context", "hybrid", "bm25", "dense", "two_stage", "full", "none", "-stm", "-mtm", "-lpm", "-chain"]


def sample(sessions=None):
    """The talk of the other benches, with gold answers that can be told from it."""
    own = talk(sessions=sessions, questions=[])
    qa = [
        {"question": text, "category": category, "evidence": ["D1:1"], "answer": answer, "adversarial_answer": SECRET}
        for text, category, answer in QUESTIONS
    ]
    return {**own, "qa": qa}


@pytest.fixture
def data(locomo):
    return locomo(sample())


@pytest.fixture
def model():
    with scripted_model() as server:
        server.otherwise = answered
        yield server


@pytest.fixture
def answers(bench, data):
    """answers(model, argument, ...): the command with that endpoint, on the talk."""

    def run(model=None, *rest, file=None):
        arguments = ("--data", file or data, "--embedder", "hashing", *rest)
        return bench("answers", *arguments, **(endpoint(model) if model else {}))

    return run


def endpoint(model):
    return {"MEMORYOS_LLM_MODEL": "reader", "MEMORYOS_LLM_BASE_URL": model.url, "MEMORYOS_LLM_RETRIES": "0"}


def answered(request) -> Reply:
    """Judges by one word, and knows of nothing but Oslo."""
    system, user = (message["content"] for message in request["messages"][:2])
    if "accuracy" in system:
        return says('{"accuracy": 1, "correctness": 0.5, "coherence": 1}')
    if "gold answer" in system:
        is_right = "generous" in system or "Answer: Oslo" in user
        return says('{"reason": "so", "label": "%s"}' % ("CORRECT" if is_right else "WRONG"))
    return says("Oslo" if "Ida" in user.partition("Question:")[2] else "No information available.")


def document(result):
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_answers_are_scored_by_category_and_by_system(answers, model):
    found = document(answers(model, "--json", "--limit", "5", "--ablation", "--judge", "--plot", "bars.png"))
    assert sorted(found["systems"]) == sorted(SYSTEMS)
    for system in found["systems"].values():
        assert list(system) == ["overall", "1", "2", "3", "4", "5", "unanswered", "unjudged", "cost"]
        assert system["overall"]["questions"] == 4  # without category 5
        assert system["5"]["f1"] == 1
        assert set(system["5"]) == {"questions", "f1", "interval"}
        assert system["4"]["f1"] == pytest.approx(2 / 3, abs=1e-4)  # Oslo, of "Oslo Zanzibar"
        assert (system["4"]["judge_strict"], system["1"]["judge_strict"]) == (1, 0)
        assert system["overall"]["judge_lenient"] == 1
        assert system["unjudged"] == 0
        assert system["cost"]["calls"] == 1
        assert system["cost"]["answer_ms"]["p95"] >= system["cost"]["context_ms"]["p50"] >= 0
    costs = {name: system["cost"] for name, system in found["systems"].items()}
    assert costs["none"]["context_tokens"] == 0 < costs["full"]["context_tokens"]
    assert found["dataset"]["name"] == "locomo"
    assert found["reader"]["model"] == found["judge"]["model"] == "reader"


def test_the_reader_is_asked_without_any_randomness(answers, model):
    assert answers(model, "--system", "context").returncode == 0
    assert {request["temperature"] for request in model.requests} == {0}


def test_a_second_run_asks_nobody(answers, model):
    first = document(answers(model, "--json", "--judge", "--cache", "cache.jsonl", "--system", "bm25"))
    asked = len(model.requests)
    assert first["reader"]["calls"] + first["judge"]["calls"] == asked == 5 + 4 * 2
    second = document(answers(model, "--json", "--judge", "--cache", "cache.jsonl", "--system", "bm25"))
    assert len(model.requests) == asked
    assert second["reader"]["calls"] == second["judge"]["calls"] == 0
    assert second["systems"]["bm25"]["overall"] == first["systems"]["bm25"]["overall"]


def test_a_run_that_was_cut_off_goes_on_where_it_was(answers, model, tmp_path):
    model.will(says("Oslo"), says("Oslo"), Reply(status=400))
    failed = answers(model, "--cache", "cache.jsonl", "--system", "none", "--system", "full")
    assert failed.returncode == 4
    kept = (tmp_path / "cache.jsonl").read_text("utf-8").splitlines()
    assert 2 <= len(kept) < 10
    with (tmp_path / "cache.jsonl").open("a", encoding="utf-8") as file:
        file.write(kept[0][:20])  # killed in the middle of a line
    model.requests.clear()
    done = document(answers(model, "--json", "--cache", "cache.jsonl", "--system", "none", "--system", "full"))
    assert done["reader"]["calls"] == len(model.requests) == 10 - len(kept)


def test_an_interrupted_run_goes_on_where_it_was(command, data, answers, model):
    model.otherwise = lambda request: Reply(("Oslo",), delay_seconds=0.2)
    rest = ("--system", "none", "--system", "full", "--cache", "cache.jsonl")
    started = command("answers", "--data", data, "--embedder", "hashing", *rest, **endpoint(model))
    with subprocess.Popen(**started, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not model.requests:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) != 0
    asked = len(model.requests)
    assert asked < 10
    done = document(answers(model, "--json", *rest))
    assert done["reader"]["calls"] == 10 - asked
    assert len(model.requests) == 10


def test_without_the_extra_the_command_names_it(command, data, tmp_path):
    blocked = tmp_path / "blocked" / "nltk"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise ImportError('no nltk')", "utf-8")
    started = command("answers", "--data", data, "--export", "prompts.jsonl", PYTHONPATH=str(blocked.parent))
    result = subprocess.run(**started, capture_output=True, timeout=300)
    assert result.returncode == 1
    assert "pip install 'memoryos-engine[bench]'" in result.stderr


def test_an_export_holds_no_gold(answers, tmp_path):
    found = document(answers(None, "--export", "prompts.jsonl", "--ablation", "--json"))
    text = (tmp_path / "prompts.jsonl").read_text("utf-8")
    assert SECRET not in text
    lines = [json.loads(line) for line in text.splitlines()]
    assert {name: one["prompts"] for name, one in found["systems"].items()} == dict.fromkeys(SYSTEMS, len(QUESTIONS))
    assert len(lines) == len(SYSTEMS) * len(QUESTIONS)
    assert found["systems"]["none"]["context_tokens"] == 0 < found["systems"]["full"]["context_tokens"]
    assert {line["system"] for line in lines} == set(SYSTEMS)
    for line in lines:
        assert set(line) == {"id", "dataset", "system", "question", "context", "prompt"}
        assert line["context"] in line["prompt"][1]["content"]
        assert line["question"] in line["prompt"][1]["content"]
    full = next(line for line in lines if line["system"] == "full")
    assert all(words in full["context"] for turns in SESSIONS.values() for _, words in turns)


def test_a_context_does_not_depend_on_what_was_asked_before(answers, tmp_path):
    """Else a run that goes on would not find its prompts in the cache."""
    answers(None, "--export", "some.jsonl", "--system", "context", "--system", "two_stage")
    answers(None, "--export", "all.jsonl", "--system", "bm25", "--system", "two_stage", "--system", "context")
    some, every = ((tmp_path / name).read_text("utf-8").splitlines() for name in ("some.jsonl", "all.jsonl"))
    assert len(some) == 2 * len(QUESTIONS)
    assert set(some) < set(every)


def test_the_papers_search_hands_over_the_summaries_of_chains_and_its_ablation_does_not(answers, locomo, tmp_path):
    kept = " and then I painted the fence of the old parrot house once more"
    said = [(f"D1:{number}", f"On day {number} Ida fed the parrot{kept}.") for number in range(1, 41)]
    data = locomo(sample({"session_1": said}))
    answers(None, "--export", "prompts.jsonl", "--system", "two_stage", "--system=-chain", file=data)
    lines = [json.loads(line) for line in (tmp_path / "prompts.jsonl").read_text("utf-8").splitlines()]
    titled = {line["system"]: line["context"].partition("## Conversation chain overview\n") for line in lines}
    (before, title, overview), whole = titled["two_stage"], titled["-chain"]
    assert title
    assert before.endswith("\n\n")
    assert "parrot" in overview.partition("## ")[0]
    assert whole == (before + overview.partition("\n\n")[2], "", "")


def test_prompts_do_not_tell_the_category(answers, tmp_path):
    answers(None, "--export", "prompts.jsonl", "--system", "none")
    lines = [json.loads(line) for line in (tmp_path / "prompts.jsonl").read_text("utf-8").splitlines()]
    without = {json.dumps(line["prompt"]).replace(line["question"], "") for line in lines}
    assert len(without) == 1


def test_an_exported_line_with_an_answer_is_scored(answers, tmp_path):
    answers(None, "--export", "prompts.jsonl", "--system", "bm25", "--system=-stm")
    lines = [json.loads(line) for line in (tmp_path / "prompts.jsonl").read_text("utf-8").splitlines()]
    given = [{**line, "answer": "Oslo" if "Ida" in line["question"] else "not mentioned"} for line in lines]
    write(tmp_path / "answers.jsonl", given)
    found = document(answers(None, "--answers", "answers.jsonl", "--json"))
    assert list(found["systems"]) == ["bm25", "-stm"]
    assert found["reader"] is None
    for system in found["systems"].values():
        assert system["4"]["f1"] == pytest.approx(2 / 3, abs=1e-4)
        assert system["5"]["f1"] == 1
        assert system["cost"]["answer_ms"] == {}
    told = {name: system["cost"]["context_tokens"] for name, system in found["systems"].items()}
    assert 0 < told["-stm"] < told["bm25"]  # the short talk is still in STM: without it, its facts are told alone


def test_answers_alone_are_scored_and_judged(answers, model, tmp_path):
    write(tmp_path / "answers.jsonl", [{"id": "conv-1/3", "answer": "Oslo"}])
    found = document(answers(model, "--answers", "answers.jsonl", "--judge-model", "judge", "--json"))
    given = found["systems"]["given"]
    assert (given["overall"]["questions"], given["unanswered"]) == (1, len(QUESTIONS) - 1)
    assert (given["4"]["judge_strict"], given["4"]["judge_lenient"]) == (1, 1)
    assert given["cost"]["context_tokens"] is None
    assert {request["model"] for request in model.requests} == {"judge"}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 1"),
        ('{"id": "conv-1/3"}', "answer: Field required"),
        ('{"id": "conv-9/3", "answer": "Oslo"}', "no question has the id 'conv-9/3'"),
        (
            '{"id": "conv-1/3", "answer": "a"}\n{"id": "conv-1/3", "answer": "b"}',
            "line 2: 'conv-1/3' is answered twice",
        ),
        ("", "has no answer to any of the questions"),
    ],
)
def test_a_broken_answers_file_is_named(answers, tmp_path, line, problem):
    (tmp_path / "answers.jsonl").write_text(line, "utf-8")
    result = answers(None, "--answers", "answers.jsonl")
    assert result.returncode == 2
    assert problem in result.stderr
    assert "--export" in result.stderr or "Keep one" in result.stderr


def test_a_file_that_is_no_cache_is_left_alone(answers, model, tmp_path):
    other = tmp_path / "other.json"
    other.write_text('{"precious": 1}', "utf-8")
    result = answers(model, "--cache", "other.json", "--system", "none")
    assert result.returncode == 2
    assert "--cache" in result.stderr
    assert other.read_text("utf-8") == '{"precious": 1}'


@pytest.mark.parametrize("option", ["--cache", "--export", "--plot"])
def test_a_file_that_could_not_be_written_is_refused_before_the_run(answers, model, option):
    result = answers(model, option, "nowhere/file.png")
    assert result.returncode == 2
    assert f"{option}: the folder nowhere does not exist" in result.stderr
    assert model.requests == []


def test_an_endpoint_that_does_not_answer_ends_the_run(answers, model):
    model.otherwise = lambda _: Reply(status=503)
    result = answers(model, "--system", "none")
    assert result.returncode == 4
    assert "the chat model failed" in result.stderr


def test_without_an_endpoint_nothing_is_read(answers):
    result = answers(None, "--system", "none")
    assert result.returncode == 4
    assert "MEMORYOS_LLM_MODEL" in result.stderr


def test_a_verdict_that_cannot_be_read_is_left_out_and_counted(answers, model):
    model.otherwise = lambda request: says("who knows") if "gold" in request["messages"][0]["content"] else says("x")
    found = document(answers(model, "--system", "none", "--judge", "--json"))
    assert found["systems"]["none"]["unjudged"] == 4
    assert "judge_strict" not in found["systems"]["none"]["overall"]
    assert "4 answers have no verdict that could be read" in answers(model, "--system", "none", "--judge").stdout


def test_the_judges_server_does_not_get_the_readers_key(bench, data, model):
    with scripted_model() as judge:
        judge.otherwise = answered
        variables = {"MEMORYOS_LLM_MODEL": "reader", "MEMORYOS_LLM_BASE_URL": model.url}
        keys = {"MEMORYOS_LLM_API_KEY": "key-of-reader", "MEMORYOS_JUDGE_API_KEY": "key-of-judge"}
        asked = ("answers", "--data", data, "--embedder", "hashing", "--system", "none", "--judge")
        elsewhere = ("--judge-base-url", judge.url)
        assert bench(*asked, *elsewhere, **variables, **keys).returncode == 0
        assert set(judge.keys) == {"key-of-judge"}
        judge.keys.clear()
        assert bench(*asked, *elsewhere, **variables, MEMORYOS_LLM_API_KEY="key-of-reader").returncode == 0
        assert "key-of-reader" not in judge.keys
        assert set(model.keys) == {"key-of-reader"}


def test_a_budget_holds_what_fits_and_a_window_the_latest(answers, locomo, tmp_path):
    long = {f"session_{day}": [(f"D{day}:1", f"word{day} " * 60), (f"D{day}:2", f"reply{day}")] for day in range(1, 9)}
    path = locomo(sample(long))
    answers(None, "--export", "p.jsonl", "--tokens", "200", "--window", "250", "--system", "full", file=path)
    lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text("utf-8").splitlines()]
    assert "reply8" in lines[0]["context"]
    assert "word1 " not in lines[0]["context"]


def test_tables_are_as_in_the_papers(answers, model):
    shown = answers(model, "--judge").stdout
    assert "F1 / B1" in shown
    assert "strict / lenient" in shown
    assert all(name in shown for name in ("multi-hop", "temporal", "adversarial", "rouge_l", "prompt"))
    assert "…" not in shown, "every column is whole on a terminal of 100 columns"


def test_questions_without_a_time_are_asked_when_the_talk_ends(answers, locomo, tmp_path):
    path = locomo(sample({"session_1": [("D1:1", "I adopted a parrot."), ("D1:2", "How nice!")]}))
    answers(None, "--export", "p.jsonl", "--system", "context", file=path)
    lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text("utf-8").splitlines()]
    assert any("Today is 8 May 2023" in line["context"] for line in lines)
    assert all(str(datetime.now(UTC).year) not in json.dumps(line) for line in lines)


def test_a_recall_set_with_answers_is_asked_as_of_its_moments(answers, model, tmp_path):
    turns = [
        {"id": "a", "role": "user", "text": "My boss is Kim.", "at": "2024-03-01T10:00:00"},
        {"id": "b", "role": "user", "text": "My boss is Lee now.", "at": "2024-05-01T10:00:00"},
    ]
    asked = {"user": "u", "text": "Who is my boss?", "evidence": [["a"]]}
    questions = [
        {**asked, "type": "early", "answer": "Kim", "at": "2024-04-01T10:00:00"},
        {**asked, "type": "late", "answer": f"Lee {SECRET}"},
        asked,
    ]
    path = tmp_path / "own.json"
    sessions = [{"name": "s", "turns": turns}]
    content = {"name": "own", "conversations": [{"user": "u", "sessions": sessions}], "questions": questions}
    path.write_text(json.dumps(content), "utf-8")
    model.otherwise = lambda request: says("Lee" if "Lee" in text(request) else "Kim")
    found = document(answers(model, "--json", "--system", "context", "--system", "full", "--limit", "2", file=path))
    assert found["dataset"]["name"] == "own"
    for system in found["systems"].values():
        assert {name: system[name]["questions"] for name in ("overall", "early", "late")} == {
            "overall": 2,
            "early": 1,
            "late": 1,
        }
        assert system["early"]["f1"] == 1
        assert system["late"]["f1"] == pytest.approx(2 / 3, abs=1e-4)
    assert SECRET not in "".join(map(text, model.requests))
    assert found["ingest"]["ours"]["model_calls"] == 0


@pytest.mark.parametrize(("answer", "read"), [(True, "true"), (False, "false"), (7, "7"), (1.5, "1.5"), ("1", "1")])
def test_an_answer_that_is_no_text_is_read_as_the_file_has_it(tmp_path, answer, read):
    path = tmp_path / "own.json"
    talk = {"user": "u", "sessions": [{"turns": [{"id": "a", "role": "user", "text": "Yes."}]}]}
    asked = {"user": "u", "text": "Is it?", "evidence": [["a"]], "answer": answer}
    path.write_text(json.dumps({"conversations": [talk], "questions": [asked]}), "utf-8")
    assert read_recall_questions(InputFiles(path)).gold["u/0"].answer == read


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


# GVD: no gold answers


@pytest.fixture
def bank(tmp_path):
    history = {
        "2023-04-27": [{"query": "I went to Green Wheat Park.", "response": "How was the park?"}],
        "2023-04-28": [{"query": "I saw swans there.", "response": "Lovely!"}],
    }
    path = tmp_path / "bank.json"
    path.write_text(json.dumps({"Emily": {"name": "Emily", "history": history}, "李华": {"history": history}}), "utf-8")
    return path


@pytest.fixture
def probes(tmp_path):
    path = tmp_path / "probes.jsonl"
    own = {"user": "李华", "question": "我去了哪个公园？", "lang": "zh", "evidence": ["2023-04-27#1q"]}
    write(path, [{"Emily": ["Which park did I visit?", "What did I see there?"]}, own])
    return path


def test_gvd_is_judged_by_the_dialogue(answers, model, bank, probes):
    systems = ("--system", "context", "--system", "two_stage")
    found = document(answers(model, "--questions", probes, "--judge", "--json", *systems, file=bank))
    for system in found["systems"].values():
        assert {name: system[name]["questions"] for name in ("overall", "en", "zh")} == {"overall": 3, "en": 2, "zh": 1}
        measured = {name: system["overall"][name] for name in ("accuracy", "correctness", "coherence")}
        assert measured == {"accuracy": 1, "correctness": 0.5, "coherence": 1}
    judged = [text(request) for request in model.requests if "accuracy" in text(request)]
    chinese = [prompt for prompt in judged if "哪个公园" in prompt]
    assert all("swans" in prompt.partition("<retrieved")[0] for prompt in judged if prompt not in chinese)
    assert not any("swans" in prompt.partition("<retrieved")[0] for prompt in chinese)  # only its evidence


def test_gvd_needs_a_judge_and_its_contexts(answers, model, bank, probes, tmp_path):
    result = answers(model, "--questions", probes, file=bank)
    assert result.returncode == 2
    assert "--judge" in result.stderr
    write(tmp_path / "answers.jsonl", [{"id": "Emily/0", "answer": "Green Wheat Park"}])
    given = ("--questions", probes, "--answers", "answers.jsonl", "--judge")
    assert "a line has no context" in answers(model, *given, file=bank).stderr
    answers(None, "--questions", probes, "--export", "prompts.jsonl", "--system", "bm25", file=bank)
    lines = [json.loads(line) for line in (tmp_path / "prompts.jsonl").read_text("utf-8").splitlines()]
    write(tmp_path / "answers.jsonl", [{**line, "answer": "Green Wheat Park"} for line in lines])
    assert document(answers(model, *given, "--json", file=bank))["systems"]["bm25"]["overall"]["accuracy"] == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[]", "line 1"),
        ("{", "is not JSON"),
        ('{"Bob": ["Who am I?"]}', "'Bob' is not in"),
        ('{"user": "Emily", "question": "?", "evidence": ["D1"]}', "evidence 'D1' is not a turn of Emily"),
    ],
)
def test_a_broken_questions_file_is_named(answers, model, bank, tmp_path, line, problem):
    (tmp_path / "probes.jsonl").write_text(line, "utf-8")
    result = answers(model, "--questions", "probes.jsonl", "--judge", file=bank)
    assert result.returncode == 2
    assert problem in result.stderr


def text(request):
    return "\n".join(message["content"] for message in request["messages"])
