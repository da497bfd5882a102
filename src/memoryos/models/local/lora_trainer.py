"""LoraTrainer: fits the matrices of a LoRA adapter to answers, step by step, from a checkpoint if there is one.

Only the tokens of the answers count. Between the examples the adapter reads general texts, and what it predicts there
is held to what the model predicts without it: so it learns the answers and loses little else.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from memoryos.errors import MissingExtra, ModelError
from memoryos.models.local.lora_recipe import Example, TrainingRecipe
from memoryos.models.local.runtime_fault import fault
from memoryos.models.local.weighted_adapter import CONFIG, WEIGHTS

LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")  # all linear ones of a Llama
FOLDERS = "memoryos-adapters-"  # begin of the names of temporary folders
_MOMENTS = ("exp_avg", "exp_avg_sq")  # of AdamW
_NO_LABEL = -100  # of torch: the token does not count
_MOST_NATS = 50.0  # of a loss: beyond that, a perplexity is no number that helps
_WARM_UP = 0.05  # of the steps, in which the learning rate grows
_LONGEST_GRADIENT = 1.0


class LoraTrainer:
    """One adapter on its way. `model` is a copy of the layers of a causal language model, which get its matrices."""

    def __init__(
        self, model: Any, examples: Sequence[Example], general: Sequence[Sequence[int]], recipe: TrainingRecipe
    ) -> None:
        """Prepare the matrices. Raises MissingExtra without peft."""
        try:
            import torch
            from peft import LoraConfig, get_peft_model
        except ModuleNotFoundError as error:
            if error.name not in ("torch", "peft"):
                raise
            raise MissingExtra("Training an adapter", "local") from None
        self._torch, self.recipe, self._examples, self._general = torch, recipe, list(examples), list(general)
        config = LoraConfig(r=recipe.rank, lora_alpha=recipe.alpha, target_modules=list(LAYERS), task_type="CAUSAL_LM")
        devices = [model.device] if model.device.type == "cuda" else []
        with warnings.catch_warnings(), torch.random.fork_rng(devices):  # answers draw their own numbers
            warnings.simplefilter("ignore", FutureWarning)  # about names that peft still uses
            torch.manual_seed(recipe.seed)
            with trained_errors():
                self._model = get_peft_model(model, config)
        self._device = model.device
        self._learned = [one for one in self._model.parameters() if one.requires_grad]
        self._optimizer = torch.optim.AdamW(self._learned, lr=recipe.learning_rate, weight_decay=0.0)
        self.step = 0  #: how many steps were taken

    @property
    def steps(self) -> int:
        """How many steps there are in all."""
        return self.recipe.epochs * math.ceil(len(self._examples) / self.recipe.batch)

    @property
    def is_done(self) -> bool:
        """Whether all steps were taken."""
        return self.step >= self.steps

    def take_step(self) -> float:
        """Learn from the next examples; return the loss over their answers."""
        with trained_errors():
            return self._step()

    def _step(self) -> float:
        loss = self._loss(self._next())
        (loss + self._drift() if self._general and self.recipe.replay else loss).backward()
        self._torch.nn.utils.clip_grad_norm_(self._learned, _LONGEST_GRADIENT)
        for group in self._optimizer.param_groups:
            group["lr"] = self.recipe.learning_rate * self._pace()
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return float(loss.detach())

    def checkpoint(self) -> bytes:
        """Everything that the next step needs, as bytes."""
        from safetensors.torch import save

        with trained_errors():
            state = {f"weight.{place}": one.detach().contiguous() for place, one in enumerate(self._learned)}
            for place, known in self._optimizer.state_dict()["state"].items():
                state |= {f"{name}.{place}": known[name].contiguous() for name in _MOMENTS}
            return bytes(save(state, {"step": str(self.step)}))

    def restore(self, data: bytes) -> None:
        """Go on from a checkpoint of the same examples and recipe. Raises ModelError if it does not fit."""
        from safetensors import SafetensorError

        try:
            self._restore(data)
        except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ModelError(f"the checkpoint does not fit the training: {error!r:.200}; ask for it again") from error

    def _restore(self, data: bytes) -> None:
        from safetensors import safe_open
        from safetensors.torch import load

        with TemporaryDirectory(prefix=FOLDERS) as folder:
            (file := Path(folder, "checkpoint")).write_bytes(data)
            with safe_open(file, "pt") as opened:
                self.step = int(opened.metadata()["step"])
        state, torch = load(data), self._torch
        known, moments = self._optimizer.state_dict(), {}
        with torch.no_grad():
            for place, one in enumerate(self._learned):
                one.copy_(state[f"weight.{place}"])
                if self.step:
                    means = {name: state[f"{name}.{place}"] for name in _MOMENTS}
                    moments[place] = {"step": torch.tensor(float(self.step)), **means}
        self._optimizer.load_state_dict({**known, "state": moments})

    def files(self) -> dict[str, bytes]:
        """The adapter as the files of a peft folder."""
        with TemporaryDirectory(prefix=FOLDERS) as folder:
            self._model.save_pretrained(folder)
            return {name: Path(folder, name).read_bytes() for name in (CONFIG, WEIGHTS)}

    def perplexity(self, texts: Sequence[Sequence[int]], *, adapted: bool) -> float:
        """The perplexity of texts, with the adapter or without it."""
        torch, total, count = self._torch, 0.0, 0
        with trained_errors(), torch.no_grad(), nullcontext() if adapted else self._model.disable_adapter():
            for text in texts:
                ids = torch.tensor([list(text)], device=self._device)
                total += float(self._model(input_ids=ids, labels=ids, use_cache=False).loss) * (len(text) - 1)
                count += len(text) - 1
        return math.exp(min(total / max(count, 1), _MOST_NATS))

    # Parts of the above

    def _next(self) -> list[Example]:
        """The examples of the next step; each epoch has an order of its own, which a restart finds again."""
        a_round = math.ceil(len(self._examples) / self.recipe.batch)
        epoch, place = divmod(self.step, a_round)
        order = list(self._examples)
        Random(f"{self.recipe.seed} {epoch}").shuffle(order)  # noqa: S311 - an order, and no secret
        return order[place * self.recipe.batch : (place + 1) * self.recipe.batch]

    def _pace(self) -> float:
        """The share of the learning rate for this step: up at first, then slowly down."""
        warm = max(1, round(self.steps * _WARM_UP))
        if self.step < warm:
            return (self.step + 1) / warm
        return 0.5 * (1 + math.cos(math.pi * (self.step - warm) / max(1, self.steps - warm)))

    def _loss(self, examples: Sequence[Example]) -> Any:
        torch, longest = self._torch, max(len(one.tokens) for one in examples)
        rows = [[*one.tokens, *[0] * (longest - len(one.tokens))] for one in examples]
        labels = [
            [_NO_LABEL] * one.answer_at + list(one.tokens[one.answer_at :]) + [_NO_LABEL] * (longest - len(one.tokens))
            for one in examples
        ]
        mask = [[1] * len(one.tokens) + [0] * (longest - len(one.tokens)) for one in examples]
        read = self._model(
            input_ids=torch.tensor(rows, device=self._device),
            attention_mask=torch.tensor(mask, device=self._device),
            use_cache=False,
        )
        logits, wanted = read.logits[:, :-1].flatten(0, 1), torch.tensor(labels, device=self._device)[:, 1:].flatten()
        return torch.nn.functional.cross_entropy(logits, wanted, ignore_index=_NO_LABEL)

    def _drift(self) -> Any:
        """How far the next general text is predicted differently from how the model predicts it by itself."""
        torch, functional = self._torch, self._torch.nn.functional
        text = torch.tensor([list(self._general[self.step % len(self._general)])], device=self._device)
        with torch.no_grad(), self._model.disable_adapter():
            alone = functional.log_softmax(self._model(input_ids=text, use_cache=False).logits[0], -1)
        here = functional.log_softmax(self._model(input_ids=text, use_cache=False).logits[0], -1)
        return self.recipe.replay * functional.kl_div(here, alone, log_target=True, reduction="batchmean")


@contextmanager
def trained_errors() -> Iterator[None]:
    """Raise ModelError for what goes wrong inside torch."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        raise ModelError(f"training the adapter {fault(error)}") from error
