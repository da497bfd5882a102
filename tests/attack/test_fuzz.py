"""Every public method with wrong arguments of every kind: an error of the project's tree, or none.

The methods and their parameters are found by reflection, so a new one is attacked from its first day.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import random
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, closing
from dataclasses import fields, is_dataclass
from enum import Enum
from io import StringIO
from pathlib import Path
from shutil import rmtree
from typing import Any, Unpack, get_args, get_origin, get_type_hints

import numpy
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import memoryos
from contract.back_ends import copy_store, opening_on
from memoryos import (
    Action,
    AddStep,
    ArchiveStep,
    AsyncMemory,
    AsyncMemoryOS,
    Attachment,
    AugmentStep,
    Caller,
    ChainHead,
    ExpireStep,
    FreezeStep,
    GateBounds,
    Hit,
    Job,
    Listing,
    ListStep,
    MemCube,
    Memory,
    MemoryCall,
    MemoryOperation,
    MemoryOS,
    Memoryos,
    MemoryOSError,
    Mount,
    Pipeline,
    PipelineParameter,
    Recall,
    RetrieveStep,
    Scope,
    Settings,
    TagStep,
    TrainingRecipe,
    Turn,
    TurnHit,
    UpdateStep,
    adapters,
    detect,
    load_settings,
    stores,
)
from memoryos.adapters import entries_of
from memoryos.cube import from_json
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, StorageError
from memoryos.models.chat import Answer, Usage
from memoryos.models.hashing import Hashing
from memoryos.operation.recall.fusion import Weights
from public import function_of, method_of, methods_of
from unit.test_exports import KINDS, functions_of, named_in

from .arguments import NAMES, NESTED, UNHASHABLE, Arguments, hostile, plain

ENDS = {"close"}

EXAMPLES, LONG_EXAMPLES = 3, 250  # calls of each method
SHARES_OF_TIME = 4  # of the fuzzing that goes on, for the workers
MOST_TIMES = 6  # as long by the clock
CALLS_OF_ROUND = 30

FEW_EXAMPLES = 2  # where the same calls are made another way: on the other store, or awaited


CUBE = from_json(
    """{"id": "1", "scope": {"user": "ann"}, "tier": "stm", "payload": {"type": "page", "turns": [{"role": "user"}]},
    "descriptive": {"event_at": "2026-06-01T00:00:00Z", "recorded_at": "2026-06-01T00:00:00Z",
    "updated_at": "2026-06-01T00:00:00Z", "origin": "user_input", "semantic_type": "dialogue"},
    "behaviour": {"last_access": "2026-06-01T00:00:00Z"}}"""
)
_LISTS = ("hits", "turns", "recent", "user_facts", "agent_facts", "profile", "traits")
VALUES: dict[Callable[..., Any], dict[str, Any]] = {  # what callers make or are given, and right fields of each
    Attachment: {"caption": "A cat"},
    Caller: {"identity": "ann"},
    ChainHead: {"scope": Scope(user="ann"), "number": 1, "hash": "0" * 64},
    GateBounds: {},
    Hit: {"cube": CUBE, "score": 1.0},
    MemCube: {field.name: getattr(CUBE, field.name) for field in fields(CUBE)},
    MemoryCall: {
        "text": "Forget my job.",
        "operation": MemoryOperation.FORGET,
        "intent": Action.DELETE,
        "caller": "ann",
        "scope": Scope(user="ann"),
    },
    Mount: {"name": "other", "scope": Scope(user="ann")},
    AddStep: {"query": "Where?"},
    **{one: {} for one in (ArchiveStep, AugmentStep, ExpireStep, FreezeStep, ListStep, RetrieveStep)},
    TagStep: {"tags": ["home"]},
    UpdateStep: {"text": "I live in Rome."},
    PipelineParameter: {"type": "text"},
    Pipeline: {"name": "tidy", "steps": [ListStep(), ArchiveStep()]},
    Recall: {"query": "Where?", **dict.fromkeys(_LISTS, ())},
    TrainingRecipe: {},
    Scope: {"user": "ann"},
    Settings: {},
    Turn: {"role": "user"},
    TurnHit: {"cube": CUBE, "index": 0, "score": 1.0},
    Weights: {},
    load_settings: {},
}
EXPORTED = [getattr(memoryos, name) for name in memoryos.__all__]
CHOICES = [one for one in EXPORTED if inspect.isclass(one) and issubclass(one, Enum)]
OF_SETTINGS = [one.annotation for one in Settings.model_fields.values() if inspect.isclass(one.annotation)]
CHOICES += [one for one in dict.fromkeys(OF_SETTINGS) if issubclass(one, Enum) and one not in CHOICES]
ARRAYS = [numpy.array([1.0, 2.0]), numpy.array(["ann", "bob"]), numpy.zeros((2, 2)), numpy.float32(2)]
WRONG = [None, 5, 1.5, "zz", b"x", object(), ValueError(), *UNHASHABLE, *ARRAYS, NESTED, [NESTED], {"a": NESTED}]
WRONG_LISTS = [*ARRAYS, 5, ValueError(), [{}], [[]], NESTED, {"a": NESTED}]
FUNCTIONS: dict[Callable[..., Any], dict[str, Any]] = {  # exported, and right arguments of each
    detect: {"text": "Write to bob@example.org."},
    entries_of: {
        "dialogues": [[Turn(role="user", text="I am Bob.", at=CUBE.descriptive.event_at)]],
        "scope": Scope(user="ann"),
        "embedder": Hashing(),
        "now": CUBE.descriptive.event_at,
    },
}
OF_FEW_FIELDS = [one for one in VALUES | FUNCTIONS if one not in (Settings, load_settings)]

OF_WHOLE_STORES = [stores.backup, stores.copy, stores.restore, stores.scrub, stores.verify]
OF_ENCRYPTION = [
    stores.encrypt,
    stores.decrypt,
    stores.reencrypt,
    stores.rotate_encryption_key,
    stores.encryption_status,
]
KEY = "the key of these attacks, 44 characters long"

METHODS = [name for name in methods_of(Memory) if name not in ENDS]
AWAITED = [name for name in methods_of(AsyncMemory) if name not in ENDS | {"of"}]
PUBLIC = [
    *((Memory, name) for name in METHODS),
    *((MemoryOS, name) for name in methods_of(MemoryOS) if name not in ENDS),
    *((AsyncMemory, name) for name in AWAITED),
]
SHARES = 8  # of the awaited methods, each with a memory of its own
STORE_METHODS = [name for name in methods_of(MemoryOS) if name not in ENDS]


def refusal(call: Callable[..., Any], *given: Any, named: Mapping[str, Any] | None = None) -> MemoryOSError | None:
    """What the call is refused with; every other error fails the test."""
    try:
        result = call(*given, **(named or {}))
        if isinstance(result, Iterator):
            list(result)
    except MemoryOSError as error:
        assert str(error)
        # Not "the store could not do it": what is wrong lies in the arguments, and the error says where.
        assert type(error) is not StorageError, f"unexplained: {error}"
        assert not isinstance(error, InvalidInput) or (error.field and error.problem and error.fix)
        return error
    return None


class Script:
    """A model that always says the same."""

    def answer(self, messages: Any) -> Answer:
        return Answer("Yes.", Usage(), "script")

    def stream(self, messages: Any) -> Iterator[str]:
        yield "Yes."


def opened(folder: Path) -> Memory:
    return memoryos.open(folder / "memory.db", user="ann", embedder=Hashing(), chat=Script())


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, back_end: str) -> Path:
    """A store with something to attack."""
    folder = tmp_path_factory.mktemp("fuzz")
    with opening_on(back_end), closing(opened(folder)) as memory:
        towns = (f"I live in Town{number}, and I like jazz." for number in range(12))
        turns = [
            Turn(role=role, text=text) for said in towns for role, text in (("user", said), ("assistant", "I see."))
        ]
        memory.add_many(turns, tags=["home"])
        memory.facts.add("I have a cat.")
        memory.profile.set("name", "Ann")
        memory.consolidate()
    return folder / "memory.db"


@pytest.fixture
def memory(template: Path, tmp_path: Path) -> Iterator[Memory]:
    copy_store(template, tmp_path / template.name)
    with closing(opened(tmp_path)) as memory:
        yield memory


@pytest.fixture
def examples(back_end: str) -> int:
    """How many calls of each method are made on this store."""
    return EXAMPLES if back_end == "sqlite" else FEW_EXAMPLES


def arguments_for(memory: Memory) -> Arguments:
    cubes = [*memory.pages.list(), *memory.profile.get().user.facts]
    files = [Path("memory.db"), Path("new.db"), Path("nowhere/x.db"), Path()]
    return Arguments([cube.id for cube in cubes[:3]] + [cube.id for cube in cubes[-2:]], files)


def calls(long: bool, examples: int = EXAMPLES) -> settings:
    """How often each is called; what fails is not made smaller, for the state of the memory is part of it."""
    return settings(
        max_examples=LONG_EXAMPLES if long else examples,
        database=None,
        derandomize=not long,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.parametrize("name", METHODS)
def test_a_call_with_any_arguments_is_answered_or_refused_with_an_error_of_ours(memory, name, long, examples):
    method = method_of(memory, name)

    @calls(long, examples)
    @given(arguments_for(memory).of(function_of(Memory, name)))
    def attack(given_arguments):
        positional, named = given_arguments
        refusal(lambda: method(*positional, **named))

    attack()
    refusal(memory.wait)
    assert memory.search("Where do I live?").query == "Where do I live?"


@pytest.mark.once
def test_whatever_takes_several_refuses_what_is_no_list_of_them(memory):
    several = [(name, one) for name in METHODS for one in taking_several(function_of(Memory, name))]
    assert len(several) > 40
    for (name, parameter), wrong in itertools.product(several, WRONG_LISTS):
        positional, named = plain(function_of(Memory, name))
        call = inspect.signature(function_of(Memory, name)).bind(memory, *positional, **named)
        more = {} if parameter in call.arguments else {parameter: wrong}
        call.arguments.update({parameter: wrong} if not more else {})
        refusal(method_of(memory, name), *call.args[1:], named=call.kwargs | more)


def taking_several(function: Callable[..., Any]) -> list[str]:
    """The names of its parameters for a list of values."""
    hints = get_type_hints(function, localns=NAMES)
    for unpacked in [get_args(one)[0] for one in hints.values() if get_origin(one) is Unpack]:
        hints |= get_type_hints(unpacked)
    return [name for name, hint in hints.items() if name != "return" and {Sequence, Iterable} & origins(hint)]


def origins(hint: Any) -> set[Any]:
    return {get_origin(hint), *(get_origin(one) for one in get_args(hint))}


@pytest.mark.once
def test_each_argument_is_refused_an_array(memory):
    """Its comparisons are arrays, too, and no truth value: `if given == ""` raises ValueError."""
    store = MemoryOS(memory._engine)
    public = [(Memory, memory, METHODS), (MemoryOS, store, STORE_METHODS)]
    for kind, holder, name in ((kind, holder, name) for kind, holder, names in public for name in names):
        function = function_of(kind, name)
        for parameter, wrong in itertools.product(parameters_of(function), ARRAYS):
            positional, named = plain(function)
            call = inspect.signature(function).bind(holder, *positional, **named)
            more = {} if parameter in inspect.signature(function).parameters else {parameter: wrong}
            call.arguments.update({} if more else {parameter: wrong})
            refusal(method_of(holder, name), *call.args[1:], named=call.kwargs | more)


def parameters_of(function: Callable[..., Any]) -> list[str]:
    """Those that are passed one by one; what a mapping of options holds, too."""
    signature, hints = inspect.signature(function).parameters, get_type_hints(function, localns=NAMES)
    single = [
        one.name
        for one in signature.values()
        if one.name != "self" and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    unpacked = [get_args(one)[0] for one in hints.values() if get_origin(one) is Unpack]
    return [*single, *(name for one in unpacked for name in get_type_hints(one))]


@pytest.mark.parametrize("name", STORE_METHODS)
def test_a_call_of_the_store_likewise(memory, name, long, examples):
    store = MemoryOS(memory._engine)

    @calls(long, examples)
    @given(arguments_for(memory).of(function_of(MemoryOS, name)))
    def attack(given_arguments):
        positional, named = given_arguments
        refusal(lambda: method_of(store, name)(*positional, **named))

    attack()
    assert memory.search("Where do I live?").query == "Where do I live?"


@pytest.mark.file
@pytest.mark.parametrize("function", [memoryos.open, MemoryOS.open, stores.reembed])
def test_opening_anything_is_refused_with_an_error_of_ours(memory, function, long):
    numbers = itertools.count()

    @calls(long)
    @given(arguments_for(memory).of(function), st.booleans())
    def attack(given_arguments, is_file):
        positional, named = given_arguments
        if is_file:
            positional[0] = f"store{next(numbers)}.db"
        elif isinstance(positional[0], str) and positional[0].startswith("/"):
            return  # of the machine itself

        def call():
            made = function(*positional, **named)
            if made is not None:
                with closing(made):
                    made.of(Scope(user="ann")).add("hello")

        refusal(call)

    attack()


@pytest.mark.file
@pytest.mark.parametrize("function", OF_WHOLE_STORES)
def test_work_on_whole_stores_is_refused_likewise(memory, function, long):
    numbers = itertools.count()

    @calls(long)
    @given(arguments_for(memory).of(function), st.booleans())
    def attack(given_arguments, is_right):
        positional, named = given_arguments
        if is_right:
            positional = ["memory.db", f"store{next(numbers)}.db"][: len(positional)]
        elif any(isinstance(one, str) and one.startswith("/") for one in positional):
            return  # of the machine itself
        refusal(lambda: function(*positional, **named))

    attack()


@pytest.mark.file
@pytest.mark.parametrize("function", OF_ENCRYPTION)
def test_encryption_is_refused_likewise(memory, function, long):
    """Of every third call, the store and the key are right: what it does then, the next one finds."""
    copy_store(Path("memory.db"), Path("closed.db"))
    keyed = load_settings(embedder="hashing", encryption_key=KEY)

    @calls(long, FEW_EXAMPLES)
    @given(arguments_for(memory).of(function), st.integers(0, 2))
    def attack(given_arguments, chance):
        positional, named = given_arguments
        if chance == 0:
            positional, named = ["closed.db", KEY][: len(positional)], {**named, "settings": keyed}
        elif isinstance(positional[0], str) and positional[0].startswith("/"):
            return  # of the machine itself
        if function is stores.encryption_status:
            named.pop("settings", None)
        refusal(lambda: function(*positional, **named))

    stores.encrypt("closed.db", settings=keyed)
    attack()
    is_encrypted = stores.encryption_status("closed.db").is_encrypted
    assert stores.verify("closed.db", settings=keyed if is_encrypted else None).is_sound
    assert memory.search("Where do I live?").hits


@pytest.mark.once
def test_every_operation_on_whole_stores_is_attacked():
    public = {one for name, one in inspect.getmembers(stores, inspect.isfunction) if name[0] != "_"}
    operations = {one for one in public if one.__module__ == stores.__name__}
    assert operations == {*OF_WHOLE_STORES, *OF_ENCRYPTION, stores.reembed}


@pytest.mark.once
def test_the_constructor_checks_its_parts(memory, long):
    @calls(long)
    @given(
        st.fixed_dictionaries(
            {}, optional=dict.fromkeys(["settings", "chat", "reranker", "clock", "embedder", "gate"], hostile)
        )
    )
    def attack(named):
        embedder = named.pop("embedder", Hashing())
        refusal(lambda: MemoryOS(Engine(memory._engine.vault, embedder, **named)).memory("ann").stats())

    attack()


@pytest.mark.once
@pytest.mark.parametrize("kind", VALUES | FUNCTIONS, ids=lambda kind: kind.__name__)
def test_values_that_callers_make_are_refused_likewise(kind, long):
    """Each with up to three of its fields as wrong as can be, the others right; exported functions too."""
    names = sorted(Settings.model_fields if kind in (Settings, load_settings) else inspect.signature(kind).parameters)

    @calls(long)
    @given(st.lists(st.sampled_from(names), max_size=3, unique=True).flatmap(lambda few: st.tuples(*map(_with, few))))
    def attack(wrong):
        refusal(lambda: kind(**{**right, **dict(wrong)}))

    right = (VALUES | FUNCTIONS)[kind]
    attack()
    assert kind(**right)


@pytest.mark.once
@pytest.mark.parametrize("kind", OF_FEW_FIELDS, ids=lambda kind: kind.__name__)
def test_each_field_of_them_is_refused_what_cannot_be_hashed_written_out_or_iterated(kind):
    right = (VALUES | FUNCTIONS)[kind]
    for name, wrong in itertools.product(inspect.signature(kind).parameters, WRONG):
        refusal(lambda fields: kind(**fields), {**right, name: wrong})


@pytest.mark.once
def test_what_callers_are_given_takes_it_or_refuses_it():
    given_alone = [one for one in EXPORTED if is_dataclass(one) and one not in VALUES]
    assert len(given_alone) > 50
    for kind, wrong in itertools.product([*given_alone, Listing], WRONG):
        refusal(lambda kind, fields: kind(**fields), kind, dict.fromkeys(inspect.signature(kind).parameters, wrong))


@pytest.mark.once
def test_every_exported_function_is_attacked():
    exported = {*EXPORTED, *(getattr(adapters, name) for name in adapters.__all__)}
    assert {one for one in exported if inspect.isfunction(one)} == {*FUNCTIONS, load_settings, memoryos.open}


def _with(name: str) -> st.SearchStrategy[tuple[str, Any]]:
    return st.tuples(st.just(name), hostile)


@pytest.mark.once
@pytest.mark.parametrize("kind", CHOICES, ids=lambda kind: kind.__name__)
def test_choices_that_there_are_not_are_refused_likewise(kind, long):
    @calls(long)
    @given(hostile)
    def attack(value):
        assert refusal(lambda: kind(value)) or value in set(kind)

    attack()
    assert all(refusal(kind, wrong) for wrong in WRONG)


@pytest.mark.once
@pytest.mark.parametrize("kind", [Memory, MemoryOS, AsyncMemory, AsyncMemoryOS])
def test_who_makes_a_memory_of_anything_is_refused_likewise(memory, kind, long):
    made_of = {Memory: (memory._engine, memory.scope, memory.caller), MemoryOS: (memory._engine, memory.caller)}
    right = made_of.get(kind, (memory if kind is AsyncMemory else MemoryOS(memory._engine),))

    @calls(long)
    @given(st.integers(0, len(right) - 1), hostile)
    def attack(place, wrong):
        refusal(lambda: kind(*right[:place], wrong, *right[place + 1 :]))

    attack()


@pytest.mark.once
def test_the_class_of_the_public_code_likewise(tmp_path, long):
    """Its constructor; a folder of its own for each."""
    names = list(inspect.signature(Memoryos).parameters)
    right = {"user_id": "ann", "openai_api_key": "", "embedding_model_name": "hashing"}

    @calls(long)
    @given(st.lists(st.sampled_from(names), max_size=2, unique=True).flatmap(lambda few: st.tuples(*map(_with, few))))
    def attack(wrong):
        refusal(lambda: Memoryos(**{**right, "data_storage_path": "folder", **dict(wrong)}).close())

    attack()


@pytest.mark.once
@pytest.mark.parametrize(
    "name", [name for name, _ in inspect.getmembers(Memoryos, inspect.isfunction) if name[0] != "_"]
)
def test_its_methods_likewise(memory, name, long):
    public = Memoryos("ann", "", "folder", embedding_model_name="hashing")
    public.add_memory("I live in Paris.", "I see.")

    @calls(long)
    @given(arguments_for(memory).of(getattr(Memoryos, name)))
    def attack(given_arguments):
        positional, named = given_arguments
        refusal(lambda: getattr(public, name)(*positional, **named))

    attack()
    public.close()


def test_every_class_that_callers_pass_is_attacked():
    hints = [get_type_hints(function) for kind in KINDS for function in functions_of(kind)]
    passed = {one for hint in hints for name, given in hint.items() if name != "return" for one in named_in(given)}
    made = {one for one in passed if not issubclass(one, dict) and not getattr(one, "_is_protocol", False)}
    assert len(made) > 10
    assert made - {*VALUES, *CHOICES} == {Job}, "which a handler of jobs is given"


@pytest.mark.once
@pytest.mark.parametrize("share", range(SHARES))
def test_awaited_calls_are_refused_likewise(memory, share, long):
    """Of one memory, a share of the methods: what one leaves, the next one finds."""
    arguments = arguments_for(memory)
    for name in AWAITED[share::SHARES]:
        calls(long, FEW_EXAMPLES)(awaited_attack(memory, name, arguments))()


def awaited_attack(memory: Memory, name: str, arguments: Arguments) -> Callable[[], None]:
    method = method_of(AsyncMemory(memory), name)

    async def awaited(positional, named):
        result = method(*positional, **named)
        if isinstance(result, AsyncIterator):
            return [piece async for piece in result]
        return await result

    @given(arguments.of(function_of(Memory, name)))
    def attack(given_arguments):
        refusal(lambda: asyncio.run(awaited(*given_arguments)))

    return attack


@pytest.mark.once
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("share", range(SHARES_OF_TIME))
def test_all_of_them_go_on_for_a_share_of_the_time(template, tmp_path, share, fuzz_seconds, long):
    """Rounds with numbers of their own, each on a new store: the same ones in CI, as many as the time allows.

    It is CPU time; on a machine that is very busy it ends before all of it is used.
    """
    own, first = fuzz_seconds / SHARES_OF_TIME, random.randrange(10**9) if long else 0
    begin, latest = time.process_time(), time.monotonic() + MOST_TIMES * own
    for number in itertools.count(first + share, SHARES_OF_TIME):
        try:
            attack_all(template, tmp_path / str(number), number)
        except BaseException as error:
            error.add_note(f"This was round {number}.")
            raise
        if time.process_time() - begin > own or time.monotonic() > latest:
            return


def attack_all(template: Path, folder: Path, number: int) -> None:
    """One round: some calls of a memory, of its store and awaited ones, with arguments that follow from the number."""
    folder.mkdir()
    copy_store(template, folder / template.name)
    with chdir(folder), closing(opened(folder)) as memory:
        arguments = arguments_for(memory)
        for kind, name in random.Random(number).sample(PUBLIC, CALLS_OF_ROUND):
            once = settings(calls(long=False, examples=1), derandomize=False)
            once(seed(number)(one_attack(memory, kind, name, arguments)))()
        refusal(memory.wait)
        assert memory.search("Where do I live?").query == "Where do I live?"
    rmtree(folder)


def one_attack(memory: Memory, kind: type, name: str, arguments: Arguments) -> Callable[[], None]:
    if kind is AsyncMemory:
        return awaited_attack(memory, name, arguments)
    method = method_of(memory if kind is Memory else MemoryOS(memory._engine), name)

    @given(arguments.of(function_of(kind, name)))
    def attack(given_arguments):
        positional, named = given_arguments
        refusal(lambda: method(*positional, **named))

    return attack


@pytest.mark.once
def test_a_closed_memory_says_so(tmp_path):
    memory = opened(tmp_path)
    memory.close()
    for name in METHODS:
        positional, named = plain(function_of(Memory, name))
        if name == "add":  # all of its arguments may be left out, but not together
            positional = ["hello"]
        if name == "export":
            positional = [StringIO()]
        with pytest.raises(StorageError, match=r"closed"):
            result = method_of(memory, name)(*positional, **named)
            pytest.fail(f"{name} told {list(result) if isinstance(result, Iterator) else result!r}")
    memory.close()
