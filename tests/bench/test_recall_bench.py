"""`memoryos bench recall`, as a person and a program use it."""

from __future__ import annotations

import json

import pytest

from memoryos.bench import dataset
from memoryos.bench.dataset import is_locomo
from memoryos.bench.metrics import TOKEN_BUDGETS
from memoryos.errors import InvalidInput
from memoryos.importers import source

from .allotment import CONVERSATIONS, QUESTIONS, SPRING, ask, recall_set, talk, turn
from .talk import talk as locomo_talk

WAYS = ["context", "hybrid", "bm25", "linear", "dense"]
BUDGETS = list(map(str, TOKEN_BUDGETS))


@pytest.fixture
def measured(bench):
    """measured(path, argument, ...): what the command prints as JSON."""

    def run(path, *arguments):
        result = bench("recall", "--data", path, *arguments, "--embedder", "hashing", "--json")
        assert result.returncode == 0, result.stderr
        assert result.stderr == ""
        return json.loads(result.stdout)

    return run


@pytest.fixture
def garden(tmp_path):
    """garden(conversations, questions): the path of a file of these."""

    def write(conversations=CONVERSATIONS, questions=QUESTIONS, **more):
        return recall_set(tmp_path / "garden.json", conversations, questions, **more)

    return write


@pytest.fixture
def allotments(garden):
    """The path of six people's talks; half of the questions are answered in so many words, half hardly are."""
    users = [f"user{number}" for number in range(6)]
    chatter = [turn(f"c{number}", f"Rain {number}: " + "the water butt is full again. " * 40) for number in range(5)]
    said = [talk(user, ("s", [*chatter, turn("1", f"My spade is {user}."), turn("2", "Moles.")])) for user in users]
    hers = [ask(f"Whose spade is {user}?", ["1"], user=user, type="hers") for user in users]
    lost = [ask("Is the water butt full?", ["2"], ["c1"], user=user, type="lost") for user in users]
    return garden(said, [*hers, *lost])


def test_a_table_in_a_pipe_is_not_cut_at_80_characters(bench, garden):
    result = bench("recall", "--data", garden(), "--embedder", "hashing", COLUMNS="")
    assert result.returncode == 0, result.stderr
    assert max(map(len, result.stdout.splitlines())) > 80
    assert "…" not in result.stdout


def tables(bench, path, *arguments):
    """The tables that a person reads: one dict for each row, by the heads of the columns."""
    result = bench("recall", "--data", path, *arguments, "--embedder", "hashing", COLUMNS="120")
    assert result.returncode == 0, result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 120
    found = []
    for line in result.stdout.splitlines():
        if line.startswith("┃"):
            heads = [cell.strip() for cell in line.strip("┃").split("┃")]
            found.append([])
        elif line.startswith("│"):
            cells = [cell.strip() for cell in line.strip("│").split("│")]
            found[-1].append(dict(zip(heads, cells, strict=True)))
    return found


def percent(fraction):
    return f"{100 * fraction:.1f}"


def interval(bounds):
    return " to ".join(map(percent, bounds))


def lead(group):
    """What a table shows of the difference to the best baseline."""
    ahead = {name: f"{100 * value:+.1f}" for name, value in group["difference"]["1024"].items()}
    return f"{ahead['mean']} ({ahead['low']} to {ahead['high']})", group["difference"]["baseline"]["1024"]


def overall(found, way="hybrid", name="garden"):
    return found["datasets"][name]["results"][way]["overall"]


def test_what_a_program_reads(measured, garden, tmp_path):
    found = measured(garden(), "--plot", "recall.png")
    assert list(found) == ["datasets", "embedder", "machine", "version"]
    dataset = found["datasets"]["garden"]
    assert list(dataset["results"]) == list(dataset["search_ms"]) == WAYS
    for way, groups in dataset["results"].items():
        assert list(groups) == ["overall", "photo", "two steps"]
        assert [group["questions"] for group in groups.values()] == [2, 1, 1]
        for group in groups.values():
            assert list(group["tokens"]) == list(group["tokens_attainable"]) == BUDGETS
            assert list(group["turns"]) == ([] if way == "context" else ["5", "10", "20", "50"])
            assert list(group["sessions"]) == ([] if way == "context" else ["5", "10"])
            assert list(group["interval"]["questions"]) == BUDGETS
            assert all(low <= high for low, high in group["interval"]["questions"].values())
            assert list(group["difference"]) == ["baseline", *BUDGETS]
            assert set(group["difference"]["baseline"].values()) <= {"bm25", "linear", "dense"}
            assert set(group["difference"]["1024"]) == {"mean", "low", "high"}
        assert set(dataset["search_ms"][way]) == {"p50", "p95"}
    counted = {name: dataset[name] for name in ("questions", "memories", "turns", "malformed")}
    assert counted == {"questions": 2, "memories": 1, "turns": 5, "malformed": 0}
    assert len(dataset["sha256"]) == 64
    assert found["embedder"] == "hashing-384-v1"
    assert (tmp_path / "recall.png").read_bytes().startswith(b"\x89PNG")
    assert list((tmp_path / "scratch").iterdir()) == []


