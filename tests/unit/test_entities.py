"""The people, places and things that a text names."""

from __future__ import annotations

import pytest

from memoryos.language.entities import entities_in, names_in


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I've met my sister Anna in Oslo. This is fun.", ("my sister Anna", "Oslo")),
        ("I'm back from New York with Ann's dog. My car broke.", ("New York", "Ann")),
        ("On Monday in May they're at home.", ()),
        ("我的妹妹叫小红，我的狗在 Berlin。", ("我的妹妹", "小红", "Berlin")),
        ("Der Hund von Anna mag den Garten und die Katze.", ("Anna",)),
        ("Heute habe ich im Büro mit dem Chef über das Gehalt gesprochen.", ()),
        ("Meine Schwester Lena wohnt bei Herrn Dr. Keller in Hamburg.", ("Lena", "Keller", "Hamburg")),
        ("Unsere Katze heißt Mimi, und die Kinder heißen Lea und Tim.", ("Mimi", "Lea", "Tim")),
        ("Das heißt Arbeit, und meine Frau hat am Montag einen Termin.", ()),
        ("Mein Kollege Stefan Huber spielt in einer Band namens Nordlicht.", ("Stefan Huber", "Nordlicht")),
        ("Émile Zola and Märta met Ann.", ("Zola", "Märta", "Ann")),
        ("The User wrote to Ann.", ("Ann",)),
        ("She said: 'Max' is nice. 'Tom' too.", ("Max", "Tom")),
        ("I'm Anna. I've met Bob.", ("Anna", "Bob")),
        ("We swim with Ann on Wednesdays and Sundays.", ("Ann",)),
        ("The Louvre is in Paris.", ("Louvre", "Paris")),
        ("", ()),
    ],
)
def test_names_are_those_of_people_places_and_things(text, names):
    assert names_in(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Forget everything about my blood pressure.", ["my blood pressure"]),
        ("Delete my credit card PIN", ["my credit card PIN"]),
        ("My car broke yesterday, so my sister drove.", ["my car", "my sister"]),
        ("my code works", ["my code"]),
        ("你还记得我的猫叫什么吗", ["我的猫"]),
        ("我的猫叫咪咪。", ["我的猫", "咪咪"]),
        ("你知道她叫谁吗", []),
    ],
)
def test_a_thing_has_its_whole_name_and_a_question_names_nobody(text, names):
    assert [one.name for one in entities_in(text)] == names
