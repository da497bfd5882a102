"""Body meanings: what /openapi.json says of each member of a request: a meaning for each name, as for parameters.

What a method takes as keyword arguments that methods share has its meaning where these are declared.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, get_args, get_type_hints

from memoryos.arguments import Only
from memoryos.interface.rest.answer_meanings import in_json
from memoryos.interface.rest.member_meanings import comments, sentence, with_meanings
from memoryos.interface.rest.parameter_descriptions import DESCRIPTIONS
from memoryos.interface.rest.parameters import Parameters
from memoryos.interface.rest.route import Route

_KINDS = "Only these kinds: page, fact, trait, profile; default: all of them."
_RULES = ("governance.retain", "store:retention.add")
_PLANS = ("schedule.explain", "schedule.decide")
_DESCRIBED = ("add", "documents.add", "facts.add")
_FILTERED = ("search", "tagged", "digest")  # which write out what they share with `context`


def _each(operations: Iterable[str], name: str, meaning: str) -> dict[str, str]:
    return {f"{operation}.{name}": meaning for operation in operations}


#: By the name of the member, with the operation in front of it where it means something else there.
BODY_MEANINGS: Mapping[str, str] = {
    "about": "The id of the memory that the job is about; without it, the job is about the whole owner.",
    "actions": "What the caller may do at most.",
    "application": "The program of the caller.",
    "archive": "Whether the archive is searched; default: yes, except with the strategy two_stage.",
    "at": "When it was said; default: now.",
    "beside": "The names of further prefixes, which stand behind it in this order.",
    "bits": "8: the numbers of the KV state have 8 bits; answers are then not exactly those of the text.",
    "composed": "Whether the KV states are put together; default: as the setting or the policy says.",
    "confirm": "The token of the preview. Without it, nothing is removed, frozen, thawed or shared.",
    "dialogue": "Messages of the running dialogue: turns with the same words are left out.",
    "dry_run": "Whether all changes are undone at the end; the trace tells what would change.",
    "endless": "Whether the end of the memory is taken away.",
    "exclude": "Ids of memories, or ids in the source data, that the prompt has already.",
    "expected_version": "The version that is stored; if another one is, nothing is changed.",
    "expires_at": "When it ends; an alternative to `ttl`.",
    "explain": "Whether hits tell the parts of their scores.",
    "facts": "Most facts about the user, and about the agent.",
    "half_life": "Seconds from the last use until it expires: as many more each time that 1 + the uses doubles.",
    "idempotency_key": "A second call with the same key stores nothing, and gets the ids of the first one.",
    "ids": "The ids of the memories.",
    "job_ids": "The ids of dead jobs; default: all of them.",
    "keeps": "To text: whether the KV state or adapter stays.",
    "kinds": _KINDS,
    "memory": "The id of the memory that is held; without it and a session, the owner is.",
    "metadata": "Further details, which join those of the memory.",
    "min_score": "Hits with a lower relevance (0 to 1) are left out.",
    "mode": "How the text changes the one that is there: overwrite, append or merge.",
    "mount": "The name of the mounted memory that stores it; default: this memory.",
    "mounts": "Only these mounts; default: all.",
    "ms": "Most milliseconds until the first token.",
    "names": "The names of the adapters; default: those that are loaded.",
    "not_before": "The job waits until then.",
    "number": "The number of the version.",
    "origin": "How it came here.",
    "overlap": "Seconds for which the old key still opens memories.",
    "pages": "Most pages to return; default: the setting, or a number tuned to this owner with two_stage.",
    "parameters": "The parameters of the pipeline, by name.",
    "payload": "JSON data for the handler of the job.",
    "priorities": "Priorities of tags, 0 to 9: a memory with a higher one comes first.",
    "priority": "A job with a higher one is done first.",
    "purposes": "What the caller may call for; none: it may state no purpose.",
    "query": "The question.",
    "question": "The question.",
    "reason": "Why; it is kept with the change.",
    "receipt": "The JSON text of the receipt.",
    "response": "What the assistant said.",
    "role": "As whom the model answers.",
    "roles": "The roles of the caller.",
    "sequences": "The numbers of the events of the repair.",
    "size_bytes": "Most bytes of KV states and adapters.",
    "source_ids": "Ids of messages in the source data.",
    "strategy": "How pages are found.",
    "subject": "Whom it is about: the user or the agent.",
    "text": "The text.",
    "timeout": "Most seconds to wait; the work then goes on.",
    "to": "The identity of the caller who gets the right.",
    "tokens": "Most tokens of the text.",
    "ttl": "Seconds until it ends.",
    "unused": "Seconds without a use after which it is archived.",
    "users": "The users whose memories the key opens; default: all of the tenant.",
    "value": "The value of the field.",
    "version": "The number of the version whose words come back.",
    "visits": "Only what searches found at most so often; default: all.",
    "weight": "How much the adapter counts in answers.",
    "activations.build.ids": "The ids of memories that the prefix has besides those of the kinds.",
    "activations.build.kinds": "Kinds of which the prefix has all memories; default: profile, trait and fact.",
    "adapters.ask.limit": "Most tokens of the answer.",
    "adapters.train.ids": "Only the memories with these ids; default: all of the kinds.",
    "adapters.train.kinds": "Kinds that it is trained on: fact, profile, page, or segment, which stands for its pages.",
    "adapters.train.questions": "Who words the questions: templates, or model (the chat model, too).",
    "adapters.train.tags": "Only memories with one of these tags.",
    "add.query": "What the user said, or a list of messages.",
    "archiving.add.kinds": "What the rule is about: pages, facts or both.",
    "digest.query": "A question: what a search for it finds gets more detail.",
    "documents.add.idempotency_key": "A second call with the same key and text stores only the parts that are missing.",
    "documents.add.text": "The text of the document.",
    "duplicates.merge.ids": "The ids of the memories; the first one takes in the others.",
    "forms.transform.ids": "From text: the ids of the memories.",
    "forms.transform.kinds": "From text: the kinds of the memories; without kinds and ids, those of before.",
    "governance.delegate.actions": "What the other caller may do, as far as this one may; default: read.",
    "governance.hold.reason": "Why the hold is placed.",
    "governance.hold.session": "The session that is held; without it and a memory, the owner is.",
    "governance.reveal.text": "The text with pseudonyms.",
    "governance.relabel.access": "Who may use it, in the place of what is stored: private, shared or read_only.",
    "governance.relabel.expires_at": "When it ends, in the place of its end; an alternative to `ttl`.",
    "governance.relabel.sensitivity": "Labels of what makes it sensitive, which join those of the memory.",
    "governance.relabel.ttl": "Seconds until it ends, in the place of its end.",
    "jobs.add.kind": "The kind of the job, as a program registered it.",
    "proposals.publish.facts": "The facts, as texts.",
    "proposals.publish.source": "The name of the trusted source.",
    "proposals.publish.subject": "Whom the facts are about: the user or the agent.",
    "pipelines.run.query": "The parameter `query` of the pipeline.",
    "requests.do.text": "What is asked of the memory, in plain words.",
    "requests.preview.text": "What is asked of the memory, in plain words.",
    "requests.read.text": "What is asked of the memory, in plain words.",
    "search.tokens": "Fewer pages are returned if they fill this many tokens.",
    "snapshots.create.at": "The moment; default: now.",
    "store:admin.verify_words.text": "The words, as the model wrote them.",
    "store:keys.create.identity": "The identity of the caller.",
    "store:keys.create.session": "The one session in which the caller acts; default: the one that it states.",
    "store:retention.add.namespace": "Only in this namespace and below it; default: everywhere.",
    "store:roles.grant.identity": "The identity of the caller.",
    "store:roles.grant.name": "What the roles are for, such as ward 3.",
    "store:users.forget.user": "The user.",
    "update.at": "When the new value was said; default: now.",
    "update.role": "Of a page: in whose last turn the text stands.",
    "update.tags": "Tags, which join those of the memory.",
    "update.text": "The new text; without it, only tags and metadata change.",
    **_each(_RULES, "tags", "Only what has all of these tags."),
    **_each(_RULES, "ttl", "Seconds from when a memory was stored until it expires."),
    **_each(_RULES, "until", "When it expires; an alternative to `ttl`."),
    **_each(_PLANS, "tokens", "Most tokens of the model's context."),
    **_each(_DESCRIBED, "ttl", "Seconds until it expires."),
}


def with_body_meanings(schemas: dict[str, Any], routes: Iterable[Route]) -> None:
    """Have each member of the bodies say what it means."""
    for route in routes:
        body = Parameters.of(route).body
        if body is not None and body.__name__ in schemas:
            said = {name: _meaning(route, name) for name in body.model_fields}
            schemas[body.__name__] = with_meanings(schemas[body.__name__], said)


def _meaning(route: Route, name: str) -> str:
    own = BODY_MEANINGS.get(f"{route.operation}.{name}") or _shared(route).get(name)
    return own or BODY_MEANINGS.get(name) or DESCRIPTIONS[name]


def _shared(route: Route) -> dict[str, str]:
    """The meanings of the keyword arguments that the method shares with others."""
    groups = [Only] if route.operation in _FILTERED else _groups(route)
    return {name: in_json(sentence(said)) for name, said in comments(*groups).items()}


def _groups(route: Route) -> list[type]:
    known = inspect.signature(route.method).parameters.values()
    hints = get_type_hints(route.method)
    return [get_args(hints[one.name])[0] for one in known if one.kind is one.VAR_KEYWORD]