def test_five_short_turns_are_all_recalled(measured, garden):
    found = measured(garden())
    for way in WAYS:
        assert overall(found, way)["tokens"]["512"] == overall(found, way)["tokens_attainable"]["512"] == 1
    assert overall(found)["turns"]["5"] == overall(found)["sessions"]["5"] == 1
    assert overall(found)["interval"] == {"questions": {budget: [1, 1] for budget in BUDGETS}, "memories": {}}
    assert overall(found)["difference"]["512"] == {"mean": 0, "low": 0, "high": 0}


def beds(*words):
    """A turn about each of the words, with sixty more words about nothing, which no other turn says."""
    hours = ("noon", "dawn", "dusk", "night", "lunch", "supper", "tea")
    return [
        turn(word, f"The {word} bed. " + "".join(f"It was long {place} until {hour} again. " for hour in hours))
        for place, word in enumerate(words)
    ]


def test_a_group_is_found_by_any_of_its_turns(measured, garden):
    """One turn names the okra, and 256 tokens hold three of the ten."""
    plants = ["leek", "bean", "chard", "onion", "beet", "cress", "dill", "kale", "maize", "okra"]
    said = [talk("mara", ("s", beds(*plants)))]
    groups = {"any": [plants], "okra": [["okra"]], "each": [[plant] for plant in plants]}
    asked = [ask("Okra?", *evidence, type=name) for name, evidence in groups.items()]
    found = measured(garden(said, asked), "--strategy", "bm25")["datasets"]["garden"]["results"]["bm25"]
    assert found["any"]["tokens"]["256"] == found["okra"]["tokens"]["256"] == 1
    assert found["each"]["tokens"]["256"] < 0.5
    assert found["any"]["turns"]["5"] == 1
    assert found["each"]["turns"]["5"] <= 0.5


def test_context_is_counted_from_its_own_text(measured, garden):
    """Only the turns that go into the text count: of thirty long ones, 256 tokens hold a few at most."""
    said = [talk("mara", ("s", beds(*(f"number{number}" for number in range(30)))))]
    everything = ask("Which beds?", *([f"number{number}"] for number in range(30)))
    found = overall(measured(garden(said, [everything])), "context")
    assert found["tokens"]["256"] <= 4 / 30
    assert found["tokens"]["256"] <= found["tokens"]["1024"] <= found["tokens"]["4096"]
    assert 0.2 < found["tokens"]["4096"] < 1.01


def test_what_is_attainable_divides(measured, garden):
    """All thirty turns answer, of which 256 tokens hold three: who finds three has found all that can be had."""
    names = [f"number{number}" for number in range(30)]
    everything = ask("The beds in the garden?", *([name] for name in names))
    found = overall(measured(garden([talk("mara", ("s", beds(*names)))], [everything])), "bm25")
    assert found["tokens"]["256"] < 0.2
    assert found["tokens_attainable"]["256"] == 1
    assert found["tokens"]["4096"] == found["tokens_attainable"]["4096"] == 1


def test_evidence_that_names_no_turn_is_reported_and_left_out(bench, measured, garden):
    asked = [ask("Leeks?", ["a1", "z9"], ["z1"], []), ask("Tape?", ["z2"]), ask("Rain?")]
    found = measured(garden(questions=asked))
    assert (found["datasets"]["garden"]["malformed"], found["datasets"]["garden"]["questions"]) == (3, 1)
    assert overall(found)["tokens"]["4096"] == 1
    shown = " ".join(bench("recall", "--data", garden(questions=asked), "--embedder", "hashing").stdout.split())
    assert "Groups of evidence that name no turn, left out: 3." in shown
    assert "Questions without evidence, not asked: 2." in shown


def test_several_conversations_of_a_user_are_one_memory(measured, garden):
    shed = talk("mara", ("spring", [turn("c1", "The shed key hangs on the pear tree.", at="2023-01-01T00:00:00Z")]))
    other = talk("ben", ("spring", [turn("a1", "I keep bees.")]))
    asked = [*QUESTIONS, ask("Where is the shed key?", ["c1"], type="two steps"), ask("Bees?", ["a1"], user="ben")]
    found = measured(garden([*CONVERSATIONS, other, shed], asked))
    assert found["datasets"]["garden"]["memories"] == 2
    assert found["datasets"]["garden"]["turns"] == 7
    assert overall(found)["tokens"]["512"] == 1
    assert overall(found)["interval"]["memories"] == {budget: [1, 1] for budget in BUDGETS}


