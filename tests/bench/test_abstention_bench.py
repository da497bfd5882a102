"""`memoryos bench abstention`, as a person and a program use it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from memoryos.bench.abstention import Roc
from memoryos.bench.never_said import NEVER, OPEN, questions_about
from memoryos.cube import Turn
from memoryos.importers.dialogue import Conversation, Session
from memoryos.kinds import Role

from .allotment import CONVERSATIONS, ask, recall_set, talk, turn
from .talk import talk as locomo_talk


@pytest.fixture
def measured(bench):
    """measured(path, argument, ...): what the command prints as JSON."""

    def run(path, *arguments, **variables):
        result = bench("abstention", "--data", path, *arguments, "--embedder", "hashing", "--json", **variables)
        assert result.returncode == 0, result.stderr
        assert result.stderr == ""
        return json.loads(result.stdout)

    return run


SAID = ask("Where did the spinach grow on day 7?", ["d7"])
IN_OTHER_WORDS = ask("Which vegetables flourished near some wooden hut?", ["d3"])


def garden(tmp_path, *asked, days=80):
    """Somebody who says the same of many beds."""
    beds = [turn(f"d{day}", f"On day {day} the spinach grew beside the old shed.") for day in range(days)]
    return recall_set(tmp_path / "garden.json", [talk("mara", ("s", beds))], asked)


def test_what_a_program_reads(measured, locomo, tmp_path):
    found = measured(locomo(locomo_talk()), "--plot", "roc.svg")
    assert list(found) == ["datasets", "threshold", "embedder", "machine", "version"]
    dataset = found["datasets"]["locomo"]
    assert list(dataset) == ["never_said", "adversarial", "refused", "recall_lost", "questions", "sha256"]
    assert dataset["questions"] == {"answerable": 3, "never_said": 70, "open": 14, "adversarial": 1}
    for name in ("never_said", "adversarial"):
        curve = dataset[name]
        assert list(curve) == ["auc", "caught", "ece", "points"]
        assert curve["points"][0] == [0, 0]
        assert curve["points"][-1] == [1, 1]
        assert curve["points"] == sorted(curve["points"])
        assert 0 <= curve["ece"] <= 1
    assert list(dataset["refused"]) == ["answerable", "open"]
    assert (tmp_path / "roc.svg").read_text("utf-8").startswith("<?xml")
    assert list((tmp_path / "scratch").iterdir()) == []


def test_what_nobody_said_is_caught_and_what_was_said_is_not_refused(measured, tmp_path):
    dataset = measured(garden(tmp_path, SAID))["datasets"]["garden"]
    assert dataset["never_said"]["auc"] > 0.9
    assert dataset["never_said"]["caught"] > 0.7
    assert dataset["refused"] == {"answerable": 0, "open": 0}
    assert "adversarial" not in dataset


def test_a_refusal_costs_what_the_context_would_have_recalled(measured, tmp_path):
    """Of two questions, the one in other words is refused, whose evidence 4,096 tokens hold."""
    path = garden(tmp_path, SAID, IN_OTHER_WORDS)
    dataset = measured(path)["datasets"]["garden"]
    assert dataset["refused"] == {"answerable": 0.5, "open": 0}
    assert dataset["recall_lost"]["4096"] == 0.5
    never = measured(path, MEMORYOS_ABSTAIN_BELOW="0")
    assert never["threshold"] == 0
    assert never["datasets"]["garden"]["refused"] == {"answerable": 0, "open": 0}
    assert set(never["datasets"]["garden"]["recall_lost"].values()) == {0}


def test_a_person_reads_a_table(bench, tmp_path):
    path = recall_set(tmp_path / "garden.json", CONVERSATIONS)
    result = bench("abstention", "--data", path, "--embedder", "hashing")
    assert result.returncode == 0, result.stderr
    assert "garden" in result.stdout
    assert "never said" in result.stdout
    assert "AUC" in result.stdout


def conversation(*turns):
    return Conversation("u", "default", (Session("s", turns),))


def test_the_questions_are_about_the_user_in_the_language_of_the_talk():
    named = conversation(
        Turn(role=Role.USER, text="I went to the sea.", speaker="Ida"),
        Turn(role=Role.ASSISTANT, text="Nice.", speaker="Bo"),
    )
    nameless = conversation(Turn(role=Role.USER, text="I went to the sea.", speaker="user"))
    simplified = conversation(Turn(role=Role.USER, text="我们去东边的车站。"))
    traditional = conversation(Turn(role=Role.USER, text="我們去東邊的車站。", speaker="小明"))
    assert questions_about(named, NEVER)[0] == "What is the name of Ida's parrot's vet?"
    assert questions_about(nameless, NEVER)[0] == "What is the name of my parrot's vet?"
    assert questions_about(simplified, NEVER)[0] == "我家的鹦鹉看的是哪位兽医？"
    assert questions_about(traditional, NEVER)[0] == "小明家的鸚鵡看的是哪位獸醫？"
    assert len(questions_about(named, NEVER)) + len(questions_about(simplified, NEVER)) == 100
    assert questions_about(nameless, OPEN)[0] == "Hello!"


def test_a_curve_of_known_values():
    curve = Roc.of(np.array([0.9, 0.8, 0.2]), np.array([0.1, 0.2]))
    assert curve.auc == pytest.approx((2 + 2 + 1.5) / 6)
    assert curve.points(100) == [(0, 0), (0, 0.5), (pytest.approx(1 / 3), 1), (pytest.approx(2 / 3), 1), (1, 1)]
    assert Roc.of(np.array([0.95]), np.array([0.05])).ece == pytest.approx(0.05)
