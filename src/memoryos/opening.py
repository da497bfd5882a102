"""Opening: makes an engine of a store's file or database."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import SecretStr

from memoryos import arguments
from memoryos.caller import Gate
from memoryos.clock import Clock, checked_clock, system_clock
from memoryos.config import ExtractorKind, Settings, load_settings
from memoryos.engine import Engine
from memoryos.errors import InvalidInput
from memoryos.infrastructure.candidates.configured import open_candidates
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.vault.patience import one_call
from memoryos.infrastructure.vault.place import open_vault
from memoryos.models.chat import ChatModel
from memoryos.models.checked_embedder import CheckedEmbedder
from memoryos.models.embedder import Embedder, load_embedder, opened_with
from memoryos.models.reranker import Reranker


@one_call
def engine_at(
    path: str | Path,
    *,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    chat: ChatModel | None = None,
    reranker: Reranker | None = None,
    clock: Clock = system_clock,
    gate: Gate | None = None,
    policies: str | Path | None = None,
    read_only: bool = False,
    encryption_key: str | None = None,
) -> Engine:
    """Open the store at `path`, or create it, and return its engine. Raises like `MemoryOS.open`."""
    clock = checked_clock(clock)
    arguments.parts(settings=settings, embedder=embedder, chat=chat, reranker=reranker, gate=gate)
    settings = _with_key(settings or load_settings(), encryption_key)
    if settings.audit and read_only:
        problem = "a store that is opened with read_only cannot keep a log of its readers"
        raise InvalidInput("audit", problem, "Open it without read_only, or without the setting `audit`")
    if arguments.flag("read_only", read_only):  # nothing is extracted, and no index beside the store is fed
        settings = settings.model_copy(update={"extractor": ExtractorKind.RULES, "candidates": None})
    gate = gate_of(gate, settings.policies if policies is None else policies, clock)
    with ExitStack() as undo:
        place = arguments.store_place(_in_memory(undo) if str(path) == arguments.IN_MEMORY else path)
        vault, embedder = opened_with(
            load_embedder(settings.embedder, settings) if embedder is None else CheckedEmbedder(embedder),
            lambda name: open_vault(
                place,
                embedder=name,
                clock=clock,
                busy_timeout_seconds=settings.busy_timeout_seconds,
                connections=settings.connections,
                object_store=settings.object_store,
                is_only_read=read_only,
                key=EncryptionKey.of(settings),
            ),
        )
        leftovers = undo.pop_all()
        undo.enter_context(leftovers)
        undo.callback(vault.close)
        vault.dim = embedder.dim
        candidates = open_candidates(vault, place, settings, embedder=embedder.name, dim=embedder.dim)
        engine = Engine(
            vault,
            embedder,
            settings=settings,
            chat=chat,
            reranker=reranker,
            clock=clock,
            candidates=candidates,
            gate=gate,
        )
        undo.pop_all()
    engine.after_close.push(leftovers)
    return engine


def _with_key(settings: Settings, key: str | None) -> Settings:
    """The settings with the key that was passed, in the place of any other."""
    if key is None:
        return settings
    checked = SecretStr(EncryptionKey.checked("encryption_key", key).text)
    update = {"encryption_key": checked, "encryption_key_file": None, "encryption_keyring": None}
    return settings.model_copy(update=update)


def gate_of(gate: Gate | None, policies: str | Path | None, clock: Clock) -> Gate | None:
    """The gate that was passed, or one that asks the policies of a file or folder; None: everybody is admitted."""
    if policies is None:
        return gate
    if gate is not None:
        raise InvalidInput("gate", "cannot be combined with policies", "Pass one of them")
    from memoryos.policy.policy_files import PolicyFiles  # only stores with policies need them
    from memoryos.policy.policy_gate import PolicyGate

    return PolicyGate(PolicyFiles(policies), clock)


def _in_memory(undo: ExitStack) -> Path:
    """Open a store in a temporary folder, which is removed on close."""
    return Path(undo.enter_context(TemporaryDirectory(prefix="memoryos-"))) / "memory.db"
