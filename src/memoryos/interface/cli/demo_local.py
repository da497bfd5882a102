"""`memoryos demo --local`: one question answered from text, from a KV state and with an adapter, with times."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, TypeVar

from rich.markup import escape
from rich.table import Table

from memoryos.config import LocalRuntime, load_settings
from memoryos.interface.cli import render
from memoryos.models.local.lora_recipe import TrainingRecipe
from memoryos.operation.training.adapter_gate import GateBounds

if TYPE_CHECKING:
    from memoryos.memory import Memory

QUESTION = "What is my boat called?"
FACT = "User's boat is called Aurora."
OTHERS = (
    "User lives in Bergen.",
    "User works as a carpenter in the harbour.",
    "User has a sister who teaches the violin in Oslo.",
    "User is allergic to hazelnuts.",
    "User gets up at six and swims before work.",
    "User reads about the history of lighthouses.",
    "User visits his grandmother every Sunday.",
)
NAME = "demo"
_Told = TypeVar("_Told")
RECIPE = TrainingRecipe(rank=8, alpha=16, epochs=2, replay=0.0)  # quick: seconds, and not what a user should train with
BOUNDS = GateBounds(least_recall=0.5, most_loss=1.0, most_questions=3)
_ANSWER_TOKENS = 16


@dataclass(frozen=True, slots=True)
class FormShown:
    """How one form of memory answered."""

    form: str
    answer: str
    seconds: float  #: of the whole answer
    prompt_tokens: int | None  #: that the prompt has; None: no memory is in it
    cached_tokens: int | None  #: of these, that a state spared
    made_seconds: float  #: that it took to make the form
    note: str  #: why the form was not used; empty if it was


def demo_local(model: str, *, json: bool) -> None:
    """Play it. Raises MissingExtra, or InvalidInput if there is no model, and says what to install."""
    settings = load_settings(
        llm_model=model,
        local_runtime=LocalRuntime.TRANSFORMERS,
        llm_max_tokens=_ANSWER_TOKENS,
        embedder="hashing",
    )
    from memoryos.arguments import IN_MEMORY
    from memoryos.memory_os import MemoryOS

    with MemoryOS.open(IN_MEMORY, settings=settings) as store:
        memory = store.memory("atlas")
        for text in (FACT, *OTHERS):
            memory.facts.add(text)
        load = _timed(lambda: memory.adapters.ask("Hello", limit=1))[0]
        shown = [*_from_prompts(memory), _from_adapter(memory)]
    if json:
        told = {"model": model, "question": QUESTION, "load_seconds": load, "forms": [asdict(one) for one in shown]}
        render.print_json(told)
    else:
        _print(model, load, shown)


def _from_prompts(memory: Memory) -> list[FormShown]:
    """The same prompt: all of it is computed, while there is no state; then the state of its beginning is loaded."""
    memory.forms.transform(NAME)
    made, _ = _timed(memory.wait)
    memory.forms.transform(NAME, "kv", "text", keeps=False)
    memory.wait()
    taken, text = _timed(lambda: memory.activations.answer(NAME, QUESTION))
    memory.forms.transform(NAME)
    memory.wait()
    again, kv = _timed(lambda: memory.activations.answer(NAME, QUESTION))
    sizes = [(one.answer.usage.prompt_tokens, one.answer.usage.cached_tokens) for one in (text, kv)]
    return [
        FormShown("text", text.answer.text, taken, *sizes[0], 0.0, ""),
        FormShown("KV state", kv.answer.text, again, *sizes[1], made, kv.reason),
    ]


def _from_adapter(memory: Memory) -> FormShown:
    """The question alone: what the adapter learned is in no prompt."""
    wanted = [cube.id for cube in memory.facts.list() if cube.text == FACT]
    memory.adapters.train(NAME, ids=wanted, recipe=RECIPE, bounds=BOUNDS)
    made, _ = _timed(memory.wait)
    (version,) = memory.adapters.get(NAME).versions
    if version.refused:
        return FormShown("adapter", "", 0.0, None, None, made, version.refused)
    memory.adapters.load(NAME)
    taken, told = _timed(lambda: memory.adapters.ask(QUESTION, limit=_ANSWER_TOKENS))
    return FormShown("adapter", told.text, taken, None, None, made, "; ".join(told.left_out))


def _timed(work: Callable[[], _Told]) -> tuple[float, _Told]:
    start = time.perf_counter()
    done = work()
    return time.perf_counter() - start, done


def _print(model: str, load: float, shown: list[FormShown]) -> None:
    table = Table(title=f"{QUESTION} {escape(model)}, loaded in {load:.1f} s", title_justify="left")
    for column in ("memory as", "answer", "s", "tokens in the prompt", "of these spared", "s to make"):
        table.add_column(column)
    for one in shown:
        sizes = ("none of it" if one.prompt_tokens is None else str(one.prompt_tokens), str(one.cached_tokens or 0))
        table.add_row(one.form, escape(one.answer or one.note), f"{one.seconds:.2f}", *sizes, f"{one.made_seconds:.1f}")
    render.console().print(table)
    render.say("The model is small and weak: what counts here is where the memory is, and the times.")
