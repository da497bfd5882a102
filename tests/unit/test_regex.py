"""An expression that is compiled when it is first used can be copied and pickled like any other."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

from memoryos.regex import regex


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("is_used", [False, True])
def test_it_can_be_copied_and_pickled(again, is_used):
    one = regex("A+", re.IGNORECASE)
    if is_used:
        assert one.match("a")
    made = again(one)
    assert (made.pattern, made.flags) == (one.pattern, one.flags)
    assert made.fullmatch("aAa")


def test_it_has_no_name_that_a_compiled_expression_lacks():
    for name in ("__array__", "__wrapped__", "_other", "other"):
        assert not hasattr(regex("a"), name)
