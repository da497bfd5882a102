"""Adapter trainer: trains one version of an adapter, a slice of time at once, and has it pass the gate."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from memoryos.built_memory import AdapterStage, GateResult, Parameter, QuestionOrigin
from memoryos.cube import MemCube
from memoryos.errors import ModelError
from memoryos.models.local.local_engine import LocalEngine
from memoryos.models.local.lora_trainer import LAYERS, LoraTrainer
from memoryos.models.local.weighted_adapter import WeightedAdapter
from memoryos.operation.training.adapter_cubes import AdapterShelf, adapter_in
from memoryos.operation.training.adapter_lessons import examples_of, recalled
from memoryos.operation.training.adapter_pack import ABOUT, packed
from memoryos.operation.training.checkpoint import Checkpoint
from memoryos.operation.training.control_texts import HELD_OUT, REPLAYED
from memoryos.operation.training.question_pairs import QuestionPair, digest_of, digests_of, pairs_of
from memoryos.operation.training.question_writer import Asks, QuestionWriter, no_model, unasked
from memoryos.operation.training.training_sources import as_trained
from memoryos.operation.training.wanted_adapter import WantedAdapter

SLICE_SECONDS = 60.0  # of a training, after which it gives way to other jobs
MOST_ASKED = 48  # questions of the gate
_WRITTEN_SHARE = 4  # of those, so many times less are of a chat model at most
METHOD = "lora"

GoesOn = Callable[[], bool]


@dataclass(frozen=True)
class AdapterTrainer:
    """Trains on one engine, into one owner's shelf."""

    engine: LocalEngine  #: of torch
    asked: LocalEngine  #: which answers with the adapter later: the gate asks it
    shelf: AdapterShelf
    shown: Callable[[Sequence[MemCube]], Sequence[MemCube]] = list  #: memories as an answer may show them
    slice_seconds: float = SLICE_SECONDS
    asks: Asks = no_model  #: the chat model that words questions

    def train(self, wanted: WantedAdapter, sources: Sequence[MemCube], begun: MemCube | None, goes_on: GoesOn) -> bool:
        """Train for one slice, from the checkpoint `begun` if there is one; return whether the version is complete.

        Before the first step, a chat model may word questions, in slices of their own. Raises ModelError.
        """
        until = time.monotonic() + self.slice_seconds  # to find the sentences can take seconds, too
        known = Checkpoint.of(self.shelf.read(begun)) if begun else Checkpoint()
        adapter, shown = adapter_in(begun) if begun else self._new(wanted, sources), self.shown(sources)
        if (kept := known.about(digests_of(shown) if known.written else ())) != known:
            known = kept  # a sentence is shown in other words now: what was written about the earlier ones goes
            self.shelf.store(adapter, known.to_bytes(), sources, wanted)
        has_begun = bool(known.state) or wanted.questions is QuestionOrigin.TEMPLATES
        if left := [] if has_begun else unasked(shown, known.written):
            self._ask(adapter, wanted, sources, known, left, until, goes_on)
            return False
        pairs = pairs_of(shown, known.written)
        return self._trained(adapter, wanted, sources, known, pairs, goes_on)

    def _ask(
        self,
        adapter: Parameter,
        wanted: WantedAdapter,
        sources: Sequence[MemCube],
        known: Checkpoint,
        sentences: Sequence[str],
        until: float,
        goes_on: GoesOn,
    ) -> None:
        """Have questions written about these sentences, about one at least, until then, and keep them."""
        writer, written = QuestionWriter(self.asks, self.shelf.scope), dict(known.written)
        try:
            for sentence in sentences:
                # A source may be erased meanwhile: a model sees it no longer.
                if not self.shelf.is_wanted(adapter, wanted, sources):
                    break
                written[digest_of(sentence)] = writer.questions(sentence)
                if time.monotonic() >= until or not goes_on():
                    break
        finally:  # also when the budget is spent or the model is out of reach: what it wrote was paid for
            if len(written) > len(known.written):
                self.shelf.store(adapter, Checkpoint(written).to_bytes(), sources, wanted)

    def _trained(
        self,
        adapter: Parameter,
        wanted: WantedAdapter,
        sources: Sequence[MemCube],
        known: Checkpoint,
        pairs: Sequence[QuestionPair],
        goes_on: GoesOn,
    ) -> bool:
        """Take steps for one slice; return whether the version is complete."""
        examples = examples_of(self.engine, pairs)
        if not examples:
            self._refuse(adapter, wanted, sources, "its sources answer no question that could be trained")
            return True
        general = [self.engine.tokenise(text) for text in REPLAYED]
        trainer = LoraTrainer(trainable_model(self.engine), examples, general, wanted.recipe)
        if known.state:
            trainer.restore(known.state)
        began, until = time.monotonic(), time.monotonic() + self.slice_seconds
        while not trainer.is_done:
            trainer.take_step()  # one at least, so that each job gets further
            if time.monotonic() >= until or not goes_on():
                break
        spent = adapter.seconds + time.monotonic() - began
        adapter = replace(adapter, step=trainer.step, steps=trainer.steps, seconds=spent)
        if not trainer.is_done:
            self.shelf.store(adapter, replace(known, state=trainer.checkpoint()).to_bytes(), sources, wanted)
            return False
        self._finish(adapter, wanted, trainer, pairs, sources)
        return True

    def _new(self, wanted: WantedAdapter, sources: Sequence[MemCube]) -> Parameter:
        return Parameter(
            model=self.engine.name,
            method=METHOD,
            modules=LAYERS,
            rank=wanted.recipe.rank,
            text=f"adapter {wanted.name}: {len(sources)} memories",
            name=wanted.name,
            number=wanted.last + 1,
            fingerprint=fits(self.engine),
            stage=AdapterStage.TRAINING,
            sources=as_trained(sources),
        )

    def _finish(
        self,
        adapter: Parameter,
        wanted: WantedAdapter,
        trainer: LoraTrainer,
        pairs: Sequence[QuestionPair],
        sources: Sequence[MemCube],
    ) -> None:
        """Store the version if it passes the gate, and the reason if it does not."""
        perplexity = trainer.perplexity([self.engine.tokenise(text) for text in HELD_OUT], adapted=True)
        if not isfinite(perplexity):
            self._refuse(adapter, wanted, sources, "its training diverged: lower the learning rate")
            return
        files = {**trainer.files(), ABOUT: about_files(adapter)}
        found = self._measured(trainer, files, pairs, perplexity, wanted.bounds.most_questions)
        adapter = replace(adapter, gate=found)
        if why := wanted.bounds.verdict(found):
            self._refuse(adapter, wanted, sources, why)
        else:
            self.shelf.store(replace(adapter, stage=AdapterStage.READY), packed(files), sources, wanted)

    def _refuse(self, adapter: Parameter, wanted: WantedAdapter, sources: Sequence[MemCube], why: str) -> None:
        refused = replace(adapter, stage=AdapterStage.REFUSED, refused=why, blob=None)
        self.shelf.store(refused, None, sources, wanted)

    def _measured(
        self, trainer: LoraTrainer, files: dict[str, bytes], pairs: Sequence[QuestionPair], perplexity: float, most: int
    ) -> GateResult:
        """Ask what the stored files make the model answer: the adapter is judged as it will be used."""
        asked = gate_questions(pairs, most)
        texts = [self.engine.tokenise(text) for text in HELD_OUT]
        right = recalled(self.asked, asked, (WeightedAdapter.of(files),))
        return GateResult(
            asked=len(asked),
            recalled=right,
            recalled_before=recalled(self.asked, asked, ()),
            perplexity=perplexity,
            perplexity_before=trainer.perplexity(texts, adapted=False),
        )