@pytest.mark.parametrize(("at", "found"), [("2024-03-03T00:00:00Z", 0.5), ("2024-03-20T00:00:00Z", 1), (None, 1)])
def test_a_question_is_asked_when_the_file_says(measured, garden, at, found):
    early, late = turn("a", "I sowed leeks."), turn("b", "The leeks have come up.")
    said = [talk("mara", ("s", [{**early, "at": "2024-03-02T09:00:00Z"}, {**late, "at": "2024-03-12T09:00:00Z"}]))]
    asked = [{**ask("What about the leeks?", ["a"], ["b"]), **({"at": at} if at else {})}]
    results = measured(garden(said, asked))
    for way in ("context", "hybrid", "bm25"):
        assert overall(results, way)["tokens"]["1024"] == found


def test_a_set_in_chinese(measured, garden):
    said = [
        turn("一", "我在阳台上种了番茄。", speaker="美兰", at="2024-04-01T08:00:00Z"),
        turn("二", "番茄需要很多阳光。", "assistant"),
        turn("三", "昨天我把自行车送去修了。", speaker="美兰"),
    ]
    found = measured(garden([talk("美兰", ("春天", said))], [ask("番茄种在哪里？", ["一"], user="美兰", type="地点")]))
    assert list(found["datasets"]["garden"]["results"]["bm25"]) == ["overall", "地点"]
    for way in WAYS:
        assert overall(found, way)["tokens"]["1024"] == 1


def test_locomo_is_told_by_its_shape(measured, locomo):
    found = measured(locomo(locomo_talk("conv-1"), locomo_talk("conv-2")))
    dataset = found["datasets"]["locomo"]
    assert list(dataset["results"]["hybrid"]) == ["overall", "multi-hop", "single-hop", "temporal"]
    assert (dataset["questions"], dataset["memories"], dataset["turns"], dataset["malformed"]) == (6, 2, 14, 4)
    assert overall(found, name="locomo")["tokens"]["1024"] == 1


def test_locomo_by_both_commands_is_the_same(bench, measured, locomo):
    asked = bench("locomo", "--data", locomo(), "--strategy", "hybrid", "--embedder", "hashing", "--json")
    expected = json.loads(asked.stdout)["results"]["hybrid"]["overall"]
    found = overall(measured(locomo()), name="locomo")
    for name in ("tokens", "tokens_attainable", "turns", "sessions"):
        assert found[name] == expected[name]
    assert found["interval"]["questions"] == expected["interval"]["tokens"]


def test_several_files_by_their_names(measured, garden, locomo):
    found = measured(garden(name="allotment"), "--data", locomo(), "--strategy", "linear")
    assert list(found["datasets"]) == ["allotment", "locomo"]
    assert list(found["datasets"]["allotment"]["results"]) == ["context", "linear"]


def test_without_a_baseline_there_is_no_difference(measured, garden):
    assert overall(measured(garden(), "--strategy", "hybrid"), "context")["difference"] == {}


def test_an_ablation_beside_the_strategies(measured, garden):
    ways = list(measured(garden(), "--strategy", "bm25", "--ablation")["datasets"]["garden"]["results"])
    assert ways[:3] == ["context", "bm25", "hybrid - words"]


def test_a_limit_spreads_over_the_questions_and_loads_what_they_are_about(measured, garden):
    users = [f"user{number}" for number in range(6)]
    said = [talk(user, ("s", [turn("1", f"I am {user}.")])) for user in users]
    found = measured(garden(said, [ask("Who?", ["1"], user=user) for user in users]), "--limit", "3")
    dataset = found["datasets"]["garden"]
    assert (dataset["questions"], dataset["memories"], dataset["turns"]) == (3, 3, 3)


def test_what_a_person_reads(bench, garden):
    result = bench("recall", "--data", garden(), "--embedder", "hashing")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    shown = " ".join(result.stdout.split())
    for told in (
        "garden, embedder hashing-384-v1; questions: 2, memories: 1, turns: 5",
        "@4,096",
        "10 turns",
        "5 sessions",
        "ms",
        *WAYS,
    ):
        assert told in shown


def test_the_tables_hold_what_a_program_reads(bench, measured, allotments):
    read = measured(allotments)["datasets"]["garden"]["results"]
    _, certainty, types = tables(bench, allotments)
    intervals_and_leads_are_told(certainty, read)
    recall_by_type_is_told(types, read)


def intervals_and_leads_are_told(certainty, read):
    rows = {(row[""], row["within"]): row for row in certainty}
    assert list(rows) == [(way, within) for way in WAYS for within in ("@1,024", "@4,096")]
    for way in WAYS:
        group, row = read[way]["overall"], rows[way, "@1,024"]
        assert row["recall"] == percent(group["tokens"]["1024"])
        assert row["other questions"] == interval(group["interval"]["questions"]["1024"])
        assert row["other memories"] == interval(group["interval"]["memories"]["1024"])
        assert row["attained"] == percent(group["tokens_attainable"]["1024"])
        assert (row["ahead"], row["of"]) == lead(group)


