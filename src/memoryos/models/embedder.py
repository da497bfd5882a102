"""Embedders: the protocol, and the built-in embedders by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from memoryos.config import SERVED, Settings, load_settings
from memoryos.errors import EmbedderMismatch, InvalidInput, MissingExtra

if TYPE_CHECKING:
    from memoryos.models.static import Static

Opened = TypeVar("Opened")


class Embedder(Protocol):
    """Turns texts into unit vectors. A text always gets the same vector, whatever other texts are in the batch."""

    @property
    def name(self) -> str:
        """The name of the model and its numerics. A store records it, so vectors of two names never mix."""

    @property
    def dim(self) -> int:
        """The length of a vector."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row for each text, shape (len(texts), dim)."""


def load_embedder(name: str, settings: Settings | None = None) -> Embedder:
    """Return the embedder called `name`. Raises InvalidInput if there is none.

    For `openai:MODEL`, the settings (default: from the environment) name the endpoint. The endpoint may be asked for
    the length of its vectors, so this can raise ModelError. Raises MissingExtra if the embedder needs an extra.
    """
    model = name.removeprefix(SERVED).strip()
    if name.startswith(SERVED) and model:
        return _served(model, settings or load_settings())
    build = _BUILT_IN.get(name)
    if build is None:
        known = ", ".join([*sorted(_BUILT_IN), f"{SERVED}MODEL"])
        raise InvalidInput("embedder", f"unknown name {name!r}", f"Use one of: {known}")
    return build()


def opened_with(embedder: Embedder, open_as: Callable[[str], Opened]) -> tuple[Opened, Embedder]:
    """Open with the embedder, or with one that gives English the same vectors; return the result and that one.

    A store that was made before `static` supported other languages keeps the vectors that it has. If neither fits, the
    EmbedderMismatch is that of the embedder itself.
    """
    try:
        return open_as(embedder.name), embedder
    except EmbedderMismatch:
        for other in _alike(embedder):
            with suppress(EmbedderMismatch):
                return open_as(other.name), other
        raise


def _alike(embedder: Embedder) -> list[Embedder]:
    both = [_static(), _static_minilm()]
    names = [one.name for one in both]
    return [one for one in both if one.name != embedder.name] if embedder.name in names else []


# The imports are inside so that `import memoryos` loads no model code. The models are shared: they hold no state but
# their weights, and a second copy of MiniLM's would cost another 150 MB.
def _minilm() -> Embedder:
    if find_spec("onnxruntime") is None:
        raise MissingExtra("The embedder minilm", "minilm", without="the embedder static")
    return _shared_minilm()


@cache
def _shared_minilm() -> Embedder:
    from memoryos.models.minilm import MiniLM

    return MiniLM()


@cache
def _static() -> Embedder:
    from memoryos.models.static.multilingual import Multilingual

    return Multilingual(_static_minilm())


@cache
def _static_minilm() -> Static:
    from memoryos.models.static import Static

    return Static()


def _served(model: str, settings: Settings) -> Embedder:
    from memoryos.models.served import OpenAIEmbedder

    return OpenAIEmbedder(model, settings)


def _hashing() -> Embedder:
    from memoryos.models.hashing import Hashing

    return Hashing()


_BUILT_IN: dict[str, Callable[[], Embedder]] = {
    "hashing": _hashing,
    "minilm": _minilm,
    "static": _static,
    "static-minilm": _static_minilm,  # what `static` was before it knew other languages
}
