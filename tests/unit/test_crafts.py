"""The work of an occupation, and who does it."""

from __future__ import annotations

import pytest

from memoryos.language.crafts import practitioner
from memoryos.language.occupations import is_one


@pytest.mark.parametrize(
    ("craft", "who"),
    [
        ("plumbing", "plumber"),
        ("nursing", "nurse"),
        ("programming", "programmer"),
        ("carpentry", "carpenter"),
        ("photography", "photographer"),
        ("psychology", "psychologist"),
        ("journalism", "journalist"),
        ("accountancy", "accountant"),
        ("economics", "economist"),
        ("law", "lawyer"),
        ("glass blowing", "glass blower"),
        ("smoking", ""),
        ("drinking", ""),
        ("pottery class", ""),
    ],
)
def test_who_does_a_craft(craft: str, who: str) -> None:
    assert practitioner(craft) == who


@pytest.mark.parametrize(
    ("occupation", "kind", "is_so"),
    [
        ("maths teacher", "Teacher", True),
        ("teacher", "maths teacher", False),
        ("小学老师", "老师", True),
        ("vegan", "an", False),
        ("nurse", "", False),
    ],
)
def test_an_occupation_is_one_of_a_kind(occupation: str, kind: str, *, is_so: bool) -> None:
    assert is_one(occupation, kind) is is_so