def recall_by_type_is_told(types, read):
    assert [(row[""], row["asked"]) for row in types] == [("hers", "6"), ("lost", "6")]
    for row in types:
        group = read["context"][row[""]]
        assert [row[way] for way in WAYS[1:]] == [percent(read[way][row[""]]["tokens"]["1024"]) for way in WAYS[1:]]
        assert row["interval"] == interval(group["interval"]["questions"]["1024"])
        assert (row["ahead"], row["of"]) == lead(group)


def test_with_one_user_and_no_type_there_is_no_interval_over_memories_and_no_table_of_types(bench, garden):
    _, certainty = tables(bench, garden(questions=[ask("Which wood?", ["a3"])]))
    assert {row["other memories"] for row in certainty} == {"-"}


def test_without_a_baseline_the_tables_show_no_lead(bench, garden):
    _, certainty, types = tables(bench, garden(), "--strategy", "hybrid")
    assert {(row["ahead"], row["of"]) for row in [*certainty, *types]} == {("-", "-")}


@pytest.mark.parametrize(
    ("conversations", "questions", "told"),
    [
        (CONVERSATIONS, [], "has no question"),
        (CONVERSATIONS, [ask("Who?", ["z"])], "has no question"),
        (CONVERSATIONS, [ask("Who?", ["a1"], type="overall")], "type 'overall'"),
        (CONVERSATIONS, [ask("Who?", ["a1"], user="ben")], "questions.0.user"),
        ([talk("mara", ("s", [*SPRING, *SPRING]))], QUESTIONS, "turn id 'a1' twice"),
        ([talk("mara", ("s", [turn("a1", "Hi.", "robot")]))], QUESTIONS, "turns.0.role"),
    ],
)
def test_data_that_cannot_be_measured_is_refused(bench, garden, conversations, questions, told):
    result = bench("recall", "--data", garden(conversations, questions), "--embedder", "hashing")
    assert result.returncode == 2
    assert told in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("content", "told"),
    [("{", "truncated"), ("{}", "conversations: Field required"), ("[]", "has no question"), ("7", "garden.json")],
)
def test_a_file_of_another_shape_is_refused(bench, tmp_path, content, told):
    (tmp_path / "garden.json").write_text(content, "utf-8")
    result = bench("recall", "--data", "garden.json", "--embedder", "hashing")
    assert result.returncode == 2
    assert told in result.stderr
    assert "Traceback" not in result.stderr


def test_a_question_that_the_store_refuses_is_named_with_its_file(bench, garden):
    told = bench("recall", "--data", garden(questions=[ask("Why? " * 3_000, ["a1"])]), "--embedder", "hashing")
    assert told.returncode == 2
    assert "garden.json at questions.0.text: " in told.stderr
    loud = talk("mara", ("s", [{**turn("a1", "Hi."), "speaker": "s" * 300}]))
    told = bench("abstention", "--data", garden([loud], [ask("Who?", ["a1"])]), "--embedder", "hashing")
    assert told.returncode == 2
    assert "garden.json at mara, s, a1.speaker: has 300 characters" in told.stderr


def test_names_are_shown_as_they_are(bench, garden):
    questions = [ask("Which wood?", ["a3"], type="[/red] wood"), ask("Slugs?", ["b1"], type="[bold]slugs")]
    path = garden(questions=questions, name="my [/] garden [red]")
    for command in ("recall", "abstention"):
        result = bench(command, "--data", path, "--embedder", "hashing", COLUMNS="200")
        assert result.returncode == 0, result.stderr
        assert "my [/] garden [red]" in result.stdout
        assert command == "abstention" or all(name in result.stdout for name in ("[/red] wood", "[bold]slugs"))


@pytest.mark.parametrize("limit", ["MOST_BYTES", "MOST_VALUES"])
def test_a_file_is_measured_before_it_is_parsed(garden, monkeypatch, limit):
    path = garden()
    monkeypatch.setattr(source, limit, 10)
    monkeypatch.setattr(dataset, "from_json", None)
    with pytest.raises(InvalidInput, match=r"garden\.json"):
        is_locomo(path)


def test_two_files_of_one_name_are_refused(bench, garden):
    result = bench("recall", "--data", garden(), "--data", garden(), "--embedder", "hashing")
    assert result.returncode == 2
    assert "'garden' is the name of two data sets" in result.stderr
    missing = bench("recall", "--data", "missing.json", "--embedder", "hashing")
    assert missing.returncode == 2
    assert "missing.json" in missing.stderr
