"""Answer meanings: what /openapi.json says of each member of an answer: what the code says of it, in terms of JSON."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from memoryos.cube import Behaviour, MemCube, Segment
from memoryos.interface.rest.member_meanings import comments, first_paragraph, sentence
from memoryos.interface.rest.route import Route
from memoryos.listing import Listing
from memoryos.operation.consolidation.propose import Proposal
from memoryos.operation.pipelines.pipeline_listing import PipelineListing
from memoryos.operation.recall.hit import Hit, TurnHit
from memoryos.operation.recall.line import Line
from memoryos.operation.recall.overview import SegmentView
from memoryos.regex import regex

_PYTHON = regex(r"\b(?:None|True|False)\b")
_JSON = {"None": "`null`", "True": "`true`", "False": "`false`"}

# The classes that say what `to_dict` of a class tells beside its own members, or in their place.
_SAID_BY: Mapping[type, tuple[type, ...]] = {
    MemCube: (Hit,),
    Proposal: (Hit,),
    SegmentView: (Hit, Segment, Behaviour),
}
_ITEMS = "The items of this part, in their order."
# What no comment says, by class.
_SAID: Mapping[type, Mapping[str, str]] = {
    Listing: {"items": _ITEMS},
    PipelineListing: {
        "items": "The pipelines that have a name.",
        "cursor": "Always `null`: there are no further parts.",
        "broken": "What is wrong with each file that is no pipeline, by its name.",
    },
    TurnHit: {"turn": "Index of the turn in the page."},
    Line: {"id": "Id of the memory that it is made of."},
}
# Of results that are no documents: by the operation, or by the name that the answer gives them.
_RESULTS: Mapping[str, str] = {
    "ids": "The ids of the pages that were stored, in their order.",
    "pages.swept": "Those of the ids whose pages expired and were removed.",
    "facts.add": "The id of the fact, new or known.",
    "profile.set": "The id of the field.",
    "jobs.add": "The id of the job.",
    "governance.reveal": "The text with the pseudonyms turned back.",
    "activations.build": "The id of the job that computes it.",
    "upkeep.index": "Whether the store has a candidate index; without one, nothing is moved.",
    "pages.count": "How many pages there are.",
    "segments.count": "How many segments (topics) there are.",
    "facts.count": "How many facts there are.",
    "jobs.retry": "How many jobs are tried again.",
    "store:admin.count_users": "How many users there are.",
    "store:keys.info": "The key of the request; `null`: the store has no keys.",
    "store:admin.verify_receipt": "The fields of the receipt.",
}


def meanings(kind: type, told: Mapping[str, object]) -> dict[str, str]:
    """What the members of a class mean; `told` has those of which `to_dict` tells something else."""
    others = {name: said for one in _SAID_BY.get(kind, ()) for name, said in _own(one).items()}
    own = {name: said for name, said in _own(kind).items() if not (name in told and name in others)}
    return {**others, **own, **_SAID.get(kind, {})}


def result_meaning(route: Route, name: str) -> str:
    """What the result of an operation means that an answer has under a name."""
    return _RESULTS.get(route.operation) or _RESULTS[name]


def _own(kind: type) -> dict[str, str]:
    """What a class says of its members, in the docstrings of properties and in comments."""
    properties = inspect.getmembers_static(kind, lambda one: isinstance(one, property))
    said = {name: first_paragraph(one.fget) for name, one in properties}
    said |= {name: sentence(one) for name, one in comments(*reversed(kind.__mro__)).items()}
    return {name: in_json(one) for name, one in said.items()}


def in_json(words: str) -> str:
    """Words about a value of Python, with the names that JSON has."""
    return _PYTHON.sub(lambda found: _JSON[found[0]], words)
