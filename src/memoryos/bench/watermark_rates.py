"""Watermark rates: how often the watermark is found in texts that have it, and in texts that do not.

A model writes texts with and without the mark, in batches, by the `generate` of transformers with the mark of the
engine. The first tokens of each text are read again as text, as somebody would who copied them. A text without a mark
is tested with several keys: each is a chance to be accused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from memoryos.bench.progress_callback import Progress
from memoryos.models.local.watermark_evidence import WatermarkEvidence, WatermarkResult
from memoryos.plain import Plain

if TYPE_CHECKING:
    from memoryos.models.local.transformers_engine import TransformersEngine

_TASKS = (
    "Tell a long story about {}.",
    "Explain to a beginner, in detail, all about {}.",
    "Write a letter to a friend about {}.",
    "Write an essay about the history of {}.",
    "List and describe ten things that everybody should know about {}.",
)
_TOPICS = "bees, bread, Lisbon, ferries, gardens, violins, football, rain, maps, tea, mountains, doctors".split(", ")
_BATCH = 20  # texts that are written together


@dataclass(frozen=True, slots=True)
class WatermarkPlan:
    """What is measured."""

    texts: int = 20  #: with the mark, and as many without
    lengths: Sequence[int] = (50, 100, 200)  #: tokens of a text that are looked at
    temperatures: Sequence[float] = (0.0, 1.0)
    keys: int = 5  #: with which each text without the mark is tested
    seed: int = 0


@dataclass(frozen=True, slots=True)
class WatermarkRow(Plain):
    """The results for texts of one length. A text that ended before is not counted."""

    temperature: float
    tokens: int  #: that the model wrote
    marked: int  #: texts with the mark
    found: int  #: of them
    too_short: int  #: of them
    middle_z: float  #: the median of them
    plain: int  #: tests of texts without the mark
    accused: int  #: of these tests, those that found it
    highest_z: float  #: of these tests


@dataclass(frozen=True, slots=True)
class WatermarkReport(Plain):
    """All rows."""

    model: str
    texts: int
    keys: int
    nats: dict[str, tuple[float, float]]  #: by temperature: loss of a token by the model, without and with the mark
    rows: tuple[WatermarkRow, ...]


def measure_watermark(engine: TransformersEngine, plan: WatermarkPlan, progress: Progress) -> WatermarkReport:
    """Write the texts and look for the mark."""
    prompts = [task.format(topic) for topic, task in product(_TOPICS, _TASKS)][:: max(1, 60 // plan.texts)][
        : plan.texts
    ]
    rows, nats = list[WatermarkRow](), dict[str, tuple[float, float]]()
    for temperature in plan.temperatures:
        plain, marked = (
            list(_written(engine, prompts, temperature, key, plan, progress)) for key in (None, _key(plan.seed, 0))
        )
        nats[str(temperature)] = _mean_loss(plain), _mean_loss(marked)
        rows += [_row(engine, temperature, size, plain, marked, plan, progress) for size in plan.lengths]
    return WatermarkReport(engine.name, len(prompts), plan.keys, nats, tuple(rows))


@dataclass(frozen=True, slots=True)
class _ReadText:
    tokens: list[int]
    loss: float


def _mean_loss(texts: Sequence[_ReadText]) -> float:
    return mean(one.loss for one in texts)


def _key(seed: int, number: int) -> bytes:
    return sha256(f"{seed} {number}".encode()).digest()


def _row(
    engine: TransformersEngine,
    temperature: float,
    size: int,
    plain: Sequence[_ReadText],
    marked: Sequence[_ReadText],
    plan: WatermarkPlan,
    progress: Progress,
) -> WatermarkRow:
    def looked(texts: Sequence[_ReadText], keys: Sequence[bytes]) -> list[WatermarkEvidence]:
        long = [engine.decoded(one.tokens[:size]).strip() for one in texts if len(one.tokens) >= size]
        return [engine.evidence(text, key) for text, key in product(long, keys)]

    found = looked(marked, [_key(plan.seed, 0)])
    accused = looked(plain, [_key(plan.seed, number) for number in range(plan.keys)])
    progress(f"{size} tokens at {temperature}", 1, 1)
    return WatermarkRow(
        temperature,
        size,
        len(found),
        _count(found, WatermarkResult.FOUND),
        _count(found, WatermarkResult.TOO_SHORT),
        median([one.z or 0.0 for one in found] or [0.0]),
        len(accused),
        _count(accused, WatermarkResult.FOUND),
        max([one.z or 0.0 for one in accused], default=0.0),
    )


def _count(found: Sequence[WatermarkEvidence], result: WatermarkResult) -> int:
    return sum(one.result is result for one in found)


def _written(
    engine: TransformersEngine,
    prompts: Sequence[str],
    temperature: float,
    key: bytes | None,
    plan: WatermarkPlan,
    progress: Progress,
) -> Iterator[_ReadText]:
    import torch
    from transformers import LogitsProcessorList

    from memoryos.models.local.watermark import KeyedWatermark

    mark = LogitsProcessorList([KeyedWatermark(key, engine.vocabulary)] if key else [])
    chosen: dict[str, Any] = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
    if temperature > 0:
        chosen = {"do_sample": True, "temperature": temperature, "top_p": 1.0, "top_k": 0}
    for start in range(0, len(prompts), _BATCH):
        some = prompts[start : start + _BATCH]
        asked = [engine.chat_tokens([{"role": "user", "content": one}]) for one in some]
        ids, attended = (one.to(engine.model.device) for one in _padded(asked))
        torch.manual_seed(plan.seed)
        with torch.inference_mode():
            made = engine.model.generate(
                ids, attention_mask=attended, logits_processor=mark, max_new_tokens=max(plan.lengths), **chosen
            )
            yield from _read(engine, made, attended, ids.shape[1])
        progress(f"texts at {temperature}{' with the mark' if key else ''}", start + len(some), len(prompts))


def _padded(asked: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """The prompts as one array, each behind padding, and where they are."""
    import torch

    size = max(map(len, asked))
    ids = [[0] * (size - len(one)) + list(one) for one in asked]
    attended = [[0] * (size - len(one)) + [1] * len(one) for one in asked]
    return torch.tensor(ids), torch.tensor(attended)


def _read(engine: TransformersEngine, made: Any, attended: Any, begin: int) -> Iterator[_ReadText]:
    """The written tokens up to the end of each text, with their loss by the model as it is."""
    import torch

    whole = torch.cat([attended, torch.ones_like(made[:, begin:])], dim=1)
    for row, mask in zip(made, whole, strict=True):
        tokens = row[begin:].tolist()
        size = next((at for at, one in enumerate(tokens) if engine.ends_with(one)), len(tokens))
        inside = row[mask.bool()][: int(mask.sum()) - len(tokens) + size]
        logits = engine.model(input_ids=inside[None]).logits[0, -size - 1 : -1].float()
        loss = torch.nn.functional.cross_entropy(logits, inside[-size:]) if size else torch.tensor(0.0)
        yield _ReadText(tokens[:size], float(loss))