def gate_questions(pairs: Sequence[QuestionPair], most: int = MOST_ASKED) -> list[QuestionPair]:
    """Questions that were not trained, spread over the sources. A part is in the words of a chat model, if it asks."""
    held_out, most = [pair for pair in pairs if pair.is_held_out], min(most, MOST_ASKED)
    written = _spread([pair for pair in held_out if pair.is_written], most // _WRITTEN_SHARE)
    return [*_spread([pair for pair in held_out if not pair.is_written], most - len(written)), *written]


def _spread(pairs: Sequence[QuestionPair], most: int) -> Sequence[QuestionPair]:
    return pairs[:: max(1, -(-len(pairs) // most))] if most else ()


def fits(engine: LocalEngine) -> str:
    """What an adapter must fit: the model's weights and its tokenizer. How a runtime computes does not matter to it."""
    return f"{engine.fingerprint.model}.{engine.fingerprint.tokenizer}"


def is_for(fingerprint: str, engine: LocalEngine) -> bool:
    """Whether an adapter that fits this, fits an engine. A GGUF file has the tokenizer in it: one sum is of both."""
    model, _, tokenizer = fingerprint.partition(".")
    return engine.fingerprint.model == model and engine.fingerprint.tokenizer in (model, tokenizer)


def about_files(adapter: Parameter) -> bytes:
    """What an exported folder says of itself beside peft's own files."""
    told = {"name": adapter.name, "model": adapter.model, "fingerprint": adapter.fingerprint, "number": adapter.number}
    return json.dumps({**told, "sources": len(adapter.sources)}, indent=1).encode()


def trainable_model(engine: LocalEngine) -> Any:
    """The layers of a model that torch computes, for the matrices. Raises ModelError for another runtime."""
    copied = getattr(engine, "trainable", None)
    if copied is None:
        raise ModelError(
            f"the runtime {engine.fingerprint.runtime} trains no adapters: set MEMORYOS_LLM to a model for transformers"
        )
    return copied()
